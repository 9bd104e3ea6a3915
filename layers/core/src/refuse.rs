//! The response future of a layer that may refuse a request.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

pin_project! {
    /// The inner service's future, or an error from before the inner call.
    pub struct ResponseFuture<F, E> {
        #[pin]
        state: State<F, E>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, E> {
        Calling { #[pin] call: F },
        Refused { error: Option<E> },
    }
}

impl<F, E> ResponseFuture<F, E> {
    /// Forwards to the inner future.
    pub fn calling(call: F) -> Self {
        Self { state: State::Calling { call } }
    }

    /// Fails without a call.
    pub fn refused(error: impl Into<E>) -> Self {
        Self { state: State::Refused { error: Some(error.into()) } }
    }
}

impl<F, T, E> Future for ResponseFuture<F, E>
where
    F: Future<Output = Result<T, E>>,
{
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Calling { call } => Poll::Ready(ready!(call.poll(cx))),
            // A future that has answered is not polled again; Pending keeps that from being a panic.
            StateProj::Refused { error } => error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error))),
        }
    }
}

impl<F, E> fmt::Debug for ResponseFuture<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
