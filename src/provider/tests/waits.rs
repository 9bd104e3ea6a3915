//! What is waited for, and for how long.

use super::*;
use crate::transport::Waits;
use tower::ServiceExt;

async fn timed(steps: Vec<Step>) -> (Vec<String>, u64) {
    let start = tokio::time::Instant::now();
    let shown = run(&mut provider(Http::new([Answer::stream(steps)])), hello()).await;
    (shown, start.elapsed().as_secs())
}

fn text() -> Step {
    events(&["{\"text\":\"a\"}"])
}

#[tokio::test(start_paused = true)]
async fn a_delta_a_second_may_go_on_for_ever() {
    let mut steps: Vec<_> = (0..700).flat_map(|_| [wait(1), text()]).collect();
    steps.push(events(&["{\"stop\":\"end\"}"]));
    let (shown, seconds) = timed(steps).await;
    assert_eq!((shown.len(), seconds), (701, 700));
}

#[tokio::test(start_paused = true)]
async fn only_signs_of_life_are_not_enough() {
    let life = ["event: ping\ndata: {\"noop\":1}\n\n", ": comment\n\n", "data:\n\n"];
    for sign in life {
        let mut steps = vec![wait(10), text()];
        steps.extend((0..40).flat_map(|_| [wait(20), send(sign)]));
        let (shown, seconds) = timed(steps).await;
        assert_eq!((shown.len(), seconds), (2, 310), "{shown:?}");
        assert!(shown[1].starts_with("timeout: ") && shown[1].contains("signs of life arrived for 300s"), "{shown:?}");

        let steps = (0..40).flat_map(|_| [wait(20), send(sign)]).collect();
        let (shown, seconds) = timed(steps).await;
        assert_eq!((shown.len(), seconds), (1, 320), "from the first byte");
        assert!(shown[0].starts_with("refused timeout"), "an error of the future: {shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_in_the_middle() {
    let (shown, seconds) = timed(vec![wait(200), text(), wait(59), send(":\n"), Step::Hang]).await;
    assert_eq!((shown.len(), seconds), (2, 200 + 59 + 60));
    assert!(shown[1].contains("nothing arrived for 60s"), "{shown:?}");
    let (shown, seconds) = timed(vec![send("data: {\"tex"), wait(50), send("t\":\"a"), Step::Hang]).await;
    assert_eq!((shown.len(), seconds), (1, 110), "pieces of an event are bytes");
}

#[tokio::test(start_paused = true)]
async fn the_first_byte() {
    let (shown, seconds) = timed(vec![wait(299), text(), events(&["{\"stop\":\"end\"}"])]).await;
    assert_eq!((shown.len(), seconds), (2, 299));
    let (shown, seconds) = timed(vec![Step::Hang]).await;
    assert_eq!(seconds, 300);
    assert!(shown[0].contains("no byte of a response arrived within 300s"), "{shown:?}");

    let deaf = tower::service_fn(|_: http::Request<Bytes>| std::future::pending::<Result<http::Response<ScriptedBody>, Infallible>>());
    let start = tokio::time::Instant::now();
    assert!(run(&mut provider(deaf), hello()).await[0].starts_with("refused timeout"));
    assert_eq!(start.elapsed().as_secs(), 300);

    let start = tokio::time::Instant::now();
    let refusal = Answer::of(429, &[], [send("slow"), Step::Hang]);
    assert_eq!(run(&mut provider(Http::new([refusal])), hello()).await, ["refused rate_limit: slow"]);
    assert_eq!(start.elapsed().as_secs(), 60, "the body of a refusal does not keep anybody waiting");
}

#[tokio::test(start_paused = true)]
async fn each_wait_can_be_changed_and_switched_off() {
    let hanging = || Http::new([Answer::stream([text(), Step::Hang])]);
    for (silence, content, seconds) in [(Some(5), None, 5), (None, Some(7), 7), (Some(9), Some(8), 8), (Some(u64::MAX), Some(3), 3)] {
        let waits = Waits { first_byte: None, silence: silence.map(Duration::from_secs), content: content.map(Duration::from_secs) };
        let start = tokio::time::Instant::now();
        let shown = run(&mut provider(hanging()).waits(waits), hello()).await;
        assert!(shown[1].starts_with("timeout"), "{shown:?}");
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
    let mut unlimited = provider(hanging()).waits(Waits::unlimited());
    let day = Duration::from_secs(86_400);
    assert!(tokio::time::timeout(day, run(&mut unlimited, hello())).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_caller_in_no_hurry_is_not_a_silence() {
    let steps = [text(), wait(1), text(), events(&["{\"stop\":\"end\"}"])];
    let mut stream = provider(Http::new([Answer::stream(steps)])).oneshot(hello()).await.unwrap();
    let mut shown = 0;
    while let Some(item) = stream.next().await {
        item.unwrap();
        shown += 1;
        tokio::time::sleep(Duration::from_secs(1000)).await;
    }
    assert_eq!(shown, 3);
}
