//! Thinking, the choice of a tool, sampling, and the rest.

use tower_genai_core::{Effort, OutputFormat, Reasoning, ServerTool, ToolChoice};

use super::*;
use crate::protocols::ThinkingStyle;

fn styled(thinking: ThinkingStyle) -> Capabilities {
    let mut capabilities = Capabilities::anthropic();
    capabilities.thinking = thinking;
    capabilities
}

/// `thinking`, the effort, and `max_tokens`.
fn asked(thinking: ThinkingStyle, reasoning: Reasoning) -> (Value, Value, Value) {
    let body = body_with(&request().reasoning(reasoning), &styled(thinking));
    (body["thinking"].clone(), body["output_config"]["effort"].clone(), body["max_tokens"].clone())
}

#[test]
fn thinking_in_every_style() {
    use ThinkingStyle::{Adaptive, Always, BetweenTools, Budget, Unsupported};
    let adaptive = json!({"type": "adaptive"});
    let off = Reasoning::effort(Effort::None);
    for style in [Adaptive, Always, BetweenTools] {
        assert_eq!(asked(style, Reasoning::effort(Effort::XHigh)), (adaptive.clone(), json!("xhigh"), json!(16384)));
        assert_eq!(asked(style, Reasoning::effort(Effort::Minimal)).1, "low");
        assert_eq!(asked(style, Reasoning::default()), (adaptive.clone(), Value::Null, json!(16384)));
    }
    assert_eq!(asked(Adaptive, Reasoning::default().summary(true)).0, json!({"type": "adaptive", "display": "summarized"}));
    assert_eq!(asked(Adaptive, Reasoning::default().summary(false)).0, json!({"type": "adaptive", "display": "omitted"}));
    let disabled = json!({"type": "disabled"});
    let forms = [(Adaptive, disabled.clone()), (Budget, disabled), (BetweenTools, json!({"type": "between_tools"})), (Always, Value::Null)];
    for (style, form) in forms {
        assert_eq!(asked(style, off), (form, Value::Null, json!(16384)), "{style:?}");
    }
    assert_eq!(asked(Unsupported, Reasoning::effort(Effort::High)), (Value::Null, Value::Null, json!(16384)));
    let silent = body(&request());
    assert!(silent.get("thinking").is_none() && silent.get("output_config").is_none());
}

#[test]
fn a_budget_leaves_room_for_the_answer() {
    let budget = |reasoning, max_tokens: Option<u32>| {
        let mut request = request().reasoning(reasoning);
        request.max_output_tokens = max_tokens;
        let body = body_with(&request, &styled(ThinkingStyle::Budget));
        (body["thinking"]["budget_tokens"].as_u64().unwrap(), body["max_tokens"].as_u64().unwrap())
    };
    assert_eq!(budget(Reasoning::budget(20_000), None), (20_000, 36_384));
    assert_eq!(budget(Reasoning::budget(5), None), (1024, 17_408));
    assert_eq!(budget(Reasoning::effort(Effort::Medium), None), (8192, 24_576));
    assert_eq!(budget(Reasoning::budget(20_000), Some(4000)), (3999, 4000));
    let tight = request().reasoning(Reasoning::budget(2000)).max_output_tokens(1024);
    assert!(error_with(&tight, &styled(ThinkingStyle::Budget)).to_string().contains("max_output_tokens is 1024"));
}

#[test]
fn every_choice_of_a_tool() {
    let choice = |choice, parallel| {
        let mut request = request().tool_choice(choice).server_tool(ServerTool::plain("web_fetch_20250910").unwrap()).unwrap();
        request.parallel_tool_calls = parallel;
        body(&request)["tool_choice"].clone()
    };
    assert_eq!(choice(ToolChoice::Auto, None), Value::Null);
    assert_eq!(choice(ToolChoice::Auto, Some(true)), Value::Null);
    assert_eq!(choice(ToolChoice::Auto, Some(false)), json!({"type": "auto", "disable_parallel_tool_use": true}));
    assert_eq!(choice(ToolChoice::None, Some(false)), json!({"type": "none"}));
    assert_eq!(choice(ToolChoice::Required, Some(false)), json!({"type": "any", "disable_parallel_tool_use": true}));
    assert_eq!(choice(ToolChoice::Tool("d1".into()), None), json!({"type": "tool", "name": "d1"}));
    assert_eq!(choice(ToolChoice::ServerTool("web_fetch_20250910".into()), None), json!({"type": "tool", "name": "web_fetch"}));
    let without = ModelRequest::new().user("hi").tool_choice(ToolChoice::Required);
    assert!(body(&without).get("tool_choice").is_none() && body(&without).get("tools").is_none());
}

#[test]
fn choices_that_are_refused() {
    let mut capabilities = styled(ThinkingStyle::Budget);
    let forced = request().tool_choice(ToolChoice::Required);
    let thinking = forced.clone().reasoning(Reasoning::budget(2000));
    assert!(error_with(&thinking, &capabilities).to_string().contains("switch reasoning off"));
    assert_eq!(body_with(&thinking, &styled(ThinkingStyle::Adaptive))["tool_choice"], json!({"type": "any"}));
    capabilities.forced_tool_choice = false;
    for choice in [ToolChoice::Required, ToolChoice::Tool("d1".into()), ToolChoice::ServerTool("x".into())] {
        let text = error_with(&request().tool_choice(choice), &capabilities).to_string();
        assert!(text.contains("ToolChoice::Auto"), "{text}");
    }
    assert!(error(&request().tool_choice(ToolChoice::Tool("nobody".into()))).contains("`nobody`"));
    assert!(error(&request().tool_choice(ToolChoice::ServerTool("web_x".into()))).contains("`web_x`"));
    let toolset = request().server_tool(ServerTool::plain("computer_toolset_20260801").unwrap()).unwrap();
    let text = error(&toolset.tool_choice(ToolChoice::ServerTool("computer_toolset_20260801".into())));
    assert!(text.contains("no name"), "{text}");
}

#[test]
fn the_rest_of_a_request() {
    let mut request = request().max_output_tokens(7).output(OutputFormat::JsonSchema {
        name: "n".into(),
        schema: Json::parse(r#"{"type":"object","b":1,"a":2.0}"#).unwrap(),
        strict: true,
    });
    request.stop_sequences = vec!["".into(), "END".into(), "\n".into()];
    request.sampling.temperature = Some(0.5);
    request.sampling.top_p = Some(1.0);
    request.sampling.top_k = Some(3);
    request.sampling.seed = Some(1);
    request.metadata.insert("user_id".into(), "u\"1".into());
    request.metadata.insert("trace".into(), "t".into());
    let text = String::from_utf8(encoded(&request).body.to_vec()).unwrap();
    assert!(text.contains(r#""output_config":{"format":{"type":"json_schema","schema":{"type":"object","b":1,"a":2.0}}}"#), "{text}");
    assert!(
        text.contains(r#""temperature":0.5,"top_p":1.0,"top_k":3,"stop_sequences":["END","\n"],"metadata":{"user_id":"u\"1"}}"#),
        "{text}"
    );
    assert!(!text.contains("seed") && !text.contains("trace"));

    let mut capabilities = Capabilities::anthropic();
    capabilities.sampling = false;
    assert!(body_with(&request, &capabilities).get("temperature").is_none());
    request.sampling.temperature = Some(f64::NAN);
    assert!(error(&request).contains("temperature"));
}

#[test]
fn fields_of_the_caller_replace_ours() {
    let mut request = request();
    for (key, value) in [("stream", "false"), ("max_tokens", "5"), ("tools", "[]"), ("speed", "\"fast\"")] {
        request.extra_body.insert(key.into(), Json::parse(value).unwrap());
    }
    let text = String::from_utf8(encoded(&request).body.to_vec()).unwrap();
    assert!(text.ends_with(r#","max_tokens":5,"speed":"fast","stream":false,"tools":[]}"#), "{text}");
    assert_eq!(text.matches("\"max_tokens\"").count(), 1);
    request.extra_body.insert("mcp_servers".into(), Json::parse("[]").unwrap());
    assert_eq!(encoded(&request).headers["anthropic-beta"], "mcp-client-2025-11-20");
}

#[test]
fn blank_instructions_are_not_sent() {
    let request = ModelRequest::new().system(" ").system("Real.").user("hi");
    assert_eq!(body(&request)["system"].as_array().unwrap().len(), 1);
    assert!(body(&ModelRequest::new().system("").user("hi")).get("system").is_none());
}
