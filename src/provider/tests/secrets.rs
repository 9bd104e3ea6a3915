//! The key shows up nowhere.

use super::*;
use crate::transport::Reqwest;
use tower::ServiceExt;
use tower_genai_core::ModelServiceExt;

fn assert_clean(error: &Error) {
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(KEY) && !shown.contains("other-secret"), "{shown}");
}

#[tokio::test]
async fn a_key_that_the_provider_repeats_is_taken_out() {
    let words = format!("invalid key {KEY}, other-secret");
    let event = format!("{{\"error\":\"{words}\"}}");
    for answer in [
        Answer::of(401, &[("x-request-id", KEY)], [send(&*words)]),
        Answer::stream([events(&[&event])]),
        Answer::of(200, &[("content-type", "application/json")], [send(&*event)]),
    ] {
        let provider = provider(Http::new([answer])).query("key", "other-secret");
        let error = provider.complete(hello()).await.unwrap_err();
        assert_clean(&error);
        assert!(error.to_string().contains("invalid key [redacted], [redacted]"), "{error}");
    }
}

#[tokio::test]
async fn errors_of_the_http_service_are_cleaned() {
    let http = tower::service_fn(|request: http::Request<Bytes>| async move {
        Err::<http::Response<ScriptedBody>, BoxError>(format!("cannot reach {}", request.uri()).into())
    });
    let error = provider(http).query("key", "other-secret").oneshot(hello()).await.unwrap_err();
    assert_clean(&error);
    assert_eq!(error.kind(), ErrorKind::Service);
}

#[tokio::test]
async fn debug_forms_hold_no_key() {
    let http = Http::new([Answer::stream([])]);
    let provider = provider(http.clone()).header("x-api-key", "other-secret").unwrap().query("key", "other-secret");
    let settings = format!("{provider:?}");
    assert!(settings.contains("plain") && settings.contains("api.example.com"), "{settings}");
    let _ = provider.complete(hello()).await;
    let headers = format!("{:?}", http.requests()[0].headers());
    for shown in [settings, headers, format!("{:?}", Reqwest::new())] {
        assert!(!shown.contains(KEY) && !shown.contains("other-secret"), "{shown}");
    }
}
