use std::sync::Arc;

use proptest::prelude::*;
use tower_genai_core::{AssistantMessage, AssistantPart, Content, Json, Message, Replay, ToolCall};

use super::*;
use crate::protocols::{
    CallIds,
    samples::{
        answer, call, deferred, failure, foreign, image, linked_image, loading, own, picture, request, said, search, search_tool, showing,
        thought, tool, user,
    },
};

fn calling(id: &str, name: &str) -> AssistantPart {
    AssistantPart::ToolCall(call(id, name))
}

fn shaped(messages: Vec<Arc<Message>>) -> Vec<String> {
    shape(&body(&request([tool("read"), tool("write")], messages)))
}

#[test]
fn each_call_is_directly_followed_by_its_answer() {
    let turn = foreign(vec![thought("hm"), said("Well."), calling("a", "read"), calling("b", "write")]);
    let messages =
        vec![user("u"), turn, failure("b", "write", "no"), user("late"), answer("a", "read", "yes"), answer("x", "read", "orphan")];
    assert_eq!(
        shaped(messages),
        [
            "user: u",
            "assistant: Well. [a read {\"a\":1}] [b write {\"a\":1}]",
            "tool: yes tool_call_id=a",
            "tool: no tool_call_id=b",
            "user: late"
        ]
    );
    let lost = vec![user("u"), foreign(vec![calling("a", "read")]), user("v")];
    assert_eq!(
        shaped(lost)[1..],
        ["assistant:  [a read {\"a\":1}]", "tool: No result was recorded for this call. tool_call_id=a", "user: v"]
    );
}

#[test]
fn what_this_host_wrote_goes_back_as_it_came() {
    let details = json!([{"type": "reasoning.encrypted", "data": "D", "index": 0}]);
    let item = json!({"role": "assistant", "content": "Well.", "reasoning": "hm", "reasoning_details": details, "annotations": [1], "refusal": null,
        "tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": "{ \"z\":1 }"}, "extra_content": {"google": {"thought_signature": "S"}}}]});
    let parts = vec![thought("hm"), said("Well."), calling("a", "read")];
    let mine = body(&request(
        [tool("read")],
        vec![user("u"), own::<ChatCompletions>(parts.clone(), std::slice::from_ref(&item)), answer("a", "read", "r")],
    ));
    assert_eq!(
        mine["messages"][1],
        json!({"role": "assistant", "content": "Well.", "reasoning_details": details,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{ \"z\":1 }"}, "extra_content": {"google": {"thought_signature": "S"}}}]})
    );
    for (host, model) in [("host", "other"), ("elsewhere", "model")] {
        let theirs = AssistantMessage::new(parts.clone()).replay(Replay::new("openai_chat", host, model, vec![samples::json(&item)]));
        assert_eq!(shaped(vec![user("u"), theirs.into(), answer("a", "read", "r")])[1], "assistant: Well. [a read {\"a\":1}]");
    }
    let refused = json!({"role": "assistant", "content": "", "refusal": "No.", "reasoning": "hm", "audio": {"id": "s1", "data": "xx"}});
    let mine = own::<ChatCompletions>(vec![AssistantPart::Refusal { text: "No.".into() }], &[refused]);
    assert_eq!(shaped(vec![user("u"), mine])[1], "assistant:  audio={\"id\":\"s1\"} reasoning=hm refusal=No.");
}

#[test]
fn broken_arguments_and_refused_ids_are_repaired() {
    let broken = ToolCall::from_text("call/1", "read", "{broken");
    let item = json!({"role": "assistant", "content": "", "tool_calls": [
        {"id": "call/1", "type": "function", "function": {"name": "read", "arguments": "{broken"}},
        {"id": "b", "function": {"name": "read", "arguments": {"x": 1}}},
        {"id": "c", "type": "function", "function": {"name": "read", "arguments": "null"}},
    ]});
    let parts =
        vec![AssistantPart::ToolCall(broken), calling("b", "read"), AssistantPart::ToolCall(ToolCall::from_text("c", "read", "null"))];
    for message in [own::<ChatCompletions>(parts.clone(), &[item]), foreign(parts)] {
        let body = body(&request([tool("read")], vec![user("u"), message, answer("call/1", "read", "r")]));
        let calls = &body["messages"][1]["tool_calls"];
        for call in calls.as_array().unwrap() {
            assert_eq!(call["type"], "function");
            let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
            assert!(arguments.is_object(), "{call}");
        }
        assert_eq!((&calls[0]["id"], &body["messages"][2]["tool_call_id"]), (&json!("call_1_2"), &json!("call_1_2")));
    }
    let nine = Capabilities { call_ids: CallIds::Exactly(9), ..Capabilities::compatible_chat() };
    let body = body_with(
        &request([tool("read")], vec![user("u"), foreign(vec![calling("toolu_01", "read")]), answer("toolu_01", "read", "r")]),
        &nine,
    );
    let id = body["messages"][1]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) && body["messages"][2]["tool_call_id"] == id, "{body}");
}

#[test]
fn an_item_that_does_not_fit_its_parts_is_told_anew() {
    let two = json!({"role": "assistant", "content": "x", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}},
    ]});
    let one = own::<ChatCompletions>(vec![said("y"), calling("b", "read")], std::slice::from_ref(&two));
    assert_eq!(shaped(vec![user("u"), one, answer("b", "read", "r")])[1], "assistant: x [b read {}]");
    let other = own::<ChatCompletions>(vec![said("y"), calling("z", "read")], &[two]);
    assert_eq!(shaped(vec![user("u"), other, answer("z", "read", "r")])[1], "assistant: y [z read {\"a\":1}]");
}

#[test]
fn images_stand_where_the_host_takes_them() {
    let own_item =
        Content::Provider { protocol: "openai_chat".into(), item: Json::parse(r#"{"type":"file","file":{}}"#).unwrap(), text: None };
    let seen = body(&request([], vec![showing([Content::text("see"), image(), linked_image(), own_item])]));
    assert_eq!(
        seen["messages"][0]["content"],
        json!([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, {"type": "file", "file": {}}])
    );
    let messages =
        || vec![user("u"), foreign(vec![calling("a", "look"), calling("b", "look")]), picture("a", "look"), picture("b", "look")];
    let request = request([tool("look")], messages());
    let shaped = shape(&body(&request));
    assert_eq!(shaped[2], "tool: Look:\n\n[image: it follows in the next message of the user] tool_call_id=a");
    assert!(shaped[4].starts_with("user: [{\"text\":\"Returned by call a:\",\"type\":\"text\"},{\"image_url\""), "{}", shaped[4]);
    assert_eq!((shaped.len(), shaped[4].matches("image_url\":{").count()), (5, 2));
    let able = Capabilities { tool_images: true, ..Capabilities::compatible_chat() };
    assert_eq!(body_with(&request, &able)["messages"][2]["content"][1]["type"], "image_url");
    let blind = shape(&body_with(&request, &Capabilities { images: false, ..Capabilities::compatible_chat() }));
    assert_eq!((blind.len(), &*blind[2]), (4, "tool: Look:\n\n[image omitted: this model reads text only] tool_call_id=a"));
}

#[test]
fn what_says_nothing_is_not_sent_and_instructions_keep_their_place() {
    let messages = || vec![user("u"), foreign(vec![thought("hm")]), foreign(vec![]), Arc::new(Message::system("Now."))];
    assert_eq!(shaped(messages()), ["user: u", "system: Now."]);
    let without = Capabilities { system_messages: false, ..Capabilities::compatible_chat() };
    assert_eq!(shape(&body_with(&request([], messages()), &without)), ["user: u", "user: Now."]);
    let summed = foreign(vec![said("old"), AssistantPart::Compaction { summary: Some("They met.".into()) }, said("new")]);
    assert_eq!(shaped(vec![user("u"), summed]), ["user: Summary of the conversation so far:\n\nThey met.", "assistant: new"]);
}

/// A dialogue of turns, each with what can be in one, ending where a request can end.
fn dialogue() -> impl Strategy<Value = Vec<Vec<Arc<Message>>>> {
    let turn = (0..6usize, 0..3usize).prop_map(|(kind, number)| {
        let id = ["made_call_0", "a b", "c"][number];
        match kind {
            0 => vec![user("u")],
            1 => vec![foreign(vec![calling(id, "read")]), answer(id, "read", "r")],
            2 => vec![foreign(vec![calling(id, "read"), calling("same", "write")]), failure("same", "write", "f"), picture(id, "read")],
            3 => vec![foreign(vec![AssistantPart::Search(search(id))]), loading(id, &["get"], "")],
            4 => vec![foreign(vec![thought("t"), said("s")])],
            _ => vec![Arc::new(Message::system("i"))],
        }
    });
    prop::collection::vec(turn, 1..8)
}

proptest! {
    #[test]
    fn a_longer_dialogue_begins_like_a_shorter_one(turns in dialogue(), nine in any::<bool>()) {
        let mut capabilities = Capabilities::openai_chat();
        if nine {
            capabilities.call_ids = CallIds::Exactly(9);
        }
        let tools = || [tool("read"), tool("write"), search_tool(), deferred("get")];
        let mut before: Option<Value> = None;
        for end in 1..=turns.len() {
            let mut messages = vec![user("first")];
            messages.extend(turns[..end].iter().flatten().cloned());
            let body = body_with(&request(tools(), messages), &capabilities);
            if let Some(before) = before {
                for list in ["tools", "messages"] {
                    let [short, long] = [&before, &body].map(|body| body[list].as_array().unwrap());
                    prop_assert!(long.starts_with(short), "{list}: {short:?} {long:?}");
                }
            }
            before = Some(body);
        }
    }
}
