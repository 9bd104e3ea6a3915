//! Ollama, ready to use.

use std::sync::Arc;

use tower_genai_core::Error;

use super::{Auth, Provider, endpoint::Endpoint};
use crate::{
    protocols::{Capabilities, ollama::OllamaChat},
    transport::Reqwest,
};

/// A server of Ollama.
///
/// ```
/// use tower_genai::{DeferralMode, provider::Ollama};
///
/// let local = Ollama::new("qwen3");
/// assert_eq!(local.deferral(), DeferralMode::Append);
/// let cloud = Ollama::new("gpt-oss:120b").base_url("https://ollama.com")?.api_key("key");
/// # Ok::<(), tower_genai::Error>(())
/// ```
pub type Ollama<H = Reqwest> = Provider<OllamaChat, H>;

impl Ollama {
    /// A model of the server at `http://localhost:11434`, over [`Reqwest`] and without a key, with [`Capabilities::ollama`] and what is
    /// [known of the model](Capabilities::for_model).
    ///
    /// Another server is a matter of [`base_url`](Self::base_url), a key of [`api_key`](Self::api_key).
    #[must_use]
    pub fn new(model: impl Into<Arc<str>>) -> Self {
        Self::known("ollama", Endpoint::local(11434), Auth::None, "", model.into(), Capabilities::ollama())
    }

    /// A model of another server, as with [`new`](Self::new).
    ///
    /// # Errors
    ///
    /// As [`base_url`](Self::base_url).
    pub fn compatible(base_url: &str, model: impl Into<Arc<str>>) -> Result<Self, Error> {
        Self::new(model).base_url(base_url)
    }
}
