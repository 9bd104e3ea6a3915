//! What is counted, not timed: run under callgrind, which counts instructions, by `instructions.sh` beside this file.
//!
//! ```text
//! benches/instructions.sh
//! ```
//!
//! `instructions CASE COUNT` prepares the case and runs it COUNT times; two counts and a subtraction leave what one run costs.
#![allow(missing_docs)]

#[path = "support/harness.rs"]
mod harness;
#[path = "support/requests.rs"]
mod requests;

use std::{collections::VecDeque, hint::black_box, process::ExitCode};

use tower::Layer;
use tower_genai::{
    DeferralMode, Lowering,
    protocols::{
        Capabilities, Decode, Framing, Protocol, Target, anthropic_messages::AnthropicMessages, chat_completions::ChatCompletions,
        gemini::GenerateContent, ollama::OllamaChat, openai_responses::OpenAiResponses,
    },
    testing::NoopModel,
    transport::{DEFAULT_MAX_EVENT_BYTES, LineParser, SseParser},
};

/// A stream of text deltas as each protocol writes it.
const ANTHROPIC: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a few words \"}}\n\n";
const ANTHROPIC_START: &str =
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
const RESPONSES: &str = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":4,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"a few words \",\"logprobs\":[]}\n\n";
const RESPONSES_START: &str = "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\n";
const CHAT: &str = "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1790000000,\"model\":\"a-model\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a few words \"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n";
const GEMINI: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a few words \"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":15,\"candidatesTokenCount\":18,\"totalTokenCount\":33},\"modelVersion\":\"a-model\",\"responseId\":\"r1\"}\r\n\r\n";
const OLLAMA: &str = "{\"model\":\"a-model\",\"created_at\":\"2026-08-04T19:58:15.115854Z\",\"message\":{\"role\":\"assistant\",\"content\":\"a few words \"},\"done\":false}\n";

fn decode<P: Protocol<Context: Default>>(protocol: &P, start: &str, event: &str, count: usize) {
    let mut decoder = protocol.decoder(Default::default(), &Target::new("host", "model"), None);
    let has_lines = decoder.framing() == Framing::Lines;
    let mut events = VecDeque::new();
    let mut push = |data: &str| {
        let _ = decoder.push(data, &mut events);
        events.drain(..).for_each(|event| {
            black_box(event);
        });
    };
    let (mut parser, mut lines) = (SseParser::new(DEFAULT_MAX_EVENT_BYTES), LineParser::new(DEFAULT_MAX_EVENT_BYTES));
    for piece in std::iter::once(start).chain(std::iter::repeat_n(event, count)) {
        if has_lines {
            lines.push(piece.as_bytes());
            while let Ok(Some(line)) = lines.next_line() {
                push(&line);
            }
            continue;
        }
        parser.push(piece.as_bytes());
        while let Ok(Some(event)) = parser.next_event() {
            push(&event.data);
        }
    }
}

fn encode<P: Protocol>(protocol: &P, capabilities: &Capabilities, mode: DeferralMode, count: usize) {
    let mut request = requests::request(&requests::tools(100), 201);
    if Lowering::new(mode).lower(&mut request).is_err() {
        return;
    }
    for _ in 0..count {
        let _ = black_box(protocol.encode(&request, &Target::new("host", "model"), capabilities));
    }
}

fn requests_of(tools: usize, messages: usize, count: usize) {
    let request = requests::request(&requests::tools(tools), messages);
    let mut service = harness::stack().layer(NoopModel::new(0));
    // What is made of a tool set is made once.
    drop(harness::call(&mut service, request.clone()));
    for _ in 0..count {
        drop(harness::call(&mut service, request.clone()));
    }
}

fn events(count: usize) {
    let mut service = harness::stack().layer(NoopModel::new(count));
    harness::drain(harness::call(&mut service, requests::request(&requests::tools(10), 1)));
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(case), Some(Ok(count))) = (arguments.first(), arguments.get(1).map(|count| count.parse::<usize>())) else {
        // `cargo bench` runs every bench: alone, this one has nothing to say.
        println!("instructions: run benches/instructions.sh");
        return ExitCode::SUCCESS;
    };
    match case.as_str() {
        "request" => requests_of(10, 1, count),
        "request, 10,000 tools" => requests_of(10_000, 1, count),
        "request, 2,000 messages" => requests_of(10, 2_000, count),
        "event" => events(count),
        "decode an event, anthropic" => decode(&AnthropicMessages::new(), ANTHROPIC_START, ANTHROPIC, count),
        "decode an event, openai_responses" => decode(&OpenAiResponses::new(), RESPONSES_START, RESPONSES, count),
        "decode an event, openai_chat" => decode(&ChatCompletions::new(), CHAT, CHAT, count),
        "decode an event, gemini" => decode(&GenerateContent::new(), GEMINI, GEMINI, count),
        "decode an event, ollama" => decode(&OllamaChat::new(), OLLAMA, OLLAMA, count),
        "encode, openai_chat" => encode(&ChatCompletions::new(), &Capabilities::openai_chat(), DeferralMode::Append, count),
        "encode, gemini" => encode(&GenerateContent::new(), &Capabilities::gemini(), DeferralMode::Append, count),
        "encode, ollama" => encode(&OllamaChat::new(), &Capabilities::ollama(), DeferralMode::Append, count),
        "encode, anthropic" => encode(&AnthropicMessages::new(), &Capabilities::anthropic(), DeferralMode::Reference, count),
        "encode, openai_responses" => {
            encode(&OpenAiResponses::new(), &Capabilities::openai_responses(), DeferralMode::SearchOutput, count);
        }
        _ => {
            eprintln!("instructions: no case is named `{case}`");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
