//! The team's own model service: it writes the body that its gateway understands, and reads the gateway's answer.

use std::{
    future::{Ready, ready},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures_util::stream::{self, Iter};
use serde_json::{Value, json};
use tower::Service;
use tower_genai::{AssistantMessage, AssistantPart, Content, Error, Message, ModelEvent, ModelRequest, Response, StopReason, ToolCall};

use crate::types::{CallError, CallRequest};

/// What one request looked like when it arrived here.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) user: String,
    pub(crate) trace: String,
    pub(crate) tools: usize,
    pub(crate) bytes: usize,
}

#[derive(Clone, Default)]
pub(crate) struct HouseModel {
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl HouseModel {
    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn answer(&self, request: CallRequest) -> Result<Events, CallError> {
        if request.user == "mallory" {
            return Err(CallError::NoBudget { user: request.user });
        }
        let body = encode(&request.model);
        let seen = Seen { tools: request.model.tools.len(), bytes: body.to_string().len(), user: request.user, trace: request.trace };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
        Ok(stream::iter(decode(&gateway(&body), &request.model)))
    }
}

type Events = Iter<std::vec::IntoIter<Result<ModelEvent, Error>>>;

impl Service<CallRequest> for HouseModel {
    type Response = Events;
    type Error = CallError;
    type Future = Ready<Result<Events, CallError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: CallRequest) -> Self::Future {
        ready(self.answer(request))
    }
}

/// The body for the gateway: every tool in the request is declared. The team's tools have no namespaces and plain names, so that a name is the name on
/// the wire; elsewhere `tower_genai::wire_name` makes one.
fn encode(request: &ModelRequest) -> Value {
    let tools = request
        .tools
        .iter()
        .map(|tool| json!({"name": *tool.name.name, "description": *tool.description, "parameters": tool.parameters.to_value()}));
    let tools: Vec<Value> = tools.collect();
    let messages: Vec<Value> = request.messages.iter().map(|message| encode_message(message)).collect();
    json!({"tools": tools, "system": request.system, "messages": messages})
}

fn encode_message(message: &Message) -> Value {
    match message {
        Message::User(user) => json!({"role": "user", "text": text_of(&user.content)}),
        Message::Tool(result) => json!({"role": "tool", "id": *result.call_id, "text": text_of(&result.content)}),
        // New: the answer to a search is a tool's result. The definitions themselves are among the declared tools.
        Message::Search(result) => {
            let names: Vec<String> = result.loaded.iter().map(|tool| tool.name.to_string()).collect();
            json!({"role": "tool", "id": *result.call_id, "text": format!("Loaded: {}. {}", names.join(", "), result.note)})
        }
        Message::Assistant(assistant) => {
            let calls = assistant.tool_calls().chain(assistant.searches());
            let calls = calls.map(|call| json!({"id": *call.id, "name": *call.name.name, "arguments": call.arguments.to_value()}));
            json!({"role": "assistant", "text": assistant.text(), "calls": calls.collect::<Vec<_>>()})
        }
        _ => Value::Null,
    }
}

fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|content| match content {
        Content::Text { text } => Some(&**text),
        _ => None,
    });
    texts.collect()
}

/// The call that the gateway answered with, as events.
fn decode(call: &Value, request: &ModelRequest) -> Vec<Result<ModelEvent, Error>> {
    let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
    let call = ToolCall::from_text(text("id"), text("name"), text("arguments"));
    // New: a call of the search tool is not the caller's.
    let is_search = request.tools.search_tool().is_some_and(|search| search.name == call.name);
    let mut events = Vec::new();
    if !is_search {
        events.push(ModelEvent::ToolCallStarted { message: 0, id: call.id.clone(), name: call.name.clone() });
    }
    let part = if is_search { AssistantPart::Search(call) } else { AssistantPart::ToolCall(call) };
    let response = Response::of(AssistantMessage::new(vec![part]), StopReason::ToolUse);
    events.extend(response.messages.iter().cloned().map(ModelEvent::Message));
    events.push(ModelEvent::Response(Box::new(response)));
    events.into_iter().map(Ok).collect()
}

/// Stands in for the gateway and the model behind it: calls the tool that it needs when that is declared, and searches for it when it is not.
fn gateway(body: &Value) -> Value {
    let declared = |name: &str| {
        body.get("tools").and_then(Value::as_array).is_some_and(|tools| tools.iter().any(|tool| tool.get("name") == Some(&name.into())))
    };
    match declared("refund_payment") {
        true => json!({"id": "call-2", "name": "refund_payment", "arguments": r#"{"id":"4711"}"#}),
        false => json!({"id": "call-1", "name": "tool_search", "arguments": r#"{"queries":["refund a payment"]}"#}),
    }
}
