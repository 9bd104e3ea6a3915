//! What a chunk of a stream, or a whole response, is looked at for.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::protocols::lenient::{Code, Many, Number, Object, Text};

/// A chunk. A response that is no stream has the same members.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) choices: Many<Object<Choice<'a>>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) x_groq: Object<Groq<'a>>,
    /// Where the model looked (Perplexity).
    #[serde(borrow)]
    pub(super) citations: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) search_results: Option<&'a RawValue>,
}

/// What Groq says beside the protocol.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Groq<'a> {
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    pub(super) index: Number,
    #[serde(borrow)]
    pub(super) delta: Option<Object<Delta<'a>>>,
    /// Instead of a delta, where the response is no stream. Perplexity sends both: what is new, and all that there is.
    #[serde(borrow)]
    pub(super) message: Option<Object<Delta<'a>>>,
    #[serde(borrow)]
    pub(super) finish_reason: Code<'a>,
}

/// What joins the message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    /// A text; a list with Mistral; an object with Cloudflare.
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Text<'a>,
    #[serde(borrow)]
    pub(super) reasoning_content: Text<'a>,
    #[serde(borrow)]
    pub(super) reasoning: Text<'a>,
    #[serde(borrow)]
    pub(super) reasoning_details: Many<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Many<Object<ToolDelta<'a>>>,
    /// The call of the first version of the protocol, which has one at most and no id.
    #[serde(borrow)]
    pub(super) function_call: Object<Function<'a>>,
    #[serde(borrow)]
    pub(super) executed_tools: Many<Object<Executed<'a>>>,
    #[serde(borrow)]
    pub(super) images: Many<Object<Picture<'a>>>,
    #[serde(borrow)]
    pub(super) annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) audio: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolDelta<'a> {
    pub(super) index: Number,
    #[serde(borrow)]
    pub(super) id: Code<'a>,
    #[serde(borrow)]
    pub(super) function: Object<Function<'a>>,
    /// The call of a tool that takes free text.
    #[serde(borrow)]
    pub(super) custom: Object<Custom<'a>>,
    /// Signatures of the model behind a gateway.
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    /// A text, an object, or nothing.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Custom<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) input: Text<'a>,
}

/// A tool that Groq ran.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Executed<'a> {
    pub(super) index: Number,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: Text<'a>,
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
}

/// An image that the model made.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Picture<'a> {
    #[serde(borrow)]
    pub(super) image_url: Object<Address<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Address<'a> {
    #[serde(borrow)]
    pub(super) url: Text<'a>,
}

/// A piece of a content that is a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) thinking: Many<Object<Thought<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Thought<'a> {
    #[serde(borrow)]
    pub(super) text: Text<'a>,
}

/// An entry of `reasoning_details`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Detail<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) index: Number,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) summary: Text<'a>,
}
