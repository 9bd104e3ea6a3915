//! HTTP: the adapter, framing, the waits, the retry policy.

mod sse;

pub use sse::{DEFAULT_MAX_EVENT_BYTES, SseEvent, SseParser};
