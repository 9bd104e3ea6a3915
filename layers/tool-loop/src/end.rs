//! The one error of a tool that is not the model's business.

use std::{error::Error as StdError, fmt};

use tower_genai_core::Error;

/// Ends the run: a tool, or a layer around it, that fails with this gives no failed result to the model but ends the stream with the error inside.
///
/// The calls of the turn that have no result yet are given a failed one first.
///
/// ```
/// use tower::service_fn;
/// use tower_genai_core::{Error, ToolCall};
/// use tower_genai_tool_loop::{EndRun, ToolOutput};
///
/// let tools = service_fn(|_: ToolCall| async { Err::<ToolOutput, _>(EndRun::new(Error::invalid("the licence has run out"))) });
/// # drop(tools);
/// ```
#[derive(Debug)]
pub struct EndRun(Error);

impl EndRun {
    /// Ends the run with an error.
    #[must_use]
    pub fn new(error: Error) -> Self {
        Self(error)
    }

    /// The error.
    #[must_use]
    pub fn into_inner(self) -> Error {
        self.0
    }
}

impl fmt::Display for EndRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for EndRun {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}
