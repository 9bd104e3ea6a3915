use std::collections::BTreeSet;

use super::analyzer::{Analyzer, TextKind, ToolAnalyzer};
use super::document::{AllText, Fields, ToolDocument};
use super::error::IndexError;
use super::names::Names;
use super::postings::{Postings, PostingsBuilder};
use super::ranker::{Bm25, Ranker};
use super::selection::select;

/// A tool that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// The place of the tool in the order in which the index was given them, from 0.
    pub ordinal: u32,
    /// What the [`Ranker`] gave for it; the best, when there were several queries. Comparable
    /// within one index, and no probability.
    pub score: f64,
}

/// An immutable search index over the tools of one set.
///
/// See the [module docs](super) for an example.
#[derive(Debug)]
pub struct ToolIndex {
    postings: Postings,
    names: Names,
    analyzer: Box<dyn Analyzer>,
    ranker: Box<dyn Ranker>,
}

impl ToolIndex {
    /// Indexes `tools` with the defaults of everything.
    ///
    /// # Errors
    ///
    /// Fails when there are more tools or more text than one index holds. What a tool says is never
    /// an error.
    pub fn build<'a>(tools: impl IntoIterator<Item = ToolDocument<'a>>) -> Result<Self, IndexError> {
        Self::builder().build(tools)
    }

    /// Starts an index with another ranker, analyzer or choice of texts.
    pub fn builder() -> ToolIndexBuilder {
        ToolIndexBuilder { fields: Box::new(AllText), analyzer: Box::new(ToolAnalyzer::new()), ranker: Box::new(Bm25::default()) }
    }

    /// The number of tools.
    pub fn len(&self) -> usize {
        self.postings.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds at most `limit` tools for `queries`, best first; equal scores in declaration order.
    ///
    /// - Each query is ranked by itself, a token counting once however often the query repeats it.
    ///   Only scores strictly above `min_score` count, where a negative threshold is read as 0.
    /// - The score of a tool is its best over the queries.
    /// - When more tools are found than wanted, those whose name is a word of a query come first
    ///   (in its own case if there are any, else in whatever case; with or without their namespace,
    ///   as in `crm__add`, `crm.add`, `crm/add` or `crm:add`). The rest is filled with the best of
    ///   each query in turn, then the second best of each, and so on, so that no query crowds out
    ///   another. That decides which tools are returned, not their order.
    ///
    /// # Errors
    ///
    /// Fails when `min_score` is not a number, or the postings cannot be read.
    pub fn search<Q: AsRef<str>>(&self, queries: &[Q], limit: usize, min_score: f64) -> Result<Vec<Hit>, IndexError> {
        self.search_where(queries, limit, min_score, &|_| true)
    }

    /// As [`search`](Self::search), among the tools whose ordinal `admit` accepts. Scores are those of the whole index.
    ///
    /// # Errors
    ///
    /// As [`search`](Self::search).
    pub fn search_where<Q: AsRef<str>>(
        &self,
        queries: &[Q],
        limit: usize,
        min_score: f64,
        admit: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<Hit>, IndexError> {
        if min_score.is_nan() {
            return Err(IndexError::MinScoreNotANumber);
        }
        let min_score = min_score.max(0.0);
        if limit == 0 || self.is_empty() {
            return Ok(Vec::new());
        }
        let mut best = vec![0.0; self.len()];
        let mut rankings = Vec::with_capacity(queries.len());
        let mut named = BTreeSet::new();
        for query in queries {
            let mut scores = vec![0.0; self.len()];
            let tokens = self.query_tokens(query.as_ref(), &mut named);
            self.postings.score(tokens.iter().map(String::as_str), self.ranker.as_ref(), &mut scores)?;
            for (best, &score) in best.iter_mut().zip(&scores) {
                *best = score.max(*best);
            }
            rankings.push(ranked((0..).zip(scores).filter(|&(ordinal, _)| admit(ordinal)), min_score, limit));
        }
        let best_of = |ordinal: u32| usize::try_from(ordinal).ok().and_then(|at| best.get(at).copied()).unwrap_or_default();
        let with_best = |ordinal: u32| (ordinal, best_of(ordinal));
        let named = ranked(named.into_iter().filter(|&ordinal| admit(ordinal)).map(with_best), min_score, limit);
        let selected = select(&named, &rankings, limit);
        Ok(ranked(selected.into_iter().map(with_best), min_score, limit))
    }

    /// The distinct tokens of `query`. Adds the tools that it names to `named`.
    fn query_tokens(&self, query: &str, named: &mut BTreeSet<u32>) -> BTreeSet<String> {
        // Sorted, so that the order of words makes no difference in the last digit of a score.
        let mut tokens = BTreeSet::new();
        let mut add = |text: &str, kind| self.analyzer.tokens(text, kind, &mut |token| _ = tokens.insert(token.to_owned()));
        add(query, TextKind::Query);
        // A name is looked for as it was indexed, though it be a word that other queries leave out.
        self.names.in_query(query, |name, ordinals| {
            add(name, TextKind::Name);
            named.extend(ordinals);
        });
        tokens
    }
}

/// The `limit` best of what scores above `min_score`, best first.
fn ranked(scores: impl IntoIterator<Item = (u32, f64)>, min_score: f64, limit: usize) -> Vec<Hit> {
    let by_score = |one: &Hit, other: &Hit| other.score.total_cmp(&one.score).then(one.ordinal.cmp(&other.ordinal));
    let above = scores.into_iter().filter(|&(_, score)| score > min_score);
    let mut hits: Vec<Hit> = above.map(|(ordinal, score)| Hit { ordinal, score }).collect();
    if limit < hits.len() {
        hits.select_nth_unstable_by(limit, by_score);
        hits.truncate(limit);
    }
    hits.sort_unstable_by(by_score);
    hits
}

/// Makes a [`ToolIndex`] with other parts than the default ones.
#[derive(Debug)]
#[must_use]
pub struct ToolIndexBuilder {
    fields: Box<dyn Fields>,
    analyzer: Box<dyn Analyzer>,
    ranker: Box<dyn Ranker>,
}

impl ToolIndexBuilder {
    /// Which texts of a tool can be found. The default is [`AllText`].
    pub fn fields(mut self, fields: impl Fields + 'static) -> Self {
        self.fields = Box::new(fields);
        self
    }

    /// How texts and queries become tokens. The default is [`ToolAnalyzer`].
    pub fn analyzer(mut self, analyzer: impl Analyzer + 'static) -> Self {
        self.analyzer = Box::new(analyzer);
        self
    }

    /// What a match is worth. The default is [`Bm25::default`].
    pub fn ranker(mut self, ranker: impl Ranker + 'static) -> Self {
        self.ranker = Box::new(ranker);
        self
    }

    /// Indexes `tools`.
    ///
    /// # Errors
    ///
    /// As for [`ToolIndex::build`].
    pub fn build<'a>(self, tools: impl IntoIterator<Item = ToolDocument<'a>>) -> Result<ToolIndex, IndexError> {
        let mut postings = PostingsBuilder::new()?;
        let mut names = Names::default();
        for tool in tools {
            let ordinal = postings.push(tool.name, |sink| {
                self.fields.texts(&tool, &mut |kind, text| self.analyzer.tokens(text, kind, sink));
            })?;
            names.push(ordinal, &tool);
        }
        Ok(ToolIndex { postings: postings.finish()?, names, analyzer: self.analyzer, ranker: self.ranker })
    }
}
