//! Ollama's own API, `POST /api/chat`.
//!
//! # What goes out
//!
//! Every request carries the whole dialogue, and the dialogue is the last member of the body, so that a longer one begins like a shorter
//! one. A message of the model is followed by one `tool` message for each of its calls, in the order of the calls: older servers know an
//! answer by the name of its tool and its place, newer ones by its id, so both are sent. Images go out in base64, with the user's
//! messages; those that a tool returned follow behind its answer, and of one that is only to be had at a URL the model reads the URL.
//!
//! The API has no choice of tools. [`ToolChoice::None`](tower_genai_core::ToolChoice::None) sends no tools; a forced call is refused before any I/O.
//! Limits and sampling are members of `options`; what else the server knows there (`num_ctx`, ..) goes into
//! [`extra_body`](tower_genai_core::ModelRequest::extra_body) under that key and joins them.
//!
//! # What is replayed
//!
//! What the model thought, as `thinking`, to the host and model that it came from.
//!
//! # Deferred tools
//!
//! The API has no deferral: the mode is [`Append`](tower_genai_core::DeferralMode::Append).
//!
//! # Example
//!
//! ```
//! use tower_genai::{
//!     ModelRequest,
//!     protocols::{Capabilities, Protocol, Target, ollama::OllamaChat},
//! };
//!
//! let request = ModelRequest::new().user("hi").max_output_tokens(10);
//! let target = Target::new("localhost:11434", "qwen3");
//! let encoded = OllamaChat::new().encode(&request, &target, &Capabilities::ollama())?;
//! assert_eq!(
//!     encoded.body,
//!     r#"{"model":"qwen3","stream":true,"options":{"num_predict":10},"messages":[{"role":"user","content":"hi"}]}"#
//! );
//! # Ok::<(), tower_genai::Error>(())
//! ```
//!
//! Sources: Ollama's [API reference](https://docs.ollama.com/api/chat) and its pages on [thinking](https://docs.ollama.com/capabilities/thinking)
//! and [tool calling](https://docs.ollama.com/capabilities/tool-calling).

mod decode;
mod encode;

use http::{HeaderMap, StatusCode};
use tower_genai_core::{Cache, Error, ModelRequest};

use super::{Capabilities, Encoded, Paused, Protocol, Target, error_body, functions::FunctionCache};

pub use super::context::Context;
pub use decode::Decoder;

const NAME: &str = "ollama";

/// The API of Ollama.
///
/// Clones share a small cache of encoded tool sets.
#[derive(Clone, Debug)]
pub struct OllamaChat {
    functions: FunctionCache,
}

impl OllamaChat {
    /// The protocol.
    #[must_use]
    pub fn new() -> Self {
        Self { functions: Cache::new(16) }
    }
}

impl Default for OllamaChat {
    fn default() -> Self {
        Self::new()
    }
}

impl Protocol for OllamaChat {
    const NAME: &'static str = NAME;
    type Context = Context;
    type Decoder = Decoder;

    fn path(&self, _: &Target) -> String {
        "/api/chat".to_owned()
    }

    fn encode(&self, request: &ModelRequest, target: &Target, capabilities: &Capabilities) -> Result<Encoded<Context>, Error> {
        encode::encode(&self.functions, request, target, capabilities)
    }

    fn decoder(&self, context: Context, target: &Target, _: Option<Paused>) -> Decoder {
        Decoder::new(context, target)
    }

    fn error(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
        error_body::of_status(status, headers, body)
    }
}
