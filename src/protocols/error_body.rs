//! What an error of this protocol stands for, in a response with an error status or inside one that began well.

use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tower_genai_core::{Error, ErrorKind, ProviderError};

use crate::protocols::lenient::{Code, Text, read};

/// The most characters of a provider's text that are kept.
const MAX_MESSAGE: usize = 4096;

/// An error object: `error` of a body or of an event, or the body itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Code<'a>,
    /// What some hosts say instead of a type.
    #[serde(borrow)]
    status: Code<'a>,
    #[serde(borrow)]
    code: Code<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    detail: Text<'a>,
    /// Another object, or the text itself.
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Fields<'_> {
    fn into_provider(self) -> ProviderError {
        let mut provider = ProviderError::default();
        provider.error_type = self.kind.0.or(self.status.0).filter(|kind| !kind.is_empty()).map(String::from);
        provider.code = self.code.0.map(String::from);
        let message = self.message.some().or(self.detail.some());
        provider.message = message.map(|text| text.chars().take(MAX_MESSAGE).collect());
        provider
    }
}

/// Reads `{"error":{..}}`, `{"error":"text"}`, `{"code":..,"error":"text"}` and an error object that stands alone.
fn provider_error(body: &str) -> ProviderError {
    let mut outer: Fields<'_> = serde_json::from_str(body).unwrap_or_default();
    let text: Text<'_> = read(outer.error);
    if text.some().is_some() {
        outer.message = text;
        outer.kind = Code::default();
        return outer.into_provider();
    }
    match outer.error.filter(|error| error.get().starts_with('{')) {
        Some(inner) => read::<Fields<'_>>(Some(inner)).into_provider(),
        None => outer.into_provider(),
    }
}

/// The error of a response with an HTTP status that is not 2xx.
pub(in crate::protocols) fn of_status(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    let mut provider = provider_error(&String::from_utf8_lossy(body));
    provider.request_id = headers.get("x-request-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let kind = of_code(&provider).unwrap_or(match status.as_u16() {
        401 => ErrorKind::Authentication,
        402 => ErrorKind::Billing,
        403 => ErrorKind::Permission,
        404 => ErrorKind::NotFound,
        408 => ErrorKind::Timeout,
        413 => ErrorKind::TooLarge,
        429 => ErrorKind::RateLimit,
        503 | 529 => ErrorKind::Overloaded,
        409 | 500.. => ErrorKind::Server,
        _ => ErrorKind::InvalidRequest,
    });
    let said = match (&provider.message, &provider.code) {
        (Some(message), _) => message.clone(),
        (None, Some(code)) => code.clone(),
        (None, None) => "a body that says nothing about it".to_owned(),
    };
    let text = format!("the provider answered with status {}: {said}", status.as_u16());
    Error::new(kind, text).with_status(status.as_u16()).with_provider(provider)
}

/// The error of an `error` event: its fields beside the type, or in an object of their own.
pub(in crate::protocols) fn of_event(event: &str) -> Error {
    let mut provider = provider_error(event);
    // Flat events name their own type there.
    provider.error_type = provider.error_type.filter(|kind| kind != "error");
    inside(provider)
}

/// The error of a response that failed.
pub(in crate::protocols) fn of_response(error: Option<&RawValue>) -> Error {
    inside(error.map(|error| provider_error(error.get())).unwrap_or_default())
}

fn inside(provider: ProviderError) -> Error {
    let kind = of_code(&provider).unwrap_or(ErrorKind::Server);
    let said = match (&provider.code, &provider.message) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(said), None) | (None, Some(said)) => said.clone(),
        (None, None) => "no reason given".to_owned(),
    };
    Error::new(kind, format!("the response failed: {said}")).with_provider(provider)
}

/// What a code says, where it says more than the status.
fn of_code(provider: &ProviderError) -> Option<ErrorKind> {
    let by = |word: &str| {
        // xAI says `invalid-argument`, and `unauthenticated:bad-credentials`.
        let word = word.replace('-', "_");
        Some(match word.split(':').next().unwrap_or_default() {
            "server_error" | "internal_error" | "internal" | "vector_store_timeout" | "500" | "502" | "504" => ErrorKind::Server,
            "rate_limit_exceeded" | "rate_limit_error" | "resource_exhausted" | "429" => ErrorKind::RateLimit,
            "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active" | "402" => ErrorKind::Billing,
            "server_is_overloaded" | "slow_down" | "overloaded_error" | "engine_overloaded" | "unavailable" | "503" => {
                ErrorKind::Overloaded
            }
            "invalid_api_key" | "authentication_error" | "unauthenticated" | "401" => ErrorKind::Authentication,
            "permission_error" | "permission_denied" | "insufficient_permissions" | "403" => ErrorKind::Permission,
            "context_length_exceeded" | "request_too_large" | "413" => ErrorKind::TooLarge,
            "model_not_found" | "not_found" | "404" => ErrorKind::NotFound,
            "invalid_request_error" | "data_residency_mismatch" | "400" | "422" => ErrorKind::InvalidRequest,
            word if word.starts_with("invalid_") || word.ends_with("_policy") || word.ends_with("_policy_violation") => {
                ErrorKind::InvalidRequest
            }
            word if word.contains("image") => ErrorKind::InvalidRequest,
            _ => return None,
        })
    };
    provider.code.as_deref().and_then(by).or_else(|| {
        // Types are coarse: every 4xx of OpenAI is an `invalid_request_error`, whatever its status says.
        provider.error_type.as_deref().filter(|kind| *kind != "invalid_request_error").and_then(by)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: u16, body: &str) -> (ErrorKind, Option<String>, Option<String>, Option<String>) {
        let error = of_status(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes());
        assert_eq!(error.status(), Some(status));
        let provider = error.provider().unwrap().clone();
        (error.kind(), provider.error_type, provider.code, provider.message)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn every_shape_of_a_body_is_read() {
        let nested = r#"{"error":{"message":"No.","type":"invalid_request_error","param":null,"code":"bad"}}"#;
        assert_eq!(status(400, nested), (ErrorKind::InvalidRequest, some("invalid_request_error"), some("bad"), some("No.")));
        let text = r#"{"error":"Failed to deserialize"}"#;
        assert_eq!(status(422, text), (ErrorKind::InvalidRequest, None, None, some("Failed to deserialize")));
        let flat = r#"{"code":"invalid-argument","error":"Model not found"}"#;
        assert_eq!(status(400, flat), (ErrorKind::InvalidRequest, None, some("invalid-argument"), some("Model not found")));
        let numbered = r#"{"error":{"code":429,"message":"Slow down"}}"#;
        assert_eq!(status(429, numbered), (ErrorKind::RateLimit, None, some("429"), some("Slow down")));
        let refused = r#"{"code":"unauthenticated:bad-credentials","error":"No."}"#;
        assert_eq!(status(400, refused).0, ErrorKind::Authentication);
        assert_eq!(status(400, r#"{"detail":"Unsupported"}"#).3, some("Unsupported"));
        for body in ["<html>502</html>", "", "null", "[]", "{\"error\":null}"] {
            assert_eq!(status(502, body), (ErrorKind::Server, None, None, None), "{body}");
        }
    }

    #[test]
    fn the_status_decides_where_the_code_says_nothing() {
        for (code, kind) in [
            (401, ErrorKind::Authentication),
            (402, ErrorKind::Billing),
            (403, ErrorKind::Permission),
            (404, ErrorKind::NotFound),
            (408, ErrorKind::Timeout),
            (409, ErrorKind::Server),
            (413, ErrorKind::TooLarge),
            (418, ErrorKind::InvalidRequest),
            (429, ErrorKind::RateLimit),
            (500, ErrorKind::Server),
            (503, ErrorKind::Overloaded),
            (529, ErrorKind::Overloaded),
        ] {
            assert_eq!(status(code, r#"{"error":{"type":"invalid_request_error","message":"x"}}"#).0, kind, "{code}");
        }
        assert_eq!(status(429, r#"{"error":{"code":"insufficient_quota"}}"#).0, ErrorKind::Billing);
        assert_eq!(status(400, r#"{"error":{"code":"context_length_exceeded"}}"#).0, ErrorKind::TooLarge);
    }

    #[test]
    fn errors_inside_a_response_are_flat_or_nested() {
        let flat = of_event(r#"{"type":"error","code":"rate_limit_exceeded","message":"m","param":null,"sequence_number":3}"#);
        let nested = of_event(r#"{"type":"error","error":{"type":"server_error","code":null,"message":"m","param":null}}"#);
        assert_eq!((flat.kind(), nested.kind()), (ErrorKind::RateLimit, ErrorKind::Server));
        assert_eq!(flat.provider().unwrap().error_type, None);
        assert_eq!(nested.provider().unwrap().error_type, some("server_error"));
        assert_eq!(flat.to_string(), "the response failed: rate_limit_exceeded: m");
        assert_eq!(of_response(None).kind(), ErrorKind::Server);
        let raw: &RawValue = serde_json::from_str(r#"{"code":"misalignment_policy_violation","message":"m"}"#).unwrap();
        assert_eq!(of_response(Some(raw)).kind(), ErrorKind::InvalidRequest);
    }

    #[test]
    fn a_text_is_bounded_and_the_id_of_the_request_is_kept() {
        let body = format!(r#"{{"error":{{"message":"{}"}}}}"#, "é".repeat(10_000));
        let headers = HeaderMap::from_iter([(http::HeaderName::from_static("x-request-id"), http::HeaderValue::from_static("req_1"))]);
        let error = of_status(StatusCode::BAD_REQUEST, &headers, body.as_bytes());
        let provider = error.provider().unwrap();
        assert_eq!(provider.message.as_ref().unwrap().chars().count(), MAX_MESSAGE);
        assert_eq!(provider.request_id.as_deref(), Some("req_1"));
    }
}
