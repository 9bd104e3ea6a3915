//! The messages of a dialogue.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Json, ToolDefinition, ToolName};

/// One message of a dialogue.
///
/// ```
/// use tower_genai_core::Message;
///
/// let message = Message::user("What is the weather?");
/// let json = serde_json::to_string(&message)?;
/// assert_eq!(json, r#"{"role":"user","content":[{"type":"text","text":"What is the weather?"}]}"#);
/// let short: Message = serde_json::from_str(r#"{"role":"user","content":"What is the weather?"}"#)?;
/// assert_eq!(short, message);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// An instruction in the middle of the dialogue. What holds from the start belongs into
    /// [`ModelRequest::system`](crate::ModelRequest::system).
    System(SystemMessage),
    /// What the user says.
    User(UserMessage),
    /// What the model says and asks for.
    Assistant(AssistantMessage),
    /// The answer to a [`AssistantPart::ToolCall`].
    Tool(ToolResult),
    /// The answer to an [`AssistantPart::Search`].
    Search(SearchResult),
}

impl Message {
    /// A user message of one text.
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self::User(UserMessage { content: vec![Content::Text { text: text.into() }] })
    }

    /// An assistant message of one text.
    pub fn assistant(text: impl Into<Arc<str>>) -> Self {
        Self::Assistant(AssistantMessage::new(vec![AssistantPart::Text { text: text.into() }]))
    }

    /// An instruction in the middle of the dialogue.
    pub fn system(text: impl Into<Arc<str>>) -> Self {
        Self::System(SystemMessage { content: text.into() })
    }

    /// The definitions that this message loaded.
    #[must_use]
    pub fn loaded(&self) -> &[Arc<ToolDefinition>] {
        match self {
            Self::Tool(result) => &result.loaded,
            Self::Search(result) => &result.loaded,
            _ => &[],
        }
    }

    /// The id of the call that this message answers.
    #[must_use]
    pub fn answers(&self) -> Option<&str> {
        match self {
            Self::Tool(result) => Some(&result.call_id),
            Self::Search(result) => Some(&result.call_id),
            _ => None,
        }
    }

    /// Whether what stands before this message was replaced by a summary in it.
    #[must_use]
    pub fn is_compaction(&self) -> bool {
        matches!(self, Self::Assistant(message) if message.parts.iter().any(|part| matches!(part, AssistantPart::Compaction { .. })))
    }
}

/// An instruction in the middle of the dialogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemMessage {
    /// The text.
    pub content: Arc<str>,
}

/// What the user says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Texts and images in order. Read from a plain string too.
    #[serde(deserialize_with = "text_or_parts")]
    pub content: Vec<Content>,
}

impl UserMessage {
    /// A message of several pieces; for one text there is [`Message::user`].
    ///
    /// ```
    /// use tower_genai_core::{Content, Image, ModelRequest, UserMessage};
    ///
    /// let image = Image::Url { url: "https://example.com/cat.png".into(), media_type: None };
    /// let request = ModelRequest::new().message(UserMessage::new([Content::text("What is this?"), Content::Image(image)]));
    /// assert_eq!(request.messages.len(), 1);
    /// ```
    pub fn new(content: impl IntoIterator<Item = Content>) -> Self {
        Self { content: content.into_iter().collect() }
    }
}

/// A piece of a user message or of a tool's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: Arc<str>,
    },
    /// An image.
    Image(Image),
    /// An item in one protocol's own form (a document, a search result), sent only there.
    Provider {
        /// The protocol, as in [`Replay::protocol`].
        protocol: Arc<str>,
        /// The item.
        item: Json,
        /// What other protocols are told instead; without it they are told nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Arc<str>>,
    },
}

impl Content {
    /// A text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Image {
    /// An image that the provider fetches.
    Url {
        /// Where it is.
        url: Arc<str>,
        /// For example `image/png`, for the endpoints that want to know.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<Arc<str>>,
    },
    /// An image in the request.
    Base64 {
        /// For example `image/png`.
        media_type: Arc<str>,
        /// The bytes in base64.
        data: Arc<str>,
    },
}

fn text_or_parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Content>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(Arc<str>),
        Parts(Vec<Content>),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::Text(text) => vec![Content::Text { text }],
        Form::Parts(parts) => parts,
    })
}

/// What the model said and asked for in one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AssistantMessage {
    /// What every provider can be told.
    pub parts: Vec<AssistantPart>,
    /// The provider's own items, for the provider that wrote them. Whoever edits `parts` takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

impl AssistantMessage {
    /// A message of neutral parts.
    #[must_use]
    pub fn new(parts: Vec<AssistantPart>) -> Self {
        Self { parts, replay: None }
    }

    /// Adds the provider's own items.
    #[must_use]
    pub fn replay(mut self, replay: Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    /// The calls that the caller has to answer, in order; searches are not among them.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The searches, in order.
    pub fn searches(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::Search(call) => Some(call),
            _ => None,
        })
    }

    /// All text, concatenated; reasoning and refusals are not part of it.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            AssistantPart::Text { text } => Some(&**text),
            _ => None,
        });
        texts.collect()
    }
}

/// A piece of an assistant message, in neutral form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AssistantPart {
    /// Text for the user.
    Text {
        /// The text.
        text: Arc<str>,
    },
    /// Readable reasoning. What proves it (signatures, encrypted content) is in [`AssistantMessage::replay`].
    Reasoning {
        /// The text, possibly empty.
        text: Arc<str>,
    },
    /// Why the model does not answer.
    Refusal {
        /// The text.
        text: Arc<str>,
    },
    /// A call that the caller answers with a [`ToolResult`].
    ToolCall(ToolCall),
    /// A search over deferred tools, answered with a [`SearchResult`].
    Search(ToolCall),
    /// A call that the provider ran, or is still running, itself.
    Hosted(HostedCall),
    /// An image that the model made.
    Image(Image),
    /// From here on the provider works from a summary: nothing before it reaches the model.
    Compaction {
        /// The summary, where it is readable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<Arc<str>>,
    },
}

/// A call that the caller's side answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// The id that the answer repeats, unique in a conversation. Where an endpoint gives none it is made from the position of the call.
    pub id: Arc<str>,
    /// Which tool.
    #[serde(flatten)]
    pub name: ToolName,
    /// The arguments: a JSON object, `{}` where the model sent none or broken ones.
    #[serde(default)]
    pub arguments: Json,
    /// The arguments as sent, where they are not a JSON object. Do not run such a call: answer it with a [`ToolResult::error`], which the model
    /// can correct.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_arguments: Option<Arc<str>>,
    /// The provider's type where it is not a plain function call, such as `custom_tool_call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_type: Option<Arc<str>>,
}

impl ToolCall {
    /// A call with arguments.
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<ToolName>, arguments: Json) -> Self {
        Self { id: id.into(), name: name.into(), arguments, invalid_arguments: None, call_type: None }
    }

    /// A call whose arguments arrived as text: empty text is `{}`, text that is no JSON object is kept aside. An object inside a JSON string,
    /// as some gateways send it, is taken out of it.
    pub fn from_text(id: impl Into<Arc<str>>, name: impl Into<ToolName>, arguments: &str) -> Self {
        let object = |text: &str| Json::parse(text).ok().filter(Json::is_object);
        let inside = || object(&serde_json::from_str::<String>(arguments).ok()?);
        match arguments.trim() {
            "" | "null" => Self::new(id, name, Json::empty_object()),
            text => match object(text).or_else(inside) {
                Some(json) => Self::new(id, name, json),
                None => Self { invalid_arguments: Some(arguments.into()), ..Self::new(id, name, Json::empty_object()) },
            },
        }
    }

    /// Sets the provider's type.
    #[must_use]
    pub fn call_type(mut self, call_type: impl Into<Arc<str>>) -> Self {
        self.call_type = Some(call_type.into());
        self
    }
}

/// A call that the provider ran itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HostedCall {
    /// The provider's id, empty where it gave none.
    #[serde(default)]
    pub id: Arc<str>,
    /// The name of the tool, such as `web_search`.
    pub name: Arc<str>,
    /// The provider's type of the item, such as `server_tool_use` or `web_search_call`.
    pub call_type: Arc<str>,
    /// The input, where the provider shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// How it went.
    #[serde(default)]
    pub outcome: HostedOutcome,
}

impl HostedCall {
    /// A hosted call that has not come back yet.
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>, call_type: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), name: name.into(), call_type: call_type.into(), input: None, outcome: HostedOutcome::Pending }
    }

    /// Whether the provider searched deferred tools, and may have loaded some by itself.
    #[must_use]
    pub fn is_tool_search(&self) -> bool {
        self.name.contains("tool_search") || self.call_type.contains("tool_search")
    }
}

/// How a hosted call went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HostedOutcome {
    /// Its result is not in this message.
    #[default]
    Pending,
    /// It came back.
    Completed,
    /// It failed; the response went on.
    Failed {
        /// The provider's code, such as `max_uses_exceeded`.
        code: Arc<str>,
    },
}

/// What a provider wrote, verbatim, to be sent back to it and to nobody else.
///
/// Items and the message's neutral parts correspond in order: the n-th call among the items is the n-th call among the parts. An encoder
/// changes an item only where the endpoint would refuse it: broken arguments become `{}`, an id that an earlier call has already becomes another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Replay {
    /// The wire protocol, such as `anthropic` or `openai_responses`.
    pub protocol: Arc<str>,
    /// The host that answered.
    pub host: Arc<str>,
    /// The model that was requested.
    pub model: Arc<str>,
    /// The items in order.
    pub items: Vec<Json>,
    /// A hash of the encoded prompt before this message, where reasoning is bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Arc<str>>,
}

impl Replay {
    /// Items of one provider.
    pub fn new(protocol: impl Into<Arc<str>>, host: impl Into<Arc<str>>, model: impl Into<Arc<str>>, items: Vec<Json>) -> Self {
        Self { protocol: protocol.into(), host: host.into(), model: model.into(), items, prefix: None }
    }

    /// Whether these items may go to this protocol, host and model.
    #[must_use]
    pub fn is_from(&self, protocol: &str, host: &str, model: &str) -> bool {
        *self.protocol == *protocol && *self.host == *host && *self.model == *model
    }
}

/// The answer to a [`ToolCall`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: Arc<str>,
    /// Which tool answered.
    #[serde(flatten)]
    pub name: ToolName,
    /// What it answered. Read from a plain string too.
    #[serde(deserialize_with = "text_or_parts")]
    pub content: Vec<Content>,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Definitions that the model can call from here on, as they are sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded: Vec<Arc<ToolDefinition>>,
}

impl ToolResult {
    /// A text that answers a call.
    #[must_use]
    pub fn text(call: &ToolCall, text: impl Into<Arc<str>>) -> Self {
        Self { call_id: call.id.clone(), name: call.name.clone(), content: vec![Content::text(text)], is_error: false, loaded: Vec::new() }
    }

    /// A text that says why a call failed.
    #[must_use]
    pub fn error(call: &ToolCall, text: impl Into<Arc<str>>) -> Self {
        Self { is_error: true, ..Self::text(call, text) }
    }

    /// Adds definitions that the model can call from here on.
    #[must_use]
    pub fn loading(mut self, definitions: impl IntoIterator<Item = Arc<ToolDefinition>>) -> Self {
        self.loaded.extend(definitions);
        self
    }
}

/// The answer to a search over deferred tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SearchResult {
    /// The id of the search call.
    pub call_id: Arc<str>,
    /// The name of the search tool.
    #[serde(flatten)]
    pub name: ToolName,
    /// The definitions that the model can call from here on, as they are sent.
    #[serde(default)]
    pub loaded: Vec<Arc<ToolDefinition>>,
    /// What the model reads about the search; empty where the definitions say it all.
    #[serde(default)]
    pub note: Arc<str>,
    /// Whether the search could not be run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl SearchResult {
    /// The answer to a search call.
    #[must_use]
    pub fn new(call: &ToolCall, loaded: Vec<Arc<ToolDefinition>>, note: impl Into<Arc<str>>) -> Self {
        Self { call_id: call.id.clone(), name: call.name.clone(), loaded, note: note.into(), is_error: false }
    }
}

macro_rules! into_message {
    ($($variant:ident($content:ty)),*) => {$(
        impl From<$content> for Message {
            fn from(content: $content) -> Self {
                Self::$variant(content)
            }
        }
        impl From<$content> for Arc<Message> {
            fn from(content: $content) -> Self {
                Arc::new(Message::$variant(content))
            }
        }
    )*};
}

into_message!(System(SystemMessage), User(UserMessage), Assistant(AssistantMessage), Tool(ToolResult), Search(SearchResult));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_survives_a_generic_store() {
        let call = ToolCall::from_text("c1", ToolName::namespaced("ns", "find"), "{\"a\": 1.0}");
        let mut hosted = HostedCall::new("h1", "web_search", "server_tool_use");
        hosted.outcome = HostedOutcome::Failed { code: "max_uses_exceeded".into() };
        let mut replay = Replay::new("anthropic", "host", "model", vec![Json::parse("{\"z\":1,\"a\":2}").unwrap()]);
        replay.prefix = Some("abc".into());
        let messages = vec![
            Message::system("be brief"),
            Message::user("hi"),
            Message::User(UserMessage {
                content: vec![
                    Content::Image(Image::Url { url: "https://example.org/a.png".into(), media_type: Some("image/png".into()) }),
                    Content::Image(Image::Base64 { media_type: "image/png".into(), data: "AAAA".into() }),
                    Content::Provider { protocol: "anthropic".into(), item: Json::parse("{\"type\":\"document\"}").unwrap(), text: None },
                ],
            }),
            Message::Assistant(AssistantMessage {
                parts: vec![
                    AssistantPart::Reasoning { text: "".into() },
                    AssistantPart::ToolCall(call.clone()),
                    AssistantPart::Search(call.clone().call_type("tool_search_call")),
                    AssistantPart::Hosted(hosted),
                    AssistantPart::Image(Image::Base64 { media_type: "image/png".into(), data: "AAAA".into() }),
                    AssistantPart::Compaction { summary: None },
                ],
                replay: Some(replay),
            }),
            ToolResult::error(&call, "no").loading([Arc::new(ToolDefinition::new("x"))]).into(),
            SearchResult::new(&call, vec![Arc::new(ToolDefinition::new("y"))], "loaded").into(),
        ];
        let value = serde_json::to_value(&messages).unwrap();
        assert_eq!(serde_json::from_value::<Vec<Message>>(value).unwrap(), messages);
    }

    #[test]
    fn broken_arguments_are_kept_aside() {
        for text in ["{\"a\":", "[1]", "3", "\"text\""] {
            let broken = ToolCall::from_text("1", "t", text);
            assert_eq!((broken.arguments.as_str(), broken.invalid_arguments.as_deref()), ("{}", Some(text)));
        }
        let twice = ToolCall::from_text("1", "t", r#""{\"a\": 1}""#);
        assert_eq!((twice.arguments.as_str(), twice.invalid_arguments), (r#"{"a":1}"#, None));
        for empty in ["", "  ", "null"] {
            assert_eq!(ToolCall::from_text("1", "t", empty).arguments.as_str(), "{}");
        }
    }
}
