//! OpenAI, ready to use.

use std::sync::Arc;

use tower_genai_core::{DeferralMode, Error};

use super::{Auth, Provider, endpoint::Endpoint};
use crate::{
    protocols::{Capabilities, chat_completions::ChatCompletions, openai_responses::OpenAiResponses},
    transport::Reqwest,
};

/// The OpenAI Responses API, and what speaks like it.
///
/// ```
/// use tower_genai::{DeferralMode, provider::OpenAi};
///
/// let provider = OpenAi::new("key", "gpt-5.4");
/// assert_eq!(provider.deferral(), DeferralMode::SearchOutput);
/// let elsewhere = OpenAi::compatible("https://llm.example.com/v1", "key", "a-model")?;
/// assert_eq!(elsewhere.deferral(), DeferralMode::Append);
/// # Ok::<(), tower_genai::Error>(())
/// ```
pub type OpenAi<H = Reqwest> = Provider<OpenAiResponses, H>;

impl OpenAi {
    /// A model of OpenAI at `https://api.openai.com/v1`, over [`Reqwest`], with [`Capabilities::openai_responses`] and what is
    /// [known of the model](Capabilities::for_model).
    #[must_use]
    pub fn new(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> Self {
        let endpoint = Endpoint::https("api.openai.com/v1");
        Self::known("openai", endpoint, Auth::Bearer, api_key.as_ref(), model.into(), Capabilities::openai_responses())
    }

    /// A model at another host that speaks the Responses API, with what hosts can be taken to understand: loaded tools are declared as
    /// functions ([`DeferralMode::Append`]). Change the [capabilities](Self::capabilities_mut) where yours understands more.
    ///
    /// # Errors
    ///
    /// As [`base_url`](Self::base_url).
    pub fn compatible(base_url: &str, api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> Result<Self, Error> {
        let capabilities =
            Capabilities { deferral: DeferralMode::Append, additional_tools: false, metadata: false, ..Capabilities::openai_responses() };
        Self::for_protocol(OpenAiResponses::new(), capabilities, base_url, api_key, model)
    }
}

/// The Chat Completions API of OpenAI, and what speaks like it.
///
/// ```
/// use tower_genai::provider::OpenAiChat;
///
/// let openai = OpenAiChat::new("key", "gpt-5.4");
/// let local = OpenAiChat::compatible("http://localhost:8000/v1", "key", "a-model")?;
/// assert_eq!((openai.get_capabilities().max_tools, local.get_capabilities().max_tools), (Some(128), None));
/// # Ok::<(), tower_genai::Error>(())
/// ```
pub type OpenAiChat<H = Reqwest> = Provider<ChatCompletions, H>;

impl OpenAiChat {
    /// A model of OpenAI at `https://api.openai.com/v1`, over [`Reqwest`], with [`Capabilities::openai_chat`] and what is
    /// [known of the model](Capabilities::for_model).
    #[must_use]
    pub fn new(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> Self {
        let endpoint = Endpoint::https("api.openai.com/v1");
        Self::known("openai", endpoint, Auth::Bearer, api_key.as_ref(), model.into(), Capabilities::openai_chat())
    }

    /// A model at another host that speaks Chat Completions, with [`Capabilities::compatible_chat`].
    ///
    /// # Errors
    ///
    /// As [`base_url`](Self::base_url).
    pub fn compatible(base_url: &str, api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> Result<Self, Error> {
        Self::for_protocol(ChatCompletions::new(), Capabilities::compatible_chat(), base_url, api_key, model)
    }
}
