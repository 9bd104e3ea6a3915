use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use tower_genai_core::{ModelRequest, ToolSet, guidance::Parts};
use tower_service::Service;

use crate::{Placement, layer::Caches, text};

/// The service of a [`ToolGuidelinesLayer`](crate::ToolGuidelinesLayer).
#[derive(Clone, Debug)]
pub struct ToolGuidelines<S> {
    inner: S,
    placement: Placement,
    parts: Parts,
    caches: Caches,
}

impl<S> ToolGuidelines<S> {
    pub(crate) fn new(inner: S, placement: Placement, parts: Parts, caches: Caches) -> Self {
        Self { inner, placement, parts, caches }
    }

    tower_genai_core::inner_service_accessors!();

    fn write(&self, request: &mut ModelRequest) {
        if request.tools.is_empty() || self.parts == Parts::NONE {
            return;
        }
        let key = (request.tools.identity(), self.parts);
        match self.placement {
            Placement::SystemPrompt => {
                let build = || Ok::<Arc<str>, Infallible>(text::system_text(&request.tools, self.parts).into());
                let Ok(text) = self.caches.texts.get_or_try_build(key, build);
                // A second layer of the same kind finds the text there already.
                if !text.is_empty() && !request.system.contains(&text) {
                    request.system.push(text);
                }
            }
            Placement::Description => {
                let build = || {
                    let configuration: [&[u8]; 2] = [b"guidelines", &self.parts.key()];
                    request.tools.derive(&configuration, text::describe(&request.tools, self.parts))
                };
                // The names are those of a valid set, so that deriving cannot fail; if it did, the tools would stay as they are.
                let tools: Option<ToolSet> = self.caches.sets.get_or_try_build(key, build).ok();
                request.tools = tools.unwrap_or_else(|| request.tools.clone());
            }
        }
    }
}

impl<S, Req> Service<Req> for ToolGuidelines<S>
where
    S: Service<Req>,
    Req: AsMut<ModelRequest>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Req) -> S::Future {
        self.write(request.as_mut());
        self.inner.call(request)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use crate::{Placement, ToolGuidelinesLayer};
    use tower::Layer;
    use tower_genai_core::{ModelRequest, ModelServiceExt, ToolDefinition, ToolSet, testing::ScriptedModel};

    fn request() -> ModelRequest {
        let tools = [
            ToolDefinition::new("a").description("Does a.").snippet("a()").guideline("Rule."),
            ToolDefinition::new("d").description("Does d.").snippet("d()").guideline("Secret rule.").deferred(true),
        ];
        ModelRequest::new().system("First.").user("hi").tools(ToolSet::new(tools).unwrap())
    }

    async fn sent(layer: ToolGuidelinesLayer, times: usize) -> ModelRequest {
        let model = ScriptedModel::answering("ok");
        match times {
            1 => layer.layer(model.clone()).complete(request()).await.unwrap(),
            _ => layer.layer(layer.layer(model.clone())).complete(request()).await.unwrap(),
        };
        model.requests().remove(0)
    }

    #[tokio::test]
    async fn after_the_instructions_and_once() {
        for times in [1, 2] {
            let sent = sent(ToolGuidelinesLayer::new(), times).await;
            let system: Vec<_> = sent.system.iter().map(|text| &**text).collect();
            assert_eq!(system, ["First.", "# Tool snippets\n- a()\n\n# Tool guidelines\n## a\n- Rule."]);
            assert_eq!(sent.tools, request().tools, "definitions are untouched");
        }
    }

    #[tokio::test]
    async fn descriptions_once_and_nothing_in_the_system_prompt() {
        for times in [1, 2] {
            let sent = sent(ToolGuidelinesLayer::new().placement(Placement::Description), times).await;
            assert_eq!(sent.system.len(), 1);
            let texts: Vec<_> = sent.tools.iter().map(|tool| &*tool.description).collect();
            assert_eq!(texts, ["Does a.\n\nSnippet:\n- a()\n\nGuidelines:\n- Rule.", "Does d."]);
        }
    }

    #[tokio::test]
    async fn clones_with_other_options_do_not_share_texts() {
        let layer = ToolGuidelinesLayer::new();
        assert!(sent(layer.clone(), 1).await.system[1].contains("Rule."));
        assert!(!sent(layer.guidelines(false), 1).await.system[1].contains("Rule."));
    }

    #[test]
    fn says_where_it_writes() {
        assert!(ToolGuidelinesLayer::new().in_system_prompt());
        assert!(!ToolGuidelinesLayer::new().placement(Placement::Description).in_system_prompt());
        assert!(!ToolGuidelinesLayer::new().snippets(false).guidelines(false).in_system_prompt());
    }
}
