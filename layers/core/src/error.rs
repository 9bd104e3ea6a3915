//! The one error of the library.

use std::{fmt, time::Duration};

/// A boxed error, as tower's own layers use it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// What went wrong, in words that stay the same over versions.
///
/// Decide on the kind, never on the text of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request cannot be sent as it is, or the provider refused it (400, 422). The text names the tool,
    /// message or field.
    InvalidRequest,
    /// The key is missing or wrong (401).
    Authentication,
    /// The key may not do this (403).
    Permission,
    /// The account cannot pay for this (402, exhausted quota).
    Billing,
    /// The model or resource does not exist (404).
    NotFound,
    /// The request is larger than the endpoint takes (413), or the conversation longer than the model's window.
    TooLarge,
    /// Too many requests (429).
    RateLimit,
    /// The provider is overloaded (503, 529).
    Overloaded,
    /// The provider failed (other 5xx).
    Server,
    /// A wait ended: connect, first byte, silence on the socket, silence of content, total.
    Timeout,
    /// The connection failed or broke.
    Connection,
    /// The provider sent what its protocol does not allow, or a stream ended before its terminal event.
    Protocol,
    /// A limit of a layer was reached.
    Limit,
    /// A service below that is not ours failed; see [`source`](std::error::Error::source).
    Service,
}

impl ErrorKind {
    /// The kind as one snake_case word, for metrics and programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::Authentication => "authentication",
            Self::Permission => "permission",
            Self::Billing => "billing",
            Self::NotFound => "not_found",
            Self::TooLarge => "too_large",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::Protocol => "protocol",
            Self::Limit => "limit",
            Self::Service => "service",
        }
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::RateLimit | Self::Overloaded | Self::Server | Self::Timeout | Self::Connection | Self::Protocol)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a provider said about its own failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderError {
    /// The provider's type, such as `overloaded_error`.
    pub error_type: Option<String>,
    /// The provider's code, such as `insufficient_quota`.
    pub code: Option<String>,
    /// The provider's text, cut to a bounded length.
    pub message: Option<String>,
    /// The provider's id of the request, to quote in a support ticket.
    pub request_id: Option<String>,
}

/// The error of every service, layer and stream in this library.
///
/// ```
/// use tower_genai_core::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::RateLimit, "too many requests").with_status(429);
/// assert_eq!(error.kind().as_str(), "rate_limit");
/// assert!(error.is_retryable());
/// assert_eq!(error.to_string(), "too many requests");
/// ```
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    status: Option<u16>,
    retry_after: Option<Duration>,
    retryable: Option<bool>,
    provider: Option<ProviderError>,
    source: Option<BoxError>,
}

impl Error {
    /// An error of a kind, with a text that says what to change.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
            retryable: None,
            provider: None,
            source: None,
        }))
    }

    /// An [`ErrorKind::InvalidRequest`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// Adds the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Adds how long the provider asked to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Says whether to retry, where the provider said so itself (`x-should-retry`).
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = Some(retryable);
        self
    }

    /// Adds the provider's own words.
    #[must_use]
    pub fn with_provider(mut self, provider: ProviderError) -> Self {
        self.0.provider = Some(provider);
        self
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The HTTP status, where there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// How long the provider asked to wait before the next attempt.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// What the provider said.
    #[must_use]
    pub fn provider(&self) -> Option<&ProviderError> {
        self.0.provider.as_ref()
    }

    /// Whether the same request may succeed later: the provider's word, else the kind's.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable.unwrap_or_else(|| self.0.kind.is_transient())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

impl From<BoxError> for Error {
    /// Unwraps an [`Error`] that travelled through tower's boxes; tower's elapsed timeout becomes
    /// [`ErrorKind::Timeout`], everything else [`ErrorKind::Service`].
    fn from(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => *error,
            Err(error) if error.is::<tower::timeout::error::Elapsed>() => {
                Self::new(ErrorKind::Timeout, "the call took longer than the timeout layer around it allows").with_source(error)
            }
            Err(error) => match find(&*error) {
                Some(found) => Self(Box::new(Inner { source: Some(error), ..found })),
                None => Self::new(ErrorKind::Service, format!("an inner service failed: {error}")).with_source(error),
            },
        }
    }
}

/// A copy of the [`Error`] somewhere below: `Buffer` wraps it in an error that cannot be taken apart.
fn find(error: &(dyn std::error::Error + 'static)) -> Option<Inner> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(Error(inner)) = error.downcast_ref::<Error>() {
            return Some(Inner { message: inner.message.clone(), provider: inner.provider.clone(), source: None, ..**inner });
        }
        next = error.source();
    }
    None
}

impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boxed_error_comes_back_whole() {
        let boxed: BoxError = Error::new(ErrorKind::Overloaded, "busy").with_status(529).into();
        let error = Error::from(boxed);
        assert_eq!((error.kind(), error.status()), (ErrorKind::Overloaded, Some(529)));
    }

    #[test]
    fn a_wrapped_error_keeps_its_kind_and_a_foreign_one_is_a_service_error() {
        #[derive(Debug, thiserror::Error)]
        #[error("wrapped")]
        struct Wrapped(#[source] Error);
        let error = Error::from(BoxError::from(Wrapped(Error::new(ErrorKind::RateLimit, "slow down").with_status(429))));
        assert_eq!((error.kind(), error.status()), (ErrorKind::RateLimit, Some(429)));
        assert_eq!(Error::from(BoxError::from("boom")).kind(), ErrorKind::Service);
    }

    #[test]
    fn the_word_of_the_provider_wins_over_the_kind() {
        assert!(!Error::new(ErrorKind::RateLimit, "").with_retryable(false).is_retryable());
        assert!(Error::new(ErrorKind::InvalidRequest, "").with_retryable(true).is_retryable());
    }
}
