//! The Anthropic Messages API.
