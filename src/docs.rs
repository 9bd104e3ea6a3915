//! Guides: what goes around a single layer.
//!
//! | page | |
//! |---|---|
//! | [`order`] | what stands outside of what, and why |
//! | [`prompt_cache`] | what moves the provider's prompt cache, what does not, and how to test it in your own stack |
//! | [`traps`] | what tower does not do for streams, and type errors and how to read them |
//!
//! These modules hold text and nothing else; they are there when the documentation is built, and every block of code in them is run as a test.
#![cfg(all(
    any(doc, doctest),
    feature = "anthropic",
    feature = "openai",
    feature = "server-tools",
    feature = "tool-search",
    feature = "tool-guidelines",
    feature = "deferred-tools",
    feature = "limits"
))]

#[doc = include_str!("docs/order.md")]
pub mod order {}

#[doc = include_str!("docs/prompt_cache.md")]
pub mod prompt_cache {}

#[doc = include_str!("docs/traps.md")]
pub mod traps {}
