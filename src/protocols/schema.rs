//! What this protocol asks of the schema of a function.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, de::IgnoredAny};

use super::{members::Members, object::Object};

/// Keys that make the root of a schema something else than a plain object.
const ALTERNATIVES: [&str; 6] = ["anyOf", "oneOf", "allOf", "enum", "not", "$ref"];

/// The schema with a plain object at its root, which is all that the endpoints accept.
///
/// A schema that has one is left as it is, to the byte. From a root of alternatives the properties of all are kept, none of them
/// required: the model is told no less, and the tool still checks what it gets.
pub(in crate::protocols) fn with_object_root(schema: &str) -> Cow<'_, str> {
    let Some(root) = Members::of(schema) else { return Cow::Borrowed(schema) };
    let is_plain = root.get("type") == Some("\"object\"") && root.get("properties").is_some();
    if is_plain && !ALTERNATIVES.iter().any(|key| root.get(key).is_some()) {
        return Cow::Borrowed(schema);
    }
    let mut properties: Vec<(Cow<'_, str>, &str)> = Vec::new();
    collect(&root, &root, 0, &mut properties);
    let mut out = String::with_capacity(schema.len() + 32);
    let mut object = Object::new(&mut out);
    object.string("type", "object");
    let mut all = Object::new(object.key("properties"));
    for (key, value) in properties {
        all.raw(&key, value);
    }
    all.end();
    for (key, value) in &root.0 {
        if !matches!(&**key, "type" | "properties") && !ALTERNATIVES.contains(&&**key) {
            object.raw(key, value);
        }
    }
    object.end();
    Cow::Owned(out)
}

/// How deep alternatives of alternatives are followed.
const MAX_DEPTH: u8 = 4;

/// The properties of a schema and of its alternatives; of those with one name the first.
fn collect<'a>(schema: &Members<'a>, root: &Members<'a>, depth: u8, properties: &mut Vec<(Cow<'a, str>, &'a str)>) {
    if let Some(own) = schema.get("properties").and_then(Members::of) {
        for (key, value) in own.0 {
            if !properties.iter().any(|(known, _)| *known == key) {
                properties.push((key, value));
            }
        }
    }
    if depth == MAX_DEPTH {
        return;
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let alternatives: Vec<&serde_json::value::RawValue> =
            schema.get(key).and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default();
        for alternative in alternatives.iter().filter_map(|alternative| Members::of(alternative.get())) {
            collect(&alternative, root, depth + 1, properties);
        }
    }
    if let Some(target) = schema.get("$ref").and_then(|reference| definition(root, reference)) {
        collect(&target, root, depth + 1, properties);
    }
}

/// A definition of the schema itself, by its reference as JSON text.
fn definition<'a>(root: &Members<'a>, reference: &'a str) -> Option<Members<'a>> {
    let path = reference.strip_prefix("\"#/")?.strip_suffix('"')?;
    let (list, name) = path.split_once('/')?;
    Members::of(Members::of(root.get(list)?)?.get(name)?)
}

/// Whether the endpoint can enforce a schema: every object in it names all its properties as required and allows no others.
pub(in crate::protocols) fn allows_strict(schema: &str) -> bool {
    serde_json::from_str::<Strict<'_>>(schema).is_ok_and(|schema| schema.is_object() && schema.holds())
}

/// A schema as far as strictness goes; one that does not fit it is not strict.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Strict<'a> {
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(borrow)]
    properties: Option<BTreeMap<Cow<'a, str>, Strict<'a>>>,
    required: Vec<Cow<'a, str>>,
    #[serde(rename = "additionalProperties")]
    additional: Option<Additional>,
    #[serde(borrow)]
    items: Option<Box<Strict<'a>>>,
    #[serde(borrow, rename = "anyOf")]
    any_of: Vec<Strict<'a>>,
    #[serde(borrow, rename = "$defs")]
    definitions: BTreeMap<Cow<'a, str>, Strict<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Kind {
    #[default]
    None,
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Additional {
    Flag(bool),
    /// No promise that nothing else is allowed, whatever the schema says.
    Schema(IgnoredAny),
}

impl Strict<'_> {
    fn is_object(&self) -> bool {
        match &self.kind {
            Kind::None => self.properties.is_some(),
            Kind::One(kind) => kind == "object",
            Kind::Several(kinds) => kinds.iter().any(|kind| kind == "object"),
        }
    }

    fn holds(&self) -> bool {
        let own = !self.is_object() || {
            let named = self.properties.iter().flatten().map(|(name, _)| name);
            matches!(self.additional, Some(Additional::Flag(false))) && named.into_iter().all(|name| self.required.contains(name))
        };
        let inner = self.properties.iter().flat_map(BTreeMap::values).chain(self.items.as_deref());
        own && inner.chain(&self.any_of).chain(self.definitions.values()).all(Self::holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_plain_object_is_left_to_the_byte() {
        for schema in [
            r#"{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}"#,
            r#"{"properties":{"a":{"anyOf":[{"type":"string"}]}},"type":"object"}"#,
            r#"{"type":"object","properties":{"a":{"enum":["x"]}}}"#,
        ] {
            assert!(matches!(with_object_root(schema), Cow::Borrowed(same) if same == schema), "{schema}");
        }
    }

    #[test]
    fn every_other_root_becomes_an_object_with_the_properties_of_all_alternatives() {
        for (schema, expected) in [
            (json!({}), json!({"type": "object", "properties": {}})),
            (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
            (json!({"properties": {"a": {}}}), json!({"type": "object", "properties": {"a": {}}})),
            (json!({"type": ["object", "null"], "title": "T"}), json!({"type": "object", "properties": {}, "title": "T"})),
            (
                json!({"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}], "required": ["a"]}),
                json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
            ),
            (
                json!({"oneOf": [{"properties": {"a": {"type": "string"}}}, {"allOf": [{"properties": {"a": {}, "b": {}}}]}]}),
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}),
            ),
            (
                json!({"$ref": "#/$defs/X", "$defs": {"X": {"type": "object", "properties": {"a": {}}}}}),
                json!({"type": "object", "properties": {"a": {}}, "$defs": {"X": {"type": "object", "properties": {"a": {}}}}}),
            ),
            (
                json!({"$ref": "#/$defs/X", "$defs": {"X": {"$ref": "#/$defs/X"}}}),
                json!({"type": "object", "properties": {}, "$defs": {"X": {"$ref": "#/$defs/X"}}}),
            ),
        ] {
            let text = schema.to_string();
            assert_eq!(serde_json::from_str::<Value>(&with_object_root(&text)).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn strictness_is_checked_to_the_bottom() {
        let strict = |schema: Value| allows_strict(&schema.to_string());
        let leaf = json!({"type": "string"});
        let object = |inner: Value| json!({"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": false});
        assert!(strict(object(leaf.clone())));
        assert!(strict(object(object(leaf.clone()))));
        assert!(strict(object(json!({"type": "array", "items": object(leaf.clone())}))));
        assert!(strict(object(json!({"anyOf": [leaf, {"type": "null"}]}))));
        let open = json!({"type": "object", "properties": {}});
        assert!(!strict(open.clone()) && !strict(object(open.clone())));
        assert!(!strict(object(json!({"type": "array", "items": open.clone()}))));
        assert!(!strict(object(json!({"anyOf": [open]}))));
        assert!(!strict(json!({"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": false})));
        assert!(!strict(json!({"type": "object", "additionalProperties": {"type": "string"}})));
        assert!(!strict(json!({"type": "string"})) && !strict(json!([])) && !strict(json!({"properties": 3})));
    }
}
