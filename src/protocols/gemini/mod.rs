//! Google's Gemini API, `models/MODEL:streamGenerateContent`.
//!
//! # What goes out
//!
//! Every request carries the whole dialogue, and the dialogue is the last member of the body, so that a longer one begins like a shorter
//! one. What the model says in one go is one content, also where the conversation holds several messages of it, and all answers to its calls
//! are one content directly behind it. Tools go out with `parametersJsonSchema`, those of the provider before the functions.
//!
//! A server tool is written as `{TYPE: configuration}`: `google_search`, `url_context`, `code_execution`, `file_search`, and whatever else the
//! API takes. Beside functions the models of the third generation want `includeServerSideToolInvocations`, which is set; where the
//! two cannot be mixed ([`MixedTools::Refused`](super::MixedTools::Refused)) the request is refused before any I/O.
//!
//! Nothing in a body says whether it is to be streamed; the path does. The field `stream` of
//! [`extra_body`](ModelRequest::extra_body), which `false` makes a request for a whole response, is not sent.
//!
//! # What is replayed
//!
//! The parts that this host and model wrote go back as they came, with their signatures; what it thought goes back only where it is
//! signed. Texts without a signature that follow each other are one. Calls that others made are given the placeholder
//! `skip_thought_signature_validator` where the model insists on a signature ([`Capabilities::call_signatures`]). An answer repeats the id of
//! its call where the endpoint gave one; elsewhere calls and answers go by their order.
//!
//! # What comes in
//!
//! The API has no last event: a response is complete when its body ends behind a finish reason, or behind the news that the prompt was
//! blocked. Tokens that the provider's tools put into the prompt are counted neither as input nor as output.
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
//!     protocols::{Capabilities, Protocol, Target, gemini::GenerateContent},
//! };
//!
//! let request = ModelRequest::new().user("hi");
//! let protocol = GenerateContent::new();
//! let target = Target::new("generativelanguage.googleapis.com", "gemini-3-pro");
//! assert_eq!(protocol.path(&target), "/models/gemini-3-pro:streamGenerateContent?alt=sse");
//! let encoded = protocol.encode(&request, &target, &Capabilities::gemini())?;
//! assert_eq!(encoded.body, r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#);
//! # Ok::<(), tower_genai::Error>(())
//! ```
//!
//! Sources: Google's pages on [generating content], [function calling], [thought signatures], [thinking] and [tool combination].
//!
//! [generating content]: https://ai.google.dev/api/generate-content
//! [function calling]: https://ai.google.dev/gemini-api/docs/function-calling
//! [thought signatures]: https://ai.google.dev/gemini-api/docs/thought-signatures
//! [thinking]: https://ai.google.dev/gemini-api/docs/thinking
//! [tool combination]: https://ai.google.dev/gemini-api/docs/tool-combination

mod decode;
mod encode;
mod error;

use http::{HeaderMap, StatusCode};
use tower_genai_core::{Cache, Error, ModelRequest};

use super::{Capabilities, Encoded, Paused, Protocol, Target, functions::FunctionCache};

pub use super::context::Context;
pub use decode::Decoder;

const NAME: &str = "gemini";

/// The Gemini API, `POST /models/MODEL:streamGenerateContent` behind a base URL that ends in the version.
///
/// Clones share a small cache of encoded tool sets.
#[derive(Clone, Debug)]
pub struct GenerateContent {
    functions: FunctionCache,
}

impl GenerateContent {
    /// The protocol.
    #[must_use]
    pub fn new() -> Self {
        Self { functions: Cache::new(16) }
    }
}

impl Default for GenerateContent {
    fn default() -> Self {
        Self::new()
    }
}

/// The path to a model and a method.
fn path(model: &str, method: &str) -> String {
    // A name may say itself what it is the name of: `tunedModels/..`.
    let collection = if model.contains('/') { "" } else { "models/" };
    format!("/{collection}{model}:{method}")
}

impl Protocol for GenerateContent {
    const NAME: &'static str = NAME;
    type Context = Context;
    type Decoder = Decoder;

    fn path(&self, target: &Target) -> String {
        path(&target.model, "streamGenerateContent?alt=sse")
    }

    fn encode(&self, request: &ModelRequest, target: &Target, capabilities: &Capabilities) -> Result<Encoded<Context>, Error> {
        encode::encode(&self.functions, request, target, capabilities)
    }

    fn decoder(&self, context: Context, target: &Target, _: Option<Paused>) -> Decoder {
        Decoder::new(context, target)
    }

    fn error(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
        error::of_status(status, headers, body)
    }
}
