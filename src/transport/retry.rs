//! When to send a request again.
//!
//! [`RetryPolicy`] is for [`tower::retry`]. Put the retry layer directly around the provider, inside the layers of this library: each
//! request that they send is then retried on its own. A provider's response future resolves with the first event, so that what is retried
//! has shown nothing to anybody yet; once events flow, nothing is retried.
//!
//! ```
//! use tower::ServiceBuilder;
//! use tower_genai::{Error, ErrorKind, Message, ModelRequest, ModelServiceExt, Response, StopReason};
//! use tower_genai::{testing::{ScriptedModel, events_of}, transport::RetryPolicy};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # tokio::time::pause();
//! let mut calls = 0;
//! let model = ScriptedModel::new(move |_| {
//!     calls += 1;
//!     if calls < 3 {
//!         return Err(Error::new(ErrorKind::Overloaded, "busy"));
//!     }
//!     let response = Response::of(Message::assistant("third time lucky"), StopReason::EndTurn);
//!     Ok(events_of(response).into_iter().map(Ok).collect())
//! });
//! let stack = ServiceBuilder::new().retry(RetryPolicy::new()).service(model);
//! assert_eq!(stack.complete(ModelRequest::new().user("hi")).await?.text(), "third time lucky");
//! # Ok(())
//! # }
//! ```

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tower::retry::{
    Policy,
    budget::{Budget, TpsBudget},
};
use tower_genai_core::{BoxError, Error};

/// Sends a request again, a few times and ever later, when its error says that this may help.
///
/// The wait doubles from attempt to attempt and is drawn at random between nothing and that ("full jitter"). Where the provider announced a
/// wait, that is kept, and half a second at most is added. An announced wait of more than two minutes is not waited for.
///
/// Clones share the budget, which allows, beside ten retries a second, one retry for five successes: many clients of one service in trouble
/// do not make it worse.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    max_retries: u32,
    backoff: Duration,
    max_backoff: Duration,
    max_announced: Duration,
    budget: Option<Arc<TpsBudget>>,
    retries: u32,
}

impl RetryPolicy {
    /// Two retries, after up to 0.5 s and 1 s.
    #[must_use]
    pub fn new() -> Self {
        Self {
            max_retries: 2,
            backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(8),
            max_announced: Duration::from_secs(120),
            budget: Some(Arc::default()),
            retries: 0,
        }
    }

    /// Sets how often a request is sent again (2).
    #[must_use]
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = retries;
        self
    }

    /// Sets the longest wait before the first retry (0.5 s) and before any (8 s).
    #[must_use]
    pub fn backoff(mut self, first: Duration, max: Duration) -> Self {
        (self.backoff, self.max_backoff) = (first, max);
        self
    }

    /// Sets the longest wait of the provider's choice that is waited for (120 s).
    #[must_use]
    pub fn max_announced(mut self, wait: Duration) -> Self {
        self.max_announced = wait;
        self
    }

    /// Sets the budget, to share it with other policies; `None` is without limit.
    #[must_use]
    pub fn budget(mut self, budget: Option<Arc<TpsBudget>>) -> Self {
        self.budget = budget;
        self
    }

    /// Notes an error and says how long to wait before the next attempt, if there is to be one.
    pub fn after<E: Retryable>(&mut self, error: &E) -> Option<Duration> {
        let announced = error.retry_after();
        let allowed = self.retries < self.max_retries && error.is_retryable() && announced <= Some(self.max_announced);
        if !allowed || self.budget.as_ref().is_some_and(|budget| !budget.withdraw()) {
            return None;
        }
        let longest = match announced {
            Some(_) => self.backoff.min(Duration::from_millis(500)),
            None => self.backoff.saturating_mul(1 << self.retries.min(16)).min(self.max_backoff),
        };
        self.retries += 1;
        Some(announced.unwrap_or_default().saturating_add(longest.mul_f64(fastrand::f64())))
    }

    /// Notes a success.
    pub(crate) fn succeeded(&self) {
        if let Some(budget) = &self.budget {
            budget.deposit();
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::new()
    }
}

impl<Req: Clone, T, E: Retryable> Policy<Req, T, E> for RetryPolicy {
    type Future = Backoff;

    fn retry(&mut self, _: &mut Req, result: &mut Result<T, E>) -> Option<Backoff> {
        match result {
            Ok(_) => {
                self.succeeded();
                None
            }
            Err(error) => self.after(error).map(|wait| Backoff { sleep: sleep(wait) }),
        }
    }

    fn clone_request(&mut self, request: &Req) -> Option<Req> {
        Some(request.clone())
    }
}

pin_project! {
    /// The wait before a retry.
    #[derive(Debug)]
    pub struct Backoff {
        #[pin]
        sleep: Sleep,
    }
}

impl Future for Backoff {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().sleep.poll(cx)
    }
}

/// An error that says whether the same request may succeed later. Implement it for an error type of your own to use [`RetryPolicy`] with it.
pub trait Retryable {
    /// Whether the same request may succeed later.
    fn is_retryable(&self) -> bool;

    /// How long the provider asked to wait.
    fn retry_after(&self) -> Option<Duration> {
        None
    }
}

impl Retryable for Error {
    fn is_retryable(&self) -> bool {
        Error::is_retryable(self)
    }

    fn retry_after(&self) -> Option<Duration> {
        Error::retry_after(self)
    }
}

/// What tower's own layers make of an [`Error`], and their elapsed timeout.
impl Retryable for BoxError {
    fn is_retryable(&self) -> bool {
        let says = |error: &(dyn std::error::Error + 'static)| match error.downcast_ref::<Error>() {
            Some(error) => Some(error.is_retryable()),
            None => error.is::<tower::timeout::error::Elapsed>().then_some(true),
        };
        causes(self).find_map(says).unwrap_or(false)
    }

    fn retry_after(&self) -> Option<Duration> {
        causes(self).find_map(|error| error.downcast_ref::<Error>()).and_then(Error::retry_after)
    }
}

fn causes(error: &BoxError) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(Some(&**error as &(dyn std::error::Error + 'static)), |error| error.source())
}

#[cfg(test)]
mod tests;
