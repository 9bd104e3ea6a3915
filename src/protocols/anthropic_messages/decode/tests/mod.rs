#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod blocks;
mod hosted;
mod robust;

use serde_json::{Value, json};
use tower_genai_core::{ToolCall, ToolName};

use super::*;

/// What was read: the events, and the error that ended it.
pub(super) struct Read {
    pub(super) events: Vec<ModelEvent>,
    pub(super) result: Result<(), Error>,
}

impl Read {
    pub(super) fn response(&self) -> &Response {
        match self.events.last() {
            Some(ModelEvent::Response(response)) => response,
            other => panic!("no response: {other:?}, {:?}", self.result),
        }
    }

    pub(super) fn message(&self) -> &AssistantMessage {
        self.response().assistant().unwrap()
    }

    pub(super) fn items(&self) -> Vec<Value> {
        self.message().replay.as_ref().unwrap().items.iter().map(Json::to_value).collect()
    }

    pub(super) fn calls(&self) -> Vec<&ToolCall> {
        self.message().tool_calls().collect()
    }

    /// The events before the message, each in short.
    pub(super) fn shape(&self) -> Vec<String> {
        let shape = self.events.iter().map_while(|event| {
            Some(match event {
                ModelEvent::Text(delta) => format!("text {}", delta.text),
                ModelEvent::Reasoning(delta) => format!("reasoning {}", delta.text),
                ModelEvent::Refusal(delta) => format!("refusal {}", delta.text),
                ModelEvent::ToolCallStarted { id, name, .. } => format!("call {id} {name}"),
                ModelEvent::ToolCallDelta { id, arguments, .. } => format!("arguments {id} {arguments}"),
                ModelEvent::HostedStarted(hosted) => format!("hosted {} {}", hosted.id, hosted.name),
                ModelEvent::HostedInput { hosted, input } => format!("input {} {input}", hosted.id),
                ModelEvent::HostedCompleted(hosted) => format!("came {} {}", hosted.id, hosted.name),
                ModelEvent::HostedFailed { hosted, code } => format!("failed {} {} {code}", hosted.id, hosted.name),
                ModelEvent::Message(_) => return None,
                other => panic!("{other:?}"),
            })
        });
        shape.collect()
    }
}

pub(super) fn context() -> Context {
    let names = [("crm__find".into(), ToolName::namespaced("crm", "find"))];
    Context { names: Arc::new(names.into()), search: Some("look_up".into()), prefix: Some("prefix".into()) }
}

pub(super) fn decoder(paused: Option<Paused>) -> Decoder {
    Decoder::new(context(), &Target::new("host", "model"), paused)
}

pub(super) fn read_with(mut decoder: Decoder, events: &[Value]) -> Read {
    let mut out = VecDeque::new();
    let result = events.iter().try_for_each(|event| decoder.push(&event.to_string(), &mut out));
    Read { events: out.into(), result }
}

/// Reads a stream of these events between a start and an end.
pub(super) fn read(events: &[Value]) -> Read {
    let mut all =
        vec![json!({"type": "message_start", "message": {"id": "msg_1", "model": "model-1", "content": [], "usage": {"input_tokens": 3}}})];
    all.extend_from_slice(events);
    if !all.iter().any(|event| event["type"] == "message_delta") {
        all.push(
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 5}}),
        );
    }
    all.push(json!({"type": "message_stop"}));
    read_with(decoder(None), &all)
}

/// One block: its start, its deltas, its end.
pub(super) fn block(index: u64, start: Value, deltas: &[Value]) -> Vec<Value> {
    let mut events = vec![json!({"type": "content_block_start", "index": index, "content_block": start})];
    events.extend(deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})));
    events.push(json!({"type": "content_block_stop", "index": index}));
    events
}

pub(super) fn partial(text: &str) -> Value {
    json!({"type": "input_json_delta", "partial_json": text})
}

pub(super) fn tool_use(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}

pub(super) fn document(content: Value) -> Read {
    document_of(
        json!({"type": "message", "id": "msg_1", "model": "model-1", "content": content, "stop_reason": "end_turn", "usage": {"input_tokens": 3}}),
    )
}

pub(super) fn document_of(body: Value) -> Read {
    let mut decoder = decoder(None);
    let mut out = VecDeque::new();
    let result = decoder.whole(body.to_string().as_bytes(), &mut out);
    Read { events: out.into(), result }
}
