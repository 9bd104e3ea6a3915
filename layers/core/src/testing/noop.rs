//! A model that does nothing.

use std::{
    future::{Ready, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use tower_service::Service;

use crate::{Delta, Error, Message, ModelEvent, Response, StopReason};

/// A model whose every answer is the same number of text events and a response, to measure what is around it.
///
/// It takes any request. An event allocates nothing but the response at the end.
#[derive(Clone, Debug)]
pub struct NoopModel {
    events: usize,
    message: Arc<Message>,
}

impl NoopModel {
    /// Answers with so many text events before the response.
    #[must_use]
    pub fn new(events: usize) -> Self {
        Self { events, message: Arc::new(Message::assistant("")) }
    }
}

impl<Req> Service<Req> for NoopModel {
    type Response = NoopEvents;
    type Error = Error;
    type Future = Ready<Result<NoopEvents, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Req) -> Self::Future {
        drop(request);
        ready(Ok(NoopEvents { left: self.events, message: Some(self.message.clone()) }))
    }
}

/// The stream of a [`NoopModel`].
#[derive(Debug)]
pub struct NoopEvents {
    left: usize,
    message: Option<Arc<Message>>,
}

impl Stream for NoopEvents {
    type Item = Result<ModelEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return Poll::Ready(Some(Ok(ModelEvent::Text(Delta { message: 0, text: String::new() }))));
        }
        let message = self.message.take();
        Poll::Ready(message.map(|message| Ok(ModelEvent::Response(Box::new(Response::of(message, StopReason::EndTurn))))))
    }
}
