//! Responses that the provider paused.

use super::*;
use crate::transport::RetryPolicy;
use futures_util::FutureExt;
use tower::ServiceExt;
use tower_genai_core::testing::ReadinessProbe;

const PAUSED: [&str; 3] = ["{\"text\":\"a\"}", "{\"message\":1}", "{\"stop\":\"pause\"}"];
const DONE: [&str; 3] = ["{\"text\":\"b\"}", "{\"message\":1}", "{\"stop\":\"end\"}"];

fn paused() -> Answer {
    Answer::stream([events(&PAUSED)])
}

fn done() -> Answer {
    Answer::stream([events(&DONE)])
}

#[tokio::test]
async fn a_paused_response_goes_on_as_one_message() {
    let http = Http::new([paused(), paused(), done()]);
    let shown = run(&mut provider(http.clone()), hello()).await;
    assert_eq!(shown, ["+a", "+a", "+b", "message aab", "response aab EndTurn Some(3)"]);
    let sent = http.sent();
    let roles = |body: &Value| {
        body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(sent.iter().map(roles).collect::<Vec<_>>(), [vec!["user"], vec!["user", "assistant"], vec!["user", "assistant"]]);
    assert_eq!(sent.iter().map(|body| body["resume"].as_bool().unwrap()).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(sent[2]["messages"][1]["parts"][0]["text"], "aa");
}

#[tokio::test]
async fn a_pause_with_nothing_to_show_is_resumed_before_the_future_resolves() {
    let silent = Answer::stream([events(&["{\"message\":1}", "{\"stop\":\"pause\"}"])]);
    assert_eq!(run(&mut provider(Http::new([silent.clone(), done()])), hello()).await, ["+b", "message b", "response b EndTurn Some(2)"]);
    let refused = run(&mut provider(Http::new([silent, Answer::of(400, &[], [send("no")])])), hello()).await;
    assert_eq!(refused, ["message ", "invalid_request: no"], "what was complete is shown before the error");
}

#[tokio::test]
async fn the_last_pause_is_handed_out() {
    let mut provider = provider(Http::new([paused(), paused(), paused()]));
    provider.capabilities_mut().max_resumes = 2;
    assert_eq!(run(&mut provider, hello()).await, ["+a", "+a", "+a", "message aaa", "response aaa Pause Some(3)"]);
    let mut never = super::provider(Http::new([paused()]));
    never.capabilities_mut().max_resumes = 0;
    assert_eq!(run(&mut never, hello()).await, ["+a", "message a", "response a Pause Some(1)"]);
}

#[tokio::test]
async fn a_pause_that_waits_for_the_caller_is_the_callers() {
    let http = Http::new([Answer::stream([events(&["{\"call\":\"f\"}", "{\"message\":1}", "{\"stop\":\"pause\"}"])])]);
    assert_eq!(run(&mut provider(http), hello()).await, ["message ", "response  Pause Some(1)"]);
}

#[tokio::test(start_paused = true)]
async fn resuming_is_retried_before_its_first_event() {
    let busy = || Answer::of(529, &[("retry-after", "20")], [send("busy")]);
    let broken = || Answer::stream([events(&["{\"noop\":1}", "{\"error\":\"overloaded\"}"])]);
    let http = Http::new([paused(), busy(), broken(), done()]);
    let start = tokio::time::Instant::now();
    let shown = run(&mut provider(http.clone()), hello()).await;
    assert_eq!(shown, ["+a", "+b", "message ab", "response ab EndTurn Some(2)"]);
    assert!((20..23).contains(&start.elapsed().as_secs()));
    assert_eq!(http.requests().len(), 4);
    assert_eq!(http.sent()[1], http.sent()[3]);

    let http = Http::new([paused(), busy(), busy(), busy()]);
    assert_eq!(run(&mut provider(http), hello()).await, ["+a", "message a", "overloaded: busy"], "the attempts are used up");
    let http = Http::new([paused(), busy()]);
    let mut once = provider(http).resume_retry(RetryPolicy::new().max_retries(0));
    assert_eq!(run(&mut once, hello()).await, ["+a", "message a", "overloaded: busy"]);
}

#[tokio::test]
async fn resuming_is_not_retried_after_its_first_event() {
    let half = Answer::stream([events(&["{\"text\":\"b\"}", "{\"error\":\"overloaded\"}"])]);
    assert_eq!(run(&mut provider(Http::new([paused(), half])), hello()).await, ["+a", "+b", "message a", "overloaded: overloaded"]);
    let mut complete = provider(Http::new([paused(), Answer::stream([events(&DONE[..2]), Step::Break])]));
    complete.capabilities_mut().max_resumes = 1;
    let shown = run(&mut complete, hello()).await;
    assert_eq!(shown[..3], ["+a", "+b", "message ab"], "no message twice: {shown:?}");
    assert!(shown.len() == 4 && shown[3].starts_with("connection"), "{shown:?}");
}

#[tokio::test(start_paused = true)]
async fn readiness_is_polled_before_every_request() {
    let http = Http::new([paused(), Answer::of(529, &[], []), done()]);
    let probe = ReadinessProbe::new(http).delayed(1);
    let shown = run(&mut provider(probe.clone()), hello()).await;
    assert_eq!(shown.last().unwrap(), "response ab EndTurn Some(2)");
    assert_eq!((probe.calls(), probe.unready_polls()), (3, 3));
}

/// Notes how many bodies are alive whenever it is asked whether it is ready.
#[derive(Clone)]
struct Watched(Http, Arc<Mutex<Vec<usize>>>);

impl Service<http::Request<Bytes>> for Watched {
    type Response = http::Response<ScriptedBody>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.1.lock().unwrap().push(self.0.alive());
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Bytes>) -> Self::Future {
        self.0.call(request)
    }
}

#[tokio::test(start_paused = true)]
async fn the_finished_response_is_dropped_before_readiness_is_polled() {
    let busy = Answer::stream([events(&["{\"error\":\"overloaded\"}"]), Step::Hang]);
    let watched = Watched(Http::new([paused(), busy, done()]), Arc::default());
    let shown = run(&mut provider(watched.clone()), hello()).await;
    assert_eq!(shown.last().unwrap(), "response ab EndTurn Some(2)");
    assert_eq!(*watched.1.lock().unwrap(), [0, 0, 0], "a permit that a body holds would never come free");
}

#[tokio::test]
async fn dropping_cancels_a_request_that_resumes() {
    let http = Http::new([paused(), Answer::stream([Step::Hang])]);
    let mut stream = provider(http.clone()).oneshot(hello()).await.unwrap();
    assert_eq!(event(&stream.next().await.unwrap().unwrap()), "+a");
    assert!(stream.next().now_or_never().is_none());
    assert_eq!((http.requests().len(), http.alive()), (2, 1));
    drop(stream);
    assert_eq!(http.alive(), 0);
}
