//! What holds for all tools and queries.

use proptest::prelude::*;
use tower_genai_tool_search::index::{ToolDocument, ToolIndex};

fn build(tools: &[(String, String)]) -> ToolIndex {
    let document = |(name, description): &'_ (String, String)| (name.clone(), description.clone());
    let tools: Vec<_> = tools.iter().map(document).collect();
    ToolIndex::build(tools.iter().map(|(name, description)| ToolDocument { name, description, ..ToolDocument::default() })).unwrap()
}

/// Few different words, so that scores are equal often.
fn tools() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec(("[ab](_[cd])?", "([a-d]( [a-d]){0,5})?"), 0..40)
}

fn query() -> impl Strategy<Value = String> {
    "[a-e]([ _][a-e]){0,5}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_same_tools_give_the_same_answers_in_the_order_of_score_and_declaration(
        tools in tools(),
        queries in prop::collection::vec(query(), 0..4),
        limit in 0..50_usize,
    ) {
        let hits = build(&tools).search(&queries, limit, 0.0).unwrap();
        prop_assert_eq!(&build(&tools).search(&queries, limit, 0.0).unwrap(), &hits);
        prop_assert!(hits.len() <= limit);
        for pair in hits.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            prop_assert!(
                before.score > after.score
                    || before.score == after.score && before.ordinal < after.ordinal
            );
        }
        // Equal tools have equal scores.
        for hit in &hits {
            for other in &hits {
                let equal = tools[hit.ordinal as usize] == tools[other.ordinal as usize];
                prop_assert!(!equal || hit.score == other.score);
            }
        }
    }

    #[test]
    fn a_limit_leaves_out_but_changes_no_score(
        tools in tools(),
        queries in prop::collection::vec(query(), 1..4),
        limit in 0..50_usize,
    ) {
        let index = build(&tools);
        let all = index.search(&queries, usize::MAX, 0.0).unwrap();
        let some = index.search(&queries, limit, 0.0).unwrap();
        prop_assert_eq!(some.len(), all.len().min(limit));
        prop_assert!(some.iter().all(|hit| all.contains(hit)));
    }

    #[test]
    fn the_order_of_words_makes_no_difference(
        tools in tools(),
        mut words in prop::collection::vec("[a-e]", 1..8),
    ) {
        let index = build(&tools);
        let one = index.search(&[words.join(" ")], usize::MAX, 0.0).unwrap();
        words.reverse();
        prop_assert_eq!(index.search(&[words.join(" ")], usize::MAX, 0.0).unwrap(), one);
    }

    #[test]
    fn any_text_can_be_indexed_and_looked_for(
        tools in prop::collection::vec((".*", ".*", prop::option::of(".*"), ".*"), 1..6),
        query in ".*",
    ) {
        let documents = tools.iter().map(|(name, description, namespace, parameters)| ToolDocument {
            name,
            description,
            namespace: namespace.as_deref(),
            parameters,
            ..ToolDocument::default()
        });
        let index = ToolIndex::build(documents).unwrap();
        index.search(&[&query], 20, 0.0).unwrap();
        // Whoever says the very name of a tool in one word finds it.
        for (ordinal, (name, ..)) in (0..).zip(&tools) {
            if !name.is_empty() && !name.contains(char::is_whitespace) {
                let hits = index.search(&[format!("{query} {name}")], 20, 0.0).unwrap();
                prop_assert!(hits.iter().any(|hit| hit.ordinal == ordinal), "{:?}", name);
            }
        }
    }
}
