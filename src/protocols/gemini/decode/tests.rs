mod parts;
mod robust;

use serde_json::{Value, json};

use super::*;
use crate::protocols::{
    Capabilities,
    gemini::GenerateContent,
    samples::{self, Decoded},
};

fn decoded(events: &[Value]) -> Decoded {
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    samples::decoded::<GenerateContent>(Context::default(), &events)
}

/// An event with parts of the answer.
fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "modelVersion": "m-1", "responseId": "r"})
}

fn end(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason}], "usageMetadata": {"promptTokenCount": 10, "cachedContentTokenCount": 4,
        "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "toolUsePromptTokenCount": 90, "totalTokenCount": 105}})
}

fn items(decoded: &Decoded) -> Vec<Value> {
    decoded.message().replay.as_ref().unwrap().items.iter().map(Json::to_value).collect()
}
