//! A layer that keeps what passes.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::{Error, ModelEvent, ModelRequest};

/// A layer that keeps the requests and events that pass it. Clones share what they keep.
#[derive(Clone, Debug, Default)]
pub struct EventRecorder(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    requests: Vec<ModelRequest>,
    events: Vec<ModelEvent>,
    errors: usize,
    dropped: usize,
}

impl EventRecorder {
    /// A recorder that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with<T>(&self, read: impl FnOnce(&mut Kept) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.with(|kept| kept.requests.clone())
    }

    /// The events so far.
    #[must_use]
    pub fn events(&self) -> Vec<ModelEvent> {
        self.with(|kept| kept.events.clone())
    }

    /// How many streams ended in an error.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.with(|kept| kept.errors)
    }

    /// How many streams were dropped, read to the end or not.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.with(|kept| kept.dropped)
    }
}

impl<S> Layer<S> for EventRecorder {
    type Service = Recorded<S>;

    fn layer(&self, inner: S) -> Recorded<S> {
        Recorded { inner, recorder: self.clone() }
    }
}

/// The service of an [`EventRecorder`].
#[derive(Clone, Debug)]
pub struct Recorded<S> {
    inner: S,
    recorder: EventRecorder,
}

impl<S: Service<Req>, Req: AsMut<ModelRequest>> Service<Req> for Recorded<S> {
    type Response = RecordedStream<S::Response>;
    type Error = S::Error;
    type Future = RecorderFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Req) -> Self::Future {
        self.recorder.with(|kept| kept.requests.push(request.as_mut().clone()));
        RecorderFuture { inner: self.inner.call(request), recorder: self.recorder.clone() }
    }
}

pin_project! {
    /// The response future of an [`EventRecorder`].
    #[derive(Debug)]
    pub struct RecorderFuture<F> {
        #[pin]
        inner: F,
        recorder: EventRecorder,
    }
}

impl<F: Future<Output = Result<T, E>>, T, E> Future for RecorderFuture<F> {
    type Output = Result<RecordedStream<T>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let events = ready!(this.inner.poll(cx))?;
        Poll::Ready(Ok(RecordedStream { inner: events, guard: Guard(this.recorder.clone()) }))
    }
}

pin_project! {
    /// The stream of an [`EventRecorder`].
    #[derive(Debug)]
    pub struct RecordedStream<T> {
        #[pin]
        inner: T,
        guard: Guard,
    }
}

#[derive(Debug)]
struct Guard(EventRecorder);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.with(|kept| kept.dropped += 1);
    }
}

impl<T: Stream<Item = Result<ModelEvent, Error>>> Stream for RecordedStream<T> {
    type Item = Result<ModelEvent, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        let item = ready!(this.inner.poll_next(cx));
        match &item {
            Some(Ok(event)) => this.guard.0.with(|kept| kept.events.push(event.clone())),
            Some(Err(_)) => this.guard.0.with(|kept| kept.errors += 1),
            None => {}
        }
        Poll::Ready(item)
    }
}
