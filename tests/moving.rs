//! A dialogue that began at one endpoint goes on at any other: all pairs of protocols, looked at as they go out.
#![cfg(all(feature = "anthropic", feature = "gemini", feature = "ollama", feature = "openai"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[allow(dead_code)]
#[path = "../examples/wire/known.rs"]
mod known;

use std::sync::Arc;

use serde_json::{Value, json};
use tower_genai::{
    AssistantMessage, AssistantPart, Content, Conversation, HostedCall, HostedOutcome, Image, Json, Message, ModelRequest, Replay,
    SearchResult, ToolCall, ToolDefinition, ToolKind, ToolName, ToolResult, ToolSet, UserMessage,
};

const PROTOCOLS: [&str; 5] = ["anthropic", "openai_responses", "openai_chat", "gemini", "ollama"];

/// Where every sample dialogue was held.
const HOST: &str = "here.example";
const MODEL: &str = "this-model";

/// What must not leave the endpoint that wrote it.
const SECRET: &str = "SIGNATURE";

fn json(value: Value) -> Json {
    Json::from(value)
}

fn deferred(name: &str) -> ToolDefinition {
    ToolDefinition::new(name).description("Reads a record").deferred(true)
}

/// Two tools that are shown, one with a namespace; a search; three deferred ones.
fn tools() -> Vec<ToolDefinition> {
    let mut tools = vec![
        ToolDefinition::new("list").namespace("crm").description("Lists customers"),
        ToolDefinition::new("read file").description("Reads a file"),
        ToolDefinition::new("tool_search").kind(ToolKind::Search).description("Searches tools"),
    ];
    tools.extend(["get_alpha", "get_beta", "get_gamma"].map(deferred));
    tools
}

/// The name of `read file` on every wire.
const READ: &str = "read_file_1cbbadf4";

fn call(id: &str, name: impl Into<ToolName>, arguments: &str) -> ToolCall {
    ToolCall::from_text(id, name, arguments)
}

/// One step of the model: how the protocol wrote it, and what it means.
fn step(protocol: &str, number: usize, thought: &str, text: &str, calls: &[(AssistantPart, &str)], hosted: bool) -> AssistantMessage {
    let mut parts = vec![AssistantPart::Reasoning { text: thought.into() }];
    if hosted {
        let mut hosted = HostedCall::new(format!("HOSTED{number}"), "web_search", "server_tool_use");
        hosted.outcome = HostedOutcome::Completed;
        parts.push(AssistantPart::Hosted(hosted));
    }
    if !text.is_empty() {
        parts.push(AssistantPart::Text { text: text.into() });
    }
    parts.extend(calls.iter().map(|(part, _)| part.clone()));
    let items = items(protocol, number, thought, text, calls, hosted);
    AssistantMessage::new(parts).replay(Replay::new(protocol, HOST, MODEL, items))
}

fn inner(part: &AssistantPart) -> &ToolCall {
    match part {
        AssistantPart::ToolCall(call) | AssistantPart::Search(call) => call,
        _ => panic!("a call"),
    }
}

/// The provider's own items of a step. The second member of a call is its name on the wire.
fn items(protocol: &str, number: usize, thought: &str, text: &str, calls: &[(AssistantPart, &str)], hosted: bool) -> Vec<Json> {
    let signature = format!("{SECRET}{number}");
    let mut items = Vec::new();
    match protocol {
        "anthropic" => {
            items.push(json!({"type": "thinking", "thinking": thought, "signature": signature}));
            if hosted {
                let id = format!("srvtoolu_{number}");
                items.push(json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q"}}));
                items.push(json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []}));
            }
            if !text.is_empty() {
                items.push(json!({"type": "text", "text": text}));
            }
            for (part, name) in calls {
                let call = inner(part);
                items.push(json!({"type": "tool_use", "id": &*call.id, "name": name, "input": call.arguments.to_value()}));
            }
        }
        "openai_responses" => {
            items.push(json!({"type": "reasoning", "id": format!("rs_{number}"), "summary": [], "encrypted_content": signature}));
            if hosted {
                items.push(json!({"type": "web_search_call", "id": format!("ws_{number}"), "status": "completed", "action": {"type": "search", "query": "q"}}));
            }
            if !text.is_empty() {
                let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
                items.push(json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed", "content": content}));
            }
            for (part, name) in calls {
                let call = inner(part);
                items.push(match part {
                    AssistantPart::Search(_) => json!({"type": "tool_search_call", "call_id": &*call.id, "execution": "client",
                        "arguments": call.arguments.to_value(), "status": "completed"}),
                    _ => {
                        let mut item = json!({"type": "function_call", "call_id": &*call.id, "name": name, "status": "completed",
                            "arguments": call.invalid_arguments.as_deref().unwrap_or(call.arguments.as_str())});
                        if name.starts_with("get_") {
                            item["namespace"] = json!(name);
                        }
                        item
                    }
                });
            }
        }
        "openai_chat" => {
            let calls: Vec<_> = calls
                .iter()
                .map(|(part, name)| {
                    let call = inner(part);
                    let arguments = call.invalid_arguments.as_deref().unwrap_or(call.arguments.as_str());
                    json!({"id": &*call.id, "type": "function", "function": {"name": name, "arguments": arguments}})
                })
                .collect();
            let mut message = json!({"role": "assistant", "content": text, "reasoning_content": format!("{thought} {signature}")});
            if !calls.is_empty() {
                message["tool_calls"] = json!(calls);
            }
            items.push(message);
        }
        "gemini" => {
            items.push(json!({"text": thought, "thought": true}));
            if hosted {
                items.push(json!({"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}, "thoughtSignature": signature}));
                items.push(json!({"toolResponse": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}}));
            }
            if !text.is_empty() {
                items.push(json!({"text": text}));
            }
            for (at, (part, name)) in calls.iter().enumerate() {
                let call = inner(part);
                let mut item = json!({"functionCall": {"name": name, "args": call.arguments.to_value()}});
                if at == 0 {
                    item["thoughtSignature"] = json!(signature);
                }
                items.push(item);
            }
            if calls.is_empty() {
                items.push(json!({"text": "", "thoughtSignature": signature}));
            }
        }
        _ => {
            let calls: Vec<_> = calls
                .iter()
                .map(|(part, name)| json!({"function": {"name": name, "arguments": inner(part).arguments.to_value()}}))
                .collect();
            let mut message = json!({"role": "assistant", "content": text, "thinking": format!("{thought} {signature}")});
            if !calls.is_empty() {
                message["tool_calls"] = json!(calls);
            }
            items.push(message);
        }
    }
    items.into_iter().map(json).collect()
}

/// A dialogue as it was held with a protocol: reasoning, a search beside parallel calls, a failed one, broken arguments, a hosted tool.
fn dialogue(protocol: &str) -> Vec<Arc<Message>> {
    let search = call("s1", "tool_search", r#"{"queries":["alpha"]}"#);
    let list = call("c1", ToolName::namespaced("crm", "list"), r#"{"page":1}"#);
    let read = call("c2", "read file", r#"{"path":"x"}"#);
    let alpha = call("c3", "get_alpha", r#"{"id":1}"#);
    let broken = call("c4", "get_alpha", r#"{"id":"#);
    assert!(broken.invalid_arguments.is_some());
    let first = [
        (AssistantPart::Search(search.clone()), "tool_search"),
        (AssistantPart::ToolCall(list.clone()), "crm__list"),
        (AssistantPart::ToolCall(read.clone()), READ),
    ];
    let second = [(AssistantPart::ToolCall(alpha.clone()), "get_alpha"), (AssistantPart::ToolCall(broken.clone()), "get_alpha")];
    let picture = Image::Base64 { media_type: "image/png".into(), data: "UElYRUxT".into() };
    let mut listed = ToolResult::text(&list, "two customers");
    listed.content.push(Content::Image(picture.clone()));
    vec![
        UserMessage::new([Content::text("look"), Content::Image(picture)]).into(),
        step(protocol, 1, "I think.", "One moment.", &first, false).into(),
        SearchResult::new(&search, vec![Arc::new(deferred("get_alpha"))], "").into(),
        listed.into(),
        ToolResult::error(&read, "no such file").into(),
        step(protocol, 2, "Next.", "", &second, false).into(),
        ToolResult::text(&alpha, "record one").into(),
        ToolResult::error(&broken, "the arguments are not JSON").into(),
        step(protocol, 3, "Nearly.", "All done.", &[], true).into(),
        Message::user("and now?").into(),
    ]
}

fn request(protocol: &str, tools: Vec<ToolDefinition>) -> ModelRequest {
    ModelRequest::new().system("Be brief.").messages(Conversation::from_iter(dialogue(protocol))).tools(ToolSet::new(tools).unwrap())
}

fn encode(protocol: &str, request: ModelRequest, host: &str) -> Value {
    let known = known::find(protocol).unwrap();
    serde_json::from_slice(&known.encode(request, MODEL, Some(host)).unwrap()).unwrap()
}

/// What goes out, in words that are the same for every protocol.
#[derive(Debug, Default)]
struct Seen {
    /// In order: `said`, `user`, `call NAME`, `result NAME`; the last is found by its id where there is one.
    steps: Vec<String>,
    texts: Vec<String>,
    arguments: Vec<Value>,
    declared: Vec<String>,
    images: usize,
    open: Vec<(String, String)>,
}

impl Seen {
    fn text(&mut self, who: &str, text: &str) {
        if !text.is_empty() {
            self.steps.push(who.to_owned());
            self.texts.push(text.to_owned());
        }
    }

    fn call(&mut self, id: &Value, name: &Value, arguments: &Value) {
        let name = name.as_str().unwrap().to_owned();
        let id = id.as_str().unwrap_or_default().to_owned();
        assert!(id.is_empty() || !self.open.iter().any(|(other, _)| *other == id), "an id twice: {id}");
        self.steps.push(format!("call {name}"));
        self.open.push((id, name));
        let arguments = match arguments {
            Value::String(text) => serde_json::from_str(text).expect("arguments are JSON"),
            other => other.clone(),
        };
        assert!(arguments.is_object(), "{arguments}");
        self.arguments.push(arguments);
    }

    /// Answers are found by their id, and where a protocol has none by their order.
    fn result(&mut self, id: &Value, name: &Value, text: String) {
        let id = id.as_str().unwrap_or_default();
        let at = self.open.iter().position(|(open, _)| open == id).unwrap_or_else(|| panic!("an answer to no call: {id} {text}"));
        let (_, called) = self.open.remove(at);
        if let Some(name) = name.as_str() {
            assert_eq!(name, called);
        }
        self.steps.push(format!("result {called}"));
        self.texts.push(text);
    }

    fn of(protocol: &str, body: &Value) -> Self {
        let mut seen = Self::default();
        match protocol {
            "anthropic" => seen.anthropic(body),
            "openai_responses" => seen.responses(body),
            "openai_chat" | "ollama" => seen.messages(body),
            _ => seen.gemini(body),
        }
        assert!(seen.open.is_empty(), "{protocol}: calls without an answer: {:?}", seen.open);
        seen
    }

    fn declare(&mut self, tools: &Value) {
        for tool in tools.as_array().into_iter().flatten() {
            let functions = tool["functionDeclarations"].as_array();
            let names = functions.into_iter().flatten().map(|function| &function["name"]).chain([&tool["name"], &tool["function"]["name"]]);
            self.declared.extend(names.filter_map(Value::as_str).map(str::to_owned));
        }
    }

    fn anthropic(&mut self, body: &Value) {
        self.declare(&body["tools"]);
        for message in body["messages"].as_array().unwrap() {
            let who = if message["role"] == "user" { "user" } else { "said" };
            for block in message["content"].as_array().unwrap() {
                match block["type"].as_str().unwrap() {
                    "text" => self.text(who, block["text"].as_str().unwrap()),
                    "image" => self.images += 1,
                    "tool_use" => self.call(&block["id"], &block["name"], &block["input"]),
                    "tool_result" => {
                        self.images += block["content"].to_string().matches("\"image\"").count();
                        self.result(&block["tool_use_id"], &Value::Null, block["content"].to_string());
                    }
                    _ => {}
                }
            }
        }
    }

    fn responses(&mut self, body: &Value) {
        self.declare(&body["tools"]);
        for item in body["input"].as_array().unwrap() {
            self.images += item.to_string().matches("\"input_image\"").count();
            match (item["type"].as_str(), item["role"].as_str()) {
                (None | Some("message"), Some(role)) => {
                    self.text(if role == "assistant" { "said" } else { "user" }, &item["content"].to_string());
                }
                (Some("function_call"), _) => self.call(&item["call_id"], &item["name"], &item["arguments"]),
                (Some("tool_search_call"), _) => self.call(&item["call_id"], &json!("tool_search"), &item["arguments"]),
                (Some("function_call_output"), _) => self.result(&item["call_id"], &Value::Null, item["output"].to_string()),
                (Some("tool_search_output"), _) => {
                    self.declare(&item["tools"]);
                    self.result(&item["call_id"], &Value::Null, item["tools"].to_string());
                }
                _ => {}
            }
        }
    }

    fn messages(&mut self, body: &Value) {
        self.declare(&body["tools"]);
        for message in body["messages"].as_array().unwrap() {
            self.images += message["images"].as_array().map_or(0, Vec::len) + message.to_string().matches("\"image_url\":{").count();
            let content = match &message["content"] {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            match message["role"].as_str().unwrap() {
                "user" => self.text("user", &content),
                "assistant" => {
                    self.text("said", &content);
                    for call in message["tool_calls"].as_array().into_iter().flatten() {
                        self.call(&call["id"], &call["function"]["name"], &call["function"]["arguments"]);
                    }
                }
                "tool" => self.result(&message["tool_call_id"], &message["tool_name"], content),
                _ => {}
            }
        }
    }

    fn gemini(&mut self, body: &Value) {
        self.declare(&body["tools"]);
        for content in body["contents"].as_array().unwrap() {
            let who = if content["role"] == "user" { "user" } else { "said" };
            for part in content["parts"].as_array().unwrap() {
                self.images += usize::from(part.to_string().contains("\"inlineData\""));
                if part["functionCall"].is_object() {
                    let call = &part["functionCall"];
                    self.call(&call["id"], &call["name"], &call["args"]);
                } else if part["functionResponse"].is_object() {
                    let response = &part["functionResponse"];
                    self.result(&response["id"], &response["name"], response["response"].to_string());
                } else if part["thought"] != true {
                    self.text(who, part["text"].as_str().unwrap_or_default());
                }
            }
        }
    }
}

/// The shape of the dialogue, whoever wrote it and whoever reads it, but for the texts that carry images behind the answers.
fn expected() -> Vec<String> {
    let names = ["tool_search", "crm__list", READ];
    let mut steps = vec!["user".to_owned(), "said".to_owned()];
    steps.extend(names.map(|name| format!("call {name}")));
    steps.extend(names.map(|name| format!("result {name}")));
    steps.extend(["call get_alpha", "call get_alpha", "result get_alpha", "result get_alpha", "said", "user"].map(str::to_owned));
    steps
}

#[test]
fn a_dialogue_goes_on_at_every_other_endpoint() {
    for from in PROTOCOLS {
        for to in PROTOCOLS {
            let body = encode(to, request(from, tools()), "elsewhere.example");
            let text = body.to_string();
            let seen = Seen::of(to, &body);
            let context = format!("{from} -> {to}: {text:.4000}");
            let mut steps = seen.steps.clone();
            // A message of the user that holds an image of an answer may follow the answers.
            if steps.len() > expected().len() {
                assert_eq!(steps.remove(8), "user", "{context}");
            }
            assert_eq!(steps, expected(), "{context}");
            assert!(!text.contains(SECRET) && !text.contains("HOSTED"), "{context}");
            for said in ["One moment.", "All done.", "two customers", "no such file", "record one", "the arguments are not JSON"] {
                assert!(seen.texts.iter().any(|text| text.contains(said)), "{said}: {context}");
            }
            assert_eq!(seen.images, 2, "{context}");
            assert_eq!(seen.declared.iter().filter(|name| *name == "get_alpha").count(), 1, "{context}");
            assert!(["crm__list", READ].iter().all(|name| seen.declared.iter().any(|declared| declared == name)), "{context}");
            assert_eq!(seen.arguments[3], json!({"id": 1}), "{context}");
        }
    }
}

#[test]
fn at_its_own_endpoint_it_goes_back_as_it_came() {
    for protocol in PROTOCOLS {
        let text = encode(protocol, request(protocol, tools()), HOST).to_string();
        let signatures: Vec<_> = (1..=3).filter(|number| text.contains(&format!("{SECRET}{number}"))).collect();
        assert_eq!(signatures, [1, 2, 3], "{protocol}: {text}");
    }
}

#[test]
fn a_loaded_tool_that_vanished_stays_declared() {
    for from in PROTOCOLS {
        for to in PROTOCOLS {
            let left = tools().into_iter().filter(|tool| *tool.name.name != *"get_alpha").collect();
            let seen = Seen::of(to, &encode(to, request(from, left), "elsewhere.example"));
            assert_eq!(seen.declared.iter().filter(|name| *name == "get_alpha").count(), 1, "{from} -> {to}: {:?}", seen.declared);
        }
    }
}

#[test]
fn without_a_search_tool_the_dialogue_still_goes_out() {
    for from in PROTOCOLS {
        for to in PROTOCOLS {
            let left = tools().into_iter().filter(|tool| tool.kind != ToolKind::Search).collect();
            let seen = Seen::of(to, &encode(to, request(from, left), "elsewhere.example"));
            let calls = seen.steps.iter().filter(|step| step.starts_with("call")).count();
            assert_eq!(calls, 5, "{from} -> {to}: {:?}", seen.steps);
            assert!(["get_alpha", "get_beta", "get_gamma"].iter().all(|name| seen.declared.iter().any(|declared| declared == name)));
        }
    }
}

#[test]
fn a_stored_dialogue_goes_out_as_the_same_bytes() {
    for from in PROTOCOLS {
        for to in PROTOCOLS {
            let request = request(from, tools());
            let stored: Conversation = serde_json::from_value(serde_json::to_value(&request.messages).unwrap()).unwrap();
            let again = request.clone().messages(stored);
            assert_eq!(encode(to, request, HOST).to_string(), encode(to, again, HOST).to_string(), "{from} -> {to}");
        }
    }
}
