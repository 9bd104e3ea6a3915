//! What the benches share, and what a bench of your own layer needs: a request of a size, one call, one stream.

use std::{hint::black_box, pin::pin};

use futures_util::{FutureExt, StreamExt};
use tower::{
    Service, ServiceBuilder,
    layer::util::{Identity, Stack},
};
use tower_genai::{
    Conversation, DeferralMode, Error, Json, Message, ModelEvent, ModelRequest, ToolDefinition, ToolSet,
    deferred_tools::DeferredToolsLayer, server_tools::ServerToolsLayer, tool_guidelines::ToolGuidelinesLayer, tool_search::ToolSearchLayer,
};

/// A set of so many tools, nine of ten deferred.
pub(crate) fn tools(count: usize) -> ToolSet {
    let parameters =
        Json::parse(r#"{"type":"object","properties":{"path":{"type":"string","description":"Where it is"}},"required":["path"]}"#);
    let parameters = parameters.unwrap_or_default();
    let tool = |number: usize| {
        ToolDefinition::new(format!("tool_{number}"))
            .description(format!("Does the thing with number {number}"))
            .parameters(parameters.clone())
            .snippet(format!("tool_{number}(path)"))
            .guideline("Say why.")
            .deferred(number % 10 != 0)
    };
    ToolSet::new((0..count).map(tool)).unwrap_or_default()
}

/// A request with these tools and so many messages.
pub(crate) fn request(tools: &ToolSet, messages: usize) -> ModelRequest {
    let turns = (0..messages).map(|number| match number % 2 {
        0 => Message::user(format!("question {number}")),
        _ => Message::assistant(format!("answer {number}")),
    });
    ModelRequest::new().system("You are a bench.").messages(Conversation::from_iter(turns)).tools(tools.clone())
}

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
