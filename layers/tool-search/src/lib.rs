//! A tower layer with which a model finds deferred tools through one search tool, ranked with BM25.
//!
//! Tools marked [`deferred`](tower_genai_core::ToolDefinition::deferred) are kept out of the prompt. [`ToolSearchLayer`] adds one tool, `tool_search`, answers its
//! calls from an index of the request's tools, and calls the inner service again: the caller sees one stream, with a
//! [`Search`](tower_genai_core::ModelEvent::Search) event for each search, and gets only the calls that are its own.
//!
//! # What is loaded
//!
//! The dialogue says it: a definition is loaded when a message of this very request, after its last compaction item, loaded it. That survives
//! restarts, forks, retries and compaction without any bookkeeping, as long as the caller keeps
//! [`Response::messages`](tower_genai_core::Response::messages) in its history. "Deferred" means marked in the request's tool set, not "not
//! loaded yet": the search tool and the catalogue stay when everything is loaded, because a prompt that changed with each search would not be cached.
//!
//! A search answers with the definitions it loads, and in words with what is loaded already, what never needed a search, what else matches, or how to
//! search better. A search that cannot be read is answered too; nothing that a model sends is an error. A call of a deferred tool that was never loaded
//! is not passed on: it is answered with the definition and the request to call again. A call of a tool that has left the set is answered with that.
//!
//! When the model searches and calls other tools in one turn, the searches are answered and the rest is the caller's: push the
//! response's messages, then the results, and call again.
//!
//! # Place in the stack
//!
//! Outside the tool guidelines and deferred tools layers, inside a tool loop. Timeouts and limits inside it hold for each round, outside it for all of them.
//! With the provider's own tool search among the server tools this layer steps aside.
//!
//! # What it does
//!
//! - **Stream**: one uninterrupted stream of all rounds; ordinals of messages run on. The finished stream of a round is dropped before readiness
//!   is polled for the next, so that a limit of one does not deadlock.
//! - **Errors**: a request with a tool named `tool_search`, or with a search tool of its own
//!   ([`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest)), before the inner call. An error of a later round ends the stream; the
//!   messages of the rounds before it have been passed on.
//! - **Limits**: 16 rounds of searching a call, four in a row that load nothing; then the call ends with
//!   [`StopReason::SearchLimit`](tower_genai_core::StopReason::SearchLimit), every search answered.
//! - **Cost**: a tool set is prepared once, its index is built by the first search or by [`ToolSearchLayer::prepare`], sixteen sets are kept per layer
//!   value. A request whose set is known costs one clone of the request. The index is built where it is first needed, on the task that searches: about a
//!   millisecond for a hundred tools.
//!
//! ```
//! use tower::ServiceBuilder;
//! use tower_genai_core::{AssistantPart, Json, Message, ModelRequest, ModelServiceExt, ToolCall, ToolDefinition, ToolSet, testing::ScriptedModel};
//! use tower_genai_tool_search::ToolSearchLayer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tower_genai_core::Error> {
//! // A model that searches first, then answers.
//! let search = ToolCall::new("1", "tool_search", Json::parse(r#"{"queries":["weather"]}"#)?);
//! let provider = ScriptedModel::messages([
//!     vec![AssistantPart::Search(search)],
//!     vec![AssistantPart::Text { text: "Found it.".into() }],
//! ]);
//! let model = ServiceBuilder::new().layer(ToolSearchLayer::new()).service(provider.clone());
//!
//! let tools = ToolSet::new([
//!     ToolDefinition::new("get_weather").description("The weather of a place").deferred(true),
//!     ToolDefinition::new("send_mail").description("Send a mail").deferred(true),
//! ])?;
//! let response = model.complete(ModelRequest::new().user("Is it raining?").tools(tools)).await?;
//!
//! assert_eq!(response.text(), "Found it.");
//! assert_eq!(response.messages.len(), 3);
//! assert_eq!(&*response.messages[1].loaded()[0].name.name, "get_weather");
//! # Ok(())
//! # }
//! ```
//!
//! # Around a service of your own
//!
//! The request only has to be `AsMut<ModelRequest>` and `Clone`, the service `Clone`, the response a stream of events. Errors convert both ways:
//! `From<Error>` for what the layer refuses, into [`Error`](tower_genai_core::Error) for what a later round fails with, which is an item of the stream.
//! A service that is not a provider of this library needs `DeferredToolsLayer::innermost` of the deferred tools layer directly around it.
//!
//! ```
//! use tower::{ServiceBuilder, ServiceExt};
//! use tower_genai_core::{Error, ErrorKind, ModelRequest, ModelServiceExt, testing::ScriptedModel};
//! use tower_genai_tool_search::ToolSearchLayer;
//!
//! #[derive(Clone)]
//! struct Tenanted {
//!     tenant: u32,
//!     model: ModelRequest,
//! }
//!
//! impl AsMut<ModelRequest> for Tenanted {
//!     fn as_mut(&mut self) -> &mut ModelRequest {
//!         &mut self.model
//!     }
//! }
//!
//! #[derive(Debug)]
//! enum Failure {
//!     Model(Error),
//!     UnknownTenant(u32),
//! }
//!
//! impl From<Error> for Failure {
//!     fn from(error: Error) -> Self {
//!         Self::Model(error)
//!     }
//! }
//!
//! impl From<Failure> for Error {
//!     fn from(failure: Failure) -> Self {
//!         match failure {
//!             Failure::Model(error) => error,
//!             Failure::UnknownTenant(tenant) => Error::new(ErrorKind::Service, format!("tenant {tenant} is not known")),
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let provider = ScriptedModel::answering("Good day.");
//! let service = tower::service_fn(move |request: Tenanted| {
//!     let provider = provider.clone();
//!     async move {
//!         if request.tenant > 9 {
//!             return Err(Failure::UnknownTenant(request.tenant));
//!         }
//!         Ok(provider.oneshot(request.model).await?)
//!     }
//! });
//! let model = ServiceBuilder::new().layer(ToolSearchLayer::new()).service(service);
//!
//! let request = |tenant| Tenanted { tenant, model: ModelRequest::new().user("hi") };
//! assert_eq!(model.clone().complete(request(1)).await?.text(), "Good day.");
//! assert!(matches!(model.oneshot(request(10)).await, Err(Failure::UnknownTenant(10))));
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod answer;
mod catalog;
mod definition;
pub mod index;
mod layer;
mod prepared;
mod record;
mod searching;
mod service;
mod sessions;

pub use definition::TOOL_SEARCH;
pub use layer::{BuildIndex, CatalogPlacement, ToolSearchLayer};
pub use prepared::documents;
pub use record::{MemoryRecord, RecordKey, SessionRecord};
pub use searching::Searching;
pub use service::{ToolSearch, ToolSearchFuture, ToolSearchStream};
#[doc(no_inline)]
pub use tower_genai_core::rounds::BoxFuture;
