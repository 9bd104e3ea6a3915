//! An endpoint in process: a few rules for a model, and a check of every body.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::Full;
use serde_json::{Value, json};
use tower::Service;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Anthropic,
    Responses,
}

#[derive(Clone)]
pub(crate) struct Endpoint {
    wire: Wire,
    bodies: Arc<Mutex<Vec<Value>>>,
    sent: Arc<Mutex<Vec<Bytes>>>,
}

impl Endpoint {
    pub(crate) fn new(wire: Wire) -> Self {
        Self { wire, bodies: Arc::default(), sent: Arc::default() }
    }

    pub(crate) fn wire(&self) -> Wire {
        self.wire
    }

    /// The bodies as they came, to the byte.
    pub(crate) fn sent(&self) -> Vec<Bytes> {
        self.sent.lock().unwrap().clone()
    }

    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.bodies.lock().unwrap().clone()
    }

    /// Each body obeys the rules of deferral, and its cached part is a prefix of the next one's.
    pub(crate) fn assert_valid(&self) {
        let bodies = self.bodies();
        assert!(bodies.len() >= 4, "two turns are at least four requests");
        for body in &bodies {
            match self.wire {
                Wire::Anthropic => check_anthropic(body),
                Wire::Responses => check_responses(body),
            }
        }
        for pair in bodies.windows(2) {
            let [before, after] = pair else { continue };
            let (before, after) = (self.prompt(before), self.prompt(after));
            assert!(after.starts_with(&before), "not a prefix:\n{before:#?}\n{after:#?}");
        }
    }

    /// What the provider caches, in the order of the prompt: shown tools, system, messages; marks of the cache do not count.
    fn prompt(&self, body: &Value) -> Vec<Value> {
        let mut body = body.clone();
        unmark(&mut body);
        let list = |key: &str| body[key].as_array().cloned().unwrap_or_default();
        match self.wire {
            Wire::Anthropic => {
                let shown = list("tools").into_iter().filter(|tool| tool["defer_loading"] != true);
                shown.chain(list("system")).chain(list("messages")).collect()
            }
            Wire::Responses => {
                let mut prompt = list("tools");
                prompt.push(body["instructions"].clone());
                prompt.extend(list("input"));
                prompt
            }
        }
    }
}

fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        _ => {}
    }
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

fn assert_unique(names: &[&str], body: &Value) {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), names.len(), "{body:#}");
}

fn check_anthropic(body: &Value) {
    let tools = body["tools"].as_array().unwrap();
    assert_unique(&names(tools), body);
    let deferred = tools.iter().filter(|tool| tool["defer_loading"] == true).count();
    assert!(deferred < tools.len(), "{body:#}");
    if deferred > 0 {
        assert!(names(tools).contains(&"tool_search"), "deferred without a search: {body:#}");
    }
    for message in body["messages"].as_array().unwrap() {
        for block in message["content"].as_array().into_iter().flatten().flat_map(|block| block["content"].as_array().into_iter().flatten())
        {
            if block["type"] == "tool_reference" {
                assert!(names(tools).contains(&block["tool_name"].as_str().unwrap()), "{body:#}");
            }
        }
    }
}

fn check_responses(body: &Value) {
    let tools = body["tools"].as_array().unwrap();
    let searches = tools.iter().any(|tool| tool["type"] == "tool_search");
    let input = body["input"].as_array().unwrap();
    let mut declared = names(tools);
    for item in input {
        if item["type"] == "tool_search_output" {
            declared.extend(names(item["tools"].as_array().unwrap()));
        }
    }
    assert_unique(&declared, body);
    let deferred = tools.iter().any(|tool| tool["defer_loading"] == true);
    assert!(!deferred || searches, "{body:#}");
    for (call, output) in [("function_call", "function_call_output"), ("tool_search_call", "tool_search_output")] {
        let ids = |kind: &str| input.iter().filter(|item| item["type"] == kind).map(|item| item["call_id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(call), ids(output), "{body:#}");
    }
}

/// The next step of the model for the last user text, `WORD NAME`: search for the word until the name is declared, call it once, answer.
enum StepOf<'a> {
    Search(&'a str),
    Call(&'a str),
    Answer(&'a str),
}

fn step<'a>(text: &'a str, visible: &[&str], results: usize) -> StepOf<'a> {
    let (word, name) = text.split_once(' ').unwrap();
    if results > 0 {
        StepOf::Answer(name)
    } else if visible.contains(&name) {
        StepOf::Call(name)
    } else {
        StepOf::Search(word)
    }
}

fn answer_anthropic(body: &Value, number: usize) -> Value {
    let messages = body["messages"].as_array().unwrap();
    let blocks = |message: &Value| match &message["content"] {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        content => content.as_array().cloned().unwrap_or_default(),
    };
    let all: Vec<Value> = messages.iter().flat_map(blocks).collect();
    let is_question = |block: &Value| {
        block["type"] == "text" && block["text"].as_str().is_some_and(|text| text.split(' ').count() == 2 && !text.starts_with("answered"))
    };
    let last = all.iter().rposition(is_question).unwrap();
    let references: Vec<&str> = all
        .iter()
        .flat_map(|block| block["content"].as_array().into_iter().flatten())
        .filter_map(|block| block["tool_name"].as_str())
        .collect();
    let shown =
        body["tools"].as_array().unwrap().iter().filter(|tool| tool["defer_loading"] != true).filter_map(|tool| tool["name"].as_str());
    let visible: Vec<&str> = shown.chain(references).collect();
    let done = |block: &&Value| block["type"] == "tool_result" && block.to_string().contains("done");
    let results = all[last..].iter().filter(done).count();
    let (content, stop) = match step(all[last]["text"].as_str().unwrap(), &visible, results) {
        StepOf::Search(word) => {
            (json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": "tool_search", "input": {"queries": [word]}}), "tool_use")
        }
        StepOf::Call(name) => (json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {}}), "tool_use"),
        StepOf::Answer(name) => (json!({"type": "text", "text": format!("answered {name}")}), "end_turn"),
    };
    json!({"id": "msg", "type": "message", "role": "assistant", "model": "model", "content": [content], "stop_reason": stop,
        "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}})
}

fn answer_responses(body: &Value, number: usize) -> Value {
    let input = body["input"].as_array().unwrap();
    let text_of = |item: &Value| match &item["content"] {
        Value::String(text) => text.clone(),
        content => content[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    let last = input.iter().rposition(|item| item["role"] == "user").unwrap();
    let question = text_of(&input[last]);
    let loaded = input.iter().filter(|item| item["type"] == "tool_search_output").flat_map(|item| names(item["tools"].as_array().unwrap()));
    let visible: Vec<&str> = names(body["tools"].as_array().unwrap()).into_iter().chain(loaded).collect();
    let results = input[last..].iter().filter(|item| item["type"] == "function_call_output").count();
    let item = match step(&question, &visible, results) {
        StepOf::Search(word) => json!({"type": "tool_search_call", "id": format!("tsc_{number}"), "call_id": format!("call_{number}"),
            "execution": "client", "status": "completed", "arguments": {"queries": [word]}}),
        StepOf::Call(name) => {
            json!({"type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"), "name": name,
            "namespace": name, "arguments": "{}", "status": "completed"})
        }
        StepOf::Answer(name) => json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": format!("answered {name}"), "annotations": []}]}),
    };
    json!({"id": "resp", "object": "response", "status": "completed", "model": "model", "output": [item]})
}

impl Service<http::Request<Bytes>> for Endpoint {
    type Response = http::Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Bytes>) -> Self::Future {
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        self.sent.lock().unwrap().push(request.body().clone());
        let number = {
            let mut bodies = self.bodies.lock().unwrap();
            bodies.push(body.clone());
            bodies.len()
        };
        let answer = match self.wire {
            Wire::Anthropic => answer_anthropic(&body, number),
            Wire::Responses => answer_responses(&body, number),
        };
        let response = http::Response::builder().header("content-type", "application/json").body(Full::from(answer.to_string()));
        ready(Ok(response.unwrap()))
    }
}
