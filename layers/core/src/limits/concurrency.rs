use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use pin_project_lite::pin_project;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;
use tower_layer::Layer;
use tower_service::Service;

use super::is_last;
use crate::{Error, ErrorKind, ModelEvent};

/// Limits how many answers are under way at once, until their streams end. See the [module docs](super) for an example.
///
/// Every service that one layer value makes, and their clones, share the limit.
#[derive(Clone, Debug)]
pub struct StreamConcurrencyLimitLayer {
    semaphore: Arc<Semaphore>,
}

impl StreamConcurrencyLimitLayer {
    /// At most so many answers at once.
    #[must_use]
    pub fn new(answers: usize) -> Self {
        Self { semaphore: Arc::new(Semaphore::new(answers.min(Semaphore::MAX_PERMITS))) }
    }
}

impl<S> Layer<S> for StreamConcurrencyLimitLayer {
    type Service = StreamConcurrencyLimit<S>;

    fn layer(&self, inner: S) -> StreamConcurrencyLimit<S> {
        StreamConcurrencyLimit { inner, semaphore: PollSemaphore::new(self.semaphore.clone()), permit: None }
    }
}

/// The service of a [`StreamConcurrencyLimitLayer`]. Readiness reserves one answer; a clone has no reservation.
#[derive(Debug)]
pub struct StreamConcurrencyLimit<S> {
    inner: S,
    semaphore: PollSemaphore,
    permit: Option<OwnedSemaphorePermit>,
}

impl<S> StreamConcurrencyLimit<S> {
    crate::inner_service_accessors!();
}

impl<S: Clone> Clone for StreamConcurrencyLimit<S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), semaphore: self.semaphore.clone(), permit: None }
    }
}

impl<S, Req> Service<Req> for StreamConcurrencyLimit<S>
where
    S: Service<Req>,
    S::Error: From<Error>,
{
    type Response = StreamConcurrencyLimitStream<S::Response>;
    type Error = S::Error;
    type Future = StreamConcurrencyLimitFuture<S::Future, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        if self.permit.is_none() {
            self.permit = ready!(self.semaphore.poll_acquire(cx));
        }
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let state = match self.permit.take() {
            Some(permit) => State::Calling { call: self.inner.call(request), permit: Some(permit) },
            None => State::Refused { error: Some(not_ready().into()) },
        };
        StreamConcurrencyLimitFuture { state }
    }
}

fn not_ready() -> Error {
    Error::new(ErrorKind::Limit, "the limited service was called without being ready; poll_ready must say so before each call")
}

pin_project! {
    /// The response future of a [`StreamConcurrencyLimit`].
    #[derive(Debug)]
    pub struct StreamConcurrencyLimitFuture<F, E> {
        #[pin]
        state: State<F, E>,
    }
}

pin_project! {
    #[project = StateProj]
    #[derive(Debug)]
    enum State<F, E> {
        Calling { #[pin] call: F, permit: Option<OwnedSemaphorePermit> },
        Refused { error: Option<E> },
    }
}

impl<F: Future<Output = Result<T, E>>, T, E> Future for StreamConcurrencyLimitFuture<F, E> {
    type Output = Result<StreamConcurrencyLimitStream<T>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Calling { call, permit } => {
                let events = ready!(call.poll(cx));
                let permit = permit.take();
                Poll::Ready(events.map(|inner| StreamConcurrencyLimitStream { inner, permit }))
            }
            StateProj::Refused { error } => error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error))),
        }
    }
}

pin_project! {
    /// The stream of a [`StreamConcurrencyLimit`]: it gives its place back with its last item, or when it is dropped.
    #[derive(Debug)]
    pub struct StreamConcurrencyLimitStream<T> {
        #[pin]
        inner: T,
        permit: Option<OwnedSemaphorePermit>,
    }
}

impl<T: Stream<Item = Result<ModelEvent, Error>>> Stream for StreamConcurrencyLimitStream<T> {
    type Item = Result<ModelEvent, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        let item = ready!(this.inner.poll_next(cx));
        if is_last(item.as_ref()) {
            *this.permit = None;
        }
        Poll::Ready(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelRequest, testing::NoopModel};
    use futures_util::{FutureExt, StreamExt};
    use tower::ServiceExt;

    #[tokio::test]
    async fn a_place_is_taken_until_the_last_event() {
        let mut limited = StreamConcurrencyLimitLayer::new(1).layer(NoopModel::new(2));
        let mut other = limited.clone();
        let ready: &mut StreamConcurrencyLimit<NoopModel> = ServiceExt::<ModelRequest>::ready(&mut limited).await.unwrap();
        let mut events = ready.call(ModelRequest::new()).await.unwrap();
        for _ in 0..2 {
            assert!(Service::<ModelRequest>::poll_ready(&mut other, &mut Context::from_waker(std::task::Waker::noop())).is_pending());
            events.next().await.unwrap().unwrap();
        }
        assert!(matches!(events.next().await, Some(Ok(ModelEvent::Response(_)))));
        assert!(ServiceExt::<ModelRequest>::ready(&mut other).now_or_never().is_some(), "free with the response");
    }

    #[tokio::test]
    async fn dropping_a_stream_or_a_future_frees_the_place() {
        let mut limited = StreamConcurrencyLimitLayer::new(1).layer(NoopModel::new(2));
        for _ in 0..3 {
            drop(limited.clone().oneshot(ModelRequest::new()).await.unwrap());
            drop(ServiceExt::<ModelRequest>::ready(&mut limited).await.unwrap().call(ModelRequest::new()));
        }
        assert!(ServiceExt::<ModelRequest>::ready(&mut limited).now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_call_without_readiness_is_refused() {
        let mut limited = StreamConcurrencyLimitLayer::new(1).layer(NoopModel::new(0));
        let error = limited.call(ModelRequest::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
