//! The texts of a tool.

use std::fmt;

use super::analyzer::TextKind;
use super::schema;

/// What the index knows of one tool. Only the name is needed; identities may repeat.
#[derive(Clone, Debug, Default)]
pub struct ToolDocument<'a> {
    /// The name that the model calls.
    pub name: &'a str,
    /// The server or group that the tool belongs to.
    pub namespace: Option<&'a str>,
    /// What the tool does.
    pub description: &'a str,
    /// The JSON Schema of its arguments, as text. A text that is not JSON, or nests deeper than 128
    /// levels, adds nothing.
    pub parameters: &'a str,
    /// A short hint when to use the tool.
    pub snippet: Option<&'a str>,
    /// Rules for its use.
    pub guidelines: Vec<&'a str>,
}

/// Which texts of a tool can be found.
pub trait Fields: fmt::Debug + Send + Sync {
    /// Gives each text of `tool` to `sink`, with the kind that tells the analyzer how to read it.
    fn texts(&self, tool: &ToolDocument<'_>, sink: &mut dyn FnMut(TextKind, &str));
}

/// The default [`Fields`]: every text of the tool, each with the same weight.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllText;

impl Fields for AllText {
    fn texts(&self, tool: &ToolDocument<'_>, sink: &mut dyn FnMut(TextKind, &str)) {
        sink(TextKind::Name, tool.name);
        if let Some(namespace) = tool.namespace {
            sink(TextKind::Name, namespace);
        }
        sink(TextKind::Prose, tool.description);
        schema::texts(tool.parameters, sink);
        if let Some(snippet) = tool.snippet {
            sink(TextKind::Prose, snippet);
        }
        for guideline in &tool.guidelines {
            sink(TextKind::Prose, guideline);
        }
    }
}
