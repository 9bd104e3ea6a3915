//! Requests as they go out, responses as they come back.

use super::*;
use crate::transport::{Reqwest, RetryPolicy};
use futures_util::FutureExt;
use tower::{ServiceBuilder, ServiceExt};
use tower_genai_core::{
    Deferral, DeferralMode, Json, ModelServiceExt, ServerTool, ToolDefinition, ToolKind, ToolSet, testing::ReadinessProbe,
};

const ANSWER: [&str; 4] = ["{\"noop\":1}", "{\"text\":\"hel\"}", "{\"text\":\"lo\"}", "{\"message\":1,\"stop\":\"end\"}"];

#[tokio::test]
async fn a_streamed_answer() {
    let http = Http::new([Answer::stream([events(&ANSWER)])]);
    let shown = run(&mut provider(http.clone()), hello()).await;
    assert_eq!(shown, ["+hel", "+lo", "message hello", "response hello EndTurn Some(1)"]);

    let [request] = &http.requests()[..] else { panic!("one request") };
    assert_eq!((request.method(), request.uri().to_string()), (&http::Method::POST, "https://api.example.com/v1/plain".to_owned()));
    let header = |name: &str| request.headers()[name].to_str().unwrap();
    assert_eq!([header("authorization"), header("content-type"), header("x-version")], [&format!("Bearer {KEY}"), "application/json", "1"]);
    assert_eq!(http.sent()[0]["model"], "model-1");
}

#[tokio::test]
async fn an_answer_in_one_piece() {
    for content_type in ["application/json", "application/json; charset=utf-8", "application/problem+json", "text/plain"] {
        let steps = ["  \n{\"text\":", "\"hi\",\"stop\"", ":\"end\"}\n"].map(send);
        let http = Http::new([Answer::of(200, &[("content-type", content_type)], steps)]);
        assert_eq!(run(&mut provider(http), hello()).await, ["+hi", "response hi EndTurn Some(1)"], "{content_type}");
    }
}

#[tokio::test]
async fn the_settings_of_a_provider_are_sent() {
    let http = Http::new([Answer::stream([events(&ANSWER)]), Answer::stream([events(&ANSWER)])]);
    let mut provider = provider(http.clone())
        .base_url("http://localhost:8080/prefix/")
        .unwrap()
        .auth(crate::provider::Auth::Header("x-goog-api-key".parse().unwrap()))
        .header("X-Version", "2")
        .unwrap()
        .header("x-flags", "mine")
        .unwrap()
        .query("api-version", "preview 1")
        .extra_body("top", Json::parse("1").unwrap())
        .extra_body("own", Json::parse("1").unwrap())
        .streaming(false);
    let mut request = hello().model("model-2").tools(ToolSet::new([ToolDefinition::new("a")]).unwrap());
    request.extra_body.insert("own".into(), Json::parse("2").unwrap());
    run(&mut provider, request).await;
    let mut provider = provider.streaming(true).auth(crate::provider::Auth::None);
    run(&mut provider, hello()).await;

    let [first, second] = &http.requests()[..] else { panic!("two requests") };
    assert_eq!(first.uri(), "http://localhost:8080/prefix/v1/plain?api-version=preview%201");
    let header = |request: &http::Request<Bytes>, name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(header(first, "x-goog-api-key").as_deref(), Some(KEY));
    assert_eq!(header(first, "x-version").as_deref(), Some("2"));
    assert_eq!(header(first, "x-flags").as_deref(), Some("tools,mine"), "a list that this request needs is extended");
    assert_eq!(header(second, "x-flags").as_deref(), Some("mine"));
    assert_eq!((header(first, "authorization"), header(second, "x-goog-api-key")), (None, None));
    let sent = http.sent();
    assert_eq!((&sent[0]["model"], &sent[1]["model"]), (&json!("model-2"), &json!("model-1")));
    assert_eq!(sent[0]["extra"], json!({"top": 1, "own": 2, "stream": false}));
    assert_eq!(sent[1]["extra"], json!({"top": 1, "own": 1}));
}

#[tokio::test]
async fn deferral_is_lowered_where_no_layer_did_it() {
    let tools = || {
        let search = ToolDefinition::new("search").kind(ToolKind::Search);
        ToolSet::new([ToolDefinition::new("hidden").deferred(true), search]).unwrap()
    };
    let http = Http::new([(); 3].map(|()| Answer::stream([events(&ANSWER)])));
    let mut provider = provider(http.clone());
    assert_eq!(provider.deferral(), DeferralMode::Reference);
    run(&mut provider, hello().tools(tools())).await;
    let mut wanted = hello().tools(tools());
    wanted.deferral = Deferral::Wanted(DeferralMode::Append);
    run(&mut provider, wanted).await;
    provider.capabilities_mut().deferral = DeferralMode::Append;
    assert_eq!(provider.deferral(), DeferralMode::Append);
    run(&mut provider, hello().tools(tools())).await;
    let mut foreign = hello().tools(tools());
    foreign.deferral = Deferral::Wanted(DeferralMode::SearchOutput);
    let error = provider.clone().complete(foreign).await.unwrap_err();
    assert!(error.to_string().contains("provider.deferral()"), "a mode of another wire: {error}");
    let sent: Vec<_> = http.sent().iter().map(|body| body["tools"].clone()).collect();
    assert_eq!(sent, [json!(["hidden", "search"]), json!(["search"]), json!(["search"])]);
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_before_any_io() {
    let http = Http::new([]);
    let mut provider = provider(http.clone());
    let mut repeated = hello();
    repeated.server_tools = vec![ServerTool::plain("web_search").unwrap(), ServerTool::plain("web_search").unwrap()];
    let big = ToolDefinition::new("big").description("x".repeat(1000)).deferred(true);
    let deferred = hello().tools(ToolSet::new([big]).unwrap());
    for (request, words) in [
        (hello().system("unsendable"), "refused invalid_request: `unsendable`"),
        (hello().model(" "), "refused invalid_request: the name of the model is empty"),
        (repeated, "refused invalid_request: server tool `web_search`"),
    ] {
        let shown = run(&mut provider, request).await;
        assert!(shown[0].starts_with(words), "{shown:?}");
    }
    let shown = run(&mut provider.clone().max_definition_bytes(100), deferred).await;
    assert!(shown[0].starts_with("refused too_large"), "{shown:?}");
    let mut keyless = Provider::for_protocol(Plain, Capabilities::anthropic(), "https://h", " ", "m").unwrap().http(http.clone());
    assert!(run(&mut keyless, hello()).await[0].starts_with("refused authentication: the API key is empty"));
    assert!(http.requests().is_empty());
}

#[tokio::test]
async fn builders_refuse_what_cannot_be() {
    let provider = provider(Reqwest::new());
    for (name, value, words) in [("a b", "secret", "`a b` cannot"), ("a", "sec\nret", "header `a`")] {
        let error = provider.clone().header(name, value).unwrap_err();
        assert!(error.to_string().contains(words) && !error.to_string().contains("sec"), "{error}");
    }
    assert_eq!(provider.clone().base_url("https://h/v1").unwrap_err().kind(), ErrorKind::InvalidRequest);
    assert!(Provider::for_protocol(Plain, Capabilities::anthropic(), "h", KEY, "m").is_err());
}

#[tokio::test]
async fn errors_by_status() {
    let json = ("content-type", "application/json");
    let headers = [json, ("retry-after", "7"), ("x-should-retry", "false"), ("request-id", "req-1")];
    let http = Http::new([Answer::of(429, &headers, [send("slow "), send("down")])]);
    let error = provider(http.clone()).complete(hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.status(), error.to_string().as_str()), (ErrorKind::RateLimit, Some(429), "slow down"));
    assert_eq!((error.retry_after(), error.is_retryable()), (Some(Duration::from_secs(7)), false));
    assert_eq!(error.provider().and_then(|words| words.request_id.as_deref()), Some("req-1"));
    assert_eq!(http.alive(), 0);

    let endless = vec![send("x".repeat(10_000)); 1000];
    let error = provider(Http::new([Answer::of(500, &[], endless)])).complete(hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string().len()), (ErrorKind::Overloaded, 64 * 1024), "a bounded part of the body");

    let error = provider(Http::new([Answer::of(401, &[], [send("no"), Step::Break])])).complete(hello()).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Authentication, "no"), "what was read of the body is enough");

    let error = provider(Http::new([Answer::of(307, &[("location", "http://elsewhere/")], [])])).complete(hello()).await.unwrap_err();
    assert!(error.to_string().contains("`elsewhere`") && !error.is_retryable(), "{error}");

    let error = provider(Http::new([Answer::of(200, &[("content-type", "text/html")], [Step::Hang])])).complete(hello()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Protocol && !error.is_retryable() && error.to_string().contains("base URL"), "{error}");
}

#[tokio::test]
async fn errors_inside_a_response() {
    let refused = |steps: Vec<Step>| async { run(&mut provider(Http::new([Answer::stream(steps)])), hello()).await };
    let failing = "{\"error\":\"overloaded\"}";
    assert_eq!(refused(vec![events(&["{\"noop\":1}", failing])]).await, ["refused overloaded: overloaded"]);
    assert_eq!(refused(vec![events(&["{\"text\":\"a\"}", failing, "{\"text\":\"b\"}"])]).await, ["+a", "overloaded: overloaded"]);
    assert_eq!(refused(vec![events(&["{\"text\":\"a\",\"error\":\"overloaded\"}"])]).await, ["+a", "overloaded: overloaded"]);
    assert_eq!(
        refused(vec![events(&["{\"text\":\"a\"}"]), send(failing)]).await,
        ["+a", "overloaded: overloaded"],
        "an error without framing"
    );
    assert_eq!(refused(vec![send(failing)]).await, ["refused overloaded: overloaded"]);
    assert_eq!(refused(vec![events(&["{"])]).await, ["refused protocol: not JSON"]);

    let ended = refused(vec![events(&["{\"text\":\"a\"}", "{\"message\":1}"])]).await;
    assert_eq!(ended[..2], ["+a", "message a"], "what was complete is shown");
    assert!(ended[2].starts_with("protocol: the response ended before"), "{ended:?}");
    assert!(refused(vec![]).await[0].starts_with("refused protocol: the response ended before"));

    let cut = refused(vec![events(&["{\"text\":\"a\"}"]), send("data: {\"te"), Step::Break]).await;
    assert_eq!(cut, ["+a", "connection: the connection broke while the response was read: an inner service failed: the cable was cut"]);
}

#[tokio::test]
async fn what_follows_the_end_does_not_matter() {
    let steps = [events(&["{\"stop\":\"end\"}", "{\"error\":\"late\"}"]), Step::Break];
    assert_eq!(run(&mut provider(Http::new([Answer::stream(steps)])), hello()).await, ["response  EndTurn Some(1)"]);
    let unterminated = [send("data: {\"text\":\"a\"}\n\n: ping\n\ndata:\n\ndata: {\"stop\":\"end\"}")];
    assert_eq!(run(&mut provider(Http::new([Answer::stream(unterminated)])), hello()).await, ["+a", "response a EndTurn Some(1)"]);
}

#[tokio::test]
async fn sizes_are_bounded() {
    let big = format!("{{\"text\":\"{}\"}}", "x".repeat(100));
    for answer in [Answer::stream([events(&[&big])]), Answer::of(200, &[("content-type", "application/json")], [send(&*big)])] {
        let shown = run(&mut provider(Http::new([answer])).max_event_bytes(64), hello()).await;
        assert!(shown[0].starts_with("refused limit") && shown[0].contains("max_event_bytes"), "{shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_layer_sees_what_fails_before_the_first_event() {
    let failing = [
        Answer::of(529, &[("retry-after", "30")], [send("busy")]),
        Answer::stream([events(&["{\"noop\":1}", "{\"error\":\"overloaded\"}"])]),
        Answer::stream([events(&ANSWER)]),
    ];
    let http = Http::new(failing);
    let start = tokio::time::Instant::now();
    let stack = ServiceBuilder::new().retry(RetryPolicy::new()).service(provider(http.clone()));
    assert_eq!(stack.complete(hello()).await.unwrap().text(), "hello");
    assert_eq!(http.requests().len(), 3);
    assert!((30..33).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());

    let http = Http::new([Answer::stream([events(&["{\"text\":\"a\"}", "{\"error\":\"overloaded\"}"])])]);
    let stack = ServiceBuilder::new().retry(RetryPolicy::new()).service(provider(http.clone()));
    assert_eq!(stack.complete(hello()).await.unwrap_err().kind(), ErrorKind::Overloaded);
    assert_eq!(http.requests().len(), 1, "nothing is retried after the first event");
}

#[tokio::test]
async fn the_instance_that_was_ready_is_called() {
    let http = Http::new([Answer::stream([events(&ANSWER)]), Answer::stream([events(&ANSWER)])]);
    let probe = ReadinessProbe::new(http).delayed(2);
    let mut provider = provider(probe.clone());
    for _ in 0..2 {
        provider.ready().await.unwrap().call(hello()).await.unwrap().count().await;
    }
    assert_eq!((probe.calls(), probe.unready_polls()), (2, 4));

    type Mock = tower_test::mock::Mock<http::Request<Bytes>, http::Response<ScriptedBody>>;
    let (mut spawned, mut handle) = tower_test::mock::spawn_with(super::provider::<Mock>);
    handle.allow(0);
    assert!(spawned.poll_ready().is_pending());
    handle.allow(1);
    assert!(matches!(spawned.poll_ready(), Poll::Ready(Ok(()))));
    let call = tokio::spawn(spawned.call(hello()));
    let (_, respond) = handle.next_request().await.unwrap();
    respond.send_error("the wire is dead");
    let error = call.await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Service, "an inner service failed: the wire is dead"));
    assert!(spawned.poll_ready().is_pending());
}

#[tokio::test]
async fn dropping_cancels() {
    let http = Http::new([Answer::stream([Step::Hang]), Answer::stream([events(&["{\"text\":\"a\"}"]), Step::Hang])]);
    let mut provider = provider(http.clone());
    let mut call = Box::pin(provider.ready().await.unwrap().call(hello()));
    assert!((&mut call).now_or_never().is_none());
    assert_eq!(http.alive(), 1);
    drop(call);
    assert_eq!(http.alive(), 0);
    let stream = provider.ready().await.unwrap().call(hello()).await.unwrap();
    assert_eq!(http.alive(), 1);
    drop(stream);
    assert_eq!(http.alive(), 0);
}

#[tokio::test]
async fn the_body_is_free_when_the_response_is_shown() {
    let http = Http::new([Answer::stream([events(&ANSWER)])]);
    let mut stream = provider(http.clone()).oneshot(hello()).await.unwrap();
    while let Some(item) = stream.next().await {
        if matches!(item, Ok(ModelEvent::Response(_))) {
            assert_eq!(http.alive(), 0);
            return;
        }
    }
    panic!("no response");
}

#[test]
fn auto_traits() {
    fn service<T: Clone + Send + Sync + Unpin + 'static>() {}
    fn moving<T: Send + Unpin + 'static>() {}
    service::<Provider<Plain>>();
    moving::<<Provider<Plain> as Service<ModelRequest>>::Response>();
    moving::<<Provider<Plain> as Service<ModelRequest>>::Future>();
    moving::<crate::transport::Body>();
    fn boxed(provider: Provider<Plain>) -> tower_genai_core::BoxModelService {
        provider.boxed_model()
    }
    assert!(format!("{:?}", boxed(provider(Reqwest::new()))).contains("Box"));
}
