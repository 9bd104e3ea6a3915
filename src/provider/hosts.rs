//! Providers that speak the protocols of others.
//!
//! Each is a module with a function for every API that the provider has. What it gives is a [`Provider`](super::Provider) like any other:
//! base URL, headers, query, fields of the body and [capabilities](super::Provider::capabilities_mut) can be changed.

use std::sync::Arc;

use tower_genai_core::DeferralMode;

use super::{Auth, endpoint::Endpoint};
use crate::protocols::{CallIds, Capabilities, ServerToolForm, ThinkingStyle};

/// The capabilities of Responses at a host that only looks compatible.
const RESPONSES: Capabilities = Capabilities {
    deferral: DeferralMode::Append,
    additional_tools: false,
    metadata: false,
    prompt_cache: false,
    ..Capabilities::openai_responses()
};

/// The capabilities of Messages at a host that only looks compatible.
#[cfg(feature = "anthropic")]
const MESSAGES: Capabilities = Capabilities {
    deferral: DeferralMode::Append,
    max_deferred_tools: None,
    max_body_bytes: None,
    bound_thinking: false,
    ..Capabilities::anthropic()
};

/// DeepSeek, `https://api.deepseek.com`.
///
/// ```
/// use tower_genai::{DeferralMode, provider::deepseek};
///
/// let provider = deepseek::chat("key", "deepseek-chat");
/// assert_eq!(provider.deferral(), DeferralMode::Append);
/// ```
pub mod deepseek {
    use super::*;
    use crate::provider::{OpenAi, OpenAiChat};

    /// Chat Completions. What the model thought goes back with its calls, which the service insists on; hosted tools are to be had with
    /// [`responses`] only.
    #[must_use]
    pub fn chat(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> OpenAiChat {
        let capabilities = Capabilities {
            max_tools: Some(128),
            parallel_tool_calls: false,
            output_schema: false,
            thinking: ThinkingStyle::Switch,
            reasoning_content: true,
            images: false,
            ..Capabilities::compatible_chat()
        };
        OpenAiChat::known("deepseek", endpoint(""), Auth::Bearer, api_key.as_ref(), model.into(), capabilities)
    }

    /// Responses. The service stores nothing and shows what the model thought as plain text.
    #[must_use]
    pub fn responses(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> OpenAi {
        let capabilities =
            Capabilities { parallel_tool_calls: false, encrypted_reasoning: false, images: false, tool_images: false, ..RESPONSES };
        OpenAi::known("deepseek", endpoint(""), Auth::Bearer, api_key.as_ref(), model.into(), capabilities)
    }

    /// Anthropic Messages. The service hides tools with `defer_loading` for good, so loaded tools are declared; it ignores cache breakpoints.
    #[cfg(feature = "anthropic")]
    #[must_use]
    pub fn messages(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> crate::provider::Anthropic {
        let capabilities =
            Capabilities { thinking: ThinkingStyle::Budget, prompt_cache: false, images: false, tool_images: false, ..MESSAGES };
        let auth = Auth::Header(http::HeaderName::from_static("x-api-key"));
        crate::provider::Anthropic::known("deepseek", endpoint("/anthropic"), auth, api_key.as_ref(), model.into(), capabilities)
    }

    fn endpoint(path: &str) -> Endpoint {
        Endpoint::https(&format!("api.deepseek.com{path}"))
    }
}

/// OpenRouter, `https://openrouter.ai/api`.
///
/// Its own tools are server tools whose type begins with `openrouter:`.
///
/// ```
/// use tower_genai::{ModelRequest, ServerTool, provider::openrouter};
///
/// let provider = openrouter::chat("key", "vendor/a-model");
/// let request = ModelRequest::new().user("What is new?").server_tool(ServerTool::new("openrouter:web_search", r#"{"max_results":3}"#)?)?;
/// # Ok::<(), tower_genai::Error>(())
/// ```
pub mod openrouter {
    use super::*;
    use crate::provider::{OpenAi, OpenAiChat};

    /// Chat Completions.
    ///
    /// OpenRouter can search deferred tools by itself: set [`Capabilities::hosted_search`] to
    /// [`HostedSearch::Field`](crate::protocols::HostedSearch::Field) and declare the server tool `openrouter:tool_search`.
    #[must_use]
    pub fn chat(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> OpenAiChat {
        let capabilities = Capabilities {
            server_tools: ServerToolForm::Parameters,
            thinking: ThinkingStyle::Object,
            metadata: true,
            ..Capabilities::compatible_chat()
        };
        OpenAiChat::known("openrouter", endpoint("/v1"), Auth::Bearer, api_key.as_ref(), model.into(), capabilities)
    }

    /// Responses. Where the model behind it is known to take a client's `tool_search`, set [`Capabilities::deferral`] to
    /// [`DeferralMode::SearchOutput`] and [`Capabilities::additional_tools`].
    #[must_use]
    pub fn responses(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> OpenAi {
        let capabilities = Capabilities { server_tools: ServerToolForm::Parameters, metadata: true, ..RESPONSES };
        OpenAi::known("openrouter", endpoint("/v1"), Auth::Bearer, api_key.as_ref(), model.into(), capabilities)
    }

    /// Anthropic Messages.
    #[cfg(feature = "anthropic")]
    #[must_use]
    pub fn messages(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> crate::provider::Anthropic {
        crate::provider::Anthropic::known("openrouter", endpoint(""), Auth::Bearer, api_key.as_ref(), model.into(), MESSAGES)
    }

    fn endpoint(path: &str) -> Endpoint {
        Endpoint::https(&format!("openrouter.ai/api{path}"))
    }
}

/// xAI, `https://api.x.ai/v1`.
///
/// ```
/// use tower_genai::{ModelRequest, ServerTool, provider::xai};
///
/// let provider = xai::responses("key", "grok-4");
/// let request = ModelRequest::new().user("What is new?").server_tool(ServerTool::plain("x_search")?)?;
/// # Ok::<(), tower_genai::Error>(())
/// ```
pub mod xai {
    use super::*;
    use crate::provider::{OpenAi, OpenAiChat};

    /// Responses, with the tools that xAI runs (`web_search`, `x_search`, ..).
    #[must_use]
    pub fn responses(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> OpenAi {
        let capabilities = Capabilities { max_tools: Some(128), ..RESPONSES };
        OpenAi::known("x_ai", endpoint(), Auth::Bearer, api_key.as_ref(), model.into(), capabilities)
    }

    /// Chat Completions, which xAI calls deprecated: functions only.
    #[must_use]
    pub fn chat(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> OpenAiChat {
        let capabilities = Capabilities { max_tools: Some(128), stream_usage: false, ..Capabilities::compatible_chat() };
        OpenAiChat::known("x_ai", endpoint(), Auth::Bearer, api_key.as_ref(), model.into(), capabilities)
    }

    fn endpoint() -> Endpoint {
        Endpoint::https("api.x.ai/v1")
    }
}

/// Groq, `https://api.groq.com/openai/v1`.
///
/// ```
/// use tower_genai::provider::groq;
///
/// assert_eq!(groq::chat("key", "openai/gpt-oss-120b").model(), "openai/gpt-oss-120b");
/// ```
pub mod groq {
    use super::*;
    use crate::provider::OpenAiChat;

    /// Chat Completions, with the tools that Groq runs (`browser_search`, `code_interpreter`).
    #[must_use]
    pub fn chat(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> OpenAiChat {
        let capabilities = Capabilities {
            max_tools: Some(128),
            output_limit_field: "max_completion_tokens",
            server_tools: ServerToolForm::Flat,
            ..Capabilities::compatible_chat()
        };
        OpenAiChat::known("groq", Endpoint::https("api.groq.com/openai/v1"), Auth::Bearer, api_key.as_ref(), model.into(), capabilities)
    }
}

/// Mistral, `https://api.mistral.ai/v1`.
///
/// ```
/// use tower_genai::{protocols::CallIds, provider::mistral};
///
/// assert_eq!(mistral::chat("key", "mistral-large-latest").get_capabilities().call_ids, CallIds::Exactly(9));
/// ```
pub mod mistral {
    use super::*;
    use crate::provider::OpenAiChat;

    /// Chat Completions. The service refuses fields that it does not know, and wants ids of calls of nine letters and digits.
    #[must_use]
    pub fn chat(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> OpenAiChat {
        let capabilities = Capabilities { call_ids: CallIds::Exactly(9), stream_usage: false, ..Capabilities::compatible_chat() };
        OpenAiChat::known("mistral_ai", Endpoint::https("api.mistral.ai/v1"), Auth::Bearer, api_key.as_ref(), model.into(), capabilities)
    }
}
