//! Histories that an endpoint would refuse as they are.

use super::*;
use crate::protocols::history::MISSING_RESULT;

fn items(parts: Vec<AssistantPart>, items: &[Value], answers: Vec<Arc<Message>>) -> Vec<Value> {
    let messages = [user("go"), own(parts, items)].into_iter().chain(answers).collect();
    body(&request([tool("read"), deferred("a"), search_tool()], messages))["input"].as_array().unwrap()[1..].to_vec()
}

fn shapes(items: &[Value]) -> Vec<String> {
    items.iter().map(item_shape).collect()
}

fn calls(calls: &[&str]) -> Vec<AssistantPart> {
    calls.iter().map(|id| AssistantPart::ToolCall(call(id, "read"))).collect()
}

#[test]
fn every_call_is_answered_once_and_nothing_else_is() {
    let sent = items(
        calls(&["c1", "c2"]),
        &[call_item("c1", "read"), call_item("c2", "read")],
        vec![answer("x", "read", "orphan"), answer("c2", "read", "two"), answer("c2", "read", "again")],
    );
    let missing = format!("output c1 {}", json!(MISSING_RESULT));
    assert_eq!(shapes(&sent), ["call c1 read ns=-", "call c2 read ns=-", &missing, "output c2 \"two\""]);
    let dangling = items(vec![AssistantPart::Search(search("s1"))], &[search_item("s1")], vec![]);
    assert_eq!(shapes(&dangling), ["search s1 {\"queries\":[\"x\"]}", "found s1 []"]);
    let wrong_kind = items(vec![AssistantPart::Search(search("s1"))], &[search_item("s1")], vec![answer("s1", "tool_search", "Broken.")]);
    assert_eq!(shapes(&wrong_kind)[1..], ["found s1 []", "developer: Broken."]);
    let unknown_part = items(vec![], &[call_item("c1", "read"), search_item("s1")], vec![]);
    assert_eq!(shapes(&unknown_part)[2..], [missing.as_str(), "found s1 []"]);
}

#[test]
fn repeated_ids_are_told_apart_in_items_too() {
    let turn = || own(calls(&["call_0"]), &[call_item("call_0", "read")]);
    let messages = vec![user("go"), turn(), answer("call_0", "read", "one"), turn(), answer("call_0", "read", "two")];
    let sent = body(&request([tool("read")], messages));
    assert_eq!(shape(&sent)[1..], ["call call_0 read ns=-", "output call_0 \"one\"", "call call_0_2 read ns=-", "output call_0_2 \"two\""]);
    assert_eq!((&sent["input"][1]["id"], &sent["input"][3]["id"]), (&json!("fc_call_0"), &Value::Null));
    let nameless = json!({"type": "function_call", "id": "fc_1", "name": "read", "arguments": "{}"});
    let sent = items(calls(&[""]), &[nameless], vec![answer("", "read", "x")]);
    assert_eq!(shapes(&sent), ["call call_2 read ns=-", "output call_2 \"x\""]);
}

#[test]
fn a_search_that_nothing_can_answer_is_left_out() {
    let nameless = json!({"type": "tool_search_call", "id": "tsc_1", "execution": "client", "call_id": null, "arguments": {}});
    let sent = items(vec![AssistantPart::Search(search(""))], &[nameless, call_item("c1", "read")], vec![loading("", &["a"], "Lost.")]);
    assert_eq!(shapes(&sent)[0], "call c1 read ns=-");
    assert_eq!(sent.len(), 2);
    let hosted = json!({"type": "tool_search_call", "id": "tsc_1", "execution": "server", "call_id": null, "arguments": {"paths": []}});
    let output = json!({"type": "tool_search_output", "id": "tso_1", "execution": "server", "call_id": null, "tools": []});
    assert_eq!(items(vec![], &[hosted.clone(), output.clone()], vec![]), [hosted, output]);
}

#[test]
fn broken_arguments_are_replaced_by_an_object() {
    let with = |arguments: Value| {
        let mut item = call_item("c1", "read");
        item["arguments"] = arguments.clone();
        let text = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        let made = AssistantPart::ToolCall(ToolCall::from_text("c1", "read", &text));
        items(vec![made], &[item], vec![answer("c1", "read", "x")])[0]["arguments"].clone()
    };
    assert_eq!(with(json!("{\"a\":")), json!("{}"));
    assert_eq!(with(json!("")), json!("{}"));
    assert_eq!(with(json!(null)), json!("{}"));
    assert_eq!(with(json!({"a": 1})), json!("{\"a\":1}"));
    assert_eq!(with(json!("{ \"a\": 1 }")), json!("{ \"a\": 1 }"));
    let mut failed = call_item("c1", "read");
    failed["arguments"] = json!("{\"a\":");
    failed["namespace"] = json!("files");
    let made = AssistantPart::ToolCall(ToolCall::from_text("c1", ToolName::namespaced("files", "read"), "{\"a\":"));
    let sent = items(vec![made], &[failed], vec![answer("c1", "read", "not valid")]);
    assert_eq!((&sent[0]["namespace"], &sent[0]["arguments"]), (&json!("files"), &json!("{}")), "a failed call is the same call");
    let mut unknown = call_item("c1", "read");
    unknown["arguments"] = json!("{\"a\":");
    assert_eq!(items(vec![], &[unknown], vec![])[0]["arguments"], json!("{}"));
    let searching = |arguments: Value, parsed: ToolCall| {
        let mut item = search_item("s1");
        item["arguments"] = arguments;
        items(vec![AssistantPart::Search(parsed)], &[item], vec![loading("s1", &[], "")])[0]["arguments"].clone()
    };
    assert_eq!(searching(json!("{\"queries\":["), ToolCall::from_text("s1", "tool_search", "{\"queries\":[")), json!({}));
    assert_eq!(searching(json!("{\"queries\":[]}"), ToolCall::from_text("s1", "tool_search", "{\"queries\":[]}")), json!({"queries": []}));
    assert_eq!(searching(json!([1]), ToolCall::from_text("s1", "tool_search", "")), json!({}));
}

#[test]
fn reasoning_goes_with_what_follows_it_or_not_at_all() {
    let bare = |id: &str| json!({"type": "reasoning", "id": id, "summary": []});
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []});
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let c1 = || (calls(&["c1"]), vec![answer("c1", "read", "x")]);
    let sent = |list: &[Value]| {
        let (parts, answers) = c1();
        items(parts, list, answers).iter().map(|item| item["id"].as_str().unwrap_or("-").to_owned()).collect::<Vec<_>>()
    };
    let call = call_item("c1", "read");
    assert_eq!(sent(&[reasoning_item("rs_1"), message.clone(), call.clone()]), ["rs_1", "msg_1", "fc_c1", "-"]);
    assert_eq!(sent(&[bare("rs_1"), message.clone(), call.clone()]), ["-", "-", "-"]);
    assert_eq!(sent(&[bare("rs_1"), message.clone(), reasoning_item("rs_2"), call.clone()]), ["-", "rs_2", "fc_c1", "-"]);
    assert_eq!(sent(&[bare("rs_1"), search, call.clone()]), ["ws_1", "-", "-"]);
    assert_eq!(sent(&[message.clone(), call.clone(), reasoning_item("rs_1")]), ["msg_1", "fc_c1", "-"]);
    let lost = json!({"type": "tool_search_call", "id": "tsc_1", "execution": "client", "arguments": {}});
    assert_eq!(sent(&[reasoning_item("rs_1"), lost, call.clone()]), ["-", "-"]);
    let only = items(vec![], &[reasoning_item("rs_1")], vec![user("on")]);
    assert_eq!(shapes(&only), ["user: on"]);

    let plain = Capabilities { encrypted_reasoning: false, ..Capabilities::openai_responses() };
    let (parts, answers) = c1();
    let messages = [own(parts, &[bare("rs_1"), call])].into_iter().chain(answers).collect();
    assert_eq!(shape(&body_with(&request([tool("read")], messages), &plain))[0], "reasoning rs_1");
}

#[test]
fn nothing_is_sent_twice_under_one_id() {
    let turn = || {
        own(
            vec![],
            &[
                reasoning_item("rs_1"),
                json!({"type": "message", "id": "msg_1", "role": "assistant", "content": []}),
                json!({"type": "web_search_call", "id": "ws_1"}),
            ],
        )
    };
    let sent = body(&request([tool("read")], vec![user("a"), turn(), user("b"), turn(), user("c")]));
    let ids: Vec<_> = sent["input"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap_or("-")).collect();
    assert_eq!(ids, ["-", "rs_1", "msg_1", "ws_1", "-", "-", "-"]);
}

#[test]
fn what_hosts_refuse_and_nobody_needs_is_taken_out() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": null, "status": null, "encrypted_content": "x"});
    let call = json!({"type": "function_call", "id": "fc_c1", "call_id": "c1", "name": "read", "arguments": "{\"a\":null}", "status": null, "created_by": "x", "namespace": null});
    let code =
        json!({"type": "code_interpreter_call", "id": "ci_1", "code": null, "outputs": null, "container_id": "c", "status": "completed"});
    let sent = items(calls(&["c1"]), &[reasoning, call, code.clone()], vec![answer("c1", "read", "x")]);
    assert_eq!(sent[0], json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}));
    assert_eq!(sent[1], json!({"type": "function_call", "id": "fc_c1", "call_id": "c1", "name": "read", "arguments": "{\"a\":null}"}));
    assert_eq!(sent[2], code);
}
