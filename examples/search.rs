//! Ranks the tools of catalogues for the queries of a file, with the index behind the tool search
//! layer.
//!
//! ```text
//! search --tools FILE... --queries FILE [--limit N] [--k1 X] [--b X] [--min-score X] [--eval]
//! ```
//!
//! Both kinds of file hold one JSON object a line; unknown fields are ignored. A tool needs a
//! `name` and may have `id`, `server`, `description`, `parameters` (a JSON Schema), `snippet` and
//! `guidelines`; a query needs `id` and `query`. For each query one line
//! `{"id":...,"ranked":[{"id":...,"score":...}]}` is printed. With `--eval` the `relevant` ids of
//! the queries are compared with what was ranked, and a last line gives the means of recall,
//! reciprocal rank and nDCG in percent, and what it cost.

use std::collections::HashSet;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tower_genai::Json;
use tower_genai::tool_search::index::{Bm25, ToolDocument, ToolIndex};

#[path = "support/lines.rs"]
mod lines;

use lines::{Tool, read_lines};

const USAGE: &str = "usage: search --tools FILE... --queries FILE \
    [--limit N] [--k1 X] [--b X] [--min-score X] [--eval]";

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

#[derive(Deserialize)]
struct Entry {
    id: Option<String>,
    #[serde(flatten)]
    tool: Tool,
}

/// What the tool is called in the output.
fn id(Entry { id, tool }: &Entry) -> String {
    match (id, &tool.server) {
        (Some(id), _) => id.clone(),
        (None, Some(server)) => format!("{server}.{}", tool.name),
        (None, None) => tool.name.clone(),
    }
}

fn document(Entry { tool, .. }: &Entry) -> ToolDocument<'_> {
    ToolDocument {
        name: &tool.name,
        namespace: tool.server.as_deref(),
        description: tool.description.as_deref().unwrap_or_default(),
        parameters: tool.parameters.as_ref().map_or("", Json::as_str),
        snippet: tool.snippet.as_deref(),
        guidelines: tool.guidelines.iter().flatten().map(String::as_str).collect(),
    }
}

#[derive(Deserialize)]
struct Query {
    id: String,
    query: String,
    #[serde(default)]
    relevant: HashSet<String>,
}

#[derive(Serialize)]
struct Ranking<'a> {
    id: &'a str,
    ranked: Vec<Ranked<'a>>,
}

#[derive(Serialize)]
struct Ranked<'a> {
    id: &'a str,
    score: f64,
}

struct Options {
    tools: Vec<String>,
    queries: String,
    limit: usize,
    bm25: Bm25,
    min_score: f64,
    eval: bool,
}

impl Options {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut arguments = arguments.peekable();
        let (mut tools, mut queries, mut eval) = (Vec::new(), None, false);
        let (mut limit, mut k1, mut b, mut min_score) = (20, Bm25::default().k1(), Bm25::default().b(), 0.0);
        while let Some(option) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
            match option.as_str() {
                "--tools" => {
                    tools.push(value()?);
                    while let Some(file) = arguments.next_if(|argument| !argument.starts_with("--")) {
                        tools.push(file);
                    }
                }
                "--queries" => queries = Some(value()?),
                "--limit" => limit = value()?.parse().map_err(|error| format!("--limit: {error}"))?,
                "--k1" => k1 = value()?.parse().map_err(|error| format!("--k1: {error}"))?,
                "--b" => b = value()?.parse().map_err(|error| format!("--b: {error}"))?,
                "--min-score" => min_score = value()?.parse().map_err(|error| format!("--min-score: {error}"))?,
                "--eval" => eval = true,
                unknown => return Err(format!("unknown option {unknown}\n{USAGE}").into()),
            }
        }
        let (false, Some(queries)) = (tools.is_empty(), queries) else {
            return Err(USAGE.into());
        };
        Ok(Self { tools, queries, limit, bm25: Bm25::new(k1, b)?, min_score, eval })
    }
}

fn main() -> ExitCode {
    let outcome = Options::parse(std::env::args().skip(1)).and_then(|options| run(&options, &mut io::stdout().lock()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has seen enough.
        Err(error) if error.downcast_ref().is_some_and(|error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options, output: &mut impl Write) -> Result<()> {
    let mut tools: Vec<Entry> = Vec::new();
    for file in &options.tools {
        read_lines(file, |tool| {
            tools.push(tool);
            Ok(())
        })?;
    }
    let ids: Vec<String> = tools.iter().map(id).collect();

    let started = Instant::now();
    let index = ToolIndex::builder().ranker(options.bm25).build(tools.iter().map(document))?;
    let mut evaluation = Evaluation { build: started.elapsed(), ..Evaluation::default() };

    read_lines(&options.queries, |query: Query| {
        let started = Instant::now();
        let hits = index.search(&[&query.query], options.limit, options.min_score)?;
        let took = started.elapsed();
        let id_of = |ordinal| ids.get(usize::try_from(ordinal).ok()?);
        let ranked = hits.iter().filter_map(|hit| Some(Ranked { id: id_of(hit.ordinal)?, score: hit.score })).collect();
        let ranking = Ranking { id: &query.id, ranked };
        if options.eval {
            evaluation.add(&ranking, &query.relevant, took);
        }
        writeln!(output, "{}", serde_json::to_string(&ranking)?)?;
        Ok(())
    })?;
    if options.eval {
        writeln!(output, "{}", evaluation.summary())?;
    }
    Ok(())
}

/// Sums over the queries that name at least one relevant tool, and the time of every search.
#[derive(Default)]
struct Evaluation {
    build: Duration,
    times: Vec<Duration>,
    judged: f64,
    recall: [f64; RECALL_AT.len()],
    reciprocal_rank: f64,
    ndcg: f64,
}

const RECALL_AT: [usize; 4] = [1, 5, 10, 20];

impl Evaluation {
    fn add(&mut self, ranking: &Ranking<'_>, relevant: &HashSet<String>, took: Duration) {
        self.times.push(took);
        if relevant.is_empty() {
            return;
        }
        self.judged += 1.0;
        let is_relevant = |tool: &Ranked<'_>| relevant.contains(tool.id);
        for (sum, at) in self.recall.iter_mut().zip(RECALL_AT) {
            let found = ranking.ranked.iter().take(at).filter(|tool| is_relevant(tool)).count();
            *sum += found as f64 / relevant.len() as f64;
        }
        if let Some(first) = ranking.ranked.iter().position(is_relevant) {
            self.reciprocal_rank += 1.0 / (first + 1) as f64;
        }
        let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let ranked = ranking.ranked.iter().take(10).enumerate();
        let gained: f64 = ranked.filter(|(_, tool)| is_relevant(tool)).map(|(rank, _)| gain(rank)).sum();
        let ideal: f64 = (0..relevant.len().min(10)).map(gain).sum();
        self.ndcg += gained / ideal;
    }

    fn summary(&mut self) -> serde_json::Value {
        self.times.sort_unstable();
        let microseconds = |percent: usize| {
            let time = self.times.get(self.times.len().saturating_sub(1) * percent / 100);
            rounded(time.map_or(0.0, |time| time.as_secs_f64() * 1e6))
        };
        let mean = |sum: f64| rounded(100.0 * sum / self.judged.max(1.0));
        let [recall_1, recall_5, recall_10, recall_20] = self.recall.map(mean);
        serde_json::json!({
            "queries": self.times.len(),
            "recall@1": recall_1,
            "recall@5": recall_5,
            "recall@10": recall_10,
            "recall@20": recall_20,
            "mrr": mean(self.reciprocal_rank),
            "ndcg@10": mean(self.ndcg),
            "build_ms": rounded(self.build.as_secs_f64() * 1e3),
            "query_p50_us": microseconds(50),
            "query_p99_us": microseconds(99),
        })
    }
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
