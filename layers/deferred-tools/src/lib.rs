//! A tower layer that shows, defers or withholds tool definitions per wire protocol.
//!
//! Tools marked [`deferred`](tower_genai_core::ToolDefinition::deferred) stay out of the prompt until a search finds them. How that is said differs from
//! wire to wire; [`DeferredToolsLayer`] is told the [`DeferralMode`] of the provider below and works it out:
//!
//! | mode | before a search | after it |
//! |---|---|---|
//! | [`Reference`](DeferralMode::Reference) | declared with `defer_loading` | the answer refers to them by name |
//! | [`SearchOutput`](DeferralMode::SearchOutput) | withheld | the answer carries their definitions |
//! | [`Append`](DeferralMode::Append) | withheld | they join the declared tools, at the end, and stay there |
//!
//! Whatever the mode: without a search that can run in the same request nothing is deferred, at least one tool is shown, and a
//! definition that the dialogue refers to stays declared, even when its tool has left the set.
//!
//! # Place in the stack
//!
//! Directly around the provider (and tower's retries, timeouts and limits), inside every layer that edits tools. In another place it
//! leaves a note with its mode, and whoever adds the search tool, or else the provider, follows it. A provider of this library does the same
//! work where the layer is missing; put [`DeferredToolsLayer::innermost`] before a service that is not one.
//!
//! # What it does
//!
//! - **Stream**: untouched; the response type is the inner service's.
//! - **Errors**: deferred tools that would have to go out as ordinary ones and are too many bytes
//!   ([`ErrorKind::TooLarge`](tower_genai_core::ErrorKind::TooLarge)), and a client search beside the provider's own
//!   ([`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest)); both before the inner call.
//! - **Cost**: with an unchanged tool set and nothing loaded, the same for ten tools and ten thousand, and for one message and
//!   thousands; else a walk over what is loaded. Derived tool sets are cached, sixteen per layer value.
//!
//! ```
//! use tower::ServiceBuilder;
//! use tower_genai_core::{DeferralMode, ModelRequest, ModelServiceExt, ToolDefinition, ToolKind, ToolSet, testing::ScriptedModel};
//! use tower_genai_deferred_tools::DeferredToolsLayer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tower_genai_core::Error> {
//! let provider = ScriptedModel::answering("ok");
//! let model = ServiceBuilder::new().layer(DeferredToolsLayer::innermost(DeferralMode::Append)).service(provider.clone());
//! let tools = ToolSet::new([
//!     ToolDefinition::new("tool_search").kind(ToolKind::Search),
//!     ToolDefinition::new("rarely_used").deferred(true),
//! ])?;
//! model.complete(ModelRequest::new().user("hi").tools(tools)).await?;
//! assert_eq!(provider.requests()[0].tools.len(), 1);
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod layer;
mod service;

pub use layer::DeferredToolsLayer;
pub use service::DeferredTools;
pub use tower_genai_core::{DeferralMode, ResponseFuture};
