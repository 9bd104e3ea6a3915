//! The OpenAI Responses API and its compatibles.

mod decode;
mod encode;
mod error;
mod item;

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use tower_genai_core::{Cache, Error, Identity, ModelRequest, ToolName};

use super::{Capabilities, Encoded, Paused, Protocol, Target, wire_names::WireNames};
use encode::tools::WireTools;

pub use decode::Decoder;

const NAME: &str = "openai_responses";

/// The OpenAI Responses API, `POST /responses` behind a base URL that ends in `/v1`.
///
/// Every request carries the whole dialogue and asks the service to store nothing. Clones share a small cache of encoded tool sets.
#[derive(Clone, Debug)]
pub struct OpenAiResponses {
    tools: Cache<Identity, Arc<WireTools>>,
}

impl OpenAiResponses {
    /// The protocol.
    #[must_use]
    pub fn new() -> Self {
        Self { tools: Cache::new(16) }
    }
}

impl Default for OpenAiResponses {
    fn default() -> Self {
        Self::new()
    }
}

/// What a [`Decoder`] has to know of the request.
#[derive(Clone, Debug, Default)]
pub struct Context {
    names: WireNames,
    /// The tool that searches deferred tools.
    search: Option<ToolName>,
}

impl Protocol for OpenAiResponses {
    const NAME: &'static str = NAME;
    type Context = Context;
    type Decoder = Decoder;

    fn path(&self, _: &Target) -> String {
        "/responses".to_owned()
    }

    fn encode(&self, request: &ModelRequest, target: &Target, capabilities: &Capabilities) -> Result<Encoded<Context>, Error> {
        encode::encode(&self.tools, request, target, capabilities)
    }

    fn decoder(&self, context: Context, target: &Target, _: Option<Paused>) -> Decoder {
        Decoder::new(context, target)
    }

    fn error(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
        error::of_status(status, headers, body)
    }
}
