//! Chat Completions: the API of OpenAI that nearly every other host speaks too.
//!
//! # What goes out
//!
//! Every request carries the whole dialogue, and the dialogue is the last member of the body, so that a longer one begins like a shorter
//! one. What differs from host to host is asked of [`Capabilities`]: start from [`Capabilities::openai_chat`] or
//! [`Capabilities::compatible_chat`].
//!
//! Each message of the model is directly followed by one `tool` message for each of its calls, in the order of the calls. Images that a tool
//! returned follow in one message of the user behind them, unless [`Capabilities::tool_images`] says that they may stand in the result.
//!
//! # What is replayed
//!
//! What this host and model wrote goes back as it came, as far as the API takes it: content, refusal, reasoning in the spelling of the host
//! (`reasoning_content`, `reasoning_details` unchanged and in order, `reasoning` where there are no details) and the calls with whatever
//! else the host put into them. Broken arguments become `{}`, and ids that the host refuses are mapped. What others wrote is made of its neutral parts, and
//! what they thought stays with them, except beside calls at hosts that insist on it ([`Capabilities::reasoning_content`]).
//!
//! # Deferred tools
//!
//! The API has no deferral of its own. In the mode [`Append`](DeferralMode::Append), which every host understands, the search is a function and a loaded
//! tool joins the others. Two more are there for the hosts that have them: with [`Reference`](DeferralMode::Reference) as [`Capabilities::deferral`]
//! deferred tools are declared with `defer_loading` and a search is answered with references; with
//! [`Capabilities::hosted_search`] a server tool such as `orq:tool_search` or `openrouter:tool_search` makes the host search by itself.
//!
//! # Example
//!
//! ```
//! use tower_genai::{
//!     ModelRequest,
//!     protocols::{Capabilities, Protocol, Target, chat_completions::ChatCompletions},
//! };
//!
//! let request = ModelRequest::new().system("Be terse.").user("hi");
//! let target = Target::new("openrouter.ai", "some/model");
//! let encoded = ChatCompletions::new().encode(&request, &target, &Capabilities::compatible_chat())?;
//! assert!(encoded.body.ends_with(br#""messages":[{"role":"system","content":"Be terse."},{"role":"user","content":"hi"}]}"#));
//! # Ok::<(), tower_genai::Error>(())
//! ```

mod decode;
mod encode;

use http::{HeaderMap, StatusCode};
use tower_genai_core::{Cache, DeferralMode, Error, ModelRequest};

use super::{Capabilities, Encoded, Paused, Protocol, Target, error_body, functions::FunctionCache};

pub use super::context::Context;
pub use decode::Decoder;

const NAME: &str = "openai_chat";

/// The Chat Completions API, `POST /chat/completions` behind a base URL that ends in `/v1` at most hosts.
///
/// Clones share a small cache of encoded tool sets.
#[derive(Clone, Debug)]
pub struct ChatCompletions {
    functions: FunctionCache,
}

impl ChatCompletions {
    /// The protocol.
    #[must_use]
    pub fn new() -> Self {
        Self { functions: Cache::new(16) }
    }
}

impl Default for ChatCompletions {
    fn default() -> Self {
        Self::new()
    }
}

impl Protocol for ChatCompletions {
    const NAME: &'static str = NAME;
    type Context = Context;
    type Decoder = Decoder;

    fn path(&self, _: &Target) -> String {
        "/chat/completions".to_owned()
    }

    fn deferral_modes(&self) -> &'static [DeferralMode] {
        &[DeferralMode::Append, DeferralMode::Reference, DeferralMode::Hosted]
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
