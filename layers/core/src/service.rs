//! Storing and using a stack in one line.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use pin_project_lite::pin_project;
use tower::{
    ServiceExt,
    util::{BoxCloneSyncService, Oneshot},
};
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
    fn complete(self, request: Req) -> Complete<Self, Req>
    where
        Self::Response: Stream<Item = Result<ModelEvent, Error>>,
        Error: From<Self::Error>,
    {
        Complete { state: State::Calling { call: self.oneshot(request) } }
    }
}

impl<S: Service<Req>, Req> ModelServiceExt<Req> for S {}

pin_project! {
    /// The future of [`ModelServiceExt::complete`].
    pub struct Complete<S, Req>
    where
        S: Service<Req>,
    {
        #[pin]
        state: State<S, Req>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, Req>
    where
        S: Service<Req>,
    {
        Calling { #[pin] call: Oneshot<S, Req> },
        Reading { #[pin] response: ReadResponse<S::Response> },
    }
}

impl<S, Req> Future for Complete<S, Req>
where
    S: Service<Req>,
    S::Response: Stream<Item = Result<ModelEvent, Error>>,
    Error: From<S::Error>,
{
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProj::Calling { call } => {
                    let events = ready!(call.poll(cx))?;
                    state.set(State::Reading { response: into_response(events) });
                }
                StateProj::Reading { response } => return response.poll(cx),
            }
        }
    }
}

impl<S: Service<Req>, Req> fmt::Debug for Complete<S, Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Complete").finish_non_exhaustive()
    }
}

/// Reads a stream of events to its response.
///
/// # Errors
///
/// The stream's own, and [`ErrorKind::Protocol`] when it ends without a response.
pub fn into_response<T>(events: T) -> ReadResponse<T>
where
    T: Stream<Item = Result<ModelEvent, Error>>,
{
    ReadResponse { events }
}

pin_project! {
    /// The future of [`into_response`].
    #[derive(Debug)]
    pub struct ReadResponse<T> {
        #[pin]
        events: T,
    }
}

impl<T: Stream<Item = Result<ModelEvent, Error>>> Future for ReadResponse<T> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut events = self.project().events;
        loop {
            match ready!(events.as_mut().poll_next(cx)) {
                Some(Ok(ModelEvent::Response(response))) => return Poll::Ready(Ok(*response)),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => {
                    let error = Error::new(ErrorKind::Protocol, "the stream of events ended without a response");
                    return Poll::Ready(Err(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, testing::NoopModel};
    use futures_util::stream;

    /// In a function that is generic over the model, the future is `Send` as soon as its parts are.
    fn spawnable<S>(model: S) -> impl Future<Output = Result<Response, Error>> + Send
    where
        S: ModelServiceExt<ModelRequest> + Service<ModelRequest, Error = Error> + Send,
        S::Future: Send,
        S::Response: Stream<Item = Result<ModelEvent, Error>> + Send,
    {
        model.complete(ModelRequest::new())
    }

    #[tokio::test]
    async fn complete_skips_to_the_response_and_can_be_spawned_by_generic_code() {
        let response = tokio::spawn(spawnable(NoopModel::new(3))).await.unwrap().unwrap();
        assert_eq!(response.messages.len(), 1);
    }

    #[tokio::test]
    async fn a_stream_without_a_response_is_an_error() {
        let text = ModelEvent::Text(Delta { message: 0, text: "x".into() });
        let ended = into_response(stream::iter([Ok(text.clone())])).await.unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::Protocol);
        let failed = into_response(stream::iter([Ok(text), Err(Error::new(ErrorKind::Server, "broke"))])).await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Server);
    }
}
