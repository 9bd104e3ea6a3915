//! Which definitions a request shows, declares as deferred, or withholds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Cache, Conversation, Error, ErrorKind, Identity, Load, ModelRequest, NameRules, ServerTool, ToolChoice, ToolDefinition, ToolName,
    ToolSet, tool_set::undefer, wire_name,
};

/// How deferred tools reach the model on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeferralMode {
    /// Deferred definitions are declared but stay out of the prompt; a search answers with references to them
    /// (Anthropic Messages: `defer_loading` and `tool_reference`).
    Reference,
    /// Deferred definitions are withheld; the answer to a search carries them (OpenAI Responses: `tool_search_output`).
    SearchOutput,
    /// Deferred definitions are withheld; a loaded one joins the declared tools at their end and stays there (every other endpoint).
    Append,
    /// The provider searches by itself: deferred definitions are declared for it. Chosen by a request that holds the provider's own
    /// tool search, never by a layer.
    Hosted,
}

/// How far the deferral of a request has been worked out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deferral {
    /// Nobody looked at it.
    #[default]
    Unset,
    /// A layer knows the mode; a search tool may still be added further in.
    Wanted(DeferralMode),
    /// [`ModelRequest::tools`] are what goes out: those marked deferred are declared as deferred, the others are shown.
    Lowered(DeferralMode),
}

impl Deferral {
    /// The mode in which a request goes out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] when it was not lowered, or for a mode that the endpoint does not understand: it would show definitions that are
    /// to stay out of the prompt, or lack those that the dialogue has loaded.
    pub fn lowered_to(self, accepted: &[DeferralMode]) -> Result<DeferralMode, Error> {
        match self {
            Self::Lowered(mode) if accepted.contains(&mode) => Ok(mode),
            Self::Lowered(mode) | Self::Wanted(mode) => Err(Error::invalid(format!(
                "deferral: the request is made for the mode {mode:?}, and this endpoint takes {accepted:?}; give the deferred tools layer the \
                 mode of the provider (`provider.deferral()`)"
            ))),
            Self::Unset => Err(Error::invalid("deferral: the request was not lowered; lower it before it is encoded")),
        }
    }
}

/// What a lowering showed, for the case that a search of the provider's own joins the request behind it.
#[derive(Clone, Debug)]
struct Shown {
    /// The definitions as they were, deferred.
    deferred: Vec<Arc<ToolDefinition>>,
    eager_tools: Vec<ToolName>,
}

/// Works out the deferral of requests for one mode. Clones share a cache of derived tool sets.
///
/// With an unchanged tool set and no loaded definitions the cost does not depend on the number of tools or messages.
///
/// ```
/// use tower_genai_core::{Deferral, DeferralMode, Lowering, ModelRequest, ToolDefinition, ToolKind, ToolSet};
///
/// let search = ToolDefinition::new("tool_search").kind(ToolKind::Search);
/// let hidden = ToolDefinition::new("hidden").deferred(true);
/// let mut request = ModelRequest::new().tools(ToolSet::new([hidden, search])?);
///
/// Lowering::new(DeferralMode::SearchOutput).lower(&mut request)?;
/// assert_eq!(request.deferral, Deferral::Lowered(DeferralMode::SearchOutput));
/// assert_eq!(request.tools.len(), 1);
/// # Ok::<(), tower_genai_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lowering {
    mode: DeferralMode,
    max_definition_bytes: usize,
    cache: Cache<Identity, ToolSet>,
}

/// The most bytes of deferred definitions that go out as ordinary tools when nothing can search them.
pub const DEFAULT_MAX_DEFINITION_BYTES: usize = 256 * 1024;

impl Lowering {
    /// For a mode.
    #[must_use]
    pub fn new(mode: DeferralMode) -> Self {
        Self { mode, max_definition_bytes: DEFAULT_MAX_DEFINITION_BYTES, cache: Cache::new(16) }
    }

    /// Sets how many bytes of deferred definitions may go out as ordinary tools when nothing can search them (256 kB).
    #[must_use]
    pub fn max_definition_bytes(mut self, bytes: usize) -> Self {
        self.max_definition_bytes = bytes;
        self
    }

    /// The mode.
    #[must_use]
    pub fn mode(&self) -> DeferralMode {
        self.mode
    }

    /// Whether [`lower`](Self::lower) has all it needs: a search that can run, or nothing deferred.
    #[must_use]
    pub fn is_ready(request: &ModelRequest) -> bool {
        request.tools.search_tool().is_some() || has_hosted_search(request) || request.tools.deferred_len() == 0
    }

    /// Makes [`ModelRequest::tools`] what goes out, with the mode that the request wants, else this one's. Lowering twice changes nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] when the caller declared both a search tool and the provider's own tool search;
    /// [`ErrorKind::TooLarge`] when deferred tools would have to go out as ordinary ones and are too many bytes.
    pub fn lower(&self, request: &mut ModelRequest) -> Result<(), Error> {
        settle_hosted_search(request)?;
        let mode = match request.deferral {
            Deferral::Lowered(_) => return Ok(()),
            _ if has_hosted_search(request) => DeferralMode::Hosted,
            Deferral::Wanted(mode) => mode,
            Deferral::Unset => self.mode,
        };
        let searchable = mode == DeferralMode::Hosted || request.tools.search_tool().is_some();
        if !searchable && request.tools.deferred_len() > 0 {
            self.check_ordinary(&request.tools)?;
            request.tools = request.tools.undeferred();
        }
        let plan = Plan::of(request, mode);
        let deferred: Vec<_> =
            plan.last.iter().filter_map(|tool| request.tools.get(&tool.name)).filter(|tool| tool.deferred).cloned().collect();
        request.tools = self.apply(&request.tools, &plan, mode)?;
        let eager_tools = std::mem::take(&mut request.eager_tools);
        if !deferred.is_empty() && request.layer_search {
            request.extensions.insert(Shown { deferred, eager_tools });
        }
        request.deferral = Deferral::Lowered(mode);
        Ok(())
    }

    fn check_ordinary(&self, tools: &ToolSet) -> Result<(), Error> {
        if tools.deferred_bytes() <= self.max_definition_bytes {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "{} deferred tools with {} bytes of definitions would go out as ordinary tools, because nothing in the request can search them \
                 (at most {} bytes may); add a tool search layer, or raise max_definition_bytes",
                tools.deferred_len(),
                tools.deferred_bytes(),
                self.max_definition_bytes
            ),
        ))
    }

    fn apply(&self, tools: &ToolSet, plan: &Plan, mode: DeferralMode) -> Result<ToolSet, Error> {
        let declares_deferred = matches!(mode, DeferralMode::Reference | DeferralMode::Hosted);
        if plan.is_empty() {
            return Ok(if declares_deferred { tools.clone() } else { tools.eager() });
        }
        let key = plan.key(mode);
        self.cache.get_or_try_build(tools.identity().derive(&[&key]), || {
            let is_moved = |name: &ToolName| plan.last.iter().any(|tool| tool.name == *name);
            let keep = |tool: &&Arc<ToolDefinition>, deferred: bool| tool.deferred == deferred && !is_moved(&tool.name);
            let mut out: Vec<_> = tools.iter().filter(|tool| keep(tool, false)).cloned().collect();
            out.extend(plan.last.iter().cloned());
            if declares_deferred {
                out.extend(tools.iter().filter(|tool| keep(tool, true)).cloned());
                let lonely = out.iter().all(|tool| tool.deferred);
                let vanished = plan.vanished.iter().map(|tool| ToolDefinition { deferred: !lonely, ..(**tool).clone() });
                out.extend(vanished.map(Arc::new));
            }
            tools.derive(&[&key], out)
        })
    }
}

/// What the dialogue and the choice of a tool change in the set that goes out.
struct Plan {
    /// Shown behind the eager tools, in this order.
    last: Vec<Arc<ToolDefinition>>,
    /// Referenced by the dialogue and no longer in the set: declared, from the stored definition.
    vanished: Vec<Arc<ToolDefinition>>,
}

impl Plan {
    fn of(request: &ModelRequest, mode: DeferralMode) -> Self {
        let (tools, messages) = (&request.tools, &request.messages);
        let mut plan = Self { last: Vec::new(), vanished: Vec::new() };
        let mut last: Vec<(usize, Arc<ToolDefinition>)> = Vec::new();
        let mut show = |at: usize, definition: &Arc<ToolDefinition>| match last.iter_mut().find(|(_, shown)| shown.name == definition.name)
        {
            Some((place, _)) => *place = at.min(*place),
            None => last.push((at, if definition.deferred { Arc::new(undefer(definition)) } else { definition.clone() })),
        };
        // A provider that cannot read a compaction is sent what stands before it, and must declare what that loaded; one that can ignores the rest.
        let since = messages.readable_compaction();
        let loads = if mode == DeferralMode::Append { messages.loads_since(since) } else { messages.all_loads() };
        for Load { definition, message } in loads {
            let current = tools.get(&definition.name);
            if current.is_none() && !can_return(definition, tools) {
                continue;
            }
            match mode {
                DeferralMode::Append => show(message + 1, current.unwrap_or(definition)),
                DeferralMode::Reference | DeferralMode::Hosted if current.is_none() => {
                    plan.vanished.retain(|tool| tool.name != definition.name);
                    plan.vanished.push(definition.clone());
                }
                _ => {}
            }
        }
        let since = if mode == DeferralMode::Append { since } else { messages.compaction() };
        for (name, at) in messages.answered_calls_since(since) {
            // What the provider found by itself it knows from its own items.
            if let Some(tool) = needs_declaring(tools, messages, name, at).filter(|_| mode != DeferralMode::Hosted) {
                show(at + 1, tool);
            }
        }
        let forced = match &request.tool_choice {
            ToolChoice::Tool(name) => Some((usize::MAX, name)),
            _ => None,
        };
        // What is asked for by name stands before what the dialogue loads, so that a load leaves it where it is.
        for (at, name) in request.eager_tools.iter().map(|name| (0, name)).chain(forced) {
            if let Some(tool) = tools.get(name).filter(|tool| tool.deferred) {
                show(at, tool);
            }
        }
        last.sort_by_key(|(at, _)| *at);
        plan.last = last.into_iter().map(|(_, tool)| tool).collect();
        plan
    }

    fn is_empty(&self) -> bool {
        self.last.is_empty() && self.vanished.is_empty()
    }

    /// Everything that decides the derived set, beside the set it is derived from.
    fn key(&self, mode: DeferralMode) -> Vec<u8> {
        let mut key = vec![mode as u8];
        for (place, tools) in [(0, &self.last), (1, &self.vanished)] {
            for tool in tools {
                let namespace = tool.name.namespace.as_deref();
                key.extend([place, u8::from(namespace.is_some()), tool.kind as u8, tool.strict.map_or(2, u8::from)]);
                for text in [namespace.unwrap_or_default(), &tool.name.name, &tool.description, tool.parameters.as_str()] {
                    key.extend((text.len() as u64).to_le_bytes());
                    key.extend(text.as_bytes());
                }
            }
        }
        key
    }
}

/// A deferred tool that was called and answered without having been loaded counts as loaded, and nothing in the dialogue declares it.
fn needs_declaring<'a>(tools: &'a ToolSet, messages: &Conversation, name: &ToolName, at: usize) -> Option<&'a Arc<ToolDefinition>> {
    let was_loaded = || messages.loads().iter().any(|load| load.message <= at && load.definition.name == *name);
    tools.get(name).filter(|tool| tool.deferred && !was_loaded())
}

/// Whether a stored definition can be declared beside the tools of today: it is valid, and none of them has its name on the wire.
fn can_return(definition: &ToolDefinition, tools: &ToolSet) -> bool {
    let wire = wire_name(&definition.name, NameRules::PORTABLE);
    let is_taken = || tools.iter().any(|tool| wire_name(&tool.name, NameRules::PORTABLE) == wire);
    definition.name.validate().is_ok() && definition.parameters.is_object() && !is_taken()
}

fn has_hosted_search(request: &ModelRequest) -> bool {
    request.server_tools.iter().any(ServerTool::is_tool_search)
}

/// Leaves one search at most: the provider's own needs deferred definitions, and a layer's gives way to it.
fn settle_hosted_search(request: &mut ModelRequest) -> Result<(), Error> {
    if !has_hosted_search(request) {
        return Ok(());
    }
    let withheld = matches!(request.deferral, Deferral::Lowered(DeferralMode::SearchOutput | DeferralMode::Append));
    let is_shown = request.extensions.get::<Shown>().is_some();
    let has_deferred = request.tools.deferred_len() > 0 || is_shown || request.server_tools.iter().any(ServerTool::is_deferred);
    if withheld || !has_deferred {
        request.server_tools.retain(|tool| !tool.is_tool_search());
        return Ok(());
    }
    let Some(search) = request.tools.search_tool() else { return Ok(()) };
    if !request.layer_search {
        return Err(Error::invalid(format!(
            "tool `{}` is a client search, and the server tools hold the provider's own tool search; declare one of the two",
            search.name
        )));
    }
    let name = search.name.clone();
    // The provider knows what its search found: what was shown for the sake of the layer's would join the prompt, one call after another.
    let shown = request.extensions.remove::<Shown>();
    let as_it_was = |tool: &Arc<ToolDefinition>| {
        let was = shown.iter().flat_map(|shown| &shown.deferred).find(|was| was.name == tool.name);
        was.unwrap_or(tool).clone()
    };
    let others = request.tools.iter().filter(|tool| tool.name != name).map(as_it_was).collect();
    let key: &[u8] = if shown.is_some() { b"without search, as it was" } else { b"without search" };
    request.tools = request.tools.derive(&[key], others)?;
    if let Some(shown) = shown {
        request.eager_tools = shown.eager_tools;
    }
    request.deferral = Deferral::Unset;
    Ok(())
}

#[cfg(test)]
mod tests;
