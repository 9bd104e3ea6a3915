//! What the tests of the protocols make requests of, and how they decode.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use serde_json::Value;
use tower_genai_core::{
    AssistantMessage, AssistantPart, Content, Conversation, Error, Image, Json, Lowering, Message, ModelEvent, ModelRequest, Replay,
    Response, SearchResult, ToolCall, ToolDefinition, ToolKind, ToolResult, ToolSet, UserMessage,
};

use super::{Capabilities, Decode, Encoded, Protocol, Target};

pub(crate) fn target() -> Target {
    Target::new("host", "model")
}

/// A request as it goes out, lowered for the mode of the capabilities.
pub(crate) fn encoded<P: Protocol + Default>(request: &ModelRequest, capabilities: &Capabilities) -> Result<Encoded<P::Context>, Error> {
    let mut request = request.clone();
    Lowering::new(capabilities.deferral).lower(&mut request)?;
    P::default().encode(&request, &target(), capabilities)
}

pub(crate) fn text<P: Protocol + Default>(request: &ModelRequest, capabilities: &Capabilities) -> String {
    let body: Bytes = encoded::<P>(request, capabilities).unwrap().body;
    String::from_utf8(body.to_vec()).unwrap()
}

pub(crate) fn body<P: Protocol + Default>(request: &ModelRequest, capabilities: &Capabilities) -> Value {
    serde_json::from_str(&text::<P>(request, capabilities)).unwrap()
}

pub(crate) fn refusal<P: Protocol + Default>(request: &ModelRequest, capabilities: &Capabilities) -> String {
    let error = encoded::<P>(request, capabilities).err().expect("a refusal");
    assert!(!error.is_retryable());
    error.to_string()
}

pub(crate) fn json(value: &Value) -> Json {
    Json::parse(&value.to_string()).unwrap()
}

pub(crate) fn tool(name: &str) -> ToolDefinition {
    ToolDefinition::new(name).description(format!("Does {name}."))
}

pub(crate) fn deferred(name: &str) -> ToolDefinition {
    tool(name).deferred(true)
}

pub(crate) fn search_tool() -> ToolDefinition {
    ToolDefinition::new("tool_search").kind(ToolKind::Search).description("Finds tools.")
}

pub(crate) fn request(tools: impl IntoIterator<Item = ToolDefinition>, messages: Vec<Arc<Message>>) -> ModelRequest {
    ModelRequest::new().tools(ToolSet::new(tools).unwrap()).messages(Conversation::from_iter(messages))
}

pub(crate) fn call(id: &str, name: &str) -> ToolCall {
    ToolCall::new(id, name, Json::parse("{\"a\":1}").unwrap())
}

pub(crate) fn search(id: &str) -> ToolCall {
    ToolCall::new(id, "tool_search", Json::parse("{\"queries\":[\"x\"]}").unwrap())
}

pub(crate) fn loading(id: &str, names: &[&str], note: &str) -> Arc<Message> {
    SearchResult::new(&search(id), names.iter().map(|name| Arc::new(deferred(name))).collect(), note).into()
}

pub(crate) fn answer(id: &str, name: &str, text: &str) -> Arc<Message> {
    ToolResult::text(&call(id, name), text).into()
}

pub(crate) fn failure(id: &str, name: &str, text: &str) -> Arc<Message> {
    ToolResult::error(&call(id, name), text).into()
}

pub(crate) fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user(text))
}

pub(crate) fn image() -> Content {
    Content::Image(Image::Base64 { media_type: "image/png".into(), data: "iVBORw0KGgo=".into() })
}

pub(crate) fn linked_image() -> Content {
    Content::Image(Image::Url { url: "https://example.com/a.png".into(), media_type: Some("image/png".into()) })
}

pub(crate) fn showing(content: impl IntoIterator<Item = Content>) -> Arc<Message> {
    Arc::new(Message::User(UserMessage::new(content)))
}

/// The answer to a call, with an image.
pub(crate) fn picture(id: &str, name: &str) -> Arc<Message> {
    let mut result = ToolResult::text(&call(id, name), "Look:");
    result.content.push(image());
    result.into()
}

pub(crate) fn said(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.into() }
}

pub(crate) fn thought(text: &str) -> AssistantPart {
    AssistantPart::Reasoning { text: text.into() }
}

/// What a model said that has no items of this endpoint.
pub(crate) fn foreign(parts: Vec<AssistantPart>) -> Arc<Message> {
    AssistantMessage::new(parts).into()
}

/// What this very endpoint said.
pub(crate) fn own<P: Protocol>(parts: Vec<AssistantPart>, items: &[Value]) -> Arc<Message> {
    let replay = Replay::new(P::NAME, "host", "model", items.iter().map(json).collect());
    AssistantMessage::new(parts).replay(replay).into()
}

/// What a decoder makes of a stream.
pub(crate) struct Decoded {
    pub(crate) events: Vec<ModelEvent>,
    pub(crate) outcome: Result<(), Error>,
}

impl Decoded {
    pub(crate) fn response(&self) -> &Response {
        let response = self.events.last().expect("an event");
        match response {
            ModelEvent::Response(response) => response,
            other => panic!("no response: {other:?}, {:?}", self.outcome),
        }
    }

    pub(crate) fn message(&self) -> &AssistantMessage {
        self.response().assistant().expect("a message")
    }

    /// The calls in short.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = self.message().parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall(call) => Some(("", call)),
            AssistantPart::Search(call) => Some(("search ", call)),
            _ => None,
        });
        calls.map(|(kind, call)| format!("{kind}{} {} {}", call.id, call.name, call.arguments)).collect()
    }

    /// The events in short, without the message and the response at the end.
    pub(crate) fn shown(&self) -> Vec<String> {
        let shown = self.events.iter().filter_map(|event| match event {
            ModelEvent::Text(delta) => Some(format!("text {}", delta.text)),
            ModelEvent::Reasoning(delta) => Some(format!("reasoning {}", delta.text)),
            ModelEvent::Refusal(delta) => Some(format!("refusal {}", delta.text)),
            ModelEvent::ToolCallStarted { id, name, .. } => Some(format!("call {id} {name}")),
            ModelEvent::ToolCallDelta { id, arguments, .. } => Some(format!("arguments {id} {arguments}")),
            ModelEvent::HostedStarted(hosted) => Some(format!("hosted {} {}", hosted.id, hosted.name)),
            ModelEvent::HostedInput { hosted, input } => Some(format!("input {} {input}", hosted.id)),
            ModelEvent::HostedCompleted(hosted) => Some(format!("completed {}", hosted.id)),
            ModelEvent::HostedFailed { hosted, code } => Some(format!("failed {} {code}", hosted.id)),
            ModelEvent::Warning(warning) => Some(format!("warning {}", warning.code)),
            _ => None,
        });
        shown.collect()
    }
}

/// Decodes events, with the names of a request.
pub(crate) fn decoded<P: Protocol + Default>(context: P::Context, data: &[impl AsRef<str>]) -> Decoded {
    let mut decoder = P::default().decoder(context, &target(), None);
    let mut events = VecDeque::new();
    let mut outcome = data.iter().try_for_each(|data| decoder.push(data.as_ref(), &mut events));
    if outcome.is_ok() && !decoder.is_done() {
        outcome = decoder.end(&mut events);
    }
    Decoded { events: events.into(), outcome }
}

/// Decodes a response in one piece.
pub(crate) fn decoded_whole<P: Protocol + Default>(context: P::Context, body: &str) -> Decoded {
    let mut decoder = P::default().decoder(context, &target(), None);
    let mut events = VecDeque::new();
    let mut outcome = decoder.whole(body.as_bytes(), &mut events);
    if outcome.is_ok() && !decoder.is_done() {
        outcome = decoder.end(&mut events);
    }
    Decoded { events: events.into(), outcome }
}

/// The context of a request with these tools.
pub(crate) fn context<P: Protocol + Default>(tools: impl IntoIterator<Item = ToolDefinition>, capabilities: &Capabilities) -> P::Context {
    encoded::<P>(&request(tools, vec![user("u")]), capabilities).unwrap().context
}
