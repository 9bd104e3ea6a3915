//! Language-model calls as [tower](https://docs.rs/tower) services.
//!
//! A model call is a [`tower::Service`](https://docs.rs/tower/latest/tower/trait.Service.html): a [`ModelRequest`] goes in, a stream of [`ModelEvent`]s comes
//! out. Everything around it is a layer:
//!
//! ```
//! # #[cfg(all(feature = "anthropic", feature = "server-tools", feature = "tool-search", feature = "tool-guidelines", feature = "deferred-tools"))] {
//! use tower::ServiceBuilder;
//! use tower_genai::{
//!     deferred_tools::DeferredToolsLayer, provider::Anthropic, server_tools::ServerToolsLayer, tool_guidelines::ToolGuidelinesLayer,
//!     tool_search::ToolSearchLayer,
//! };
//!
//! let provider = Anthropic::new("key", "claude-...");
//! let model = ServiceBuilder::new()
//!     .layer(ServerToolsLayer::anthropic())
//!     .layer(ToolSearchLayer::new())
//!     .layer(ToolGuidelinesLayer::new())
//!     .layer(DeferredToolsLayer::new(provider.deferral()))
//!     .service(provider);
//! # drop(model); }
//! ```
//!
//! # Order
//!
//! The first layer is the outermost: it sees the request first and the response last. Any order gives valid requests. In the order above every layer
//! sees what it should: hosted tools are known before the search layer decides whether the provider searches itself, the search tool's own guidance
//! is shown like that of any other tool, and the definitions are settled last. tower's retries, timeouts and limits go between the deferred tools
//! layer and the provider, where they hold for each request; outside the search layer they hold for all rounds of a call.
//!
//! # What always holds
//!
//! - With an unchanged tool set, everything that a provider caches of a request (tools, system, earlier messages) is a byte-for-byte prefix of
//!   the next request of the conversation.
//! - A layer edits the request that it is given and loses nothing of it.
//! - What the model is told it can call, it can call.
//! - Dropping a stream cancels everything under it.
//! - Bad input is a typed [`Error`] that names the tool, message or field. Keys and prompts reach no log and no error text.
//!
//! # Features
//!
//! | feature | default | |
//! |---|---|---|
//! | `anthropic`, `gemini`, `ollama`, `openai` | yes | the providers; `openai` is Responses, Chat Completions and the hosts that speak them |
//! | `provider` | with any of them | the HTTP flow alone, for a protocol of your own |
//! | `server-tools`, `tool-loop`, `tool-search`, `tool-guidelines`, `deferred-tools` | yes | the layers; only `tool-search` brings tantivy, only `tool-loop` schemars and jsonschema |
//! | `limits` | yes | limits that hold until a stream ends |
//! | `util` | yes | the layers as methods of tower's `ServiceBuilder` |
//! | `rustls` | yes | TLS for reqwest |
//! | `native-tls` | no | the system's TLS instead |
//! | `testing` | no | doubles for tests and benches of your own stacks |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice))]

#[cfg(feature = "util")]
mod builder;
pub mod docs;
#[cfg(feature = "provider")]
pub mod protocols;
#[cfg(feature = "provider")]
pub mod provider;
#[cfg(all(feature = "provider", feature = "tool-search", feature = "tool-guidelines", feature = "deferred-tools"))]
pub mod stacks;
#[cfg(feature = "provider")]
mod telemetry;
#[cfg(feature = "provider")]
pub mod transport;

#[cfg(feature = "util")]
pub use builder::ServiceBuilderExt;
pub use tower_genai_core::*;
#[cfg(feature = "deferred-tools")]
pub use tower_genai_deferred_tools as deferred_tools;
#[cfg(feature = "server-tools")]
pub use tower_genai_server_tools as server_tools;
#[cfg(feature = "tool-guidelines")]
pub use tower_genai_tool_guidelines as tool_guidelines;
#[cfg(feature = "tool-loop")]
pub use tower_genai_tool_loop as tool_loop;
#[cfg(feature = "tool-search")]
pub use tower_genai_tool_search as tool_search;

#[cfg(all(
    doctest,
    feature = "anthropic",
    feature = "openai",
    feature = "server-tools",
    feature = "tool-loop",
    feature = "tool-search",
    feature = "tool-guidelines",
    feature = "deferred-tools"
))]
#[doc = include_str!("../README.md")]
#[derive(Debug)]
pub struct ReadmeDoctests;
