//! The caller's tools on the wire.

use std::{collections::HashMap, ops::Range, sync::Arc};

use tower_genai_core::{Cache, Error, ErrorKind, Identity, ToolDefinition, ToolName, ToolSet, wire_name};

use crate::protocols::Capabilities;
use crate::protocols::members::{Members, write_string};

/// A tool set as it goes out, written once.
#[derive(Debug)]
pub(in super::super) struct WireTools {
    /// The tools as JSON with commas between, those shown first.
    text: String,
    /// Where the deferred tools begin in `text`.
    deferred_from: usize,
    deferred: usize,
    tools: Vec<WireTool>,
    positions: HashMap<Box<str>, usize>,
    /// Identities of tools that are called otherwise on the wire.
    pub(super) renamed: Arc<HashMap<Box<str>, ToolName>>,
    pub(super) search: Option<Arc<str>>,
}

#[derive(Debug)]
struct WireTool {
    name: ToolName,
    wire_name: Box<str>,
    range: Range<usize>,
}

impl WireTools {
    /// The tools of a request, from the cache where they were written before.
    ///
    /// # Errors
    ///
    /// Names the tool that the endpoint would refuse.
    pub(super) fn of(cache: &Cache<Identity, Arc<Self>>, tools: &ToolSet, capabilities: &Capabilities) -> Result<Arc<Self>, Error> {
        let rules = capabilities.names;
        let limits = [rules.max_len, usize::from(rules.letter_first), capabilities.max_description.unwrap_or(usize::MAX)];
        let limits: Vec<u8> = limits.iter().flat_map(|limit| limit.to_le_bytes()).collect();
        let key = tools.identity().derive(&[b"anthropic", rules.punctuation.as_bytes(), &limits]);
        cache.get_or_try_build(key, || Self::write(tools, capabilities).map(Arc::new))
    }

    fn write(tools: &ToolSet, capabilities: &Capabilities) -> Result<Self, Error> {
        let mut wire = Self {
            text: String::new(),
            deferred_from: 0,
            deferred: tools.deferred_len(),
            tools: Vec::with_capacity(tools.len()),
            positions: HashMap::with_capacity(tools.len()),
            renamed: Arc::default(),
            search: None,
        };
        let mut renamed = HashMap::new();
        for deferred in [false, true] {
            if deferred {
                wire.deferred_from = wire.text.len();
            }
            for tool in tools.iter().filter(|tool| tool.deferred == deferred) {
                wire.push(tool, capabilities, &mut renamed)?;
            }
        }
        wire.renamed = Arc::new(renamed);
        wire.search = tools.search_tool().map(|tool| Arc::from(&*wire_name(&tool.name, capabilities.names)));
        Ok(wire)
    }

    fn push(&mut self, tool: &ToolDefinition, capabilities: &Capabilities, renamed: &mut HashMap<Box<str>, ToolName>) -> Result<(), Error> {
        let name = wire_name(&tool.name, capabilities.names);
        if let Some(other) = self.positions.get(&*name).and_then(|position| self.tools.get(*position)) {
            return Err(Error::invalid(format!(
                "tools `{}` and `{}` are both called `{name}` on the wire; rename one of them",
                other.name, tool.name
            )));
        }
        check_description(tool, capabilities.max_description)?;
        if !self.text.is_empty() {
            self.text.push(',');
        }
        let start = self.text.len();
        write_tool(&mut self.text, tool, &name)?;
        self.positions.insert(name.as_ref().into(), self.tools.len());
        if *name != *tool.name.name || tool.name.namespace.is_some() {
            renamed.insert(name.as_ref().into(), tool.name.clone());
        }
        self.tools.push(WireTool { name: tool.name.clone(), wire_name: name.as_ref().into(), range: start..self.text.len() });
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    pub(super) fn deferred_len(&self) -> usize {
        self.deferred
    }

    /// The tools that are shown, with commas between.
    pub(super) fn shown(&self) -> &str {
        let end = self.deferred_from;
        self.text.get(..end).unwrap_or_default()
    }

    /// The deferred tools, with a comma before each that something is before.
    pub(super) fn deferred(&self) -> &str {
        self.text.get(self.deferred_from..).unwrap_or_default()
    }

    /// The position of the tool that is called so on the wire.
    pub(super) fn position(&self, wire_name: &str) -> Option<usize> {
        self.positions.get(wire_name).copied()
    }

    pub(super) fn wire_name(&self, position: usize) -> &str {
        self.tools.get(position).map(|tool| &*tool.wire_name).unwrap_or_default()
    }

    pub(super) fn name(&self, position: usize) -> Option<&ToolName> {
        self.tools.get(position).map(|tool| &tool.name)
    }

    /// The definition at a position, as JSON.
    pub(super) fn definition(&self, position: usize) -> &str {
        self.tools.get(position).and_then(|tool| self.text.get(tool.range.clone())).unwrap_or_default()
    }
}

fn check_description(tool: &ToolDefinition, max: Option<usize>) -> Result<(), Error> {
    let Some(max) = max.filter(|max| tool.description.len() > *max) else { return Ok(()) };
    let len = tool.description.chars().count();
    if len <= max {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::TooLarge,
        format!("tool `{}`: the description has {len} characters and this endpoint takes {max}; shorten it", tool.name),
    ))
}

fn write_tool(out: &mut String, tool: &ToolDefinition, name: &str) -> Result<(), Error> {
    out.push_str("{\"name\":");
    write_string(out, name);
    if !tool.description.is_empty() {
        out.push_str(",\"description\":");
        write_string(out, &tool.description);
    }
    out.push_str(",\"input_schema\":");
    write_schema(out, tool)?;
    if let Some(strict) = tool.strict {
        out.push_str(if strict { ",\"strict\":true" } else { ",\"strict\":false" });
    }
    if tool.deferred {
        out.push_str(",\"defer_loading\":true");
    }
    out.push('}');
    Ok(())
}

/// The schema; one without a type, as some servers send it, gets the only type there may be.
fn write_schema(out: &mut String, tool: &ToolDefinition) -> Result<(), Error> {
    let schema = tool.parameters.as_str();
    let members = Members::of(schema).ok_or_else(|| Error::invalid(format!("tool `{}`: parameters must be an object", tool.name)))?;
    match members.get("type") {
        Some("\"object\"") => out.push_str(schema),
        Some(_) => {
            return Err(Error::invalid(format!("tool `{}`: the type of its parameters must be \"object\"", tool.name)));
        }
        None => {
            out.push_str("{\"type\":\"object\"");
            if !members.0.is_empty() {
                out.push(',');
            }
            out.push_str(schema.strip_prefix('{').unwrap_or(schema));
        }
    }
    Ok(())
}
