//! A tower layer that adds provider-hosted tools to a model request.
//!
//! A server tool runs inside the provider: web search, fetch, code execution. Its type is an open string and its configuration opaque, so that a new
//! version of a provider's tool needs no new version of this crate. Calls to it arrive as
//! [`HostedStarted`](tower_genai_core::ModelEvent::HostedStarted) and its relatives and never among the calls that the caller answers.
//!
//! | constructor | types | endpoint |
//! |---|---|---|
//! | [`anthropic`](ServerToolsLayer::anthropic) | `web_search_20260318`, `web_fetch_20260318` | Anthropic Messages |
//! | [`openai`](ServerToolsLayer::openai) | `web_search` | OpenAI Responses, not Chat Completions |
//! | [`google`](ServerToolsLayer::google) | `google_search`, `url_context` | Gemini |
//! | [`openrouter`](ServerToolsLayer::openrouter) | `openrouter:web_search`, `openrouter:web_fetch` | Chat Completions at OpenRouter |
//! | [`deepseek`](ServerToolsLayer::deepseek) | `web_search` | DeepSeek Responses, not Chat Completions |
//! | [`deepseek_messages`](ServerToolsLayer::deepseek_messages) | `web_search_20250305` | DeepSeek's Messages endpoint |
//! | [`xai`](ServerToolsLayer::xai) | `web_search`, `x_search` | xAI Responses |
//!
//! Which types a model accepts, and how they are configured, is the provider's business, with one exception: Anthropic fixes the `name` of each
//! versioned type, and that name is filled in.
//!
//! Anthropic's web tools of version `_20260209` and later are by default called from code (`allowed_callers`), which a model without programmatic
//! tool calling refuses with status 400. Configure it away for such a model:
//!
//! ```
//! use tower_genai_core::ServerTool;
//! use tower_genai_server_tools::ServerToolsLayer;
//!
//! let layer = ServerToolsLayer::with([
//!     ServerTool::new("web_search_20260318", r#"{"allowed_callers":["direct"],"max_uses":3}"#)?,
//!     ServerTool::new("web_fetch_20260318", r#"{"allowed_callers":["direct"]}"#)?,
//! ])?;
//! assert_eq!(layer.tools().len(), 2);
//! # Ok::<(), tower_genai_core::Error>(())
//! ```
//!
//! # Place in the stack
//!
//! Anywhere; outside the tool search layer, so that a provider's own tool search makes that layer step aside.
//!
//! # What it does
//!
//! - **Stream**: untouched; the response type is the inner service's.
//! - **Errors**: a key (the type; for `mcp` and `mcp_toolset` the type and the label) that the request or another such layer has already is
//!   [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest), before the inner call: which configuration holds would be a matter of order.
//! - **Cost**: a reference count and a comparison per tool.
//!
//! ```
//! use tower::ServiceBuilder;
//! use tower_genai_core::{ModelRequest, ModelServiceExt, testing::ScriptedModel};
//! use tower_genai_server_tools::ServerToolsLayer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tower_genai_core::Error> {
//! let provider = ScriptedModel::answering("ok");
//! let model = ServiceBuilder::new().layer(ServerToolsLayer::with(["web_search"])?).service(provider.clone());
//! model.complete(ModelRequest::new().user("What is new?")).await?;
//! assert_eq!(provider.requests()[0].server_tools[0].tool_type(), "web_search");
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod layer;
mod service;

pub use layer::ServerToolsLayer;
pub use service::ServerTools;
pub use tower_genai_core::{ResponseFuture, ServerTool};
