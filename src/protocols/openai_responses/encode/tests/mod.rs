mod body;
mod history;
mod loads;
mod properties;
mod repair;

use serde_json::{Value, json};
use tower_genai_core::{
    AssistantMessage, AssistantPart, Content, Conversation, DeferralMode, Json, Lowering, Message, Replay, SearchResult, ToolCall,
    ToolKind, ToolResult, ToolSet,
};

use super::*;
use crate::protocols::{Protocol, openai_responses::OpenAiResponses};

fn target() -> Target {
    Target::new("host", "model")
}

fn try_encode(request: &ModelRequest, capabilities: &Capabilities) -> Result<String, Error> {
    let mut request = request.clone();
    Lowering::new(capabilities.deferral).lower(&mut request)?;
    let encoded = OpenAiResponses::new().encode(&request, &target(), capabilities)?;
    Ok(String::from_utf8(encoded.body.to_vec()).unwrap())
}

/// The body as the default capabilities make it.
fn text(request: &ModelRequest) -> String {
    try_encode(request, &Capabilities::openai_responses()).unwrap()
}

fn body(request: &ModelRequest) -> Value {
    serde_json::from_str(&text(request)).unwrap()
}

fn body_with(request: &ModelRequest, capabilities: &Capabilities) -> Value {
    serde_json::from_str(&try_encode(request, capabilities).unwrap()).unwrap()
}

fn refusal(request: &ModelRequest, capabilities: &Capabilities) -> String {
    try_encode(request, capabilities).unwrap_err().to_string()
}

fn append_mode() -> Capabilities {
    Capabilities { deferral: DeferralMode::Append, ..Capabilities::openai_responses() }
}

/// The items of the dialogue in short.
fn shape(body: &Value) -> Vec<String> {
    body["input"].as_array().unwrap().iter().map(item_shape).collect()
}

fn item_shape(item: &Value) -> String {
    let field = |key: &str| item[key].as_str().unwrap_or("-").to_owned();
    let names = |item: &Value| {
        let tools = item["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(",")
    };
    match item["type"].as_str().unwrap_or("message") {
        "message" if item["content"].is_string() => format!("{}: {}", field("role"), field("content")),
        "message" => format!("{}: {}", field("role"), item["content"]),
        "function_call" => format!("call {} {} ns={}", field("call_id"), field("name"), field("namespace")),
        "function_call_output" => format!("output {} {}", field("call_id"), item["output"]),
        "tool_search_call" => format!("search {} {}", field("call_id"), item["arguments"]),
        "tool_search_output" => format!("found {} [{}]", field("call_id"), names(item)),
        "additional_tools" => format!("additional [{}]", names(item)),
        "reasoning" => format!("reasoning {}", field("id")),
        kind => format!("{kind} {}", item["call_id"].as_str().or(item["id"].as_str()).unwrap_or("-")),
    }
}

fn parse(value: &Value) -> Json {
    Json::parse(&value.to_string()).unwrap()
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition::new(name).description(format!("Does {name}."))
}

fn deferred(name: &str) -> ToolDefinition {
    tool(name).deferred(true)
}

fn search_tool() -> ToolDefinition {
    ToolDefinition::new("tool_search").kind(ToolKind::Search).description("Finds tools.")
}

fn set(tools: impl IntoIterator<Item = ToolDefinition>) -> ToolSet {
    ToolSet::new(tools).unwrap()
}

fn request(tools: impl IntoIterator<Item = ToolDefinition>, messages: Vec<Arc<Message>>) -> ModelRequest {
    ModelRequest::new().tools(set(tools)).messages(Conversation::from_iter(messages))
}

fn call(id: &str, name: &str) -> ToolCall {
    ToolCall::new(id, name, Json::parse("{\"a\":1}").unwrap())
}

fn search(id: &str) -> ToolCall {
    ToolCall::new(id, "tool_search", Json::parse("{\"queries\":[\"x\"]}").unwrap())
}

fn loading(id: &str, names: &[&str], note: &str) -> Arc<Message> {
    SearchResult::new(&search(id), names.iter().map(|name| Arc::new(deferred(name))).collect(), note).into()
}

fn answer(id: &str, name: &str, text: &str) -> Arc<Message> {
    ToolResult::text(&call(id, name), text).into()
}

/// What a model said that has no items of this endpoint.
fn foreign(parts: Vec<AssistantPart>) -> Arc<Message> {
    AssistantMessage::new(parts).into()
}

/// What this very endpoint said.
fn own(parts: Vec<AssistantPart>, items: &[Value]) -> Arc<Message> {
    let replay = Replay::new("openai_responses", "host", "model", items.iter().map(parse).collect());
    AssistantMessage::new(parts).replay(replay).into()
}

fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user(text))
}

fn call_item(id: &str, name: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": "{\"a\":1}", "status": "completed"})
}

fn search_item(id: &str) -> Value {
    json!({"type": "tool_search_call", "id": format!("tsc_{id}"), "call_id": id, "execution": "client", "arguments": {"queries": ["x"]}, "status": "completed"})
}

fn reasoning_item(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "secret"})
}
