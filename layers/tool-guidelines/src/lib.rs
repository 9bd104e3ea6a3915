//! A tower layer that folds the usage snippets and guidelines of tools into a model request.
//!
//! A [`ToolDefinition`](tower_genai_core::ToolDefinition) may carry a snippet (how a call looks) and guidelines (rules for its use).
//! [`ToolGuidelinesLayer`] shows them to the model, either in the system prompt, grouped so that all call shapes can be read first:
//!
//! ```text
//! # Tool snippets
//! - read_file(path)
//!
//! # Tool guidelines
//! ## read_file
//! - Prefer it over a shell command.
//! ```
//!
//! or, with [`Placement::Description`], at the end of each tool's own description, for endpoints that surface only definitions.
//!
//! Deferred tools are skipped in both placements: they are not callable yet, and the tool search layer gives their guidance to the definitions that
//! it loads. What is stored stays as it was: only the outgoing request changes, so that the placement can change between two calls of a conversation.
//!
//! # Place in the stack
//!
//! Inside the tool search layer, so that the search tool's own guidance is shown, and outside the deferred tools layer.
//!
//! # What it does
//!
//! - **Stream**: untouched; the response type is the inner service's.
//! - **Errors**: none of its own.
//! - **Cost**: the text, or the derived tool set, is built once per tool set and kept (sixteen per layer value); after that a look-up, whatever the
//!   number of tools.
//!
//! ```
//! use tower::ServiceBuilder;
//! use tower_genai_core::{ModelRequest, ModelServiceExt, ToolDefinition, ToolSet, testing::ScriptedModel};
//! use tower_genai_tool_guidelines::ToolGuidelinesLayer;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tower_genai_core::Error> {
//! let provider = ScriptedModel::answering("ok");
//! let model = ServiceBuilder::new().layer(ToolGuidelinesLayer::new()).service(provider.clone());
//! let tools = ToolSet::new([ToolDefinition::new("read_file").snippet("read_file(path)").guideline("Prefer it over a shell command.")])?;
//! model.complete(ModelRequest::new().system("Be brief.").user("hi").tools(tools)).await?;
//! assert_eq!(
//!     &*provider.requests()[0].system[1],
//!     "# Tool snippets\n- read_file(path)\n\n# Tool guidelines\n## read_file\n- Prefer it over a shell command."
//! );
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod layer;
mod service;
mod text;

pub use layer::{Placement, ToolGuidelinesLayer};
pub use service::ToolGuidelines;
