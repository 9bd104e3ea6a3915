//! What a model is asked.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{Conversation, Deferral, Error, Json, Message, ServerTool, ToolName, ToolSet};

/// One call of a model.
///
/// Layers edit the request they are given; a provider encodes it. Everything but what layers leave for each other is part of
/// its JSON form, in which only what differs from the default appears.
///
/// ```
/// use tower_genai_core::{ModelRequest, ToolDefinition, ToolSet};
///
/// let request = ModelRequest::new()
///     .system("You are terse.")
///     .user("What is in README.md?")
///     .tools(ToolSet::new([ToolDefinition::new("read_file")])?);
/// let stored = serde_json::to_string(&request)?;
/// let restored: ModelRequest = serde_json::from_str(&stored)?;
/// assert_eq!(restored.messages, request.messages);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The model; `None` takes the provider's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// Instructions that hold from the start, apart from the dialogue, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Arc<str>>,
    /// The dialogue.
    pub messages: Conversation,
    /// The tools that the caller runs.
    #[serde(skip_serializing_if = "ToolSet::is_empty")]
    pub tools: ToolSet,
    /// The tools that the provider runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server_tools: Vec<ServerTool>,
    /// Whether the model may, must or must not call.
    #[serde(skip_serializing_if = "is_default")]
    pub tool_choice: ToolChoice,
    /// Whether the model may ask for several calls at once; `None` leaves it to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// How much the model reasons; `None` sends nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// The form of the answer.
    #[serde(skip_serializing_if = "is_default")]
    pub output: OutputFormat,
    /// The most tokens to write; `None` takes the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Texts at which the answer ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<Arc<str>>,
    /// How tokens are drawn.
    #[serde(skip_serializing_if = "is_default")]
    pub sampling: Sampling,
    /// The conversation that this request belongs to. Without it nothing is recorded about a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Arc<str>>,
    /// Routes requests with the same prefix to the same cache; `None` takes the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_key: Option<Arc<str>>,
    /// Labels for the provider's own records.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<Arc<str>, Arc<str>>,
    /// Fields to add to, or replace in, the body that goes to the provider.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_body: BTreeMap<Arc<str>, Json>,
    /// Deferred tools to declare eagerly in this request, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub eager_tools: Vec<ToolName>,
    /// How far the deferral of tools has been worked out.
    #[serde(skip_serializing_if = "is_default")]
    pub deferral: Deferral,
    /// Says that the search tool among the tools is a layer's own: another one of its kind leaves the request alone, and it is taken back where the
    /// provider searches by itself.
    #[serde(skip)]
    pub layer_search: bool,
    /// Values that layers leave for each other.
    #[serde(skip)]
    pub extensions: http::Extensions,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl ModelRequest {
    /// An empty request.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the model.
    #[must_use]
    pub fn model(mut self, model: impl Into<Arc<str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Adds an instruction.
    #[must_use]
    pub fn system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.system.push(text.into());
        self
    }

    /// Adds a user message.
    #[must_use]
    pub fn user(self, text: impl Into<Arc<str>>) -> Self {
        self.message(Message::user(text))
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, message: impl Into<Arc<Message>>) -> Self {
        self.messages.push(message);
        self
    }

    /// Sets the dialogue.
    #[must_use]
    pub fn messages(mut self, messages: Conversation) -> Self {
        self.messages = messages;
        self
    }

    /// Sets the tools.
    #[must_use]
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = tools;
        self
    }

    /// Adds a tool that the provider runs.
    ///
    /// # Errors
    ///
    /// As [`add_server_tool`](Self::add_server_tool).
    pub fn server_tool(mut self, tool: ServerTool) -> Result<Self, Error> {
        self.add_server_tool(tool)?;
        Ok(self)
    }

    /// Adds a tool that the provider runs.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](crate::ErrorKind::InvalidRequest) when its key is in the request already: which of the two
    /// configurations would hold is not defined.
    pub fn add_server_tool(&mut self, tool: ServerTool) -> Result<(), Error> {
        if self.server_tools.iter().any(|present| present.key() == tool.key()) {
            return Err(repeated_server_tool(&tool));
        }
        self.server_tools.push(tool);
        Ok(())
    }

    /// Checks the server tools, for requests whose [`server_tools`](Self::server_tools) were changed in place.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](crate::ErrorKind::InvalidRequest) when two of them have the same key.
    pub fn validate_server_tools(&self) -> Result<(), Error> {
        for (index, tool) in self.server_tools.iter().enumerate() {
            if self.server_tools.iter().take(index).any(|present| present.key() == tool.key()) {
                return Err(repeated_server_tool(tool));
            }
        }
        Ok(())
    }

    /// Sets whether the model may, must or must not call.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Sets whether the model may ask for several calls at once.
    #[must_use]
    pub fn parallel_tool_calls(mut self, parallel: bool) -> Self {
        self.parallel_tool_calls = Some(parallel);
        self
    }

    /// Sets how much the model reasons.
    #[must_use]
    pub fn reasoning(mut self, reasoning: Reasoning) -> Self {
        self.reasoning = Some(reasoning);
        self
    }

    /// Sets the form of the answer.
    #[must_use]
    pub fn output(mut self, output: OutputFormat) -> Self {
        self.output = output;
        self
    }

    /// Sets the most tokens to write.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u32) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// Adds a text at which the answer ends.
    #[must_use]
    pub fn stop_sequence(mut self, text: impl Into<Arc<str>>) -> Self {
        self.stop_sequences.push(text.into());
        self
    }

    /// Sets how tokens are drawn.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// Adds a label for the provider's own records, or replaces it.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<Arc<str>>, value: impl Into<Arc<str>>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Adds a field to the body that goes to the provider, or replaces it.
    #[must_use]
    pub fn extra_body(mut self, field: impl Into<Arc<str>>, value: impl Into<Json>) -> Self {
        self.extra_body.insert(field.into(), value.into());
        self
    }

    /// Names the conversation that this request belongs to.
    #[must_use]
    pub fn session(mut self, session: impl Into<Arc<str>>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Sets the key that routes requests with the same prefix to the same cache.
    #[must_use]
    pub fn cache_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.cache_key = Some(key.into());
        self
    }

    /// The key for the provider's prompt cache: [`cache_key`](Self::cache_key), else the session.
    #[must_use]
    pub fn prompt_cache_key(&self) -> Option<&str> {
        self.cache_key.as_deref().or(self.session.as_deref())
    }
}

fn repeated_server_tool(tool: &ServerTool) -> Error {
    let (tool_type, label) = tool.key();
    let label = label.map(|label| format!(" with label `{label}`")).unwrap_or_default();
    Error::invalid(format!("server tool `{tool_type}`{label} is declared twice; keep one of the two configurations"))
}

impl AsMut<ModelRequest> for ModelRequest {
    fn as_mut(&mut self) -> &mut ModelRequest {
        self
    }
}

impl AsMut<ModelRequest> for http::Request<ModelRequest> {
    fn as_mut(&mut self) -> &mut ModelRequest {
        self.body_mut()
    }
}

/// Whether the model may, must or must not call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model answers without calling.
    None,
    /// The model calls at least one tool.
    Required,
    /// The model calls this tool.
    Tool(ToolName),
    /// The model calls this tool of the provider, named by its type.
    ServerTool(Arc<str>),
}

/// How much the model reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Reasoning {
    /// The effort; `None` leaves it to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The most tokens of reasoning, for the models that take a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u32>,
    /// Whether readable reasoning is asked for; `None` leaves it to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<bool>,
}

impl Reasoning {
    /// Reasoning of an effort.
    #[must_use]
    pub fn effort(effort: Effort) -> Self {
        Self { effort: Some(effort), ..Self::default() }
    }

    /// Reasoning of at most so many tokens.
    #[must_use]
    pub fn budget(tokens: u32) -> Self {
        Self { budget_tokens: Some(tokens), ..Self::default() }
    }

    /// Asks for readable reasoning, or refuses it.
    #[must_use]
    pub fn summary(mut self, summary: bool) -> Self {
        self.summary = Some(summary);
        self
    }

    /// Whether reasoning is switched off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.effort == Some(Effort::None)
    }
}

/// How hard the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as the model can.
    Minimal,
    /// Little.
    Low,
    /// Somewhat.
    Medium,
    /// Much.
    High,
    /// Very much.
    XHigh,
    /// As much as the model can.
    Max,
}

impl Effort {
    /// The word that providers use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// The form of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputFormat {
    /// Free text.
    #[default]
    Text,
    /// Some JSON object. Endpoints that have this ask for the word `JSON` in the prompt.
    Json,
    /// JSON that fits a schema.
    JsonSchema {
        /// A name for the schema, for the endpoints that want one.
        name: Arc<str>,
        /// The JSON Schema.
        schema: Json,
        /// Whether the provider must enforce it.
        #[serde(default)]
        strict: bool,
    },
}

/// How tokens are drawn. `None` sends nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Sampling {
    /// 0 is the most likely token each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Draw from the tokens that make up this probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Draw from this many tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Makes the draw repeatable where the provider can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Makes tokens that occurred often less likely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Makes tokens that occurred at all less likely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
}

impl Sampling {
    /// Nothing is said about it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the probability that the tokens to draw from make up.
    #[must_use]
    pub fn top_p(mut self, probability: f64) -> Self {
        self.top_p = Some(probability);
        self
    }

    /// Sets how many tokens to draw from.
    #[must_use]
    pub fn top_k(mut self, tokens: u32) -> Self {
        self.top_k = Some(tokens);
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: i64) -> Self {
        self.seed = Some(seed);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_request_is_nearly_empty_json() {
        assert_eq!(serde_json::to_string(&ModelRequest::new()).unwrap(), r#"{"messages":[]}"#);
        let request: ModelRequest = serde_json::from_str("{}").unwrap();
        assert!(request.messages.is_empty() && request.tools.is_empty());
    }

    #[test]
    fn a_full_request_survives_a_generic_store() {
        let mut request = ModelRequest::new()
            .model("m")
            .system("s")
            .user("u")
            .tools(ToolSet::new([crate::ToolDefinition::new("a").deferred(true)]).unwrap())
            .server_tool(ServerTool::plain("web_search").unwrap())
            .unwrap()
            .tool_choice(ToolChoice::Tool("a".into()))
            .reasoning(Reasoning::effort(Effort::XHigh).summary(true))
            .output(OutputFormat::JsonSchema { name: "n".into(), schema: Json::empty_object(), strict: true })
            .parallel_tool_calls(false)
            .stop_sequence("END")
            .sampling(Sampling::new().temperature(0.5).top_p(0.9).top_k(7).seed(1))
            .metadata("user", "7")
            .extra_body("top", Json::parse("{\"b\":1.0}").unwrap())
            .session("id")
            .cache_key("key");
        request.eager_tools.push("a".into());
        let value = serde_json::to_value(&request).unwrap();
        let restored: ModelRequest = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&restored).unwrap(), value);
        assert_eq!(restored.extra_body, request.extra_body);
        assert_eq!((restored.sampling, restored.metadata), (request.sampling, request.metadata));
        assert_eq!(value["stop_sequences"][0], "END");
        assert_eq!(restored.tools.identity(), request.tools.identity());
    }

    #[test]
    fn a_repeated_server_tool_is_refused_by_name() {
        let tool = ServerTool::plain("web_search").unwrap();
        let mut request = ModelRequest::new().server_tool(tool.clone()).unwrap();
        let error = request.add_server_tool(tool.clone()).unwrap_err();
        assert!(error.to_string().contains("`web_search`"), "{error}");
        request.server_tools.push(tool);
        assert!(request.validate_server_tools().is_err());
    }
}
