//! The vocabulary of tower-genai: requests, events, tools, errors, and what layers share.
//!
//! Use it through the facade crate `tower-genai`, which re-exports everything here. Depend on this crate alone to write a layer of
//! your own with nothing else in the tree.
//!
//! A model call is a [`tower::Service`] that takes a [`ModelRequest`] and answers with a stream of [`ModelEvent`]s. A layer is
//! generic over its request (`Req: AsMut<ModelRequest>`), so that it also fits a service whose request carries more:
//!
//! ```
//! use std::task::{Context, Poll};
//! use tower_genai_core::{ModelRequest, ModelServiceExt, testing::ScriptedModel};
//! use tower::{Layer, Service, layer::layer_fn};
//!
//! #[derive(Clone)]
//! struct Polite<S>(S);
//!
//! impl<S, Req> Service<Req> for Polite<S>
//! where
//!     S: Service<Req>,
//!     Req: AsMut<ModelRequest>,
//! {
//!     type Response = S::Response;
//!     type Error = S::Error;
//!     type Future = S::Future;
//!
//!     fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
//!         self.0.poll_ready(cx)
//!     }
//!
//!     fn call(&mut self, mut request: Req) -> S::Future {
//!         request.as_mut().system.push("Be polite.".into());
//!         self.0.call(request)
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tower_genai_core::Error> {
//! let model = ScriptedModel::answering("Good day.");
//! let polite = layer_fn(Polite).layer(model.clone());
//! polite.complete(ModelRequest::new().user("hi")).await?;
//! assert_eq!(&*model.requests()[0].system[0], "Be polite.");
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice))]

mod cache;
mod conversation;
mod deferral;
mod error;
mod event;
pub mod guidance;
mod json;
#[cfg(feature = "limits")]
pub mod limits;
mod macros;
mod message;
mod refuse;
mod request;
pub mod rounds;
mod server_tool;
mod service;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tool;
mod tool_set;
mod wire_name;

pub use cache::Cache;
pub use conversation::{Conversation, ConversationIter, Load};
pub use deferral::{DEFAULT_MAX_DEFINITION_BYTES, Deferral, DeferralMode, Lowering};
pub use error::{BoxError, Error, ErrorKind, ProviderError};
pub use event::{Delta, Hosted, ModelEvent, Response, SearchHit, SearchReport, Stop, StopReason, ToolRun, Usage, Warning};
pub use json::Json;
#[doc(hidden)]
pub use json::write_string;
pub use message::{
    AssistantMessage, AssistantPart, Content, HostedCall, HostedOutcome, Image, Message, Replay, SearchResult, SystemMessage, ToolCall,
    ToolResult, UserMessage,
};
pub use refuse::ResponseFuture;
pub use request::{Effort, ModelRequest, OutputFormat, Reasoning, Sampling, ToolChoice};
pub use server_tool::ServerTool;
pub use service::{BoxModelService, Complete, EventStream, ModelServiceExt, ReadResponse, into_response};
pub use tool::{ToolDefinition, ToolKind, ToolName};
pub use tool_set::{Identity, ToolSet};
pub use wire_name::{NameRules, wire_name};
