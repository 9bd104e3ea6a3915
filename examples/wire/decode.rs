//! What a recorded response says, in the seven fields that all protocols share.

use std::{collections::VecDeque, num::NonZeroUsize};

use http::StatusCode;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tower_genai::{
    AssistantMessage, AssistantPart, Error, HostedOutcome, Message, ModelEvent, Response, ToolCall,
    protocols::{Decode, Framing},
    transport::{DEFAULT_MAX_EVENT_BYTES, LineParser, SseParser},
};

use crate::{Failure, known::Known};

/// Decodes a body that arrives in chunks of `chunk` bytes, or at once.
pub(crate) fn decode(known: &Known, status: u16, body: &[u8], chunk: Option<NonZeroUsize>) -> Result<Value, Failure> {
    let status = StatusCode::from_u16(status)?;
    if !status.is_success() {
        let error = known.error(status, body);
        return Ok(Seen::default().report(known, Some(&error), None));
    }
    let mut decoder = known.decoder();
    let mut events = VecDeque::new();
    let outcome = if is_document(body) { decoder.whole(body, &mut events) } else { stream(&mut *decoder, body, chunk, &mut events) };
    let mut seen = Seen::default();
    for event in events {
        seen.note(event);
    }
    // An error event of a stream is no terminal event.
    let failed = outcome.as_ref().err().filter(|_| decoder.is_done()).and_then(|error| known.failed_finish(error));
    Ok(seen.report(known, outcome.as_ref().err(), failed))
}

/// Whether the body is one JSON document and no stream.
fn is_document(body: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(body).is_ok()
}

/// What cuts a stream into events.
enum Parser {
    Events(SseParser),
    Lines(LineParser),
}

fn stream(decoder: &mut dyn Decode, body: &[u8], chunk: Option<NonZeroUsize>, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
    let mut parser = match decoder.framing() {
        Framing::Lines => Parser::Lines(LineParser::new(DEFAULT_MAX_EVENT_BYTES)),
        _ => Parser::Events(SseParser::new(DEFAULT_MAX_EVENT_BYTES)),
    };
    let size = chunk.map_or(body.len(), NonZeroUsize::get).max(1);
    let mut outcome = Ok(());
    for chunk in body.chunks(size) {
        parser.push(chunk);
        parser.drain(decoder, events, &mut outcome)?;
    }
    parser.finish();
    parser.drain(decoder, events, &mut outcome)?;
    outcome?;
    if decoder.is_done() { Ok(()) } else { decoder.end(events) }
}

impl Parser {
    fn push(&mut self, chunk: &[u8]) {
        match self {
            Self::Events(parser) => parser.push(chunk),
            Self::Lines(parser) => parser.push(chunk),
        }
    }

    fn finish(&mut self) {
        match self {
            Self::Events(parser) => parser.finish(),
            Self::Lines(parser) => parser.finish(),
        }
    }

    /// Decodes what is there. A recording is read on behind an error of its own, since what follows may say more about it.
    fn drain(&mut self, decoder: &mut dyn Decode, events: &mut VecDeque<ModelEvent>, outcome: &mut Result<(), Error>) -> Result<(), Error> {
        loop {
            let decoded = match self {
                Self::Events(parser) => parser.next_event()?.map(|event| decoder.push(&event.data, events)),
                Self::Lines(parser) => parser.next_line()?.map(|line| decoder.push(&line, events)),
            };
            match decoded {
                None => return Ok(()),
                Some(Err(error)) => *outcome = Err(error),
                Some(Ok(())) => {}
            }
        }
    }
}

/// What the events of a response said.
#[derive(Default)]
struct Seen {
    /// The text so far: what is left when the response fails.
    text: String,
    reasoning: usize,
    messages: Vec<AssistantMessage>,
    response: Option<Response>,
}

impl Seen {
    fn note(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Text(delta) => self.text.push_str(&delta.text),
            ModelEvent::Reasoning(delta) => self.reasoning += delta.text.chars().count(),
            ModelEvent::Message(message) => {
                if let Message::Assistant(message) = &*message {
                    self.messages.push(message.clone());
                }
            }
            ModelEvent::Response(response) => self.response = Some(*response),
            _ => {}
        }
    }

    fn report(mut self, known: &Known, error: Option<&Error>, failed: Option<String>) -> Value {
        if !self.messages.is_empty() {
            self.text = self.messages.iter().map(AssistantMessage::text).collect();
            self.reasoning = parts(&self.messages).map(reasoning_len).sum();
        }
        let response = self.response.unwrap_or_default();
        let finish = failed.or_else(|| response.stop.native.as_deref().map(str::to_owned));
        json!({
            "text": self.text,
            "reasoning_len": self.reasoning,
            "tool_calls": parts(&self.messages).filter_map(tool_call).collect::<Vec<_>>(),
            "server_tools": parts(&self.messages).filter_map(server_tool).collect::<Vec<_>>(),
            "finish_reason": finish,
            "usage": {
                "input": known.native_input(&response.usage),
                "output": known.native_output(&response.usage),
                "cache_read": response.usage.cache_read_tokens,
            },
            "error": error.map(error_report),
        })
    }
}

fn parts(messages: &[AssistantMessage]) -> impl Iterator<Item = &AssistantPart> {
    messages.iter().flat_map(|message| &message.parts)
}

fn reasoning_len(part: &AssistantPart) -> usize {
    match part {
        AssistantPart::Reasoning { text } => text.chars().count(),
        _ => 0,
    }
}

/// An id that the endpoint gave: not one that was made because it gave none.
fn given(id: &str) -> Option<&str> {
    let made = ["made_call_", "executed_"];
    Some(id).filter(|id| !id.is_empty() && !made.iter().any(|prefix| id.starts_with(prefix)))
}

fn tool_call(part: &AssistantPart) -> Option<Value> {
    let (AssistantPart::ToolCall(call) | AssistantPart::Search(call)) = part else { return None };
    let ToolCall { id, name, arguments, invalid_arguments, call_type, .. } = call;
    let arguments = match call_type.as_deref() {
        // A question to the caller, which the recordings list apart.
        Some("mcp_approval_request") => return None,
        // Free text, which is the one member of the arguments.
        Some("custom_tool_call") => arguments.to_value().get("input").cloned().unwrap_or_default(),
        _ => arguments.to_value(),
    };
    let mut report = json!({
        "id": given(id),
        "name": &*name.name,
        "arguments": if invalid_arguments.is_some() { Value::Null } else { arguments },
    });
    let optional = [("arguments_raw", invalid_arguments), ("type", call_type), ("namespace", &name.namespace)];
    if let Some(fields) = report.as_object_mut() {
        fields.extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), Value::from(value.as_deref()?)))));
    }
    Some(report)
}

fn server_tool(part: &AssistantPart) -> Option<Value> {
    let AssistantPart::Hosted(call) = part else { return None };
    let code = match &call.outcome {
        HostedOutcome::Failed { code } => Some(&**code),
        _ => None,
    };
    Some(json!({"name": &*call.name, "error_code": code, "id": given(&call.id), "type": &*call.call_type}))
}

fn error_report(error: &Error) -> Value {
    match error.provider() {
        Some(provider) => json!({"type": provider.error_type, "code": provider.code, "message": provider.message}),
        None => json!({"type": null, "code": error.kind().as_str(), "message": error.to_string()}),
    }
}
