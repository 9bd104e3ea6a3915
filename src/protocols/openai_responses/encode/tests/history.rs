//! What was said before, by this endpoint and by others.

use super::*;
use tower_genai_core::{HostedCall, Image};

fn text_part(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.into() }
}

fn message_item(id: &str, text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]);
    json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "phase": "final_answer", "content": content})
}

#[test]
fn items_go_back_as_they_came_to_the_endpoint_that_wrote_them_only() {
    let items = [
        reasoning_item("rs_1"),
        json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}),
        json!({"type": "unheard_of", "z": 1.50, "a": [1, 2]}),
        message_item("msg_1", "Found it."),
        json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "open", "namespace": "viewer", "arguments": "{ \"b\": 1 }", "caller": {"type": "direct"}}),
    ];
    let hosted = HostedCall::new("ws_1", "web_search", "web_search_call");
    let parts = vec![AssistantPart::Hosted(hosted), text_part("Found it."), AssistantPart::ToolCall(call("c1", "open"))];
    let raw = |item: &Value| item.to_string();
    let turn = own(parts.clone(), &items);
    let messages = vec![user("go"), turn, answer("c1", "open", "opened")];
    let sent = text(&request([tool("open")], messages.clone()));
    for item in &items {
        assert!(sent.contains(&raw(item)), "{item}");
    }
    let stored: Conversation = serde_json::from_value(serde_json::to_value(Conversation::from_iter(messages)).unwrap()).unwrap();
    assert_eq!(text(&ModelRequest::new().tools(set([tool("open")])).messages(stored)), sent);

    for (protocol, host, model) in
        [("openai_chat", "host", "model"), ("openai_responses", "other", "model"), ("openai_responses", "host", "other")]
    {
        let replay = Replay::new(protocol, host, model, items.iter().map(parse).collect());
        let turn = AssistantMessage::new(parts.clone()).replay(replay);
        let sent = body(&request([tool("open")], vec![user("go"), turn.into(), answer("c1", "open", "opened")]));
        assert_eq!(shape(&sent), ["user: go", "assistant: Found it.", "call c1 open ns=-", "output c1 \"opened\""]);
    }
}

#[test]
fn a_namespace_that_nothing_else_tells_outlives_the_model() {
    let item = json!({"type": "function_call", "call_id": "c1", "name": "open", "namespace": "viewer", "arguments": "{}"});
    let said = |host: &str, tool: &ToolName| {
        let parts = vec![AssistantPart::ToolCall(ToolCall::new("c1", tool.clone(), Json::empty_object()))];
        let replay = Replay::new("openai_responses", host, "other", vec![parse(&item)]);
        vec![user("go"), AssistantMessage::new(parts).replay(replay).into(), answer("c1", "open", "x")]
    };
    let (viewer, plain) = (ToolName::namespaced("viewer", "open"), ToolName::new("open"));
    for (host, name, tools, expected) in [
        ("host", &viewer, vec![], "call c1 open ns=viewer"),
        ("host", &plain, vec![tool("open")], "call c1 open ns=-"),
        ("elsewhere", &viewer, vec![], "call c1 viewer__open ns=-"),
    ] {
        assert_eq!(shape(&body(&request(tools, said(host, name))))[1], expected, "{host} {name}");
    }
}

#[test]
fn a_foreign_answer_keeps_what_everybody_understands() {
    let parts = vec![
        AssistantPart::Reasoning { text: "Hm.".into() },
        text_part("One "),
        text_part("moment."),
        AssistantPart::ToolCall(call("c1", "read")),
        AssistantPart::Refusal { text: "Not that.".into() },
        AssistantPart::Image(Image::Base64 { media_type: "image/png".into(), data: "AAAA".into() }),
        AssistantPart::Compaction { summary: None },
    ];
    let nothing = foreign(vec![AssistantPart::Reasoning { text: "Hm.".into() }, text_part("")]);
    let messages = vec![user("go"), foreign(parts), answer("c1", "read", "x"), nothing, user("on")];
    assert_eq!(
        shape(&body(&request([tool("read")], messages))),
        [
            "user: go",
            "assistant: One moment.",
            "call c1 read ns=-",
            "assistant: Not that.[an image that the model made]",
            "output c1 \"x\"",
            "user: on"
        ]
    );
}

#[test]
fn a_foreign_summary_that_can_be_read_stands_for_what_was_before() {
    let parts = vec![text_part("old"), AssistantPart::Compaction { summary: Some("long ago".into()) }, text_part("new")];
    let messages = vec![user("go"), foreign(parts), user("on")];
    assert_eq!(
        shape(&body(&request([tool("read")], messages))),
        ["user: Summary of the conversation so far:\n\nlong ago", "assistant: new", "user: on"]
    );
}

#[test]
fn arguments_are_an_object_whatever_was_stored() {
    let arguments = |json: &str| {
        let made = ToolCall::new("c1", "read", Json::parse(json).unwrap());
        body(&request([tool("read")], vec![foreign(vec![AssistantPart::ToolCall(made)])]))["input"][0]["arguments"].clone()
    };
    assert_eq!(arguments("{\"a\": 1.0}"), json!("{\"a\":1.0}"));
    assert_eq!(arguments("null"), json!("{}"));
    assert_eq!(arguments("[1]"), json!("{\"input\":[1]}"));
}

#[test]
fn a_tool_that_a_search_loaded_is_called_by_its_namespace_in_every_history() {
    let searched = || vec![foreign(vec![AssistantPart::Search(search("s1"))]), loading("s1", &["a"], "")];
    let tools = || [tool("read"), deferred("a"), search_tool()];
    let failed = || -> Arc<Message> { ToolResult::error(&call("c1", "a"), "wrong arguments").into() };
    let mut foreign_call = searched();
    foreign_call.extend([foreign(vec![AssistantPart::ToolCall(call("c1", "a"))]), failed()]);
    assert_eq!(shape(&body(&request(tools(), foreign_call)))[2..], ["call c1 a ns=a", "output c1 \"wrong arguments\""]);

    let mut lost = searched();
    lost.extend([own(vec![AssistantPart::ToolCall(call("c1", "a"))], &[call_item("c1", "a")]), failed()]);
    assert_eq!(shape(&body(&request(tools(), lost)))[2], "call c1 a ns=a");

    let mut before = vec![foreign(vec![AssistantPart::ToolCall(call("c1", "a"))]), answer("c1", "a", "x")];
    before.extend(searched());
    // Called before it was loaded, it is declared from then on, and the later search has nothing to add.
    let sent = body(&request(tools(), before.clone()));
    assert_eq!(
        (shape(&sent)[0].as_str(), shape(&sent)[3].as_str(), &sent["tools"][2]["name"]),
        ("call c1 a ns=-", "found s1 []", &json!("a"))
    );
    assert_eq!(shape(&body(&request([tool("a"), search_tool()], before)))[0], "call c1 a ns=-");
    let never = vec![foreign(vec![AssistantPart::ToolCall(call("c1", "a"))]), answer("c1", "a", "x")];
    let sent = body(&request(tools(), never));
    assert_eq!((shape(&sent)[0].as_str(), &sent["tools"][2]["name"]), ("call c1 a ns=-", &json!("a")));
}

#[test]
fn a_pair_matches_whatever_became_of_the_search() {
    let foreign_pair = || vec![foreign(vec![AssistantPart::Search(search("s1"))]), loading("s1", &["a"], "Found.")];
    let own_pair = || vec![own(vec![AssistantPart::Search(search("s1"))], &[search_item("s1")]), loading("s1", &["a"], "Found.")];
    for pair in [foreign_pair(), own_pair()] {
        for tools in [vec![search_tool(), deferred("a")], vec![tool("read")], vec![tool("a")]] {
            let sent = shape(&body(&request(tools, pair.clone())));
            assert!(sent[0].starts_with("search s1") && sent[1].starts_with("found s1") && sent[2] == "developer: Found.", "{sent:?}");
            let sent = shape(&body_with(&request([tool("read")], pair.clone()), &append_mode()));
            assert!(sent[0].starts_with("call s1 tool_search") && sent[1].starts_with("output s1"), "{sent:?}");
        }
    }
}

#[test]
fn results_are_text_or_a_list() {
    let output = |content: Vec<Content>| {
        let mut result = ToolResult::text(&call("c1", "read"), "");
        result.content = content;
        body(&request([tool("read")], vec![foreign(vec![AssistantPart::ToolCall(call("c1", "read"))]), result.into()]))["input"][1]["output"].clone()
    };
    assert_eq!(output(vec![]), json!(""));
    assert_eq!(output(vec![Content::text("x")]), json!("x"));
    let text = |text: &str| json!({"type": "input_text", "text": text});
    assert_eq!(output(vec![Content::text("x"), Content::text("y")]), json!([text("x"), text("y")]));
    let image = Content::Image(Image::Url { url: "https://x/a.png".into(), media_type: None });
    assert_eq!(output(vec![image.clone()]), json!([{"type": "input_image", "detail": "auto", "image_url": "https://x/a.png"}]));
    let provider = |protocol: &str| Content::Provider {
        protocol: protocol.into(),
        item: Json::parse(r#"{"type":"input_file","file_id":"f"}"#).unwrap(),
        text: None,
    };
    assert_eq!(output(vec![provider("anthropic"), Content::text("x")]), json!("x"));
    assert_eq!(output(vec![provider("openai_responses")]), json!([{"type": "input_file", "file_id": "f"}]));
    let mut result = ToolResult::text(&call("c1", "read"), "");
    result.content = vec![image];
    let messages = vec![foreign(vec![AssistantPart::ToolCall(call("c1", "read"))]), result.into()];
    let blind = Capabilities { images: false, ..Capabilities::openai_responses() };
    let sent = body_with(&request([tool("read")], messages), &blind);
    assert_eq!(sent["input"][1]["output"][0], text("[image omitted: this model reads text only]"));
}

/// The answer to one call that this endpoint made.
fn answered(item: Value, call_type: &str, result: impl FnOnce(&ToolCall) -> ToolResult) -> Value {
    let id = item["call_id"].as_str().or(item["id"].as_str()).unwrap().to_owned();
    let made = ToolCall::new(id, "x", Json::empty_object()).call_type(call_type);
    let result = result(&made);
    let sent = body(&request([tool("read")], vec![own(vec![AssistantPart::ToolCall(made)], std::slice::from_ref(&item)), result.into()]));
    assert_eq!(sent["input"][0], item);
    assert_eq!(sent["input"].as_array().unwrap().len(), 2);
    sent["input"][1].clone()
}

#[test]
fn every_kind_of_call_is_answered_in_its_own_form() {
    let fine = |made: &ToolCall| ToolResult::text(made, "fine");
    let broken = |made: &ToolCall| ToolResult::error(made, "broken");
    let item = |kind: &str| json!({"type": kind, "id": "i1", "call_id": "c1"});
    let custom = answered(item("custom_tool_call"), "custom_tool_call", fine);
    assert_eq!(custom, json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "fine"}));
    let chunk = |stdout: &str, stderr: &str, code: i32| {
        let outcome = json!({"type": "exit", "exit_code": code});
        json!({"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": stdout, "stderr": stderr, "outcome": outcome}]})
    };
    assert_eq!(answered(item("shell_call"), "shell_call", fine), chunk("fine", "", 0));
    assert_eq!(answered(item("shell_call"), "shell_call", broken), chunk("", "broken", 1));
    let local = answered(item("local_shell_call"), "local_shell_call", fine);
    assert_eq!(local, json!({"type": "local_shell_call_output", "id": "c1", "output": "fine"}));
    let patch =
        |status: &str, output: &str| json!({"type": "apply_patch_call_output", "call_id": "c1", "status": status, "output": output});
    assert_eq!(answered(item("apply_patch_call"), "apply_patch_call", fine), patch("completed", "fine"));
    assert_eq!(answered(item("apply_patch_call"), "apply_patch_call", broken), patch("failed", "broken"));
    let screenshot = |made: &ToolCall| {
        let mut result = ToolResult::text(made, "seen");
        result.content.push(Content::Image(Image::Base64 { media_type: "image/png".into(), data: "AA".into() }));
        result
    };
    let seen = answered(item("computer_call"), "computer_call", screenshot);
    assert_eq!(seen["output"], json!({"type": "computer_screenshot", "image_url": "data:image/png;base64,AA"}));
    let blank = answered(item("computer_call"), "computer_call", fine);
    assert!(blank["output"]["image_url"].as_str().unwrap().starts_with("data:image/png;base64,iVBOR"));
    let asked = json!({"type": "mcp_approval_request", "id": "mcpr_1", "name": "pay", "server_label": "bank", "arguments": "{}"});
    let denied = json!({"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": false, "reason": "fine"});
    assert_eq!(answered(asked, "mcp_approval_request", fine), denied);
}

#[test]
fn an_answer_of_the_callers_own_making_is_taken_as_it_is() {
    let with = |own: Value| {
        move |made: &ToolCall| {
            let mut result = ToolResult::text(made, "for other endpoints");
            result.content.push(Content::Provider { protocol: "openai_responses".into(), item: parse(&own), text: None });
            result
        }
    };
    let asked = json!({"type": "mcp_approval_request", "id": "mcpr_1", "name": "pay", "server_label": "bank", "arguments": "{}"});
    let yes = json!({"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true});
    assert_eq!(answered(asked, "mcp_approval_request", with(yes.clone())), yes);
    let item = json!({"type": "shell_call", "id": "sh_1", "call_id": "c1"});
    let output = json!({"type": "shell_call_output", "output": [], "max_output_length": 5});
    let expected = json!({"type": "shell_call_output", "call_id": "c1", "output": [], "max_output_length": 5});
    assert_eq!(answered(item.clone(), "shell_call", with(output)), expected);
    let other = answered(item, "shell_call", with(json!({"type": "computer_call_output"})));
    assert_eq!(other["output"][0]["stdout"], "for other endpoints");
}

#[test]
fn the_answer_to_a_program_names_it() {
    let caller = json!({"type": "program", "caller_id": "p1"});
    let item = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "x", "arguments": "{}", "caller": caller});
    let made = answered(item, "", |made| ToolResult::text(made, "fine"));
    assert_eq!(made, json!({"type": "function_call_output", "call_id": "c1", "output": "fine", "caller": caller}));
}

#[test]
fn a_custom_call_of_another_model_stays_one() {
    let made = ToolCall::new("c1", "note", Json::parse("{\"input\":\"a\\nb\"}").unwrap()).call_type("custom_tool_call");
    let messages = vec![foreign(vec![AssistantPart::ToolCall(made.clone())]), ToolResult::text(&made, "noted").into()];
    let sent = body(&request([tool("read")], messages));
    assert_eq!(sent["input"][0], json!({"type": "custom_tool_call", "call_id": "c1", "name": "note", "input": "a\nb"}));
    assert_eq!(sent["input"][1], json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "noted"}));
}
