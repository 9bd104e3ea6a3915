//! Real catalogues and real queries, where the machine has them.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tower_genai_tool_search::index::{ToolDocument, ToolIndex};

/// Mean nDCG@10 in percent over the development queries of `pool`.
fn ndcg(folder: &Path, pool: &str) -> f64 {
    let lines = |path: String| -> Vec<Value> {
        let text = fs::read_to_string(folder.join(path)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let tools = lines(format!("tools/{pool}.jsonl"));
    let schemas: Vec<String> = tools.iter().map(|tool| tool["parameters"].to_string()).collect();
    let documents = tools.iter().zip(&schemas).map(|(tool, parameters)| ToolDocument {
        name: tool["name"].as_str().unwrap(),
        namespace: tool["server"].as_str(),
        description: tool["description"].as_str().unwrap_or_default(),
        parameters,
        ..ToolDocument::default()
    });
    let index = ToolIndex::build(documents).unwrap();
    let queries = lines(format!("dev/{pool}/queries.jsonl"));
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let mut sum = 0.0;
    for query in &queries {
        let relevant: HashSet<&str> = query["relevant"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let hits = index.search(&[query["query"].as_str().unwrap()], 10, 0.0).unwrap();
        let is_relevant = |ordinal: u32| tools[ordinal as usize]["id"].as_str().is_some_and(|id| relevant.contains(id));
        let gained: f64 = hits.iter().enumerate().filter(|(_, hit)| is_relevant(hit.ordinal)).map(|(rank, _)| gain(rank)).sum();
        sum += gained / (0..relevant.len().min(10)).map(gain).sum::<f64>();
    }
    100.0 * sum / queries.len() as f64
}

#[test]
fn ranking_has_not_become_worse() {
    let Some(shared) = std::env::var_os("TOWER_GENAI_SHARED") else {
        eprintln!("skipped: TOWER_GENAI_SHARED names no folder with retrieval/");
        return;
    };
    let folder = Path::new(&shared).join("retrieval");
    for (pool, at_least) in [("livemcp", 37.0), ("bfcl", 77.0), ("metatool", 55.0), ("ace_zh", 95.0), ("toolalpaca", 79.0)] {
        let ndcg = ndcg(&folder, pool);
        assert!(ndcg >= at_least, "{pool}: nDCG@10 is {ndcg:.1}, was {at_least} and more");
    }
}
