mod hosts;
mod messages;
mod settings;

use serde_json::{Value, json};

use super::*;
use crate::protocols::{chat_completions::ChatCompletions, samples};

fn body(request: &ModelRequest) -> Value {
    body_with(request, &Capabilities::openai_chat())
}

fn body_with(request: &ModelRequest, capabilities: &Capabilities) -> Value {
    samples::body::<ChatCompletions>(request, capabilities)
}

fn refusal(request: &ModelRequest, capabilities: &Capabilities) -> String {
    samples::refusal::<ChatCompletions>(request, capabilities)
}

/// The dialogue in short.
fn shape(body: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let message = |message: &Value| {
        let mut out = format!("{}: {}", text(&message["role"]), text(&message["content"]));
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            out += &format!(" [{} {} {}]", text(&call["id"]), text(&function["name"]), text(&function["arguments"]));
        }
        for (key, value) in message.as_object().unwrap() {
            if !matches!(key.as_str(), "role" | "content" | "tool_calls") {
                out += &format!(" {key}={}", text(value));
            }
        }
        out
    };
    body["messages"].as_array().unwrap().iter().map(message).collect()
}
