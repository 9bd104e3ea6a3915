//! Tools that the provider runs, and pauses.

use super::*;

fn hosted(id: &str, name: &str) -> Value {
    json!({"type": "server_tool_use", "id": id, "name": name, "input": {}})
}

fn outcomes(read: &Read) -> Vec<(String, String, HostedOutcome)> {
    let parts = read.message().parts.iter().filter_map(|part| match part {
        AssistantPart::Hosted(call) => Some((call.name.to_string(), call.call_type.to_string(), call.outcome.clone())),
        _ => None,
    });
    parts.collect()
}

#[test]
fn a_call_and_its_result_are_events_and_one_part() {
    let mut events = block(0, hosted("h", "web_search"), &[partial("{\"query\":"), partial("\"x\"}")]);
    events.extend(block(
        1,
        json!({"type": "web_search_tool_result", "tool_use_id": "h", "content": [{"type": "web_search_result", "encrypted_content": "e"}]}),
        &[],
    ));
    let read = read(&events);
    assert_eq!(read.shape(), ["hosted h web_search", "input h {\"query\":", "input h \"x\"}", "came h web_search"]);
    assert_eq!(outcomes(&read), [("web_search".into(), "server_tool_use".into(), HostedOutcome::Completed)]);
    let AssistantPart::Hosted(call) = &read.message().parts[0] else { panic!() };
    assert_eq!(call.input.as_ref().unwrap().as_str(), "{\"query\":\"x\"}");
    assert_eq!((read.items().len(), &read.items()[0]["input"]), (2, &json!({"query": "x"})));
}

#[test]
fn failures_have_a_code_and_the_response_goes_on() {
    for (result, code) in [
        (
            json!({"type": "web_search_tool_result", "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}}),
            Some("max_uses_exceeded"),
        ),
        (
            json!({"type": "tool_search_tool_result", "content": {"type": "tool_search_tool_result_error", "error_code": "unavailable"}}),
            Some("unavailable"),
        ),
        (json!({"type": "code_execution_tool_result", "content": {"type": "code_execution_tool_result_error"}}), Some("unknown")),
        (json!({"type": "mcp_tool_result", "is_error": true, "content": [{"type": "text", "text": "no"}]}), Some("is_error")),
        (json!({"type": "mcp_tool_result", "is_error": false, "content": []}), None),
        (json!({"type": "bash_code_execution_tool_result", "content": {"type": "bash_code_execution_result", "return_code": 1}}), None),
        (json!({"type": "advisor_tool_result", "content": {"type": "advisor_result", "text": "do"}}), None),
    ] {
        let mut result = result;
        result["tool_use_id"] = json!("h");
        let mut events = block(0, json!({"type": "mcp_tool_use", "id": "h", "name": "n", "server_name": "s", "input": {}}), &[]);
        events.extend(block(1, result.clone(), &[]));
        events.extend(block(2, json!({"type": "text", "text": "on"}), &[]));
        let read = read(&events);
        let expected = code.map_or(HostedOutcome::Completed, |code| HostedOutcome::Failed { code: code.into() });
        assert_eq!(outcomes(&read), [("n".into(), "mcp_tool_use".into(), expected)], "{result}");
        assert_eq!((read.items()[1].clone(), read.message().text()), (result, "on".to_owned()));
    }
}

#[test]
fn a_result_without_its_call_stands_for_itself() {
    let read = document(json!([
        {"type": "web_fetch_tool_result", "tool_use_id": "h", "content": {"type": "web_fetch_result"}},
        {"type": "mcp_tool_result", "tool_use_id": "m", "is_error": true, "content": []},
    ]));
    assert_eq!(read.shape(), ["came h web_fetch", "failed m mcp is_error"]);
    assert_eq!(
        outcomes(&read),
        [
            ("web_fetch".into(), "web_fetch_tool_result".into(), HostedOutcome::Completed),
            ("mcp".into(), "mcp_tool_result".into(), HostedOutcome::Failed { code: "is_error".into() }),
        ]
    );
}

#[test]
fn a_call_without_its_result_is_pending() {
    let read = document(json!([hosted("h", "advisor"), {"type": "tool_use", "id": "a", "name": "n", "input": {}}]));
    assert_eq!(outcomes(&read), [("advisor".into(), "server_tool_use".into(), HostedOutcome::Pending)]);
}

#[test]
fn a_resumed_pause_is_one_message() {
    let stop = |reason: &str, output: u32| {
        [
            json!({"type": "message_delta", "delta": {"stop_reason": reason, "container": {"id": "c1"}}, "usage": {"input_tokens": 10, "output_tokens": output}}),
            json!({"type": "message_stop"}),
        ]
    };
    let mut first = block(0, json!({"type": "text", "text": "wait "}), &[]);
    first.extend(block(1, hosted("h", "web_search"), &[partial("{\"query\":\"x\"}")]));
    first.extend(stop("pause_turn", 2));
    let paused = read_with(decoder(None), &first);
    assert_eq!(paused.response().stop.reason, StopReason::Pause);

    let mut second = block(0, json!({"type": "web_search_tool_result", "tool_use_id": "h", "content": []}), &[]);
    second.extend(block(1, json!({"type": "text", "text": "done"}), &[]));
    second.extend(stop("end_turn", 3));
    let seed = Paused { message: paused.message().clone(), usage: paused.response().usage };
    let other_prefix = Context { prefix: Some("of the resuming request".into()), ..context() };
    let resumed = read_with(Decoder::new(other_prefix, &Target::new("host", "model"), Some(seed)), &second);

    assert_eq!(resumed.shape(), ["came h web_search", "text done"]);
    assert_eq!(resumed.message().text(), "wait done");
    assert_eq!(outcomes(&resumed), [("web_search".into(), "server_tool_use".into(), HostedOutcome::Completed)]);
    let kinds: Vec<String> = resumed.items().iter().filter_map(|item| item["type"].as_str().map(str::to_owned)).collect();
    assert_eq!(kinds, ["text", "server_tool_use", "web_search_tool_result", "text"]);
    assert_eq!(resumed.message().replay.as_ref().unwrap().prefix.as_deref(), Some("prefix"));
    assert_eq!((resumed.response().usage.input_tokens, resumed.response().usage.output_tokens), (Some(20), Some(5)));
}

#[test]
fn a_pause_whose_items_are_lost_is_not_replayed() {
    let message = AssistantMessage::new(vec![AssistantPart::Text { text: "a".into() }]);
    let end = [json!({"type": "message_stop"})];
    let resumed = read_with(decoder(Some(Paused { message, usage: Usage::default() })), &end);
    assert_eq!((resumed.message().text(), &resumed.message().replay), ("a".to_owned(), &None));
}

#[test]
fn the_container_is_kept_for_the_next_request() {
    let stop = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "container": {"id": "c1", "expires_at": "t"}}});
    let streamed = read(&[stop]);
    assert_eq!(streamed.items(), [json!({"container": {"id": "c1", "expires_at": "t"}})]);
    let none = document_of(json!({"type": "message", "content": [], "container": null}));
    assert!(none.items().is_empty());
}
