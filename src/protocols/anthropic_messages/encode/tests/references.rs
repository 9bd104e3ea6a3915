//! What a search loads, and how it is told.

use tower_genai_core::{Deferral, DeferralMode};

use super::*;

/// A request in which the model searched, with what each search found.
fn searched(results: Vec<Vec<SearchResult>>) -> ModelRequest {
    let mut request = request();
    let mut number = 0;
    for turn in results {
        let calls: Vec<Value> = turn.iter().map(|result| tool_use(&result.call_id, "tool_search")).collect();
        push_answer(&mut request, json!(calls));
        for result in turn {
            request.messages.push(result);
        }
        number += 1;
    }
    assert!(number > 0);
    request
}

#[test]
fn references_or_text_but_never_both() {
    let request = searched(vec![vec![found("s1", &["d1", "d2"], "Two are loaded.")], vec![found("s2", &[], "Nothing found.")]]);
    let shape = shape_of(&request);
    assert_eq!(shape[2], r#"user: result(s1: ->d1 ->d2) "Two are loaded.""#);
    assert_eq!(shape[4], r#"user: result(s2: "Nothing found.")"#);
}

#[test]
fn a_name_is_referenced_once() {
    let both = vec![found("s1", &["d1"], ""), found("s2", &["d1", "d2"], ""), found("s3", &["d1"], ""), found("s4", &[], "")];
    let request = searched(vec![both, vec![found("s5", &["d2"], "d2 is there already.")]]);
    let shape = shape_of(&request);
    assert_eq!(
        shape[2],
        r#"user: result(s1: ->d1) result(s2: ->d2) result(s3: "You can call: `d1`.") result(s4: "No tools were loaded.")"#
    );
    assert_eq!(shape[4], r#"user: result(s5: "d2 is there already.")"#);
}

#[test]
fn a_compaction_forgets_references() {
    let mut request = searched(vec![vec![found("s1", &["d1"], "")]]);
    push_answer(&mut request, json!([{"type": "compaction", "content": "x"}, tool_use("s2", "tool_search")]));
    request.messages.push(found("s2", &["d1"], ""));
    assert_eq!(
        shape_of(&request)[2..],
        ["user: result(s1: ->d1)", "assistant: compaction call(s2,tool_search,{})", "user: result(s2: ->d1)"]
    );
}

#[test]
fn a_failed_call_of_a_tool_that_was_not_loaded_loads_it() {
    let mut request = request();
    push_answer(&mut request, json!([tool_use("a", "d1"), tool_use("b", "read")]));
    request.messages.push(ToolResult::error(&call("a", "d1"), "Not loaded; call again.").loading([Arc::new(deferred("d1"))]));
    request.messages.push(result("b", "B"));
    assert_eq!(shape_of(&request)[2], r#"user: result!(a: ->d1) result(b: "B") "Not loaded; call again.""#);
}

#[test]
fn a_loaded_tool_that_vanished_stays_declared() {
    let mut request = searched(vec![vec![found("s1", &["gone", "d1"], "")]]);
    let body = body(&request);
    assert_eq!(shape(&body)[2], "user: result(s1: ->gone ->d1)");
    let gone = body["tools"].as_array().unwrap().last().unwrap();
    assert_eq!((&gone["name"], &gone["defer_loading"], &gone["description"]), (&json!("gone"), &json!(true), &json!("Does gone.")));

    request.tools = ToolSet::new([ToolDefinition::new("read")]).unwrap();
    let names: Vec<_> = super::body(&request)["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["read", "gone", "d1"], "without a search");
    request.tools = ToolSet::default();
    assert_eq!(shape_of(&request)[2], "user: result(s1: ->gone ->d1)");
}

#[test]
fn a_loaded_tool_that_is_shown_now_keeps_its_reference() {
    let mut request = searched(vec![vec![found("s1", &["d1"], "")]]);
    let tools = request
        .tools
        .iter()
        .map(|tool| if &*tool.name.name == "d1" { Arc::new(tower_genai_core::ToolDefinition::new("d1")) } else { tool.clone() });
    request.tools = ToolSet::new(tools).unwrap();
    let body = body(&request);
    assert_eq!(shape(&body)[2], "user: result(s1: ->d1)");
    let tool = body["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "d1").unwrap().clone();
    assert!(tool.get("defer_loading").is_none());
}

#[test]
fn a_changed_schema_is_declared_once() {
    let mut request = searched(vec![vec![found("s1", &["d1"], "")]]);
    let changed = deferred("d1").parameters(Json::parse(r#"{"type":"object","properties":{"new":{}}}"#).unwrap());
    let tools = request.tools.iter().map(|tool| if tool.name == changed.name { Arc::new(changed.clone()) } else { tool.clone() });
    request.tools = ToolSet::new(tools).unwrap();
    let body = body(&request);
    let declared: Vec<_> = body["tools"].as_array().unwrap().iter().filter(|tool| tool["name"] == "d1").collect();
    assert_eq!(declared.len(), 1);
    assert!(declared[0]["input_schema"]["properties"].get("new").is_some());
    assert_eq!(shape(&body)[2], "user: result(s1: ->d1)");
}

#[test]
fn endpoints_without_references_read_text() {
    let mut capabilities = Capabilities::anthropic();
    capabilities.deferral = DeferralMode::Append;
    let request = searched(vec![vec![found("s1", &["d1"], "Loaded: d1.")], vec![found("s2", &["d2"], "")]]);
    let body = body_with(&request, &capabilities);
    assert_eq!(shape(&body)[2], r#"user: result(s1: "Loaded: d1.")"#);
    assert_eq!(shape(&body)[4], r#"user: result(s2: "You can call: `d2`.")"#);
    let names: Vec<_> = body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["read", "tool_search", "d1", "d2"]);
    assert!(!body.to_string().contains("defer_loading"));
}

#[test]
fn a_name_that_nobody_declares_is_never_referenced() {
    let mut request = searched(vec![vec![found("s1", &["d1", "stranger"], "")]]);
    request.tools = ToolSet::new([ToolDefinition::new("read"), deferred("d1")]).unwrap();
    request.deferral = Deferral::Lowered(DeferralMode::Reference);
    assert_eq!(shape_of(&request)[2], "user: result(s1: ->d1)");
}

#[test]
fn a_hosted_search_names_only_tools_that_are_declared() {
    let hosted = tower_genai_core::ServerTool::plain("tool_search_tool_bm25_20251119").unwrap();
    let mut request = ModelRequest::new().user("hi").server_tool(hosted).unwrap();
    request.reasoning = Some(tower_genai_core::Reasoning::default());
    request.tools = ToolSet::new([deferred("d1"), deferred("d2")]).unwrap();
    let reference = |name: &str| json!({"type": "tool_reference", "tool_name": name});
    let result = |references: Vec<Value>| json!({"type": "tool_search_tool_result", "tool_use_id": "h", "content": {"type": "tool_search_tool_search_result", "tool_references": references}});
    let call = json!({"type": "server_tool_use", "id": "h", "name": "tool_search_tool_bm25", "input": {"query": "d"}});
    push_answer(
        &mut request,
        json!([thinking("one"), call, result(vec![reference("d1"), reference("d2")]), thinking("two"), text("found")]),
    );
    request.messages.push(Message::user("next"));
    assert_eq!(body(&request)["messages"][1]["content"][2], result(vec![reference("d1"), reference("d2")]));

    request.tools = ToolSet::new([deferred("d2")]).unwrap();
    let content = body(&request)["messages"][1]["content"].clone();
    assert_eq!(content, json!([thinking("one"), call, result(vec![reference("d2")]), text("found")]), "what follows a change goes");
    request.tools = ToolSet::new([deferred("d3")]).unwrap();
    assert_eq!(body(&request)["messages"][1]["content"][2], result(vec![]));
}
