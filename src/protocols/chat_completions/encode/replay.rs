//! Messages that this endpoint wrote, on their way back to it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use tower_genai_core::AssistantMessage;

use crate::protocols::{
    Target,
    chat_completions::NAME,
    history::Answer,
    lenient::{Text, read},
    members::Members,
    object::Object,
};

/// A message as this endpoint wrote it.
#[derive(Debug)]
pub(super) struct Replayed<'a> {
    members: Members<'a>,
    /// Its calls, one for each answer of the turn and in their order.
    calls: Vec<&'a str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Call<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    function: Option<&'a RawValue>,
}

impl<'a> Replayed<'a> {
    /// The message as this very host and model wrote it, unless it does not fit the neutral parts: then those are what holds.
    pub(super) fn of(message: &'a AssistantMessage, answers: &[Answer<'_>], target: &Target) -> Option<Self> {
        let replay = message.replay.as_ref().filter(|replay| replay.is_from(NAME, &target.host, &target.model))?;
        let [item] = replay.items.as_slice() else { return None };
        let members = Members::of(item.as_str())?;
        let written: Vec<&RawValue> = members.get("tool_calls").and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default();
        let mut calls: Vec<&str> = written.into_iter().map(RawValue::get).filter(|call| call.starts_with('{')).collect();
        if calls.len() != answers.len() {
            // A call that nothing answers would be refused; a call that is not there cannot be answered.
            let mut rest = calls.into_iter();
            let of_id =
                |answer: &Answer<'_>| rest.find(|call| *serde_json::from_str::<Call<'_>>(call).unwrap_or_default().id == *answer.call.id);
            calls = answers.iter().map(of_id).collect::<Option<_>>()?;
        }
        Some(Self { members, calls })
    }

    /// A member that says something.
    fn get(&self, key: &str) -> Option<&'a str> {
        self.members.get(key).filter(|value| !matches!(*value, "null" | "\"\"" | "[]" | "{}"))
    }

    /// The content, a string or a list, where there is any.
    pub(super) fn content(&self) -> Option<&'a str> {
        self.get("content").filter(|content| content.starts_with(['"', '[']))
    }

    pub(super) fn refusal(&self) -> Option<&'a str> {
        self.get("refusal").filter(|refusal| refusal.starts_with('"'))
    }

    /// The recording that the model spoke, by its id.
    pub(super) fn audio(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Audio<'a> {
            #[serde(borrow, default)]
            id: Text<'a>,
        }
        let audio: Audio<'_> = serde_json::from_str(self.get("audio")?).ok()?;
        audio.id.some().map(str::to_owned)
    }

    /// Whether the reasoning has the spelling that some hosts insist on.
    pub(super) fn has_reasoning_content(&self) -> bool {
        self.members.get("reasoning_content").is_some_and(|content| content.starts_with('"'))
    }

    /// Writes the reasoning, as it came.
    pub(super) fn write_reasoning(&self, object: &mut Object<'_>) {
        if let Some(content) = self.members.get("reasoning_content").filter(|content| content.starts_with('"')) {
            object.raw("reasoning_content", content);
        }
        match (self.get("reasoning_details"), self.get("reasoning")) {
            (Some(details), _) => object.raw("reasoning_details", details),
            // What the details say is not said twice.
            (None, Some(reasoning)) => object.raw("reasoning", reasoning),
            (None, None) => {}
        }
    }

    /// Writes the call of an answer, as it came but for what the endpoint would refuse. Says whether there is one.
    pub(super) fn write_call(&self, at: usize, answer: &Answer<'_>, out: &mut String) -> bool {
        let Some(json) = self.calls.get(at) else { return false };
        let call: Call<'_> = serde_json::from_str(json).unwrap_or_default();
        let function = call.function.and_then(|function| Members::of(function.get()));
        let arguments = function.as_ref().and_then(|function| repaired(function.get("arguments"), answer));
        let is_sound = *call.id == *answer.id && arguments.is_none() && !json.contains(":null") && !json.contains("\"index\"");
        let members = if is_sound { None } else { Members::of(json) };
        let Some(members) = members else {
            out.push_str(json);
            return true;
        };
        let mut object = Object::new(out);
        object.string("id", &answer.id);
        for (key, value) in &members.0 {
            match (&**key, &function) {
                // `index` is for the pieces of a stream.
                ("id" | "index", _) => {}
                (_, _) if *value == "null" => {}
                ("function", Some(function)) => write_function(function, arguments.as_deref(), object.key("function")),
                _ => object.raw(key, value),
            }
        }
        if members.get("type").is_none() {
            object.string("type", "function");
        }
        object.end();
        true
    }
}

fn write_function(function: &Members<'_>, arguments: Option<&str>, out: &mut String) {
    let mut object = Object::new(out);
    for (key, value) in &function.0 {
        match (&**key, arguments) {
            ("arguments", Some(_)) => {}
            _ if *value == "null" => {}
            _ => object.raw(key, value),
        }
    }
    if let Some(arguments) = arguments {
        object.string("arguments", arguments);
    }
    object.end();
}

/// The arguments to send where those of the call, which are JSON, are not the text of an object.
fn repaired<'b>(written: Option<&str>, answer: &'b Answer<'_>) -> Option<Cow<'b, str>> {
    let known = answer.call.arguments.as_str();
    if let Some(object) = written.filter(|written| written.starts_with('{')) {
        return Some(Cow::Owned(object.to_owned()));
    }
    let raw: Option<&RawValue> = written.and_then(|written| serde_json::from_str(written).ok());
    let text: Text<'_> = read(raw);
    // What was decoded once need not be read again: only objects begin with a brace, and what is broken was kept aside.
    let is_sound = text.trim_ascii_start().starts_with('{') && answer.call.invalid_arguments.is_none();
    let known = if answer.call.arguments.is_object() { known } else { "{}" };
    (!is_sound).then_some(Cow::Borrowed(known))
}
