//! HTTP: the adapter, framing, the waits, the retry policy.

mod adapter;
pub mod retry;
mod sse;
mod waits;

pub use adapter::{Body, Reqwest, ReqwestFuture};
pub use retry::RetryPolicy;
pub use sse::{DEFAULT_MAX_EVENT_BYTES, SseEvent, SseParser};
pub(crate) use waits::Clock;
pub use waits::Waits;
