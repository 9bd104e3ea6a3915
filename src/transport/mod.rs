//! HTTP: the adapter, framing, the waits, the retry policy.

mod adapter;
mod lines;
pub mod retry;
mod sse;
mod waits;

pub use adapter::{Body, Reqwest, ReqwestFuture};
pub use lines::LineParser;
pub use retry::RetryPolicy;
pub use sse::{DEFAULT_MAX_EVENT_BYTES, SseEvent, SseParser};
pub(crate) use waits::Clock;
pub use waits::Waits;
