use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tower_layer::Layer;
use tower_service::Service;

use super::is_last;
use crate::{Error, ErrorKind, ModelEvent};

/// Limits how long an answer may take, from the call to the end of its stream. See the [module docs](super) for an example.
///
/// The error is [`ErrorKind::Timeout`]; what has been passed on before stays the caller's. It needs tokio's timer.
#[derive(Clone, Copy, Debug)]
pub struct StreamTimeoutLayer {
    total: Duration,
}

impl StreamTimeoutLayer {
    /// At most this long in all.
    #[must_use]
    pub const fn new(total: Duration) -> Self {
        Self { total }
    }
}

impl<S> Layer<S> for StreamTimeoutLayer {
    type Service = StreamTimeout<S>;

    fn layer(&self, inner: S) -> StreamTimeout<S> {
        StreamTimeout { inner, total: self.total }
    }
}

/// The service of a [`StreamTimeoutLayer`].
#[derive(Clone, Debug)]
pub struct StreamTimeout<S> {
    inner: S,
    total: Duration,
}

impl<S> StreamTimeout<S> {
    crate::inner_service_accessors!();
}

impl<S, Req> Service<Req> for StreamTimeout<S>
where
    S: Service<Req>,
    S::Error: From<Error>,
{
    type Response = StreamTimeoutStream<S::Response>;
    type Error = S::Error;
    type Future = StreamTimeoutFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        // One timer for the future and the stream, boxed so that it can move from one to the other.
        StreamTimeoutFuture {
            inner: self.inner.call(request),
            timer: Some(Timer { total: self.total, sleep: Box::pin(sleep(self.total)) }),
        }
    }
}

#[derive(Debug)]
struct Timer {
    total: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Timer {
    fn elapsed(&mut self, cx: &mut Context<'_>) -> Option<Error> {
        let over = self.sleep.as_mut().poll(cx).is_ready();
        over.then(|| Error::new(ErrorKind::Timeout, format!("the answer took longer than {:?} in all; raise the limit", self.total)))
    }
}

pin_project! {
    /// The response future of a [`StreamTimeout`].
    #[derive(Debug)]
    pub struct StreamTimeoutFuture<F> {
        #[pin]
        inner: F,
        timer: Option<Timer>,
    }
}

impl<F: Future<Output = Result<T, E>>, T, E: From<Error>> Future for StreamTimeoutFuture<F> {
    type Output = Result<StreamTimeoutStream<T>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(events) = this.inner.poll(cx) {
            let timer = this.timer.take();
            return Poll::Ready(events.map(|inner| StreamTimeoutStream { inner: Some(inner), timer }));
        }
        match this.timer.as_mut().and_then(|timer| timer.elapsed(cx)) {
            Some(error) => Poll::Ready(Err(error.into())),
            None => Poll::Pending,
        }
    }
}

pin_project! {
    /// The stream of a [`StreamTimeout`]. When the time is over it drops the inner stream and ends with the error.
    #[derive(Debug)]
    pub struct StreamTimeoutStream<T> {
        #[pin]
        inner: Option<T>,
        timer: Option<Timer>,
    }
}

impl<T: Stream<Item = Result<ModelEvent, Error>>> Stream for StreamTimeoutStream<T> {
    type Item = Result<ModelEvent, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        if let Poll::Ready(item) = inner.poll_next(cx) {
            if is_last(item.as_ref()) {
                *this.timer = None;
            }
            return Poll::Ready(item);
        }
        let error = ready!(this.timer.as_mut().map_or(Poll::Pending, |timer| timer.elapsed(cx).map_or(Poll::Pending, Poll::Ready)));
        this.inner.set(None);
        Poll::Ready(Some(Err(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventStream, ModelRequest};
    use futures_util::{StreamExt, stream};
    use tower::{ServiceExt, service_fn};

    /// A model that gives an event a second, for ever.
    fn slow(head: Duration) -> impl Service<ModelRequest, Response = EventStream, Error = Error> {
        service_fn(move |_: ModelRequest| async move {
            sleep(head).await;
            let events = stream::unfold((), |()| async {
                sleep(Duration::from_secs(1)).await;
                Some((Ok(ModelEvent::Text(crate::Delta { message: 0, text: String::new() })), ()))
            });
            Ok::<EventStream, Error>(Box::pin(events))
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_runs_on_after_the_head() {
        let limited = StreamTimeoutLayer::new(Duration::from_millis(5_500)).layer(slow(Duration::from_secs(2)));
        let mut events = limited.oneshot(ModelRequest::new()).await.unwrap();
        let mut seen = 0;
        let error = loop {
            match events.next().await.unwrap() {
                Ok(_) => seen += 1,
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind(), seen), (ErrorKind::Timeout, 3));
        assert!(events.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_takes_too_long_is_an_error_of_the_future() {
        let limited = StreamTimeoutLayer::new(Duration::from_secs(1)).layer(slow(Duration::from_secs(2)));
        let error = limited.oneshot(ModelRequest::new()).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Timeout);
    }
}
