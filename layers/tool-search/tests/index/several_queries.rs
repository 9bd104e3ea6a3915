//! Several queries at once, and queries that name tools.

use tower_genai_tool_search::index::{ToolDocument, ToolIndex};

use super::{described, found};

fn of(index: &ToolIndex, queries: &[&str], limit: usize) -> Vec<u32> {
    index.search(queries, limit, 0.0).unwrap().iter().map(|hit| hit.ordinal).collect()
}

#[test]
fn a_tool_has_its_best_score() {
    let index = described(&[("alpha", "beta"), ("gamma", "delta delta"), ("beta", "delta")]);
    let queries = ["beta", "delta gamma"];
    let alone = queries.map(|query| index.search(&[query], 9, 0.0).unwrap());
    let together = index.search(&queries, 9, 0.0).unwrap();
    assert_eq!(together.len(), 3);
    for hit in &together {
        let best = alone.iter().flatten().filter(|other| other.ordinal == hit.ordinal).map(|other| other.score).fold(0.0, f64::max);
        assert_eq!(hit.score, best);
    }
    assert!(together.windows(2).all(|pair| pair[0].score >= pair[1].score));
    assert_eq!(index.search(&["delta gamma", "", "beta", "beta"], 9, 0.0).unwrap(), together);
}

#[test]
fn no_query_crowds_out_another() {
    // Every tool of the first group scores higher for its query than any of the second does for its
    // own.
    let mut tools = vec![("file", "zebra zebra zebra"); 10];
    tools.extend([("mail", "letter with many more words about sending"); 10]);
    let index = described(&tools);
    assert_eq!(of(&index, &["zebra", "letter"], 6), [0, 1, 2, 10, 11, 12]);
    assert_eq!(of(&index, &["letter", "zebra"], 6), [0, 1, 2, 10, 11, 12]);
    assert_eq!(of(&index, &["zebra", "letter"], 5), [0, 1, 2, 10, 11], "the earlier query has the odd place");
    assert_eq!(of(&index, &["letter", "zebra"], 5), [0, 1, 10, 11, 12]);
    assert_eq!(of(&index, &["zebra", "nothing"], 6), [0, 1, 2, 3, 4, 5], "a fruitless query leaves its places to the others");
    assert_eq!(of(&index, &["zebra", "zebra", "letter"], 4), [0, 1, 10, 11], "tools found twice take one place");
}

#[test]
fn named_tools_are_admitted_before_the_limit() {
    let names = ["search_graph", "trace_path", "get_code_snippet", "query_graph", "search_code", "index_repository"];
    let decoys: Vec<String> = (0..34).map(|number| format!("codebase_memory_mcp_{number}")).collect();
    let mut tools: Vec<(&str, &str)> = decoys.iter().map(|name| (name.as_str(), "codebase memory mcp")).collect();
    tools.extend(names.map(|name| (name, "A tool of a server, with a description that is rather long and says little.")));
    let index = described(&tools);
    let query = format!("{} codebase-memory-mcp", names.join(" "));
    let hits = index.search(&[&query], 8, 0.0).unwrap();
    assert_eq!(hits.len(), 8);
    for ordinal in 34..40 {
        assert!(hits.iter().any(|hit| hit.ordinal == ordinal), "{}", tools[ordinal as usize].0);
    }
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "ordered by score all the same");
}

#[test]
fn a_named_tool_takes_the_place_of_a_better_one() {
    let index = described(&[("stripes", "zebra horse grass savanna"), ("open", "Something."), ("Open", "Something.")]);
    let best = "zebra horse grass savanna";
    assert_eq!(of(&index, &[&format!("{best} start")], 1), [0]);
    assert_eq!(of(&index, &[&format!("{best} open")], 1), [1]);
    assert_eq!(of(&index, &[&format!("{best} Open")], 1), [2]);
    assert_eq!(of(&index, &[&format!("{best} Open")], 2), [0, 2]);
    // Both differ in case, so both are meant.
    assert_eq!(of(&index, &[&format!("{best} OPEN")], 2), [1, 2]);
}

#[test]
fn the_limit_and_the_threshold_hold_for_named_tools_too() {
    let index = described(&[("ping", ""); 9]);
    assert_eq!(of(&index, &["ping"], 3), [0, 1, 2]);
    assert_eq!(index.search(&["ping"], 3, 1e6).unwrap(), []);
}

#[test]
fn a_namespaced_name_means_that_tool() {
    let tools =
        ["crm", "wiki", "shop"].map(|namespace| ToolDocument { name: "add", namespace: Some(namespace), ..ToolDocument::default() });
    let index = ToolIndex::build(tools).unwrap();
    for query in ["wiki__add", "wiki.add", "wiki/add", "use `wiki:add`"] {
        assert_eq!(of(&index, &[query], 1), [1], "{query}");
    }
}

#[test]
fn a_name_that_says_nothing_elsewhere_is_found_as_a_name() {
    let index = described(&[("help", "Shows a manual."), ("do_it", "Runs."), ("🚀", "Deploys."), ("other", "For help, do it.")]);
    assert_eq!(found(&index, "help"), [0]);
    assert_eq!(found(&index, "call help please"), [0]);
    assert_eq!(found(&index, "please do_it"), [1]);
    assert_eq!(found(&index, "🚀"), [2]);
}
