//! A small protocol and a scripted HTTP service, and what the flow makes of them.

mod flow;
#[cfg(all(feature = "anthropic", feature = "gemini", feature = "ollama", feature = "openai"))]
mod hosts;
mod resume;
mod secrets;
mod sockets;
mod spans;
mod waits;

use std::{
    collections::VecDeque,
    convert::Infallible,
    fmt,
    future::{Ready, ready},
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use serde_json::{Value, json};
use tower_genai_core::{
    AssistantMessage, AssistantPart, BoxError, DeferralMode, Delta, Error, ErrorKind, Message, ModelEvent, ModelRequest, ProviderError,
    Response, Stop, StopReason, ToolCall,
};
use tower_service::Service;

use super::Provider;
use crate::protocols::{Capabilities, Decode, Encoded, Paused, Protocol, Resume, Target};

/// Each event is `{"text":..}`, `{"message":..}`, `{"stop":..}`, `{"error":..}` or nothing that matters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain;

#[derive(Debug, Default)]
pub(super) struct PlainDecoder {
    so_far: String,
    calls: Vec<ToolCall>,
    usage: tower_genai_core::Usage,
    done: bool,
}

impl Protocol for Plain {
    const NAME: &'static str = "plain";
    type Context = String;
    type Decoder = PlainDecoder;

    fn path(&self, _: &Target) -> String {
        "/v1/plain".into()
    }

    fn headers(&self) -> HeaderMap {
        [("x-version", "1"), ("x-flags", "0")].map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).into_iter().collect()
    }

    fn deferral_modes(&self) -> &'static [DeferralMode] {
        &[DeferralMode::Reference, DeferralMode::Append]
    }

    fn encode(&self, request: &ModelRequest, target: &Target, _: &Capabilities) -> Result<Encoded<String>, Error> {
        if request.system.iter().any(|text| &**text == "unsendable") {
            return Err(Error::invalid("`unsendable` cannot be sent"));
        }
        let body = json!({
            "model": &*target.model,
            "messages": request.messages,
            "tools": request.tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>(),
            "resume": request.extensions.get::<Resume>().is_some(),
            "extra": request.extra_body.iter().map(|(name, value)| (name.to_string(), value.to_value())).collect::<serde_json::Map<_, _>>(),
        });
        let mut headers = HeaderMap::new();
        if !request.tools.is_empty() {
            headers.insert("x-flags", "tools".parse().unwrap());
        }
        Ok(Encoded { body: body.to_string().into(), headers, path: None, context: target.model.to_string() })
    }

    fn decoder(&self, _: String, _: &Target, paused: Option<Paused>) -> PlainDecoder {
        let paused = paused.unwrap_or_default();
        PlainDecoder { so_far: paused.message.text(), usage: paused.usage, ..PlainDecoder::default() }
    }

    fn error(&self, status: StatusCode, _: &HeaderMap, body: &[u8]) -> Error {
        let kind = match status.as_u16() {
            401 => ErrorKind::Authentication,
            429 => ErrorKind::RateLimit,
            500.. => ErrorKind::Overloaded,
            _ => ErrorKind::InvalidRequest,
        };
        Error::new(kind, String::from_utf8_lossy(body))
    }
}

impl Decode for PlainDecoder {
    fn push(&mut self, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        let event: Value = serde_json::from_str(data).map_err(|_| Error::new(ErrorKind::Protocol, "not JSON"))?;
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        if let Some(text) = text("text") {
            self.so_far.push_str(text);
            events.push_back(ModelEvent::Text(Delta::new(0, text)));
        }
        if let Some(name) = text("call") {
            self.calls.push(ToolCall::from_text("c", name, ""));
        }
        let parts = || {
            let text = AssistantPart::Text { text: self.so_far.as_str().into() };
            std::iter::once(text).chain(self.calls.iter().cloned().map(AssistantPart::ToolCall)).collect()
        };
        let message = Arc::new(Message::Assistant(AssistantMessage::new(parts())));
        if event.get("message").is_some() {
            events.push_back(ModelEvent::Message(message.clone()));
        }
        if let Some(stop) = text("stop") {
            let reason = if stop == "pause" { StopReason::Pause } else { StopReason::EndTurn };
            self.usage.output_tokens = Some(self.usage.output_tokens.unwrap_or_default() + 1);
            let mut response = Response::of(message, reason);
            response.usage = self.usage;
            response.stop = Stop::new(reason).native(stop);
            response.model = Some("plain-1".into());
            response.id = Some("r-1".into());
            events.push_back(ModelEvent::Response(Box::new(response)));
            self.done = true;
        }
        match text("error") {
            Some(text) => {
                let mut words = ProviderError::default();
                words.error_type = Some(text.into());
                Err(Error::new(ErrorKind::Overloaded, text).with_provider(words))
            }
            None => Ok(()),
        }
    }

    fn whole(&mut self, body: &[u8], events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        let body = std::str::from_utf8(body).map_err(|_| Error::new(ErrorKind::Protocol, "not UTF-8"))?;
        self.push(body, events)
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

/// What happens while a body is read.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Send(Bytes),
    Wait(Duration),
    Break,
    Hang,
}

pub(super) fn send(text: impl Into<String>) -> Step {
    Step::Send(Bytes::from(text.into()))
}

pub(super) fn wait(seconds: u64) -> Step {
    Step::Wait(Duration::from_secs(seconds))
}

/// A body of these events.
pub(super) fn events(events: &[&str]) -> Step {
    send(events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>())
}

pub(super) type ScriptedBody = StreamBody<Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>>>;

/// Counts the bodies that are alive.
struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) steps: Vec<Step>,
}

impl Answer {
    pub(super) fn stream(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::of(200, &[("content-type", "text/event-stream; charset=utf-8")], steps)
    }

    pub(super) fn of(status: u16, headers: &[(&'static str, &str)], steps: impl IntoIterator<Item = Step>) -> Self {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Self { status, headers, steps: steps.into_iter().collect() }
    }

    fn body(steps: Vec<Step>, alive: Alive) -> ScriptedBody {
        let steps = stream::unfold((VecDeque::from(steps), alive), |(mut steps, alive)| async move {
            loop {
                match steps.pop_front()? {
                    Step::Send(bytes) => return Some((Ok(Frame::data(bytes)), (steps, alive))),
                    Step::Wait(wait) => tokio::time::sleep(wait).await,
                    Step::Break => return Some((Err(io::Error::other("the cable was cut")), (steps, alive))),
                    Step::Hang => std::future::pending::<()>().await,
                }
            }
        });
        StreamBody::new(steps.boxed())
    }
}

/// An HTTP service that answers from a script and keeps what it was sent.
#[derive(Clone, Default)]
pub(super) struct Http {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    requests: Arc<Mutex<Vec<http::Request<Bytes>>>>,
    alive: Arc<AtomicUsize>,
}

impl Http {
    pub(super) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), ..Self::default() }
    }

    pub(super) fn requests(&self) -> Vec<http::Request<Bytes>> {
        self.requests.lock().unwrap().clone()
    }

    pub(super) fn sent(&self) -> Vec<Value> {
        self.requests().iter().map(|request| serde_json::from_slice(request.body()).unwrap()).collect()
    }

    pub(super) fn alive(&self) -> usize {
        self.alive.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}

impl Service<http::Request<Bytes>> for Http {
    type Response = http::Response<ScriptedBody>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Bytes>) -> Self::Future {
        self.requests.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front().expect("the script is over");
        self.alive.fetch_add(1, Ordering::SeqCst);
        let mut response = http::Response::builder().status(answer.status);
        for (name, value) in answer.headers {
            response = response.header(name, value);
        }
        ready(Ok(response.body(Answer::body(answer.steps, Alive(self.alive.clone()))).unwrap()))
    }
}

pub(super) const KEY: &str = "sk-very-secret";

pub(super) fn provider<H>(http: H) -> Provider<Plain, H> {
    Provider::for_protocol(Plain, Capabilities::anthropic(), "https://api.example.com", KEY, "model-1").unwrap().http(http)
}

pub(super) fn hello() -> ModelRequest {
    ModelRequest::new().user("hello")
}

/// Calls a provider once and reads to the end: each event in short, an error as `kind: text`.
pub(super) async fn run<H, B>(provider: &mut Provider<Plain, H>, request: ModelRequest) -> Vec<String>
where
    H: Service<http::Request<Bytes>, Response = http::Response<B>> + Clone,
    H::Error: Into<BoxError>,
    B: http_body::Body,
    B::Error: Into<BoxError>,
{
    std::future::poll_fn(|cx| provider.poll_ready(cx)).await.unwrap();
    match provider.call(request).await {
        Ok(events) => {
            let mut events = std::pin::pin!(events);
            let mut shown = Vec::new();
            while let Some(item) = events.next().await {
                shown.push(item.as_ref().map_or_else(error, event));
            }
            assert!(events.next().await.is_none(), "fused");
            shown
        }
        Err(refused) => vec![format!("refused {}", error(&refused))],
    }
}

pub(super) fn error(error: &Error) -> String {
    format!("{}: {error}", error.kind())
}

pub(super) fn event(event: &ModelEvent) -> String {
    match event {
        ModelEvent::Text(delta) => format!("+{}", delta.text),
        ModelEvent::Message(message) => match &**message {
            Message::Assistant(message) => format!("message {}", message.text()),
            other => format!("{other:?}"),
        },
        ModelEvent::Response(response) => {
            format!("response {} {:?} {:?}", response.text(), response.stop.reason, response.usage.output_tokens)
        }
        other => format!("{other:?}"),
    }
}
