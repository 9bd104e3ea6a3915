//! One model call: a request, its response, and those that resume a paused one.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream;
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tower_genai_core::{BoxError, Error, ErrorKind, Message, ModelEvent, ModelRequest, Response, StopReason};
use tower_service::Service;

use super::{failure::Refusal, reading::Reading, settings::Settings};
use crate::{
    protocols::{Paused, Protocol, Resume},
    telemetry::CallSpan,
    transport::{Clock, RetryPolicy},
};

pin_project! {
    /// The response future of a [`Provider`](super::Provider). It resolves with the first event.
    #[must_use = "futures do nothing unless polled"]
    pub struct ProviderFuture<P, H, B>
    where
        P: Protocol,
        H: Service<http::Request<Bytes>>,
    {
        #[pin]
        state: State<H::Future, P::Decoder, B>,
        call: Option<Call<P, H>>,
        refused: Option<Error>,
    }
}

pin_project! {
    /// The events of a [`Provider`](super::Provider). They end with a response or an error.
    #[must_use = "streams do nothing unless polled"]
    pub struct ProviderStream<P, H, B>
    where
        P: Protocol,
        H: Service<http::Request<Bytes>>,
    {
        #[pin]
        state: State<H::Future, P::Decoder, B>,
        call: Call<P, H>,
        // Whether the caller was given something and has not asked again.
        idle: bool,
    }
}

pin_project! {
    /// Where the current request is.
    #[project = StateProj]
    #[project_replace = StateOwned]
    enum State<F, D, B> {
        Sending { #[pin] response: F, decoder: Option<D>, clock: Clock },
        Refused { refusal: Refusal<B> },
        Reading { reading: Reading<D, B> },
        Waiting { sleep: Pin<Box<Sleep>> },
        Readying,
        Ended,
    }
}

/// What stays the same while requests come and go.
struct Call<P, H> {
    settings: Arc<Settings<P>>,
    http: H,
    request: ModelRequest,
    /// What is to be shown next.
    ready: VecDeque<Result<ModelEvent, Error>>,
    /// A complete message that the response may turn out to have paused.
    held: Option<Arc<Message>>,
    /// The answer so far of a response that is being resumed.
    paused: Option<Paused>,
    resumes: u32,
    /// Decides about the request that resumes; of no use once that gave an event.
    retry: Option<RetryPolicy>,
    span: CallSpan,
}

/// What the event of a response means.
enum Next {
    ReadOn,
    Resume,
    End,
}

impl<P: Protocol, H, B> ProviderFuture<P, H, B>
where
    H: Service<http::Request<Bytes>>,
{
    pub(super) fn refused(error: Error) -> Self {
        Self { state: State::Ended, call: None, refused: Some(error) }
    }

    /// Calls an HTTP service that is ready.
    pub(super) fn calling(
        settings: Arc<Settings<P>>,
        mut http: H,
        request: ModelRequest,
        out: http::Request<Bytes>,
        decoder: P::Decoder,
        span: CallSpan,
    ) -> Self {
        let clock = Clock::start(settings.waits);
        let response = span.within(|| http.call(out));
        let call = Call { settings, http, request, ready: VecDeque::new(), held: None, paused: None, resumes: 0, retry: None, span };
        Self { state: State::Sending { response, decoder: Some(decoder), clock }, call: Some(call), refused: None }
    }
}

impl<P, H, B> Future for ProviderFuture<P, H, B>
where
    P: Protocol,
    H: Service<http::Request<Bytes>, Response = http::Response<B>>,
    H::Error: Into<BoxError>,
    B: http_body::Body,
    B::Error: Into<BoxError>,
{
    type Output = Result<ProviderStream<P, H, B>, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(error) = this.refused.take() {
            return Poll::Ready(Err(error));
        }
        let Some(call) = this.call else { return Poll::Pending };
        let first = ready!(call.poll_event(this.state.as_mut(), cx));
        // With an event in hand the HTTP service's future is done with, so that the rest may move.
        let state = match this.state.project_replace(State::Ended) {
            StateOwned::Reading { reading } => State::Reading { reading },
            _ => State::Ended,
        };
        let Some(mut call) = this.call.take() else { return Poll::Pending };
        Poll::Ready(match first {
            Some(Ok(event)) => {
                call.ready.push_front(Ok(event));
                Ok(ProviderStream { state, call, idle: true })
            }
            Some(Err(error)) => Err(error),
            None => Err(Error::new(ErrorKind::Protocol, "the response is complete and holds nothing")),
        })
    }
}

impl<P, H, B> Stream for ProviderStream<P, H, B>
where
    P: Protocol,
    H: Service<http::Request<Bytes>, Response = http::Response<B>>,
    H::Error: Into<BoxError>,
    B: http_body::Body,
    B::Error: Into<BoxError>,
{
    type Item = Result<ModelEvent, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        if mem::take(this.idle)
            && let StateProj::Reading { reading } = this.state.as_mut().project()
        {
            reading.resume();
        }
        let item = ready!(this.call.poll_event(this.state, cx));
        *this.idle = true;
        Poll::Ready(item)
    }
}

impl<P: Protocol, H> Call<P, H> {
    /// The next thing to show.
    fn poll_event<B>(
        &mut self,
        state: Pin<&mut State<H::Future, P::Decoder, B>>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<ModelEvent, Error>>>
    where
        H: Service<http::Request<Bytes>, Response = http::Response<B>>,
        H::Error: Into<BoxError>,
        B: http_body::Body,
        B::Error: Into<BoxError>,
    {
        let span = self.span.clone();
        span.within(|| self.poll_state(state, cx))
    }

    fn poll_state<B>(
        &mut self,
        mut state: Pin<&mut State<H::Future, P::Decoder, B>>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<ModelEvent, Error>>>
    where
        H: Service<http::Request<Bytes>, Response = http::Response<B>>,
        H::Error: Into<BoxError>,
        B: http_body::Body,
        B::Error: Into<BoxError>,
    {
        loop {
            if let Some(item) = self.ready.pop_front() {
                match &item {
                    Ok(ModelEvent::Response(response)) => self.span.succeed(response),
                    Err(error) => self.span.fail(error),
                    Ok(_) => {}
                }
                return Poll::Ready(Some(item));
            }
            let next = match state.as_mut().project() {
                StateProj::Sending { response, decoder, clock } => {
                    let response = match response.poll(cx) {
                        Poll::Ready(response) => response.map_err(|error| Error::from(error.into())),
                        Poll::Pending => Err(ready!(clock.poll(cx))),
                    };
                    let clock = mem::replace(clock, Clock::start(self.settings.waits));
                    response.and_then(|response| self.receive(response, decoder.take(), clock))
                }
                StateProj::Refused { refusal } => {
                    let Settings { protocol, redactor, .. } = &*self.settings;
                    Err(ready!(refusal.poll(protocol, redactor, cx)))
                }
                StateProj::Reading { reading } => match ready!(reading.poll_event(cx)) {
                    Some(Ok(event)) => match self.take(event) {
                        Next::ReadOn => continue,
                        Next::Resume => Ok(State::Readying),
                        Next::End => Ok(State::Ended),
                    },
                    Some(Err(error)) => Err(error),
                    None => {
                        self.release();
                        Ok(State::Ended)
                    }
                },
                StateProj::Waiting { sleep } => {
                    ready!(sleep.as_mut().poll(cx));
                    Ok(State::Readying)
                }
                StateProj::Readying => match ready!(self.http.poll_ready(cx)) {
                    Ok(()) => self.send(),
                    Err(error) => {
                        // A service that failed to get ready is not to be asked again.
                        self.retry = None;
                        Err(Error::from(error.into()))
                    }
                },
                StateProj::Ended => return Poll::Ready(None),
            };
            // What the finished response holds is free before readiness is polled again.
            state.set(State::Ended);
            state.set(next.unwrap_or_else(|error| self.fail(error)));
        }
    }

    /// Looks at the head of a response.
    fn receive<F, B>(
        &self,
        response: http::Response<B>,
        decoder: Option<P::Decoder>,
        clock: Clock,
    ) -> Result<State<F, P::Decoder, B>, Error>
    where
        B: http_body::Body,
        B::Error: Into<BoxError>,
    {
        if !response.status().is_success() {
            return Ok(State::Refused { refusal: Refusal::new(response, clock) });
        }
        let Some(decoder) = decoder else { return Ok(State::Ended) };
        Reading::new(response, decoder, clock, self.settings.max_event_bytes).map(|reading| State::Reading { reading })
    }

    /// Decides what is shown of an event.
    fn take(&mut self, event: ModelEvent) -> Next {
        // The answer goes on: what fails from here on is not retried.
        if let Some(retry) = self.retry.take() {
            retry.succeeded();
        }
        let resumable = self.resumes < self.settings.capabilities.max_resumes;
        match event {
            ModelEvent::Message(message) => {
                self.release();
                self.paused = None;
                self.held = Some(message);
                if !resumable {
                    self.release();
                }
                Next::ReadOn
            }
            ModelEvent::Response(response) => match paused(&response).filter(|_| resumable) {
                Some(paused) => {
                    self.held = None;
                    self.paused = Some(paused);
                    self.resumes += 1;
                    self.retry = Some(self.settings.resume_retry.clone());
                    tracing::debug!(resumes = self.resumes, "resuming a paused response");
                    Next::Resume
                }
                None => {
                    self.release();
                    self.ready.push_back(Ok(ModelEvent::Response(response)));
                    Next::End
                }
            },
            event => {
                self.release();
                self.ready.push_back(Ok(event));
                Next::ReadOn
            }
        }
    }

    /// Shows a message that was held back.
    fn release(&mut self) {
        if let Some(message) = self.held.take() {
            self.ready.push_back(Ok(ModelEvent::Message(message)));
        }
    }

    /// Sends the request that resumes, through the HTTP service that is ready.
    fn send<B>(&mut self) -> Result<State<H::Future, P::Decoder, B>, Error>
    where
        H: Service<http::Request<Bytes>, Response = http::Response<B>>,
    {
        let mut request = self.request.clone();
        if let Some(paused) = &self.paused {
            request.messages.push(paused.message.clone());
            request.extensions.insert(Resume);
        }
        let (out, context, target) = self.settings.encode(&request)?;
        let decoder = self.settings.protocol.decoder(context, &target, self.paused.clone());
        let clock = Clock::start(self.settings.waits);
        Ok(State::Sending { response: self.http.call(out), decoder: Some(decoder), clock })
    }

    /// Tries a request that resumes again, or gives up: then what was complete is shown before the error.
    fn fail<F, D, B>(&mut self, error: Error) -> State<F, D, B> {
        let error = self.settings.redactor.error(error);
        if let Some(wait) = self.retry.as_mut().and_then(|retry| retry.after(&error)) {
            tracing::debug!(kind = error.kind().as_str(), ?wait, "sending a request that resumes a paused response again");
            return State::Waiting { sleep: Box::pin(sleep(wait)) };
        }
        match self.paused.take() {
            Some(paused) if self.held.is_none() => self.ready.push_back(Ok(ModelEvent::Message(paused.message.into()))),
            _ => self.release(),
        }
        self.ready.push_back(Err(error));
        State::Ended
    }
}

/// The answer so far of a paused response. One that waits for answers of the caller is the caller's.
fn paused(response: &Response) -> Option<Paused> {
    let message = response.assistant().filter(|_| response.stop.reason == StopReason::Pause)?;
    let waits = message.tool_calls().next().is_some() || message.searches().next().is_some();
    (!waits).then(|| Paused { message: message.clone(), usage: response.usage })
}

impl<P: Protocol, H: Service<http::Request<Bytes>>, B> fmt::Debug for ProviderFuture<P, H, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderFuture").finish_non_exhaustive()
    }
}

impl<P: Protocol, H: Service<http::Request<Bytes>>, B> fmt::Debug for ProviderStream<P, H, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderStream").finish_non_exhaustive()
    }
}
