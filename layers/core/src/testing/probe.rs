//! A service that notices broken contracts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use tower_service::Service;

/// Panics when it is called without having said that it is ready, on that very instance, since its last call.
///
/// A clone is not ready. It passes everything else to the service inside.
#[derive(Debug)]
pub struct ReadinessProbe<S> {
    inner: S,
    ready: bool,
    calls: Arc<AtomicUsize>,
    unready_polls: Arc<AtomicUsize>,
    delay: usize,
    pending: usize,
}

impl<S> ReadinessProbe<S> {
    /// Watches a service.
    pub fn new(inner: S) -> Self {
        Self { inner, ready: false, calls: Arc::default(), unready_polls: Arc::default(), delay: 0, pending: 0 }
    }

    /// Says "not yet" this many times before each readiness.
    #[must_use]
    pub fn delayed(mut self, polls: usize) -> Self {
        (self.delay, self.pending) = (polls, polls);
        self
    }

    /// How often this instance and its clones were called.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// How often this instance and its clones said "not yet".
    #[must_use]
    pub fn unready_polls(&self) -> usize {
        self.unready_polls.load(Ordering::SeqCst)
    }
}

impl<S: Clone> Clone for ReadinessProbe<S> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            ready: false,
            calls: self.calls.clone(),
            unready_polls: self.unready_polls.clone(),
            delay: self.delay,
            pending: self.delay,
        }
    }
}

impl<S: Service<Req>, Req> Service<Req> for ReadinessProbe<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        if let Some(left) = self.pending.checked_sub(1) {
            self.pending = left;
            self.unready_polls.fetch_add(1, Ordering::SeqCst);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = self.inner.poll_ready(cx);
        self.ready = matches!(polled, Poll::Ready(Ok(())));
        polled
    }

    fn call(&mut self, request: Req) -> S::Future {
        assert!(self.ready, "called without readiness: poll_ready must say Ready(Ok) on this instance before each call");
        self.ready = false;
        self.pending = self.delay;
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.inner.call(request)
    }
}
