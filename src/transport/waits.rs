//! How long a provider waits for what.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};
use tower_genai_core::{Error, ErrorKind};

/// How long a [`Provider`](crate::provider::Provider) waits for what. `None` waits for ever; there is no limit on the total.
///
/// Time in which the caller does not ask the stream for its next event does not count. How long connecting may take is a matter of the
/// HTTP service: see [`Reqwest::connect_timeout`](super::Reqwest::connect_timeout).
///
/// ```
/// use std::time::Duration;
/// use tower_genai::transport::Waits;
///
/// let mut waits = Waits::default();
/// assert_eq!(waits.silence, Some(Duration::from_secs(60)));
/// waits.content = None;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waits {
    /// From sending the request to the first byte of the response's body (300 s).
    pub first_byte: Option<Duration>,
    /// From one byte to the next, whatever the bytes are (60 s).
    pub silence: Option<Duration>,
    /// From one [`ModelEvent`](tower_genai_core::ModelEvent) to the next, and from the first byte to the first of them (300 s). Pings, comments
    /// and bookkeeping do not count.
    pub content: Option<Duration>,
}

impl Default for Waits {
    fn default() -> Self {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        Self { first_byte: seconds(300), silence: seconds(60), content: seconds(300) }
    }
}

impl Waits {
    /// Waits for ever. Then a provider needs no timer of tokio.
    #[must_use]
    pub const fn unlimited() -> Self {
        Self { first_byte: None, silence: None, content: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    FirstByte,
    Response,
}

/// Measures the waits of one response with one timer, which is moved only when it fires.
#[derive(Debug)]
pub(crate) struct Clock {
    waits: Waits,
    phase: Phase,
    bytes: Instant,
    content: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Clock {
    pub(crate) fn start(waits: Waits) -> Self {
        let now = Instant::now();
        Self { waits, phase: Phase::FirstByte, bytes: now, content: now, timer: None }
    }

    /// Bytes arrived.
    pub(crate) fn bytes(&mut self) {
        self.bytes = Instant::now();
        if self.phase == Phase::FirstByte {
            self.phase = Phase::Response;
            self.content = self.bytes;
        }
    }

    /// An event came of them.
    pub(crate) fn content(&mut self) {
        self.content = self.bytes;
    }

    /// The caller asks again after it was given something.
    pub(crate) fn resume(&mut self) {
        self.bytes = Instant::now();
        self.content = self.bytes;
    }

    /// Completes with the error of the wait that is over. To be asked when there is nothing else to do.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        loop {
            let Some((deadline, wait, text)) = self.deadline() else { return Poll::Pending };
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            if timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            }
            ready!(timer.as_mut().poll(cx));
            if timer.deadline() >= deadline {
                return Poll::Ready(Error::new(ErrorKind::Timeout, format!("{text} {wait:?}; see `Waits`")));
            }
            timer.as_mut().reset(deadline);
        }
    }

    /// The nearest end of a wait, the wait, and what is said when it is over.
    fn deadline(&self) -> Option<(Instant, Duration, &'static str)> {
        let after = |from: Instant, wait: Option<Duration>, text| {
            let wait = wait?;
            Some((from.checked_add(wait)?, wait, text))
        };
        if self.phase == Phase::FirstByte {
            return after(self.bytes, self.waits.first_byte, "no byte of a response arrived within");
        }
        let silence = after(self.bytes, self.waits.silence, "in the middle of a response nothing arrived for");
        let content = after(self.content, self.waits.content, "in the middle of a response nothing but signs of life arrived for");
        silence.into_iter().chain(content).min_by_key(|(deadline, ..)| *deadline)
    }
}
