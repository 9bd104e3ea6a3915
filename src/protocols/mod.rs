//! Wire protocols: how a request is written and an answer is read.
//!
//! A protocol knows bytes and nothing else; [`Provider`](crate::provider::Provider) does the HTTP. Adding a protocol is one folder
//! here that implements [`Protocol`] and [`Decode`].

// The protocols share what they have in common; a build with some of them leaves some of that unused.
#![cfg_attr(not(all(feature = "anthropic", feature = "gemini", feature = "ollama", feature = "openai")), allow(dead_code, unreachable_pub))]

#[cfg(feature = "anthropic")]
pub mod anthropic_messages;
mod body;
mod capabilities;
#[cfg(feature = "openai")]
pub mod chat_completions;
mod context;
mod error_body;
mod functions;
#[cfg(feature = "gemini")]
pub mod gemini;
mod history;
mod lenient;
mod members;
mod models;
mod object;
#[cfg(feature = "ollama")]
pub mod ollama;
#[cfg(feature = "openai")]
pub mod openai_responses;
mod pieces;
#[cfg(test)]
mod samples;
mod schema;
mod wire_names;

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tower_genai_core::{AssistantMessage, DeferralMode, Error, ModelEvent, ModelRequest, Usage};

pub use capabilities::{CacheLifetime, CallIds, Capabilities, HostedSearch, MixedTools, ServerToolForm, ThinkingStyle};

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Target {
    /// Host and port of the endpoint: replay items go back only to the host that wrote them.
    pub host: Arc<str>,
    /// The model that is asked for.
    pub model: Arc<str>,
}

impl Target {
    /// A model at a host.
    pub fn new(host: impl Into<Arc<str>>, model: impl Into<Arc<str>>) -> Self {
        Self { host: host.into(), model: model.into() }
    }
}

/// A request as it goes out.
#[derive(Clone, Debug)]
pub struct Encoded<C> {
    /// The JSON body.
    pub body: Bytes,
    /// Headers that this request needs beside those of the protocol, for example beta flags.
    pub headers: HeaderMap,
    /// Where this request goes, if not to the path of the protocol.
    pub path: Option<String>,
    /// What the decoder has to know: names on the wire, the search tool, the hash of the prompt.
    pub context: C,
}

/// The answer so far of a response that the provider paused, to be continued by the next one.
#[derive(Clone, Debug, Default)]
pub struct Paused {
    /// What was written before the pause.
    pub message: AssistantMessage,
    /// The tokens so far.
    pub usage: Usage,
}

/// Says that the last message of a request is an answer that the provider paused and now goes on with.
///
/// A provider puts it into [`ModelRequest::extensions`] of the request with which it resumes.
#[derive(Clone, Copy, Debug)]
pub struct Resume;

/// A wire protocol.
pub trait Protocol {
    /// The name in programs and in [`Replay::protocol`](tower_genai_core::Replay::protocol).
    const NAME: &'static str;
    /// What the decoder has to know of the request.
    type Context: Clone + Send + Sync + 'static;
    /// Reads one response.
    type Decoder: Decode + Send + 'static;

    /// The path behind the base URL, with a leading slash.
    fn path(&self, target: &Target) -> String;

    /// Headers of every request.
    fn headers(&self) -> HeaderMap {
        HeaderMap::new()
    }

    /// The modes of deferral that the wire can carry.
    fn deferral_modes(&self) -> &'static [DeferralMode] {
        &[DeferralMode::Append]
    }

    /// Writes a request whose deferral is lowered to one of [`deferral_modes`](Self::deferral_modes).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) or [`TooLarge`](tower_genai_core::ErrorKind::TooLarge)
    /// where the endpoint would refuse it. The text names the tool, message or field.
    fn encode(&self, request: &ModelRequest, target: &Target, capabilities: &Capabilities) -> Result<Encoded<Self::Context>, Error>;

    /// A decoder for the response to a request, with what was written before a pause.
    fn decoder(&self, context: Self::Context, target: &Target, paused: Option<Paused>) -> Self::Decoder;

    /// The error that an HTTP status other than 2xx stands for. `retry-after` and its relatives are added by the provider.
    fn error(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error;
}

/// How the body of a streamed response falls into events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events.
    #[default]
    Events,
    /// One JSON document a line.
    Lines,
}

/// Reads one response. Bookkeeping gives no events; the last event is the [`ModelEvent::Response`].
pub trait Decode {
    /// How a stream is framed where its content type does not say it.
    fn framing(&self) -> Framing {
        Framing::Events
    }

    /// Reads the data of one event of a streamed response.
    ///
    /// # Errors
    ///
    /// The provider's error inside the stream, or [`ErrorKind::Protocol`](tower_genai_core::ErrorKind::Protocol) for what the protocol
    /// does not allow. Unknown events are no error.
    fn push(&mut self, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Error>;

    /// Reads a response that came as one JSON document.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    fn whole(&mut self, body: &[u8], events: &mut VecDeque<ModelEvent>) -> Result<(), Error>;

    /// The body ended well, and the response is not [done](Self::is_done).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Protocol`](tower_genai_core::ErrorKind::Protocol), unless the protocol has no terminal event and everything is there.
    fn end(&mut self, _events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        Err(unfinished())
    }

    /// Whether the response is complete: nothing of what follows matters.
    fn is_done(&self) -> bool;
}

/// The error of a body that ended early.
fn unfinished() -> Error {
    Error::new(
        tower_genai_core::ErrorKind::Protocol,
        "the response ended before its terminal event; what was complete before that has been passed on",
    )
}

/// How the ids begin that a decoder makes because the endpoint gave none.
const MADE_CALL: &str = "made_call_";

/// The id of a call that the endpoint gave none, by its position in the message.
fn made_call_id(position: usize) -> Arc<str> {
    format!("{MADE_CALL}{position}").into()
}

/// How the ids of hosted calls begin that a decoder makes because the endpoint gave none.
const MADE_HOSTED: &str = "executed_";

/// The id of a hosted call that the endpoint gave none, by its position in the message.
fn made_hosted_id(position: usize) -> Arc<str> {
    format!("{MADE_HOSTED}{position}").into()
}
