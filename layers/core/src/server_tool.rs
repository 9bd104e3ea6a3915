//! Tools that the provider runs itself.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Error, Json};

/// A provider-hosted tool: an open type string and a configuration that nobody here looks into.
///
/// ```
/// use tower_genai_core::ServerTool;
///
/// let search = ServerTool::new("web_search", r#"{"search_context_size":"low"}"#)?;
/// assert_eq!(search.tool_type(), "web_search");
/// assert!(ServerTool::new(" ", "{}").is_err());
/// assert!(ServerTool::new("web_search", r#"{"type":"web_search"}"#).is_err());
/// # Ok::<(), tower_genai_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ServerTool {
    #[serde(rename = "type")]
    tool_type: Arc<str>,
    #[serde(skip_serializing_if = "is_empty_object")]
    configuration: Json,
    #[serde(skip)]
    label: Option<Arc<str>>,
}

fn is_empty_object(json: &Json) -> bool {
    json.as_str() == "{}"
}

#[derive(Deserialize)]
struct Fields {
    #[serde(rename = "type")]
    #[serde(default, deserialize_with = "present")]
    tool_type: bool,
    server_label: Option<String>,
    mcp_server_name: Option<String>,
}

/// Whether the key occurs, whatever its value (`null` too).
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| true)
}

impl ServerTool {
    /// A hosted tool with its configuration, a JSON object without the key `type`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](crate::ErrorKind::InvalidRequest) for a blank type, a configuration that is not a JSON object, or one
    /// that contains `type`.
    pub fn new(tool_type: impl Into<Arc<str>>, configuration: &str) -> Result<Self, Error> {
        let tool_type = tool_type.into();
        if tool_type.trim().is_empty() {
            return Err(Error::invalid("a server tool has a blank type; name the provider's type, such as `web_search`"));
        }
        let invalid = |what: String| Error::invalid(format!("server tool `{tool_type}`: {what}"));
        let configuration = Json::parse(configuration).map_err(|error| invalid(format!("configuration is {error}")))?;
        if !configuration.is_object() {
            return Err(invalid("configuration must be a JSON object".into()));
        }
        let fields: Fields = configuration.deserialize().map_err(|error| invalid(error.to_string()))?;
        if fields.tool_type {
            return Err(invalid("configuration must not contain `type`; the type is given beside it".into()));
        }
        let label = match &*tool_type {
            "mcp" => fields.server_label,
            "mcp_toolset" => fields.mcp_server_name,
            _ => None,
        };
        Ok(Self { tool_type, configuration, label: label.map(Into::into) })
    }

    /// A hosted tool without configuration.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](crate::ErrorKind::InvalidRequest) for a blank type.
    pub fn plain(tool_type: impl Into<Arc<str>>) -> Result<Self, Error> {
        Self::new(tool_type, "{}")
    }

    /// The provider's type, such as `web_search_20250305`.
    #[must_use]
    pub fn tool_type(&self) -> &str {
        &self.tool_type
    }

    /// The configuration: a JSON object.
    #[must_use]
    pub fn configuration(&self) -> &Json {
        &self.configuration
    }

    /// What must be unique in a request: the type, and for MCP servers their label.
    #[must_use]
    pub fn key(&self) -> (&str, Option<&str>) {
        (&self.tool_type, self.label.as_deref())
    }

    /// The `name` that Anthropic's Messages API fixes for a versioned type, such as `web_search` for `web_search_20250305`.
    ///
    /// Toolsets and MCP have none, and neither have other providers' types.
    ///
    /// ```
    /// use tower_genai_core::ServerTool;
    ///
    /// assert_eq!(ServerTool::fixed_name("text_editor_20250728"), Some("str_replace_based_edit_tool"));
    /// assert_eq!(ServerTool::fixed_name("tool_search_tool_bm25"), Some("tool_search_tool_bm25"));
    /// assert_eq!(ServerTool::fixed_name("web_search"), None);
    /// ```
    #[must_use]
    pub fn fixed_name(tool_type: &str) -> Option<&'static str> {
        let dated = tool_type.rsplit_once('_').filter(|(_, date)| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()));
        let (family, date) = match dated {
            Some((family, date)) => (family, Some(date)),
            None => (tool_type, None),
        };
        match (family, date) {
            ("tool_search_tool_regex", _) => Some("tool_search_tool_regex"),
            ("tool_search_tool_bm25", _) => Some("tool_search_tool_bm25"),
            (_, None) => None,
            ("web_search", _) => Some("web_search"),
            ("web_fetch", _) => Some("web_fetch"),
            ("code_execution", _) => Some("code_execution"),
            ("advisor", _) => Some("advisor"),
            ("memory", _) => Some("memory"),
            ("bash", _) => Some("bash"),
            ("computer", _) => Some("computer"),
            ("text_editor", Some(date)) if date < "20250429" => Some("str_replace_editor"),
            ("text_editor", _) => Some("str_replace_based_edit_tool"),
            _ => None,
        }
    }

    /// This tool with the key `name` in its configuration, unless there is one.
    ///
    /// # Errors
    ///
    /// None for a configuration that [`new`](Self::new) accepted.
    pub fn named(&self, name: &str) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Name {
            #[serde(default, deserialize_with = "present")]
            name: bool,
        }
        if self.configuration.deserialize::<Name>()?.name {
            return Ok(self.clone());
        }
        let rest = self.configuration.as_str().strip_prefix('{').unwrap_or("}");
        let comma = if rest == "}" { "" } else { "," };
        let configuration = format!("{{\"name\":{}{comma}{rest}", Json::string(name));
        Self::new(self.tool_type.clone(), &configuration)
    }

    /// Whether this is a provider's own tool search, which declares deferred tools and searches them itself.
    ///
    /// Anthropic's `tool_search_tool_*`, OpenAI's `tool_search` unless it says `"execution":"client"`, OpenRouter's `openrouter:tool_search`.
    #[must_use]
    pub fn is_tool_search(&self) -> bool {
        #[derive(Deserialize)]
        struct Execution {
            execution: Option<String>,
        }
        match &*self.tool_type {
            "tool_search" => {
                let execution = self.configuration.deserialize::<Execution>().ok().and_then(|fields| fields.execution);
                execution.as_deref() != Some("client")
            }
            other => other.starts_with("tool_search_tool_") || other.ends_with(":tool_search"),
        }
    }

    /// Whether the configuration defers the tool, or one of those it holds, with `defer_loading`.
    #[must_use]
    pub fn is_deferred(&self) -> bool {
        self.configuration.as_str().contains("\"defer_loading\":true")
    }
}

impl TryFrom<&str> for ServerTool {
    type Error = Error;

    fn try_from(tool_type: &str) -> Result<Self, Error> {
        Self::plain(tool_type)
    }
}

impl TryFrom<String> for ServerTool {
    type Error = Error;

    fn try_from(tool_type: String) -> Result<Self, Error> {
        Self::plain(tool_type)
    }
}

impl<'de> Deserialize<'de> for ServerTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Plain(String),
            Full {
                #[serde(rename = "type")]
                tool_type: String,
                #[serde(default)]
                configuration: Json,
            },
        }
        let (tool_type, configuration) = match Form::deserialize(deserializer)? {
            Form::Plain(tool_type) => (tool_type, Json::empty_object()),
            Form::Full { tool_type, configuration } => (tool_type, configuration),
        };
        Self::new(tool_type, configuration.as_str()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_servers_are_told_apart_by_label() {
        let one = ServerTool::new("mcp", r#"{"server_label":"a"}"#).unwrap();
        let two = ServerTool::new("mcp", r#"{"server_label":"b"}"#).unwrap();
        assert_ne!(one.key(), two.key());
        let toolset = ServerTool::new("mcp_toolset", r#"{"mcp_server_name":"a"}"#).unwrap();
        assert_eq!(toolset.key(), ("mcp_toolset", Some("a")));
        let labelled = ServerTool::new("web_search", r#"{"server_label":"a"}"#).unwrap();
        assert_eq!(labelled.key(), ("web_search", None));
    }

    #[test]
    fn a_name_is_added_where_there_is_none() {
        let named = |configuration| {
            ServerTool::new("web_fetch_20260318", configuration).unwrap().named("web_fetch").unwrap().configuration().to_string()
        };
        assert_eq!(named("{}"), r#"{"name":"web_fetch"}"#);
        assert_eq!(named(r#"{"max_uses":3}"#), r#"{"name":"web_fetch","max_uses":3}"#);
        assert_eq!(named(r#"{"name":"own"}"#), r#"{"name":"own"}"#);
    }

    #[test]
    fn reads_strings_and_objects() {
        let tools: Vec<ServerTool> = serde_json::from_str(r#"["web_search",{"type":"mcp","configuration":{"server_label":"x"}}]"#).unwrap();
        assert_eq!(tools.iter().map(ServerTool::tool_type).collect::<Vec<_>>(), ["web_search", "mcp"]);
        let again: Vec<ServerTool> = serde_json::from_str(&serde_json::to_string(&tools).unwrap()).unwrap();
        assert_eq!(again, tools);
        assert!(serde_json::from_str::<ServerTool>(r#"{"type":"a","configuration":{"type":"a"}}"#).is_err());
        assert!(serde_json::from_str::<ServerTool>(r#"{"type":"a","configuration":{"type":null}}"#).is_err());
    }

    #[test]
    fn every_versioned_type_with_a_fixed_name_has_it() {
        for (tool_type, name) in [
            ("web_search_20250305", Some("web_search")),
            ("web_search_20260318", Some("web_search")),
            ("web_fetch_20250910", Some("web_fetch")),
            ("code_execution_20250522", Some("code_execution")),
            ("tool_search_tool_regex_20251119", Some("tool_search_tool_regex")),
            ("tool_search_tool_regex", Some("tool_search_tool_regex")),
            ("tool_search_tool_bm25_20251119", Some("tool_search_tool_bm25")),
            ("advisor_20260301", Some("advisor")),
            ("memory_20250818", Some("memory")),
            ("bash_20250124", Some("bash")),
            ("text_editor_20250124", Some("str_replace_editor")),
            ("text_editor_20250429", Some("str_replace_based_edit_tool")),
            ("text_editor_20250728", Some("str_replace_based_edit_tool")),
            ("computer_20251124", Some("computer")),
            ("computer_toolset_20260801", None),
            ("browser_toolset_20260801", None),
            ("mcp_toolset", None),
            ("web_search", None),
            ("web_search_preview_2025_03_11", None),
            ("code_interpreter", None),
        ] {
            assert_eq!(ServerTool::fixed_name(tool_type), name, "{tool_type}");
        }
    }

    #[test]
    fn hosted_tool_search_is_recognised() {
        for (tool_type, configuration, hosted) in [
            ("tool_search", "{}", true),
            ("tool_search", r#"{"execution":"server"}"#, true),
            ("tool_search", r#"{"execution":"client"}"#, false),
            ("tool_search_tool_bm25_20251119", "{}", true),
            ("openrouter:tool_search", "{}", true),
            ("web_search", "{}", false),
        ] {
            assert_eq!(ServerTool::new(tool_type, configuration).unwrap().is_tool_search(), hosted, "{tool_type} {configuration}");
        }
    }
}
