//! The Anthropic Messages API.

mod decode;
mod encode;
mod error;

use std::{collections::HashMap, sync::Arc};

use http::{HeaderMap, HeaderValue, StatusCode, header::HeaderName};
use tower_genai_core::{Cache, DeferralMode, Error, Identity, ModelRequest, ToolName};

pub use decode::Decoder;

use self::encode::WireTools;
use super::{Capabilities, Encoded, Paused, Protocol, Target};

const VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// The Anthropic Messages API, `POST /v1/messages`.
///
/// A message of the model goes back as the blocks that the endpoint wrote, kept in [`Replay::items`](tower_genai_core::Replay::items). Where
/// code ran, the last item is no block but `{"container":{..}}`: the newest one is sent in the field of that name.
///
/// Clones share a small cache of encoded tool sets, so that ten thousand unchanged definitions are written once.
#[derive(Clone, Debug)]
pub struct AnthropicMessages {
    version: HeaderValue,
    tools: Cache<Identity, Arc<WireTools>>,
}

impl AnthropicMessages {
    /// The protocol with `anthropic-version: 2023-06-01`.
    #[must_use]
    pub fn new() -> Self {
        Self { version: HeaderValue::from_static("2023-06-01"), tools: Cache::new(16) }
    }

    /// Sets the value of `anthropic-version`. Newer versions refuse sampling parameters:
    /// see [`Capabilities::sampling`].
    #[must_use]
    pub fn version(mut self, version: HeaderValue) -> Self {
        self.version = version;
        self
    }
}

impl Default for AnthropicMessages {
    fn default() -> Self {
        Self::new()
    }
}

impl Protocol for AnthropicMessages {
    const NAME: &'static str = "anthropic";
    type Context = Context;
    type Decoder = Decoder;

    fn path(&self, _: &Target) -> String {
        "/v1/messages".to_owned()
    }

    fn headers(&self) -> HeaderMap {
        HeaderMap::from_iter([(VERSION, self.version.clone())])
    }

    fn deferral_modes(&self) -> &'static [DeferralMode] {
        &[DeferralMode::Reference, DeferralMode::Append, DeferralMode::Hosted]
    }

    fn encode(&self, request: &ModelRequest, target: &Target, capabilities: &Capabilities) -> Result<Encoded<Context>, Error> {
        encode::encode(&self.tools, request, target, capabilities)
    }

    fn decoder(&self, context: Context, target: &Target, paused: Option<Paused>) -> Decoder {
        Decoder::new(context, target, paused)
    }

    fn error(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
        error::of_status(status, headers, body)
    }
}

/// What a decoder has to know of the request. The default is that of a request without tools.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The identities of tools that are called otherwise on the wire.
    names: Arc<HashMap<Box<str>, ToolName>>,
    /// What the search tool is called on the wire.
    search: Option<Arc<str>>,
    /// The hash of the prompt.
    prefix: Option<Arc<str>>,
}

impl Context {
    /// The identity of the tool that the model calls by a name.
    fn tool_name(&self, wire: &str) -> ToolName {
        self.names.get(wire).cloned().unwrap_or_else(|| ToolName::new(wire))
    }

    fn is_search(&self, wire: &str) -> bool {
        self.search.as_deref() == Some(wire)
    }
}
