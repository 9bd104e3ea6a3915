//! Anthropic Messages, ready to use.

use std::sync::Arc;

use http::HeaderName;
use tower_genai_core::{DeferralMode, Error};

use super::{Auth, Provider, endpoint::Endpoint};
use crate::{
    protocols::{Capabilities, anthropic_messages::AnthropicMessages},
    transport::Reqwest,
};

/// The Anthropic Messages API, and what speaks like it.
///
/// ```
/// use tower_genai::{DeferralMode, provider::Anthropic};
///
/// let provider = Anthropic::new("key", "a-model");
/// assert_eq!(provider.deferral(), DeferralMode::Reference);
/// let elsewhere = Anthropic::compatible("https://llm.example.com", "key", "a-model")?;
/// assert_eq!(elsewhere.deferral(), DeferralMode::Append);
/// # Ok::<(), tower_genai::Error>(())
/// ```
pub type Anthropic<H = Reqwest> = Provider<AnthropicMessages, H>;

impl Anthropic {
    /// A model of Anthropic at `https://api.anthropic.com`, over [`Reqwest`], with [`Capabilities::anthropic`] and what is
    /// [known of the model](Capabilities::for_model).
    #[must_use]
    pub fn new(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> Self {
        let endpoint = Endpoint::https("api.anthropic.com");
        Self::known("anthropic", endpoint, key_header(), api_key.as_ref(), model.into(), Capabilities::anthropic())
    }

    /// A model at another host that speaks Messages, with what hosts can be taken to understand: loaded tools are declared as
    /// ordinary ones ([`DeferralMode::Append`]). Change the [capabilities](Self::capabilities_mut) where yours understands more. The key
    /// goes out as `x-api-key`; see [`auth`](Self::auth).
    ///
    /// # Errors
    ///
    /// As [`base_url`](Self::base_url).
    pub fn compatible(base_url: &str, api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> Result<Self, Error> {
        let capabilities = Capabilities {
            deferral: DeferralMode::Append,
            max_deferred_tools: None,
            max_body_bytes: None,
            bound_thinking: false,
            ..Capabilities::anthropic()
        };
        let model = model.into();
        let capabilities = capabilities.for_model(&model);
        Ok(Self::for_protocol(AnthropicMessages::default(), capabilities, base_url, api_key, model)?.auth(key_header()))
    }
}

fn key_header() -> Auth {
    Auth::Header(HeaderName::from_static("x-api-key"))
}
