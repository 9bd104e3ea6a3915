mod calls;
mod gateways;
mod robust;

use serde_json::{Value, json};

use super::*;
use crate::protocols::{
    Capabilities,
    chat_completions::ChatCompletions,
    samples::{self, Decoded},
};

fn decoded(chunks: &[Value]) -> Decoded {
    let chunks: Vec<String> = chunks.iter().map(Value::to_string).collect();
    samples::decoded::<ChatCompletions>(Context::default(), &chunks)
}

fn whole(body: &Value) -> Decoded {
    samples::decoded_whole::<ChatCompletions>(Context::default(), &body.to_string())
}

fn delta(delta: Value) -> Value {
    json!({"id": "chatcmpl-1", "model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}], "usage": null})
}

fn end(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn item(decoded: &Decoded) -> Value {
    let items = &decoded.message().replay.as_ref().unwrap().items;
    assert_eq!(items.len(), 1);
    items[0].to_value()
}
