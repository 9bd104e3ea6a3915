//! The recommended stack as one layer.

use tower::{layer::util::Identity, retry::RetryLayer};
use tower_genai_core::DeferralMode;
use tower_genai_deferred_tools::DeferredToolsLayer;
use tower_genai_tool_guidelines::ToolGuidelinesLayer;
use tower_genai_tool_search::ToolSearchLayer;
use tower_layer::Layer;

use crate::transport::RetryPolicy;

/// The recommended stack: server tools (none), tool search, tool guidelines, deferred tools, retries; in this order, outermost first.
///
/// Every part can be replaced by another layer, or left out with [`Identity`]; the order stays.
///
/// ```
/// use tower::{Layer, layer::util::Identity};
/// use tower_genai::{provider::Anthropic, server_tools::ServerToolsLayer, stacks::Recommended, tool_search::ToolSearchLayer};
///
/// let provider = Anthropic::new("key", "claude-...");
/// let stack = Recommended::new(provider.deferral())
///     .server_tools(ServerToolsLayer::anthropic())
///     .tool_search(ToolSearchLayer::new().limit(5)?)
///     .tool_guidelines(Identity::new());
/// let model = stack.layer(provider);
/// # drop(model);
/// # Ok::<(), tower_genai::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recommended<
    ServerTools = Identity,
    ToolSearch = ToolSearchLayer,
    ToolGuidelines = ToolGuidelinesLayer,
    DeferredTools = DeferredToolsLayer,
    Retry = RetryLayer<RetryPolicy>,
> {
    server_tools: ServerTools,
    tool_search: ToolSearch,
    tool_guidelines: ToolGuidelines,
    deferred_tools: DeferredTools,
    retry: Retry,
}

impl Recommended {
    /// The stack with its defaults, for the mode of the provider: `Recommended::new(provider.deferral())`.
    #[must_use]
    pub fn new(mode: DeferralMode) -> Self {
        Self {
            server_tools: Identity::new(),
            tool_search: ToolSearchLayer::new(),
            tool_guidelines: ToolGuidelinesLayer::new(),
            deferred_tools: DeferredToolsLayer::new(mode),
            retry: RetryLayer::new(RetryPolicy::default()),
        }
    }
}

impl<A, B, C, D, E> Recommended<A, B, C, D, E> {
    /// Replaces the outermost part, by default none.
    pub fn server_tools<L>(self, layer: L) -> Recommended<L, B, C, D, E> {
        let Self { tool_search, tool_guidelines, deferred_tools, retry, .. } = self;
        Recommended { server_tools: layer, tool_search, tool_guidelines, deferred_tools, retry }
    }

    /// Replaces the search layer.
    pub fn tool_search<L>(self, layer: L) -> Recommended<A, L, C, D, E> {
        let Self { server_tools, tool_guidelines, deferred_tools, retry, .. } = self;
        Recommended { server_tools, tool_search: layer, tool_guidelines, deferred_tools, retry }
    }

    /// Replaces the guidelines layer.
    pub fn tool_guidelines<L>(self, layer: L) -> Recommended<A, B, L, D, E> {
        let Self { server_tools, tool_search, deferred_tools, retry, .. } = self;
        Recommended { server_tools, tool_search, tool_guidelines: layer, deferred_tools, retry }
    }

    /// Replaces the deferred tools layer.
    pub fn deferred_tools<L>(self, layer: L) -> Recommended<A, B, C, L, E> {
        let Self { server_tools, tool_search, tool_guidelines, retry, .. } = self;
        Recommended { server_tools, tool_search, tool_guidelines, deferred_tools: layer, retry }
    }

    /// Replaces the innermost part: retries, or any stack of tower's layers that is to hold for each request.
    pub fn retry<L>(self, layer: L) -> Recommended<A, B, C, D, L> {
        let Self { server_tools, tool_search, tool_guidelines, deferred_tools, .. } = self;
        Recommended { server_tools, tool_search, tool_guidelines, deferred_tools, retry: layer }
    }
}

impl<S, A, B, C, D, E> Layer<S> for Recommended<A, B, C, D, E>
where
    E: Layer<S>,
    D: Layer<E::Service>,
    C: Layer<D::Service>,
    B: Layer<C::Service>,
    A: Layer<B::Service>,
{
    type Service = A::Service;

    fn layer(&self, inner: S) -> Self::Service {
        let inner = self.deferred_tools.layer(self.retry.layer(inner));
        self.server_tools.layer(self.tool_search.layer(self.tool_guidelines.layer(inner)))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Mutex},
        task::{Context, Poll},
    };

    use super::*;
    use tower::{Service, service_fn};
    use tower_genai_core::{AssistantPart, Json, ModelRequest, ModelServiceExt, ToolCall, ToolDefinition, ToolSet, testing::ScriptedModel};
    use tower_genai_server_tools::ServerToolsLayer;

    /// A layer that says when a request passes it.
    #[derive(Clone)]
    struct Note(&'static str, Arc<Mutex<Vec<&'static str>>>);

    struct Noted<S>(Note, S);

    impl<S> Layer<S> for Note {
        type Service = Noted<S>;
        fn layer(&self, inner: S) -> Noted<S> {
            Noted(self.clone(), inner)
        }
    }

    impl<S: Service<()>> Service<()> for Noted<S> {
        type Response = S::Response;
        type Error = S::Error;
        type Future = S::Future;
        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
            self.1.poll_ready(cx)
        }
        fn call(&mut self, request: ()) -> S::Future {
            self.0.1.lock().unwrap().push(self.0.0);
            self.1.call(request)
        }
    }

    #[tokio::test]
    async fn the_order_is_pinned() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let note = |name: &'static str| Note(name, seen.clone());
        let stack = Recommended::new(DeferralMode::Append)
            .retry(note("retry"))
            .tool_guidelines(note("tool guidelines"))
            .server_tools(note("server tools"))
            .deferred_tools(note("deferred tools"))
            .tool_search(note("tool search"));
        let inner = service_fn(|(): ()| async { Ok::<_, std::convert::Infallible>(()) });
        tower::ServiceExt::oneshot(stack.layer(inner), ()).await.unwrap();
        assert_eq!(*seen.lock().unwrap(), ["server tools", "tool search", "tool guidelines", "deferred tools", "retry"]);
    }

    #[tokio::test]
    async fn the_defaults_search_defer_guide_and_retry() {
        let mut calls = 0;
        let search = AssistantPart::Search(ToolCall::from_text("1", "tool_search", r#"{"queries":["weather"]}"#));
        let model = ScriptedModel::new(move |_| {
            calls += 1;
            let parts = match calls {
                1 => {
                    return Err(tower_genai_core::Error::new(tower_genai_core::ErrorKind::Overloaded, "busy")
                        .with_retry_after(std::time::Duration::ZERO));
                }
                2 => vec![search.clone()],
                _ => vec![AssistantPart::Text { text: "done".into() }],
            };
            let message = tower_genai_core::AssistantMessage::new(parts);
            let response = tower_genai_core::Response::of(message, tower_genai_core::StopReason::EndTurn);
            Ok(tower_genai_core::testing::events_of(response).into_iter().map(Ok).collect())
        });
        let stack = Recommended::new(DeferralMode::SearchOutput).server_tools(ServerToolsLayer::openai());
        let tools = ToolSet::new([ToolDefinition::new("get_weather").parameters(Json::empty_object()).deferred(true)]).unwrap();
        let response = stack.layer(model.clone()).complete(ModelRequest::new().user("hi").tools(tools)).await.unwrap();
        assert_eq!((response.text().as_str(), model.requests().len()), ("done", 3));
        let first = &model.requests()[0];
        assert_eq!((first.tools.len(), first.server_tools.len(), first.system.len()), (1, 1, 1));
    }
}
