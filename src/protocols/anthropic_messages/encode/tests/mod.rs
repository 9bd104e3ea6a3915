#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod binding;
mod cache;
mod hosted;
mod limits;
mod pairing;
mod prefix;
mod references;
mod settings;

use std::{collections::VecDeque, sync::Arc};

use serde_json::{Value, json};
use tower_genai_core::{
    AssistantMessage, AssistantPart, Error, Json, Lowering, Message, ModelEvent, ModelRequest, SearchResult, ToolCall, ToolDefinition,
    ToolKind, ToolResult, ToolSet,
};

use super::super::{AnthropicMessages, Context};
use crate::protocols::{Capabilities, Decode, Encoded, Protocol, Target};

pub(super) fn target() -> Target {
    Target::new("host", "model")
}

/// Lowers and encodes, as a provider does.
pub(super) fn try_encode(request: &ModelRequest, capabilities: &Capabilities) -> Result<Encoded<Context>, Error> {
    let mut request = request.clone();
    Lowering::new(capabilities.deferral).lower(&mut request)?;
    AnthropicMessages::new().encode(&request, &target(), capabilities)
}

pub(super) fn encoded(request: &ModelRequest) -> Encoded<Context> {
    try_encode(request, &Capabilities::anthropic()).unwrap()
}

pub(super) fn body_with(request: &ModelRequest, capabilities: &Capabilities) -> Value {
    serde_json::from_slice(&try_encode(request, capabilities).unwrap().body).unwrap()
}

pub(super) fn body(request: &ModelRequest) -> Value {
    body_with(request, &Capabilities::anthropic())
}

pub(super) fn error_with(request: &ModelRequest, capabilities: &Capabilities) -> Error {
    try_encode(request, capabilities).unwrap_err()
}

pub(super) fn error(request: &ModelRequest) -> String {
    error_with(request, &Capabilities::anthropic()).to_string()
}

/// A message of the model that answers a request, read by the decoder.
pub(super) fn answer(request: &ModelRequest, content: Value) -> Arc<Message> {
    answer_with(request, content, &Capabilities::anthropic())
}

pub(super) fn answer_with(request: &ModelRequest, content: Value, capabilities: &Capabilities) -> Arc<Message> {
    let context = try_encode(request, capabilities).unwrap().context;
    let mut events = VecDeque::new();
    let document = json!({"type": "message", "content": content, "stop_reason": "end_turn"});
    AnthropicMessages::new().decoder(context, &target(), None).whole(document.to_string().as_bytes(), &mut events).unwrap();
    events.iter().find_map(|event| if let ModelEvent::Message(message) = event { Some(message.clone()) } else { None }).unwrap()
}

/// Lets the model answer with these blocks.
pub(super) fn push_answer(request: &mut ModelRequest, content: Value) {
    let message = answer(request, content);
    request.messages.push(message);
}

/// A request with an ordinary tool, a search tool and two deferred ones.
pub(super) fn request() -> ModelRequest {
    let tools = ToolSet::new([
        ToolDefinition::new("read").description("Reads."),
        ToolDefinition::new("tool_search").kind(ToolKind::Search),
        deferred("d1"),
        deferred("d2"),
    ]);
    ModelRequest::new().system("Be brief.").tools(tools.unwrap()).user("hi")
}

pub(super) fn deferred(name: &str) -> ToolDefinition {
    ToolDefinition::new(name).description(format!("Does {name}.")).deferred(true)
}

pub(super) fn call(id: &str, name: &str) -> ToolCall {
    ToolCall::new(id, name, Json::empty_object())
}

pub(super) fn tool_use(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}, "caller": {"type": "direct"}})
}

pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(super) fn thinking(text: &str) -> Value {
    json!({"type": "thinking", "thinking": text, "signature": format!("signed {text}")})
}

pub(super) fn found(id: &str, names: &[&str], note: &str) -> SearchResult {
    SearchResult::new(&call(id, "tool_search"), names.iter().map(|name| Arc::new(deferred(name))).collect(), note)
}

pub(super) fn result(id: &str, text: &str) -> ToolResult {
    ToolResult::text(&call(id, "read"), text)
}

/// What another model said: neutral parts only.
pub(super) fn neutral(parts: Vec<AssistantPart>) -> Message {
    Message::Assistant(AssistantMessage::new(parts))
}

pub(super) fn part(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.into() }
}

/// The messages of a body, each in short.
pub(super) fn shape(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    let shape = messages.iter().map(|message| {
        let blocks: Vec<String> = message["content"].as_array().unwrap().iter().map(block).collect();
        format!("{}: {}", message["role"].as_str().unwrap(), blocks.join(" "))
    });
    shape.collect()
}

pub(super) fn shape_of(request: &ModelRequest) -> Vec<String> {
    shape(&body(request))
}

fn block(block: &Value) -> String {
    let string = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str().unwrap() {
        "text" => format!("{:?}", string("text")),
        "thinking" => format!("thinking({})", string("thinking")),
        "tool_use" => format!("call({},{},{})", string("id"), string("name"), block["input"]),
        "tool_reference" => format!("->{}", string("tool_name")),
        "tool_result" => {
            let content: Vec<String> = block["content"].as_array().into_iter().flatten().map(self::block).collect();
            let failed = if block["is_error"] == true { "!" } else { "" };
            format!("result{failed}({}: {})", string("tool_use_id"), content.join(" "))
        }
        "server_tool_use" | "mcp_tool_use" => format!("hosted({})", string("id")),
        result if result.ends_with("_tool_result") => format!("came({})", string("tool_use_id")),
        other => other.to_owned(),
    }
}

#[test]
fn a_whole_body() {
    let request = request();
    let encoded = encoded(&request);
    let expected = concat!(
        r#"{"model":"model","max_tokens":16384,"stream":true,"#,
        r#""tools":[{"name":"read","description":"Reads.","input_schema":{"properties":{},"type":"object"}},"#,
        r#"{"name":"tool_search","input_schema":{"properties":{},"type":"object"},"cache_control":{"type":"ephemeral"}},"#,
        r#"{"name":"d1","description":"Does d1.","input_schema":{"properties":{},"type":"object"},"defer_loading":true},"#,
        r#"{"name":"d2","description":"Does d2.","input_schema":{"properties":{},"type":"object"},"defer_loading":true}],"#,
        r#""system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#
    );
    assert_eq!(std::str::from_utf8(&encoded.body).unwrap(), expected);
    assert!(encoded.headers.is_empty());
    assert_eq!(AnthropicMessages::new().headers()["anthropic-version"], "2023-06-01");
}

#[test]
fn the_same_request_gives_the_same_bytes_also_after_a_store() {
    let mut request = request();
    push_answer(&mut request, json!([thinking("t"), tool_use("s1", "tool_search")]));
    request.messages.push(found("s1", &["d2", "d1"], "note"));
    push_answer(&mut request, json!([text("done")]));
    request.messages.push(Message::user("more"));
    let restored: ModelRequest = serde_json::from_value(serde_json::to_value(&request).unwrap()).unwrap();
    assert_eq!(encoded(&restored).body, encoded(&request).body);
}
