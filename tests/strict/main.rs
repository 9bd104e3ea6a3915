//! Whole stacks over real sockets against a strict fake of the providers.
//!
//! The fake is not part of this repository: the tests say that they skipped where `TOWER_GENAI_SHARED` is not set.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bodies;
mod conversations;
mod draw;
mod fuzz;
mod harness;
mod hosts;
mod moving;
mod streams;
mod tool_loop;
