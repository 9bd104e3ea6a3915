//! The scores are those of the formula, to the fifth decimal.

use std::collections::{BTreeMap, BTreeSet};

use tower_genai_tool_search::index::{Analyzer, Bm25, TextKind, ToolDocument, ToolIndex};

/// Tokens are what stands between spaces, so that the tests know every bag.
#[derive(Debug)]
struct Spaces;

impl Analyzer for Spaces {
    fn tokens(&self, text: &str, _: TextKind, sink: &mut dyn FnMut(&str)) {
        text.split_whitespace().for_each(sink);
    }
}

/// The formula, read off the page.
fn expected(bags: &[Vec<&str>], query: &str, k1: f64, b: f64) -> BTreeMap<u32, f64> {
    let documents = bags.len() as f64;
    let average = bags.iter().map(Vec::len).sum::<usize>() as f64 / documents;
    let mut scores = BTreeMap::new();
    for term in query.split_whitespace().collect::<BTreeSet<_>>() {
        let n = bags.iter().filter(|bag| bag.contains(&term)).count() as f64;
        for (ordinal, bag) in (0..).zip(bags) {
            let tf = bag.iter().filter(|token| **token == term).count() as f64;
            if tf > 0.0 {
                let idf = (1.0 + (documents - n + 0.5) / (n + 0.5)).ln();
                let length = bag.len() as f64 / average;
                *scores.entry(ordinal).or_insert(0.0) += idf * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * length));
            }
        }
    }
    scores
}

fn assert_scores(index: &ToolIndex, bags: &[Vec<&str>], query: &str, k1: f64, b: f64) {
    let hits = index.search(&[query], usize::MAX, 0.0).unwrap();
    let mut expected = expected(bags, query, k1, b);
    for pair in hits.windows(2) {
        assert!((pair[0].score, pair[1].ordinal) > (pair[1].score, pair[0].ordinal), "{query}: {pair:?}");
    }
    for hit in &hits {
        let score = expected.remove(&hit.ordinal).unwrap_or_else(|| panic!("{query}: {hit:?} has no token of it"));
        let error = (hit.score - score).abs();
        assert!(error < 1e-5, "k1 {k1} b {b} {query}: {hit:?} should score {score}");
    }
    assert_eq!(expected, BTreeMap::new(), "k1 {k1} b {b} {query}: not found");
}

/// A generator of texts with few frequent and many rare words, the same on every run.
struct Words(u64);

impl Words {
    fn number(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn text(&mut self, length: u64) -> String {
        let mut words = Vec::new();
        for _ in 0..length {
            let below = 1 + self.number(200);
            words.push(format!("w{}", self.number(below)));
        }
        words.join(" ")
    }
}

const PARAMETERS: [(f64, f64); 10] =
    [(1.5, 0.75), (1.2, 0.75), (2.0, 0.5), (0.0, 0.75), (0.0, 0.0), (1.5, 0.0), (1.5, 1.0), (100.0, 0.75), (100.0, 1.0), (0.3, 0.9)];

#[test]
fn over_documents_of_every_length() {
    let mut words = Words(7);
    let texts: Vec<String> =
        (0..200).map(|_| 1 + words.number(300)).collect::<Vec<_>>().into_iter().map(|length| words.text(length)).collect();
    let bags: Vec<Vec<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
    assert!(bags.iter().filter(|bag| bag.len() > 40).count() > 100);
    let queries: Vec<String> = (0..40).map(|number| words.text(1 + number % 25)).collect();
    for (k1, b) in PARAMETERS {
        let index = ToolIndex::builder().analyzer(Spaces).ranker(Bm25::new(k1, b).unwrap());
        let index = index.build(texts.iter().map(|description| ToolDocument { description, ..ToolDocument::default() })).unwrap();
        for query in &queries {
            assert_scores(&index, &bags, query, k1, b);
        }
    }
}

#[test]
fn a_repeated_word_of_the_query_counts_once() {
    let index = super::described(&[("alpha", "beta gamma"), ("delta", "beta beta")]);
    let once = index.search(&["beta"], 9, 0.0).unwrap();
    assert_eq!(once.len(), 2);
    assert_eq!(index.search(&["beta Beta betas BETA"], 9, 0.0).unwrap(), once);
}

#[test]
fn every_text_of_a_tool_is_in_the_same_bag() {
    let tool = ToolDocument {
        name: "velvet",
        namespace: Some("harbor"),
        description: "copper lantern copper",
        parameters: r#"{"properties":{"meadow":{"description":"thunder","enum":["pepper"]}}}"#,
        snippet: Some("ribbon"),
        guidelines: vec!["salmon", "copper"],
    };
    let long = "walnut ".repeat(60);
    let other = ToolDocument { name: "walnut", description: &long, ..ToolDocument::default() };
    let bags = [
        "velvet harbor copper lantern copper meadow thunder pepper ribbon salmon copper".split(' ').collect::<Vec<_>>(),
        vec!["walnut"; 61],
    ];
    for (k1, b) in PARAMETERS {
        let index = ToolIndex::builder().ranker(Bm25::new(k1, b).unwrap()).build([tool.clone(), other.clone()]).unwrap();
        for query in
            ["velvet", "harbor", "copper", "lantern", "meadow", "thunder", "pepper", "ribbon", "salmon", "walnut", "copper walnut meadow"]
        {
            // Words that the stemmer leaves alone, so that the formula can be read off the texts.
            assert_scores(&index, &bags, query, k1, b);
        }
    }
}

#[test]
fn large_scores_keep_their_decimals() {
    let words: Vec<String> = (0..400_u32).map(|number| format!("w{number}")).collect();
    let text = words.join(" ");
    let bags = vec![words.iter().map(String::as_str).collect::<Vec<_>>(), vec!["other"]];
    let index = ToolIndex::builder().analyzer(Spaces).ranker(Bm25::new(100.0, 0.75).unwrap());
    let tools = [text.as_str(), "other"].map(|description| ToolDocument { description, ..ToolDocument::default() });
    let index = index.build(tools).unwrap();
    assert!(index.search(&[&text], 1, 128.0).unwrap().len() == 1, "the score passes what f32 resolves");
    assert_scores(&index, &bags, &text, 100.0, 0.75);
}
