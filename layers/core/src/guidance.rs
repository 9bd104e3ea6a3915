//! The texts of tool guidance, in one place for every layer that writes them.

use std::sync::Arc;

use crate::ToolDefinition;

/// Which parts of a tool's guidance a text carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// The usage snippet.
    pub snippet: bool,
    /// The rules.
    pub guidelines: bool,
    /// The JSON Schema of what the tool returns.
    pub returns: bool,
}

impl Parts {
    /// Nothing.
    pub const NONE: Self = Self { snippet: false, guidelines: false, returns: false };
    /// Only the rules.
    pub const GUIDELINES: Self = Self { snippet: false, guidelines: true, returns: false };

    /// The parts as bytes, for a cache key.
    #[must_use]
    pub fn key(self) -> [u8; 3] {
        [u8::from(self.snippet), u8::from(self.guidelines), u8::from(self.returns)]
    }
}

/// The lines of a text without blank ones and without trailing white space.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim_end).filter(|line| !line.trim_start().is_empty())
}

/// Writes `text` as one bullet: further lines are indented under it, blank lines dropped. Returns whether anything was written.
pub fn bullet(text: &str, out: &mut String) -> bool {
    let mut first = true;
    for line in lines(text) {
        out.push_str(if first { "- " } else { "\n  " });
        out.push_str(if first { line.trim_start() } else { line });
        first = false;
    }
    if !first {
        out.push('\n');
    }
    !first
}

/// A tool's guidance as it stands in a description: `Snippet:`, `Guidelines:` and `Returns:`, each followed by bullets.
#[must_use]
pub fn describe(tool: &ToolDefinition, parts: Parts) -> String {
    let mut out = String::new();
    let mut section = |title: &str, texts: &mut dyn Iterator<Item = &str>| {
        let mut bullets = String::new();
        for text in texts {
            bullet(text, &mut bullets);
        }
        if !bullets.is_empty() {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(title);
            out.push('\n');
            out.push_str(&bullets);
        }
    };
    section("Snippet:", &mut tool.snippet.as_deref().filter(|_| parts.snippet).into_iter());
    section("Guidelines:", &mut tool.guidelines.iter().map(|rule| &**rule).filter(|_| parts.guidelines));
    section("Returns:", &mut tool.returns.as_ref().map(crate::Json::as_str).filter(|_| parts.returns).into_iter());
    out.truncate(out.trim_end().len());
    out
}

/// A copy of the tool whose description ends with its guidance.
///
/// A description that ends with that text already stays as it is, so that two layers do the work once.
#[must_use]
pub fn fold(tool: &ToolDefinition, parts: Parts) -> ToolDefinition {
    let text = describe(tool, parts);
    let mut tool = tool.clone();
    if text.is_empty() || tool.description.ends_with(&text) {
        return tool;
    }
    tool.description = match tool.description.trim_end() {
        "" => Arc::from(text),
        description => Arc::from(format!("{description}\n\n{text}")),
    };
    tool
}

/// A copy of the tool whose description carries its guidance for good: the fields it came from are empty, so that no other
/// layer writes it a second time, elsewhere.
#[must_use]
pub fn place(tool: &ToolDefinition, parts: Parts) -> ToolDefinition {
    ToolDefinition { snippet: None, guidelines: Arc::from([]), returns: None, ..fold(tool, parts) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bullets_indent_and_drop_blank_lines() {
        let mut out = String::new();
        assert!(bullet("  first  \n\n  second\nthird\n", &mut out));
        assert_eq!(out, "- first\n    second\n  third\n");
        assert!(!bullet(" \n\n", &mut out));
    }

    #[test]
    fn folding_appends_once() {
        let tool = ToolDefinition::new("a").description("Does a.").snippet("a(x)").guideline("One.").guideline("Two.");
        let parts = Parts { snippet: true, guidelines: true, returns: true };
        let folded = fold(&tool, parts);
        assert_eq!(&*folded.description, "Does a.\n\nSnippet:\n- a(x)\n\nGuidelines:\n- One.\n- Two.");
        assert_eq!(fold(&folded, parts), folded);
        assert_eq!(fold(&tool, Parts::NONE), tool);
        let placed = place(&tool, Parts::GUIDELINES);
        assert_eq!(&*placed.description, "Does a.\n\nGuidelines:\n- One.\n- Two.");
        assert_eq!(place(&placed, parts), placed);
    }
}
