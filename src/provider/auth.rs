//! The key: where it goes, and where it must not.

use std::{borrow::Cow, fmt, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use memchr::memmem;
use tower_genai_core::{Error, ErrorKind};

/// How a request proves who sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auth {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// The key alone in a header, such as `x-api-key`.
    Header(HeaderName),
    /// Nothing is sent: a local server, or an HTTP service below that signs requests.
    None,
}

/// A text that is never shown.
#[derive(Clone)]
pub(super) struct Secret(Arc<str>);

impl Secret {
    pub(super) fn new(text: &str) -> Self {
        Self(text.trim().into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Auth {
    /// Adds the header.
    pub(super) fn apply(&self, key: &Secret, headers: &mut HeaderMap) -> Result<(), Error> {
        let (name, value) = match self {
            Self::Bearer => (AUTHORIZATION, Cow::Owned(format!("Bearer {}", key.0))),
            Self::Header(name) => (name.clone(), Cow::Borrowed(&*key.0)),
            Self::None => return Ok(()),
        };
        if key.0.is_empty() {
            return Err(Error::new(ErrorKind::Authentication, "the API key is empty; give one, or choose `Auth::None`"));
        }
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| Error::new(ErrorKind::Authentication, "the API key contains a character that cannot stand in a header"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }
}

/// Whether a header or a parameter of this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie", "signature"].iter().any(|word| name.contains(word))
}

const PLACEHOLDER: &str = "[redacted]";

/// Shorter texts would be found inside of words.
const MIN_LEN: usize = 6;

/// Takes secrets out of what others wrote.
#[derive(Clone, Debug, Default)]
pub(super) struct Redactor(Vec<Secret>);

impl Redactor {
    pub(super) fn add(&mut self, secret: Secret) {
        if secret.0.len() >= MIN_LEN {
            self.0.push(secret);
        }
    }

    /// A body without secrets.
    pub(super) fn body<'a>(&self, body: &'a [u8]) -> Cow<'a, [u8]> {
        if self.0.iter().all(|secret| memmem::find(body, secret.0.as_bytes()).is_none()) {
            return Cow::Borrowed(body);
        }
        Cow::Owned(self.text(&String::from_utf8_lossy(body)).into_bytes())
    }

    fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(&*secret.0, PLACEHOLDER))
    }

    fn finds(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(&*secret.0))
    }

    /// An error without secrets. One that had some loses its source.
    pub(super) fn error(&self, error: Error) -> Error {
        let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let words = error.provider().cloned().unwrap_or_default();
        let fields = [&words.error_type, &words.code, &words.message, &words.request_id];
        // The debug form of a cause can say more than its text.
        let found = causes.map(|error| format!("{error} {error:?}")).any(|text| self.finds(&text));
        if !found && !fields.into_iter().flatten().any(|text| self.finds(text)) {
            return error;
        }
        let mut clean = Error::new(error.kind(), self.text(&error.to_string())).with_retryable(error.is_retryable());
        if let Some(status) = error.status() {
            clean = clean.with_status(status);
        }
        if let Some(wait) = error.retry_after() {
            clean = clean.with_retry_after(wait);
        }
        if error.provider().is_some() {
            let mut words = words;
            for field in [&mut words.error_type, &mut words.code, &mut words.message, &mut words.request_id].into_iter().flatten() {
                *field = self.text(field);
            }
            clean = clean.with_provider(words);
        }
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tower_genai_core::{BoxError, ProviderError};

    fn redactor() -> Redactor {
        let mut redactor = Redactor::default();
        redactor.add(Secret::new(" sk-secret-1 \n"));
        redactor
    }

    #[test]
    fn the_key_stands_in_a_sensitive_header_only() {
        let mut headers = HeaderMap::new();
        Auth::Bearer.apply(&Secret::new(" sk-secret-1\n"), &mut headers).unwrap();
        Auth::Header(HeaderName::from_static("x-api-key")).apply(&Secret::new("sk-secret-1"), &mut headers).unwrap();
        assert_eq!(
            (&headers["authorization"], &headers["x-api-key"]),
            (&"Bearer sk-secret-1".parse().unwrap(), &"sk-secret-1".parse().unwrap())
        );
        assert!(!format!("{headers:?}").contains("secret"), "{headers:?}");
        for (key, kind) in [("", ErrorKind::Authentication), (" ", ErrorKind::Authentication), ("sk-\nsecret", ErrorKind::Authentication)] {
            let error = Auth::Bearer.apply(&Secret::new(key), &mut headers).unwrap_err();
            assert!(error.kind() == kind && !error.to_string().contains("sk-"), "{error}");
        }
        let mut none = HeaderMap::new();
        Auth::None.apply(&Secret::new(""), &mut none).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    fn an_error_that_shows_the_key_is_written_again() {
        let mut words = ProviderError::default();
        words.message = Some("bad key sk-secret-1".into());
        words.code = Some("invalid".into());
        let error = Error::new(ErrorKind::Authentication, "refused: sk-secret-1!").with_status(401).with_provider(words.clone());
        let clean = redactor().error(error);
        assert_eq!((clean.kind(), clean.status(), clean.is_retryable()), (ErrorKind::Authentication, Some(401), false));
        assert_eq!(clean.to_string(), "refused: [redacted]!");
        words.message = Some("bad key [redacted]".into());
        assert_eq!(clean.provider(), Some(&words));

        let hidden = Error::new(ErrorKind::Service, "failed").with_source(BoxError::from("https://host/?key=sk-secret-1"));
        assert!(!format!("{:?}", redactor().error(hidden)).contains("secret"));
        let harmless = Error::new(ErrorKind::Service, "failed").with_source(BoxError::from("why"));
        assert!(std::error::Error::source(&redactor().error(harmless)).is_some());
    }

    #[test]
    fn bodies() {
        assert!(matches!(redactor().body(b"nothing \xFF"), Cow::Borrowed(_)));
        assert_eq!(&*redactor().body(b"{\"m\":\"sk-secret-1, sk-secret-1\"}"), b"{\"m\":\"[redacted], [redacted]\"}");
    }
}
