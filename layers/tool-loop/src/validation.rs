//! Arguments held against the schema of their tool.

use std::{fmt::Write as _, sync::Arc};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use tower_genai_core::{Cache, Json, ToolDefinition};

/// Larger schemas and arguments are not looked at: the tool sees for itself.
const MAX_SCHEMA: usize = 128 * 1024;
const MAX_ARGUMENTS: usize = 1024 * 1024;

/// At most so many faults are told.
const MAX_FAULTS: usize = 5;

/// Compiled schemas. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Schemas(Cache<Json, Option<Arc<Compiled>>>);

struct Compiled(Validator);

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compiled")
    }
}

impl Schemas {
    pub(crate) fn new() -> Self {
        Self(Cache::new(512))
    }

    /// What does not fit, in words for the model. A schema that cannot be used, since it refers to others or is none, lets everything pass.
    pub(crate) fn faults(&self, tool: &ToolDefinition, arguments: &Json) -> Option<String> {
        if tool.parameters.as_str().len() > MAX_SCHEMA || arguments.as_str().len() > MAX_ARGUMENTS {
            return None;
        }
        let build = || Ok::<_, std::convert::Infallible>(compile(&tool.parameters));
        let compiled = self.0.get_or_try_build(tool.parameters.clone(), build).unwrap_or_default()?;
        let arguments = arguments.to_value();
        let mut text = String::new();
        let mut faults = compiled.0.iter_errors(&arguments);
        for fault in faults.by_ref().take(MAX_FAULTS) {
            let place = fault.instance_path().as_str();
            let place = if place.is_empty() { "the arguments" } else { place };
            // Writing to a string cannot fail.
            let _ = write!(text, "\n- {place}: {}", bounded(&fault.to_string()));
        }
        if faults.next().is_some() {
            text.push_str("\n- and more");
        }
        (!text.is_empty()).then_some(text)
    }
}

fn compile(schema: &Json) -> Option<Arc<Compiled>> {
    let schema: Value = schema.to_value();
    // Patterns come from whoever wrote the tool, texts from the model: only an engine that is linear in the text is safe.
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(&schema).ok().map(|validator| Arc::new(Compiled(validator)))
}

/// A fault may repeat a long argument.
fn bounded(text: &str) -> String {
    const MAX: usize = 300;
    match text.char_indices().nth(MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(schema: Value, arguments: Value) -> Option<String> {
        Schemas::new().faults(&ToolDefinition::new("t").parameters(schema), &Json::from(arguments))
    }

    #[test]
    fn what_does_not_fit_is_told_by_its_place() {
        let schema = serde_json::json!({"type": "object", "required": ["path", "replace"], "additionalProperties": false,
            "properties": {"path": {"type": "string"}, "search": {"type": "string"}, "replace": {"type": "string", "pattern": "^x+$"}}});
        let text = faults(schema.clone(), serde_json::json!({"path": 1, "old_string": "a"})).unwrap();
        for part in ["/path: ", "replace", "old_string"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(faults(schema.clone(), serde_json::json!({"path": "a", "replace": "xx"})), None);
        assert!(faults(schema, serde_json::json!({"path": "a", "replace": "xy"})).unwrap().contains("/replace"));
        let many: Value = (0..20).map(|number| (number.to_string(), Value::from(number))).collect::<serde_json::Map<_, _>>().into();
        let all = serde_json::json!({"additionalProperties": {"type": "string"}});
        assert!(faults(all, many).unwrap().ends_with("and more"));
    }

    #[test]
    fn a_schema_that_cannot_be_used_lets_everything_pass() {
        for schema in [
            serde_json::json!({"$ref": "https://example.com/schema.json"}),
            serde_json::json!({"properties": {"a": {"pattern": "(?=look)"}}}),
            serde_json::json!({"type": 7}),
            serde_json::json!({"description": "x".repeat(MAX_SCHEMA), "required": ["a"]}),
        ] {
            assert_eq!(faults(schema, serde_json::json!({"a": 1})), None);
        }
        let long = faults(serde_json::json!({"properties": {"a": {"type": "integer"}}}), serde_json::json!({"a": "x".repeat(1_000)}));
        assert!(long.unwrap().len() < 500);
    }
}
