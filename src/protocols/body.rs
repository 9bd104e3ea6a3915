//! The body of a request, with what the caller adds.

use std::borrow::Cow;
use std::{collections::BTreeMap, sync::Arc};

use tower_genai_core::Json;

use super::{
    members::{Members, write_string},
    object::Object,
};

/// The longest cache key, in bytes. OpenAI says nothing of a limit; a compatible host does.
const MAX_CACHE_KEY: usize = 64;

/// The key for the provider's prompt cache: itself, or a hash of one that is too long.
pub(crate) fn bounded_cache_key(key: &str) -> Cow<'_, str> {
    if key.len() <= MAX_CACHE_KEY {
        Cow::Borrowed(key)
    } else {
        Cow::Owned(format!("{:032x}", xxhash_rust::xxh3::xxh3_128(key.as_bytes())))
    }
}

/// A body in the making.
///
/// What the caller adds wins: an object is merged into ours of the same key member by member, everything else stands instead of ours.
pub(crate) struct Body<'a> {
    object: Object<'a>,
    extra: &'a BTreeMap<Arc<str>, Json>,
    /// Keys of the caller that went out with ours.
    merged: Vec<Box<str>>,
}

impl<'a> Body<'a> {
    pub(crate) fn new(out: &'a mut String, extra: &'a BTreeMap<Arc<str>, Json>) -> Self {
        Self { object: Object::new(out), extra, merged: Vec::new() }
    }

    /// Writes a member, unless the caller brings its own.
    pub(crate) fn member(&mut self, key: &str, write: impl FnOnce(&mut String)) {
        let Some(theirs) = self.extra.get(key) else {
            write(self.object.key(key));
            return;
        };
        if !theirs.is_object() {
            return;
        }
        let mut ours = String::new();
        write(&mut ours);
        if let (Some(ours), Some(theirs)) = (Members::of(&ours), Members::of(theirs.as_str())) {
            merge(&ours, &theirs, self.object.key(key));
            self.merged.push(key.into());
        }
    }

    /// A member that is JSON already.
    pub(crate) fn raw(&mut self, key: &str, json: &str) {
        self.member(key, |out| out.push_str(json));
    }

    pub(crate) fn string(&mut self, key: &str, text: &str) {
        self.member(key, |out| write_string(out, text));
    }

    pub(crate) fn bool(&mut self, key: &str, value: bool) {
        self.raw(key, if value { "true" } else { "false" });
    }

    /// A number that JSON can hold; others are left out.
    pub(crate) fn number(&mut self, key: &str, number: Option<f64>) {
        if let Some(number) = number.and_then(serde_json::Number::from_f64) {
            self.raw(key, &number.to_string());
        }
    }

    /// Leaves a key of the caller out: it is meant for the protocol, not for the endpoint.
    pub(crate) fn withhold(&mut self, key: &str) {
        self.merged.push(key.into());
    }

    /// What the caller brings for a key.
    pub(crate) fn brought(&self, key: &str) -> Option<&'a Json> {
        self.extra.get(key)
    }

    /// Writes what the caller brings beside our members, but for one that is to come.
    pub(crate) fn extras(&mut self, but: &str) {
        for (key, value) in self.extra {
            if **key != *but && !self.merged.iter().any(|merged| **merged == **key) {
                self.object.raw(key, value.as_str());
            }
        }
    }

    /// Writes a member that [`extras`](Self::extras) left out: the caller's, or else ours.
    pub(crate) fn last<E>(&mut self, key: &str, write: impl FnOnce(&mut String) -> Result<(), E>) -> Result<(), E> {
        match self.extra.get(key) {
            Some(theirs) => self.object.raw(key, theirs.as_str()),
            None => write(self.object.key(key))?,
        }
        Ok(())
    }

    pub(crate) fn end(self) {
        self.object.end();
    }
}

/// Writes an object with the members of both, theirs where both have one. Objects of different types are not mixed.
fn merge(ours: &Members<'_>, theirs: &Members<'_>, out: &mut String) {
    let differ = matches!((ours.get("type"), theirs.get("type")), (Some(one), Some(other)) if one != other);
    let mut object = Object::new(out);
    for (key, value) in ours.0.iter().filter(|_| !differ) {
        match theirs.get(key) {
            None => object.raw(key, value),
            Some(other) => match (Members::of(value), Members::of(other)) {
                (Some(ours), Some(theirs)) => merge(&ours, &theirs, object.key(key)),
                _ => object.raw(key, other),
            },
        }
    }
    for (key, value) in theirs.0.iter().filter(|(key, _)| differ || ours.get(key).is_none()) {
        object.raw(key, value);
    }
    object.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(extra: &[(&str, &str)]) -> String {
        let extra = extra.iter().map(|(key, value)| (Arc::from(*key), Json::parse(value).unwrap())).collect();
        let mut out = String::new();
        let mut body = Body::new(&mut out, &extra);
        body.string("model", "m");
        body.raw("thinking", r#"{"type":"on","budget":1,"deep":{"a":1,"b":[2]}}"#);
        body.extras("input");
        body.last("input", |out| -> Result<(), ()> {
            out.push_str("[]");
            Ok(())
        })
        .unwrap();
        body.end();
        out
    }

    #[test]
    fn without_extras_ours_is_written() {
        assert_eq!(written(&[]), r#"{"model":"m","thinking":{"type":"on","budget":1,"deep":{"a":1,"b":[2]}},"input":[]}"#);
    }

    #[test]
    fn objects_are_merged_and_everything_else_is_replaced() {
        assert_eq!(
            written(&[("thinking", r#"{"deep":{"b":[3],"c":4},"budget":null,"new":{}}"#), ("model", "1")]),
            r#"{"thinking":{"type":"on","budget":null,"deep":{"a":1,"b":[3],"c":4},"new":{}},"model":1,"input":[]}"#
        );
        assert_eq!(written(&[("thinking", "null")]), r#"{"model":"m","thinking":null,"input":[]}"#);
        assert_eq!(written(&[("thinking", r#"{"type":"off"}"#)]), r#"{"model":"m","thinking":{"type":"off"},"input":[]}"#);
        assert_eq!(
            written(&[("input", "7"), ("zebra", "true")]),
            r#"{"model":"m","thinking":{"type":"on","budget":1,"deep":{"a":1,"b":[2]}},"zebra":true,"input":7}"#
        );
    }
}
