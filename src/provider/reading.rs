//! One response, from bytes to events.

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Buf;
use http::{HeaderMap, header::CONTENT_TYPE};
use tower_genai_core::{BoxError, Error, ErrorKind, ModelEvent};

use crate::{
    protocols::{Decode, Framing},
    transport::{Clock, LineParser, SseParser},
};

/// A response with a status of 2xx, whose body is being read.
#[derive(Debug)]
pub(super) struct Reading<D, B> {
    /// Gone when the body ended.
    body: Option<Pin<Box<B>>>,
    form: Form,
    decoder: D,
    decoded: bool,
    events: VecDeque<ModelEvent>,
    failed: Option<Error>,
    clock: Clock,
}

#[derive(Debug)]
enum Form {
    Events(SseParser),
    Lines(LineParser),
    Whole { body: Vec<u8>, max: usize },
}

impl<D, B> Reading<D, B>
where
    D: Decode,
    B: http_body::Body,
    B::Error: Into<BoxError>,
{
    /// # Errors
    ///
    /// For a page of a website.
    pub(super) fn new(response: http::Response<B>, decoder: D, clock: Clock, max_event_bytes: usize) -> Result<Self, Error> {
        let form = form(response.headers(), decoder.framing(), max_event_bytes)?;
        let body = Some(Box::pin(response.into_body()));
        Ok(Self { body, form, decoder, decoded: false, events: VecDeque::new(), failed: None, clock })
    }

    /// The caller asks again after it was given something.
    pub(super) fn resume(&mut self) {
        self.clock.resume();
    }

    /// The next event. After an error, or the response, there are none.
    pub(super) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ModelEvent, Error>>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(error) = self.failed.take() {
                return Poll::Ready(Some(Err(error)));
            }
            if self.decoder.is_done() {
                return Poll::Ready(None);
            }
            // Events that come with an error are shown before it.
            self.failed = match self.decode() {
                Ok(true) => continue,
                Ok(false) => ready!(self.poll_body(cx)).err(),
                Err(error) => Some(error),
            };
        }
    }

    /// Decodes what is there; says whether there was anything.
    fn decode(&mut self) -> Result<bool, Error> {
        match &mut self.form {
            Form::Events(parser) => {
                let Some(event) = parser.next_event()? else { return Ok(false) };
                let decoded = push(&mut self.decoder, &event.data, &mut self.events);
                self.note();
                decoded
            }
            Form::Lines(parser) => {
                let Some(line) = parser.next_line()? else { return Ok(false) };
                let decoded = push(&mut self.decoder, &line, &mut self.events);
                self.note();
                decoded
            }
            Form::Whole { body, .. } => {
                if self.body.is_some() {
                    return Ok(false);
                }
                let body = mem::take(body);
                self.decoder.whole(&body, &mut self.events)?;
                if !self.decoder.is_done() {
                    self.decoder.end(&mut self.events)?;
                }
                Ok(true)
            }
        }
    }

    /// Notes whether there was content.
    fn note(&mut self) {
        if !self.events.is_empty() {
            self.decoded = true;
            self.clock.content();
        }
    }

    /// Reads on.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let Some(body) = &mut self.body else { return Poll::Ready(self.at_end()) };
        let frame = match body.as_mut().poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending => return self.clock.poll(cx).map(Err),
        };
        let Some(frame) = frame else {
            self.body = None;
            match &mut self.form {
                Form::Events(parser) => parser.finish(),
                Form::Lines(parser) => parser.finish(),
                Form::Whole { .. } => {}
            }
            return Poll::Ready(Ok(()));
        };
        let Ok(mut data) = frame.map_err(broken)?.into_data() else { return Poll::Ready(Ok(())) };
        if data.has_remaining() {
            self.clock.bytes();
        }
        while data.has_remaining() {
            let chunk = data.chunk();
            match &mut self.form {
                Form::Events(parser) => parser.push(chunk),
                Form::Lines(parser) => parser.push(chunk),
                Form::Whole { body, max } if body.len() + chunk.len() <= *max => body.extend_from_slice(chunk),
                Form::Whole { max, .. } => {
                    let text = format!("the response is larger than {max} bytes; raise max_event_bytes if that is legitimate");
                    return Poll::Ready(Err(Error::new(ErrorKind::Limit, text)));
                }
            }
            let read = chunk.len();
            data.advance(read);
        }
        Poll::Ready(Ok(()))
    }

    /// The body ended, and the response is not complete. What does not belong to an event may be an error without the framing, or, where
    /// there was no event at all, the response.
    fn at_end(&mut self) -> Result<(), Error> {
        if let Form::Events(parser) = &self.form {
            let text = parser.foreign().trim_ascii();
            if text.starts_with(b"{") || text.starts_with(b"[") {
                let mut events = VecDeque::new();
                match self.decoder.whole(text, &mut events) {
                    Err(error) if error.provider().is_some() => return Err(error),
                    Ok(()) if (self.decoder.is_done() || self.decoder.end(&mut events).is_ok()) && !self.decoded => {
                        self.events = events;
                        return Ok(());
                    }
                    _ => {}
                }
            }
        }
        self.decoder.end(&mut self.events)
    }
}

/// Decodes one event.
fn push(decoder: &mut impl Decode, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<bool, Error> {
    if !data.trim_ascii().is_empty() {
        decoder.push(data, events)?;
    }
    Ok(true)
}

fn form(headers: &HeaderMap, framing: Framing, max: usize) -> Result<Form, Error> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let content_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match &*content_type {
        "text/html" => {
            let text =
                "the endpoint answered with a web page instead of a response of a model; check the base URL and what stands in between";
            Err(Error::new(ErrorKind::Protocol, text).with_retryable(false))
        }
        json if json == "application/json" || json.ends_with("+json") => Ok(Form::Whole { body: Vec::new(), max }),
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Ok(Form::Lines(LineParser::new(max))),
        "text/event-stream" => Ok(Form::Events(SseParser::new(max))),
        _ => Ok(match framing {
            Framing::Events => Form::Events(SseParser::new(max)),
            Framing::Lines => Form::Lines(LineParser::new(max)),
        }),
    }
}

/// The error of a body: one of ours, tower's, or a connection that broke.
fn broken(error: impl Into<BoxError>) -> Error {
    let error = Error::from(error.into());
    if error.kind() != ErrorKind::Service {
        return error;
    }
    Error::new(ErrorKind::Connection, format!("the connection broke while the response was read: {error}")).with_source(error)
}
