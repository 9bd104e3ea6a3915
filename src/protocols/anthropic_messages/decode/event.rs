//! The events of a response, read without copying.

use crate::protocols::members::Text;
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::value::RawValue;

use super::usage::Counts;

/// One event. What an event does not have is `None`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Option<Text<'a>>,
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(super) content_block: Option<&'a RawValue>,
    // Boxed, because nearly every event is a delta, and what it does not have is moved all the same.
    #[serde(borrow, default)]
    pub(super) message: Option<Box<Head<'a>>>,
    #[serde(default)]
    pub(super) usage: Option<Box<Counts>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) error: bool,
}

/// How the provider begins the event that nearly all of a stream consists of.
pub(super) const DELTA_EVENT: &str = "{\"type\":\"content_block_delta\"";

/// An event that begins as [`DELTA_EVENT`], read without room for what only other events have.
#[derive(Deserialize)]
pub(super) struct DeltaEvent<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Piece<'a>,
}

/// A delta that is a piece of text; other deltas have none of the three.
#[derive(Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    partial_json: Option<Text<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'a>>,
}

impl Piece<'_> {
    pub(super) fn text(&self) -> Option<&str> {
        let text = match &*self.kind.0 {
            "text_delta" => &self.text,
            "thinking_delta" => &self.thinking,
            "input_json_delta" => &self.partial_json,
            _ => return None,
        };
        text.as_ref().map(|text| &*text.0)
    }
}

/// What changes: the fields of all deltas, and those of `message_delta`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) partial_json: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) citation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_sequence: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) container: Option<&'a RawValue>,
}

/// A message: its head in a stream, all of it in a document.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Head<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    pub(super) usage: Option<Counts>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_sequence: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) container: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "present")]
    pub(super) error: bool,
}

/// The fields of a content block that decide what it means.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) is_error: Option<bool>,
}

/// What the content of a failed hosted call says.
#[derive(Debug, Default, Deserialize)]
pub(super) struct HostedError<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) error_code: Option<Text<'a>>,
}

/// Why a model refused.
#[derive(Debug, Default, Deserialize)]
pub(super) struct StopDetails<'a> {
    #[serde(borrow, default)]
    pub(super) category: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) explanation: Option<Text<'a>>,
}

/// Whether a member is there and not null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Option::<IgnoredAny>::deserialize(deserializer).map(|value| value.is_some())
}
