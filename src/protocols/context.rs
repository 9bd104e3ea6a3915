//! What a decoder has to know of the request.

use tower_genai_core::{AssistantPart, ToolCall, ToolName};

use super::wire_names::WireNames;

/// What a decoder has to know of the request: what its tools are called on the wire, and which of them searches.
#[derive(Clone, Debug, Default)]
pub struct Context {
    pub(super) names: WireNames,
    /// The tool that searches deferred tools.
    pub(super) search: Option<ToolName>,
}

impl Context {
    /// Whether a call to this tool is a search.
    pub(super) fn searches_with(&self, name: &ToolName) -> bool {
        self.search.as_ref() == Some(name)
    }

    /// A finished call as a part of the message.
    pub(super) fn part(&self, call: ToolCall) -> AssistantPart {
        if self.searches_with(&call.name) { AssistantPart::Search(call) } else { AssistantPart::ToolCall(call) }
    }
}
