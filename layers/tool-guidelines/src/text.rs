use std::sync::Arc;

use tower_genai_core::{
    NameRules, ToolDefinition, ToolSet,
    guidance::{self, Parts, bullet},
    wire_name,
};

fn shown(tools: &ToolSet) -> impl Iterator<Item = &ToolDefinition> {
    tools.iter().map(|tool| &**tool).filter(|tool| !tool.deferred)
}

/// The guidance of all tools that are not deferred, as it stands in a system prompt; empty where there is none.
pub(crate) fn system_text(tools: &ToolSet, parts: Parts) -> String {
    let (mut snippets, mut guidelines, mut returns) = (String::new(), String::new(), String::new());
    for tool in shown(tools) {
        if parts.snippet
            && let Some(snippet) = &tool.snippet
        {
            bullet(snippet, &mut snippets);
        }
        if parts.guidelines {
            let mut rules = String::new();
            for rule in tool.guidelines.iter() {
                bullet(rule, &mut rules);
            }
            if !rules.is_empty() {
                section(&format!("## {}", wire_name(&tool.name, NameRules::PORTABLE)), &rules, "", &mut guidelines);
            }
        }
        if parts.returns
            && let Some(schema) = &tool.returns
        {
            bullet(&format!("{}: {schema}", wire_name(&tool.name, NameRules::PORTABLE)), &mut returns);
        }
    }
    let mut out = String::new();
    for (title, text) in [("# Tool snippets", &snippets), ("# Tool guidelines", &guidelines), ("# Tool return values", &returns)] {
        if !text.is_empty() {
            section(title, text, "\n", &mut out);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

fn section(title: &str, text: &str, separator: &str, out: &mut String) {
    if !out.is_empty() {
        out.push_str(separator);
    }
    out.push_str(title);
    out.push('\n');
    out.push_str(text);
}

/// The tools with their guidance at the end of their descriptions, deferred ones as they are.
pub(crate) fn describe(tools: &ToolSet, parts: Parts) -> Vec<Arc<ToolDefinition>> {
    let fold = |tool: &Arc<ToolDefinition>| if tool.deferred { tool.clone() } else { Arc::new(guidance::fold(tool, parts)) };
    tools.iter().map(fold).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tower_genai_core::Json;

    const ALL: Parts = Parts { snippet: true, guidelines: true, returns: true };

    fn tools() -> ToolSet {
        ToolSet::new([
            ToolDefinition::new("read")
                .snippet("read(path)\n\n  -> text\n")
                .guideline("One.\nMore of one.")
                .guideline("  \n")
                .guideline("Two.")
                .returns(Json::parse(r#"{"type":"string"}"#).unwrap()),
            ToolDefinition::new("plain").description("No guidance."),
            ToolDefinition::new("list").namespace("fs").snippet("list()").guideline("Three."),
            ToolDefinition::new("hidden").snippet("hidden()").guideline("Never shown.").deferred(true),
        ])
        .unwrap()
    }

    #[test]
    fn sections_of_the_system_prompt() {
        let text = "# Tool snippets\n- read(path)\n    -> text\n- list()\n\n# Tool guidelines\n## read\n- One.\n  More of one.\n- Two.\n\
                    ## fs__list\n- Three.\n\n# Tool return values\n- read: {\"type\":\"string\"}";
        assert_eq!(system_text(&tools(), ALL), text);
        let only = |snippet, guidelines| system_text(&tools(), Parts { snippet, guidelines, returns: false });
        assert_eq!(only(true, false), "# Tool snippets\n- read(path)\n    -> text\n- list()");
        assert_eq!(only(false, true), "# Tool guidelines\n## read\n- One.\n  More of one.\n- Two.\n## fs__list\n- Three.");
        assert_eq!(only(false, false), "");
        assert_eq!(system_text(&ToolSet::default(), ALL), "");
    }

    #[test]
    fn descriptions_of_shown_tools() {
        let described = describe(&tools(), Parts { returns: false, ..ALL });
        let texts: Vec<_> = described.iter().map(|tool| &*tool.description).collect();
        assert_eq!(
            texts,
            [
                "Snippet:\n- read(path)\n    -> text\n\nGuidelines:\n- One.\n  More of one.\n- Two.",
                "No guidance.",
                "Snippet:\n- list()\n\nGuidelines:\n- Three.",
                ""
            ]
        );
    }
}
