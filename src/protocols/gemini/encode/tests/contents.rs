use std::sync::Arc;

use tower_genai_core::{AssistantPart, Content, Json, Message, ToolCall};

use super::*;
use crate::protocols::samples::{
    answer, call, deferred, failure, foreign, image, linked_image, loading, own, picture, request, said, search, search_tool, showing,
    thought, tool, user,
};

const SKIP: &str = "skip_thought_signature_validator";

/// The dialogue in short: a line for each content.
fn shape(request: &ModelRequest) -> Vec<String> {
    shape_with(request, &Capabilities::gemini())
}

fn shape_with(request: &ModelRequest, capabilities: &Capabilities) -> Vec<String> {
    let body = body_with(request, capabilities);
    let part = |part: &Value| {
        let text = |value: &Value| value.as_str().map(|text| format!(" {text}")).unwrap_or_default();
        let mut out = if let Some(call) = part.get("functionCall") {
            format!("call{} {} {}", text(&call["id"]), call["name"].as_str().unwrap(), call["args"])
        } else if let Some(response) = part.get("functionResponse") {
            let parts = response["parts"].as_array().map(|parts| format!(" +{}", parts.len())).unwrap_or_default();
            format!("result{} {} {}{parts}", text(&response["id"]), response["name"].as_str().unwrap(), response["response"])
        } else {
            part["text"].as_str().map_or_else(|| part.to_string(), str::to_owned)
        };
        out += &part["thoughtSignature"].as_str().map(|signature| format!(" ~{signature}")).unwrap_or_default();
        out
    };
    let content = |content: &Value| {
        let parts: Vec<String> = content["parts"].as_array().unwrap().iter().map(part).collect();
        format!("{}: {}", content["role"].as_str().unwrap(), parts.join(" | "))
    };
    body["contents"].as_array().unwrap().iter().map(content).collect()
}

fn calling(id: &str, name: &str) -> AssistantPart {
    AssistantPart::ToolCall(call(id, name))
}

#[test]
fn what_others_called_carries_a_placeholder_and_no_ids() {
    let messages = vec![
        user("u"),
        foreign(vec![thought("hm"), said("Well."), calling("a", "read"), calling("b", "write")]),
        failure("b", "write", "no"),
        answer("a", "read", "yes"),
        foreign(vec![calling("c", "read")]),
        answer("c", "read", ""),
    ];
    let request = request([tool("read"), tool("write")], messages);
    let expected = [
        "user: u".to_owned(),
        format!("model: Well. | call read {{\"a\":1}} ~{SKIP} | call write {{\"a\":1}}"),
        "user: result read {\"output\":\"yes\"} | result write {\"error\":\"no\"}".to_owned(),
        format!("model: call read {{\"a\":1}} ~{SKIP}"),
        "user: result read {\"output\":\"\"}".to_owned(),
    ];
    assert_eq!(shape(&request), expected);
    let older: Vec<String> = expected.iter().map(|content| content.replace(&format!(" ~{SKIP}"), "")).collect();
    assert_eq!(shape_with(&request, &Capabilities::gemini_2()), older);
}

#[test]
fn what_the_model_says_in_one_go_is_one_content() {
    let lost = foreign(vec![calling("a", "gone")]);
    let messages = vec![
        user("u"),
        foreign(vec![said("One.")]),
        foreign(vec![said("Two.")]),
        lost,
        user("v"),
        user("w"),
        Arc::new(Message::system("s")),
    ];
    assert_eq!(
        shape(&request([], messages)),
        [
            "user: u".to_owned(),
            format!("model: One. | Two. | call gone {{\"a\":1}} ~{SKIP}"),
            "user: result gone {\"error\":\"No result was recorded for this call.\"}".to_owned(),
            "user: v".to_owned(),
            "user: w".to_owned(),
            "user: s".to_owned(),
        ]
    );
}

#[test]
fn what_this_model_wrote_goes_back_as_it_came() {
    let items = [
        json!({"text": "secret thoughts", "thought": true}),
        json!({"text": "signed thoughts", "thought": true, "thoughtSignature": "T"}),
        json!({"text": "Well."}),
        json!({"toolCall": {"id": "t", "toolType": "URL_CONTEXT"}, "thoughtSignature": "U"}),
        json!({"functionCall": {"id": "fc1", "name": "read", "args": {"z": 1}}, "thoughtSignature": "S"}),
        json!({"functionCall": {"name": "read", "args": {}}}),
        json!({"text": "", "thoughtSignature": "E"}),
        json!({"groundingMetadata": {"webSearchQueries": ["q"]}}),
    ];
    let parts = vec![thought("signed thoughts"), said("Well."), calling("fc1", "read"), calling("made_call_1", "read")];
    let messages =
        vec![user("u"), own::<GenerateContent>(parts.clone(), &items), answer("made_call_1", "read", "2"), answer("fc1", "read", "1")];
    let request = request([tool("read")], messages);
    let tool_call = json!({"toolCall": {"id": "t", "toolType": "URL_CONTEXT"}, "thoughtSignature": "U"});
    assert_eq!(
        shape(&request)[1..],
        [
            format!("model: signed thoughts ~T | Well. | {tool_call} ~U | call fc1 read {{\"z\":1}} ~S | call read {{}} |  ~E"),
            "user: result fc1 read {\"output\":\"1\"} | result read {\"output\":\"2\"}".to_owned(),
        ]
    );
    // What does not fit the neutral parts is told anew.
    let unfit = own::<GenerateContent>(parts, &items[..5]);
    let again = shape(&super::samples::request([tool("read")], vec![user("u"), unfit, answer("fc1", "read", "1")]));
    assert_eq!(again[1], format!("model: Well. | call read {{\"a\":1}} ~{SKIP} | call read {{\"a\":1}}"));
}

#[test]
fn a_call_of_its_own_without_a_signature_is_given_the_placeholder() {
    let items = [json!({"functionCall": {"name": "read", "args": {}}}), json!({"functionCall": {"name": "read"}})];
    let parts = vec![calling("made_call_0", "read"), calling("made_call_1", "read")];
    let request = request([tool("read")], vec![user("u"), own::<GenerateContent>(parts, &items)]);
    assert_eq!(shape(&request)[1], format!("model: call read {{}} ~{SKIP} | call read null"));
    assert_eq!(shape_with(&request, &Capabilities::gemini_2())[1], "model: call read {} | call read null");
}

#[test]
fn a_search_is_a_call_and_what_it_loads_is_declared() {
    let messages = vec![user("u"), foreign(vec![AssistantPart::Search(search("s"))]), loading("s", &["get"], "")];
    let request = request([search_tool(), deferred("get"), deferred("other")], messages);
    assert_eq!(shape(&request)[2], "user: result tool_search {\"output\":\"Loaded, call directly: get.\"}");
    let body = body(&request);
    let names: Vec<_> =
        body["tools"][0]["functionDeclarations"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tool_search", "get"]);
    // A search by another name is one with the search of today.
    let renamed = tower_genai_core::ToolDefinition::new("find").kind(tower_genai_core::ToolKind::Search);
    let messages = vec![user("u"), foreign(vec![AssistantPart::Search(search("s"))]), loading("s", &["get"], "")];
    let moved = super::samples::request([renamed, deferred("get")], messages);
    assert!(shape(&moved)[2].starts_with("user: result find "), "{:?}", shape(&moved));
}

#[test]
fn images_are_parts() {
    let own_item =
        Content::Provider { protocol: "gemini".into(), item: Json::parse(r#"{"fileData":{"fileUri":"f"}}"#).unwrap(), text: None };
    let theirs = Content::Provider { protocol: "anthropic".into(), item: Json::empty_object(), text: Some("a document".into()) };
    let seen = vec![showing([Content::text(""), Content::text("see"), image(), linked_image(), own_item, theirs])];
    let parts = body(&request([], seen))["contents"][0]["parts"].clone();
    assert_eq!(
        parts,
        json!([{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
            {"fileData": {"mimeType": "image/png", "fileUri": "https://example.com/a.png"}}, {"fileData": {"fileUri": "f"}}, {"text": "a document"}])
    );
    let messages = vec![user("u"), foreign(vec![calling("a", "look")]), picture("a", "look")];
    let request = request([tool("look")], messages);
    assert_eq!(shape(&request)[2..], ["user: result look {\"output\":\"Look:\"} +1"]);
    let response = &body(&request)["contents"][2]["parts"][0]["functionResponse"];
    assert_eq!(response["parts"], json!([{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]));
    let older = shape_with(&request, &Capabilities::gemini_2());
    assert!(older[2].contains("[image: it follows in the next message of the user]"), "{older:?}");
    assert!(older[3].starts_with("user: Returned by call a: | {\"inlineData\""), "{older:?}");
}

#[test]
fn broken_arguments_are_an_object() {
    let broken = ToolCall::from_text("a", "read", "{broken");
    let mut odd = call("b", "read");
    odd.arguments = Json::parse("[1]").unwrap();
    let turn = foreign(vec![AssistantPart::ToolCall(broken), AssistantPart::ToolCall(odd)]);
    assert_eq!(shape(&request([], vec![user("u"), turn]))[1], format!("model: call read {{}} ~{SKIP} | call read {{\"input\":[1]}}"));
}

#[test]
fn a_dialogue_needs_a_user() {
    let begins = request([], vec![foreign(vec![calling("a", "read")]), answer("a", "read", "x"), user("u")]);
    let error = refusal(&begins, &Capabilities::gemini());
    assert!(error.contains("messages[0]"), "{error}");
    let greeting = request([], vec![foreign(vec![said("Hello!")]), user("u")]);
    assert_eq!(shape(&greeting), ["model: Hello!", "user: u"]);
    let silent = request([], vec![user(""), user("")]).system("Tell a joke.");
    assert_eq!(shape(&silent), ["user: "]);
    assert_eq!(shape(&request([], vec![user(""), foreign(vec![said("Ha!")]), user(""), user("u")])), ["user: ", "model: Ha!", "user: u"]);
    for empty in [ModelRequest::new(), request([], vec![foreign(vec![thought("hm")])])] {
        assert!(refusal(&empty, &Capabilities::gemini()).contains("no message"));
    }
}

#[test]
fn a_longer_dialogue_begins_like_a_shorter_one() {
    let messages = vec![
        user("u"),
        foreign(vec![said("One.")]),
        foreign(vec![AssistantPart::Search(search("s"))]),
        loading("s", &["get"], ""),
        foreign(vec![calling("made_call_0", "get"), calling("x y", "get")]),
        answer("made_call_0", "get", "1"),
        picture("x y", "get"),
        foreign(vec![said("Done."), thought("hm")]),
        user("v"),
        foreign(vec![calling("made_call_0", "get")]),
        answer("made_call_0", "get", "2"),
    ];
    for capabilities in [Capabilities::gemini(), Capabilities::gemini_2()] {
        let whole = shape_with(&request([search_tool(), deferred("get")], messages.clone()), &capabilities);
        // Where a request can end: behind a message of the user, or behind the answers to all calls.
        for end in [1, 4, 7, 9, 11] {
            let shorter = shape_with(&request([search_tool(), deferred("get")], messages[..end].to_vec()), &capabilities);
            assert_eq!(shorter, whole[..shorter.len()], "{end}");
        }
    }
}
