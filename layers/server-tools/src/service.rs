use std::{
    sync::Arc,
    task::{Context, Poll},
};

use tower_genai_core::{Error, ModelRequest, ResponseFuture, ServerTool};
use tower_service::Service;

/// The service of a [`ServerToolsLayer`](crate::ServerToolsLayer).
#[derive(Clone, Debug)]
pub struct ServerTools<S> {
    inner: S,
    tools: Arc<[ServerTool]>,
}

impl<S> ServerTools<S> {
    pub(crate) fn new(inner: S, tools: Arc<[ServerTool]>) -> Self {
        Self { inner, tools }
    }

    tower_genai_core::inner_service_accessors!();
}

impl<S, Req> Service<Req> for ServerTools<S>
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
        let model_request = request.as_mut();
        model_request.server_tools.reserve(self.tools.len());
        for tool in self.tools.iter() {
            if let Err(error) = model_request.add_server_tool(tool.clone()) {
                return ResponseFuture::refused(error);
            }
        }
        ResponseFuture::calling(self.inner.call(request))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use crate::{ServerTool, ServerToolsLayer};
    use tower::{Layer, ServiceBuilder};
    use tower_genai_core::{ErrorKind, ModelRequest, ModelServiceExt, testing::ScriptedModel};

    #[test]
    fn the_defaults_of_each_provider() {
        let types = |layer: ServerToolsLayer| layer.tools().iter().map(|tool| tool.tool_type().to_owned()).collect::<Vec<_>>();
        assert_eq!(types(ServerToolsLayer::google()), ["google_search", "url_context"]);
        assert_eq!(types(ServerToolsLayer::anthropic()), ["web_search_20260318", "web_fetch_20260318"]);
        assert_eq!(types(ServerToolsLayer::openrouter()), ["openrouter:web_search", "openrouter:web_fetch"]);
        assert_eq!(types(ServerToolsLayer::openai()), ["web_search"]);
        assert_eq!(types(ServerToolsLayer::deepseek()), ["web_search"]);
        assert_eq!(types(ServerToolsLayer::deepseek_messages()), ["web_search_20250305"]);
        assert_eq!(types(ServerToolsLayer::xai()), ["web_search", "x_search"]);
        assert_eq!(ServerToolsLayer::anthropic().tools()[1].configuration().as_str(), r#"{"name":"web_fetch"}"#);
        assert_eq!(ServerToolsLayer::openai().tools()[0].configuration().as_str(), "{}");
    }

    #[test]
    fn refuses_what_cannot_be_sent() {
        assert!(ServerToolsLayer::with(Vec::<String>::new()).is_err());
        assert!(ServerToolsLayer::with([""]).is_err());
        assert!(ServerToolsLayer::with(["a", "a"]).unwrap_err().to_string().contains("`a`"));
        let label = |label: &str| ServerTool::new("mcp", &format!(r#"{{"server_label":"{label}"}}"#)).unwrap();
        assert_eq!(ServerToolsLayer::with([label("a"), label("b")]).unwrap().tools().len(), 2);
        assert!(ServerToolsLayer::with([label("a"), label("a")]).is_err());
    }

    #[tokio::test]
    async fn a_key_that_is_there_already_is_refused_before_the_call() {
        let model = ScriptedModel::answering("ok");
        let twice = ServiceBuilder::new().layer(ServerToolsLayer::openai()).layer(ServerToolsLayer::xai()).service(model.clone());
        let error = twice.complete(ModelRequest::new().user("hi")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.to_string().contains("`web_search`"), "{error}");
        let own = ModelRequest::new().user("hi").server_tool(ServerTool::plain("x_search").unwrap()).unwrap();
        assert!(ServerToolsLayer::xai().layer(model.clone()).complete(own).await.is_err());
        assert!(model.requests().is_empty());
    }

    #[tokio::test]
    async fn the_callers_own_tools_stay_first() {
        let model = ScriptedModel::answering("ok");
        let own = ModelRequest::new().user("hi").server_tool(ServerTool::plain("file_search").unwrap()).unwrap();
        ServerToolsLayer::xai().layer(model.clone()).complete(own).await.unwrap();
        let types: Vec<_> = model.requests()[0].server_tools.iter().map(|tool| tool.tool_type().to_owned()).collect();
        assert_eq!(types, ["file_search", "web_search", "x_search"]);
    }
}
