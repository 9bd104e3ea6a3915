use std::sync::Arc;

use tower_genai_core::{Error, ServerTool};
use tower_layer::Layer;

use crate::ServerTools;

/// Adds provider-hosted tools. See the [crate docs](crate) for an example.
#[derive(Clone, Debug)]
pub struct ServerToolsLayer {
    tools: Arc<[ServerTool]>,
}

impl ServerToolsLayer {
    /// These tools: type strings, or [`ServerTool`]s with a configuration.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) for an empty list, a blank type, or a key that occurs twice.
    pub fn with<T>(tools: impl IntoIterator<Item = T>) -> Result<Self, Error>
    where
        T: TryInto<ServerTool>,
        Error: From<T::Error>,
    {
        let mut out: Vec<ServerTool> = Vec::new();
        for tool in tools {
            let tool: ServerTool = tool.try_into().map_err(|error| -> Error { error.into() })?;
            let tool = match ServerTool::fixed_name(tool.tool_type()) {
                Some(name) => tool.named(name)?,
                None => tool,
            };
            if out.iter().any(|present| present.key() == tool.key()) {
                return Err(Error::invalid(format!("server tool `{}` is listed twice; keep one of the two", tool.tool_type())));
            }
            out.push(tool);
        }
        if out.is_empty() {
            return Err(Error::invalid("the list of server tools is empty; name at least one type, or leave the layer out"));
        }
        Ok(Self { tools: out.into() })
    }

    /// Web search and fetch on Anthropic Messages: `web_search_20260318`, `web_fetch_20260318`.
    #[must_use]
    pub fn anthropic() -> Self {
        Self::known(&["web_search_20260318", "web_fetch_20260318"])
    }

    /// Web search on OpenAI Responses: `web_search`.
    #[must_use]
    pub fn openai() -> Self {
        Self::known(&["web_search"])
    }

    /// Web search and page reading on Gemini: `google_search`, `url_context`.
    #[must_use]
    pub fn google() -> Self {
        Self::known(&["google_search", "url_context"])
    }

    /// Web search and fetch on OpenRouter's Chat Completions: `openrouter:web_search`, `openrouter:web_fetch`.
    #[must_use]
    pub fn openrouter() -> Self {
        Self::known(&["openrouter:web_search", "openrouter:web_fetch"])
    }

    /// Web search on DeepSeek Responses: `web_search`.
    #[must_use]
    pub fn deepseek() -> Self {
        Self::known(&["web_search"])
    }

    /// Web search on DeepSeek's Messages endpoint: `web_search_20250305`. It takes later versions for tools of the caller.
    #[must_use]
    pub fn deepseek_messages() -> Self {
        Self::known(&["web_search_20250305"])
    }

    /// Web and X search on xAI Responses: `web_search`, `x_search`.
    #[must_use]
    pub fn xai() -> Self {
        Self::known(&["web_search", "x_search"])
    }

    /// The tools in order.
    #[must_use]
    pub fn tools(&self) -> &[ServerTool] {
        &self.tools
    }

    fn known(types: &[&str]) -> Self {
        // The types are valid and distinct, as a test says.
        Self::with(types.iter().copied()).unwrap_or_else(|_| Self { tools: Arc::from([]) })
    }
}

impl<S> Layer<S> for ServerToolsLayer {
    type Service = ServerTools<S>;

    fn layer(&self, inner: S) -> ServerTools<S> {
        ServerTools::new(inner, self.tools.clone())
    }
}
