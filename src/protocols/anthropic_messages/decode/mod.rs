//! Reading one response.

mod block;
mod event;
#[cfg(test)]
mod tests;
mod usage;

use std::{collections::VecDeque, fmt, sync::Arc};

use serde_json::value::RawValue;
use tower_genai_core::{
    AssistantMessage, AssistantPart, Delta, Error, ErrorKind, Hosted, HostedCall, HostedOutcome, Json, Message, ModelEvent, Replay,
    Response, Stop, StopReason, Usage,
};

use self::{
    block::{Kind, Open},
    event::{Block, DELTA_EVENT, DeltaEvent, Event, Head, StopDetails},
    usage::Counts,
};
use super::{AnthropicMessages, Context, error};
use crate::protocols::{
    Decode, Paused, Protocol, Target,
    members::{Members, Text},
};

/// Reads one response of the Messages API, streamed or whole.
pub struct Decoder {
    context: Context,
    target: Target,
    parts: Vec<AssistantPart>,
    /// The blocks as they go back to the provider; `None` where those before a pause are lost.
    items: Option<Vec<Json>>,
    open: Vec<Open>,
    counts: Counts,
    /// Tokens before a pause.
    before: Usage,
    stop: Stop,
    explanation: Option<Arc<str>>,
    model: Option<Arc<str>>,
    id: Option<Arc<str>>,
    container: Option<String>,
    done: bool,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("parts", &self.parts.len()).field("done", &self.done).finish_non_exhaustive()
    }
}

/// There is one message in a response.
const MESSAGE: u32 = 0;

impl Decoder {
    pub(super) fn new(mut context: Context, target: &Target, paused: Option<Paused>) -> Self {
        let (mut parts, mut items, mut before) = (Vec::new(), Some(Vec::new()), Usage::default());
        if let Some(paused) = paused {
            parts = paused.message.parts;
            before = paused.usage;
            if let Some(replay) = &paused.message.replay {
                context.prefix.clone_from(&replay.prefix);
            }
            items = paused.message.replay.map(|replay| replay.items);
        }
        Self {
            context,
            target: target.clone(),
            parts,
            items,
            open: Vec::new(),
            counts: Counts::default(),
            before,
            stop: Stop::default(),
            explanation: None,
            model: None,
            id: None,
            container: None,
            done: false,
        }
    }

    fn start(&mut self, index: u64, raw: &RawValue, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        let block: Block<'_> = serde_json::from_str(raw.get()).map_err(|error| misfit("content_block", &error))?;
        let open = Open::new(index, raw, block, &self.context);
        match &open.kind {
            Kind::Text => push_text(open.text(), ModelEvent::Text, events),
            Kind::Thinking => push_text(open.thinking(), ModelEvent::Reasoning, events),
            Kind::Call { id, name, is_search: false } => {
                events.push_back(ModelEvent::ToolCallStarted { message: MESSAGE, id: id.clone(), name: name.clone() });
            }
            Kind::Hosted { id, name, .. } => events.push_back(ModelEvent::HostedStarted(hosted(id, name))),
            _ => {}
        }
        self.open.push(open);
        Ok(())
    }

    fn delta(&mut self, index: Option<u64>, delta: &event::Delta<'_>, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        let kind = delta.kind.as_ref().map(|kind| &*kind.0).unwrap_or_default();
        if !is_known_delta(kind) {
            return Ok(());
        }
        let position = self.started(index)?;
        let piece = match kind {
            "text_delta" => &delta.text,
            "thinking_delta" => &delta.thinking,
            "input_json_delta" => &delta.partial_json,
            _ => &None,
        };
        if let Some(Text(text)) = piece {
            self.grow(position, kind, text, events);
        }
        let Some(open) = self.open.get_mut(position) else { return Ok(()) };
        if let ("signature_delta", Some(Text(signature))) = (kind, &delta.signature) {
            open.sign(signature);
        }
        if let ("citations_delta", Some(citation)) = (kind, delta.citation) {
            open.cite(citation);
        }
        if kind == "compaction_delta"
            && let Some(members) = Members::of(data).as_ref().and_then(|event| Members::of(event.get("delta")?))
        {
            open.set(&members);
        }
        Ok(())
    }

    /// Adds a piece of text to a block.
    fn grow(&mut self, position: usize, kind: &str, text: &str, events: &mut VecDeque<ModelEvent>) {
        let Some(open) = self.open.get_mut(position) else { return };
        match kind {
            "text_delta" => {
                open.push_text(text);
                if matches!(open.kind, Kind::Text) {
                    push_text(text, ModelEvent::Text, events);
                }
            }
            "thinking_delta" => {
                open.push_thinking(text);
                if matches!(open.kind, Kind::Thinking) {
                    push_text(text, ModelEvent::Reasoning, events);
                }
            }
            _ => {
                open.push_input(text);
                push_input(&open.kind, text, events);
            }
        }
    }

    /// Where the block of a delta is.
    fn started(&self, index: Option<u64>) -> Result<usize, Error> {
        self.position(index).ok_or_else(|| protocol("a delta for a content block that has not started"))
    }

    /// Where the open block of an index is; without an index, the latest.
    fn position(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(index) => self.open.iter().rposition(|open| open.index == index),
            None => self.open.len().checked_sub(1),
        }
    }

    fn close(&mut self, open: Open, events: &mut VecDeque<ModelEvent>) {
        if let Some(input) = open.late_input() {
            push_input(&open.kind, input, events);
        }
        if let Kind::HostedResult { id, call_type, outcome } = &open.kind {
            self.settle(id.clone(), call_type.clone(), outcome.clone(), events);
        }
        let (item, part) = open.finish();
        self.parts.extend(part);
        if let Some(items) = &mut self.items {
            items.push(item);
        }
    }

    /// Notes what came of a hosted call; a result whose call is not in this message stands for itself.
    fn settle(&mut self, id: Arc<str>, call_type: Arc<str>, outcome: HostedOutcome, events: &mut VecDeque<ModelEvent>) {
        let call = self.parts.iter_mut().rev().find_map(|part| match part {
            AssistantPart::Hosted(call) if call.id == id => Some(call),
            _ => None,
        });
        let hosted = match call {
            Some(call) => {
                call.outcome = outcome.clone();
                hosted(&call.id, &call.name)
            }
            None => {
                let name = call_type.strip_suffix("_tool_result").unwrap_or(&call_type);
                let mut call = HostedCall::new(id, name, call_type.clone());
                call.outcome = outcome.clone();
                let hosted = hosted(&call.id, &call.name);
                self.parts.push(AssistantPart::Hosted(call));
                hosted
            }
        };
        events.push_back(match outcome {
            HostedOutcome::Failed { code } => ModelEvent::HostedFailed { hosted, code },
            _ => ModelEvent::HostedCompleted(hosted),
        });
    }

    fn head(&mut self, head: &Head<'_>) {
        let text = |text: &Option<Text<'_>>| text.as_ref().map(|text| Arc::from(&*text.0));
        self.id = text(&head.id).or(self.id.take());
        self.model = text(&head.model).or(self.model.take());
        self.count(head.usage.as_ref());
        self.contain(head.container);
    }

    fn count(&mut self, counts: Option<&Counts>) {
        if let Some(counts) = counts {
            self.counts.update(counts);
        }
    }

    fn contain(&mut self, container: Option<&RawValue>) {
        if let Some(container) = container {
            self.container = Some(container.get().to_owned());
        }
    }

    fn stopped(&mut self, reason: Option<&Text<'_>>, sequence: Option<&Text<'_>>, details: Option<&RawValue>) {
        let Some(Text(native)) = reason else { return };
        self.stop = Stop::new(stop_reason(native)).native(&**native);
        let details: StopDetails<'_> = details.and_then(|details| serde_json::from_str(details.get()).ok()).unwrap_or_default();
        self.explanation = details.explanation.as_ref().map(|text| Arc::from(&*text.0));
        let detail = sequence.or(details.category.as_ref()).or(details.explanation.as_ref());
        self.stop.detail = detail.map(|text| Arc::from(&*text.0));
    }

    fn finish(&mut self, events: &mut VecDeque<ModelEvent>) {
        self.done = true;
        for open in std::mem::take(&mut self.open) {
            self.close(open, events);
        }
        if let Some(text) = self.explanation.take() {
            push_text(&text, ModelEvent::Refusal, events);
            self.parts.push(AssistantPart::Refusal { text });
        }
        if let (Some(items), Some(container)) = (&mut self.items, self.container.take()) {
            // No block, but it has to go back like one: see `encode::turns`.
            items.extend(Json::parse(&format!("{{\"container\":{container}}}")));
        }
        let replay = self.items.take().map(|items| {
            let mut replay = Replay::new(AnthropicMessages::NAME, self.target.host.clone(), self.target.model.clone(), items);
            replay.prefix = self.context.prefix.take();
            replay
        });
        let parts = std::mem::take(&mut self.parts);
        let mut message = AssistantMessage::new(parts);
        message.replay = replay;
        let message = Arc::new(Message::Assistant(message));
        let mut usage = self.before;
        usage.add(&self.counts.usage());
        let mut response = Response::of(message.clone(), self.stop.reason);
        response.stop = std::mem::take(&mut self.stop);
        response.usage = usage;
        response.model = self.model.take();
        response.id = self.id.take();
        events.push_back(ModelEvent::Message(message));
        events.push_back(ModelEvent::Response(Box::new(response)));
    }
}

impl Decode for Decoder {
    fn push(&mut self, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        let data = &*Json::well_formed(data);
        if data.starts_with(DELTA_EVENT)
            && let Ok(DeltaEvent { index, delta }) = serde_json::from_str(data)
            && let Some(text) = delta.text()
        {
            let position = self.started(index)?;
            self.grow(position, &delta.kind.0, text, events);
            return Ok(());
        }
        let event: Event<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(error) => return unreadable(data, &error),
        };
        match event.kind.as_ref().map(|kind| &*kind.0) {
            Some("content_block_delta") => {
                if let Some(delta) = &event.delta {
                    self.delta(event.index, delta, data, events)?;
                }
            }
            Some("content_block_start") => {
                if let Some(block) = event.content_block {
                    self.start(event.index.unwrap_or(self.open.len() as u64), block, events)?;
                }
            }
            Some("content_block_stop") => {
                if let Some(position) = self.position(event.index) {
                    let open = self.open.remove(position);
                    self.close(open, events);
                }
            }
            Some("message_start") => {
                if let Some(message) = &event.message {
                    self.head(message);
                }
            }
            Some("message_delta") => {
                if let Some(delta) = &event.delta {
                    self.stopped(delta.stop_reason.as_ref(), delta.stop_sequence.as_ref(), delta.stop_details);
                    self.contain(delta.container);
                }
                self.count(event.usage.as_deref());
            }
            Some("message_stop") => self.finish(events),
            Some("error") => return Err(error::of_stream(data)),
            None if event.error => return Err(error::of_stream(data)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &[u8], events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        let text = String::from_utf8_lossy(body);
        let text = Json::well_formed(&text);
        let message: Head<'_> = serde_json::from_str(&text).map_err(|error| misfit("the response", &error))?;
        if message.error && message.content.is_none() {
            return Err(error::of_stream(&text));
        }
        let Some(content) = &message.content else {
            return Err(protocol("the response is no message: it has no `content`"));
        };
        self.head(&message);
        for (index, block) in content.iter().enumerate() {
            self.start(index as u64, block, events)?;
            if let Some(open) = self.open.pop() {
                self.close(open, events);
            }
        }
        self.stopped(message.stop_reason.as_ref(), message.stop_sequence.as_ref(), message.stop_details);
        self.finish(events);
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

fn stop_reason(native: &str) -> StopReason {
    match native {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "pause_turn" => StopReason::Pause,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        "compaction" => StopReason::Compaction,
        _ => StopReason::Other,
    }
}

fn hosted(id: &Arc<str>, name: &Arc<str>) -> Hosted {
    Hosted::new(MESSAGE, id.clone(), name.clone())
}

fn push_text(text: &str, event: fn(Delta) -> ModelEvent, events: &mut VecDeque<ModelEvent>) {
    if !text.is_empty() {
        events.push_back(event(Delta::new(MESSAGE, text)));
    }
}

/// A search is answered by a layer, so its input is nobody else's business.
fn push_input(kind: &Kind, text: &str, events: &mut VecDeque<ModelEvent>) {
    match kind {
        _ if text.is_empty() => {}
        Kind::Call { id, is_search: false, .. } => {
            events.push_back(ModelEvent::ToolCallDelta { message: MESSAGE, id: id.clone(), arguments: text.to_owned() });
        }
        Kind::Hosted { id, name, .. } => {
            events.push_back(ModelEvent::HostedInput { hosted: hosted(id, name), input: text.to_owned() });
        }
        _ => {}
    }
}

fn is_known_delta(kind: &str) -> bool {
    matches!(kind, "text_delta" | "input_json_delta" | "thinking_delta" | "signature_delta" | "citations_delta" | "compaction_delta")
}

fn is_known_event(kind: &str) -> bool {
    matches!(
        kind,
        "message_start" | "content_block_start" | "content_block_delta" | "content_block_stop" | "message_delta" | "message_stop" | "error"
    )
}

/// What to make of an event that does not fit: unknown events and deltas may look like anything.
fn unreadable(data: &str, error: &serde_json::Error) -> Result<(), Error> {
    let Some(event) = Members::of(data) else { return Err(misfit("an event", error)) };
    let delta = event.get("delta").and_then(Members::of);
    match event.text("type").as_deref() {
        Some("error") => Err(error::of_stream(data)),
        Some("content_block_delta") if delta.and_then(|delta| delta.text("type")).is_some_and(|kind| !is_known_delta(&kind)) => Ok(()),
        Some(known) if is_known_event(known) => Err(misfit(known, error)),
        _ => Ok(()),
    }
}

/// An error that says where a text is wrong without repeating any of it.
fn misfit(what: &str, error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    let fault = if error.is_data() { "does not fit the protocol" } else { "is not valid JSON" };
    protocol(&format!("{what} {fault} at line {line}, column {column}"))
}

fn protocol(text: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("the provider broke the Messages protocol: {text}"))
}
