//! The tower contract, for every layer and the provider.
//!
//! A layer is one line in [`layers`]; a test fails when a layer of this repository is missing from it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod doubles;
mod layers;
mod provider;
