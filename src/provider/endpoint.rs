//! Where a provider is.

use std::sync::Arc;

use http::Uri;
use tower_genai_core::Error;

/// A checked base URL.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    /// Without a slash at its end.
    base: Arc<str>,
    /// Host and port, in lower case.
    pub(super) authority: Arc<str>,
    pub(super) host: Arc<str>,
    pub(super) port: u16,
}

impl Endpoint {
    /// The public endpoint of a provider; `host` may be followed by a path.
    #[cfg(any(feature = "anthropic", feature = "gemini", feature = "openai"))]
    pub(super) fn https(host: &str) -> Self {
        let name = host.split('/').next().unwrap_or(host);
        Self { base: format!("https://{host}").into(), authority: name.into(), host: name.into(), port: 443 }
    }

    /// A server on this machine.
    #[cfg(feature = "ollama")]
    pub(super) fn local(port: u16) -> Self {
        let authority = format!("localhost:{port}");
        Self { base: format!("http://{authority}").into(), authority: authority.into(), host: "localhost".into(), port }
    }

    /// Checks a base URL. `path` is what the protocol puts behind it. No error repeats the URL, which may hold a secret.
    pub(super) fn parse(url: &str, path: &str) -> Result<Self, Error> {
        let invalid = |text: &str| Error::invalid(format!("the base URL {text}"));
        let url = url.trim();
        if url.contains(['?', '#']) {
            return Err(invalid("has a query or a fragment; add parameters with `query`"));
        }
        let uri: Uri = url.parse().map_err(|_| invalid("is not a URL, such as `https://api.example.com`"))?;
        let port = match uri.scheme_str() {
            Some("https") => 443,
            Some("http") => 80,
            _ => return Err(invalid("does not begin with `https://` or `http://`")),
        };
        let authority = uri.authority().ok_or_else(|| invalid("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid("holds a user name or password; use `auth` or `header`"));
        }
        if authority.host().is_empty() {
            return Err(invalid("names no host"));
        }
        let port = match authority.as_str().rsplit_once(':') {
            Some((_, digits)) if !digits.contains(']') => digits.parse().map_err(|_| invalid("has no valid port"))?,
            _ => port,
        };
        let base = url.trim_end_matches('/');
        // `/v1` in both, or the whole path in the base, is how a base URL is got wrong most often.
        let first = path.get(1..).and_then(|rest| rest.split_once('/')).map(|(first, _)| first);
        let twice = first.filter(|first| uri.path().trim_end_matches('/').ends_with(&format!("/{first}")));
        if let Some(part) = twice.or_else(|| base.ends_with(path).then_some(path.trim_start_matches('/'))) {
            return Err(invalid(&format!("ends in `/{part}`, which is added to it (`{path}`); leave it away")));
        }
        let authority = authority.as_str().to_ascii_lowercase();
        Ok(Self { base: base.into(), host: uri.host().unwrap_or_default().to_ascii_lowercase().into(), authority: authority.into(), port })
    }

    /// The URL of a request.
    pub(super) fn uri(&self, path: &str, query: &str) -> Result<Uri, Error> {
        let separator = match (query.is_empty(), path.contains('?')) {
            (true, _) => "",
            (false, false) => "?",
            (false, true) => "&",
        };
        format!("{}{path}{separator}{query}", self.base)
            .parse()
            .map_err(|_| Error::invalid(format!("`{}` and the model do not make a valid URL", self.authority)))
    }
}

/// Adds a parameter to a query string.
pub(super) fn push_parameter(query: &mut String, name: &str, value: &str) {
    if !query.is_empty() {
        query.push('&');
    }
    push_escaped(query, name);
    query.push('=');
    push_escaped(query, value);
}

fn push_escaped(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_urls() {
        for (url, path, query, expected) in [
            ("https://api.anthropic.com", "/v1/messages", "", "https://api.anthropic.com/v1/messages"),
            (" https://Host:8443/a/ ", "/v1/messages", "x=1", "https://Host:8443/a/v1/messages?x=1"),
            ("http://127.0.0.1:1/v1", "/responses", "", "http://127.0.0.1:1/v1/responses"),
            ("http://[::1]/v1", "/chat?alt=sse", "key=a", "http://[::1]/v1/chat?alt=sse&key=a"),
        ] {
            let endpoint = Endpoint::parse(url, path).unwrap();
            assert_eq!(endpoint.uri(path, query).unwrap().to_string().to_lowercase(), expected.to_lowercase());
        }
        let endpoint = Endpoint::parse("https://Host:8443/a", "/b").unwrap();
        assert_eq!((&*endpoint.authority, &*endpoint.host, endpoint.port), ("host:8443", "host", 8443));
        assert_eq!(Endpoint::parse("http://[::1]", "/b").unwrap().port, 80);
    }

    #[test]
    fn bad_urls_are_not_repeated() {
        for (url, word) in [
            ("", "is not a URL"),
            ("secret.example.com", "begin with"),
            ("ftp://secret.example.com", "begin with"),
            ("https://user:secret@example.com", "password"),
            ("https://example.com?key=secret", "query"),
            ("https://example.com#secret", "fragment"),
            ("https://secret:99999999", "port"),
            ("https://secret host", "is not a URL"),
            ("https://secret/v1", "`/v1`"),
            ("https://secret/v1/", "`/v1`"),
            ("https://secret/v1/messages", "`/v1/messages`"),
        ] {
            let error = Endpoint::parse(url, "/v1/messages").unwrap_err();
            assert!(error.to_string().contains(word) && !error.to_string().contains("secret"), "{url}: {error}");
        }
        assert!(Endpoint::parse("https://h/v1/responses", "/responses").is_err());
        assert!(Endpoint::parse("https://h/v1", "/responses").is_ok());
    }

    #[test]
    fn parameters_are_escaped() {
        let mut query = String::new();
        push_parameter(&mut query, "api-version", "2026 é");
        push_parameter(&mut query, "a&b", "");
        assert_eq!(query, "api-version=2026%20%C3%A9&a%26b=");
    }
}
