//! What an error of the provider means.

use std::borrow::Cow;

use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tower_genai_core::{Error, ErrorKind, ProviderError};

use crate::protocols::members::{Members, Text};

/// The longest provider text that is kept, in characters.
const MAX_MESSAGE: usize = 2000;

#[derive(Default, Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<Text<'a>>,
    #[serde(borrow, default)]
    detail: Option<Text<'a>>,
    #[serde(borrow, default)]
    request_id: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
struct Fault<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    message: Option<Text<'a>>,
    #[serde(borrow, default)]
    details: Option<&'a RawValue>,
}

/// The error that an HTTP status stands for.
pub(super) fn of_status(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    let body = String::from_utf8_lossy(body);
    let mut said = said(&body);
    if let Some(id) = headers.get("request-id").and_then(|id| id.to_str().ok()) {
        said.request_id = Some(id.to_owned());
    }
    let kind = of_message(said.message.as_deref()).or_else(|| of_type(said.error_type.as_deref()));
    let kind = kind.unwrap_or_else(|| of_code(status.as_u16()));
    let error = Error::new(kind, describe(&format!("the provider answered {}", status.as_u16()), &said)).with_status(status.as_u16());
    // A conflict is over once the other request is.
    let is_conflict = status == StatusCode::CONFLICT || said.error_type.as_deref() == Some("conflict_error");
    if is_conflict { error.with_retryable(true) } else { error }.with_provider(said)
}

/// The error that arrived in place of a message, or in the middle of one.
pub(super) fn of_stream(data: &str) -> Error {
    let said = said(data);
    let kind = of_message(said.message.as_deref()).or_else(|| of_type(said.error_type.as_deref())).unwrap_or(ErrorKind::Server);
    Error::new(kind, describe("the provider ended the response with an error", &said)).with_provider(said)
}

fn describe(what: &str, said: &ProviderError) -> String {
    let kind = said.error_type.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
    let message = said.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
    format!("{what}{kind}{message}")
}

/// What a body says, in Anthropic's shape, in that of a gateway, or as a page.
fn said(body: &str) -> ProviderError {
    let mut said = ProviderError::default();
    let Ok(Body { error, message, detail, request_id }) = serde_json::from_str::<Body<'_>>(body) else {
        said.message = page_text(body);
        return said;
    };
    said.request_id = request_id.map(owned);
    said.message = message.or(detail).map(owned);
    if let Some(error) = error {
        if let Ok(Text(message)) = serde_json::from_str(error.get()) {
            said.message = Some(message.into_owned());
        } else if let Ok(fault) = serde_json::from_str::<Fault<'_>>(error.get()) {
            said.error_type = fault.kind.map(owned);
            said.message = fault.message.map(owned).or(said.message);
            let details = fault.details.and_then(|details| Members::of(details.get()));
            said.code = details.and_then(|details| details.text("error_code")).map(Cow::into_owned);
        }
    }
    for text in [&mut said.message, &mut said.error_type, &mut said.code, &mut said.request_id] {
        *text = text.take().map(|text| cut(&text)).filter(|text| !text.is_empty());
    }
    said
}

fn owned(text: Text<'_>) -> String {
    text.0.into_owned()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
        None => text.to_owned(),
    }
}

/// The readable part of a body that is no JSON: the title of a page, or plain text.
fn page_text(body: &str) -> Option<String> {
    let body = body.trim();
    let text = if body.starts_with('<') {
        let lower = body.to_ascii_lowercase();
        let start = lower.find("<title>")? + "<title>".len();
        let end = lower.get(start..)?.find("</title>")? + start;
        body.get(start..end)?.trim()
    } else {
        body
    };
    Some(cut(text)).filter(|text| !text.is_empty())
}

/// Kinds that only the text tells: the type is `invalid_request_error` for all of them.
fn of_message(message: Option<&str>) -> Option<ErrorKind> {
    let message = message?;
    if message.starts_with("prompt is too long") || message.starts_with("input length and `max_tokens` exceed context limit") {
        return Some(ErrorKind::TooLarge);
    }
    message.starts_with("Your credit balance is too low").then_some(ErrorKind::Billing)
}

fn of_type(error_type: Option<&str>) -> Option<ErrorKind> {
    Some(match error_type? {
        "invalid_request_error" | "conflict_error" => ErrorKind::InvalidRequest,
        "authentication_error" => ErrorKind::Authentication,
        "billing_error" => ErrorKind::Billing,
        "permission_error" => ErrorKind::Permission,
        "not_found_error" => ErrorKind::NotFound,
        "request_too_large" => ErrorKind::TooLarge,
        "rate_limit_error" => ErrorKind::RateLimit,
        "overloaded_error" => ErrorKind::Overloaded,
        "timeout_error" => ErrorKind::Timeout,
        "api_error" => ErrorKind::Server,
        _ => return None,
    })
}

fn of_code(status: u16) -> ErrorKind {
    match status {
        401 => ErrorKind::Authentication,
        402 => ErrorKind::Billing,
        403 => ErrorKind::Permission,
        404 => ErrorKind::NotFound,
        408 | 504 => ErrorKind::Timeout,
        413 => ErrorKind::TooLarge,
        429 => ErrorKind::RateLimit,
        503 | 529 => ErrorKind::Overloaded,
        500.. => ErrorKind::Server,
        400..=499 => ErrorKind::InvalidRequest,
        _ => ErrorKind::Protocol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, body: &str) -> Error {
        of_status(StatusCode::from_u16(code).unwrap(), &HeaderMap::new(), body.as_bytes())
    }

    #[test]
    fn both_shapes_and_pages() {
        let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Tool reference 'x' not found","details":{"error_code":"tool_reference_unresolved"}},"request_id":"req_1"}"#;
        let error = status(400, body);
        let provider = error.provider().unwrap();
        assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(400)));
        assert_eq!(provider.code.as_deref(), Some("tool_reference_unresolved"));
        assert_eq!(provider.request_id.as_deref(), Some("req_1"));
        assert_eq!(error.to_string(), "the provider answered 400 (invalid_request_error): Tool reference 'x' not found");

        let gateway = status(502, r#"{"error":"upstream gone"}"#);
        assert_eq!((gateway.kind(), gateway.provider().unwrap().message.as_deref()), (ErrorKind::Server, Some("upstream gone")));
        let flat = status(401, r#"{"message":"no key","error":null}"#);
        assert_eq!((flat.kind(), flat.provider().unwrap().message.as_deref()), (ErrorKind::Authentication, Some("no key")));
        let page = status(503, "<html><head><TITLE> Busy </TITLE></head><body>x</body></html>");
        assert_eq!((page.kind(), page.provider().unwrap().message.as_deref()), (ErrorKind::Overloaded, Some("Busy")));
        assert_eq!(status(500, "<p>").to_string(), "the provider answered 500");
        assert_eq!(status(529, "").kind(), ErrorKind::Overloaded);
        assert_eq!(status(301, "moved").kind(), ErrorKind::Protocol);
    }

    #[test]
    fn the_header_names_the_request() {
        let mut headers = HeaderMap::new();
        headers.insert("request-id", "req_2".parse().unwrap());
        let error = of_status(StatusCode::BAD_REQUEST, &headers, br#"{"request_id":"req_1"}"#);
        assert_eq!(error.provider().unwrap().request_id.as_deref(), Some("req_2"));
    }

    #[test]
    fn types_win_over_the_status_and_long_texts_are_cut() {
        for (error_type, kind, retryable) in [
            ("overloaded_error", ErrorKind::Overloaded, true),
            ("rate_limit_error", ErrorKind::RateLimit, true),
            ("api_error", ErrorKind::Server, true),
            ("timeout_error", ErrorKind::Timeout, true),
            ("billing_error", ErrorKind::Billing, false),
            ("permission_error", ErrorKind::Permission, false),
            ("request_too_large", ErrorKind::TooLarge, false),
            ("not_found_error", ErrorKind::NotFound, false),
            ("conflict_error", ErrorKind::InvalidRequest, true),
        ] {
            let error = status(400, &format!(r#"{{"error":{{"type":"{error_type}"}}}}"#));
            assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{error_type}");
        }
        assert_eq!(
            status(400, r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}"#).kind(),
            ErrorKind::TooLarge
        );
        let long = status(500, &"é".repeat(5000));
        assert_eq!(long.provider().unwrap().message.as_ref().unwrap().chars().count(), MAX_MESSAGE + 1);
    }

    #[test]
    fn errors_in_the_stream() {
        let error = of_stream(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
        assert_eq!((error.kind(), error.status()), (ErrorKind::Overloaded, None));
        assert!(error.is_retryable());
        assert_eq!(of_stream(r#"{"error":{"message":"odd"}}"#).kind(), ErrorKind::Server);
    }
}
