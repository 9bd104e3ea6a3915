//! Language-model calls as tower services.

#[cfg(feature = "tool-search")]
pub use tower_genai_tool_search as tool_search;
