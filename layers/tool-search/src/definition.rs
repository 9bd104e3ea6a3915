//! The search tool itself.

use tower_genai_core::{Json, ToolDefinition, ToolKind};

/// The name of the search tool.
pub const TOOL_SEARCH: &str = "tool_search";

const DESCRIPTION: &str = "Find tools and make them callable. Only some of the available tools are declared to you; the others are loaded \
    through this search. Describe what you want to do in a few words: what kind of thing it is about and what should happen to it. The best matches are \
    loaded, and you call them directly, like any other tool, in your next step.";

const SNIPPET: &str = "tool_search(queries=[\"create calendar event\", \"send email\"])";

const GUIDELINES: [&str; 4] = [
    "Search before you say that something cannot be done: a tool for it may not be loaded yet.",
    "Put one query per capability into the same call instead of searching several times.",
    "A tool that a search has loaded stays loaded: call it, do not search for it again.",
    "When nothing is found, try other words for the same thing once or twice, then go on without.",
];

/// The parameters: `queries`, and the optional `score`.
fn parameters() -> Json {
    Json::from(serde_json::json!({
        "type": "object",
        "properties": {
            "queries": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "What to look for, one short phrase for each capability. The exact name of a tool finds that tool."
            },
            "score": {
                "type": "number",
                "description": "Only load tools that score above this. Leave it out unless a search loaded too much."
            }
        },
        "required": ["queries"],
        "additionalProperties": false
    }))
}

/// The default search tool.
pub(crate) fn search_tool() -> ToolDefinition {
    let tool = ToolDefinition::new(TOOL_SEARCH).kind(ToolKind::Search).description(DESCRIPTION).parameters(parameters()).snippet(SNIPPET);
    GUIDELINES.iter().fold(tool, |tool, rule| tool.guideline(*rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_queries_and_an_optional_score() {
        let schema = search_tool().parameters.to_value();
        assert_eq!(schema.get("required"), Some(&serde_json::json!(["queries"])));
        assert_eq!(schema.pointer("/properties/score/type"), Some(&serde_json::json!("number")));
    }
}
