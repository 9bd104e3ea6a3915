use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use tower_genai_core::{
    BoxError, Error, ModelEvent, ModelRequest, ToolCall,
    rounds::{RoundsFuture, RoundsStream},
};
use tower_service::Service;

use crate::{ToolOutput, layer::Config, looping::Looping};

/// The response future of a [`ToolLoop`].
pub type ToolLoopFuture<S, Req, T> = RoundsFuture<S, Req, Looping<Req, T>>;

/// The stream of a [`ToolLoop`]: the events of all rounds as one.
pub type ToolLoopStream<S, Req, T> = RoundsStream<S, Req, Looping<Req, T>>;

/// The service of a [`ToolLoopLayer`](crate::ToolLoopLayer).
#[derive(Clone)]
pub struct ToolLoop<S, T> {
    inner: S,
    tools: T,
    config: Arc<Config>,
}

impl<S, T> ToolLoop<S, T> {
    pub(crate) fn new(inner: S, tools: T, config: Arc<Config>) -> Self {
        Self { inner, tools, config }
    }

    tower_genai_core::inner_service_accessors!();
}

impl<S: fmt::Debug, T> fmt::Debug for ToolLoop<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolLoop").field("inner", &self.inner).field("config", &self.config).finish_non_exhaustive()
    }
}

impl<S, T, Req> Service<Req> for ToolLoop<S, T>
where
    S: Service<Req> + Clone,
    S::Response: Stream<Item = Result<ModelEvent, Error>>,
    S::Error: From<Error>,
    Error: From<S::Error>,
    Req: AsMut<ModelRequest> + Clone,
    T: Service<ToolCall, Response = ToolOutput> + Clone + Send + 'static,
    T::Error: Into<BoxError>,
    T::Future: Send,
{
    type Response = ToolLoopStream<S, Req, T>;
    type Error = S::Error;
    type Future = ToolLoopFuture<S, Req, T>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        // The instance that is ready is the one that is called.
        let clone = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, clone);
        let looping = Looping::new(request, self.tools.clone(), self.config.clone());
        RoundsFuture::calling(service, looping.request(), looping)
    }
}
