//! What an endpoint would refuse.

use tower_genai_core::{Deferral, DeferralMode, ErrorKind, ServerTool, ToolName};

use super::*;

fn with_tools(tools: Vec<ToolDefinition>) -> ModelRequest {
    ModelRequest::new().user("hi").tools(ToolSet::new(tools).unwrap())
}

#[test]
fn names_that_meet_on_the_wire() {
    let twins = with_tools(vec![ToolDefinition::new("a__b"), ToolDefinition::new("b").namespace("a")]);
    let text = error(&twins);
    assert!(text.contains("`a__b`") && text.contains("`a.b`") && text.contains("rename"), "{text}");

    let fetch = || ServerTool::plain("web_fetch_20250910").unwrap();
    let taken = with_tools(vec![ToolDefinition::new("web_fetch")]).server_tool(fetch()).unwrap();
    assert!(error(&taken).contains("`web_fetch`") && error(&taken).contains("`web_fetch_20250910`"), "{}", error(&taken));
    let versions = with_tools(vec![]).server_tool(fetch()).unwrap().server_tool(ServerTool::plain("web_fetch_20260209").unwrap()).unwrap();
    assert!(error(&versions).contains("`web_fetch_20260209`"), "{}", error(&versions));
    let mut twice = with_tools(vec![]);
    twice.server_tools = vec![fetch(), fetch()];
    assert!(error(&twice).contains("declared twice"), "{}", error(&twice));
}

#[test]
fn odd_names_are_made_legal() {
    let request = with_tools(vec![ToolDefinition::new("日本 tool").namespace("crm"), ToolDefinition::new("find").namespace("crm")]);
    let encoded = encoded(&request);
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    for tool in body["tools"].as_array().unwrap() {
        let wire = tool["name"].as_str().unwrap();
        assert!(wire.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'), "{wire}");
        assert_eq!(encoded.context.tool_name(wire).namespace.as_deref(), Some("crm"));
    }
    assert_eq!(encoded.context.tool_name("crm__find"), ToolName::namespaced("crm", "find"));
    assert_eq!(encoded.context.tool_name("plain"), ToolName::new("plain"));
}

#[test]
fn figures_of_every_limit() {
    let mut capabilities = Capabilities::anthropic();
    capabilities.max_tools = Some(1);
    let two = with_tools(vec![ToolDefinition::new("a"), ToolDefinition::new("b")]);
    let check = |request: &ModelRequest, capabilities: &Capabilities, words: &[&str]| {
        let error = error_with(request, capabilities);
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
    };
    check(&two, &capabilities, &["2 tools", "takes 1"]);
    let mut capabilities = Capabilities::anthropic();
    capabilities.max_deferred_tools = Some(1);
    check(&request(), &capabilities, &["2 deferred tools", "takes 1"]);
    let mut capabilities = Capabilities::anthropic();
    capabilities.max_description = Some(3);
    let described = with_tools(vec![ToolDefinition::new("a").description("日本語"), ToolDefinition::new("b").description("four")]);
    check(&described, &capabilities, &["`b`", "4 characters", "takes 3"]);
    let mut capabilities = Capabilities::anthropic();
    capabilities.max_body_bytes = Some(100);
    check(&two, &capabilities, &["bytes", "takes 100"]);
}

#[test]
fn deferral_needs_a_tool_that_is_shown() {
    let mut request = with_tools(vec![deferred("d")]);
    request.deferral = Deferral::Lowered(DeferralMode::Reference);
    assert!(error(&request).contains("all 1 tools are deferred"));
    request.server_tools.push(ServerTool::plain("tool_search_tool_regex").unwrap());
    let tools = body(&request)["tools"].clone();
    assert_eq!(tools[0]["name"], "tool_search_tool_regex");
    assert_eq!((&tools[1]["name"], &tools[1]["defer_loading"]), (&json!("d"), &json!(true)));
}

#[test]
fn schemas_are_objects() {
    let schema = |text: &str| with_tools(vec![ToolDefinition::new("odd").parameters(Json::parse(text).unwrap())]);
    assert_eq!(body(&schema("{}"))["tools"][0]["input_schema"], json!({"type": "object"}));
    let untyped = body(&schema(r#"{"properties":{"a":{"type":"string"}}}"#));
    assert_eq!(untyped["tools"][0]["input_schema"], json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    assert!(error(&schema(r#"{"type":"array"}"#)).contains("`odd`"));
}

#[test]
fn encoded_tools_are_shared_between_requests_and_told_apart_by_their_rules() {
    let protocol = AnthropicMessages::new();
    let mut request = request();
    Lowering::new(DeferralMode::Reference).lower(&mut request).unwrap();
    let names = |capabilities: &Capabilities| protocol.encode(&request, &target(), capabilities).unwrap().context.names;
    let capabilities = Capabilities::anthropic();
    assert!(Arc::ptr_eq(&names(&capabilities), &names(&capabilities)));
    let mut other = Capabilities::anthropic();
    other.names.max_len = 9;
    assert!(!Arc::ptr_eq(&names(&capabilities), &names(&other)));
}
