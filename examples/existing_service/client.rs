//! What a browser would do: asks, and reads the events.

use std::error::Error;

use tower_genai::{
    ModelEvent,
    transport::{DEFAULT_MAX_EVENT_BYTES, SseParser},
};

use crate::http::Ask;

pub(crate) async fn ask(url: &str, user: &str, question: &str) -> Result<(), Box<dyn Error>> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let body = serde_json::to_string(&Ask { question: question.into() })?;
    let request = client.post(url).header("content-type", "application/json").header("x-user", user).header("x-trace", "trace-1");
    let response = request.body(body).send().await?;
    println!("  status {}", response.status());
    if !response.status().is_success() {
        println!("  {}", response.text().await?);
        return Ok(());
    }
    let mut parser = SseParser::new(DEFAULT_MAX_EVENT_BYTES);
    parser.push(&response.bytes().await?);
    parser.finish();
    while let Some(event) = parser.next_event()? {
        match serde_json::from_str(&event.data) {
            Ok(ModelEvent::Search(report)) => {
                println!("  event: searched {:?} among {} tools, loaded {}", report.queries, report.candidates, report.loaded.len());
            }
            Ok(ModelEvent::ToolCallStarted { name, .. }) => println!("  event: the model calls {name}, which the user has to confirm"),
            Ok(_) => {}
            Err(_) => println!("  event: {}", event.data),
        }
    }
    Ok(())
}
