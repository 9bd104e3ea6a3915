//! Language-model calls as tower services.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice))]

#[cfg(feature = "provider")]
pub mod protocols;
#[cfg(feature = "provider")]
pub mod provider;
#[cfg(feature = "provider")]
mod telemetry;
#[cfg(feature = "provider")]
pub mod transport;

pub use tower_genai_core::*;
#[cfg(feature = "deferred-tools")]
pub use tower_genai_deferred_tools as deferred_tools;
#[cfg(feature = "server-tools")]
pub use tower_genai_server_tools as server_tools;
#[cfg(feature = "tool-guidelines")]
pub use tower_genai_tool_guidelines as tool_guidelines;
#[cfg(feature = "tool-search")]
pub use tower_genai_tool_search as tool_search;
