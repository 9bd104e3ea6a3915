use std::task::{Context, Poll};

use tower_genai_core::{Deferral, Error, Lowering, ModelRequest, ResponseFuture};
use tower_service::Service;

/// The service of a [`DeferredToolsLayer`](crate::DeferredToolsLayer).
#[derive(Clone, Debug)]
pub struct DeferredTools<S> {
    inner: S,
    lowering: Lowering,
    innermost: bool,
}

impl<S> DeferredTools<S> {
    pub(crate) fn new(inner: S, lowering: Lowering, innermost: bool) -> Self {
        Self { inner, lowering, innermost }
    }

    tower_genai_core::inner_service_accessors!();

    fn prepare(&self, request: &mut ModelRequest) -> Result<(), Error> {
        if self.innermost || Lowering::is_ready(request) {
            return self.lowering.lower(request);
        }
        if request.deferral == Deferral::Unset {
            request.deferral = Deferral::Wanted(self.lowering.mode());
        }
        Ok(())
    }
}

impl<S, Req> Service<Req> for DeferredTools<S>
where
    S: Service<Req>,
    S::Error: From<Error>,
    Req: AsMut<ModelRequest>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Req) -> Self::Future {
        match self.prepare(request.as_mut()) {
            Ok(()) => ResponseFuture::calling(self.inner.call(request)),
            Err(error) => ResponseFuture::refused(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use crate::{DeferralMode, DeferredToolsLayer};
    use tower::Layer;
    use tower_genai_core::{Deferral, ErrorKind, ModelRequest, ModelServiceExt, ToolDefinition, ToolKind, ToolSet, testing::ScriptedModel};

    fn deferred(search: bool) -> ModelRequest {
        let hidden = ToolDefinition::new("hidden").description("x".repeat(100)).deferred(true);
        let search = search.then(|| ToolDefinition::new("tool_search").kind(ToolKind::Search));
        ModelRequest::new().user("hi").tools(ToolSet::new([hidden].into_iter().chain(search)).unwrap())
    }

    async fn sent(layer: DeferredToolsLayer, request: ModelRequest) -> ModelRequest {
        let model = ScriptedModel::answering("ok");
        layer.layer(layer.layer(model.clone())).complete(request).await.unwrap();
        model.requests().remove(0)
    }

    #[tokio::test]
    async fn waits_for_a_search_that_may_come_further_in() {
        let request = sent(DeferredToolsLayer::new(DeferralMode::Reference), deferred(false)).await;
        assert_eq!((request.deferral, request.tools.deferred_len()), (Deferral::Wanted(DeferralMode::Reference), 1));
        let request = sent(DeferredToolsLayer::new(DeferralMode::SearchOutput), deferred(true)).await;
        assert_eq!((request.deferral, request.tools.len()), (Deferral::Lowered(DeferralMode::SearchOutput), 1));
    }

    #[tokio::test]
    async fn innermost_always_finishes() {
        let request = sent(DeferredToolsLayer::innermost(DeferralMode::Append), deferred(false)).await;
        assert_eq!((request.deferral, request.tools.deferred_len()), (Deferral::Lowered(DeferralMode::Append), 0));
    }

    #[tokio::test]
    async fn refuses_before_the_inner_call() {
        let model = ScriptedModel::answering("ok");
        let layer = DeferredToolsLayer::innermost(DeferralMode::Reference).max_definition_bytes(50);
        let error = layer.layer(model.clone()).complete(deferred(false)).await.unwrap_err();
        assert_eq!((error.kind(), model.requests().len()), (ErrorKind::TooLarge, 0));
    }
}
