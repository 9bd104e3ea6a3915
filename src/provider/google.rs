//! Google, ready to use.

use std::sync::Arc;

use http::HeaderName;
use tower_genai_core::Error;

use super::{Auth, Provider, endpoint::Endpoint};
use crate::{
    protocols::{Capabilities, gemini::GenerateContent},
    transport::Reqwest,
};

/// The Gemini API, and what speaks like it.
///
/// Vertex AI is the same protocol at another place and with a bearer token; it takes no server tools beside functions:
///
/// ```
/// use tower_genai::{
///     DeferralMode,
///     protocols::MixedTools,
///     provider::{Auth, Gemini},
/// };
///
/// let provider = Gemini::new("key", "gemini-3-pro");
/// assert_eq!(provider.deferral(), DeferralMode::Append);
///
/// let place = "https://aiplatform.googleapis.com/v1/projects/a-project/locations/global/publishers/google";
/// let mut vertex = Gemini::compatible(place, "token", "gemini-3-pro")?.auth(Auth::Bearer);
/// vertex.capabilities_mut().mixed_tools = MixedTools::Refused;
/// # Ok::<(), tower_genai::Error>(())
/// ```
pub type Gemini<H = Reqwest> = Provider<GenerateContent, H>;

impl Gemini {
    /// A model of Google at `https://generativelanguage.googleapis.com/v1beta`, over [`Reqwest`], with [`Capabilities::gemini`] and what is
    /// [known of the model](Capabilities::for_model).
    #[must_use]
    pub fn new(api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> Self {
        let endpoint = Endpoint::https("generativelanguage.googleapis.com/v1beta");
        let auth = Auth::Header(HeaderName::from_static("x-goog-api-key"));
        Self::known("gcp.gemini", endpoint, auth, api_key.as_ref(), model.into(), Capabilities::gemini())
    }

    /// A model at another place, as with [`new`](Self::new). The base URL is what stands before `/models`. The key goes out as
    /// `x-goog-api-key`; see [`auth`](Self::auth).
    ///
    /// # Errors
    ///
    /// As [`base_url`](Self::base_url).
    pub fn compatible(base_url: &str, api_key: impl AsRef<str>, model: impl Into<Arc<str>>) -> Result<Self, Error> {
        Self::new(api_key, model).base_url(base_url)
    }
}
