//! The tools of a request.

use std::sync::Arc;

use tower_genai_core::{Cache, DeferralMode, Error, Identity, ModelRequest, ServerTool, ToolDefinition, ToolKind, ToolName, ToolSet};

use crate::protocols::{
    Capabilities, ServerToolForm,
    functions::{check_count, check_description},
    object::{List, Object},
    schema,
    wire_names::WireNames,
};

/// A tool set as it goes out. Written once for each set and kept.
#[derive(Debug)]
pub(in crate::protocols::openai_responses) struct WireTools {
    /// The entries, separated by commas.
    text: String,
    len: usize,
    form: SearchForm,
    pub(super) names: WireNames,
    pub(super) search: Option<ToolName>,
}

impl WireTools {
    /// Whether this tool is a search in the protocol's own form.
    pub(super) fn searches_with(&self, name: &ToolName) -> bool {
        self.form == SearchForm::Output && self.search.as_ref() == Some(name)
    }
}

/// How the search tool goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchForm {
    /// As `tool_search`, whose answer carries definitions.
    Output,
    /// As an ordinary function, for endpoints that know no other.
    Function,
}

impl SearchForm {
    pub(super) fn of(mode: DeferralMode) -> Self {
        if mode == DeferralMode::Append { Self::Function } else { Self::Output }
    }
}

/// Writes the tools that the caller runs, or finds them written.
pub(super) fn wire_tools(
    cache: &Cache<Identity, Arc<WireTools>>,
    tools: &ToolSet,
    form: SearchForm,
    capabilities: &Capabilities,
) -> Result<Arc<WireTools>, Error> {
    let rules = capabilities.names;
    let number = |limit: Option<usize>| limit.map_or(u64::MAX, |limit| limit as u64).to_le_bytes();
    let flags = [u8::from(form == SearchForm::Function), u8::from(rules.letter_first)];
    let key = tools.identity().derive(&[
        b"openai_responses",
        &flags,
        &number(Some(rules.max_len)),
        rules.punctuation.as_bytes(),
        &number(capabilities.max_description),
        &number(capabilities.max_deferred_tools),
    ]);
    cache.get_or_try_build(key, || {
        let names = WireNames::new(tools, rules)?;
        if let Some(most) = capabilities.max_deferred_tools.filter(|most| tools.deferred_len() > *most) {
            let deferred = tools.deferred_len();
            return Err(Error::invalid(format!("{deferred} tools are deferred and the endpoint takes at most {most}; send fewer tools")));
        }
        let mut text = String::with_capacity(tools.iter().map(|tool| tool.prompt_bytes() + 64).sum());
        let mut search: Option<&Arc<ToolDefinition>> = None;
        for tool in tools {
            if !text.is_empty() {
                text.push(',');
            }
            match tool.kind {
                ToolKind::Search => {
                    if let Some(first) = search.replace(tool) {
                        let name = &tool.name;
                        return Err(Error::invalid(format!("tools `{}` and `{name}` are both a search; declare one of them", first.name)));
                    }
                    check_description(tool, capabilities)?;
                    if form == SearchForm::Output {
                        search_tool(tool, &mut text);
                    } else {
                        function(tool, &names, false, &mut text);
                    }
                }
                _ => {
                    check_description(tool, capabilities)?;
                    function(tool, &names, tool.deferred, &mut text);
                }
            }
        }
        let search = search.map(|tool| tool.name.clone());
        Ok(Arc::new(WireTools { text, len: tools.len(), form, names, search }))
    })
}

/// Writes one function.
pub(super) fn function(tool: &ToolDefinition, names: &WireNames, deferred: bool, out: &mut String) {
    let mut object = Object::typed(out, "function");
    object.string("name", &names.wire(&tool.name));
    if !tool.description.is_empty() {
        object.string("description", &tool.description);
    }
    let parameters = schema::with_object_root(tool.parameters.as_str());
    object.raw("parameters", &parameters);
    if let Some(strict) = tool.strict {
        // The endpoint refuses the whole request where a schema does not allow what is asked for.
        object.bool("strict", strict && schema::allows_strict(&parameters));
    }
    if deferred {
        object.bool("defer_loading", true);
    }
    object.end();
}

fn search_tool(tool: &ToolDefinition, out: &mut String) {
    let mut object = Object::typed(out, "tool_search");
    object.string("execution", "client");
    if !tool.description.is_empty() {
        object.string("description", &tool.description);
    }
    object.raw("parameters", &schema::with_object_root(tool.parameters.as_str()));
    object.end();
}

/// Writes the list of tools: those of the provider first, so that the list only grows at its end. Says whether there are any.
///
/// # Errors
///
/// Where the endpoint would refuse the list: deferred tools without a search, two searches, too many tools.
pub(super) fn list(
    request: &ModelRequest,
    tools: &WireTools,
    added: &[&Arc<ToolDefinition>],
    capabilities: &Capabilities,
    out: &mut String,
) -> Result<bool, Error> {
    let has_deferred = request.tools.deferred_len() > 0 || request.server_tools.iter().any(ServerTool::is_deferred);
    let is_sent = |tool: &&ServerTool| has_deferred || !tool.is_tool_search();
    let mut searches = usize::from(tools.form == SearchForm::Output && tools.search.is_some());
    let mut len = tools.len + added.len();
    let mut entries = List::new(out);
    for tool in request.server_tools.iter().filter(is_sent) {
        searches += usize::from(tool.tool_type() == "tool_search");
        len += 1;
        let mut object = Object::typed(entries.entry(), tool.tool_type());
        match (capabilities.server_tools, tool.configuration().as_str()) {
            (ServerToolForm::Parameters, "{}") => {}
            (ServerToolForm::Parameters, configuration) => object.raw("parameters", configuration),
            (_, configuration) => object.members(configuration),
        }
        object.end();
    }
    if !tools.text.is_empty() {
        entries.entry().push_str(&tools.text);
    }
    for tool in added {
        check_description(tool, capabilities)?;
        function(tool, &tools.names, false, entries.entry());
    }
    let any = !entries.is_empty();
    entries.end();
    let other_search = request.server_tools.iter().any(ServerTool::is_tool_search);
    if let Some(tool) = request.tools.iter().find(|tool| tool.deferred).filter(|_| searches == 0 && !other_search) {
        return Err(Error::invalid(format!(
            "tool `{}` is deferred and nothing in the request can search for it; add a tool search, or do not defer it",
            tool.name
        )));
    }
    if searches > 1 {
        return Err(Error::invalid("the request declares two tool searches, a tool and a server tool; the endpoint takes one of them"));
    }
    check_count(len, capabilities)?;
    Ok(any)
}
