//! The tools of a request as functions, for the protocols that know nothing else.

use std::{borrow::Cow, sync::Arc};

use tower_genai_core::{
    Cache, Deferral, DeferralMode, Error, Identity, ModelRequest, ToolChoice, ToolDefinition, ToolKind, ToolName, ToolSet,
};

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
    /// What of a description is more than the endpoint takes there, by the name of the tool.
    overflow: Vec<(ToolName, Box<str>)>,
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
            let mut overflow = Vec::new();
            for tool in tools {
                let wire = names.wire(&tool.name);
                let shortened = overflow_of(tool, capabilities).map(|(head, rest)| {
                    overflow.push((tool.name.clone(), about(&wire, rest).into()));
                    let mut shortened = (**tool).clone();
                    shortened.description = head.into();
                    shortened
                });
                if tool.kind == ToolKind::Search
                    && let Some(first) = search.replace(tool)
                {
                    let name = &tool.name;
                    return Err(Error::invalid(format!("tools `{}` and `{name}` are both a search; declare one of them", first.name)));
                }
                if !text.is_empty() {
                    text.push(',');
                }
                write(shortened.as_ref().unwrap_or(tool), &wire, &mut text);
            }
            let search = search.map(|tool| tool.name.clone());
            Ok(Arc::new(Self { text, len: tools.len(), deferred: tools.deferred_len(), names, search, overflow }))
        })
    }

    /// Refuses a request that shows deferred tools in any way but by declaring them once they are loaded.
    ///
    /// # Errors
    ///
    /// Says how the request is to be lowered.
    pub(crate) fn check_append(&self, request: &ModelRequest) -> Result<(), Error> {
        if let lowered @ Deferral::Lowered(_) = request.deferral {
            lowered.lowered_to(&[DeferralMode::Append])?;
        }
        match request.tools.iter().find(|tool| tool.deferred).filter(|_| self.deferred > 0) {
            None => Ok(()),
            Some(tool) => Err(Error::invalid(format!(
                "tool `{}` is deferred and the request was not lowered; lower it for the mode Append before it is encoded",
                tool.name
            ))),
        }
    }

    /// The system prompt, text by text, with what did not fit into descriptions. Of tools that the dialogue loaded that stands where they
    /// were loaded, so that the prompt does not change with them.
    pub(crate) fn system<'a>(&'a self, request: &'a ModelRequest) -> Vec<&'a str> {
        let is_shown = |name: &ToolName| request.tools.get(name).is_some_and(|tool| !tool.deferred);
        let is_loaded = |name: &ToolName| request.messages.all_loads().iter().any(|load| load.definition.name == *name);
        let rest = self.overflow.iter().filter(|(name, _)| !(is_shown(name) && is_loaded(name))).map(|(_, rest)| &**rest);
        request.system.iter().map(|text| &**text).chain(rest).filter(|text| !text.is_empty()).collect()
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

/// As much of a description as the endpoint takes, and the rest, where it is too long: cut behind a paragraph, a line or a word.
pub(crate) fn overflow_of<'a>(tool: &'a ToolDefinition, capabilities: &Capabilities) -> Option<(&'a str, &'a str)> {
    let description = &*tool.description;
    // A text has at most as many characters as bytes, and those need not be counted.
    let most = capabilities.max_description.filter(|most| description.len() > *most)?;
    let (end, _) = description.char_indices().nth(most)?;
    let fitting = description.get(..end)?;
    let is_worth_it = |cut: &usize| *cut > 0;
    let behind = |separator: &str| fitting.rfind(separator).filter(is_worth_it);
    let cut = behind("\n\n").or_else(|| behind("\n")).or_else(|| behind(" ")).unwrap_or(end);
    let (head, rest) = description.split_at_checked(cut)?;
    Some((head.trim_end(), rest.trim()))
}

/// The rest of a description, where it stands by itself.
pub(crate) fn about(wire: &str, rest: &str) -> String {
    format!("About the tool `{wire}`:\n\n{rest}")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(capabilities: &Capabilities, description: &str) -> Result<Arc<Functions>, Error> {
        let search = ToolDefinition::new("tool_search").kind(ToolKind::Search).description(description);
        let write: WriteFunction = |tool, wire, out| out.push_str(&format!("{wire}: {}", tool.description));
        Functions::of(&Cache::new(1), &ToolSet::new([search]).unwrap(), capabilities, "test", write)
    }

    #[test]
    fn what_does_not_fit_into_a_description_goes_out_with_the_system_prompt() {
        let mut capabilities = Capabilities { max_description: Some(30), ..Capabilities::openai_chat() };
        let request = ModelRequest::new().system("Be kind.").system("");
        for (description, head, rest) in [
            ("Finds tools.\n\n- a\n- b", "Finds tools.\n\n- a\n- b", None),
            ("Finds tools.\n\n- é one\n- another one", "Finds tools.", Some("- é one\n- another one")),
            ("Finds tools:\n- é one\n- another one", "Finds tools:\n- é one", Some("- another one")),
            ("word word word word word word word", "word word word word word word", Some("word")),
            (&"é".repeat(31), &*"é".repeat(30), Some("é")),
        ] {
            let functions = functions(&capabilities, description).unwrap();
            assert_eq!(functions.text, format!("tool_search: {head}"));
            let rest = rest.map(|rest| about("tool_search", rest));
            let expected: Vec<&str> = ["Be kind."].into_iter().chain(rest.as_deref()).collect();
            assert_eq!(functions.system(&request), expected);
        }
        let call = tower_genai_core::ToolCall::from_text("1", "find", "");
        let loaded = Arc::new(ToolDefinition::new("tool_search"));
        let shown = ToolSet::new([ToolDefinition::new("tool_search")]).unwrap();
        let known = request.clone().tools(shown).message(tower_genai_core::SearchResult::new(&call, vec![loaded], ""));
        assert_eq!(functions(&capabilities, &"word ".repeat(10)).unwrap().system(&known), ["Be kind."]);
        capabilities.max_description = None;
        assert_eq!(functions(&capabilities, &"word ".repeat(10)).unwrap().system(&request), ["Be kind."]);
    }
}
