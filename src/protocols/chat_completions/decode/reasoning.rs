//! What a model thought, in the spellings of the hosts.

use std::borrow::Cow;

use serde_json::value::RawValue;
use tower_genai_core::Json;

use super::chunk::{Delta, Detail};
use crate::protocols::{
    lenient::read,
    members::{Members, write_string},
    object::{List, Object},
};

/// The reasoning of a message while it grows.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    /// What the caller reads.
    pub(super) text: String,
    content: String,
    plain: String,
    details: Vec<Merged>,
}

/// An entry of `reasoning_details`, merged from its pieces.
#[derive(Debug)]
struct Merged {
    kind: Box<str>,
    index: Option<u64>,
    members: Vec<(Box<str>, Json)>,
    text: String,
    summary: String,
}

impl Reasoning {
    /// Takes what a delta holds; gives the text that the caller is to be shown. Hosts that know two spellings send the same in both.
    pub(super) fn delta<'a>(&mut self, delta: &'a Delta<'_>) -> Cow<'a, str> {
        self.content.push_str(&delta.reasoning_content);
        self.plain.push_str(&delta.reasoning);
        let mut in_details = String::new();
        for raw in &delta.reasoning_details.0 {
            let detail: Detail<'_> = read(Some(*raw));
            in_details.push_str(&detail.text);
            self.detail(raw, &detail);
        }
        let text = match (delta.reasoning_content.some(), delta.reasoning.some()) {
            (Some(text), _) | (None, Some(text)) => Cow::Borrowed(text),
            (None, None) => Cow::Owned(in_details),
        };
        self.text.push_str(&text);
        text
    }

    /// What the model thought in a content that is a list.
    pub(super) fn thought(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn detail(&mut self, raw: &RawValue, detail: &Detail<'_>) {
        let Some(members) = Members::of(raw.get()) else { return };
        let same = |merged: &&mut Merged| merged.index == detail.index.0 && *merged.kind == *detail.kind;
        let position = match self.details.iter_mut().rev().find(same) {
            Some(merged) => {
                merged.grow(&members, detail);
                return;
            }
            None => self.details.len(),
        };
        let mut merged =
            Merged { kind: (*detail.kind).into(), index: detail.index.0, members: Vec::new(), text: String::new(), summary: String::new() };
        merged.grow(&members, detail);
        self.details.insert(position, merged);
    }

    /// Writes the members of the message that hold it.
    pub(super) fn write(&self, object: &mut Object<'_>) {
        if !self.content.is_empty() {
            object.string("reasoning_content", &self.content);
        }
        if !self.plain.is_empty() {
            object.string("reasoning", &self.plain);
        }
        if self.details.is_empty() {
            return;
        }
        let mut list = List::new(object.key("reasoning_details"));
        for merged in &self.details {
            let mut entry = Object::new(list.entry());
            for (key, value) in &merged.members {
                match &**key {
                    "text" => write_string(entry.key(key), &merged.text),
                    "summary" => write_string(entry.key(key), &merged.summary),
                    _ => entry.raw(key, value.as_str()),
                }
            }
            entry.end();
        }
        list.end();
    }
}

impl Merged {
    /// Texts go on; of everything else the last value counts.
    fn grow(&mut self, members: &Members<'_>, detail: &Detail<'_>) {
        self.text.push_str(&detail.text);
        self.summary.push_str(&detail.summary);
        for (key, value) in &members.0 {
            let known = self.members.iter_mut().find(|(known, _)| **known == **key);
            match (known, Json::parse(value)) {
                (Some((_, known)), Ok(value)) if value.as_str() != "null" => *known = value,
                (None, Ok(value)) => self.members.push(((&**key).into(), value)),
                _ => {}
            }
        }
    }
}
