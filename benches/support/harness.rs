//! What a bench of a layer needs: one call of a service, one stream read to its end, and the stack to compare with.

use std::{hint::black_box, pin::pin};

use futures_util::{FutureExt, StreamExt};
use tower::{
    Service, ServiceBuilder,
    layer::util::{Identity, Stack},
};
use tower_genai::{
    DeferralMode, Error, ModelEvent, ModelRequest, deferred_tools::DeferredToolsLayer, server_tools::ServerToolsLayer,
    tool_guidelines::ToolGuidelinesLayer, tool_search::ToolSearchLayer,
};

type Four = Stack<DeferredToolsLayer, Stack<ToolGuidelinesLayer, Stack<ToolSearchLayer, Stack<ServerToolsLayer, Identity>>>>;

/// The stack of the four layers.
pub(crate) fn stack() -> Four {
    ServiceBuilder::new()
        .layer(ServerToolsLayer::anthropic())
        .layer(ToolSearchLayer::new())
        .layer(ToolGuidelinesLayer::new())
        .layer(DeferredToolsLayer::new(DeferralMode::Reference))
        .into_inner()
}

/// One call of a service that answers at once; gives the stream.
pub(crate) fn call<S>(service: &mut S, request: ModelRequest) -> Option<S::Response>
where
    S: Service<ModelRequest, Error = Error>,
{
    let ready = std::future::poll_fn(|cx| service.poll_ready(cx)).now_or_never();
    black_box(ready.is_some());
    service.call(request).now_or_never()?.ok()
}

/// Reads a stream to its end.
pub(crate) fn drain<T: futures_util::Stream<Item = Result<ModelEvent, Error>>>(stream: Option<T>) {
    let Some(stream) = stream else { return };
    let mut stream = pin!(stream);
    while let Some(Some(event)) = stream.next().now_or_never() {
        let _ = black_box(event);
    }
}
