//! The search index from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod properties;
mod replaced;
mod retrieval;
mod scores;
mod search;
mod several_queries;

use tower_genai_tool_search::index::{ToolDocument, ToolIndex};

/// An index over tools of a name and a description.
fn described(tools: &[(&str, &str)]) -> ToolIndex {
    let document = |&(name, description)| ToolDocument { name, description, ..ToolDocument::default() };
    ToolIndex::build(tools.iter().map(document)).unwrap()
}

/// The ordinals that `index` finds for `query`, best first.
fn found(index: &ToolIndex, query: &str) -> Vec<u32> {
    index.search(&[query], 20, 0.0).unwrap().iter().map(|hit| hit.ordinal).collect()
}
