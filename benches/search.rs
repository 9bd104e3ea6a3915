//! What a search costs: building the index of a tool set, and asking it.
//!
//! ```text
//! cargo bench --bench search
//! ```
//!
//! The tools are made up and the same in every run. `README.md` beside this file says what the figures mean.
#![allow(missing_docs)]

use std::{hint::black_box, time::Duration};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use tower_genai::{
    ToolDefinition, ToolSet,
    tool_search::{documents, index::ToolIndex},
};

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
const ACTIONS: [&str; 8] = ["create", "read", "update", "delete", "list", "search", "export", "share"];
const THINGS: [&str; 10] = ["invoice", "customer", "calendar event", "issue", "pull request", "file", "page", "mail", "payment", "report"];

/// Tools whose words repeat like those of real catalogues do: few actions, some things, many services.
fn tools(count: usize) -> ToolSet {
    let tool = |number: usize| {
        let action = ACTIONS.get(number % ACTIONS.len()).copied().unwrap_or_default();
        let thing = THINGS.get(number / ACTIONS.len() % THINGS.len()).copied().unwrap_or_default();
        let service = number / (ACTIONS.len() * THINGS.len());
        ToolDefinition::new(format!("{action}_{}_{number}", thing.replace(' ', "_")))
            .namespace(format!("service{service}"))
            .description(format!("{action} a {thing} in service {service} and say what changed"))
            .deferred(true)
    };
    ToolSet::new((0..count).map(tool)).unwrap_or_default()
}

fn search(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("search");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2)).sample_size(20);
    for size in SIZES {
        let set = tools(size);
        group.bench_function(BenchmarkId::new("build", size), |bencher| bencher.iter(|| black_box(ToolIndex::build(documents(&set)))));
        let Ok(index) = ToolIndex::build(documents(&set)) else { continue };
        group.bench_function(BenchmarkId::new("one query", size), |bencher| {
            bencher.iter(|| black_box(index.search(&["create a calendar event"], 20, 0.0)));
        });
        group.bench_function(BenchmarkId::new("three queries", size), |bencher| {
            bencher.iter(|| black_box(index.search(&["create a calendar event", "export invoices", "delete a file"], 20, 0.0)));
        });
    }
    group.finish();
}

criterion_group!(benches, search);
criterion_main!(benches);
