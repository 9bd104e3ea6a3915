//! Reads an answer, streamed or whole.

mod content;
mod grounding;
mod part;
mod partial;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, fmt, sync::Arc};

use serde::Deserialize;
use serde_json::value::RawValue;
use tower_genai_core::{AssistantMessage, Error, ErrorKind, Json, Message, ModelEvent, Replay, Response, Stop, StopReason, Usage};

use super::{Context, NAME, error};
use crate::protocols::{
    Decode, Target,
    lenient::{Many, Number, Object as Lenient, Text, read},
    unfinished,
};
use content::Content;
use grounding::Grounding;

/// Reads one response.
///
/// Each event is a response of its own, and the answer is all of them together. A finish reason does not end it: more may follow, so it is complete
/// when the body ends. The first candidate counts. Arguments of a call that come value by value are put together.
pub struct Decoder {
    context: Context,
    target: Target,
    id: Option<Arc<str>>,
    model: Option<Arc<str>>,
    content: Content,
    grounding: Grounding,
    usage: Usage,
    stop: Option<Finish>,
    done: bool,
}

/// Why it ended, as the provider says it.
#[derive(Debug)]
struct Finish {
    reason: Box<str>,
    message: Option<Arc<str>>,
    is_blocked: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Many<Lenient<Candidate<'a>>>,
    #[serde(borrow)]
    prompt_feedback: Lenient<Feedback<'a>>,
    #[serde(borrow)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    model_version: Text<'a>,
    #[serde(borrow)]
    response_id: Text<'a>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Candidate<'a> {
    index: Number,
    #[serde(borrow)]
    content: Lenient<Parts<'a>>,
    #[serde(borrow)]
    finish_reason: Text<'a>,
    #[serde(borrow)]
    finish_message: Text<'a>,
    #[serde(borrow)]
    grounding_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    url_context_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    citation_metadata: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Parts<'a> {
    #[serde(borrow)]
    parts: Many<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Feedback<'a> {
    #[serde(borrow)]
    block_reason: Text<'a>,
    #[serde(borrow)]
    block_reason_message: Text<'a>,
}

impl Decoder {
    pub(super) fn new(context: Context, target: &Target) -> Self {
        Self {
            context,
            target: target.clone(),
            id: None,
            model: None,
            content: Content::default(),
            grounding: Grounding::default(),
            usage: Usage::default(),
            stop: None,
            done: false,
        }
    }

    /// Reads a response of a stream, or a whole one. `data` is where it stands. Says whether it holds anything that is known.
    fn chunk(&mut self, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<bool, Error> {
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| not_json(&error))?;
        if chunk.error.is_some_and(|error| !matches!(error.get(), "null" | "{}")) {
            return Err(error::of_event(data));
        }
        if self.id.is_none() {
            self.id = chunk.response_id.some().map(Into::into);
        }
        if self.model.is_none() {
            self.model = chunk.model_version.some().map(Into::into);
        }
        note_usage(&mut self.usage, chunk.usage_metadata);
        let feedback = &chunk.prompt_feedback.0;
        if let Some(reason) = feedback.block_reason.some() {
            let message = feedback.block_reason_message.some().map(Into::into);
            self.stop = Some(Finish { reason: reason.into(), message, is_blocked: true });
        }
        if let Some(Lenient(candidate)) = chunk.candidates.0.iter().find(|candidate| candidate.0.index.0.unwrap_or(0) == 0) {
            self.candidate(candidate, events);
        }
        Ok(self.stop.is_some() || !chunk.candidates.0.is_empty())
    }

    fn candidate(&mut self, candidate: &Candidate<'_>, events: &mut VecDeque<ModelEvent>) {
        for part in &candidate.content.0.parts.0 {
            self.content.part(part, &self.context, events);
        }
        self.grounding.metadata(candidate.grounding_metadata);
        self.grounding.pages(candidate.url_context_metadata);
        self.grounding.citations(candidate.citation_metadata);
        if let Some(reason) = candidate.finish_reason.some() {
            let message = candidate.finish_message.some().map(Into::into);
            self.stop = Some(Finish { reason: reason.into(), message, is_blocked: false });
        }
    }

    fn finish(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        let finish = self.stop.take().ok_or_else(unfinished)?;
        self.done = true;
        self.content.close(events);
        for call in self.grounding.calls() {
            self.content.ran(call, events);
        }
        let mut items = self.content.items();
        items.extend(self.grounding.item());
        let mut message = AssistantMessage::new(self.content.parts(&self.context));
        message.replay = Some(Replay::new(NAME, self.target.host.clone(), self.target.model.clone(), items));
        let stop = finish.into_stop(&message);
        let message = Arc::new(Message::Assistant(message));
        events.push_back(ModelEvent::Message(message.clone()));
        let mut response = Response::of(message, stop.reason);
        response.stop = stop;
        response.usage = self.usage;
        response.id = self.id.take();
        response.model = self.model.take();
        events.push_back(ModelEvent::Response(Box::new(response)));
        Ok(())
    }
}

impl Decode for Decoder {
    fn push(&mut self, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        if self.done || data.trim_ascii().is_empty() {
            return Ok(());
        }
        // Gateways end the stream as OpenAI does.
        if data.trim_ascii_start().starts_with("[DONE]") {
            return self.finish(events);
        }
        let data = Json::well_formed(data);
        each(&data, |document| self.chunk(document, events).map(|_| ()))
    }

    fn whole(&mut self, body: &[u8], events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        let text = String::from_utf8_lossy(body);
        let text = Json::well_formed(&text);
        let mut known = false;
        each(&text, |document| {
            known |= self.chunk(document, events)?;
            Ok(())
        })?;
        if !known {
            return Err(Error::new(ErrorKind::Protocol, "the body is JSON and no response: it has no candidates"));
        }
        self.finish(events)
    }

    fn end(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        self.finish(events)
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("done", &self.done).finish_non_exhaustive()
    }
}

impl Finish {
    fn into_stop(self, message: &AssistantMessage) -> Stop {
        let waits = message.tool_calls().next().is_some() || message.searches().next().is_some();
        let reason = match &*self.reason {
            _ if self.is_blocked => StopReason::ContentFilter,
            "MAX_TOKENS" => StopReason::MaxTokens,
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => StopReason::ContentFilter,
            // `STOP` is the reason of a turn with calls too.
            _ if waits => StopReason::ToolUse,
            "STOP" => StopReason::EndTurn,
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => StopReason::InvalidCall,
            _ => StopReason::Other,
        };
        let prefix = if self.is_blocked { "blocked:" } else { "" };
        let stop = Stop::new(reason).native(format!("{prefix}{}", self.reason));
        match self.message {
            Some(message) => stop.detail(message),
            None => stop,
        }
    }
}

/// Reads a document, or each of a list of them.
fn each(text: &str, mut read: impl FnMut(&str) -> Result<(), Error>) -> Result<(), Error> {
    if !text.trim_ascii_start().starts_with('[') {
        return read(text);
    }
    let list: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    list.into_iter().try_for_each(|document| read(document.get()))
}

/// The text says where, and nothing of what stood there.
fn not_json(error: &serde_json::Error) -> Error {
    let column = error.column();
    Error::new(ErrorKind::Protocol, format!("the response is not the JSON that the protocol asks for, at column {column}"))
}

/// Takes the counters that are there; every event repeats them.
fn note_usage(usage: &mut Usage, raw: Option<&RawValue>) {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Counters {
        prompt_token_count: Number,
        cached_content_token_count: Number,
        candidates_token_count: Number,
        thoughts_token_count: Number,
    }
    let counters: Counters = read(raw);
    let set = |counter: &mut Option<u64>, value: Option<u64>| *counter = value.or(*counter);
    set(&mut usage.input_tokens, counters.prompt_token_count.0);
    set(&mut usage.cache_read_tokens, counters.cached_content_token_count.0);
    set(&mut usage.reasoning_tokens, counters.thoughts_token_count.0);
    // A counter that is zero is left out, and thoughts are counted apart.
    let written = [counters.candidates_token_count.0, counters.thoughts_token_count.0];
    if written.iter().any(Option::is_some) {
        usage.output_tokens = Some(written.iter().flatten().fold(0, |sum, count| sum.saturating_add(*count)));
    }
}
