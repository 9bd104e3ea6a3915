use super::*;
use std::sync::Mutex;
use tokio::time::Instant;
use tower::{ServiceBuilder, ServiceExt, retry::Retry, service_fn};
use tower_genai_core::{ErrorKind, testing::ReadinessProbe};
use tower_service::Service;

fn busy() -> Error {
    Error::new(ErrorKind::Overloaded, "busy")
}

/// What `Buffer` and others do: an error around one of ours.
#[derive(Debug)]
struct Wrapped(Error);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("wrapped")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// The waits of a policy until it gives up.
fn waits(mut policy: RetryPolicy, error: impl Fn() -> Error) -> Vec<Duration> {
    std::iter::from_fn(|| policy.after(&error())).collect()
}

#[test]
fn the_backoff_doubles_up_to_its_limit_and_is_drawn_from_nothing_on() {
    let policy = || RetryPolicy::new().max_retries(8).budget(None).backoff(Duration::from_secs(1), Duration::from_secs(10));
    let mut longest = [Duration::ZERO; 8];
    let mut shortest = [Duration::MAX; 8];
    for _ in 0..500 {
        let drawn = waits(policy(), busy);
        assert_eq!(drawn.len(), 8);
        for (index, wait) in drawn.into_iter().enumerate() {
            longest[index] = longest[index].max(wait);
            shortest[index] = shortest[index].min(wait);
        }
    }
    for (index, limit) in [1, 2, 4, 8, 10, 10, 10, 10].into_iter().enumerate() {
        let limit = Duration::from_secs(limit);
        assert!(longest[index] <= limit && longest[index] > limit.mul_f64(0.9), "{index}: {:?}", longest[index]);
        assert!(shortest[index] < limit.mul_f64(0.1), "{index}: {:?}", shortest[index]);
    }
}

#[test]
fn an_announced_wait_is_kept() {
    let announced = |milliseconds| move || busy().with_retry_after(Duration::from_millis(milliseconds));
    for wait in waits(RetryPolicy::new(), announced(3_000)) {
        assert!((3_000..=3_500).contains(&wait.as_millis()), "{wait:?}");
    }
    assert_eq!(waits(RetryPolicy::new(), announced(120_000)).len(), 2);
    assert_eq!(waits(RetryPolicy::new(), announced(120_001)).len(), 0);
    assert_eq!(waits(RetryPolicy::new().max_announced(Duration::from_secs(1)), announced(3_000)).len(), 0);
}

#[test]
fn only_what_may_help_is_retried() {
    assert_eq!(waits(RetryPolicy::new(), busy).len(), 2);
    assert_eq!(waits(RetryPolicy::new().max_retries(0), busy).len(), 0);
    assert_eq!(waits(RetryPolicy::new(), || Error::invalid("bad")).len(), 0);
    assert_eq!(waits(RetryPolicy::new(), || busy().with_retryable(false)).len(), 0);
    assert_eq!(waits(RetryPolicy::new(), || Error::invalid("bad").with_retryable(true)).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_budget_is_shared_and_fills_with_successes() {
    let budget = Arc::new(TpsBudget::new(Duration::from_secs(10), 0, 0.5));
    let policy = RetryPolicy::new().budget(Some(budget));
    assert_eq!(waits(policy.clone(), busy).len(), 0, "nothing saved");
    for _ in 0..2 {
        assert!(Policy::<(), (), Error>::retry(&mut policy.clone(), &mut (), &mut Ok(())).is_none());
    }
    assert_eq!(waits(policy.clone(), busy).len(), 1, "one retry for two successes");
    assert_eq!(waits(policy, busy).len(), 0);
}

#[test]
fn boxes_are_looked_into() {
    let wait = Duration::from_secs(3);
    for (error, verdict) in [
        (BoxError::from(busy().with_retry_after(wait)), (true, Some(wait))),
        (Wrapped(busy().with_retry_after(wait)).into(), (true, Some(wait))),
        (Error::invalid("bad").with_source(busy()).into(), (false, None)),
        (tower::timeout::error::Elapsed::new().into(), (true, None)),
        ("boom".into(), (false, None)),
    ] {
        assert_eq!((error.is_retryable(), Retryable::retry_after(&error)), verdict, "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn readiness_is_polled_before_each_attempt_with_either_error_type() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let kept = times.clone();
    let failing = service_fn(move |_: u8| {
        let mut times = kept.lock().unwrap();
        times.push(Instant::now());
        let result = if times.len() % 3 == 0 { Ok(()) } else { Err(busy().with_retry_after(Duration::from_secs(5))) };
        async move { result }
    });
    let probe = ReadinessProbe::new(failing).delayed(1);
    let mut plain = Retry::new(RetryPolicy::new(), probe.clone());
    plain.ready().await.unwrap().call(1).await.unwrap();
    let mut boxed = ServiceBuilder::new().retry(RetryPolicy::new()).timeout(Duration::from_secs(60)).service(probe.clone());
    boxed.ready().await.unwrap().call(1).await.unwrap();
    assert_eq!((probe.calls(), probe.unready_polls()), (6, 6));
    let times = times.lock().unwrap();
    for (earlier, later) in [(0, 1), (1, 2), (3, 4), (4, 5)] {
        assert!((5..6).contains(&(times[later] - times[earlier]).as_secs()), "{times:?}");
    }
}
