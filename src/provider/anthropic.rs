//! Anthropic Messages, ready to use.

use std::sync::Arc;

use http::HeaderName;

use super::{Auth, Provider, endpoint::Endpoint, settings::Settings};
use crate::{
    protocols::{Capabilities, anthropic_messages::AnthropicMessages},
    transport::Reqwest,
};

/// The Anthropic Messages API.
///
/// ```
/// use tower_genai::{DeferralMode, provider::Anthropic};
///
/// let provider = Anthropic::new("key", "a-model");
/// assert_eq!(provider.deferral(), DeferralMode::Reference);
/// ```
pub type Anthropic<H = Reqwest> = Provider<AnthropicMessages, H>;

impl Anthropic {
    /// A model of Anthropic at `https://api.anthropic.com`, over [`Reqwest`], with [`Capabilities::anthropic`].
    #[must_use]
    pub fn new(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> Self {
        let auth = Auth::Header(HeaderName::from_static("x-api-key"));
        let endpoint = Endpoint::https("api.anthropic.com");
        Self::with(Settings::new(AnthropicMessages::default(), endpoint, auth, api_key.as_ref(), model.into(), Capabilities::anthropic()))
    }
}
