use serde_json::{Value, json};
use std::sync::Arc;

use tower_genai_core::{AssistantPart, Json, Message, ServerTool};

use super::*;
use crate::protocols::{
    ollama::OllamaChat,
    samples::{
        self, answer, call, deferred, failure, foreign, image, linked_image, loading, own, picture, request, said, search, search_tool,
        showing, thought, tool, user,
    },
};

fn body(request: &ModelRequest) -> Value {
    samples::body::<OllamaChat>(request, &Capabilities::ollama())
}

fn refusal(request: &ModelRequest) -> String {
    samples::refusal::<OllamaChat>(request, &Capabilities::ollama())
}

/// The dialogue in short.
fn shape(request: &ModelRequest) -> Vec<String> {
    let body = body(request);
    let message = |message: &Value| {
        let mut out = format!("{}: {}", message["role"].as_str().unwrap(), message["content"].as_str().unwrap());
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            out += &format!(
                " [{} {} {}]",
                call["id"].as_str().unwrap(),
                call["function"]["name"].as_str().unwrap(),
                call["function"]["arguments"]
            );
        }
        for key in ["tool_name", "tool_call_id", "thinking"] {
            out += &message[key].as_str().map(|text| format!(" {key}={text}")).unwrap_or_default();
        }
        out + &message["images"].as_array().map(|images| format!(" {} images", images.len())).unwrap_or_default()
    };
    body["messages"].as_array().unwrap().iter().map(message).collect()
}

#[test]
fn every_setting_has_its_field() {
    let mut request = ModelRequest::new().system("Be").system("brief.").user("hi").max_output_tokens(5).stop_sequence("END");
    request.sampling = Sampling::new().temperature(0.5).top_p(0.9).top_k(40).seed(-7);
    request.sampling.frequency_penalty = Some(0.25);
    request.sampling.presence_penalty = Some(f64::NAN);
    request.output = OutputFormat::JsonSchema { name: "x".into(), schema: Json::parse(r#"{"type":"object"}"#).unwrap(), strict: true };
    request = request.extra_body("options", json!({"num_ctx": 8192, "seed": 1})).extra_body("keep_alive", json!("5m"));
    assert_eq!(
        body(&request),
        json!({
            "model": "model", "stream": true, "format": {"type": "object"}, "keep_alive": "5m",
            "options": {"num_predict": 5, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": 1, "frequency_penalty": 0.25, "stop": ["END"], "num_ctx": 8192},
            "messages": [{"role": "system", "content": "Be\n\nbrief."}, {"role": "user", "content": "hi"}],
        })
    );
    request.output = OutputFormat::Json;
    assert_eq!(body(&request)["format"], "json");
    assert_eq!(body(&request.extra_body("stream", json!(false)))["stream"], false);
}

#[test]
fn how_it_is_to_think() {
    let think = |reasoning: Reasoning, style| {
        let capabilities = Capabilities { thinking: style, ..Capabilities::ollama() };
        samples::body::<OllamaChat>(&ModelRequest::new().user("hi").reasoning(reasoning), &capabilities)["think"].clone()
    };
    use ThinkingStyle::{Effort as Level, Switch, Unsupported};
    for (effort, level) in
        [(Effort::Minimal, "low"), (Effort::Low, "low"), (Effort::Medium, "medium"), (Effort::High, "high"), (Effort::Max, "high")]
    {
        assert_eq!(think(Reasoning::effort(effort), Level), level);
        assert_eq!(think(Reasoning::effort(effort), Switch), true);
    }
    assert_eq!([Level, Switch].map(|style| think(Reasoning::effort(Effort::None), style)), [false, false]);
    assert_eq!([Level, Switch].map(|style| think(Reasoning::budget(2_000), style)), [true, true]);
    assert_eq!(think(Reasoning::effort(Effort::High), Unsupported), Value::Null);
    let capabilities = Capabilities { thinking: ThinkingStyle::Object, ..Capabilities::ollama() };
    let error = samples::refusal::<OllamaChat>(&ModelRequest::new().user("hi").reasoning(Reasoning::budget(1)), &capabilities);
    assert!(error.contains("Capabilities::thinking is Object"), "{error}");
}

#[test]
fn tools_are_functions_and_a_choice_is_whether_to_send_them() {
    let tools = [tool("read").parameters(Json::parse(r#"{"properties":{"a":{"type":"string"}}}"#).unwrap()), tool("a b").namespace("ns")];
    let request = request(tools, vec![user("hi")]);
    let tools = body(&request)["tools"].clone();
    assert_eq!(
        tools[0],
        json!({"type": "function", "function": {"name": "read", "description": "Does read.",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}})
    );
    let name = tools[1]["function"]["name"].as_str().unwrap();
    assert!(name.starts_with("ns__a_b"), "{name}");
    let choosing = |choice: ToolChoice| request.clone().tool_choice(choice);
    assert_eq!(body(&choosing(ToolChoice::None))["tools"], Value::Null);
    for forced in [ToolChoice::Required, ToolChoice::Tool("read".into())] {
        let error = refusal(&choosing(forced));
        assert!(error.contains("`tool_choice`"), "{error}");
    }
    let hosted = request.clone().server_tool(ServerTool::plain("web_search").unwrap()).unwrap();
    assert!(refusal(&hosted).contains("server tool `web_search`"));
    let without = Capabilities { functions: false, ..Capabilities::ollama() };
    assert!(samples::refusal::<OllamaChat>(&request, &without).contains("tool `read`"));
}

#[test]
fn each_call_is_followed_by_its_answer() {
    let turn = foreign(vec![said("Well."), AssistantPart::ToolCall(call("a", "read")), AssistantPart::ToolCall(call("b", "write"))]);
    let messages = vec![user("u"), turn, failure("b", "write", "no"), answer("a", "read", "yes"), answer("x", "read", "orphan")];
    assert_eq!(
        shape(&request([tool("read"), tool("write")], messages)),
        [
            "user: u",
            "assistant: Well. [a read {\"a\":1}] [b write {\"a\":1}]",
            "tool: yes tool_name=read tool_call_id=a",
            "tool: no tool_name=write tool_call_id=b"
        ]
    );
    let lost = vec![user("u"), foreign(vec![AssistantPart::ToolCall(call("a", "gone"))]), user("v")];
    assert_eq!(shape(&request([], lost))[2], "tool: No result was recorded for this call. tool_name=gone tool_call_id=a");
}

#[test]
fn a_search_is_a_call_and_what_it_loads_is_declared() {
    let messages = vec![user("u"), foreign(vec![AssistantPart::Search(search("s"))]), loading("s", &["get"], "Two more match.")];
    let request = request([search_tool(), deferred("get"), deferred("other")], messages);
    assert_eq!(shape(&request)[2], "tool: Loaded, call directly: get. Two more match. tool_name=tool_search tool_call_id=s");
    let body = body(&request);
    let names: Vec<_> = body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tool_search", "get"]);
    let raw = OllamaChat::new();
    let error = crate::protocols::Protocol::encode(&raw, &request, &samples::target(), &Capabilities::ollama()).unwrap_err();
    assert!(error.to_string().contains("`get`") || error.to_string().contains("`other`"), "{error}");
}

#[test]
fn images_go_out_with_the_user() {
    let seen = vec![showing([tower_genai_core::Content::text("see"), image(), linked_image()])];
    assert_eq!(
        shape(&request([], seen)),
        ["user: see\n\n[image at https://example.com/a.png: this model is sent no images from URLs] 1 images"]
    );
    let turn = foreign(vec![AssistantPart::ToolCall(call("a", "look"))]);
    let request = request([tool("look")], vec![user("u"), turn, picture("a", "look")]);
    let shape = shape(&request);
    assert_eq!(
        shape[2..],
        [
            "tool: Look:\n\n[image: it follows in the next message of the user] tool_name=look tool_call_id=a",
            "user: Returned by call a: 1 images"
        ]
    );
    let blind = Capabilities { images: false, ..Capabilities::ollama() };
    let text = samples::text::<OllamaChat>(&request, &blind);
    assert!(!text.contains("images") && text.contains("[image omitted"), "{text}");
    let able = Capabilities { tool_images: true, ..Capabilities::ollama() };
    assert_eq!(samples::body::<OllamaChat>(&request, &able)["messages"][2]["images"], json!(["iVBORw0KGgo="]));
}

#[test]
fn what_the_model_thought_goes_back_to_it_alone() {
    let parts = vec![thought("hm"), said("ok")];
    let item = json!({"role": "assistant", "content": "ok", "thinking": "hm"});
    let ours = own::<OllamaChat>(parts.clone(), std::slice::from_ref(&item));
    assert_eq!(shape(&request([], vec![user("u"), ours])), ["user: u", "assistant: ok thinking=hm"]);
    let theirs = tower_genai_core::AssistantMessage::new(parts).replay(tower_genai_core::Replay::new(
        "ollama",
        "elsewhere",
        "model",
        vec![samples::json(&item)],
    ));
    assert_eq!(shape(&request([], vec![user("u"), theirs.into()])), ["user: u", "assistant: ok"]);
}

#[test]
fn what_says_nothing_is_not_sent() {
    let messages = vec![user("u"), foreign(vec![thought("hm")]), foreign(vec![]), Arc::new(Message::system("now"))];
    assert_eq!(shape(&request([], messages)), ["user: u", "system: now"]);
    let error = refusal(&ModelRequest::new());
    assert!(error.contains("no message"), "{error}");
    let small = Capabilities { max_body_bytes: Some(20), ..Capabilities::ollama() };
    assert!(samples::refusal::<OllamaChat>(&ModelRequest::new().user("hi"), &small).contains("at most 20"));
}

#[test]
fn ids_are_told_apart_and_broken_arguments_are_an_object() {
    let broken = tower_genai_core::ToolCall::from_text("made_call_0", "read", "{broken");
    let turn = || foreign(vec![AssistantPart::ToolCall(broken.clone())]);
    let messages = vec![user("u"), turn(), answer("made_call_0", "read", "1"), turn(), answer("made_call_0", "read", "2")];
    assert_eq!(
        shape(&request([tool("read")], messages))[1..],
        [
            "assistant:  [made_call_0 read {}]",
            "tool: 1 tool_name=read tool_call_id=made_call_0",
            "assistant:  [made_call_0_2 read {}]",
            "tool: 2 tool_name=read tool_call_id=made_call_0_2"
        ]
    );
}
