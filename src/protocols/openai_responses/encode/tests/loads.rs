//! Where definitions stand that a search, or a call made too early, loaded.

use super::*;
use tower_genai_core::ServerTool;

fn searched(id: &str, names: &[&str], note: &str) -> Vec<Arc<Message>> {
    vec![foreign(vec![AssistantPart::Search(search(id))]), loading(id, names, note)]
}

fn tools() -> Vec<ToolDefinition> {
    vec![tool("read"), deferred("a"), deferred("b"), deferred("c"), search_tool()]
}

#[test]
fn a_search_is_answered_with_definitions_and_a_note() {
    let mut messages = vec![user("go")];
    messages.extend(searched("s1", &["a", "b"], "Two found."));
    messages.extend(searched("s2", &[], "Nothing found."));
    messages.extend(searched("s3", &["c"], ""));
    let sent = body(&request(tools(), messages));
    assert_eq!(
        shape(&sent),
        [
            "user: go",
            "search s1 {\"queries\":[\"x\"]}",
            "found s1 [a,b]",
            "developer: Two found.",
            "search s2 {\"queries\":[\"x\"]}",
            "found s2 []",
            "developer: Nothing found.",
            "search s3 {\"queries\":[\"x\"]}",
            "found s3 [c]",
        ]
    );
    assert_eq!(
        sent["input"][2],
        json!({"type": "tool_search_output", "call_id": "s1", "execution": "client", "status": "completed", "tools": [
            {"type": "function", "name": "a", "description": "Does a.", "parameters": {"type": "object", "properties": {}}, "defer_loading": true},
            {"type": "function", "name": "b", "description": "Does b.", "parameters": {"type": "object", "properties": {}}, "defer_loading": true},
        ]})
    );
    let searching =
        json!({"type": "tool_search_call", "call_id": "s1", "execution": "client", "arguments": {"queries": ["x"]}, "status": "completed"});
    assert_eq!(sent["input"][1], searching);
    assert_eq!(sent["tools"].as_array().unwrap().len(), 2);
}

#[test]
fn all_calls_come_before_all_answers_and_the_notes_behind_as_one_message() {
    let parts = vec![AssistantPart::Search(search("s1")), AssistantPart::ToolCall(call("c1", "read")), AssistantPart::Search(search("s2"))];
    let items = [search_item("s1"), call_item("c1", "read"), search_item("s2")];
    let answers = [loading("s1", &["a"], "One."), loading("s2", &["a", "b"], "Two."), answer("c1", "read", "text")];
    for turn in [foreign(parts.clone()), own(parts, &items)] {
        let messages = [user("go"), turn].into_iter().chain(answers.clone()).collect();
        assert_eq!(
            shape(&body(&request(tools(), messages))),
            [
                "user: go",
                "search s1 {\"queries\":[\"x\"]}",
                "call c1 read ns=-",
                "search s2 {\"queries\":[\"x\"]}",
                "found s1 [a]",
                "output c1 \"text\"",
                "found s2 [b]",
                "developer: One.\n\nTwo.",
            ]
        );
    }
}

#[test]
fn a_definition_is_sent_once_and_a_changed_one_in_place_of_the_old() {
    let mut messages = searched("s1", &["a", "b"], "");
    messages.extend(searched("s2", &["a"], ""));
    assert_eq!(
        shape(&body(&request(tools(), messages.clone())))[1..],
        ["found s1 [a,b]", "search s2 {\"queries\":[\"x\"]}", "found s2 []"]
    );
    let changed = SearchResult::new(&search("s3"), vec![Arc::new(deferred("a").description("Does more."))], "");
    messages.extend([foreign(vec![AssistantPart::Search(search("s3"))]), changed.into()]);
    let sent = body(&request(tools(), messages));
    assert_eq!(
        shape(&sent).into_iter().filter(|item| item.starts_with("found")).collect::<Vec<_>>(),
        ["found s1 [b]", "found s2 []", "found s3 [a]"]
    );
    assert_eq!(sent["input"][5]["tools"][0]["description"], "Does more.");
}

#[test]
fn an_eager_tool_is_declared_once_and_a_vanished_one_stays_in_its_answer() {
    let messages = searched("s1", &["a", "b"], "");
    let sent = body(&request([tool("a"), search_tool()], messages.clone()));
    assert_eq!(shape(&sent)[1], "found s1 [b]");
    let without_search = body(&request([tool("read")], messages));
    assert_eq!(shape(&without_search), ["search s1 {\"queries\":[\"x\"]}", "found s1 [a,b]"]);
    assert_eq!(without_search["tools"].as_array().unwrap().len(), 1);
}

#[test]
fn a_summary_ends_what_came_before_it() {
    let summary = [
        json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}),
        json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []}),
    ];
    let compacted = |turn: Arc<Message>| {
        let mut messages = vec![user("old")];
        messages.extend(searched("s1", &["a"], ""));
        messages.extend([turn, user("new")]);
        messages.extend(searched("s2", &["a"], ""));
        shape(&body(&request(tools(), messages)))
    };
    let parts = || vec![AssistantPart::Compaction { summary: None }];
    assert_eq!(
        compacted(own(parts(), &summary)),
        ["compaction cmp_1", "assistant: []", "user: new", "search s2 {\"queries\":[\"x\"]}", "found s2 [a]"]
    );
    let within = [call_item("c1", "read"), summary[0].clone()];
    let mut with_call = parts();
    with_call.insert(0, AssistantPart::ToolCall(call("c1", "read")));
    assert_eq!(compacted(own(with_call, &within))[..2], ["compaction cmp_1", "user: new"]);
    let elsewhere = compacted(foreign(parts()));
    assert_eq!(elsewhere[..3], ["user: old", "search s1 {\"queries\":[\"x\"]}", "found s1 [a]"]);
    assert_eq!(elsewhere.last().unwrap(), "found s2 []");
}

/// A call to a deferred tool that nothing had loaded, and its answer.
fn guessed() -> Vec<Arc<Message>> {
    let made = call("c1", "a");
    let item = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "a", "namespace": "a", "arguments": "{}"});
    let said = "It was not loaded; call it again.";
    vec![
        user("go"),
        own(vec![AssistantPart::ToolCall(made.clone())], &[item]),
        ToolResult::error(&made, said).loading([Arc::new(deferred("a"))]).into(),
        foreign(vec![AssistantPart::ToolCall(call("c2", "a"))]),
        answer("c2", "a", "done"),
    ]
}

#[test]
fn a_guessed_call_is_followed_by_its_definition() {
    let sent = body(&request(tools(), guessed()));
    assert_eq!(
        shape(&sent),
        [
            "user: go",
            "call c1 a ns=-",
            "output c1 \"It was not loaded; call it again.\"",
            "additional [a]",
            "call c2 a ns=-",
            "output c2 \"done\"",
        ]
    );
    let function = json!({"type": "function", "name": "a", "description": "Does a.", "parameters": {"type": "object", "properties": {}}});
    assert_eq!(sent["input"][3], json!({"type": "additional_tools", "role": "developer", "tools": [function]}));
    let plain = Capabilities { additional_tools: false, ..Capabilities::openai_responses() };
    let sent = body_with(&request(tools(), guessed()), &plain);
    assert_eq!(shape(&sent).len(), 5);
    assert_eq!(sent["tools"][2], function);
    let appended = body_with(&request(tools(), guessed()), &append_mode());
    assert_eq!((shape(&appended).len(), &appended["tools"][2]["name"]), (5, &json!("a")));
}

#[test]
fn in_append_mode_a_search_is_a_function_in_both_halves() {
    let own_search = own(vec![AssistantPart::Search(search("s2"))], &[search_item("s2")]);
    let mut messages = vec![user("go")];
    messages.extend(searched("s1", &["a"], "One found."));
    messages.extend([own_search, loading("s2", &["b", "c"], "")]);
    messages.extend([foreign(vec![AssistantPart::ToolCall(call("c1", "a"))]), answer("c1", "a", "done")]);
    let sent = body_with(&request(tools(), messages), &append_mode());
    assert_eq!(
        shape(&sent),
        [
            "user: go",
            "call s1 tool_search ns=-",
            "output s1 \"Loaded, call directly: a. One found.\"",
            "call s2 tool_search ns=-",
            "output s2 \"Loaded, call directly: b, c.\"",
            "call c1 a ns=-",
            "output c1 \"done\"",
        ]
    );
    assert_eq!(sent["input"][3]["arguments"], json!("{\"queries\":[\"x\"]}"));
    assert_eq!(sent["input"][3]["execution"], Value::Null);
    let names: Vec<_> = sent["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read", "tool_search", "a", "b", "c"]);
}

#[test]
fn a_search_that_went_out_as_a_function_is_answered_as_one() {
    let item = json!({"type": "function_call", "id": "fc_1", "call_id": "s1", "name": "tool_search", "arguments": "{\"queries\":[\"x\"]}"});
    let messages = vec![own(vec![AssistantPart::Search(search("s1"))], &[item]), loading("s1", &["a"], "Found.")];
    let sent = shape(&body(&request(tools(), messages)));
    assert_eq!(sent, ["call s1 tool_search ns=-", "output s1 \"Loaded, call directly: a. Found.\"", "additional [a]"]);
}

#[test]
fn the_provider_searches_definitions_that_are_declared_for_it() {
    let mut messages = vec![user("go")];
    messages.extend(searched("s1", &["a"], ""));
    messages.extend([foreign(vec![AssistantPart::ToolCall(call("c1", "b"))]), answer("c1", "b", "done")]);
    let hosted =
        request([tool("read"), deferred("a"), deferred("b")], messages).server_tool(ServerTool::plain("tool_search").unwrap()).unwrap();
    let sent = body(&hosted);
    assert_eq!(shape(&sent)[1..4], ["search s1 {\"queries\":[\"x\"]}", "found s1 [a]", "call c1 b ns=b"]);
    let flags: Vec<_> = sent["tools"].as_array().unwrap().iter().map(|tool| tool["defer_loading"] == true).collect();
    assert_eq!(flags, [false, false, true, true]);
}

#[test]
fn loaded_names_are_those_of_the_wire() {
    let name = ToolName::namespaced("crm", "find it");
    let definition = ToolDefinition::new(name.clone()).deferred(true);
    let found = SearchResult::new(&search("s1"), vec![Arc::new(definition.clone())], "");
    let made = ToolCall::new("c1", name.clone(), Json::empty_object());
    let messages = vec![
        foreign(vec![AssistantPart::Search(search("s1"))]),
        found.into(),
        foreign(vec![AssistantPart::ToolCall(made.clone())]),
        ToolResult::text(&made, "done").into(),
    ];
    let sent = body(&request([tool("read"), definition, search_tool()], messages.clone()));
    let wire = sent["input"][1]["tools"][0]["name"].as_str().unwrap().to_owned();
    assert!(wire.starts_with("crm__find_it_"), "{wire}");
    assert_eq!((&sent["input"][2]["name"], &sent["input"][2]["namespace"]), (&json!(wire), &json!(wire)));
    let mut request = request([search_tool()], messages);
    Lowering::new(DeferralMode::SearchOutput).lower(&mut request).unwrap();
    let context = OpenAiResponses::new().encode(&request, &target(), &Capabilities::openai_responses()).unwrap().context;
    assert_eq!(context.names.resolve(&wire, &wire), name);
}

#[test]
fn a_loaded_definition_obeys_the_limits_too() {
    let long = SearchResult::new(&search("s1"), vec![Arc::new(deferred("a").description("x".repeat(30)))], "");
    let messages = vec![foreign(vec![AssistantPart::Search(search("s1"))]), long.into()];
    let limited = Capabilities { max_description: Some(20), ..Capabilities::openai_responses() };
    let error = refusal(&request([search_tool(), deferred("b")], messages), &limited);
    assert!(error.contains("`a`") && error.contains("30 characters"), "{error}");
}
