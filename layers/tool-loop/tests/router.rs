//! Routers: names, typed inputs, layers of single tools.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tower::{BoxError, ServiceExt, limit::ConcurrencyLimitLayer, service_fn, timeout::TimeoutLayer};
use tower_genai_core::{Content, ErrorKind, Image, ToolCall, ToolDefinition, ToolName};
use tower_genai_tool_loop::{JsonOutput, RoutedTools, Tool, ToolOutput, ToolRouter};

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The city, in English
    city: String,
    days: Option<u8>,
    kind: Option<Kind>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Short,
    Long,
}

#[derive(Serialize)]
struct Weather {
    degrees: f64,
    days: Option<u8>,
}

fn weather() -> Tool {
    Tool::typed("get_weather", "The weather of a city", |place: Place| async move {
        match (place.city.as_str(), place.kind) {
            ("", _) => Err("name a city"),
            (_, Some(Kind::Short | Kind::Long) | None) => Ok(JsonOutput(Weather { degrees: 21.5, days: place.days })),
        }
    })
}

fn echo(name: &str) -> Tool {
    let service = service_fn(|call: ToolCall| async move { Ok::<_, BoxError>(ToolOutput::from(call.name.to_string())) });
    Tool::new(ToolDefinition::new(name), service)
}

async fn call(tools: &RoutedTools, name: impl Into<ToolName>, arguments: &str) -> (String, bool) {
    let output = tools.clone().oneshot(ToolCall::from_text("1", name, arguments)).await.unwrap();
    let [Content::Text { text }] = output.content.as_slice() else { panic!("{output:?}") };
    (text.to_string(), output.is_error)
}

#[tokio::test]
async fn a_typed_tool_says_what_it_takes_and_reads_it() {
    let (tools, service) = ToolRouter::new().tool(weather()).into_parts().unwrap();
    let definition = tools.get(&"get_weather".into()).unwrap();
    let parameters = definition.parameters.to_value();
    assert_eq!(
        (&*definition.description, &parameters["type"], &parameters["required"]),
        ("The weather of a city", &json!("object"), &json!(["city"]))
    );
    assert_eq!(parameters["properties"]["city"], json!({"type": "string", "description": "The city, in English"}));
    let text = definition.parameters.as_str();
    assert!(!text.contains("$ref") && !text.contains("$schema") && !text.contains("\"title\"") && text.contains("\"short\""), "{text}");

    assert_eq!(call(&service, "get_weather", r#"{"city":"Rome","days":2}"#).await, (r#"{"degrees":21.5,"days":2}"#.into(), false));
    assert_eq!(call(&service, "get_weather", r#"{"city":""}"#).await, ("name a city".into(), true));
    let (text, is_error) = call(&service, "get_weather", r#"{"town":"Rome"}"#).await;
    assert!(is_error && text.contains("`city`") && text.contains("call again"), "{text}");
}

#[tokio::test]
async fn what_handlers_may_return() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let image = Image::Base64 { media_type: "image/png".into(), data: "AA==".into() };
    let router = ToolRouter::new()
        .tool(Tool::typed("text", "", |_: Nothing| async { "a text" }))
        .tool(Tool::typed("owned", "", |_: Nothing| async { Ok::<_, std::io::Error>(String::from("owned")) }))
        .tool(Tool::typed("value", "", |_: Nothing| async { json!({"a": 1}) }))
        .tool(Tool::typed("unit", "", |_: Nothing| async {}))
        .tool(Tool::typed("output", "", |_: Nothing| async { ToolOutput::error("no") }))
        .tool(Tool::typed("image", "", move |_: Nothing| std::future::ready(image.clone())));
    let (_, service) = router.into_parts().unwrap();
    for (name, text, is_error) in [
        ("text", "a text", false),
        ("owned", "owned", false),
        ("value", "{\"a\":1}", false),
        ("unit", "done", false),
        ("output", "no", true),
    ] {
        assert_eq!(call(&service, name, "{}").await, (text.to_owned(), is_error), "{name}");
    }
    let shown = service.oneshot(ToolCall::from_text("1", "image", "{}")).await.unwrap();
    assert!(matches!(shown.content.as_slice(), [Content::Image(_)]));
}

#[tokio::test]
async fn groups_namespace_their_tools_and_keep_the_order() {
    let crm = ToolRouter::new().tool(echo("find")).tool(echo("list").define(|tool| tool.namespace("other")));
    let router = ToolRouter::new().tool(echo("now")).group("crm", crm).tool(echo("find"));
    assert_eq!(format!("{router:?}"), r#"["now", "crm.find", "other.list", "find"]"#);
    let (tools, service) = router.into_parts().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["now", "crm.find", "other.list", "find"]);
    assert_eq!(call(&service, ToolName::namespaced("crm", "find"), "{}").await.0, "crm.find");
    let (text, is_error) = call(&service, "list", "{}").await;
    assert!(is_error && text.contains("`list`"), "{text}");
}

#[test]
fn a_clash_is_a_clear_error() {
    let error = ToolRouter::new().tool(echo("find")).merge(ToolRouter::new().tool(echo("find"))).unwrap_err();
    assert!(
        error.kind() == ErrorKind::InvalidRequest && error.to_string().contains("`find`") && error.to_string().contains("group"),
        "{error}"
    );
    assert!(ToolRouter::new().tool(echo("find")).merge(ToolRouter::new().tool(echo("list"))).is_ok());
    let error = ToolRouter::new().tool(echo("find")).tool(echo("find")).into_parts().unwrap_err();
    assert!(error.to_string().contains("`find`"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn each_tool_has_its_own_layers() {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let slow = {
        let (running, most) = (running.clone(), most.clone());
        service_fn(move |_: ToolCall| {
            let (running, most) = (running.clone(), most.clone());
            async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(5)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, BoxError>(ToolOutput::from("slow"))
            }
        })
    };
    let limited = Tool::new(ToolDefinition::new("limited"), slow.clone()).layer(ConcurrencyLimitLayer::new(2));
    let timed = Tool::new(ToolDefinition::new("timed"), slow).layer(TimeoutLayer::new(Duration::from_secs(1)));
    let (_, service) = ToolRouter::new().tool(limited).tool(timed).into_parts().unwrap();
    let calls = (0..6).map(|_| service.clone().oneshot(ToolCall::from_text("1", "limited", "{}")));
    assert!(join_all(calls).await.into_iter().all(|output| output.is_ok()));
    assert_eq!(most.load(Ordering::SeqCst), 2);
    let error = service.oneshot(ToolCall::from_text("1", "timed", "{}")).await.unwrap_err();
    assert!(error.is::<tower::timeout::error::Elapsed>(), "{error}");
}

#[tokio::test]
async fn a_layer_of_the_router_holds_for_all_tools_so_far() {
    let router = ToolRouter::new()
        .tool(echo("a"))
        .layer(tower::util::MapResponseLayer::new(|_: ToolOutput| ToolOutput::from("mapped")))
        .tool(echo("b"));
    let (_, service) = router.into_parts().unwrap();
    assert_eq!((call(&service, "a", "{}").await.0, call(&service, "b", "{}").await.0), ("mapped".to_owned(), "b".to_owned()));
}
