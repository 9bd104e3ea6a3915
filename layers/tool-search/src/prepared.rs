//! What one tool set becomes, computed once.

use std::{collections::HashMap, sync::Arc};

use tower_genai_core::{Error, NameRules, ToolDefinition, ToolName, ToolSet, guidance, wire_name};

use crate::{
    TOOL_SEARCH,
    catalog::render,
    index::{Bm25, ToolDocument, ToolIndex},
    layer::{CatalogPlacement, Config},
};

/// A tool set with the search tool, and what goes with it.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The tools as the caller gave them: what is searched.
    pub(crate) originals: ToolSet,
    /// The tools as they go out: deferred ones with their guidance in the description, the search tool last.
    pub(crate) tools: ToolSet,
    /// The catalogue, where it goes into the system prompt.
    pub(crate) system: Option<Arc<str>>,
    /// Deferred tools whose name on the wire is another one, by that name.
    wire_names: HashMap<String, ToolName>,
}

const CATALOG_HEADING: &str = "# Searchable tools";
const CATALOG_INTRODUCTION: &str = "These tools are not loaded yet. Search for one with tool_search before you call it.";

impl Prepared {
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) when the set has a search tool already, or a tool with its name.
    pub(crate) fn new(tools: &ToolSet, config: &Config) -> Result<Self, Error> {
        if let Some(search) = tools.search_tool() {
            return Err(Error::invalid(format!(
                "tool `{}` is a search tool, and the tool search layer adds one of its own; remove one of the two",
                search.name
            )));
        }
        if tools.iter().any(|tool| wire_name(&tool.name, NameRules::PORTABLE) == TOOL_SEARCH) {
            return Err(Error::invalid(format!("tool `{TOOL_SEARCH}`: the tool search layer takes this name; rename the tool")));
        }
        let (search, system) = with_catalog(tools, config);
        let fold = |tool: &Arc<ToolDefinition>| match tool.deferred {
            true => Arc::new(guidance::place(tool, config.loaded_guidance)),
            false => tool.clone(),
        };
        let configuration: [&[u8]; 3] = [b"tool search", search.description.as_bytes(), &config.loaded_guidance.key()];
        let outgoing = tools.derive(&configuration, tools.iter().map(fold).chain([search.clone()]).collect())?;
        let renamed = tools.iter().filter(|tool| tool.deferred).filter_map(|tool| {
            let wire = wire_name(&tool.name, NameRules::PORTABLE);
            (*wire != *tool.name.name || tool.name.namespace.is_some()).then(|| (wire.into_owned(), tool.name.clone()))
        });
        Ok(Self { originals: tools.clone(), tools: outgoing, system, wire_names: renamed.collect() })
    }

    /// The deferred tool that a call names, by its identity or its name on the wire.
    pub(crate) fn deferred(&self, name: &ToolName) -> Option<&Arc<ToolDefinition>> {
        let by_wire = || self.wire_names.get(&*name.name).and_then(|name| self.tools.get(name));
        self.tools.get(name).or_else(by_wire).filter(|tool| tool.deferred)
    }
}

/// The search tool, with the catalogue if it goes there, and the text for the system prompt if it goes there.
fn with_catalog(tools: &ToolSet, config: &Config) -> (Arc<ToolDefinition>, Option<Arc<str>>) {
    let search = config.search_tool.clone();
    if config.placement == CatalogPlacement::None {
        return (search, None);
    }
    let catalog = render(tools, config.catalog);
    if config.placement == CatalogPlacement::SearchDescription {
        let description = format!("{}\n\n{CATALOG_HEADING}\n{catalog}", search.description);
        if config.max_description.is_none_or(|max| description.chars().count() <= max) {
            return (Arc::new((*search).clone().description(description)), None);
        }
    }
    (search, Some(format!("{CATALOG_HEADING}\n{CATALOG_INTRODUCTION}\n{catalog}").into()))
}

/// The default index, with the parameters of its ranking.
pub(crate) fn default_index(tools: &ToolSet, bm25: Bm25) -> Result<ToolIndex, Error> {
    Ok(ToolIndex::builder().ranker(bm25).build(documents(tools))?)
}

/// The tools of a set as the index reads them, each at its place.
pub fn documents(tools: &ToolSet) -> impl Iterator<Item = ToolDocument<'_>> {
    tools.iter().map(|tool| ToolDocument {
        name: &tool.name.name,
        namespace: tool.name.namespace.as_deref(),
        description: &tool.description,
        parameters: tool.parameters.as_str(),
        snippet: tool.snippet.as_deref(),
        guidelines: tool.guidelines.iter().map(|rule| &**rule).collect(),
    })
}
