//! The searchable words of a JSON Schema.

use serde_json::Value;

use super::analyzer::TextKind;

/// Keywords that hold one schema.
const ONE: [&str; 7] = ["items", "additionalProperties", "not", "if", "then", "else", "contains"];
/// Keywords that hold a list of schemas. `items` was one too before 2020-12.
const LIST: [&str; 5] = ["items", "prefixItems", "anyOf", "oneOf", "allOf"];
/// Keywords that hold schemas by a name which means nothing to a reader of the tool.
const KEYED: [&str; 4] = ["$defs", "definitions", "patternProperties", "dependentSchemas"];

/// Gives `sink` the names, descriptions and allowed values of all parameters in `schema`, at any
/// depth.
///
/// References are not followed: what they point to stands under `$defs` and is read there, once, so
/// that a schema that refers to itself is as harmless as any other. Recursion is bounded by the
/// parser, which refuses more than 128 levels.
pub(super) fn texts(schema: &str, sink: &mut dyn FnMut(TextKind, &str)) {
    if let Ok(schema) = serde_json::from_str::<Value>(schema) {
        visit(&schema, sink);
    }
}

fn visit(schema: &Value, sink: &mut dyn FnMut(TextKind, &str)) {
    let Some(schema) = schema.as_object() else {
        return;
    };
    if let Some(Value::String(description)) = schema.get("description") {
        sink(TextKind::Prose, description);
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        for (name, property) in properties {
            sink(TextKind::Name, name);
            visit(property, sink);
        }
    }
    let allowed = schema.get("enum").and_then(Value::as_array);
    for value in allowed.into_iter().flatten().chain(schema.get("const")) {
        if let Value::String(value) = value {
            sink(TextKind::Name, value);
        }
    }
    for child in ONE.iter().filter_map(|keyword| schema.get(*keyword)) {
        visit(child, sink);
    }
    for children in LIST.iter().filter_map(|keyword| schema.get(*keyword)?.as_array()) {
        children.iter().for_each(|child| visit(child, sink));
    }
    for children in KEYED.iter().filter_map(|keyword| schema.get(*keyword)?.as_object()) {
        children.values().for_each(|child| visit(child, sink));
    }
}

#[cfg(test)]
mod tests {
    fn texts_of(schema: &str) -> Vec<String> {
        let mut texts = Vec::new();
        super::texts(schema, &mut |_, text| texts.push(text.to_owned()));
        texts.sort();
        texts
    }

    #[test]
    fn names_descriptions_and_values_are_found_at_any_depth() {
        let schema = r##"{
            "type": "object",
            "description": "top",
            "properties": {
                "mode": {"type": "string", "enum": ["fast", "slow", 3, null], "description": "how"},
                "description": {"const": "fixed"},
                "rows": {"items": {"properties": {"cell": {
                    "anyOf": [{"description": "a"}, {"oneOf": [{"description": "b"}]}]
                }}}},
                "tuple": {
                    "prefixItems": [{"description": "first"}],
                    "items": [{"description": "old"}]
                },
                "extra": {"additionalProperties": {"allOf": [{"description": "free"}]}},
                "node": {"$ref": "#/$defs/node"}
            },
            "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}},
            "if": {"properties": {"when": {}}}
        }"##;
        let expected = [
            "a",
            "b",
            "cell",
            "description",
            "extra",
            "fast",
            "first",
            "fixed",
            "free",
            "how",
            "mode",
            "next",
            "node",
            "old",
            "rows",
            "slow",
            "top",
            "tuple",
            "when",
        ];
        assert_eq!(texts_of(schema), expected);
    }

    #[test]
    fn what_is_no_schema_adds_nothing() {
        for schema in ["", "{", "null", "true", "[1]", r#""text""#, r#"{"properties":3,"enum":"x","items":7,"description":{}}"#] {
            assert_eq!(texts_of(schema), [""; 0], "{schema}");
        }
    }

    #[test]
    fn depth_cannot_exhaust_the_stack() {
        let nested = |depth: usize| format!("{}{{\"description\":\"deep\"}}{}", r#"{"items":"#.repeat(depth), "}".repeat(depth));
        assert_eq!(texts_of(&nested(100)), ["deep"]);
        assert_eq!(texts_of(&nested(200_000)), [""; 0]);
    }
}
