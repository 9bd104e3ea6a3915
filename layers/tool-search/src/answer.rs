//! The answer to one search.

use std::{collections::HashSet, sync::Arc};

use serde::Deserialize;
use tower_genai_core::{
    Error, ModelRequest, NameRules, SearchHit, SearchReport, SearchResult, ToolCall, ToolChoice, ToolDefinition, ToolName, wire_name,
};

use crate::{
    index::{Hit, ToolIndex},
    layer::Config,
    prepared::Prepared,
};

/// How many names an answer lists besides those it loads.
const MAX_NAMES: usize = 20;

/// What the model asked for.
#[derive(Debug, PartialEq)]
struct Query {
    queries: Vec<String>,
    score: Option<f64>,
}

impl Query {
    /// Reads the arguments of a search; says what is wrong with them in words for the model.
    fn parse(call: &ToolCall) -> Result<Self, &'static str> {
        #[derive(Deserialize)]
        struct Arguments {
            #[serde(default)]
            queries: Option<OneOrMany>,
            #[serde(default)]
            query: Option<OneOrMany>,
            #[serde(default)]
            score: Option<f64>,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum OneOrMany {
            One(String),
            Many(Vec<String>),
        }
        const SHAPE: &str = "The search was not run: pass `queries` as a list of strings, and `score`, if at all, as a number.";
        if call.invalid_arguments.is_some() {
            return Err("The search was not run: its arguments are not valid JSON. Send them again, with `queries` as a list of strings.");
        }
        let arguments: Arguments = call.arguments.deserialize().map_err(|_| SHAPE)?;
        let queries = match arguments.queries.or(arguments.query) {
            Some(OneOrMany::One(query)) => vec![query],
            Some(OneOrMany::Many(queries)) => queries,
            None => return Err(SHAPE),
        };
        let queries: Vec<String> = queries.into_iter().filter(|query| !query.trim().is_empty()).collect();
        if queries.is_empty() {
            return Err("The search was not run: `queries` is empty. Say in a few words what a tool should do.");
        }
        Ok(Self { queries, score: arguments.score })
    }
}

/// The answer to a search, and what is reported about it.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) result: SearchResult,
    pub(crate) report: Option<SearchReport>,
}

/// What the model can call, at one moment of a turn.
#[derive(Clone, Copy)]
pub(crate) struct Now<'a> {
    pub(crate) request: &'a ModelRequest,
    /// What earlier searches of the same turn loaded; the dialogue does not hold it yet.
    pub(crate) loaded: &'a [Arc<ToolDefinition>],
}

impl Now<'_> {
    fn loaded(&self, name: &ToolName) -> Option<&Arc<ToolDefinition>> {
        self.loaded.iter().rev().find(|tool| tool.name == *name).or_else(|| self.request.messages.loaded(name))
    }

    /// Whether the model can call a tool of the request in its next step.
    pub(crate) fn is_callable(&self, tool: &ToolDefinition) -> bool {
        let request = self.request;
        let shown =
            || request.eager_tools.contains(&tool.name) || matches!(&request.tool_choice, ToolChoice::Tool(name) if *name == tool.name);
        let answered = || request.messages.answered_calls().any(|(name, _)| *name == tool.name);
        !tool.deferred || self.loaded(&tool.name).is_some() || shown() || answered()
    }

    /// How many more tools the endpoint takes, where it limits them.
    pub(crate) fn room(&self, config: &Config) -> Option<usize> {
        let request = self.request;
        let mut names: HashSet<&ToolName> = request.tools.iter().filter(|tool| self.is_callable(tool)).map(|tool| &tool.name).collect();
        // What has left the set stays declared.
        names.extend(request.messages.loads().iter().map(|load| &load.definition.name));
        Some(config.max_tools?.saturating_sub(names.len() + request.server_tools.len()))
    }

    /// Whether a search has nothing new to say about a tool: it is callable, and what the dialogue loaded is its definition of today.
    fn is_current(&self, tool: &ToolDefinition) -> bool {
        match self.loaded(&tool.name) {
            Some(loaded) if tool.deferred => **loaded == *tool,
            _ => self.is_callable(tool),
        }
    }
}

/// Searches for what a call asks for. Whatever goes wrong becomes an answer that the model can read.
pub(crate) fn answer(
    call: &ToolCall,
    now: &Now<'_>,
    prepared: &Prepared,
    config: &Config,
    index: impl FnOnce() -> Result<Arc<ToolIndex>, Error>,
) -> Answered {
    let failed = |note: String| {
        let mut result = SearchResult::new(call, Vec::new(), note);
        result.is_error = true;
        Answered { result, report: None }
    };
    let query = match Query::parse(call) {
        Ok(query) => query,
        Err(note) => return failed(note.into()),
    };
    let index = match index() {
        Ok(index) => index,
        Err(error) => return failed(format!("The search could not be run: {error}.")),
    };
    // A negative threshold means "anything that matches"; the index reads it as 0.
    let min_score = query.score.filter(|score| score.is_finite()).unwrap_or(config.min_score);
    let tool = |ordinal: u32| usize::try_from(ordinal).ok().and_then(|at| prepared.tools.iter().nth(at));
    let is_new = |ordinal: u32| tool(ordinal).is_some_and(|tool| !now.is_current(tool));
    let room = now.room(config);
    let limit = room.map_or(config.limit, |room| room.min(config.limit));
    let found = index.search(&query.queries, usize::MAX, min_score).and_then(|all| {
        let new = if limit == 0 { Vec::new() } else { index.search_where(&query.queries, limit, min_score, &is_new)? };
        Ok((new, all))
    });
    let (new, all) = match found {
        Ok(found) => found,
        Err(error) => return failed(format!("The search could not be run: {error}.")),
    };
    let loaded: Vec<Arc<ToolDefinition>> = new.iter().filter_map(|hit| tool(hit.ordinal).cloned()).collect();
    let is_loaded_now = |name: &ToolName| loaded.iter().any(|loaded| loaded.name == *name);

    let best = |hit: &&Hit| all.iter().take(config.limit).any(|other| other.ordinal == hit.ordinal);
    let (mut known, mut eager, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for hit in &all {
        match tool(hit.ordinal) {
            Some(tool) if is_loaded_now(&tool.name) => {}
            Some(tool) if is_new(hit.ordinal) => rest.push(tool),
            Some(_) if !best(&hit) => {}
            Some(tool) if tool.deferred => known.push(tool),
            Some(tool) => eager.push(tool),
            None => {}
        }
    }
    let mut note = Vec::new();
    if !known.is_empty() {
        note.push(format!("Already loaded, call directly: {}.", names(&known)));
    }
    if !eager.is_empty() {
        note.push(format!("Never needed a search, call directly: {}.", names(&eager)));
    }
    match room.map(|room| room.saturating_sub(loaded.len())) {
        _ if rest.is_empty() => {}
        Some(0) => {
            note.push(format!("Also matching, not loaded: {}. No more tools can be loaded: go on with those you have.", names(&rest)))
        }
        _ => note.push(format!("Also matching, not loaded: {}. Search more specifically to load one of them.", names(&rest))),
    }
    if let Some(left) = room.map(|room| room.saturating_sub(loaded.len())).filter(|left| *left < config.limit && !all.is_empty()) {
        note.push(format!("{left} more tools can be loaded."));
    }
    if all.is_empty() {
        note.push(
            "No tool matches. Try other words for it: the thing it works on, the action, the name of the service; leave `score` out."
                .into(),
        );
    }
    let kept_out = prepared.tools.iter().filter(|tool| tool.deferred && !is_loaded_now(&tool.name) && !now.is_callable(tool));
    let mut report = SearchReport::default();
    report.call_id = call.id.clone();
    report.candidates = index.len();
    report.hits = new.iter().filter_map(|hit| Some(SearchHit { name: tool(hit.ordinal)?.name.clone(), score: hit.score as f32 })).collect();
    report.loaded = loaded.iter().map(|tool| tool.name.clone()).collect();
    report.bytes_kept_out = kept_out.map(|tool| tool.prompt_bytes()).sum();
    report.queries = query.queries;
    Answered { result: SearchResult::new(call, loaded, note.join(" ")), report: Some(report) }
}

/// Names as the model calls them, a bounded number of them.
fn names(tools: &[&Arc<ToolDefinition>]) -> String {
    let names: Vec<_> = tools.iter().take(MAX_NAMES).map(|tool| wire_name(&tool.name, NameRules::PORTABLE)).collect();
    let more = tools.len().saturating_sub(MAX_NAMES);
    if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tower_genai_core::Json;

    fn parse(arguments: &str) -> Result<Query, &'static str> {
        Query::parse(&ToolCall::from_text("1", "tool_search", arguments))
    }

    #[test]
    fn reads_what_models_send() {
        let query = |queries: &[&str], score| Ok(Query { queries: queries.iter().map(|query| (*query).to_owned()).collect(), score });
        assert_eq!(parse(r#"{"queries":["a","b"],"score":1.5}"#), query(&["a", "b"], Some(1.5)));
        assert_eq!(parse(r#"{"queries":"github"}"#), query(&["github"], None));
        assert_eq!(parse(r#"{"query":"github","score":null}"#), query(&["github"], None));
        assert_eq!(parse(r#"{"queries":["", "a"],"other":1}"#), query(&["a"], None));
    }

    #[test]
    fn says_what_is_wrong_without_repeating_it() {
        for arguments in ["{}", "[]", r#"{"queries":[1]}"#, r#"{"queries":[]}"#, r#"{"queries":["a"],"score":"secret"}"#, r#"{"queries":"#]
        {
            let note = parse(arguments).unwrap_err();
            assert!(note.contains("`queries`") && !note.contains("secret"), "{arguments}: {note}");
        }
    }

    #[test]
    fn long_lists_of_names_are_counted() {
        let tools: Vec<_> =
            (0..23).map(|number| Arc::new(ToolDefinition::new(format!("t{number}")).parameters(Json::empty_object()))).collect();
        let text = names(&tools.iter().collect::<Vec<_>>());
        assert!(text.ends_with("t19 and 3 more"), "{text}");
    }
}
