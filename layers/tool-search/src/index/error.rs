use std::error::Error;
use std::fmt;

/// Why an index could not be built or searched.
#[derive(Debug)]
#[non_exhaustive]
pub enum IndexError {
    /// More tools than ordinals can count.
    TooManyTools {
        /// How many tools one index holds at most.
        limit: usize,
    },
    /// The text of all tools together is more than one index holds.
    TooMuchText {
        /// The name of the tool with which the limit was passed.
        tool: String,
        /// How many bytes of tokens one index holds at most.
        limit: u64,
    },
    /// The smallest wanted score was not a number.
    MinScoreNotANumber,
    /// The postings could not be written or read.
    Postings(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyTools { limit } => {
                write!(f, "a search index holds at most {limit} tools; split the tool set")
            }
            Self::TooMuchText { tool, limit } => write!(
                f,
                "the text of the tools up to `{tool}` passes the {limit} bytes that a search \
                 index holds; shorten descriptions or split the tool set"
            ),
            Self::MinScoreNotANumber => f.write_str("min_score is not a number; use 0 for no threshold"),
            Self::Postings(_) => f.write_str("the search index could not be written or read"),
        }
    }
}

impl Error for IndexError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Postings(source) => Some(source.as_ref()),
            _ => None,
        }
    }
}
