//! In which form each message of the model goes out, and which of its blocks.
//!
//! A hosted call and its result must both be there or both be absent, also where they stand in two messages: a turn that asks the caller
//! for something leaves its hosted calls unresolved, and the next message of the model begins with their results.

use std::{borrow::Cow, collections::HashSet};

use serde::Deserialize;
use serde_json::value::RawValue;
use tower_genai_core::{AssistantPart, Json};

use super::{super::AnthropicMessages, server_tools::WireServerTools, tools::WireTools};
use crate::protocols::{
    Protocol, Target,
    history::{Entry, Turn},
    members::{Members, Text, write_string},
};

/// How a message of the model goes out.
#[derive(Debug)]
pub(super) enum Form<'a> {
    /// The blocks that this endpoint and model wrote.
    Items(Vec<Item<'a>>),
    /// Blocks made of the neutral parts.
    Parts,
}

/// A block that the provider wrote.
#[derive(Debug)]
pub(super) struct Item<'a> {
    json: Cow<'a, str>,
    pub(super) kind: ItemKind<'a>,
}

impl Item<'_> {
    pub(super) fn json(&self) -> &str {
        &self.json
    }
}

/// What matters about a block.
#[derive(Debug, PartialEq)]
pub(super) enum ItemKind<'a> {
    Thinking {
        /// Whether something that stood before it in the message is left out now.
        is_altered: bool,
    },
    /// A call for the caller.
    Call {
        /// Whether a program of the provider makes the call, and nothing but results may answer.
        is_programmatic: bool,
    },
    HostedCall {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        is_mcp: bool,
    },
    HostedResult {
        id: Cow<'a, str>,
    },
    Compaction,
    /// No block: the container that code ran in.
    Container {
        id: Cow<'a, str>,
    },
    /// No block, or a text without any text, which the endpoint writes but does not take back.
    Blank,
    Other,
}

/// A turn with its form.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) form: Form<'a>,
    /// Whether only results may stand in the message that answers this turn.
    pub(super) results_only: bool,
}

/// Plans the turns of a dialogue, in their order.
pub(super) fn plan<'a>(
    entries: &[Entry<'a>],
    target: &Target,
    tools: &WireTools,
    server_tools: &WireServerTools,
    resumes: bool,
) -> Vec<Plan<'a>> {
    let turns: Vec<(usize, &Turn<'a>)> = entries.iter().enumerate().filter_map(|(at, entry)| as_turn(at, entry)).collect();
    let mut forms: Vec<Form<'a>> = turns.iter().map(|(_, turn)| form(turn, target)).collect();
    leave_out_repeated(&mut forms);
    let mut open: Vec<(Cow<'a, str>, bool)> = Vec::new();
    let mut open_after: Vec<Vec<Cow<'a, str>>> = Vec::with_capacity(turns.len());
    let mut left_out: HashSet<Cow<'a, str>> = HashSet::new();
    for (number, ((at, turn), form)) in turns.iter().zip(&forms).enumerate() {
        match form {
            Form::Items(items) => {
                for item in items {
                    match &item.kind {
                        ItemKind::HostedCall { id, name, is_mcp } => open.push((id.clone(), server_tools.can_run(name, *is_mcp))),
                        ItemKind::HostedResult { id } => open.retain(|(call, _)| call != id),
                        _ => {}
                    }
                }
            }
            Form::Parts => {
                left_out.extend(open.drain(..).map(|(id, _)| id));
                let hosted = turn.message.parts.iter().filter_map(|part| match part {
                    AssistantPart::Hosted(call) => Some(Cow::Owned(call.id.to_string())),
                    _ => None,
                });
                left_out.extend(hosted);
            }
        }
        let is_last = number + 1 == turns.len();
        let next_is_turn = matches!(entries.get(at + 1), Some(Entry::Turn(_)));
        if is_last {
            // The endpoint takes an unresolved call only with its tool.
            left_out.extend(open.extract_if(.., |(_, can_run)| !*can_run).map(|(id, _)| id));
        }
        let goes_on = !turn.answers.is_empty() || next_is_turn || resumes && at + 1 == entries.len();
        if !goes_on {
            left_out.extend(open.drain(..).map(|(id, _)| id));
        }
        open_after.push(open.iter().map(|(id, _)| id.clone()).collect());
    }
    let waits = |open: &[Cow<'a, str>]| open.iter().any(|id| !left_out.contains(id));
    let waiting: Vec<bool> = open_after.iter().map(|open| waits(open)).collect();
    for form in &mut forms {
        leave_out(form, |item| match &item.kind {
            ItemKind::HostedCall { id, .. } | ItemKind::HostedResult { id } => left_out.contains(id),
            _ => false,
        });
        leave_out_undeclared(form, tools);
    }
    let plans = forms.into_iter().zip(waiting).zip(&turns).map(|((form, waits), (_, turn))| {
        let results_only = !turn.answers.is_empty() && (waits || is_programmatic(&form));
        Plan { form, results_only }
    });
    plans.collect()
}

/// Takes out hosted calls and results that were there before: a message that a history holds twice. Unlike the caller's calls they cannot get
/// other ids, which the provider signed.
fn leave_out_repeated(forms: &mut [Form<'_>]) {
    let (mut calls, mut results) = (HashSet::new(), HashSet::new());
    for form in forms {
        leave_out(form, |item| match &item.kind {
            ItemKind::HostedCall { id, .. } => !id.is_empty() && !calls.insert(id.clone()),
            ItemKind::HostedResult { id } => !id.is_empty() && !results.insert(id.clone()),
            _ => false,
        });
    }
}

fn as_turn<'e, 'a>(at: usize, entry: &'e Entry<'a>) -> Option<(usize, &'e Turn<'a>)> {
    match entry {
        Entry::Turn(turn) => Some((at, turn)),
        _ => None,
    }
}

/// The provider's blocks, where they are from this endpoint and model and still say what the neutral parts say.
fn form<'a>(turn: &Turn<'a>, target: &Target) -> Form<'a> {
    let message = turn.message;
    let Some(replay) = message.replay.as_ref().filter(|replay| replay.is_from(AnthropicMessages::NAME, &target.host, &target.model)) else {
        return Form::Parts;
    };
    let items: Vec<Item<'a>> = replay.items.iter().map(|json| Item { json: Cow::Borrowed(json.as_str()), kind: kind(json) }).collect();
    let calls = items.iter().filter(|item| matches!(item.kind, ItemKind::Call { .. })).count();
    if calls == turn.answers.len() { Form::Items(items) } else { Form::Parts }
}

fn kind(json: &Json) -> ItemKind<'_> {
    #[derive(Deserialize)]
    struct Fields<'a> {
        #[serde(rename = "type", borrow, default)]
        kind: Option<Text<'a>>,
        #[serde(borrow, default)]
        id: Option<Text<'a>>,
        #[serde(borrow, default)]
        name: Option<Text<'a>>,
        #[serde(borrow, default)]
        tool_use_id: Option<Text<'a>>,
        #[serde(borrow, default)]
        text: Option<Text<'a>>,
        #[serde(borrow, default)]
        caller: Option<Caller<'a>>,
        #[serde(borrow, default)]
        container: Option<Container<'a>>,
    }
    #[derive(Deserialize)]
    struct Caller<'a> {
        #[serde(rename = "type", borrow, default)]
        kind: Option<Text<'a>>,
    }
    #[derive(Deserialize)]
    struct Container<'a> {
        #[serde(borrow, default)]
        id: Option<Text<'a>>,
    }
    // The frequent ones, without reading them to the end.
    let text = json.as_str();
    if text.starts_with("{\"type\":\"thinking\"") || text.starts_with("{\"type\":\"redacted_thinking\"") {
        return ItemKind::Thinking { is_altered: false };
    }
    if !json.is_object() {
        return ItemKind::Blank;
    }
    let Ok(fields) = serde_json::from_str::<Fields<'_>>(text) else { return ItemKind::Other };
    let string = |text: Option<Text<'_>>| text.map(|text| Cow::Owned(text.0.into_owned())).unwrap_or_default();
    let kind = fields.kind.as_ref().map(|kind| &*kind.0);
    match kind {
        Some("thinking" | "redacted_thinking") => ItemKind::Thinking { is_altered: false },
        Some("text") if fields.text.as_ref().is_none_or(|text| text.0.is_empty()) => ItemKind::Blank,
        Some("tool_use") => {
            let caller = fields.caller.and_then(|caller| caller.kind);
            ItemKind::Call { is_programmatic: caller.is_some_and(|kind| kind.0 != "direct") }
        }
        Some("server_tool_use") => ItemKind::HostedCall { id: string(fields.id), name: string(fields.name), is_mcp: false },
        Some("mcp_tool_use") => ItemKind::HostedCall { id: string(fields.id), name: string(fields.name), is_mcp: true },
        Some("compaction") => ItemKind::Compaction,
        Some(kind) if kind.ends_with("_tool_result") => ItemKind::HostedResult { id: string(fields.tool_use_id) },
        None if fields.container.is_some() => ItemKind::Container { id: string(fields.container.and_then(|container| container.id)) },
        _ => ItemKind::Other,
    }
}

/// Takes out what may not go out, and notes which reasoning stood behind it.
fn leave_out<'a>(form: &mut Form<'a>, mut is_left_out: impl FnMut(&Item<'a>) -> bool) {
    let Form::Items(items) = form else { return };
    let mut is_gone = false;
    items.retain_mut(|item| {
        let goes = is_left_out(item);
        is_gone |= goes;
        if let ItemKind::Thinking { is_altered } = &mut item.kind {
            *is_altered |= is_gone;
        }
        !goes
    });
}

/// Takes tools that are declared no more out of the results of the provider's own search, and notes which reasoning stood behind them.
fn leave_out_undeclared(form: &mut Form<'_>, tools: &WireTools) {
    let Form::Items(items) = form else { return };
    let mut is_changed = false;
    for item in items {
        match &mut item.kind {
            ItemKind::HostedResult { .. } => {
                if let Some(json) = without_undeclared(&item.json, tools) {
                    is_changed = true;
                    item.json = Cow::Owned(json);
                }
            }
            ItemKind::Thinking { is_altered } => *is_altered |= is_changed,
            _ => {}
        }
    }
}

/// The result of the provider's own tool search without the tools that are declared no more, which the endpoint would refuse; `None` where
/// all are declared.
fn without_undeclared(result: &str, tools: &WireTools) -> Option<String> {
    let members = Members::of(result).filter(|_| result.contains("\"tool_references\""))?;
    let content = Members::of(members.get("content")?)?;
    let references: Vec<&RawValue> = serde_json::from_str(content.get("tool_references")?).ok()?;
    let is_declared = |reference: &&&RawValue| {
        let name = Members::of(reference.get()).and_then(|reference| reference.text("tool_name"));
        name.is_some_and(|name| tools.position(&name).is_some())
    };
    let declared: Vec<&str> = references.iter().filter(is_declared).map(|reference| reference.get()).collect();
    if declared.len() == references.len() {
        return None;
    }
    let content = content.with("tool_references", &format!("[{}]", declared.join(",")));
    Some(members.with("content", &content))
}

fn is_programmatic(form: &Form<'_>) -> bool {
    match form {
        Form::Items(items) => items.iter().any(|item| item.kind == ItemKind::Call { is_programmatic: true }),
        Form::Parts => false,
    }
}

/// The container that the newest blocks of this endpoint name.
pub(super) fn container<'p>(plans: &'p [Plan<'_>]) -> Option<&'p str> {
    plans.iter().rev().find_map(|plan| match &plan.form {
        Form::Items(items) => items.iter().rev().find_map(|item| match &item.kind {
            ItemKind::Container { id } if !id.is_empty() => Some(&**id),
            _ => None,
        }),
        Form::Parts => None,
    })
}

/// A call block under another id.
pub(super) fn with_id(item: &str, id: &str) -> String {
    let mut json = String::new();
    write_string(&mut json, id);
    Members::of(item).map_or_else(|| item.to_owned(), |members| members.with("id", &json))
}
