//! The provider over HTTP services in process.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::StreamExt;
use http_body_util::Full;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use tower_genai::{
    ErrorKind, ModelRequest, ModelServiceExt,
    provider::{Anthropic, OpenAi},
    testing::ReadinessProbe,
};
use tower_test::mock;

const ANSWER: &str = r#"{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}"#;

fn response(status: u16, body: &str) -> http::Response<Full<Bytes>> {
    let builder = http::Response::builder().status(status).header("content-type", "application/json");
    builder.body(Full::from(body.to_owned())).unwrap()
}

fn request() -> ModelRequest {
    ModelRequest::new().user("hi")
}

#[tokio::test]
async fn readiness_is_the_http_services() {
    let (http, mut handle) = mock::pair::<http::Request<Bytes>, http::Response<Full<Bytes>>>();
    let mut service = mock::Spawn::new(Anthropic::new("key", "model").http(http));
    handle.allow(0);
    assert!(service.poll_ready::<ModelRequest>().is_pending());
    handle.allow(1);
    assert!(service.poll_ready::<ModelRequest>().is_ready());
    let call = tokio::spawn(service.call(request()));
    let (sent, reply) = handle.next_request().await.unwrap();
    assert_eq!(sent.uri().path(), "/v1/messages");
    assert!(sent.headers()["x-api-key"].is_sensitive());
    reply.send_response(response(200, ANSWER));
    let events: Vec<_> = call.await.unwrap().unwrap().collect().await;
    assert!(events.len() >= 3 && events.iter().all(Result::is_ok));
}

#[tokio::test]
async fn the_instance_that_was_ready_is_called() {
    let http = service_fn(|_: http::Request<Bytes>| async { Ok::<_, Infallible>(response(200, ANSWER)) });
    let probe = ReadinessProbe::new(http).delayed(1);
    let mut provider = Anthropic::new("key", "model").http(probe.clone());
    for _ in 0..3 {
        let events: Vec<_> = provider.ready().await.unwrap().call(request()).await.unwrap().collect().await;
        assert!(events.iter().all(Result::is_ok));
    }
    assert_eq!((probe.calls(), probe.unready_polls()), (3, 3));
}

#[tokio::test]
async fn errors_are_typed() {
    let http = service_fn(|_: http::Request<Bytes>| async { Ok::<_, Infallible>(response(401, "{\"error\":{\"message\":\"no\"}}")) });
    let error = OpenAi::new("key", "model").http(http).complete(request()).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Authentication, Some(401)));
    let broken = service_fn(|_: http::Request<Bytes>| async { Err::<http::Response<Full<Bytes>>, _>(std::io::Error::other("gone")) });
    let error = OpenAi::new("key", "model").http(broken).complete(request()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Service, "what a foreign service says is not ours to classify");
}

#[tokio::test]
async fn fits_below_towers_layers() {
    let http = service_fn(|_: http::Request<Bytes>| async { Ok::<_, Infallible>(response(200, ANSWER)) });
    let provider = Anthropic::new("key", "model").http(http);
    let stack = ServiceBuilder::new().buffer(2).concurrency_limit(1).timeout(std::time::Duration::from_secs(5)).service(provider);
    assert_eq!(stack.boxed_model().complete(request()).await.unwrap().text(), "ok");
}

#[test]
fn auto_traits() {
    fn assert_auto<T: Clone + Send + Sync + std::fmt::Debug + 'static>(_: &T) {}
    assert_auto(&Anthropic::new("secret-key", "model"));
    let provider = OpenAi::new("secret-key", "model");
    assert_auto(&provider);
    assert!(!format!("{provider:?}").contains("secret-key"));
}
