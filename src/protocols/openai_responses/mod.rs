//! The OpenAI Responses API and its compatibles.
//!
//! # What goes out
//!
//! Every request carries the whole dialogue (`store` is false, and no earlier response is referred to). What this host and model wrote
//! goes back as it came, repaired only where the endpoint would refuse it; what others wrote is made of its neutral parts. All answers of
//! a turn stand behind all its calls, in the order of the calls, and what a search says beside its definitions follows as one
//! developer message.
//!
//! # Calls that are no functions
//!
//! Calls of tools that the API defines itself (`shell_call`, `local_shell_call`, `apply_patch_call`, `computer_call`, `custom_tool_call`,
//! `mcp_approval_request`) reach the caller as a [`ToolCall`](tower_genai_core::ToolCall) with that type as its `call_type`. The arguments
//! are the item's `action` or `operation`; `{"input": text}` of a custom call; server, tool and arguments of an approval request.
//!
//! Whoever answers one adds the output item in the API's own form as a [`Content::Provider`](tower_genai_core::Content::Provider) with the
//! protocol `openai_responses`; its id is filled in. From a result without such an item the least is made: the text as `stdout` (as
//! `stderr` with exit code 1 of an error), as the log of a patch, the first image as a screenshot and else a blank one. **An approval
//! request is then denied**, with the text as the reason: only an item of the caller's own making approves.
//!
//! # Example
//!
//! ```
//! use tower_genai::{
//!     ModelRequest,
//!     protocols::{Capabilities, Protocol, Target, openai_responses::OpenAiResponses},
//! };
//!
//! let request = ModelRequest::new().system("Be terse.").user("hi");
//! let target = Target::new("api.openai.com", "gpt-5.4");
//! let encoded = OpenAiResponses::new().encode(&request, &target, &Capabilities::openai_responses())?;
//! assert!(encoded.body.starts_with(br#"{"model":"gpt-5.4","stream":true,"store":false"#));
//! # Ok::<(), tower_genai::Error>(())
//! ```

mod decode;
mod encode;
mod item;

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use tower_genai_core::{Cache, DeferralMode, Error, Identity, ModelRequest};

use super::{Capabilities, Encoded, Paused, Protocol, Target, error_body};
use encode::tools::WireTools;

pub use super::context::Context;
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

impl Protocol for OpenAiResponses {
    const NAME: &'static str = NAME;
    type Context = Context;
    type Decoder = Decoder;

    fn path(&self, _: &Target) -> String {
        "/responses".to_owned()
    }

    fn deferral_modes(&self) -> &'static [DeferralMode] {
        &[DeferralMode::SearchOutput, DeferralMode::Append, DeferralMode::Hosted]
    }

    fn encode(&self, request: &ModelRequest, target: &Target, capabilities: &Capabilities) -> Result<Encoded<Context>, Error> {
        encode::encode(&self.tools, request, target, capabilities)
    }

    fn decoder(&self, context: Context, target: &Target, _: Option<Paused>) -> Decoder {
        Decoder::new(context, target)
    }

    fn error(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
        error_body::of_status(status, headers, body)
    }
}
