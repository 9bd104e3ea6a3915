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
            "openrouter:tool_search" => true,
            other => other.starts_with("tool_search_tool_"),
        }
    }

    /// Whether the configuration defers the tool, or one of those it holds, with `defer_loading`.
    #[must_use]
    pub fn is_deferred(&self) -> bool {
        self.configuration.as_str().contains("\"defer_loading\":true")
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
    fn reads_strings_and_objects() {
        let tools: Vec<ServerTool> = serde_json::from_str(r#"["web_search",{"type":"mcp","configuration":{"server_label":"x"}}]"#).unwrap();
        assert_eq!(tools.iter().map(ServerTool::tool_type).collect::<Vec<_>>(), ["web_search", "mcp"]);
        let again: Vec<ServerTool> = serde_json::from_str(&serde_json::to_string(&tools).unwrap()).unwrap();
        assert_eq!(again, tools);
        assert!(serde_json::from_str::<ServerTool>(r#"{"type":"a","configuration":{"type":"a"}}"#).is_err());
        assert!(serde_json::from_str::<ServerTool>(r#"{"type":"a","configuration":{"type":null}}"#).is_err());
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
