//! Responses that are refusals: their body, and what their headers say about trying again.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, SystemTime},
};

use bytes::Buf;
use http::{
    HeaderMap, StatusCode,
    header::{DATE, LOCATION, RETRY_AFTER},
};
use tower_genai_core::{Error, ErrorKind};

use super::auth::Redactor;
use crate::{protocols::Protocol, transport::Clock};

/// How much of the body of an error is read.
const MAX_BODY: usize = 64 * 1024;

/// A response with a status other than 2xx, whose body is being read.
#[derive(Debug)]
pub(super) struct Refusal<B> {
    status: StatusCode,
    headers: HeaderMap,
    body: Pin<Box<B>>,
    collected: Vec<u8>,
    clock: Clock,
}

impl<B: http_body::Body> Refusal<B> {
    pub(super) fn new(response: http::Response<B>, mut clock: Clock) -> Self {
        let (head, body) = response.into_parts();
        clock.bytes();
        Self { status: head.status, headers: head.headers, body: Box::pin(body), collected: Vec::new(), clock }
    }

    /// Completes with the error. What can be read of the body is enough: the status alone says that it is one.
    pub(super) fn poll<P: Protocol>(&mut self, protocol: &P, redactor: &Redactor, cx: &mut Context<'_>) -> Poll<Error> {
        ready!(self.poll_body(cx));
        Poll::Ready(classify(protocol, redactor, self.status, &self.headers, &self.collected))
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let frame = match self.body.as_mut().poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => return self.clock.poll(cx).map(|_| ()),
            };
            self.clock.bytes();
            let Ok(mut data) = frame.into_data() else { continue };
            while data.has_remaining() {
                let chunk = data.chunk();
                let room = MAX_BODY - self.collected.len();
                self.collected.extend(chunk.iter().take(room));
                if self.collected.len() == MAX_BODY {
                    return Poll::Ready(());
                }
                let read = chunk.len();
                data.advance(read);
            }
        }
    }
}

/// The error of a refusal.
fn classify<P: Protocol>(protocol: &P, redactor: &Redactor, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    if status.is_redirection() {
        return redirected(status, headers);
    }
    let error = protocol.error(status, headers, &redactor.body(body));
    let error = if error.status().is_none() { error.with_status(status.as_u16()) } else { error };
    with_request_id(with_hints(error, status, headers), headers)
}

fn redirected(status: StatusCode, headers: &HeaderMap) -> Error {
    let place = headers.get(LOCATION).and_then(|location| location.to_str().ok()?.parse::<http::Uri>().ok());
    let place = place.and_then(|uri| Some(format!(" to `{}`", uri.host()?))).unwrap_or_default();
    let text =
        format!("the endpoint redirects{place} ({status}), which is not followed because it would carry the key; correct the base URL");
    Error::new(ErrorKind::InvalidRequest, text).with_status(status.as_u16())
}

/// Adds what the headers say about trying again.
fn with_hints(error: Error, status: StatusCode, headers: &HeaderMap) -> Error {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let wait = announced_wait(headers);
    let conflict = matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT);
    let retryable = match text("x-should-retry") {
        Some("true") => Some(true),
        Some("false") => Some(false),
        _ => conflict.then_some(true),
    };
    let error = match wait {
        Some(wait) => error.with_retry_after(wait),
        None => error,
    };
    match retryable {
        Some(retryable) => error.with_retryable(retryable),
        None => error,
    }
}

/// The wait of `retry-after-ms`, else of `retry-after`, in seconds or as a date.
fn announced_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    let milliseconds = text("retry-after-ms").and_then(number).and_then(|wait| Duration::try_from_secs_f64(wait / 1000.0).ok());
    milliseconds.or_else(|| {
        let after = text(RETRY_AFTER.as_str())?;
        if let Some(seconds) = number(after) {
            return Duration::try_from_secs_f64(seconds).ok();
        }
        let date = httpdate::parse_http_date(after).ok()?;
        // The sender's own clock, where it shows it, does not go wrong with ours.
        let now = text(DATE.as_str()).and_then(|now| httpdate::parse_http_date(now).ok()).unwrap_or_else(SystemTime::now);
        Some(date.duration_since(now).unwrap_or_default())
    })
}

fn with_request_id(error: Error, headers: &HeaderMap) -> Error {
    let id = ["request-id", "x-request-id"].iter().find_map(|name| headers.get(*name)?.to_str().ok());
    let mut words = error.provider().cloned().unwrap_or_default();
    match id {
        Some(id) if words.request_id.is_none() => {
            words.request_id = Some(id.chars().take(128).collect());
            error.with_provider(words)
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))).collect()
    }

    fn hinted(status: u16, pairs: &[(&'static str, &'static str)]) -> (bool, Option<Duration>) {
        let kind = if status == 429 { ErrorKind::RateLimit } else { ErrorKind::InvalidRequest };
        let error = with_hints(Error::new(kind, ""), StatusCode::from_u16(status).unwrap(), &headers(pairs));
        (error.is_retryable(), error.retry_after())
    }

    #[test]
    fn announced_waits() {
        let seconds = Duration::from_secs_f64;
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (pairs, wait) in [
            (&[("retry-after", "3")][..], Some(seconds(3.0))),
            (&[("retry-after", " 1.5 ")], Some(seconds(1.5))),
            (&[("retry-after", "3"), ("retry-after-ms", "250")], Some(seconds(0.25))),
            (&[("retry-after", "3"), ("retry-after-ms", "soon")], Some(seconds(3.0))),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), ("date", date)], Some(seconds(30.0))),
            (&[("retry-after", date), ("date", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(seconds(0.0))),
            (&[("retry-after", date)], Some(seconds(0.0))),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "1e300")], None),
            (&[("retry-after", "later")], None),
            (&[], None),
        ] {
            assert_eq!(announced_wait(&headers(pairs)), wait, "{pairs:?}");
        }
    }

    #[test]
    fn the_provider_says_whether_to_try_again() {
        let none = None;
        assert_eq!(hinted(429, &[]), (true, none));
        assert_eq!(hinted(429, &[("x-should-retry", "false")]), (false, none));
        assert_eq!(hinted(400, &[("x-should-retry", "true")]), (true, none));
        assert_eq!(hinted(409, &[]), (true, none));
        assert_eq!(hinted(409, &[("x-should-retry", "false")]), (false, none));
        // How long is too long is the policy's decision.
        assert_eq!(hinted(429, &[("retry-after", "600")]), (true, Some(Duration::from_secs(600))));
    }

    #[test]
    fn a_redirect_names_the_host_and_no_more() {
        let error = redirected(StatusCode::FOUND, &headers(&[("location", "https://other.example/?key=secret")]));
        assert!(error.to_string().contains("`other.example` (302 Found)") && !error.to_string().contains("secret"), "{error}");
        assert!(!error.is_retryable());
        assert!(redirected(StatusCode::FOUND, &headers(&[("location", "/x")])).to_string().contains("redirects (302"));
    }

    #[test]
    fn the_request_id_comes_from_the_body_or_a_header() {
        let id = |error: Error| error.provider().and_then(|words| words.request_id.clone());
        let error = with_request_id(Error::invalid(""), &headers(&[("x-request-id", "b"), ("request-id", "a")]));
        assert_eq!(id(error).as_deref(), Some("a"));
        let mut words = tower_genai_core::ProviderError::default();
        words.request_id = Some("c".into());
        let error = with_request_id(Error::invalid("").with_provider(words), &headers(&[("request-id", "a")]));
        assert_eq!(id(error).as_deref(), Some("c"));
        assert_eq!(id(with_request_id(Error::invalid(""), &HeaderMap::new())), None);
    }
}
