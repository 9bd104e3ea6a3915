//! Two layers of this library in a service that a team has already: axum, tower-http, its own request and error types, its own model service.
//!
//! ```text
//! cargo run --example existing_service
//! ```
//!
//! No key and no network: the service listens on a free port of loopback, is called once without the layers and once with them, and what reached the
//! team's model service both times is printed.
//!
//! What the team had to change for it:
//!
//! - `stack.rs`: two lines, the layers;
//! - `catalogue.rs`: the tools that most questions do not need are marked `deferred(true)`;
//! - `model.rs`: a call of the search tool becomes a `Search` part, and a `Search` message is written like any other tool's result.
//!
//! What it did not change: its request type, its error type, the order and the settings of its own layers, its handler.

mod catalogue;
mod client;
mod http;
mod model;
mod stack;
mod types;

use std::error::Error;

use model::HouseModel;
use stack::ModelStack;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (before, after) = (HouseModel::default(), HouseModel::default());
    let question = "Please refund the payment for order 4711.";

    println!("without the layers");
    call("ada", question, stack::before(before.clone())).await?;
    print_seen(&before);

    println!("with the layers");
    call("ada", question, stack::after(after.clone())).await?;
    print_seen(&after);

    println!("an error of the team's own, through the layers");
    call("mallory", question, stack::after(HouseModel::default())).await
}

/// Starts the service, calls it once, stops it.
async fn call(user: &str, question: &str, model: ModelStack) -> Result<(), Box<dyn Error>> {
    let server = http::start(model, catalogue::tools()?).await?;
    client::ask(&server.url, user, question).await?;
    server.stop().await
}

fn print_seen(model: &HouseModel) {
    for (seen, round) in model.seen().iter().zip(1..) {
        println!("  request {round} of {} ({}): {} tools declared, {} bytes", seen.user, seen.trace, seen.tools, seen.bytes);
    }
}
