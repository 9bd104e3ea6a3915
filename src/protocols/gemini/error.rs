//! What an error of this API stands for, in a response with an error status or inside one that began well.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tower_genai_core::{Error, ErrorKind};

use crate::protocols::{
    error_body,
    lenient::{Many, Object as Lenient, Text},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    error: Lenient<Fields<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fields<'a> {
    #[serde(borrow)]
    details: Many<Lenient<Detail<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Detail<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow, rename = "retryDelay")]
    retry_delay: Text<'a>,
}

/// The error of a response with an HTTP status that is not 2xx.
pub(super) fn of_status(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    let text = String::from_utf8_lossy(body);
    let body = first(&text);
    detailed(body, error_body::of_status(status, headers, body.as_bytes()))
}

/// The error inside a response.
pub(super) fn of_event(event: &str) -> Error {
    let event = first(event);
    detailed(event, error_body::of_event(event))
}

/// The first of a list of errors, which is how some of them come.
fn first(text: &str) -> &str {
    let list: Option<Vec<&RawValue>> = serde_json::from_str(text).ok();
    list.and_then(|list| list.first().map(|first| first.get())).unwrap_or(text)
}

/// An error with what its details say.
fn detailed(body: &str, mut error: Error) -> Error {
    let body: Body<'_> = serde_json::from_str(body).unwrap_or_default();
    let details = &body.error.0.details.0;
    // The status of a request with a wrong key is that of any bad request.
    if details.iter().any(|detail| &*detail.0.reason == "API_KEY_INVALID") {
        let provider = error.provider().cloned().unwrap_or_default();
        let status = error.status();
        let kind = Error::new(ErrorKind::Authentication, error.to_string()).with_provider(provider);
        error = match status {
            Some(status) => kind.with_status(status),
            None => kind,
        };
    }
    match details.iter().find_map(|detail| seconds(&detail.0.retry_delay)) {
        Some(wait) => error.with_retry_after(wait),
        None => error,
    }
}

/// A duration as Google writes it: `34.5s`.
fn seconds(text: &str) -> Option<Duration> {
    let number: f64 = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, body: &str) -> Error {
        of_status(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes())
    }

    #[test]
    fn an_error_is_an_object_or_the_first_of_a_list() {
        let object = r#"{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}"#;
        for body in [object.to_owned(), format!("[{object}]"), format!(" [ {object} , 1 ]")] {
            let error = error(404, &body);
            let provider = error.provider().unwrap();
            assert_eq!((error.kind(), error.status()), (ErrorKind::NotFound, Some(404)));
            assert_eq!((provider.error_type.as_deref(), provider.code.as_deref()), (Some("NOT_FOUND"), Some("404")));
            assert_eq!(provider.message.as_deref(), Some("models/x is not found"));
        }
        for body in ["", "[]", "<html>", "null"] {
            assert_eq!(error(502, body).kind(), ErrorKind::Server, "{body}");
        }
    }

    #[test]
    fn details_say_what_the_status_does_not() {
        let body = r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[
            {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#;
        let wrong = error(400, body);
        assert_eq!((wrong.kind(), wrong.status(), wrong.is_retryable()), (ErrorKind::Authentication, Some(400), false));
        assert!(wrong.to_string().ends_with("API key not valid."), "{wrong}");
        let body = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[7,{"@type":"x","retryDelay":"34.5s"}]}}"#;
        let busy = error(429, body);
        assert_eq!((busy.kind(), busy.retry_after()), (ErrorKind::RateLimit, Some(Duration::from_millis(34_500))));
        assert_eq!(of_event(body).retry_after(), busy.retry_after());
        for delay in ["-1s", "s", "1", "1e400s", "NaNs"] {
            assert_eq!(seconds(delay), None, "{delay}");
        }
    }

    #[test]
    fn the_status_word_decides_inside_a_response() {
        for (code, status, kind) in [
            (503, "UNAVAILABLE", ErrorKind::Overloaded),
            (500, "INTERNAL", ErrorKind::Server),
            (429, "RESOURCE_EXHAUSTED", ErrorKind::RateLimit),
            (400, "INVALID_ARGUMENT", ErrorKind::InvalidRequest),
            (403, "PERMISSION_DENIED", ErrorKind::Permission),
        ] {
            assert_eq!(of_event(&format!(r#"{{"error":{{"code":{code},"status":"{status}","message":"m"}}}}"#)).kind(), kind, "{status}");
        }
    }
}
