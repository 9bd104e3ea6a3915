//! The search index: which tools of a set fit what a model asked for.
//!
//! A [`ToolIndex`] is built once from the tools of a set, in their order, and is immutable
//! afterwards. It answers several queries at once with ordinals into that order and [BM25](Bm25)
//! scores:
//!
//! ```
//! use tower_genai_tool_search::index::{ToolDocument, ToolIndex};
//!
//! let index = ToolIndex::build([
//!     ToolDocument {
//!         name: "createIssue",
//!         namespace: Some("tracker"),
//!         description: "Open a new issue in a repository.",
//!         ..ToolDocument::default()
//!     },
//!     ToolDocument {
//!         name: "send_email",
//!         description: "Send an e-mail to one or more people.",
//!         parameters: r#"{"properties":{"to":{"description":"recipient"}}}"#,
//!         ..ToolDocument::default()
//!     },
//! ])?;
//!
//! let hits = index.search(&["emails to a recipient"], 5, 0.0)?;
//! assert_eq!(hits.len(), 1);
//! assert_eq!(hits[0].ordinal, 1);
//! # Ok::<(), tower_genai_tool_search::index::IndexError>(())
//! ```
//!
//! # What is compared
//!
//! Every text of a tool that a model may think of goes into one bag of tokens: its name, namespace,
//! description, snippet and guidelines, and the names, descriptions and allowed values of its
//! parameters at any depth. Queries pass through the same [`Analyzer`]; they are data, never a
//! query language, so nothing in them has to be escaped, lower-cased or split by the caller.
//!
//! # How it is ranked
//!
//! With the default [`Ranker`] the score of a tool is exactly, in double precision,
//!
//! ```text
//! sum over the distinct query tokens t of
//!     ln(1 + (N - n + 0.5) / (n + 0.5)) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / avgdl))
//! ```
//!
//! where `N` is the number of tools, `n` how many of them hold `t`, `tf` how often this one does,
//! `dl` its number of tokens and `avgdl` the mean of `dl` over all tools. [`ToolIndex::search`]
//! says how several queries and exact names combine.
//!
//! # What can be replaced
//!
//! [`ToolIndex::builder`] takes another [`Fields`] (which texts of a tool count), [`Analyzer`]
//! (what is a token) or [`Ranker`] (what a match is worth). The postings are tantivy's, in memory,
//! in one segment, built without a thread.

mod analyzer;
mod document;
mod error;
mod names;
mod postings;
mod ranker;
mod schema;
mod selection;
mod tool_index;

pub use analyzer::{Analyzer, TextKind, ToolAnalyzer};
pub use document::{AllText, Fields, ToolDocument};
pub use error::IndexError;
pub use ranker::{Bm25, Bm25Error, Ranker};
pub use tool_index::{Hit, ToolIndex, ToolIndexBuilder};
