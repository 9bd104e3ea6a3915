//! Reasoning and the prompt it is bound to.

use tower_genai_core::{Effort, Reasoning};

use super::*;

fn reasoning() -> ModelRequest {
    request().reasoning(Reasoning::effort(Effort::Low))
}

/// Two turns with reasoning, the second in the middle of its work.
fn in_a_turn() -> ModelRequest {
    let mut request = reasoning();
    push_answer(&mut request, json!([thinking("one"), text("first")]));
    request.messages.push(Message::user("go"));
    push_answer(&mut request, json!([thinking("two"), tool_use("a", "read")]));
    request.messages.push(result("a", "A"));
    request
}

fn add_tool(request: &mut ModelRequest, tool: ToolDefinition) {
    let tools: Vec<_> = request.tools.iter().cloned().chain([Arc::new(tool)]).collect();
    request.tools = ToolSet::new(tools).unwrap();
}

#[test]
fn the_same_prompt_keeps_all_reasoning() {
    let body = body(&in_a_turn());
    assert_eq!(shape(&body)[1], r#"assistant: thinking(one) "first""#);
    assert_eq!(shape(&body)[3], "assistant: thinking(two) call(a,read,{})");
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
}

#[test]
fn reasoning_of_earlier_turns_goes_when_the_prompt_changed() {
    let mut request = in_a_turn();
    push_answer(&mut request, json!([thinking("three"), text("second")]));
    request.messages.push(Message::user("next"));
    request.system.push("New rule.".into());
    let body = body(&request);
    assert!(!body["messages"].to_string().contains("thinking"), "{body}");
    assert_eq!(body["thinking"], json!({"type": "adaptive"}), "the new turn thinks");
}

#[test]
fn what_follows_a_change_is_bound_to_the_changed_prompt() {
    let mut request = in_a_turn();
    push_answer(&mut request, json!([thinking("three"), text("second")]));
    request.messages.push(Message::user("next"));
    request.system.push("New rule.".into());
    push_answer(&mut request, json!([thinking("four"), text("third")]));
    request.messages.push(Message::user("last"));
    let shape = shape_of(&request);
    assert_eq!(shape.iter().filter(|message| message.contains("thinking")).collect::<Vec<_>>(), [r#"assistant: thinking(four) "third""#]);
}

#[test]
fn a_change_in_the_middle_of_a_turn_makes_that_request_go_without_thinking() {
    let mut request = in_a_turn();
    add_tool(&mut request, ToolDefinition::new("late"));
    let body = body(&request);
    assert!(!body["messages"].to_string().contains("thinking"), "{body}");
    assert!(body.get("thinking").is_none());
    assert_eq!(body["output_config"]["effort"], "low");

    // The answer was made from the changed prompt, and the next turn thinks again.
    push_answer(&mut request, json!([text("second")]));
    request.messages.push(Message::user("next"));
    assert_eq!(super::body(&request)["thinking"], json!({"type": "adaptive"}));
}

#[test]
fn endpoints_that_do_not_bind_keep_the_current_turn() {
    let mut capabilities = Capabilities::anthropic();
    capabilities.bound_thinking = false;
    let mut request = in_a_turn();
    add_tool(&mut request, ToolDefinition::new("late"));
    let body = body_with(&request, &capabilities);
    assert_eq!(shape(&body)[1], r#"assistant: "first""#);
    assert_eq!(shape(&body)[3], "assistant: thinking(two) call(a,read,{})");
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
}

#[test]
fn deferred_tools_and_breakpoints_are_not_part_of_the_prompt() {
    let mut request = in_a_turn();
    add_tool(&mut request, deferred("d3"));
    let mut capabilities = Capabilities::anthropic();
    capabilities.prompt_cache = false;
    assert_eq!(shape(&body_with(&request, &capabilities))[3], "assistant: thinking(two) call(a,read,{})");
}

#[test]
fn a_referenced_definition_is_part_of_the_prompt() {
    let mut request = reasoning();
    push_answer(&mut request, json!([tool_use("s", "tool_search")]));
    request.messages.push(found("s", &["d1"], ""));
    push_answer(&mut request, json!([thinking("after"), text("done")]));
    request.messages.push(Message::user("next"));
    assert!(shape_of(&request)[3].contains("thinking(after)"));
    let replace = |request: &mut ModelRequest, name: &str| {
        let changed = Arc::new(deferred(name).description("Does it otherwise."));
        let tools: Vec<_> =
            request.tools.iter().map(|tool| if tool.name == changed.name { changed.clone() } else { tool.clone() }).collect();
        request.tools = ToolSet::new(tools).unwrap();
    };
    replace(&mut request, "d2");
    assert!(shape_of(&request)[3].contains("thinking(after)"));
    replace(&mut request, "d1");
    assert!(!shape_of(&request)[3].contains("thinking(after)"));
}

#[test]
fn a_question_beside_results_belongs_to_their_turn() {
    let mut request = in_a_turn();
    request.messages.push(Message::user("hurry"));
    push_answer(&mut request, json!([thinking("three"), tool_use("b", "read")]));
    request.messages.push(result("b", "B"));
    add_tool(&mut request, ToolDefinition::new("late"));
    let body = body(&request);
    assert!(!body["messages"].to_string().contains("thinking") && body.get("thinking").is_none(), "{body}");
}

#[test]
fn reasoning_without_a_known_prompt_is_kept() {
    let mut request = reasoning();
    let message = answer(&request, json!([thinking("one"), text("first")]));
    let Message::Assistant(message) = &*message else { panic!() };
    let mut message = message.clone();
    message.replay.as_mut().unwrap().prefix = None;
    request.messages.push(message);
    request.messages.push(Message::user("next"));
    request.system.push("New rule.".into());
    assert_eq!(shape_of(&request)[1], r#"assistant: thinking(one) "first""#);
}

#[test]
fn reasoning_behind_a_block_that_is_left_out_goes_too() {
    let mut request = reasoning();
    let call = json!({"type": "server_tool_use", "id": "h", "name": "web_fetch", "input": {}});
    push_answer(&mut request, json!([thinking("one"), call, thinking("two"), text("said")]));
    request.messages.push(Message::user("next"));
    assert_eq!(shape_of(&request)[1], r#"assistant: thinking(one) "said""#);
}

#[test]
fn moving_one_earlier_message_changes_the_prompt_of_all_behind_it() {
    let mut request = in_a_turn();
    let messages: Vec<_> = request.messages.iter().skip(1).cloned().collect();
    request.messages = std::iter::once(Arc::new(Message::user("changed"))).chain(messages).collect();
    let body = body(&request);
    assert!(!body["messages"].to_string().contains("thinking") && body.get("thinking").is_none(), "{body}");
}
