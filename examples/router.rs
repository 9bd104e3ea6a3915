//! Tools that run, each with layers of its own: a cached one, a slow one that gives up, one that runs alone.
//!
//! ```text
//! cargo run --example router
//! ```
//!
//! The model is a script, so that no key and no network is needed.

use std::time::Duration;

use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tower::{ServiceBuilder, ServiceExt, limit::ConcurrencyLimitLayer, timeout::TimeoutLayer};
use tower_genai::{
    AssistantPart, Message, ModelEvent, ModelRequest, ToolCall,
    testing::ScriptedModel,
    tool_loop::{JsonOutput, Tool, ToolLoopLayer, ToolRouter},
};

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The city, in English
    city: String,
}

#[derive(Serialize)]
struct Weather {
    city: String,
    degrees: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Mail {
    /// Who reads it
    to: String,
    text: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let weather = Tool::typed("get_weather", "The weather of a city", |place: Place| async move {
        match place.city.as_str() {
            "" => Err("name a city"),
            _ => Ok(JsonOutput(Weather { city: place.city, degrees: 21.5 })),
        }
    });
    let forecast = Tool::typed("get_forecast", "The weather of tomorrow", |_: Place| async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        "sunny"
    });
    let mail =
        Tool::typed("send_mail", "Send a mail", |mail: Mail| async move { format!("sent {} bytes to {}", mail.text.len(), mail.to) });
    let router = ToolRouter::new()
        .tool(weather.layer(ConcurrencyLimitLayer::new(2)))
        .tool(forecast.layer(TimeoutLayer::new(Duration::from_millis(50))))
        .group("mail", ToolRouter::new().tool(mail.define(|tool| tool.serial(true).guideline("Ask before you send."))));
    let (tools, service) = router.into_parts()?;
    println!("{} tools: {}", tools.len(), tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>().join(", "));

    let model = ServiceBuilder::new().layer(ToolLoopLayer::new(service)).service(script());
    let mut events = model.oneshot(ModelRequest::new().user("Mail Ada the weather of Rome.").tools(tools)).await?;
    while let Some(event) = events.next().await {
        match event? {
            ModelEvent::ToolStarted(run) => println!("  {} {} begins", run.id, run.name),
            ModelEvent::ToolFailed { run, reason } => println!("  {} failed: {reason}", run.id),
            ModelEvent::Message(message) => {
                if let Message::Tool(result) = &*message {
                    println!("  {} gave {}", result.call_id, serde_json::to_string(&result.content)?);
                }
            }
            ModelEvent::Response(response) => println!("answer: {}", response.text()),
            _ => {}
        }
    }
    Ok(())
}

/// What a model might do: ask for two things at once, correct itself, and mail.
fn script() -> ScriptedModel {
    let call = |id: &str, name: &str, arguments: &str| AssistantPart::ToolCall(ToolCall::from_text(id, name, arguments));
    let mut mail = ToolCall::from_text("4", "send_mail", r#"{"to":"Ada","text":"21.5 degrees"}"#);
    mail.name.namespace = Some("mail".into());
    ScriptedModel::messages([
        vec![call("1", "get_weather", r#"{"town":"Rome"}"#), call("2", "get_forecast", r#"{"city":"Rome"}"#)],
        vec![call("3", "get_weather", r#"{"city":"Rome"}"#)],
        vec![AssistantPart::ToolCall(mail)],
        vec![AssistantPart::Text { text: "Ada knows.".into() }],
    ])
}
