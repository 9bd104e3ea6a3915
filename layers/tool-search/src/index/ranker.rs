use std::error::Error;
use std::fmt;

/// What a match is worth: a tool scores the sum, over the distinct tokens of the query, of
/// `term_weight * saturation`.
///
/// Scores that are not above zero are never returned, so neither factor should be negative.
pub trait Ranker: fmt::Debug + Send + Sync {
    /// The weight of a token that `containing` of all `documents` hold. `containing` is at least 1.
    fn term_weight(&self, documents: u32, containing: u32) -> f64;

    /// The share of that weight which `frequency` occurrences earn in a document of `length`
    /// tokens, where documents have `average_length` tokens in the mean. `frequency` is at least 1.
    fn saturation(&self, frequency: u32, length: u32, average_length: f64) -> f64;
}

/// Okapi BM25 with an inverse document frequency that is positive for every token, so that a set of
/// one tool can be searched too.
///
/// ```
/// use tower_genai_tool_search::index::Bm25;
///
/// assert_eq!(Bm25::default(), Bm25::new(1.5, 0.75)?);
/// assert!(Bm25::new(1.2, 1.5).is_err());
/// # Ok::<(), tower_genai_tool_search::index::Bm25Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    k1: f64,
    b: f64,
}

impl Bm25 {
    /// Makes a ranker from `k1`, how much each further occurrence of a token counts (0: none does),
    /// and `b`, how much long documents are discounted (0: not at all, 1: in proportion to their
    /// length).
    ///
    /// # Errors
    ///
    /// `k1` must be finite and at least 0, `b` between 0 and 1.
    pub fn new(k1: f64, b: f64) -> Result<Self, Bm25Error> {
        if !(k1.is_finite() && k1 >= 0.0) {
            return Err(Bm25Error(Rejected::K1(k1)));
        }
        if !(0.0..=1.0).contains(&b) {
            return Err(Bm25Error(Rejected::B(b)));
        }
        Ok(Self { k1, b })
    }

    /// How much each further occurrence of a token counts.
    pub fn k1(self) -> f64 {
        self.k1
    }

    /// How much long documents are discounted.
    pub fn b(self) -> f64 {
        self.b
    }
}

impl Default for Bm25 {
    /// `k1` = 1.5, `b` = 0.75.
    fn default() -> Self {
        Self { k1: 1.5, b: 0.75 }
    }
}

impl Ranker for Bm25 {
    fn term_weight(&self, documents: u32, containing: u32) -> f64 {
        let (documents, containing) = (f64::from(documents), f64::from(containing));
        ((documents - containing + 0.5) / (containing + 0.5)).ln_1p()
    }

    fn saturation(&self, frequency: u32, length: u32, average_length: f64) -> f64 {
        let frequency = f64::from(frequency);
        let discount = 1.0 - self.b + self.b * f64::from(length) / average_length;
        // Divided before it is multiplied, so that no k1 overflows.
        let occurrences = frequency / (frequency + self.k1 * discount);
        occurrences * (self.k1 + 1.0)
    }
}

/// A parameter of [`Bm25`] out of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25Error(Rejected);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rejected {
    K1(f64),
    B(f64),
}

impl fmt::Display for Bm25Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Rejected::K1(k1) => write!(f, "k1 must be a finite number of at least 0, but is {k1}"),
            Rejected::B(b) => write!(f, "b must lie between 0 and 1, but is {b}"),
        }
    }
}

impl Error for Bm25Error {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_checked_where_they_are_made() {
        for (k1, b) in [(0.0, 0.0), (1.2, 1.0), (f64::MAX, 0.5)] {
            let bm25 = Bm25::new(k1, b).unwrap();
            assert_eq!((bm25.k1(), bm25.b()), (k1, b));
        }
        for (k1, b, names) in [
            (-0.1, 0.5, "k1"),
            (f64::NAN, 0.5, "k1"),
            (f64::INFINITY, 0.5, "k1"),
            (1.0, -0.01, "b "),
            (1.0, 1.01, "b "),
            (1.0, f64::NAN, "b "),
        ] {
            let error = Bm25::new(k1, b).unwrap_err().to_string();
            assert!(error.starts_with(names), "{error}");
        }
    }

    #[test]
    fn a_token_in_every_document_still_has_weight() {
        assert!(Bm25::default().term_weight(1, 1) > 0.28);
        assert!(Bm25::default().term_weight(u32::MAX, u32::MAX) > 0.0);
    }

    #[test]
    fn the_largest_k1_gives_finite_scores() {
        let bm25 = Bm25::new(f64::MAX, 1.0).unwrap();
        assert!(bm25.saturation(3, 10, 5.0).is_finite());
    }
}
