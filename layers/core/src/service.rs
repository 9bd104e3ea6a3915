//! Storing and using a stack in one line.

use std::{future::Future, pin::Pin};

use futures_core::Stream;
use futures_util::StreamExt;
use tower::{ServiceExt, util::BoxCloneSyncService};
use tower_service::Service;

use crate::{Error, ErrorKind, ModelEvent, ModelRequest, Response};

/// A boxed stream of events.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, Error>> + Send>>;

/// A stack of any shape, boxed once: cloneable, `Send` and `Sync`.
pub type BoxModelService<Req = ModelRequest> = BoxCloneSyncService<Req, EventStream, Error>;

/// What every service that answers with a stream of events can do.
///
/// ```
/// use tower_genai_core::{ModelRequest, ModelServiceExt, testing::ScriptedModel};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tower_genai_core::Error> {
/// let model = ScriptedModel::answering("hello").boxed_model();
/// let response = model.complete(ModelRequest::new().user("hi")).await?;
/// assert_eq!(response.text(), "hello");
/// # Ok(())
/// # }
/// ```
pub trait ModelServiceExt<Req>: Service<Req> + Sized {
    /// Boxes the service and its stream.
    fn boxed_model(self) -> BoxModelService<Req>
    where
        Self: Clone + Send + Sync + 'static,
        Self::Future: Send + 'static,
        Self::Response: Stream<Item = Result<ModelEvent, Error>> + Send + 'static,
        Error: From<Self::Error>,
        Req: 'static,
    {
        BoxCloneSyncService::new(self.map_response(|events| -> EventStream { Box::pin(events) }).map_err(Error::from))
    }

    /// Waits until the service is ready, calls it, and reads its stream to the end.
    ///
    /// # Errors
    ///
    /// The service's own, those of its stream, and [`ErrorKind::Protocol`] when the stream ends without a response.
    fn complete(self, request: Req) -> impl Future<Output = Result<Response, Error>>
    where
        Self::Response: Stream<Item = Result<ModelEvent, Error>>,
        Error: From<Self::Error>,
    {
        async move { into_response(self.oneshot(request).await?).await }
    }
}

impl<S: Service<Req>, Req> ModelServiceExt<Req> for S {}

/// Reads a stream of events to its response.
///
/// # Errors
///
/// The stream's own, and [`ErrorKind::Protocol`] when it ends without a response.
pub async fn into_response(events: impl Stream<Item = Result<ModelEvent, Error>>) -> Result<Response, Error> {
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        if let ModelEvent::Response(response) = event? {
            return Ok(*response);
        }
    }
    Err(Error::new(ErrorKind::Protocol, "the stream of events ended without a response"))
}
