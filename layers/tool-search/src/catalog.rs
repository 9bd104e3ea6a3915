//! The list of tools that can be searched.

use std::fmt::Write as _;

use tower_genai_core::{NameRules, ToolDefinition, ToolSet, guidance::bullet, wire_name};

/// What the list shows, and how long it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CatalogOptions {
    pub(crate) snippets: bool,
    pub(crate) guidelines: bool,
    pub(crate) max_bytes: usize,
}

/// How much of a description stands behind a name, in characters.
const SUMMARY: usize = 80;

/// Lists every deferred tool, loaded or not: a list that shrank with each search would change the prompt each time.
///
/// Where the whole list does not fit it is names only, and where they do not fit either it ends at a line with the count of the rest.
pub(crate) fn render(tools: &ToolSet, options: CatalogOptions) -> String {
    let deferred = || tools.iter().map(|tool| &**tool).filter(|tool| tool.deferred);
    let full: String = deferred().map(|tool| entry(tool, options)).collect();
    if full.len() <= options.max_bytes {
        return trimmed(full);
    }
    let mut out = String::new();
    let mut left = deferred().count();
    for tool in deferred() {
        let line = format!("- {}\n", wire_name(&tool.name, NameRules::PORTABLE));
        if out.len() + line.len() > options.max_bytes {
            break;
        }
        out.push_str(&line);
        left -= 1;
    }
    if left > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "({left} more tools are not listed; search for them by what they do.)");
    }
    trimmed(out)
}

fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end().len());
    text
}

fn entry(tool: &ToolDefinition, options: CatalogOptions) -> String {
    let mut out = String::new();
    let summary = summary(&tool.description);
    let name = wire_name(&tool.name, NameRules::PORTABLE);
    let _ = if summary.is_empty() { writeln!(out, "- {name}") } else { writeln!(out, "- {name}: {summary}") };
    let mut details = String::new();
    if options.snippets
        && let Some(snippet) = &tool.snippet
    {
        bullet(snippet, &mut details);
    }
    if options.guidelines {
        for rule in tool.guidelines.iter() {
            bullet(rule, &mut details);
        }
    }
    for line in details.lines() {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// The first line of a description, cut behind a word: a budget, since a full stop may stand in the middle of a sentence ("e.g.").
fn summary(description: &str) -> String {
    let line = description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= SUMMARY {
        return line.to_owned();
    }
    let cut: String = line.chars().take(SUMMARY).collect();
    let words = cut.rsplit_once(char::is_whitespace).map_or(cut.as_str(), |(words, _)| words);
    format!("{}…", words.trim_end())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const OPTIONS: CatalogOptions = CatalogOptions { snippets: true, guidelines: true, max_bytes: 10_000 };

    fn tools() -> ToolSet {
        ToolSet::new([
            ToolDefinition::new("eager").description("Not listed."),
            ToolDefinition::new("read").namespace("fs").description("\nReads a file, e.g. a text.\nMore.").deferred(true),
            ToolDefinition::new("write").snippet("write(path,\n text)").guideline("Ask first.").deferred(true),
            ToolDefinition::new("long").description("word ".repeat(40)).deferred(true),
        ])
        .unwrap()
    }

    #[test]
    fn lists_names_as_the_model_calls_them() {
        let text = render(&tools(), OPTIONS);
        let cut = format!("- long: {}…", ["word"; 16].join(" "));
        let expected = format!("- fs__read: Reads a file, e.g. a text.\n- write\n  - write(path,\n     text)\n  - Ask first.\n{cut}");
        assert_eq!(text, expected);
        let bare = render(&tools(), CatalogOptions { snippets: false, guidelines: false, ..OPTIONS });
        assert!(bare.contains("- write\n- long"), "{bare}");
    }

    #[test]
    fn falls_back_to_names_and_then_to_a_count() {
        assert_eq!(render(&tools(), CatalogOptions { max_bytes: 40, ..OPTIONS }), "- fs__read\n- write\n- long");
        let cut = render(&tools(), CatalogOptions { max_bytes: 20, ..OPTIONS });
        assert_eq!(cut, "- fs__read\n- write\n(1 more tools are not listed; search for them by what they do.)");
        assert_eq!(render(&ToolSet::default(), OPTIONS), "");
    }
}
