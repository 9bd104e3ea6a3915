//! How fast the wire protocols are read and written.
//!
//! ```text
//! TOWER_GENAI_SHARED=FOLDER cargo bench --bench wire
//! ```
//!
//! Decoding reads the recorded streams under `FOLDER/recordings`, whole and in chunks, beside `eventsource-stream` (lines where the protocol has
//! lines) with a `serde_json::Value` for each event. Without the folder it says that it skipped. `README.md` beside this file says what the figures mean.
#![allow(missing_docs)]

#[path = "support/requests.rs"]
mod requests;

use std::{collections::VecDeque, fs, hint::black_box, path::Path, time::Duration};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use eventsource_stream::Eventsource;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::Value;
use tower_genai::{
    DeferralMode, Lowering, ModelEvent,
    protocols::{
        Capabilities, Decode, Framing, Protocol, Target, anthropic_messages::AnthropicMessages, chat_completions::ChatCompletions,
        gemini::GenerateContent, ollama::OllamaChat, openai_responses::OpenAiResponses,
    },
    transport::{DEFAULT_MAX_EVENT_BYTES, LineParser, SseParser},
};

/// Sizes of the pieces in which a stream arrives; `usize::MAX` is the whole of it.
const CHUNKS: [(usize, &str); 3] = [(usize::MAX, "whole"), (4096, "4 KiB"), (64, "64 bytes")];

/// The recorded streams of a protocol.
fn recordings(protocol: &str) -> Vec<Vec<u8>> {
    let Some(folder) = std::env::var_os("TOWER_GENAI_SHARED") else { return Vec::new() };
    let Ok(entries) = fs::read_dir(Path::new(&folder).join("recordings").join(protocol)) else { return Vec::new() };
    let streams = |folder: fs::DirEntry| ["response.sse", "response.ndjson"].map(|file| folder.path().join(file));
    let mut paths: Vec<_> = entries.flatten().flat_map(streams).filter(|path| path.exists()).collect();
    paths.sort();
    paths.into_iter().filter_map(|path| fs::read(path).ok()).collect()
}

/// Reads a stream that arrives in pieces; gives the number of events of the wire.
fn decode<P: Protocol<Context: Default>>(protocol: &P, target: &Target, body: &[u8], chunk: usize) -> usize {
    let mut decoder = protocol.decoder(Default::default(), target, None);
    let mut events: VecDeque<ModelEvent> = VecDeque::new();
    let mut push = |data: &str| {
        let _ = decoder.push(data, &mut events);
        for event in events.drain(..) {
            black_box(event);
        }
    };
    let pieces = body.chunks(chunk.min(body.len().max(1)));
    let mut count = 0;
    if protocol.decoder(Default::default(), target, None).framing() == Framing::Lines {
        let mut parser = LineParser::new(DEFAULT_MAX_EVENT_BYTES);
        for piece in pieces {
            parser.push(piece);
            while let Ok(Some(line)) = parser.next_line() {
                count += 1;
                push(&line);
            }
        }
        return count;
    }
    let mut parser = SseParser::new(DEFAULT_MAX_EVENT_BYTES);
    for piece in pieces {
        parser.push(piece);
        while let Ok(Some(event)) = parser.next_event() {
            count += 1;
            push(&event.data);
        }
    }
    parser.finish();
    while let Ok(Some(event)) = parser.next_event() {
        count += 1;
        push(&event.data);
    }
    count
}

/// Lines with the general tools.
fn baseline_lines(body: &[u8], chunk: usize) {
    let mut buffer: Vec<u8> = Vec::new();
    for piece in body.chunks(chunk.min(body.len().max(1))) {
        buffer.extend_from_slice(piece);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let _ = black_box(serde_json::from_slice::<Value>(&line));
        }
    }
}

/// Events with the general tools.
fn baseline(body: &Bytes, chunk: usize) {
    let size = chunk.min(body.len().max(1));
    let pieces =
        (0..body.len()).step_by(size).map(|start| Ok::<_, std::convert::Infallible>(body.slice(start..body.len().min(start + size))));
    let mut events = stream::iter(pieces.collect::<Vec<_>>()).eventsource();
    while let Some(Some(event)) = events.next().now_or_never() {
        if let Ok(event) = event {
            let _ = black_box(serde_json::from_str::<Value>(&event.data));
        }
    }
}

fn decoding(criterion: &mut Criterion) {
    decoding_of(criterion, "anthropic", &AnthropicMessages::new());
    decoding_of(criterion, "openai_responses", &OpenAiResponses::new());
    decoding_of(criterion, "openai_chat", &ChatCompletions::new());
    decoding_of(criterion, "gemini", &GenerateContent::new());
    decoding_of(criterion, "ollama", &OllamaChat::new());
}

fn decoding_of<P: Protocol<Context: Default>>(criterion: &mut Criterion, name: &str, protocol: &P) {
    let bodies = recordings(name);
    if bodies.is_empty() {
        println!("skipped: decoding of {name} (TOWER_GENAI_SHARED names no folder with its recordings)");
        return;
    }
    let target = Target::new("host", "model");
    let bytes: usize = bodies.iter().map(Vec::len).sum();
    let mut group = criterion.benchmark_group(format!("decode {name}"));
    group
        .throughput(Throughput::Bytes(bytes as u64))
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .sample_size(20);
    let has_lines = protocol.decoder(Default::default(), &target, None).framing() == Framing::Lines;
    let shared: Vec<Bytes> = bodies.iter().map(|body| Bytes::from(body.clone())).collect();
    for (chunk, label) in CHUNKS {
        group.bench_function(BenchmarkId::new("tower-genai", label), |bencher| {
            bencher.iter(|| bodies.iter().map(|body| decode(protocol, &target, body, chunk)).sum::<usize>());
        });
        if has_lines {
            group.bench_function(BenchmarkId::new("lines + Value", label), |bencher| {
                bencher.iter(|| bodies.iter().for_each(|body| baseline_lines(body, chunk)));
            });
            continue;
        }
        group.bench_function(BenchmarkId::new("eventsource-stream + Value", label), |bencher| {
            bencher.iter(|| shared.iter().for_each(|body| baseline(body, chunk)));
        });
    }
    group.finish();
    let mut events = 0;
    let measured = allocation_counter::measure(|| events = bodies.iter().map(|body| decode(protocol, &target, body, usize::MAX)).sum());
    println!(
        "decode {name}: {:.2} allocations an event over {events} events, {} streams",
        measured.count_total as f64 / events as f64,
        bodies.len()
    );
}

fn encoding(criterion: &mut Criterion) {
    encoding_of(criterion, "anthropic", &AnthropicMessages::new(), &Capabilities::anthropic(), DeferralMode::Reference);
    encoding_of(criterion, "openai_responses", &OpenAiResponses::new(), &Capabilities::openai_responses(), DeferralMode::SearchOutput);
    encoding_of(criterion, "openai_chat", &ChatCompletions::new(), &Capabilities::openai_chat(), DeferralMode::Append);
    encoding_of(criterion, "gemini", &GenerateContent::new(), &Capabilities::gemini(), DeferralMode::Append);
    encoding_of(criterion, "ollama", &OllamaChat::new(), &Capabilities::ollama(), DeferralMode::Append);
}

fn encoding_of<P: Protocol>(criterion: &mut Criterion, name: &str, protocol: &P, capabilities: &Capabilities, mode: DeferralMode) {
    let target = Target::new("host", "model");
    let mut request = requests::request(&requests::tools(100), 201);
    let Ok(()) = Lowering::new(mode).lower(&mut request) else { return };
    let Ok(encoded) = protocol.encode(&request, &target, capabilities) else { return };
    let value: Value = serde_json::from_slice(&encoded.body).unwrap_or_default();
    let mut group = criterion.benchmark_group(format!("encode {name}"));
    group
        .throughput(Throughput::Bytes(encoded.body.len() as u64))
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .sample_size(30);
    group.bench_function("tower-genai, 100 tools, 201 messages", |bencher| {
        bencher.iter(|| black_box(protocol.encode(&request, &target, capabilities)))
    });
    group.bench_function("serde_json, the same body as a Value", |bencher| bencher.iter(|| black_box(value.to_string())));
    group.finish();
}

criterion_group!(benches, decoding, encoding);
criterion_main!(benches);
