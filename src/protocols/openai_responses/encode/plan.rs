//! What of a dialogue goes out, and where each loaded definition stands in it.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tower_genai_core::{Message, ModelRequest, SystemMessage, ToolDefinition, ToolKind, UserMessage};

use super::{
    replay::{self, Replayed},
    tools::SearchForm,
};
use crate::protocols::{
    Capabilities, Target,
    history::{self, Answer, Answered, Entry, Turn},
    lenient::Text,
    openai_responses::{
        NAME,
        item::{Call, Item, Role},
    },
    wire_names::WireNames,
};

/// The dialogue in the order in which it goes out.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) steps: Vec<Step<'a>>,
    pub(super) form: SearchForm,
    /// Definitions that nothing in the dialogue can carry: they join the declared tools.
    pub(super) added: Vec<&'a Arc<ToolDefinition>>,
    /// Where the definition of each loaded tool stands, by its name on the wire.
    places: HashMap<Cow<'a, str>, Place>,
}

#[derive(Debug)]
pub(super) enum Step<'a> {
    User(&'a UserMessage),
    System(&'a SystemMessage),
    Summary(&'a str),
    Turn(TurnPlan<'a>),
}

/// A message of the model with the answers to its calls.
#[derive(Debug)]
pub(super) struct TurnPlan<'a> {
    pub(super) turn: Turn<'a>,
    /// What goes back as it came; `None` where the message is written from its parts.
    pub(super) items: Option<Vec<Replayed<'a>>>,
    /// How each call is answered, in the order of the answers; `None` where it does not go out.
    pub(super) calls: Vec<Option<Call>>,
    /// The definitions that the answer to each search carries.
    pub(super) loaded: Vec<Vec<&'a Arc<ToolDefinition>>>,
    /// What the endpoint called the tool of each call, where another of its models wrote the message and gave the call a namespace.
    pub(super) written: Vec<Option<Written<'a>>>,
    /// The definitions that follow the answers.
    pub(super) additional: Vec<&'a Arc<ToolDefinition>>,
}

/// A tool as a model of this endpoint called it.
#[derive(Clone, Debug)]
pub(super) struct Written<'a> {
    pub(super) name: Text<'a>,
    pub(super) namespace: Text<'a>,
}

/// Where a definition stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the answer to a search: calls name it as their namespace.
    SearchOutput,
    /// In an item that adds tools.
    Additional,
    /// Among the declared tools.
    Declared,
}

/// A definition that an answer loaded.
struct Load<'a> {
    step: usize,
    answer: usize,
    place: Place,
    definition: &'a Arc<ToolDefinition>,
}

impl<'a> Plan<'a> {
    pub(super) fn of(request: &'a ModelRequest, target: &Target, names: &WireNames, form: SearchForm, capabilities: &Capabilities) -> Self {
        let mut entries = history::entries(&request.messages, capabilities.call_ids);
        let summary = compaction(request, target);
        if let Some(summary) = summary {
            // What stands before it reaches the model through the summary only.
            let at = entries.iter().position(|entry| matches!(entry, Entry::Turn(turn) if turn.index == summary));
            entries.drain(..at.unwrap_or(0));
        } else {
            entries = history::begin_at_summary(&request.messages, entries);
        }
        let mut ids = HashSet::new();
        let steps = entries.into_iter().map(|entry| match entry {
            Entry::User(message) => Step::User(message),
            Entry::System(message) => Step::System(message),
            Entry::Summary(summary) => Step::Summary(summary),
            Entry::Turn(turn) => {
                let is_summary = Some(turn.index) == summary;
                Step::Turn(TurnPlan::of(turn, target, form, capabilities, is_summary, &mut ids))
            }
        });
        let mut plan = Self { steps: steps.collect(), form, added: Vec::new(), places: HashMap::new() };
        plan.place(names, form, capabilities);
        plan
    }

    /// Decides where each definition stands: once in the request, and nowhere beside a declaration of the same name.
    fn place(&mut self, names: &WireNames, form: SearchForm, capabilities: &Capabilities) {
        let mut loads: Vec<Load<'a>> = Vec::new();
        let mut newest: HashMap<Cow<'a, str>, usize> = HashMap::new();
        let elsewhere = if capabilities.additional_tools && form == SearchForm::Output { Place::Additional } else { Place::Declared };
        for (step, plan) in self.steps.iter().enumerate() {
            let Step::Turn(plan) = plan else { continue };
            for (answer, (Answer { result, .. }, call)) in plan.turn.answers.iter().zip(&plan.calls).enumerate() {
                let place = match call {
                    None => continue,
                    Some(Call::Search) => Place::SearchOutput,
                    Some(_) => elsewhere,
                };
                for definition in loaded(result) {
                    let wire: Cow<'a, str> = names.wire(&definition.name);
                    if names
                        .declared(&wire)
                        .is_some_and(|tool| !tool.deferred && (tool.kind == ToolKind::Function || form == SearchForm::Function))
                    {
                        continue;
                    }
                    let load = Load { step, answer, place, definition };
                    // The same definition twice is sent where it was loaded first; another one of the name takes its place.
                    match newest.get(&wire).and_then(|at| loads.get(*at)) {
                        Some(earlier) if is_same(earlier.definition, definition) => {}
                        _ => {
                            newest.insert(wire, loads.len());
                            loads.push(load);
                        }
                    }
                }
            }
        }
        let mut winners: Vec<usize> = newest.values().copied().collect();
        winners.sort_unstable();
        self.places = newest.into_iter().filter_map(|(wire, at)| Some((wire, loads.get(at)?.place))).collect();
        for Load { step, answer, place, definition } in winners.into_iter().filter_map(|at| loads.get(at)) {
            match (place, self.steps.get_mut(*step)) {
                (Place::Declared, _) => self.added.push(definition),
                (Place::Additional, Some(Step::Turn(plan))) => plan.additional.push(definition),
                (Place::SearchOutput, Some(Step::Turn(plan))) => {
                    if let Some(loaded) = plan.loaded.get_mut(*answer) {
                        loaded.push(definition);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether a call of this name has to say its namespace: the tool is there because a search loaded it, and for no other reason.
    pub(super) fn needs_namespace(&self, wire: &str, names: &WireNames) -> bool {
        match (self.places.get(wire), names.declared(wire)) {
            (Some(place), _) => *place == Place::SearchOutput,
            (None, Some(tool)) => tool.deferred,
            (None, None) => false,
        }
    }

    /// Whether nothing in the request says what this name is.
    pub(super) fn is_unknown(&self, wire: &str, names: &WireNames) -> bool {
        !self.places.contains_key(wire) && names.declared(wire).is_none()
    }

    /// Whether a tool was added for a call that came before its definition.
    pub(super) fn is_added(&self, wire: &str) -> bool {
        self.places.get(wire).is_some_and(|place| *place != Place::SearchOutput)
    }
}

/// The index of the last message that holds a summary which this endpoint can read.
fn compaction(request: &ModelRequest, target: &Target) -> Option<usize> {
    let index = request.messages.compaction()?;
    let Message::Assistant(message) = &**request.messages.get(index)? else { return None };
    let replay = message.replay.as_ref().filter(|replay| replay.is_from(NAME, &target.host, &target.model))?;
    replay.items.iter().any(|item| Item::read(item.as_str()).role() == Role::Compaction).then_some(index)
}

/// The definitions that an answer loaded.
fn loaded<'a>(result: &Answered<'a>) -> &'a [Arc<ToolDefinition>] {
    match result {
        Answered::Tool(result) => &result.loaded,
        Answered::Search(result) => &result.loaded,
        Answered::Missing => &[],
    }
}

/// Whether two definitions of one name go out alike.
fn is_same(one: &Arc<ToolDefinition>, other: &Arc<ToolDefinition>) -> bool {
    let sent = |tool: &'_ ToolDefinition| (tool.description.clone(), tool.parameters.clone(), tool.strict);
    Arc::ptr_eq(one, other) || sent(one) == sent(other)
}

impl<'a> TurnPlan<'a> {
    fn of(
        turn: Turn<'a>,
        target: &Target,
        form: SearchForm,
        capabilities: &Capabilities,
        is_summary: bool,
        ids: &mut HashSet<Box<str>>,
    ) -> Self {
        let len = turn.answers.len();
        let replay =
            turn.message.replay.as_ref().filter(|replay| replay.is_from(NAME, &target.host, &target.model) && !replay.items.is_empty());
        let mut calls = vec![None; len];
        let items = replay.map(|replay| {
            let mut items = replay::prepare(&replay.items, &turn.answers, capabilities.encrypted_reasoning, ids);
            if is_summary {
                let summary = items.iter().rposition(|item| item.role == Role::Compaction).unwrap_or(0);
                items.iter_mut().take(summary).for_each(Replayed::leave_out);
            }
            for item in items.iter().filter(|item| item.is_kept()) {
                let Role::Call(call) = item.role else { continue };
                if let Some(slot) = item.answer.and_then(|at| calls.get_mut(at)) {
                    *slot = Some(if call == Call::Search && form == SearchForm::Function { Call::Function } else { call });
                }
            }
            items
        });
        let mut written = vec![None; len];
        if items.is_none() {
            written = turn.answers.iter().map(|answer| written_call(&turn, answer, target)).collect();
            calls = turn.answers.iter().map(|answer| Some(neutral_call(answer, form))).collect();
        }
        Self { turn, items, calls, loaded: vec![Vec::new(); len], written, additional: Vec::new() }
    }
}

/// What this endpoint called the tool of a call that one of its models wrote. Calls outlive the model: the endpoint remembers their namespace.
fn written_call<'a>(turn: &Turn<'a>, answer: &Answer<'_>, target: &Target) -> Option<Written<'a>> {
    let replay = turn.message.replay.as_ref().filter(|replay| *replay.protocol == *NAME && *replay.host == *target.host)?;
    let item = replay.items.iter().map(|item| Item::read(item.as_str())).find(|item| *item.call_id == *answer.call.id)?;
    (!item.namespace.is_empty()).then_some(Written { name: item.name, namespace: item.namespace })
}

/// How a call goes out that is written from its neutral form.
fn neutral_call(answer: &Answer<'_>, form: SearchForm) -> Call {
    match (answer.is_search, form) {
        (true, SearchForm::Output) => Call::Search,
        (false, _) if answer.call.call_type.as_deref() == Some("custom_tool_call") => Call::Custom,
        _ => Call::Function,
    }
}
