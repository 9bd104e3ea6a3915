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
