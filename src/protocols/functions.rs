//! The tools of a request as functions, for the protocols that know nothing else.

use std::{borrow::Cow, sync::Arc};

use tower_genai_core::{Cache, Error, Identity, ModelRequest, ToolChoice, ToolDefinition, ToolKind, ToolName, ToolSet};

use super::{Capabilities, context::Context, wire_names::WireNames};

/// A cache of encoded tool sets.
pub(crate) type FunctionCache = Cache<Identity, Arc<Functions>>;

/// A tool set as it goes out. Written once for each set and kept.
#[derive(Debug)]
pub(crate) struct Functions {
    /// The entries, separated by commas.
    pub(crate) text: String,
    pub(crate) len: usize,
    pub(crate) deferred: usize,
    pub(crate) names: WireNames,
    pub(crate) search: Option<ToolName>,
}

/// Writes one function under its name on the wire.
pub(crate) type WriteFunction = fn(&ToolDefinition, &str, &mut String);

impl Functions {
    /// Writes the functions of a set, or finds them written. `protocol` tells protocols, and forms of one protocol, apart.
    ///
    /// # Errors
    ///
    /// Names a tool that the endpoint would refuse.
    pub(crate) fn of(
        cache: &FunctionCache,
        tools: &ToolSet,
        capabilities: &Capabilities,
        protocol: &str,
        write: WriteFunction,
    ) -> Result<Arc<Self>, Error> {
        if let Some(tool) = tools.iter().next().filter(|_| !capabilities.functions) {
            return Err(Error::invalid(format!(
                "the request declares tool `{}` and this model takes no tools; send none, or set Capabilities::functions",
                tool.name
            )));
        }
        let rules = capabilities.names;
        let number = |limit: usize| (limit as u64).to_le_bytes();
        let key = tools.identity().derive(&[
            protocol.as_bytes(),
            &[u8::from(rules.letter_first)],
            &number(rules.max_len),
            rules.punctuation.as_bytes(),
            &number(capabilities.max_description.unwrap_or(usize::MAX)),
        ]);
        cache.get_or_try_build(key, || {
            let names = WireNames::new(tools, rules)?;
            let mut text = String::with_capacity(tools.iter().map(|tool| tool.prompt_bytes() + 64).sum());
            let mut search: Option<&Arc<ToolDefinition>> = None;
            for tool in tools {
                check_description(tool, capabilities)?;
                if tool.kind == ToolKind::Search
                    && let Some(first) = search.replace(tool)
                {
                    let name = &tool.name;
                    return Err(Error::invalid(format!("tools `{}` and `{name}` are both a search; declare one of them", first.name)));
                }
                if !text.is_empty() {
                    text.push(',');
                }
                write(tool, &names.wire(&tool.name), &mut text);
            }
            let search = search.map(|tool| tool.name.clone());
            Ok(Arc::new(Self { text, len: tools.len(), deferred: tools.deferred_len(), names, search }))
        })
    }

    /// What the decoder has to know.
    pub(crate) fn context(&self, request: &ModelRequest) -> Context {
        let loads = request.messages.all_loads().iter().map(|load| &load.definition);
        Context { names: self.names.clone().with_loaded(loads), search: self.search.clone() }
    }

    /// What the model is told about calling tools; `None` where nothing is to be said.
    ///
    /// # Errors
    ///
    /// For a choice that the request or the endpoint cannot make true.
    pub(crate) fn choice(&self, request: &ModelRequest, capabilities: &Capabilities) -> Result<Option<Choice<'_>>, Error> {
        let choice = &request.tool_choice;
        match choice {
            ToolChoice::Auto => return Ok(None),
            ToolChoice::None => return Ok((self.len > 0).then_some(Choice::None)),
            _ if !capabilities.forced_tool_choice => {
                return Err(Error::invalid("`tool_choice` forces a call, which this endpoint cannot do; ask for the call in words"));
            }
            _ => {}
        }
        match choice {
            ToolChoice::Required if self.len > 0 => Ok(Some(Choice::Required)),
            ToolChoice::Required => Err(Error::invalid("`tool_choice` asks for a call and the request declares no function")),
            ToolChoice::Tool(name) => match request.tools.get(name) {
                None => Err(Error::invalid(format!("`tool_choice` names tool `{name}`, which the request does not declare"))),
                Some(tool) if tool.deferred => {
                    Err(Error::invalid(format!("`tool_choice` names tool `{name}`, which is deferred; declare it in `eager_tools` too")))
                }
                Some(tool) => Ok(Some(Choice::Function(Cow::Owned(self.names.wire(&tool.name).into_owned())))),
            },
            ToolChoice::ServerTool(kind) => Err(Error::invalid(format!(
                "`tool_choice` names server tool `{kind}`, which this protocol cannot force; put what your endpoint takes into `extra_body`"
            ))),
            _ => Ok(None),
        }
    }
}

/// What the model is told about calling tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice<'a> {
    None,
    Required,
    /// A function, by its name on the wire.
    Function(Cow<'a, str>),
}

/// Refuses a description that the endpoint would refuse.
pub(crate) fn check_description(tool: &ToolDefinition, capabilities: &Capabilities) -> Result<(), Error> {
    // A text has at most as many characters as bytes, and those need not be counted.
    let Some(most) = capabilities.max_description.filter(|most| tool.description.len() > *most) else { return Ok(()) };
    let length = tool.description.chars().count();
    if length <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the description of tool `{}` has {length} characters and the endpoint takes at most {most}; shorten it",
        tool.name
    )))
}

/// Refuses more tools than the endpoint takes.
pub(crate) fn check_count(len: usize, capabilities: &Capabilities) -> Result<(), Error> {
    match capabilities.max_tools.filter(|most| len > *most) {
        None => Ok(()),
        Some(most) => Err(Error::invalid(format!(
            "the request declares {len} tools and the endpoint takes at most {most}; defer some of them behind a tool search, or send fewer"
        ))),
    }
}
