//! OpenAI Responses, ready to use.

use std::sync::Arc;

use super::{Auth, Provider, endpoint::Endpoint, settings::Settings};
use crate::{
    protocols::{Capabilities, openai_responses::OpenAiResponses},
    transport::Reqwest,
};

/// The OpenAI Responses API.
///
/// ```
/// use tower_genai::{DeferralMode, provider::OpenAi};
///
/// let provider = OpenAi::new("key", "a-model");
/// assert_eq!(provider.deferral(), DeferralMode::SearchOutput);
/// ```
pub type OpenAi<H = Reqwest> = Provider<OpenAiResponses, H>;

impl OpenAi {
    /// A model of OpenAI at `https://api.openai.com/v1`, over [`Reqwest`], with [`Capabilities::openai_responses`].
    #[must_use]
    pub fn new(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> Self {
        let endpoint = Endpoint::https("api.openai.com/v1");
        Self::with(Settings {
            name: "openai".into(),
            ..Settings::new(
                OpenAiResponses::default(),
                endpoint,
                Auth::Bearer,
                api_key.as_ref(),
                model.into(),
                Capabilities::openai_responses(),
            )
        })
    }
}
