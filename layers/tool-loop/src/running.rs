//! The calls of one turn while they run.

use std::{
    any::Any,
    collections::VecDeque,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use futures_util::{FutureExt, stream::FuturesUnordered};
use tower::{ServiceExt, timeout::error::Elapsed};
use tower_genai_core::{BoxError, Error, Message, ModelEvent, ToolCall, ToolResult, ToolRun};
use tower_service::Service;

use crate::{EndRun, Steering, ToolOutput};

/// Why a call failed, as one word for programs.
pub(crate) mod reason {
    pub(crate) const ERROR: &str = "error";
    pub(crate) const PANIC: &str = "panic";
    pub(crate) const TIMEOUT: &str = "timeout";
    pub(crate) const INVALID_ARGUMENTS: &str = "invalid_arguments";
    pub(crate) const UNKNOWN_TOOL: &str = "unknown_tool";
    pub(crate) const SKIPPED: &str = "skipped";
    pub(crate) const LIMIT: &str = "limit";
    pub(crate) const ENDED: &str = "ended";
}

/// What became of a call: its result, and why it failed if it did.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) result: ToolResult,
    pub(crate) failed: Option<&'static str>,
}

impl Outcome {
    pub(crate) fn failed(call: &ToolCall, reason: &'static str, text: impl Into<Arc<str>>) -> Self {
        Self { result: ToolResult::error(call, text), failed: Some(reason) }
    }
}

type Run = Pin<Box<dyn Future<Output = (usize, Result<Outcome, Error>)> + Send>>;

/// A call before it runs.
#[derive(Debug)]
pub(crate) enum Planned {
    /// It runs beside others.
    Parallel(ToolCall),
    /// It runs alone, after the others.
    Serial(ToolCall),
    /// It is answered without being run.
    Answered(ToolCall, Outcome),
}

/// The calls of one turn. Their results come in the order of the calls.
pub(crate) struct Batch {
    calls: Vec<ToolCall>,
    results: Vec<Option<Arc<Message>>>,
    /// How many results the caller has seen.
    shown: usize,
    running: FuturesUnordered<Run>,
    parallel: VecDeque<usize>,
    serial: VecDeque<usize>,
    events: VecDeque<ModelEvent>,
    concurrency: usize,
    timeout: Option<Duration>,
    steering: Option<Steering>,
    /// Why the run ends with this batch.
    ended: Option<Error>,
}

impl Batch {
    pub(crate) fn new(planned: Vec<Planned>, concurrency: usize, timeout: Option<Duration>, steering: Option<Steering>) -> Self {
        let mut batch = Self {
            calls: Vec::new(),
            results: Vec::new(),
            shown: 0,
            running: FuturesUnordered::new(),
            parallel: VecDeque::new(),
            serial: VecDeque::new(),
            events: VecDeque::new(),
            concurrency,
            timeout,
            steering,
            ended: None,
        };
        for (at, planned) in planned.into_iter().enumerate() {
            batch.results.push(None);
            match planned {
                Planned::Parallel(call) => {
                    batch.calls.push(call);
                    batch.parallel.push_back(at);
                }
                Planned::Serial(call) => {
                    batch.calls.push(call);
                    batch.serial.push_back(at);
                }
                Planned::Answered(call, outcome) => {
                    batch.calls.push(call);
                    batch.settle(at, outcome);
                }
            }
        }
        batch
    }

    /// The next event; nothing when every call has its result and the caller has seen it.
    pub(crate) fn poll_event<T>(&mut self, tools: &T, cx: &mut Context<'_>) -> Poll<Option<ModelEvent>>
    where
        T: Service<ToolCall, Response = ToolOutput> + Clone + Send + 'static,
        T::Error: Into<BoxError>,
        T::Future: Send,
    {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Poll::Ready(Some(event));
            }
            self.start(tools);
            if !self.events.is_empty() {
                continue;
            }
            match ready!(Pin::new(&mut self.running).poll_next(cx)) {
                Some((at, Ok(outcome))) => self.settle(at, outcome),
                Some((_, Err(error))) => self.end(error),
                None => return Poll::Ready(None),
            }
        }
    }

    /// All results, in the order of the calls, and the error that ends the run.
    pub(crate) fn into_results(self) -> (impl Iterator<Item = Arc<Message>>, Option<Error>) {
        (self.results.into_iter().flatten(), self.ended)
    }

    /// Ends the run: what runs is dropped, and every call without a result is given a failed one.
    fn end(&mut self, error: Error) {
        self.running = FuturesUnordered::new();
        self.parallel.clear();
        self.serial.clear();
        for at in 0..self.calls.len() {
            if let Some((call, None)) = self.calls.get(at).zip(self.results.get(at)) {
                self.settle(at, Outcome::failed(call, reason::ENDED, "This call has no result: the run was ended."));
            }
        }
        self.ended = Some(error);
    }

    /// Starts what can run now.
    fn start<T>(&mut self, tools: &T)
    where
        T: Service<ToolCall, Response = ToolOutput> + Clone + Send + 'static,
        T::Error: Into<BoxError>,
        T::Future: Send,
    {
        while self.running.len() < self.concurrency
            && let Some(at) = self.parallel.pop_front()
        {
            self.run(at, tools);
        }
        if !self.running.is_empty() || self.serial.is_empty() {
            return;
        }
        if self.steering.as_ref().is_some_and(|steering| steering.waiting() > 0) {
            for at in std::mem::take(&mut self.serial) {
                if let Some(call) = self.calls.get(at) {
                    let text = "This call was skipped: the user said something in the meantime. Call again if it is still wanted.";
                    self.settle(at, Outcome::failed(call, reason::SKIPPED, text));
                }
            }
            return;
        }
        if let Some(at) = self.serial.pop_front() {
            self.run(at, tools);
        }
    }

    fn run<T>(&mut self, at: usize, tools: &T)
    where
        T: Service<ToolCall, Response = ToolOutput> + Clone + Send + 'static,
        T::Error: Into<BoxError>,
        T::Future: Send,
    {
        let Some(call) = self.calls.get(at).cloned() else { return };
        self.events.push_back(ModelEvent::ToolStarted(ToolRun::of(&call)));
        let (tools, timeout) = (tools.clone(), self.timeout);
        self.running.push(Box::pin(async move {
            let answered = AssertUnwindSafe(tools.oneshot(call.clone())).catch_unwind();
            let answered = match timeout {
                Some(wait) => match tokio::time::timeout(wait, answered).await {
                    Ok(answered) => answered,
                    Err(_) => return (at, Ok(Outcome::failed(&call, reason::TIMEOUT, TIMED_OUT))),
                },
                None => answered.await,
            };
            (at, outcome(&call, answered.map(|output| output.map_err(Into::into))))
        }));
    }

    /// Keeps a result, and shows those that are next in the order of the calls.
    fn settle(&mut self, at: usize, outcome: Outcome) {
        let Some(call) = self.calls.get(at) else { return };
        let run = ToolRun::of(call);
        self.events.push_back(match outcome.failed {
            None => ModelEvent::ToolCompleted(run),
            Some(reason) => ModelEvent::ToolFailed { run, reason: reason.into() },
        });
        if let Some(slot) = self.results.get_mut(at) {
            *slot = Some(Arc::new(Message::Tool(outcome.result)));
        }
        while let Some(Some(message)) = self.results.get(self.shown) {
            self.events.push_back(ModelEvent::Message(message.clone()));
            self.shown += 1;
        }
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("calls", &self.calls.len()).field("running", &self.running.len()).finish_non_exhaustive()
    }
}

const TIMED_OUT: &str = "The tool did not answer in time.";

/// What the model is told about an error of a tool, and why the call failed.
pub(crate) fn failure(error: &BoxError) -> (&'static str, String) {
    if error.is::<Elapsed>() { (reason::TIMEOUT, TIMED_OUT.to_owned()) } else { (reason::ERROR, format!("The tool failed: {error}")) }
}

/// What a tool gave, or how it failed; an error where it ends the run.
fn outcome(call: &ToolCall, answered: Result<Result<ToolOutput, BoxError>, Box<dyn Any + Send>>) -> Result<Outcome, Error> {
    Ok(match answered {
        Ok(Ok(output)) => {
            let failed = output.is_error.then_some(reason::ERROR);
            Outcome { result: output.into_result(call), failed }
        }
        Ok(Err(error)) => {
            let error = match error.downcast::<EndRun>() {
                Ok(end) => return Err(end.into_inner()),
                Err(error) => error,
            };
            let (reason, text) = failure(&error);
            Outcome::failed(call, reason, text)
        }
        // What it panicked with is for whoever wrote it, and stays with the panic hook.
        Err(_) => Outcome::failed(call, reason::PANIC, "The tool failed: it broke down while it ran."),
    })
}
