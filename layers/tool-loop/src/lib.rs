//! Runs the tools that a model calls, and calls the model again until it is done.
//!
//! Tools are services: a [`ToolCall`](tower_genai_core::ToolCall) goes in, a [`ToolOutput`] comes out. A [`ToolRouter`] makes one service of many, from async
//! functions with typed inputs or from services of any kind, each with layers of its own.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use tower::ServiceBuilder;
//! use tower_genai_core::{AssistantPart, ModelRequest, ModelServiceExt, ToolCall, testing::ScriptedModel};
//! use tower_genai_tool_loop::{Tool, ToolLoopLayer, ToolRouter};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Sum {
//!     numbers: Vec<f64>,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tower_genai_core::Error> {
//! let router = ToolRouter::new().tool(Tool::typed("add", "Adds numbers", |sum: Sum| async move { sum.numbers.iter().sum::<f64>().to_string() }));
//! let (tools, service) = router.into_parts()?;
//!
//! # let call = ToolCall::from_text("1", "add", r#"{"numbers":[1,2.5]}"#);
//! # let provider = ScriptedModel::messages([vec![AssistantPart::ToolCall(call)], vec![AssistantPart::Text { text: "3.5".into() }]]);
//! let model = ServiceBuilder::new().layer(ToolLoopLayer::new(service)).service(provider);
//! let response = model.complete(ModelRequest::new().user("How much is 1 + 2.5?").tools(tools)).await?;
//! assert_eq!((response.text().as_str(), response.messages.len()), ("3.5", 3));
//! # Ok(())
//! # }
//! ```
//!
//! # What runs how
//!
//! The calls of a turn run side by side, as many as [`concurrency`](ToolLoopLayer::concurrency) allows;
//! [serial](tower_genai_core::ToolDefinition::serial) ones run alone, after the others. Results are appended in the order of the calls.
//!
//! Nothing that goes wrong with a call ends the run. A tool that fails, panics or takes too long gives a failed result; a call of a tool that is not
//! there, has vanished, or whose arguments are no JSON or do not fit the schema, is answered with what to change. The model reads it and goes on.
//!
//! A call of the service ends when the model is done; when a [limit](ToolLoopLayer::max_rounds) is reached, with every call answered; and where the
//! caller is asked: a search that no layer inside answered leaves its turn as it is.
//!
//! [`Steering`] puts messages of a user between the rounds.
//!
//! # Order
//!
//! Outermost: the layers inside see each round as a request of its own, with the results of the last one.
//!
//! # The stream
//!
//! The events of all rounds, ordinals going on, and between them [`ToolStarted`](tower_genai_core::ModelEvent::ToolStarted),
//! [`ToolCompleted`](tower_genai_core::ModelEvent::ToolCompleted) or [`ToolFailed`](tower_genai_core::ModelEvent::ToolFailed) for each call and a
//! [`Message`](tower_genai_core::ModelEvent::Message) for each result. The one response at the end holds all messages of the run and all tokens. Dropping the stream
//! drops the tools that run. An error of the model ends it, behind everything that was finished.
//!
//! # Cost
//!
//! A request is cloned for each round, which is a few reference counts. Tools run inside the stream, on the task that polls it: work that keeps the processor busy belongs on a
//! thread of its own (`tokio::task::spawn_blocking`). The schema of a tool is compiled at its first call and kept.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice))]

mod end;
pub mod hooks;
mod layer;
mod looping;
mod output;
mod router;
mod running;
mod service;
mod steering;
mod tool;
#[cfg(feature = "validation")]
mod validation;

pub use end::EndRun;
pub use layer::ToolLoopLayer;
pub use looping::Looping;
pub use output::ToolOutput;
pub use router::{RoutedFuture, RoutedTools, ToolRouter, ToolService};
pub use service::{ToolLoop, ToolLoopFuture, ToolLoopStream};
pub use steering::Steering;
pub use tool::{IntoToolOutput, JsonOutput, Tool};
