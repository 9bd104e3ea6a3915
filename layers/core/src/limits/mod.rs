//! Limits that hold until the stream of events ends.
//!
//! tower's own `ConcurrencyLimit` and `Timeout` end where the response future does: at the first event of a model's answer, while most of the answer is
//! still to come. These hold until the stream has given its response or an error, has ended, or was dropped:
//!
//! - [`StreamConcurrencyLimitLayer`]: how many answers are under way at once;
//! - [`StreamTimeoutLayer`]: how long one answer may take in all.
//!
//! Put them around the provider to limit each request, around the whole stack to limit each call with all its rounds. A layer that calls again (tool search)
//! drops the finished stream of a round before it asks for the next, so that a limit of one below it does not deadlock.
//!
//! ```
//! use std::time::Duration;
//! use tower::ServiceBuilder;
//! use tower_genai_core::{ModelRequest, ModelServiceExt, limits::{StreamConcurrencyLimitLayer, StreamTimeoutLayer}, testing::ScriptedModel};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tower_genai_core::Error> {
//! let model = ServiceBuilder::new()
//!     .layer(StreamTimeoutLayer::new(Duration::from_secs(120)))
//!     .layer(StreamConcurrencyLimitLayer::new(8))
//!     .service(ScriptedModel::answering("hello"));
//! assert_eq!(model.complete(ModelRequest::new().user("hi")).await?.text(), "hello");
//! # Ok(())
//! # }
//! ```

mod concurrency;
mod timeout;

pub use concurrency::{StreamConcurrencyLimit, StreamConcurrencyLimitFuture, StreamConcurrencyLimitLayer, StreamConcurrencyLimitStream};
pub use timeout::{StreamTimeout, StreamTimeoutFuture, StreamTimeoutLayer, StreamTimeoutStream};

use crate::{Error, ModelEvent};

/// Whether nothing follows an item.
fn is_last(item: Option<&Result<ModelEvent, Error>>) -> bool {
    matches!(item, None | Some(Err(_) | Ok(ModelEvent::Response(_))))
}
