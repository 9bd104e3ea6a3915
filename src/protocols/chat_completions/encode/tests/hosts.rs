//! What only some hosts have: tools of their own, deferral of their own, reasoning that has to come back.

use std::sync::Arc;

use tower_genai_core::{AssistantPart, ServerTool};

use super::*;
use crate::protocols::{
    ServerToolForm,
    samples::{answer, call, deferred, foreign, loading, own, request, said, search, search_tool, thought, tool, user},
};

fn hosting(form: ServerToolForm) -> Capabilities {
    Capabilities { server_tools: form, ..Capabilities::compatible_chat() }
}

#[test]
fn server_tools_in_the_form_of_the_host() {
    let request = request([tool("read")], vec![user("hi")])
        .server_tool(ServerTool::plain("browser_search").unwrap())
        .unwrap()
        .server_tool(ServerTool::new("openrouter:web_search", r#"{"max_results":3}"#).unwrap())
        .unwrap();
    let tools = |form| body_with(&request, &hosting(form))["tools"].as_array().unwrap()[..2].to_vec();
    assert_eq!(
        tools(ServerToolForm::Flat),
        [json!({"type": "browser_search"}), json!({"type": "openrouter:web_search", "max_results": 3})]
    );
    assert_eq!(
        tools(ServerToolForm::Parameters),
        [json!({"type": "browser_search"}), json!({"type": "openrouter:web_search", "parameters": {"max_results": 3}})]
    );
    assert_eq!(tools(ServerToolForm::Keyed), [json!({"browser_search": {}}), json!({"openrouter:web_search": {"max_results": 3}})]);
}

#[test]
fn a_host_that_searches_by_a_field() {
    let search = ServerTool::new("openrouter:tool_search", r#"{"max_results":5}"#).unwrap();
    let request = request([tool("read"), deferred("get")], vec![user("hi")]).server_tool(search.clone()).unwrap();
    let capabilities = Capabilities { hosted_search: HostedSearch::Field, ..hosting(ServerToolForm::Parameters) };
    let body = body_with(&request, &capabilities);
    assert_eq!(
        body["deferred_tools"],
        json!({"protocol": "v1", "profile": "portable", "validation": "runtime", "search": {"type": "bm25", "max_results": 5}})
    );
    let tools = body["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[1]["defer_loading"], &tools[0]["defer_loading"]), (2, &json!(true), &Value::Null));
    let error = refusal(&request, &hosting(ServerToolForm::Parameters));
    assert!(error.contains("`openrouter:tool_search`") && error.contains("hosted_search"), "{error}");
    let twice = request.server_tool(ServerTool::plain("orq:tool_search").unwrap()).unwrap();
    assert!(refusal(&twice, &capabilities).contains("declare one of them"));
}

#[test]
fn a_host_that_searches_by_a_tool() {
    let request = |tools: Vec<tower_genai_core::ToolDefinition>| {
        super::samples::request(tools, vec![user("hi")]).server_tool(ServerTool::plain("orq:tool_search").unwrap()).unwrap()
    };
    let capabilities = Capabilities { hosted_search: HostedSearch::Tool, ..hosting(ServerToolForm::Flat) };
    let body = body_with(&request(vec![tool("read"), deferred("get")]), &capabilities);
    assert_eq!(body["tools"][0], json!({"type": "orq:tool_search"}));
    assert_eq!((&body["tools"][2]["defer_loading"], &body["deferred_tools"]), (&json!(true), &Value::Null));
    // A search with nothing to find is refused by hosts.
    assert_eq!(body_with(&request(vec![tool("read")]), &capabilities)["tools"].as_array().unwrap().len(), 1);
}

#[test]
fn a_host_that_loads_what_is_referred_to() {
    let messages = vec![
        user("u"),
        foreign(vec![AssistantPart::Search(search("s"))]),
        loading("s", &["get", "gone"], "Two more match."),
        foreign(vec![AssistantPart::Search(search("t"))]),
        loading("t", &["get"], "Nothing new."),
    ];
    let request = request([search_tool(), deferred("get"), deferred("other")], messages);
    let capabilities = Capabilities { deferral: DeferralMode::Reference, ..Capabilities::compatible_chat() };
    let body = body_with(&request, &capabilities);
    assert_eq!(body["tools"].as_array().unwrap().iter().filter(|tool| tool["defer_loading"] == true).count(), 3, "{}", body["tools"]);
    assert_eq!(
        body["messages"][2]["content"],
        json!([{"type": "tool_reference", "tool_name": "get"}, {"type": "tool_reference", "tool_name": "gone"}, {"type": "text", "text": "Two more match."}])
    );
    assert_eq!(body["messages"][4]["content"], "Loaded, call directly: get. Nothing new.");
    let limited = Capabilities { max_deferred_tools: Some(1), ..capabilities };
    assert!(refusal(&request, &limited).contains("at most 1"));
}

#[test]
fn where_loaded_tools_are_declared_they_join_the_others() {
    let messages = vec![user("u"), foreign(vec![AssistantPart::Search(search("s"))]), loading("s", &["get"], "")];
    let request = request([search_tool(), deferred("other"), deferred("get")], messages);
    let body = body(&request);
    let names: Vec<_> = body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tool_search", "get"]);
    assert!(!body.to_string().contains("defer_loading"));
    assert_eq!(shape(&body)[2], "tool: Loaded, call directly: get. tool_call_id=s");
    let raw = crate::protocols::Protocol::encode(&ChatCompletions::new(), &request, &samples::target(), &Capabilities::openai_chat());
    assert!(raw.unwrap_err().to_string().contains("is deferred"));
}

#[test]
fn a_host_that_insists_on_what_the_model_thought() {
    let deepseek = Capabilities { reasoning_content: true, ..Capabilities::compatible_chat() };
    let parts = vec![thought("hm"), said("Well."), AssistantPart::ToolCall(call("a", "read"))];
    let messages: Vec<Arc<_>> =
        vec![user("u"), foreign(parts.clone()), answer("a", "read", "r"), foreign(vec![thought("so"), said("Done.")])];
    let request = request([tool("read")], messages);
    let shaped = shape(&body_with(&request, &deepseek));
    assert_eq!(shaped[1], "assistant: Well. [a read {\"a\":1}] reasoning_content=hm");
    assert_eq!(shaped[3], "assistant: Done.");
    assert_eq!(shape(&body(&request))[1], "assistant: Well. [a read {\"a\":1}]");
    let item = json!({"role": "assistant", "content": "Well.", "reasoning_content": "",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}]});
    let ours = super::samples::request([tool("read")], vec![user("u"), own::<ChatCompletions>(parts, &[item]), answer("a", "read", "r")]);
    assert_eq!(shape(&body_with(&ours, &deepseek))[1], "assistant: Well. [a read {}] reasoning_content=");
}

#[test]
fn a_host_that_refuses_calls_of_tools_that_are_not_declared() {
    let strict = Capabilities { undeclared_calls: false, ..Capabilities::compatible_chat() };
    let turn = foreign(vec![said("Well."), AssistantPart::ToolCall(call("a", "gone")), AssistantPart::ToolCall(call("b", "read"))]);
    let request = request([tool("read")], vec![user("u"), turn, answer("a", "gone", "was"), answer("b", "read", "is")]);
    assert_eq!(
        shape(&body_with(&request, &strict))[1..],
        [
            "assistant: Well.\n\n[called `gone` with {\"a\":1}] [b read {\"a\":1}]",
            "tool: is tool_call_id=b",
            "user: Result of the call of `gone`:\n\nwas"
        ]
    );
}
