//! The inverted index: which tools hold a token, and how often.
//!
//! tantivy's own scorer has fixed parameters and rounds document lengths, so the postings are
//! walked here, all tokens of a query at once, with exact lengths and in double precision (its
//! scores are `f32`, which cannot hold five decimals above 128).

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tantivy::directory::RamDirectory;
use tantivy::indexer::SingleSegmentIndexWriter;
use tantivy::postings::Postings as _;
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{DocSet, Index, IndexSettings, InvertedIndexReader, SegmentReader, TERMINATED, TantivyDocument, Term};
use xxhash_rust::xxh3::xxh3_128;

use super::error::IndexError;
use super::ranker::Ranker;

/// tantivy counts documents up to here.
const MAX_TOOLS: u32 = TERMINATED - 1;
/// tantivy addresses at most 4 GiB while it builds, which this stays far below.
const MAX_BYTES: u64 = 1 << 28;
/// What is counted for a token besides its bytes.
const TOKEN_OVERHEAD: u64 = 16;
/// Only sizes the first hash table.
const WRITER_BYTES: usize = 1 << 20;
/// A longer token is kept by its beginning and a hash. tantivy drops those above 65,530 bytes.
const LONG_TOKEN: usize = 256;

fn term_text(token: &str) -> Cow<'_, str> {
    if token.len() <= LONG_TOKEN {
        return Cow::Borrowed(token);
    }
    let (beginning, _) = (0..=LONG_TOKEN).rev().find_map(|end| token.split_at_checked(end)).unwrap_or_default();
    Cow::Owned(format!("{beginning}{:032x}", xxh3_128(token.as_bytes())))
}

/// Collects the tokens of tools, in the order of the tools.
pub(super) struct PostingsBuilder {
    writer: SingleSegmentIndexWriter,
    field: Field,
    lengths: Vec<u32>,
    bytes: u64,
}

impl PostingsBuilder {
    pub(super) fn new() -> Result<Self, IndexError> {
        let mut schema = Schema::builder();
        let indexing =
            TextFieldIndexing::default().set_tokenizer("raw").set_index_option(IndexRecordOption::WithFreqs).set_fieldnorms(false);
        let field = schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
        // One segment keeps the order of the tools and the statistics exact; neither it nor the
        // store starts a thread.
        let settings = IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let writer = Index::builder()
            .schema(schema.build())
            .settings(settings)
            .single_segment_index_writer(RamDirectory::create(), WRITER_BYTES)
            .map_err(failed)?;
        Ok(Self { writer, field, lengths: Vec::new(), bytes: 0 })
    }

    /// Adds the next tool, whose tokens `tokens` gives to its argument. Returns the ordinal.
    pub(super) fn push(&mut self, tool: &str, tokens: impl FnOnce(&mut dyn FnMut(&str))) -> Result<u32, IndexError> {
        let ordinal = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        if ordinal >= MAX_TOOLS {
            return Err(IndexError::TooManyTools { limit: usize::try_from(MAX_TOOLS).unwrap_or(usize::MAX) });
        }
        let mut document = TantivyDocument::new();
        let mut length = 0_u32;
        tokens(&mut |token| {
            let term = term_text(token);
            self.bytes += TOKEN_OVERHEAD + u64::try_from(term.len()).unwrap_or(u64::MAX);
            if self.bytes <= MAX_BYTES {
                document.add_text(self.field, term);
                length += 1;
            }
        });
        if self.bytes > MAX_BYTES {
            return Err(IndexError::TooMuchText { tool: tool.to_owned(), limit: MAX_BYTES });
        }
        self.writer.add_document(document).map_err(failed)?;
        self.lengths.push(length);
        Ok(ordinal)
    }

    pub(super) fn finish(self) -> Result<Postings, IndexError> {
        let index = self.writer.finalize().map_err(failed)?;
        let segments = index.searchable_segments().map_err(failed)?;
        let [segment] = segments.as_slice() else {
            return Err(failed(format!("{} segments instead of one", segments.len())));
        };
        let terms = SegmentReader::open(segment).and_then(|reader| reader.inverted_index(self.field)).map_err(failed)?;
        let total: u64 = self.lengths.iter().copied().map(u64::from).sum();
        let average_length = total as f64 / self.lengths.len().max(1) as f64;
        Ok(Postings { terms, field: self.field, lengths: self.lengths, average_length })
    }
}

fn failed(source: impl Into<Box<dyn Error + Send + Sync>>) -> IndexError {
    IndexError::Postings(source.into())
}

/// The postings of all tools.
pub(super) struct Postings {
    terms: Arc<InvertedIndexReader>,
    field: Field,
    /// The exact number of tokens of each tool.
    lengths: Vec<u32>,
    average_length: f64,
}

impl Postings {
    /// The number of tools.
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Adds to each tool's entry in `scores` what `tokens`, which must be distinct, are worth in
    /// it.
    pub(super) fn score<'t>(
        &self,
        tokens: impl IntoIterator<Item = &'t str>,
        ranker: &dyn Ranker,
        scores: &mut [f64],
    ) -> Result<(), IndexError> {
        let documents = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        for token in tokens {
            let term = Term::from_field_text(self.field, &term_text(token));
            let postings = self.terms.read_postings(&term, IndexRecordOption::WithFreqs).map_err(failed)?;
            let Some(mut postings) = postings else {
                continue;
            };
            let weight = ranker.term_weight(documents, postings.doc_freq());
            while postings.doc() != TERMINATED {
                let at = usize::try_from(postings.doc()).unwrap_or(usize::MAX);
                if let (Some(score), Some(&length)) = (scores.get_mut(at), self.lengths.get(at)) {
                    *score += weight * ranker.saturation(postings.term_freq(), length, self.average_length);
                }
                postings.advance();
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Postings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postings")
            .field("documents", &self.lengths.len())
            .field("average_length", &self.average_length)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn too_much_text_is_an_error_that_names_the_tool() {
        let mut builder = PostingsBuilder::new().unwrap();
        builder.bytes = MAX_BYTES - TOKEN_OVERHEAD - 4;
        assert_eq!(builder.push("first", |sink| sink("four")).unwrap(), 0);
        let error = builder.push("second", |sink| sink("")).unwrap_err();
        assert!(matches!(error, IndexError::TooMuchText { .. }));
        assert!(error.to_string().contains("`second`"), "{error}");
    }

    #[test]
    fn long_tokens_keep_their_beginning_and_differ_by_their_end() {
        let short = "a".repeat(LONG_TOKEN);
        assert_eq!(term_text(&short), short);
        let [first, second] = ["x", "y"].map(|end| term_text(&format!("{}{end}", "語".repeat(40_000))).into_owned());
        assert_ne!(first, second);
        for term in [first, second] {
            assert_eq!(term.len(), 255 + 32);
            assert!(term.starts_with(&"語".repeat(85)));
        }
    }
}
