//! Cache breakpoints.

use tower_genai_core::{Content, ServerTool, UserMessage};

use super::*;
use crate::protocols::CacheLifetime;

/// Where the breakpoints are: `tools.1`, `system.0`, `messages.2.0`.
fn marks(body: &Value) -> Vec<String> {
    fn walk(value: &Value, path: String, out: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                if members.contains_key("cache_control") {
                    out.push(path.clone());
                }
                for (key, value) in members.iter().filter(|(key, _)| *key != "input") {
                    let path = if key == "content" { path.clone() } else { format!("{path}.{key}") };
                    walk(value, path, out);
                }
            }
            Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| walk(item, format!("{path}.{index}"), out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    for part in ["tools", "system", "messages"] {
        walk(&body[part], part.to_owned(), &mut out);
    }
    out
}

#[test]
fn four_at_the_stable_places() {
    let mut request = request();
    assert_eq!(marks(&body(&request)), ["tools.1", "system.0", "messages.0.0"]);
    push_answer(&mut request, json!([thinking("t"), tool_use("a", "read"), tool_use("b", "read")]));
    request.messages.push(result("a", "A"));
    request.messages.push(result("b", "B"));
    assert_eq!(marks(&body(&request)), ["tools.1", "system.0", "messages.0.0", "messages.2.1"]);
    push_answer(&mut request, json!([text("x")]));
    request.messages.push(Message::user("y"));
    assert_eq!(marks(&body(&request)), ["tools.1", "system.0", "messages.2.1", "messages.4.0"]);
}

#[test]
fn never_on_a_deferred_tool_and_on_a_server_tool_only_where_it_is_the_last() {
    let hosted = |configuration: &str| ServerTool::new("web_search_20250305", configuration).unwrap();
    let only = ModelRequest::new().user("hi").server_tool(hosted("{}")).unwrap();
    assert_eq!(marks(&body(&only)), ["tools.0", "messages.0.0"]);
    let toolset = ModelRequest::new().user("hi").server_tool(ServerTool::plain("mcp_toolset").unwrap()).unwrap();
    assert_eq!(marks(&body(&toolset)), ["messages.0.0"]);
    let both = request().server_tool(hosted("{}")).unwrap();
    assert_eq!(marks(&body(&both)), ["tools.2", "system.0", "messages.0.0"]);
    let mut searching = request().server_tool(ServerTool::plain("tool_search_tool_regex").unwrap()).unwrap();
    searching.tools = ToolSet::new([deferred("d1")]).unwrap();
    assert_eq!(marks(&body(&searching)), ["tools.0", "system.0", "messages.0.0"]);
}

#[test]
fn those_that_the_request_brings_along_count() {
    let marked = ServerTool::new("web_search_20250305", r#"{"cache_control":{"type":"ephemeral"}}"#).unwrap();
    let mut request = request().server_tool(marked).unwrap();
    let document = |marks: &str| Content::Provider {
        protocol: "anthropic".into(),
        item: Json::parse(&format!(r#"{{"type":"document"{marks},"source":{{"type":"text","data":"cache_control"}}}}"#)).unwrap(),
        text: None,
    };
    request.messages.push(UserMessage { content: vec![document(r#","cache_control":{"type":"ephemeral"}"#), document("")] });
    assert_eq!(marks(&body(&request)), ["tools.0", "system.0", "messages.0.1", "messages.0.2"]);
    request.messages.push(UserMessage { content: vec![document(r#","cache_control":{"type":"ephemeral"}"#); 2] });
    // Four are there already, so there is none of ours.
    request.messages.push(UserMessage { content: vec![document(r#","cache_control":{"type":"ephemeral"}"#)] });
    assert!(marks(&body(&request)).iter().all(|mark| mark != "system.0"));
    request.extra_body.insert("cache_control".into(), Json::parse("null").unwrap());
    assert!(try_encode(&request, &Capabilities::anthropic()).is_ok());
}

#[test]
fn automatic_placement_takes_one() {
    let mut request = request();
    push_answer(&mut request, json!([text("x")]));
    request.messages.push(Message::user("y"));
    request.extra_body.insert("cache_control".into(), Json::parse(r#"{"type":"ephemeral"}"#).unwrap());
    assert_eq!(marks(&body(&request)), ["tools.1", "system.0", "messages.2.0"]);
}

#[test]
fn the_input_of_a_call_is_data() {
    let mut request = request();
    push_answer(&mut request, json!([{"type": "tool_use", "id": "a", "name": "read", "input": {"cache_control": 1}}]));
    request.messages.push(result("a", "A"));
    assert_eq!(marks(&body(&request)).len(), 4);
}

#[test]
fn lifetimes_and_no_cache() {
    let mut capabilities = Capabilities::anthropic();
    for (lifetime, ttl) in [(CacheLifetime::FiveMinutes, "5m"), (CacheLifetime::OneHour, "1h")] {
        capabilities.cache_lifetime = Some(lifetime);
        assert_eq!(body_with(&request(), &capabilities)["system"][0]["cache_control"], json!({"type": "ephemeral", "ttl": ttl}));
    }
    capabilities.prompt_cache = false;
    assert_eq!(marks(&body_with(&request(), &capabilities)), Vec::<String>::new());
}
