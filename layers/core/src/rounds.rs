//! The machinery of a layer that calls the inner service again.
//!
//! A layer that answers part of a response itself (a search, a local tool) and asks the model to go on is a policy, [`Rounds`], in
//! a [`RoundsFuture`] and a [`RoundsStream`]. They follow the tower contract: the service that was ready is the one that
//! is called, readiness is polled again before each further call, and the finished inner stream is dropped before that, so that
//! what it holds (a permit) is free. Dropping the stream drops everything underneath.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{Error, ModelEvent, Response};

/// Work of a policy that has to wait.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

/// What happens between two calls of the inner service.
pub trait Rounds<Req> {
    /// What is waited for before the first call, where something is.
    type Prepared;

    /// Makes the first request of what was waited for.
    ///
    /// # Errors
    ///
    /// An error refuses the call.
    fn prepared(&mut self, prepared: Result<Self::Prepared, Error>) -> Result<Req, Error>;

    /// Sees each event of a round but its response, and may change it. Says whether the caller sees it too.
    ///
    /// The event stays where it is: a stream of events is too hot a path to move it about.
    fn event(&mut self, event: &mut ModelEvent) -> bool;

    /// Sees the response of a round and decides how to go on.
    ///
    /// # Errors
    ///
    /// An error ends the stream.
    fn response(&mut self, response: Response) -> Result<Step<Req>, Error>;

    /// Goes on with the work of [`Next::Work`]: what the caller sees of it, and at last how to go on. Whatever runs is held by the policy, so that
    /// it ends with the stream.
    ///
    /// # Errors
    ///
    /// An error ends the stream.
    fn poll_work(&mut self, _cx: &mut Context<'_>) -> Poll<Result<Worked<Req>, Error>> {
        Poll::Ready(Err(Error::invalid("a policy announced work and does none")))
    }
}

/// What came of work.
#[derive(Debug)]
pub enum Worked<Req> {
    /// Something that the caller sees.
    Event(ModelEvent),
    /// The work is done.
    Step(Step<Req>),
}

/// How to go on after a round.
pub struct Step<Req> {
    /// What the caller sees next.
    pub events: VecDeque<ModelEvent>,
    /// Work to be done once the caller has seen the events.
    pub settle: Option<BoxFuture<()>>,
    /// The next call, or the end.
    pub next: Next<Req>,
}

/// The next call, or the end.
#[derive(Debug)]
pub enum Next<Req> {
    /// Call the inner service with this request.
    Call(Req),
    /// End with this response.
    Done(Box<Response>),
    /// Work, and let that say how to go on.
    Work,
}

impl<Req> Step<Req> {
    /// End with a response.
    #[must_use]
    pub fn done(response: Response) -> Self {
        Self { events: VecDeque::new(), settle: None, next: Next::Done(Box::new(response)) }
    }
}

impl<Req> fmt::Debug for Step<Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("events", &self.events.len()).field("settles", &self.settle.is_some()).finish_non_exhaustive()
    }
}

pin_project! {
    /// The response future of a layer that calls again.
    pub struct RoundsFuture<S, Req, R>
    where
        S: Service<Req>,
        R: Rounds<Req>,
    {
        #[pin]
        state: FutureState<S, Req, R>,
    }
}

pin_project! {
    #[project = FutureProj]
    enum FutureState<S, Req, R>
    where
        S: Service<Req>,
        R: Rounds<Req>,
    {
        Refused { error: Option<S::Error> },
        Preparing { prepare: BoxFuture<R::Prepared>, rest: Option<(S, R)> },
        Calling { #[pin] call: S::Future, rest: Option<(S, R)> },
        Done,
    }
}

impl<S: Service<Req>, Req, R: Rounds<Req>> RoundsFuture<S, Req, R> {
    /// Fails without a call.
    pub fn refused(error: S::Error) -> Self {
        Self { state: FutureState::Refused { error: Some(error) } }
    }

    /// Calls a service that is ready.
    pub fn calling(mut service: S, request: Req, rounds: R) -> Self {
        let call = service.call(request);
        Self { state: FutureState::Calling { call, rest: Some((service, rounds)) } }
    }

    /// Waits, then calls a service that is ready. The reservation of that service is held meanwhile.
    pub fn preparing(service: S, prepare: BoxFuture<R::Prepared>, rounds: R) -> Self {
        Self { state: FutureState::Preparing { prepare, rest: Some((service, rounds)) } }
    }
}

impl<S, Req, R> Future for RoundsFuture<S, Req, R>
where
    S: Service<Req>,
    S::Error: From<Error>,
    R: Rounds<Req>,
{
    type Output = Result<RoundsStream<S, Req, R>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let next = match state.as_mut().project() {
                FutureProj::Refused { error } => match error.take() {
                    Some(error) => return Poll::Ready(Err(error)),
                    None => return Poll::Pending,
                },
                FutureProj::Preparing { prepare, rest } => {
                    let prepared = ready!(prepare.as_mut().poll(cx));
                    let Some((mut service, mut rounds)) = rest.take() else { return Poll::Pending };
                    let call = service.call(rounds.prepared(prepared)?);
                    FutureState::Calling { call, rest: Some((service, rounds)) }
                }
                FutureProj::Calling { call, rest } => {
                    let events = ready!(call.poll(cx));
                    let rest = rest.take();
                    state.set(FutureState::Done);
                    let Some((service, rounds)) = rest else { return Poll::Pending };
                    return Poll::Ready(events.map(|events| RoundsStream::new(events, service, rounds)));
                }
                FutureProj::Done => return Poll::Pending,
            };
            state.set(next);
        }
    }
}

impl<S: Service<Req>, Req, R: Rounds<Req>> fmt::Debug for RoundsFuture<S, Req, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoundsFuture").finish_non_exhaustive()
    }
}

pin_project! {
    /// The stream of a layer that calls again: the events of all rounds, then one response.
    pub struct RoundsStream<S, Req, R>
    where
        S: Service<Req>,
    {
        #[pin]
        state: StreamState<S::Response, S::Future, Req>,
        queue: VecDeque<ModelEvent>,
        service: S,
        rounds: R,
    }
}

pin_project! {
    #[project = StreamProj]
    enum StreamState<E, F, Req> {
        Streaming { #[pin] events: E },
        Settling { settle: BoxFuture<()>, next: Option<Next<Req>> },
        Between { next: Option<Next<Req>> },
        Working,
        Readying { request: Option<Req> },
        Calling { #[pin] call: F },
        Ended,
    }
}

impl<E, F, Req> StreamState<E, F, Req> {
    /// The state behind a step, whose events are put into the queue.
    fn after(step: Step<Req>, queue: &mut VecDeque<ModelEvent>) -> Self {
        *queue = step.events;
        let next = Some(step.next);
        match step.settle {
            Some(settle) => Self::Settling { settle, next },
            None => Self::Between { next },
        }
    }
}

impl<S: Service<Req>, Req, R> RoundsStream<S, Req, R> {
    fn new(events: S::Response, service: S, rounds: R) -> Self {
        Self { state: StreamState::Streaming { events }, queue: VecDeque::new(), service, rounds }
    }
}

impl<S, Req, R> Stream for RoundsStream<S, Req, R>
where
    S: Service<Req>,
    S::Response: Stream<Item = Result<ModelEvent, Error>>,
    R: Rounds<Req>,
    Error: From<S::Error>,
{
    type Item = Result<ModelEvent, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        macro_rules! end {
            ($error:expr) => {{
                let error: Error = $error;
                this.state.set(StreamState::Ended);
                return Poll::Ready(Some(Err(error)));
            }};
        }
        loop {
            if let Some(event) = this.queue.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            match this.state.as_mut().project() {
                StreamProj::Streaming { events } => {
                    let mut polled = events.poll_next(cx);
                    match &mut polled {
                        Poll::Ready(Some(Ok(ModelEvent::Response(response)))) => {
                            let response = std::mem::take(&mut **response);
                            // What the finished stream holds must be free before readiness is polled again.
                            this.state.set(StreamState::Ended);
                            match this.rounds.response(response) {
                                Ok(step) => {
                                    let state = StreamState::after(step, this.queue);
                                    this.state.set(state);
                                }
                                Err(error) => end!(error),
                            }
                        }
                        Poll::Ready(Some(Ok(event))) => {
                            if this.rounds.event(event) {
                                return polled;
                            }
                        }
                        Poll::Ready(Some(Err(_)) | None) => {
                            this.state.set(StreamState::Ended);
                            return polled;
                        }
                        Poll::Pending => return Poll::Pending,
                    }
                }
                StreamProj::Settling { settle, next } => {
                    let settled = ready!(settle.as_mut().poll(cx));
                    let next = next.take();
                    if let Err(error) = settled {
                        end!(error);
                    }
                    this.state.set(StreamState::Between { next });
                }
                StreamProj::Between { next } => match next.take() {
                    Some(Next::Call(request)) => this.state.set(StreamState::Readying { request: Some(request) }),
                    Some(Next::Done(response)) => {
                        this.state.set(StreamState::Ended);
                        return Poll::Ready(Some(Ok(ModelEvent::Response(response))));
                    }
                    Some(Next::Work) => this.state.set(StreamState::Working),
                    None => this.state.set(StreamState::Ended),
                },
                StreamProj::Working => match ready!(this.rounds.poll_work(cx)) {
                    Ok(Worked::Event(event)) => return Poll::Ready(Some(Ok(event))),
                    Ok(Worked::Step(step)) => {
                        let state = StreamState::after(step, this.queue);
                        this.state.set(state);
                    }
                    Err(error) => end!(error),
                },
                StreamProj::Readying { request } => {
                    if let Err(error) = ready!(this.service.poll_ready(cx)) {
                        end!(Error::from(error));
                    }
                    match request.take() {
                        Some(request) => {
                            let call = this.service.call(request);
                            this.state.set(StreamState::Calling { call });
                        }
                        None => this.state.set(StreamState::Ended),
                    }
                }
                StreamProj::Calling { call } => match ready!(call.poll(cx)) {
                    Ok(events) => this.state.set(StreamState::Streaming { events }),
                    Err(error) => end!(Error::from(error)),
                },
                StreamProj::Ended => return Poll::Ready(None),
            }
        }
    }
}

impl<S: Service<Req>, Req, R> fmt::Debug for RoundsStream<S, Req, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoundsStream").finish_non_exhaustive()
    }
}
