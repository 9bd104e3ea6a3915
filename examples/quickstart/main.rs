//! The whole stack against a scripted endpoint on loopback: no key, no network.
//!
//! ```text
//! cargo run --example quickstart
//! ```
//!
//! A user asks for a refund; 216 tools could help and none of them is in the prompt. The model searches, calls the right one, and answers.

mod endpoint;

use std::error::Error;

use endpoint::Endpoint;
use futures_util::StreamExt;
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_genai::{
    Conversation, DeferralMode, Json, Lowering, Message, ModelEvent, ModelRequest, ToolDefinition, ToolResult, ToolSet,
    deferred_tools::DeferredToolsLayer,
    protocols::{Capabilities, Protocol, Target, openai_responses::OpenAiResponses},
    provider::OpenAi,
    tool_guidelines::ToolGuidelinesLayer,
    tool_search::ToolSearchLayer,
};

const SERVICES: [(&str, &str); 12] = [
    ("payments", "payment"),
    ("calendar", "calendar event"),
    ("mail", "mail"),
    ("crm", "customer record"),
    ("wiki", "wiki page"),
    ("tickets", "support ticket"),
    ("storage", "file"),
    ("billing", "invoice"),
    ("shipping", "parcel"),
    ("hiring", "job application"),
    ("fleet", "vehicle"),
    ("library", "book"),
];

const ACTIONS: [&str; 18] = [
    "create", "read", "update", "delete", "list", "archive", "restore", "share", "export", "import", "approve", "reject", "assign",
    "refund", "rename", "copy", "lock", "tag",
];

fn tools() -> Result<ToolSet, tower_genai::Error> {
    let mut tools = vec![ToolDefinition::new("current_time").description("The current date and time")];
    for (service, thing) in SERVICES {
        for action in ACTIONS {
            let parameters = Json::parse(&format!(
                r#"{{"type":"object","properties":{{"order":{{"type":"string","description":"Identifies the {thing}"}},"note":{{"type":"string","description":"Why you {action} it"}}}},"required":["order"],"additionalProperties":false}}"#
            ))?;
            tools.push(
                ToolDefinition::new(format!("{action}_{}", thing.replace(' ', "_")))
                    .namespace(service)
                    .description(format!("{action} a {thing} in the {service} service"))
                    .parameters(parameters)
                    .deferred(true),
            );
        }
    }
    ToolSet::new(tools)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::default();
    let provider = OpenAi::new("no-key", "demo").base_url(&endpoint.start().await?)?;
    let mut model = ServiceBuilder::new()
        .layer(ToolSearchLayer::new())
        .layer(ToolGuidelinesLayer::new())
        .layer(DeferredToolsLayer::new(provider.deferral()))
        .service(provider);

    let tools = tools()?;
    println!("{} tools, {} of them deferred", tools.len(), tools.deferred_len());
    let mut history = Conversation::new();
    history.push(Message::user("Please refund the payment for order 4711."));
    let mut rounds = 0;
    loop {
        let request = ModelRequest::new().system("You help customers.").messages(history.clone()).tools(tools.clone());
        let mut events = model.ready().await?.call(request).await?;
        let mut results: Vec<ToolResult> = Vec::new();
        while let Some(event) = events.next().await {
            match event? {
                ModelEvent::Search(report) => {
                    println!("  searched {:?} among {} tools", report.queries, report.candidates);
                    let names: Vec<String> = report.loaded.iter().take(3).map(ToString::to_string).collect();
                    println!("  loaded {} definitions, best first: {}, ...", report.loaded.len(), names.join(", "));
                }
                ModelEvent::Message(message) => {
                    if matches!(&*message, Message::Assistant(_)) {
                        print_round(&endpoint, &mut rounds, &history, &tools)?;
                    }
                    history.push(message);
                }
                ModelEvent::Response(response) => {
                    results = response
                        .open_calls()
                        .map(|call| {
                            println!("  called {} with {}", call.name, call.arguments);
                            ToolResult::text(call, "42.00 EUR will arrive within 3 days")
                        })
                        .collect();
                    if results.is_empty() {
                        println!("answer: {}", response.text());
                    }
                }
                _ => {}
            }
        }
        if results.is_empty() {
            return Ok(());
        }
        history.extend(results);
    }
}

/// What the last request sent, beside what it would have been without the stack.
fn print_round(endpoint: &Endpoint, rounds: &mut usize, history: &Conversation, tools: &ToolSet) -> Result<(), tower_genai::Error> {
    let Some(seen) = endpoint.seen().get(*rounds).cloned() else { return Ok(()) };
    *rounds += 1;
    let without = bytes_without(history, tools)?;
    println!("request {rounds}: {} tools sent, {} bytes ({without} bytes without the stack)", seen.tools, seen.bytes);
    Ok(())
}

/// The bytes of the same request with every tool in it and no search.
fn bytes_without(history: &Conversation, tools: &ToolSet) -> Result<usize, tower_genai::Error> {
    let is_search = |message: &Message| match message {
        Message::Search(_) => true,
        Message::Assistant(assistant) => assistant.searches().next().is_some(),
        _ => false,
    };
    let plain: Conversation = history.iter().filter(|message| !is_search(message)).cloned().collect();
    let mut request = ModelRequest::new().system("You help customers.").messages(plain).tools(tools.undeferred());
    Lowering::new(DeferralMode::SearchOutput).lower(&mut request)?;
    let body = OpenAiResponses::default().encode(&request, &Target::new("localhost", "demo"), &Capabilities::openai_responses())?.body;
    Ok(body.len())
}
