use super::*;
use tower_genai_core::{HostedOutcome, ToolCall};

fn item(kind: &str, id: &str, fields: Value) -> Value {
    let mut item = json!({"type": kind, "id": id});
    item.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    item
}

fn calls(decoded: &Decoded) -> Vec<ToolCall> {
    decoded.message().tool_calls().cloned().collect()
}

#[test]
fn text_is_passed_on_as_it_comes_and_never_twice() {
    let decoded = stream(&[
        json!({"type": "response.created", "response": {"id": "resp_0", "model": "m-0"}}),
        added(0, json!({"type": "message", "id": "msg_1", "role": "assistant", "content": []})),
        delta("output_text", 0, "Hel"),
        delta("output_text", 0, ""),
        delta("output_text", 0, "lo."),
        json!({"type": "response.output_text.done", "output_index": 0, "text": "Hello."}),
        json!({"type": "response.brand_new.note", "output_index": 0, "delta": {"not": "text"}}),
        done(0, message("Hello.")),
        completed(json!([message("Hello.")])),
    ]);
    assert_eq!(decoded.trace(), ["text Hel", "text lo."]);
    assert_eq!(decoded.message().parts, [AssistantPart::Text { text: "Hello.".into() }]);
    assert_eq!(decoded.response().id.as_deref(), Some("resp_1"));
}

#[test]
fn what_deltas_left_out_comes_with_the_item_and_the_item_has_the_last_word() {
    let cut_short = stream(&[delta("output_text", 0, "Hel"), done(0, message("Hello.")), completed(json!([]))]);
    assert_eq!(cut_short.trace(), ["text Hel", "text lo."]);
    let none_at_all = stream(&[done(0, message("Hello.")), completed(json!([]))]);
    assert_eq!(none_at_all.trace(), ["text Hello."]);
    let different = stream(&[delta("output_text", 0, "Hi"), done(0, message("Hello.")), completed(json!([]))]);
    assert_eq!(different.trace(), ["text Hi"]);
    for decoded in [&cut_short, &none_at_all, &different] {
        assert_eq!(decoded.response().text(), "Hello.");
        assert_eq!(decoded.message().replay.as_ref().unwrap().items.len(), 1);
    }
}

#[test]
fn the_terminal_output_fills_in_what_no_item_brought() {
    let reasoning = item("reasoning", "rs_1", json!({"summary": []}));
    let only_there = stream(&[completed(json!([reasoning, message("Hello.")]))]);
    assert_eq!(only_there.trace(), ["text Hello."]);
    let half = stream(&[done(1, message("Hello.")), completed(json!([reasoning, message("Hello.")]))]);
    assert_eq!(half.message().parts.len(), 2);
    assert_eq!(half.message(), only_there.message());
    // Ids that change and outputs that are sent empty or cut lose and double nothing.
    for output in [json!([]), json!(null), json!([item("message", "other", json!({"content": []}))]), json!(["x"]), json!(5)] {
        let decoded = stream(&[done(0, message("Hello.")), completed(output.clone())]);
        assert_eq!(decoded.response().text(), "Hello.", "{output}");
        assert_eq!(decoded.message().parts.len(), 1, "{output}");
    }
}

#[test]
fn items_come_in_the_order_of_their_index_whenever_they_are_done() {
    let first = item("function_call", "fc_1", json!({"call_id": "c1", "name": "a", "arguments": "{}"}));
    let second = item("function_call", "fc_2", json!({"call_id": "c2", "name": "b", "arguments": "{}"}));
    let decoded = stream(&[added(0, first.clone()), added(1, second.clone()), done(1, second), done(0, first), completed(json!([]))]);
    assert_eq!(calls(&decoded).iter().map(|call| &*call.id).collect::<Vec<_>>(), ["c1", "c2"]);
}

#[test]
fn a_used_index_with_a_new_id_is_a_new_item() {
    let call = |id: &str| item("function_call", id, json!({"call_id": format!("call_{id}"), "name": "a", "arguments": "{}"}));
    let decoded = stream(&[added(0, call("1")), done(0, call("1")), added(0, call("2")), done(0, call("2")), completed(json!([]))]);
    assert_eq!(calls(&decoded).iter().map(|call| &*call.id).collect::<Vec<_>>(), ["call_1", "call_2"]);
    let no_index = |kind: &str, item: Value| json!({"type": format!("response.output_item.{kind}"), "item": item});
    let decoded = stream(&[no_index("added", call("1")), no_index("done", call("1")), no_index("done", call("2")), completed(json!([]))]);
    assert_eq!(calls(&decoded).len(), 2);
}

#[test]
fn an_id_that_changes_when_the_item_is_done_is_still_one_item() {
    let call = |id: &str, call_id: &str| item("function_call", id, json!({"call_id": call_id, "name": "a", "arguments": "{}"}));
    let decoded = stream(&[added(0, call("fc_1", "c1")), done(0, call("fc_2", "c2")), completed(json!([]))]);
    assert_eq!(calls(&decoded).iter().map(|call| &*call.id).collect::<Vec<_>>(), ["c2"]);
}

#[test]
fn arguments_are_passed_on_whole_or_in_pieces() {
    let call = |arguments: &str| item("function_call", "fc_1", json!({"call_id": "c1", "name": "read", "arguments": arguments}));
    let pieces = [
        added(0, call("")),
        delta("function_call_arguments", 0, ""),
        delta("function_call_arguments", 0, "{\"a\""),
        delta("function_call_arguments", 0, ":1}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{\"a\":1}"}),
        done(0, call("{\"a\":1}")),
        completed(json!([])),
    ];
    assert_eq!(stream(&pieces).trace(), ["call c1 read", "arguments c1 {\"a\"", "arguments c1 :1}"]);
    let late = [delta("function_call_arguments", 0, "{\"a\""), added(0, call("")), done(0, call("{\"a\":1}")), completed(json!([]))];
    assert_eq!(stream(&late).trace(), ["call c1 read", "arguments c1 {\"a\"", "arguments c1 :1}"]);
    for (arguments, parsed, invalid) in [
        (json!(""), "{}", None),
        (json!(null), "{}", None),
        (json!("{\"a\": 92116.0}"), "{\"a\":92116.0}", None),
        (json!({"a": 1}), "{\"a\":1}", None),
        (json!("{\"a\":"), "{}", Some("{\"a\":")),
    ] {
        let decoded = stream(&[
            done(0, item("function_call", "fc", json!({"call_id": "c", "name": "n", "arguments": arguments}))),
            completed(json!([])),
        ]);
        let [call] = calls(&decoded).try_into().unwrap();
        assert_eq!((call.arguments.as_str(), call.invalid_arguments.as_deref()), (parsed, invalid), "{arguments}");
        assert_eq!(call.call_type, None);
    }
}

#[test]
fn calls_are_named_after_the_tool_whatever_the_model_wrote() {
    let tools = [ToolName::new("read"), ToolName::namespaced("crm", "find")];
    let name = |fields: Value| {
        let mut fields = fields;
        fields["call_id"] = json!("c");
        let decoded = stream_with(context(&tools, None), &[done(0, item("function_call", "fc", fields)), completed(json!([]))]);
        calls(&decoded).remove(0).name
    };
    assert_eq!(name(json!({"name": "read", "namespace": "read"})), ToolName::new("read"));
    assert_eq!(name(json!({"name": "functions.read"})), ToolName::new("read"));
    assert_eq!(name(json!({"name": "crm__find", "namespace": "crm__find"})), ToolName::namespaced("crm", "find"));
    assert_eq!(name(json!({"name": "find", "namespace": "crm"})), ToolName::namespaced("crm", "find"));
}

#[test]
fn a_client_search_is_a_search_in_each_of_its_forms() {
    let search = item("tool_search_call", "tsc_1", json!({"execution": "client", "call_id": "c1", "arguments": {"queries": ["x"]}}));
    let early = item("tool_search_call", "tsc_1", json!({"execution": "client", "call_id": "c0", "arguments": {}}));
    let decoded = stream_with(context(&[], Some("find_tools")), &[added(0, early), done(0, search), completed(json!([]))]);
    assert_eq!(decoded.trace(), Vec::<String>::new());
    let [call] = decoded.message().searches().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((&*call.id, call.name.to_string(), call.arguments.as_str()), ("c1", "find_tools".into(), "{\"queries\":[\"x\"]}"));
    assert_eq!(call.call_type.as_deref(), Some("tool_search_call"));

    let function = item("function_call", "fc_1", json!({"call_id": "c1", "name": "find_tools", "arguments": "{\"queries\":[\"x\"]}"}));
    let pieces = [added(0, function.clone()), delta("function_call_arguments", 0, "{"), done(0, function), completed(json!([]))];
    let decoded = stream_with(context(&[ToolName::new("find_tools")], Some("find_tools")), &pieces);
    assert_eq!((decoded.trace().len(), decoded.message().searches().count(), calls(&decoded).len()), (0, 1, 0));
    assert_eq!(decoded.response().stop.reason, StopReason::ToolUse);

    for (arguments, parsed, invalid) in [
        (json!("{\"queries\":[]}"), "{\"queries\":[]}", None),
        (json!("{\"queries\":"), "{}", Some("{\"queries\":")),
        (json!([1]), "{}", Some("[1]")),
        (json!(null), "{}", None),
    ] {
        let search = item("tool_search_call", "t", json!({"execution": "client", "call_id": "c", "arguments": arguments}));
        let decoded = stream(&[done(0, search), completed(json!([]))]);
        let call = decoded.message().searches().next().unwrap();
        assert_eq!((call.arguments.as_str(), call.invalid_arguments.as_deref()), (parsed, invalid), "{arguments}");
    }
}

#[test]
fn a_custom_call_has_its_text_as_an_argument() {
    let call = |input: &str| item("custom_tool_call", "ctc_1", json!({"call_id": "c1", "name": "note", "input": input}));
    let decoded = stream(&[
        added(0, call("")),
        delta("custom_tool_call_input", 0, "a \"b\""),
        delta("custom_tool_call_input", 0, "\nc"),
        done(0, call("a \"b\"\nc")),
        completed(json!([])),
    ]);
    let [call_made] = calls(&decoded).try_into().unwrap();
    assert_eq!(call_made.arguments.to_value(), json!({"input": "a \"b\"\nc"}));
    assert_eq!(call_made.call_type.as_deref(), Some("custom_tool_call"));
    let pieces: String = decoded.trace().iter().filter_map(|line| line.strip_prefix("arguments c1 ").map(str::to_owned)).collect();
    assert_eq!(pieces, call_made.arguments.as_str());
    for input in ["", "x"] {
        let decoded = stream(&[done(0, call(input)), completed(json!([]))]);
        let pieces: String = decoded.trace().iter().filter_map(|line| line.strip_prefix("arguments c1 ").map(str::to_owned)).collect();
        assert_eq!(pieces, format!("{{\"input\":\"{input}\"}}"));
    }
}

#[test]
fn the_other_calls_of_the_client_keep_their_type() {
    for (kind, name, fields, arguments) in [
        (
            "local_shell_call",
            "local_shell",
            json!({"action": {"type": "exec", "command": ["ls"]}}),
            json!({"type": "exec", "command": ["ls"]}),
        ),
        ("shell_call", "shell", json!({"action": {"commands": ["ls"]}}), json!({"commands": ["ls"]})),
        (
            "apply_patch_call",
            "apply_patch",
            json!({"operation": {"type": "delete_file", "path": "a"}}),
            json!({"type": "delete_file", "path": "a"}),
        ),
        ("computer_call", "computer", json!({"action": {"type": "click", "x": 1}}), json!({"type": "click", "x": 1})),
    ] {
        let mut fields = fields;
        fields["call_id"] = json!("c1");
        let call = item(kind, "i1", fields);
        let decoded = stream(&[added(0, call.clone()), done(0, call), completed(json!([]))]);
        let [made] = calls(&decoded).try_into().unwrap();
        assert_eq!((&*made.id, made.name.to_string(), made.arguments.to_value()), ("c1", name.to_owned(), arguments), "{kind}");
        assert_eq!(made.call_type.as_deref(), Some(kind));
        assert_eq!(decoded.trace().len(), 2, "{kind}");
        assert_eq!(decoded.response().stop.reason, StopReason::ToolUse);
    }
    let asked = item("mcp_approval_request", "mcpr_1", json!({"name": "pay", "server_label": "bank", "arguments": "{\"sum\":1}"}));
    let decoded = stream(&[done(0, asked), completed(json!([]))]);
    let [made] = calls(&decoded).try_into().unwrap();
    assert_eq!((&*made.id, made.name.to_string()), ("mcpr_1", "mcp_approval_request".to_owned()));
    assert_eq!(made.arguments.to_value(), json!({"server_label": "bank", "name": "pay", "arguments": "{\"sum\":1}"}));
}

#[test]
fn a_computer_may_be_told_several_things_at_once() {
    let call = item("computer_call", "cu_1", json!({"call_id": "c1", "actions": [{"type": "screenshot"}]}));
    let decoded = stream(&[done(0, call), completed(json!([]))]);
    assert_eq!(calls(&decoded)[0].arguments.to_value(), json!({"actions": [{"type": "screenshot"}]}));
}

#[test]
fn withheld_reasoning_is_a_warning() {
    let removed = |reason: &str| json!({"id": "rs_1", "action": "removed", "type": "reasoning", "reason": reason});
    let mut end = completed(json!([message("Hello.")]));
    end["response"]["input_transformations"] = json!([removed("prefix_mismatch"), removed("model_mismatch")]);
    let decoded = stream(&[end]);
    let warnings: Vec<_> = decoded
        .events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::Warning(warning) => Some(warning),
            _ => None,
        })
        .collect();
    let [warning] = warnings.try_into().unwrap();
    assert_eq!(&*warning.code, "input_withheld");
    assert!(warning.text.contains("2 items") && warning.text.contains("`prefix_mismatch`"), "{}", warning.text);
    assert_eq!(decoded.response().text(), "Hello.");
}

fn hosted(decoded: &Decoded) -> Vec<(String, String, HostedOutcome)> {
    let calls = decoded.message().parts.iter().filter_map(|part| match part {
        AssistantPart::Hosted(call) => {
            let input = call.input.as_ref().map(|input| input.as_str().to_owned()).unwrap_or_default();
            Some((call.name.to_string(), input, call.outcome.clone()))
        }
        _ => None,
    });
    calls.collect()
}

#[test]
fn hosted_calls_are_events_with_input_and_outcome() {
    let search = |status: &str| item("web_search_call", "ws_1", json!({"status": status, "action": {"type": "search", "query": "x"}}));
    let early = item("web_search_call", "ws_1", json!({"status": "in_progress"}));
    let between = json!({"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"});
    let decoded = stream(&[added(0, early), between, done(0, search("completed")), completed(json!([]))]);
    assert_eq!(decoded.trace(), ["hosted ws_1 web_search", "input ws_1 {\"query\":\"x\",\"type\":\"search\"}", "completed ws_1"]);
    assert_eq!(decoded.response().stop.reason, StopReason::EndTurn);
    let failed = stream(&[done(0, search("failed")), completed(json!([]))]);
    assert_eq!(failed.trace().last().unwrap(), "failed ws_1 failed");
    assert_eq!(hosted(&stream(&[done(0, search("searching")), completed(json!([]))]))[0].2, HostedOutcome::Pending);
    for (fields, name, input) in [
        (json!({"type": "file_search_call", "queries": ["a"], "results": null}), "file_search", "{\"queries\":[\"a\"]}"),
        (json!({"type": "code_interpreter_call", "code": "1+1", "outputs": null}), "code_interpreter", "{\"code\":\"1+1\"}"),
        (json!({"type": "image_generation_call", "result": "AAAA"}), "image_generation", ""),
        (
            json!({"type": "tool_search_call", "execution": "server", "call_id": null, "arguments": {"paths": ["a"]}}),
            "tool_search",
            "{\"paths\":[\"a\"]}",
        ),
        (json!({"type": "x_search_call", "arguments": "{\"q\":1}", "call_id": "", "name": "x_semantic_search"}), "x_search", "{\"q\":1}"),
        (
            json!({"type": "custom_tool_call", "call_id": "xs_call_1", "name": "x_user_search", "input": "{}"}),
            "x_user_search",
            "{\"input\":\"{}\"}",
        ),
        (
            json!({"type": "shell_call", "environment": {"type": "container_auto"}, "action": {"commands": []}}),
            "shell",
            "{\"commands\":[]}",
        ),
        (json!({"type": "mcp_list_tools", "server_label": "s", "tools": []}), "mcp_list_tools", ""),
    ] {
        let decoded = stream(&[done(0, fields.clone()), completed(json!([]))]);
        assert_eq!(hosted(&decoded), [(name.to_owned(), input.to_owned(), HostedOutcome::Completed)], "{fields}");
    }
}

#[test]
fn an_mcp_call_streams_its_input_and_fails_with_its_code() {
    let call = |error: Value| {
        let fields = json!({"name": "pay", "server_label": "bank", "arguments": "{\"sum\":1}", "error": error, "output": null, "status": "completed"});
        item("mcp_call", "mcp_1", fields)
    };
    let decoded = stream(&[
        added(0, call(json!(null))),
        delta("mcp_call_arguments", 0, "{\"sum\""),
        delta("mcp_call_arguments", 0, ":1}"),
        done(0, call(json!(null))),
        completed(json!([])),
    ]);
    assert_eq!(decoded.trace(), ["hosted mcp_1 pay", "input mcp_1 {\"sum\"", "input mcp_1 :1}", "completed mcp_1"]);
    for (error, code) in [
        (json!({"type": "mcp_protocol_error", "code": -32000, "message": "m"}), "mcp_protocol_error"),
        (json!({"type": "http_error", "code": 401, "message": "m"}), "http_error"),
        (json!({"code": "moderation_blocked", "type": "image_generation_user_error"}), "moderation_blocked"),
        (json!({"code": 7}), "7"),
        (json!("it broke"), "error"),
    ] {
        let decoded = stream(&[done(0, call(error.clone())), completed(json!([]))]);
        assert_eq!(hosted(&decoded)[0].2, HostedOutcome::Failed { code: code.into() }, "{error}");
        assert_eq!(decoded.trace().last().unwrap(), &format!("failed mcp_1 {code}"));
    }
}

#[test]
fn a_program_is_done_when_its_output_arrives() {
    let program = item("program", "cm_1", json!({"call_id": "p1", "code": "tools.a()", "fingerprint": "f"}));
    let call = item(
        "function_call",
        "fc_1",
        json!({"call_id": "c1", "name": "a", "arguments": "{}", "caller": {"type": "program", "caller_id": "p1"}}),
    );
    let waiting = stream(&[done(0, program.clone()), done(1, call), completed(json!([]))]);
    assert_eq!(hosted(&waiting)[0].2, HostedOutcome::Pending);
    assert_eq!(waiting.response().stop.reason, StopReason::ToolUse);
    let output = item("program_output", "po_1", json!({"call_id": "p1", "output": "1"}));
    let finished = stream(&[done(0, program), done(1, output), completed(json!([]))]);
    assert_eq!(hosted(&finished)[0].2, HostedOutcome::Completed);
    assert_eq!(finished.trace().last().unwrap(), "completed cm_1");
    assert_eq!(finished.message().replay.as_ref().unwrap().items.len(), 2);
}

#[test]
fn reasoning_refusals_and_summaries_have_their_parts() {
    let thinking = item(
        "reasoning",
        "rs_1",
        json!({
            "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
            "content": [{"type": "reasoning_text", "text": "Raw."}],
        }),
    );
    let decoded = stream(&[
        delta("reasoning_summary_text", 0, "One."),
        delta("reasoning_summary_text", 0, "Two."),
        delta("reasoning_text", 0, "Raw."),
        done(0, thinking),
        done(1, item("reasoning", "rs_2", json!({"summary": [], "encrypted_content": "x"}))),
        delta("refusal", 2, "No"),
        done(2, item("message", "msg_1", json!({"content": [{"type": "refusal", "refusal": "No."}]}))),
        done(3, item("compaction", "cmp_1", json!({"encrypted_content": "x"}))),
        done(4, item("openrouter:web_search", "or_1", json!({}))),
        completed(json!([])),
    ]);
    assert_eq!(decoded.trace(), ["reasoning One.", "reasoning Two.", "reasoning Raw.", "refusal No", "refusal ."]);
    let reasoning = |text: &str| AssistantPart::Reasoning { text: text.into() };
    let expected = [
        reasoning("One."),
        reasoning("Two."),
        reasoning("Raw."),
        reasoning(""),
        AssistantPart::Refusal { text: "No.".into() },
        AssistantPart::Compaction { summary: None },
    ];
    assert_eq!(decoded.message().parts, expected);
    assert_eq!(decoded.message().replay.as_ref().unwrap().items.len(), 5);
}

#[test]
fn items_that_are_never_finished_are_made_of_their_deltas_and_not_replayed() {
    let call = item("function_call", "fc_1", json!({"call_id": "c1", "name": "read", "arguments": ""}));
    let custom = item("custom_tool_call", "ctc_1", json!({"call_id": "c2", "name": "note", "input": ""}));
    let decoded = stream(&[
        delta("reasoning_text", 0, "Hm."),
        added(1, item("message", "msg_1", json!({}))),
        delta("output_text", 1, "Hello"),
        added(2, call),
        delta("function_call_arguments", 2, "{\"a\":1}"),
        added(3, custom),
        delta("custom_tool_call_input", 3, "x\"y"),
        added(4, item("web_search_call", "ws_1", json!({}))),
        json!({"type": "response.completed", "response": {}}),
    ]);
    let [read, note] = calls(&decoded).try_into().unwrap();
    assert_eq!((read.arguments.as_str(), note.arguments.to_value()), ("{\"a\":1}", json!({"input": "x\"y"})));
    assert_eq!(decoded.response().text(), "Hello");
    assert_eq!(hosted(&decoded)[0].2, HostedOutcome::Pending);
    assert_eq!((decoded.message().parts.len(), &decoded.message().replay), (5, &None));
    assert_eq!(decoded.response().stop.native.as_deref(), Some("completed"));
}

#[test]
fn errors_end_the_stream_in_both_shapes() {
    let flat = stream(&[delta("output_text", 0, "Hel"), json!({"type": "error", "code": "server_error", "message": "m", "param": null})]);
    let nested = stream(&[json!({"type": "error", "error": {"type": "t", "code": "rate_limit_exceeded", "message": "m"}})]);
    let bare = stream(&[json!({"error": {"code": 502, "message": "m"}})]);
    let failed = stream(&[
        json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": "insufficient_quota", "message": "m"}}}),
    ]);
    for (decoded, kind, code, is_done) in [
        (&flat, ErrorKind::Server, "server_error", false),
        (&nested, ErrorKind::RateLimit, "rate_limit_exceeded", false),
        (&bare, ErrorKind::Server, "502", false),
        (&failed, ErrorKind::Billing, "insufficient_quota", true),
    ] {
        let error = decoded.outcome.as_ref().unwrap_err();
        let provider = error.provider().unwrap();
        assert_eq!((error.kind(), provider.code.as_deref(), provider.message.as_deref()), (kind, Some(code), Some("m")));
        assert_eq!(decoded.is_done, is_done);
        assert!(!decoded.events.iter().any(|event| matches!(event, ModelEvent::Message(_) | ModelEvent::Response(_))));
    }
    assert_eq!(flat.trace(), ["text Hel"]);
}

#[test]
fn nothing_follows_the_end_and_an_open_stream_says_so() {
    let decoded = stream(&[done(0, message("Hello.")), completed(json!([])), delta("output_text", 0, "more"), json!({"type": "error"})]);
    assert_eq!(decoded.events.len(), 3);
    assert!(decoded.is_done);
    let mut decoder = Decoder::new(Context::default(), &Target::new("host", "model"));
    let mut events = VecDeque::new();
    for data in ["[DONE]", " [DONE]", "", "  ", "{\"type\":\"keepalive\"}", "{\"type\":7}", "{}"] {
        decoder.push(data, &mut events).unwrap();
    }
    assert!(events.is_empty() && !decoder.is_done());
    assert_eq!(decoder.end(&mut VecDeque::new()).unwrap_err().kind(), ErrorKind::Protocol);
    for data in ["{\"type\":\"resp", "hello", "{\"type\":\"a\",\"type\":\"b\"}"] {
        let error = decoder.push(data, &mut events).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{data}");
        assert!(!error.to_string().contains("hello"), "{error}");
    }
}

#[test]
fn the_event_names_the_status_where_the_response_does_not() {
    for (event, status, native) in [
        ("incomplete", json!(null), "incomplete"),
        ("completed", json!("in_progress"), "completed"),
        ("completed", json!("incomplete"), "incomplete"),
    ] {
        let decoded = stream(&[json!({"type": format!("response.{event}"), "response": {"status": status}})]);
        assert_eq!(decoded.response().stop.native.as_deref(), Some(native), "{event} {status}");
    }
}

#[test]
fn an_item_that_turns_out_to_be_a_call_is_announced() {
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": false});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{}", "status": "completed"});
    let done = json!({"type": "response.completed", "response": {"status": "completed", "output": [call]}});
    let decoded = stream(&[added, done]);
    let started = decoded.events.iter().filter(|event| matches!(event, ModelEvent::ToolCallStarted { .. })).count();
    assert_eq!((started, decoded.message().tool_calls().count()), (1, 1));
}
