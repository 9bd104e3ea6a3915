//! Other parts than the default ones.

use tower_genai_tool_search::index::{Analyzer, Fields, Ranker, TextKind, ToolDocument, ToolIndex};

/// Only snippets count.
#[derive(Debug)]
struct Snippets;

impl Fields for Snippets {
    fn texts(&self, tool: &ToolDocument<'_>, sink: &mut dyn FnMut(TextKind, &str)) {
        sink(TextKind::Prose, tool.snippet.unwrap_or_default());
    }
}

/// The first letter of each word.
#[derive(Debug)]
struct Initials;

impl Analyzer for Initials {
    fn tokens(&self, text: &str, _: TextKind, sink: &mut dyn FnMut(&str)) {
        text.split_whitespace().filter_map(|word| word.get(..1)).for_each(sink);
    }
}

/// Counts occurrences; gives what is no number to tools of two tokens.
#[derive(Debug)]
struct Occurrences;

impl Ranker for Occurrences {
    fn term_weight(&self, documents: u32, containing: u32) -> f64 {
        assert_eq!((documents, containing), (3, 2));
        1.0
    }

    fn saturation(&self, frequency: u32, length: u32, average_length: f64) -> f64 {
        assert_eq!(average_length, 2.0);
        if length == 2 { f64::NAN } else { f64::from(frequency) }
    }
}

#[test]
fn fields_analyzer_and_ranker_are_used() {
    let tool = |snippet| ToolDocument { name: "x", description: "x", snippet: Some(snippet), ..ToolDocument::default() };
    let index = ToolIndex::builder().fields(Snippets).analyzer(Initials).ranker(Occurrences);
    let index = index.build([tool("alpha beta"), tool("apple avocado almond"), tool("berry")]).unwrap();
    let hits = index.search(&["anything"], 9, 0.0).unwrap();
    assert_eq!(hits.iter().map(|hit| (hit.ordinal, hit.score)).collect::<Vec<_>>(), [(1, 3.0)]);
    assert_eq!(index.search(&["x"], 9, 0.0).unwrap(), []);
}
