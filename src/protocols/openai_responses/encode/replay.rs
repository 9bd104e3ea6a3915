//! Items that this endpoint wrote, on their way back to it.

use std::{borrow::Cow, collections::HashSet};

use serde::Deserialize;
use tower_genai_core::{Json, ToolCall};

use crate::protocols::{
    history::Answer,
    lenient::{Text, read},
    members::Members,
    object::Object,
    openai_responses::item::{Call, Item, Role},
};

/// An item to send back.
#[derive(Debug)]
pub(super) struct Replayed<'a> {
    json: &'a str,
    pub(super) item: Item<'a>,
    pub(super) role: Role,
    is_kept: bool,
    keeps_id: bool,
    /// The answer to it, where it is a client call: an index into the answers of its turn.
    pub(super) answer: Option<usize>,
}

/// What an item is called, as far as that differs from what it says.
#[derive(Debug, Default)]
pub(super) struct Edits<'a> {
    /// The id of the call.
    pub(super) call_id: Option<&'a str>,
    /// The namespace: to be set, or taken away where it is empty.
    pub(super) namespace: Option<&'a str>,
    /// The arguments, as JSON text.
    pub(super) arguments: Option<Cow<'a, str>>,
    /// Goes out as a call of this function, for an endpoint that knows no search.
    pub(super) function: Option<&'a str>,
}

/// Chooses what of the items of one answer goes back, and finds the answers to its calls.
///
/// `ids` are the ids of the items that go out before. With `encrypted` a reasoning item needs its encrypted content, since nothing else
/// says to the endpoint what the model thought.
pub(super) fn prepare<'a>(items: &'a [Json], answers: &[Answer<'a>], encrypted: bool, ids: &mut HashSet<Box<str>>) -> Vec<Replayed<'a>> {
    let mut taken = vec![false; answers.len()];
    let mut replayed: Vec<Replayed<'a>> = Vec::with_capacity(items.len());
    for json in items {
        let item = Item::read(json.as_str());
        let role = item.role();
        let mut is_kept = match role {
            Role::Reasoning => !encrypted || !item.encrypted_content.is_empty(),
            // Nothing can answer it.
            Role::Call(Call::Search) => !item.call_id.is_empty(),
            _ => true,
        };
        let mut keeps_id = true;
        if let Some(id) = item.id.some().filter(|_| is_kept)
            && !ids.insert(id.into())
        {
            keeps_id = needs_id(&item.kind);
            is_kept = !keeps_id;
        }
        let id = if role == Role::Call(Call::Approval) { &item.id } else { &item.call_id };
        let mut answer = None;
        if let Role::Call(_) = role {
            answer = answers.iter().enumerate().position(|(at, answer)| taken.get(at) == Some(&false) && *answer.call.id == **id);
            if let Some(taken) = answer.and_then(|at| taken.get_mut(at)) {
                *taken = true;
            }
            // Nothing can answer a call that has no id at all.
            is_kept &= answer.is_some() || !id.is_empty();
        }
        replayed.push(Replayed { json: json.as_str(), item, role, is_kept, keeps_id, answer });
    }
    keep_reasoning_with_what_follows(&mut replayed);
    replayed
}

/// A reasoning item goes with the item behind it or not at all, and where it is left out nothing refers to it any more.
fn keep_reasoning_with_what_follows(items: &mut [Replayed<'_>]) {
    let mut follows = false;
    for item in items.iter_mut().rev() {
        if item.role == Role::Reasoning {
            item.is_kept &= follows;
        } else {
            follows = item.is_kept && !item.item.kind.ends_with("_output");
        }
    }
    let mut left_out = false;
    for item in items.iter_mut() {
        if item.role == Role::Reasoning {
            left_out = !item.is_kept;
        } else if left_out && !needs_id(&item.item.kind) {
            item.keeps_id = false;
        }
    }
}

/// Whether the endpoint refuses an item of this kind without its id.
fn needs_id(kind: &str) -> bool {
    let optional = [
        "",
        "message",
        "function_call",
        "custom_tool_call",
        "tool_search_call",
        "tool_search_output",
        "shell_call",
        "shell_call_output",
        "apply_patch_call",
        "compaction",
    ];
    !optional.contains(&kind)
}

impl<'a> Replayed<'a> {
    /// Whether the item goes out.
    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    pub(super) fn leave_out(&mut self) {
        self.is_kept = false;
    }

    /// The arguments to send where those of the item are not what the endpoint takes.
    pub(super) fn repaired_arguments(&self, call: Option<&ToolCall>) -> Option<Cow<'a, str>> {
        match self.role {
            Role::Call(Call::Function) => {
                let text: Text<'_> = read(self.item.arguments);
                let is_blank = text.trim_ascii().is_empty();
                // What was decoded once need not be looked at again.
                let broken = call.map_or_else(|| Json::parse(&text).is_err(), |call| call.invalid_arguments.is_some());
                let is_object = self.item.arguments.map(|raw| raw.get()).filter(|raw| raw.starts_with('{'));
                if let Some(object) = is_object {
                    return Some(Cow::Borrowed(object));
                }
                (broken || is_blank).then_some(Cow::Borrowed("{}"))
            }
            Role::Call(Call::Search) => {
                let is_object = self.item.arguments.is_some_and(|raw| raw.get().starts_with('{'));
                let known = call.filter(|call| call.arguments.is_object());
                (!is_object).then(|| known.map_or(Cow::Borrowed("{}"), |call| Cow::Owned(call.arguments.as_str().to_owned())))
            }
            _ => None,
        }
    }

    /// Writes the item, as it came but for the edits.
    pub(super) fn write(&self, edits: &Edits<'_>, out: &mut String) {
        let Edits { call_id, namespace, arguments, function } = edits;
        let is_edited = call_id.is_some() || namespace.is_some() || arguments.is_some() || function.is_some() || !self.keeps_id;
        // Both are rare, and a text that only contains them costs a look at the members.
        let is_suspicious = self.json.contains(":null") || self.json.contains("\"created_by\"");
        let members = if is_edited || is_suspicious { Members::of(self.json) } else { None };
        let Some(members) = members else {
            out.push_str(self.json);
            return;
        };
        let mut object = Object::new(out);
        let as_text = matches!(self.role, Role::Call(Call::Function)) || function.is_some();
        let mut rest = Missing { call_id: *call_id, namespace: *namespace, arguments: arguments.as_deref() };
        for (key, value) in &members.0 {
            match &**key {
                key if *value == "null" && self.drops_null(key) => {}
                "type" if function.is_some() => object.string("type", "function_call"),
                "execution" if function.is_some() => {}
                "id" if !self.keeps_id || function.is_some() => {}
                "created_by" => {}
                "call_id" => match rest.call_id.take() {
                    Some(id) => object.string("call_id", id),
                    None => object.raw(key, value),
                },
                "namespace" => match rest.namespace.take() {
                    Some("") => {}
                    Some(namespace) => object.string("namespace", namespace),
                    None => object.raw(key, value),
                },
                "arguments" => write_arguments(&mut object, rest.arguments.take().unwrap_or(value), value, as_text),
                _ => object.raw(key, value),
            }
        }
        if let Some(name) = function {
            object.string("name", name);
        }
        if let Some(id) = rest.call_id {
            object.string("call_id", id);
        }
        if let Some(namespace) = rest.namespace.filter(|namespace| !namespace.is_empty()) {
            object.string("namespace", namespace);
        }
        if let Some(arguments) = rest.arguments {
            write_arguments(&mut object, arguments, "", as_text);
        }
        object.end();
    }

    /// Whether a null says nothing, which some hosts refuse though they sent it. Hosted items have members that must be there even so.
    fn drops_null(&self, key: &str) -> bool {
        matches!(self.role, Role::Reasoning | Role::Message | Role::Call(_)) || matches!(key, "content" | "status")
    }
}

/// Edits whose key did not occur yet.
struct Missing<'a> {
    call_id: Option<&'a str>,
    namespace: Option<&'a str>,
    arguments: Option<&'a str>,
}

/// Functions take their arguments as text, searches as an object. What stood there before may be either.
fn write_arguments(object: &mut Object<'_>, arguments: &str, before: &str, as_text: bool) {
    let is_text_already = arguments == before && before.starts_with('"');
    if as_text && !is_text_already { object.string("arguments", arguments) } else { object.raw("arguments", arguments) }
}

/// The program that a call comes from, which its answer has to name.
pub(super) fn program<'a>(item: &Item<'a>) -> Option<&'a str> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Caller<'a> {
        #[serde(borrow, rename = "type")]
        kind: Text<'a>,
    }
    let caller: Caller<'_> = read(item.caller);
    item.caller.filter(|_| &*caller.kind == "program").map(|raw| raw.get())
}
