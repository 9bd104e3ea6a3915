//! What a model call gives back.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{AssistantMessage, Message, ToolCall, ToolName};

/// One item of the stream that a model call returns.
///
/// Deltas arrive while a message grows; [`Message`](Self::Message) when one is complete: persist on it, and what was
/// finished survives a later failure. A stream that ends well ends with one [`Response`](Self::Response): readers may stop there and drop it
/// without having asked for more, so a layer that does something at the end does it at the `Response`, at an error, or when it is dropped.
///
/// The `message` of a delta is the ordinal of the message it belongs to within this call, from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelEvent {
    /// More text of the answer.
    Text(Delta),
    /// More readable reasoning.
    Reasoning(Delta),
    /// More of a refusal.
    Refusal(Delta),
    /// A call for the caller begins. Its arguments are complete in [`Message`](Self::Message). A search over deferred tools gives no such event.
    ToolCallStarted {
        /// Ordinal of the message.
        message: u32,
        /// The id of the call.
        id: Arc<str>,
        /// Which tool.
        #[serde(flatten)]
        name: ToolName,
    },
    /// More of the arguments of a call, as JSON text.
    ToolCallDelta {
        /// Ordinal of the message.
        message: u32,
        /// The id of the call.
        id: Arc<str>,
        /// The text.
        arguments: String,
    },
    /// The provider begins to run a tool of its own.
    HostedStarted(Hosted),
    /// The input of a hosted call, whole or a piece of it, as JSON text.
    HostedInput {
        /// Which call.
        #[serde(flatten)]
        hosted: Hosted,
        /// The text.
        input: String,
    },
    /// A hosted call came back.
    HostedCompleted(Hosted),
    /// A hosted call failed; the response goes on.
    HostedFailed {
        /// Which call.
        #[serde(flatten)]
        hosted: Hosted,
        /// The provider's code.
        code: Arc<str>,
    },
    /// A layer answered a search over deferred tools.
    Search(Arc<SearchReport>),
    /// A layer begins to run a tool of the caller.
    ToolStarted(ToolRun),
    /// The tool gave a result. It is in the [`Message`](Self::Message) that answers the call, which comes in the order of the calls.
    ToolCompleted(ToolRun),
    /// The call has a failed result, whether it was run or not.
    ToolFailed {
        /// Which call.
        #[serde(flatten)]
        run: ToolRun,
        /// Why, as one word for programs, such as `timeout`.
        reason: Arc<str>,
    },
    /// Something that the caller may want to know and that is not an error.
    Warning(Warning),
    /// A message of this call is complete: of the model, or an answer that a layer gave.
    Message(Arc<Message>),
    /// The end. [`Response::messages`] are all messages of the call in order.
    Response(Box<Response>),
}

impl ModelEvent {
    /// Moves the ordinals of a later round behind the messages of the rounds before.
    pub fn shift(&mut self, by: u32) {
        match self {
            Self::Text(delta) | Self::Reasoning(delta) | Self::Refusal(delta) => delta.message += by,
            Self::ToolCallStarted { message, .. } | Self::ToolCallDelta { message, .. } => *message += by,
            Self::HostedStarted(hosted)
            | Self::HostedCompleted(hosted)
            | Self::HostedInput { hosted, .. }
            | Self::HostedFailed { hosted, .. } => hosted.message += by,
            Self::Search(_)
            | Self::ToolStarted(_)
            | Self::ToolCompleted(_)
            | Self::ToolFailed { .. }
            | Self::Warning(_)
            | Self::Message(_)
            | Self::Response(_) => {}
        }
    }
}

/// A call that a layer runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolRun {
    /// The id of the call.
    pub id: Arc<str>,
    /// Which tool.
    #[serde(flatten)]
    pub name: ToolName,
}

impl ToolRun {
    /// The run of a call.
    #[must_use]
    pub fn of(call: &ToolCall) -> Self {
        Self { id: call.id.clone(), name: call.name.clone() }
    }
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Delta {
    /// Ordinal of the message.
    pub message: u32,
    /// The text.
    pub text: String,
}

impl Delta {
    /// A piece of the message with this ordinal.
    pub fn new(message: u32, text: impl Into<String>) -> Self {
        Self { message, text: text.into() }
    }
}

/// Which hosted call an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Hosted {
    /// Ordinal of the message.
    pub message: u32,
    /// The provider's id, empty where it gave none.
    pub id: Arc<str>,
    /// The name of the tool, such as `web_search`.
    pub name: Arc<str>,
}

impl Hosted {
    /// A call in the message with this ordinal.
    pub fn new(message: u32, id: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { message, id: id.into(), name: name.into() }
    }
}

/// What one search did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SearchReport {
    /// The id of the search call.
    pub call_id: Arc<str>,
    /// What the model searched for.
    pub queries: Vec<String>,
    /// How many tools were searched.
    pub candidates: usize,
    /// The tools found, best first, with their scores.
    pub hits: Vec<SearchHit>,
    /// The definitions loaded by this search, in order.
    pub loaded: Vec<ToolName>,
    /// Bytes of definitions that stay out of the prompt after this search, about.
    pub bytes_kept_out: usize,
}

/// A tool that a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchHit {
    /// Which tool.
    #[serde(flatten)]
    pub name: ToolName,
    /// The score, comparable within one search only.
    pub score: f32,
}

/// Something that the caller may want to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Warning {
    /// One snake_case word, stable over versions: `search_never_used` (deferred tools were sent for several turns and never searched),
    /// `record_unavailable` (the record of a session could not be read), `input_withheld` (the provider kept something of the request
    /// from the model).
    pub code: Arc<str>,
    /// What happened and what to change.
    pub text: Arc<str>,
}

impl Warning {
    /// A warning.
    pub fn new(code: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { code: code.into(), text: text.into() }
    }
}

/// The end of a model call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Response {
    /// Every message of the call, in order: `history.extend(response.messages)`. Empty where the provider wrote nothing, for example because it
    /// blocked the prompt.
    pub messages: Vec<Arc<Message>>,
    /// Why it ended.
    pub stop: Stop,
    /// Tokens, summed over the rounds of the call.
    pub usage: Usage,
    /// The model that answered, as the provider names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// The provider's id of the (last) response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
}

impl Response {
    /// A response of one message.
    pub fn of(message: impl Into<Arc<Message>>, stop: StopReason) -> Self {
        Self { messages: vec![message.into()], stop: Stop::new(stop), ..Self::default() }
    }

    /// The last message of the model.
    #[must_use]
    pub fn assistant(&self) -> Option<&AssistantMessage> {
        self.messages.iter().rev().find_map(|message| match &**message {
            Message::Assistant(message) => Some(message),
            _ => None,
        })
    }

    /// The calls that nobody has answered yet: the caller's. Push a [`ToolResult`](crate::ToolResult) for each behind the messages.
    pub fn open_calls(&self) -> impl Iterator<Item = &ToolCall> {
        // In order, because an endpoint may give the same id again in a later round.
        let mut open: Vec<&ToolCall> = Vec::new();
        let mut searches: Vec<&str> = Vec::new();
        for message in &self.messages {
            if let Message::Assistant(message) = &**message {
                open.extend(message.tool_calls());
                searches.extend(message.searches().map(|call| &*call.id));
            } else if let Some(id) = message.answers() {
                if let Some(at) = searches.iter().position(|search| *search == id).filter(|_| matches!(&**message, Message::Search(_))) {
                    searches.remove(at);
                } else if let Some(at) = open.iter().position(|call| *call.id == *id) {
                    open.remove(at);
                }
            }
        }
        open.into_iter()
    }

    /// The text of the last message of the model.
    #[must_use]
    pub fn text(&self) -> String {
        self.assistant().map(AssistantMessage::text).unwrap_or_default()
    }
}

/// Why a call ended, in neutral form and in the provider's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stop {
    /// Why.
    pub reason: StopReason,
    /// The provider's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Arc<str>>,
    /// More about it: the stop sequence, the category of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Arc<str>>,
}

impl Stop {
    /// A stop without a provider's word.
    #[must_use]
    pub fn new(reason: StopReason) -> Self {
        Self { reason, native: None, detail: None }
    }

    /// Adds the provider's word.
    #[must_use]
    pub fn native(mut self, native: impl Into<Arc<str>>) -> Self {
        self.native = Some(native.into());
        self
    }

    /// Adds more about it.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<Arc<str>>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

/// Why a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model is done.
    #[default]
    EndTurn,
    /// The model waits for the answers to its calls.
    ToolUse,
    /// The limit of tokens cut the answer.
    MaxTokens,
    /// A stop sequence occurred.
    StopSequence,
    /// The model refused.
    Refusal,
    /// A filter of the provider stopped the answer.
    ContentFilter,
    /// The conversation no longer fits the model.
    ContextWindow,
    /// The provider paused more often than it is resumed.
    Pause,
    /// The provider only compacted the conversation.
    Compaction,
    /// The model called a tool in a way that the provider could not read, and the message lacks the call.
    InvalidCall,
    /// The model searched for tools more often than is allowed in one call.
    SearchLimit,
    /// The model wanted more rounds of tools than are allowed in one call.
    RoundLimit,
    /// The model repeated a call with the same arguments more often than is allowed.
    RepeatLimit,
    /// Something else; see [`Stop::native`].
    Other,
}

impl StopReason {
    /// The reason as one snake_case word, for metrics and programs; also its JSON form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::Refusal => "refusal",
            Self::ContentFilter => "content_filter",
            Self::ContextWindow => "context_window",
            Self::Pause => "pause",
            Self::Compaction => "compaction",
            Self::InvalidCall => "invalid_call",
            Self::SearchLimit => "search_limit",
            Self::RoundLimit => "round_limit",
            Self::RepeatLimit => "repeat_limit",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Tokens. `None` is "not reported", which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// All tokens of the prompt, cached or not. What tools of the provider read on top of it is not part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// The part of the prompt that was read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// The part of the prompt that was written to a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// All tokens written, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The part of the output that is reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Uses of tools that the provider ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_tool_uses: Option<u64>,
}

impl Usage {
    /// Adds the usage of another round.
    pub fn add(&mut self, other: &Self) {
        let sum = |mine: &mut Option<u64>, theirs: Option<u64>| {
            *mine = match (*mine, theirs) {
                (Some(mine), Some(theirs)) => Some(mine.saturating_add(theirs)),
                (mine, theirs) => mine.or(theirs),
            };
        };
        sum(&mut self.input_tokens, other.input_tokens);
        sum(&mut self.cache_read_tokens, other.cache_read_tokens);
        sum(&mut self.cache_write_tokens, other.cache_write_tokens);
        sum(&mut self.output_tokens, other.output_tokens);
        sum(&mut self.reasoning_tokens, other.reasoning_tokens);
        sum(&mut self.server_tool_uses, other.server_tool_uses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_keeps_not_reported_apart_from_zero() {
        let mut usage = Usage { input_tokens: Some(1), ..Usage::default() };
        usage.add(&Usage { input_tokens: Some(2), output_tokens: Some(0), ..Usage::default() });
        assert_eq!(usage, Usage { input_tokens: Some(3), output_tokens: Some(0), ..Usage::default() });
    }

    #[test]
    fn reasons_are_the_words_of_their_json_form() {
        use StopReason::*;
        let all = [
            EndTurn,
            ToolUse,
            MaxTokens,
            StopSequence,
            Refusal,
            ContentFilter,
            ContextWindow,
            Pause,
            Compaction,
            InvalidCall,
            SearchLimit,
            Other,
        ];
        for reason in all {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.to_string());
        }
    }

    #[test]
    fn open_calls_are_those_without_an_answer() {
        let [one, two] = ["1", "2"].map(|id| ToolCall::new(id, "t", crate::Json::empty_object()));
        let parts = [&one, &two].map(|call| crate::AssistantPart::ToolCall(call.clone())).to_vec();
        let mut response = Response::of(AssistantMessage::new(parts), StopReason::ToolUse);
        response.messages.push(crate::ToolResult::text(&one, "done").into());
        assert_eq!(response.open_calls().map(|call| &*call.id).collect::<Vec<_>>(), ["2"]);

        let search = AssistantMessage::new(vec![crate::AssistantPart::Search(one.clone())]);
        let call = AssistantMessage::new(vec![crate::AssistantPart::ToolCall(one.clone())]);
        response.messages = vec![search.into(), crate::SearchResult::new(&one, vec![], "").into(), call.into()];
        assert_eq!(response.open_calls().count(), 1, "an id of an earlier round");
    }

    #[test]
    fn events_have_a_json_form() {
        let hosted = Hosted { message: 0, id: "h".into(), name: "web_search".into() };
        let events = [
            ModelEvent::Text(Delta { message: 1, text: "é".into() }),
            ModelEvent::ToolCallStarted { message: 0, id: "1".into(), name: "a".into() },
            ModelEvent::HostedFailed { hosted, code: "unavailable".into() },
            ModelEvent::Response(Box::new(Response::of(Message::assistant("x"), StopReason::EndTurn))),
        ];
        for mut event in events {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<ModelEvent>(&text).unwrap(), event);
            event.shift(2);
            if let ModelEvent::Text(delta) = &event {
                assert_eq!(delta.message, 3);
            }
        }
    }
}
