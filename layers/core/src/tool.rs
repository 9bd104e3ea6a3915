//! Tools that run on the caller's side.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{Error, Json};

/// The identity of a tool: its name, and a namespace where one server's names must not meet another's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolName {
    /// The namespace, for example the MCP server that offers the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Arc<str>>,
    /// The name within the namespace.
    pub name: Arc<str>,
}

impl ToolName {
    /// A name without a namespace.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { namespace: None, name: name.into() }
    }

    /// A name in a namespace.
    pub fn namespaced(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: Some(namespace.into()), name: name.into() }
    }

    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](crate::ErrorKind::InvalidRequest) for an empty part, a control character or more than 256 bytes.
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let parts = [Some(("name", &self.name)), self.namespace.as_ref().map(|namespace| ("namespace", namespace))];
        for (part, text) in parts.into_iter().flatten() {
            let fault = if text.is_empty() {
                "is empty"
            } else if text.len() > MAX_NAME_BYTES {
                "is longer than 256 bytes"
            } else if text.chars().any(char::is_control) {
                "contains a control character"
            } else {
                continue;
            };
            let shown: String = text.chars().take(64).collect();
            return Err(Error::invalid(format!("tool {part} {shown:?} {fault}")));
        }
        Ok(())
    }
}

const MAX_NAME_BYTES: usize = 256;

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl From<&str> for ToolName {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<Arc<str>> for ToolName {
    fn from(name: Arc<str>) -> Self {
        Self::new(name)
    }
}

impl From<String> for ToolName {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

/// What calling a tool means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// An ordinary tool that the caller runs.
    #[default]
    Function,
    /// A search over deferred tools that some layer answers. Protocols with a search call of their own use it.
    Search,
}

impl ToolKind {
    fn is_function(&self) -> bool {
        *self == Self::Function
    }
}

/// One tool that the model may call.
///
/// ```
/// use serde_json::json;
/// use tower_genai_core::ToolDefinition;
///
/// let tool = ToolDefinition::new("read_file")
///     .description("Read a text file")
///     .parameters(json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}))
///     .snippet("read_file(path)")
///     .guideline("Prefer it over a shell command.")
///     .deferred(true);
/// assert!(tool.deferred);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The identity.
    #[serde(flatten)]
    pub name: ToolName,
    /// What calling it means.
    #[serde(default, skip_serializing_if = "ToolKind::is_function")]
    pub kind: ToolKind,
    /// What the tool does, for the model.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub description: Arc<str>,
    /// JSON Schema of the arguments: an object.
    #[serde(default = "no_parameters")]
    pub parameters: Json,
    /// A short usage line or block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<Arc<str>>,
    /// Rules for the use of the tool.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub guidelines: Arc<[Arc<str>]>,
    /// JSON Schema of what the tool returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns: Option<Json>,
    /// Whether the definition stays out of the prompt until a search finds it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// Whether a call runs alone, after the other calls of its turn, where a layer runs the tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub serial: bool,
    /// Whether the provider must enforce the schema; `None` leaves it to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

fn no_parameters() -> Json {
    Json::from(serde_json::json!({"type": "object", "properties": {}}))
}

impl ToolDefinition {
    /// A tool without description or parameters.
    pub fn new(name: impl Into<ToolName>) -> Self {
        Self {
            name: name.into(),
            kind: ToolKind::Function,
            description: Arc::from(""),
            parameters: no_parameters(),
            snippet: None,
            guidelines: Arc::from([]),
            returns: None,
            deferred: false,
            serial: false,
            strict: None,
        }
    }

    /// Sets the namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.name.namespace = Some(namespace.into());
        self
    }

    /// Sets what calling the tool means.
    #[must_use]
    pub fn kind(mut self, kind: ToolKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, description: impl Into<Arc<str>>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the JSON Schema of the arguments.
    #[must_use]
    pub fn parameters(mut self, parameters: impl Into<Json>) -> Self {
        self.parameters = parameters.into();
        self
    }

    /// Sets the usage snippet.
    #[must_use]
    pub fn snippet(mut self, snippet: impl Into<Arc<str>>) -> Self {
        self.snippet = Some(snippet.into());
        self
    }

    /// Adds one rule.
    #[must_use]
    pub fn guideline(mut self, rule: impl Into<Arc<str>>) -> Self {
        self.guidelines = self.guidelines.iter().cloned().chain([rule.into()]).collect();
        self
    }

    /// Sets the JSON Schema of what the tool returns.
    #[must_use]
    pub fn returns(mut self, schema: impl Into<Json>) -> Self {
        self.returns = Some(schema.into());
        self
    }

    /// Keeps the definition out of the prompt until a search finds it.
    #[must_use]
    pub fn deferred(mut self, deferred: bool) -> Self {
        self.deferred = deferred;
        self
    }

    /// Makes calls run alone, after the other calls of their turn.
    #[must_use]
    pub fn serial(mut self, serial: bool) -> Self {
        self.serial = serial;
        self
    }

    /// Asks the provider to enforce the schema, or not to.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = Some(strict);
        self
    }

    /// The bytes that this definition adds to a prompt, about: name, description and parameters.
    #[must_use]
    pub fn prompt_bytes(&self) -> usize {
        self.name.name.len()
            + self.name.namespace.as_ref().map_or(0, |namespace| namespace.len())
            + self.description.len()
            + self.parameters.as_str().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_form_needs_only_a_name_and_reads_nested_schemas() {
        let tool: ToolDefinition =
            serde_json::from_str(r#"{"name":"a","namespace":"s","parameters":{"type":"object"},"guidelines":["g"]}"#).unwrap();
        assert_eq!(tool.name, ToolName::namespaced("s", "a"));
        assert_eq!(tool.parameters.as_str(), r#"{"type":"object"}"#);
        let again: ToolDefinition = serde_json::from_str(&serde_json::to_string(&tool).unwrap()).unwrap();
        assert_eq!(again, tool);
        assert_eq!(serde_json::from_str::<ToolDefinition>(r#"{"name":"a"}"#).unwrap(), ToolDefinition::new("a"));
    }

    #[test]
    fn names_are_bounded() {
        for name in [String::new(), "a\u{7}".into(), "x".repeat(257)] {
            assert!(ToolName::new(name).validate().is_err());
        }
        assert!(ToolName::namespaced("", "a").validate().is_err());
        assert!(ToolName::namespaced("日本", "検索 する").validate().is_ok());
    }
}
