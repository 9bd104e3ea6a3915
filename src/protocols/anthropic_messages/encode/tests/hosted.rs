//! Calls that the provider runs, resolved or not.

use tower_genai_core::{HostedCall, ServerTool};

use super::*;
use crate::protocols::Resume;

fn hosted(id: &str) -> Value {
    json!({"type": "server_tool_use", "id": id, "name": "web_fetch", "input": {"url": "u"}})
}

fn came(id: &str) -> Value {
    json!({"type": "web_fetch_tool_result", "tool_use_id": id, "content": {"type": "web_fetch_result"}})
}

fn with_fetch() -> ModelRequest {
    request().server_tool(ServerTool::plain("web_fetch_20250910").unwrap()).unwrap()
}

#[test]
fn an_unresolved_call_is_answered_by_results_only() {
    let mut request = with_fetch();
    push_answer(&mut request, json!([hosted("h1"), tool_use("s1", "tool_search")]));
    request.messages.push(found("s1", &["d1"], "d1 is loaded."));
    request.messages.push(Message::user("hurry"));
    request.messages.push(Message::system("in French"));
    let open = shape_of(&request);
    assert_eq!(open[1..], ["assistant: hosted(h1) call(s1,tool_search,{})", "user: result(s1: ->d1)"]);

    // What was said then stands behind the next message of the model, in every later request.
    push_answer(&mut request, json!([came("h1"), text("fetched")]));
    request.messages.push(Message::user("more"));
    let later = shape_of(&request);
    assert_eq!(later[..3], open);
    assert_eq!(later[3..], [r#"assistant: came(h1) "fetched""#, r#"user: "hurry" "in French" "more""#]);
}

#[test]
fn a_message_that_the_history_holds_twice_runs_its_hosted_calls_once() {
    let mut request = with_fetch();
    for _ in 0..2 {
        push_answer(&mut request, json!([hosted("h1"), came("h1"), text("fetched"), tool_use("a", "read")]));
        request.messages.push(result("a", "A"));
    }
    assert_eq!(
        shape_of(&request)[1..],
        [
            r#"assistant: hosted(h1) came(h1) "fetched" call(a,read,{})"#,
            r#"user: result(a: "A")"#,
            r#"assistant: "fetched" call(a_2,read,{})"#,
            r#"user: result(a_2: "A")"#,
        ]
    );
}

#[test]
fn held_text_stands_behind_the_results_of_the_next_turn() {
    let mut request = with_fetch();
    push_answer(&mut request, json!([hosted("h1"), tool_use("a", "read")]));
    request.messages.push(result("a", "A"));
    request.messages.push(Message::user("hurry"));
    push_answer(&mut request, json!([came("h1"), hosted("h2"), tool_use("b", "read")]));
    request.messages.push(result("b", "B"));
    push_answer(&mut request, json!([came("h2"), tool_use("c", "read")]));
    request.messages.push(result("c", "C"));
    assert_eq!(
        shape_of(&request)[1..],
        [
            "assistant: hosted(h1) call(a,read,{})",
            r#"user: result(a: "A")"#,
            "assistant: came(h1) hosted(h2) call(b,read,{})",
            r#"user: result(b: "B")"#,
            "assistant: came(h2) call(c,read,{})",
            r#"user: result(c: "C") "hurry""#,
        ]
    );
}

#[test]
fn a_program_that_calls_is_answered_by_results_only_until_it_ends() {
    let mut request = request().server_tool(ServerTool::plain("code_execution_20260120").unwrap()).unwrap();
    let by_program = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}, "caller": {"type": "code_execution_20260120", "tool_id": "h1"}});
    let run = json!({"type": "server_tool_use", "id": "h1", "name": "code_execution", "input": {}});
    push_answer(&mut request, json!([run, by_program("a")]));
    request.messages.push(result("a", "A"));
    request.messages.push(Message::user("hurry"));
    push_answer(&mut request, json!([by_program("b")]));
    request.messages.push(result("b", "B"));
    let done = json!({"type": "code_execution_tool_result", "tool_use_id": "h1", "content": {}});
    push_answer(&mut request, json!([done, text("done")]));
    request.messages.push(Message::user("more"));
    assert_eq!(
        shape_of(&request)[1..],
        [
            "assistant: hosted(h1) call(a,read,{})",
            r#"user: result(a: "A")"#,
            "assistant: call(b,read,{})",
            r#"user: result(b: "B")"#,
            r#"assistant: came(h1) "done""#,
            r#"user: "hurry" "more""#,
        ]
    );
}

#[test]
fn a_pause_that_was_not_resumed_leaves_no_unpaired_call() {
    let mut request = with_fetch();
    let paused = answer(&request, json!([text("wait"), hosted("h0"), came("h0"), hosted("h1")]));
    request.messages.push(paused);
    let mut resumed = request.clone();
    resumed.extensions.insert(Resume);
    assert_eq!(shape_of(&resumed)[1], r#"assistant: "wait" hosted(h0) came(h0) hosted(h1)"#);
    request.messages.push(Message::user("never mind"));
    assert_eq!(shape_of(&request)[1..], [r#"assistant: "wait" hosted(h0) came(h0)"#, r#"user: "never mind""#]);

    // A message of nothing else is left out.
    let mut only = with_fetch();
    push_answer(&mut only, json!([hosted("h1")]));
    only.messages.push(Message::user("never mind"));
    assert_eq!(shape_of(&only), [r#"user: "hi" "never mind""#]);
}

#[test]
fn a_pause_in_two_messages_keeps_its_pair() {
    let mut request = with_fetch();
    let paused = answer(&request, json!([hosted("h1")]));
    let rest = answer(&request, json!([came("h1"), text("there")]));
    request.messages.extend([paused, rest]);
    request.messages.push(Message::user("thanks"));
    assert_eq!(shape_of(&request)[1], r#"assistant: hosted(h1) came(h1) "there""#);
}

#[test]
fn a_pair_that_another_model_cuts_is_left_out_on_both_sides() {
    let mut request = with_fetch();
    push_answer(&mut request, json!([hosted("h1"), tool_use("a", "read")]));
    request.messages.push(result("a", "A"));
    request.messages.push(Message::user("said"));
    request.messages.push(neutral(vec![part("other model"), AssistantPart::Hosted(HostedCall::new("h2", "web_fetch", "server_tool_use"))]));
    request.messages.push(Message::user("back"));
    push_answer(&mut request, json!([came("h1"), came("h2"), text("odd")]));
    request.messages.push(Message::user("end"));
    assert_eq!(
        shape_of(&request)[1..],
        [
            "assistant: call(a,read,{})",
            r#"user: result(a: "A") "said""#,
            r#"assistant: "other model""#,
            r#"user: "back""#,
            r#"assistant: "odd""#,
            r#"user: "end""#,
        ]
    );
}

#[test]
fn an_unresolved_call_whose_tool_is_gone_is_left_out() {
    let mut request = with_fetch();
    push_answer(&mut request, json!([hosted("h1"), tool_use("a", "read")]));
    request.messages.push(result("a", "A"));
    request.messages.push(Message::user("hurry"));
    request.server_tools.clear();
    assert_eq!(shape_of(&request)[1..], ["assistant: call(a,read,{})", r#"user: result(a: "A") "hurry""#]);
}

#[test]
fn the_container_goes_back_while_code_can_run() {
    let mut request = request().server_tool(ServerTool::plain("code_execution_20250825").unwrap()).unwrap();
    let context = encoded(&request).context;
    let mut events = VecDeque::new();
    let document = json!({"type": "message", "content": [text("ran")], "container": {"id": "container_1", "expires_at": "x"}, "stop_reason": "end_turn"});
    AnthropicMessages::new().decoder(context, &target(), None).whole(document.to_string().as_bytes(), &mut events).unwrap();
    let Some(ModelEvent::Message(message)) = events.iter().rev().nth(1) else { panic!("{events:?}") };
    request.messages.push(message.clone());
    request.messages.push(Message::user("again"));
    assert_eq!(body(&request)["container"], "container_1");
    assert_eq!(shape_of(&request)[1], r#"assistant: "ran""#);
    request.server_tools.clear();
    assert!(body(&request).get("container").is_none());
}

#[test]
fn server_tools_get_their_fixed_names_and_betas() {
    let tool = |tool_type: &str, configuration: &str| ServerTool::new(tool_type, configuration).unwrap();
    let mut request = request();
    request.server_tools = vec![
        tool("web_search_20250305", r#"{"max_uses":2}"#),
        tool("text_editor_20250124", "{}"),
        tool("computer_toolset_20260801", "{}"),
        tool("advisor_20260301", r#"{"model":"m"}"#),
        tool("mcp_toolset", r#"{"mcp_server_name":"a"}"#),
        tool("mcp_toolset", r#"{"mcp_server_name":"b"}"#),
        tool("code_execution_20250825", r#"{"name":"mine"}"#),
    ];
    let encoded = encoded(&request);
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    let sent: Vec<_> = body["tools"].as_array().unwrap().iter().take(7).cloned().collect();
    assert_eq!(
        sent,
        [
            json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 2}),
            json!({"type": "text_editor_20250124", "name": "str_replace_editor"}),
            json!({"type": "computer_toolset_20260801"}),
            json!({"type": "advisor_20260301", "name": "advisor", "model": "m"}),
            json!({"type": "mcp_toolset", "mcp_server_name": "a"}),
            json!({"type": "mcp_toolset", "mcp_server_name": "b"}),
            json!({"type": "code_execution_20250825", "name": "mine"}),
        ]
    );
    assert_eq!(encoded.headers["anthropic-beta"], "advisor-tool-2026-03-01,mcp-client-2025-11-20");
}
