//! Reads an answer, streamed or whole.

mod parts;
mod slot;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, fmt, sync::Arc};

use serde::Deserialize;
use serde_json::value::RawValue;
use tower_genai_core::{
    AssistantMessage, AssistantPart, Error, ErrorKind, Json, Message, ModelEvent, Replay, Response, Stop, StopReason, Usage, Warning,
};

use super::{Context, NAME, item::Item};
use crate::protocols::{
    Decode, Target, error_body as error,
    lenient::{Number, Text, read},
};
use slot::{Channel, Slot};

/// Reads one response.
///
/// What counts is each item as [`response.output_item.done`] brings it: that is kept for replay, in the order of `output_index`, and the
/// parts of the message are made of it. Deltas are passed on as they come. The output of the terminal event fills in only what no item
/// brought, since some hosts send it empty and others send nothing else.
///
/// [`response.output_item.done`]: https://platform.openai.com/docs/api-reference/responses-streaming
pub struct Decoder {
    context: Context,
    target: Target,
    slots: Vec<Slot>,
    id: Option<Arc<str>>,
    model: Option<Arc<str>>,
    done: bool,
}

/// An event of a stream; only what is looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    output_index: Number,
    #[serde(borrow)]
    item_id: Text<'a>,
    #[serde(borrow)]
    delta: Text<'a>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The response object of bookkeeping and terminal events, and of a body that is no stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    incomplete_details: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_usage: Option<&'a RawValue>,
    #[serde(borrow)]
    input_transformations: Option<&'a RawValue>,
}

impl Decoder {
    pub(super) fn new(context: Context, target: &Target) -> Self {
        Self { context, target: target.clone(), slots: Vec::new(), id: None, model: None, done: false }
    }

    fn begin(&mut self, body: &Body<'_>) {
        if let Some(id) = body.id.some() {
            self.id = Some(id.into());
        }
        if let Some(model) = body.model.some() {
            self.model = Some(model.into());
        }
    }

    fn delta(&mut self, channel: Channel, event: &Event<'_>, events: &mut VecDeque<ModelEvent>) {
        if event.delta.is_empty() {
            return;
        }
        let position = self.current(event.output_index, &event.item_id);
        if let Some(slot) = self.slots.get_mut(position) {
            slot.delta(channel, &event.delta, events);
        }
    }

    /// The slot that a delta is about: the latest of its index, and among those the one with its id.
    fn current(&mut self, index: Number, id: &str) -> usize {
        let found = match index.0 {
            Some(index) => {
                let same = |slot: &Slot| slot.index == index && slot.is_called(id);
                self.slots.iter().rposition(same).or_else(|| self.slots.iter().rposition(|slot| slot.index == index))
            }
            None if id.is_empty() => self.slots.len().checked_sub(1),
            None => self.slots.iter().rposition(|slot| slot.is_called(id)),
        };
        found.unwrap_or_else(|| self.new_slot(index))
    }

    /// A new slot. Without an index it stands behind all others.
    fn new_slot(&mut self, index: Number) -> usize {
        let behind = || self.slots.iter().map(|slot| slot.index).max().map_or(0, |last| last.saturating_add(1));
        self.slots.push(Slot::new(index.0.unwrap_or_else(behind)));
        self.slots.len() - 1
    }

    fn item_added(&mut self, index: Number, raw: &RawValue, events: &mut VecDeque<ModelEvent>) {
        let item = Item::read(raw.get());
        // A used index with another id is a new item: some hosts number every item 0.
        let reusable = |slot: &Slot| Some(slot.index) == index.0 && !slot.is_finished() && slot.is_called(&item.id);
        let position = self.slots.iter().rposition(reusable).unwrap_or_else(|| self.new_slot(index));
        if let Some(slot) = self.slots.get_mut(position) {
            slot.open(&item, &self.context, events);
        }
    }

    fn item_done(&mut self, index: Number, raw: &RawValue, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        let item = Item::read(raw.get());
        let open = |slot: &Slot| !slot.is_finished() && index.0.is_none_or(|index| slot.index == index);
        let same = self.slots.iter().rposition(|slot| open(slot) && slot.is_called(&item.id));
        // Some gateways give an item another id when it is done; then the index says which one it is.
        let by_index = || index.0.and_then(|_| self.slots.iter().rposition(open));
        let position = same.or_else(by_index).unwrap_or_else(|| self.new_slot(index));
        if let Some(slot) = self.slots.get_mut(position) {
            slot.close(raw, &item, &self.context, events)?;
        }
        if &*item.kind == "program_output" {
            for slot in &mut self.slots {
                slot.program_returned(&item.call_id, events);
            }
        }
        Ok(())
    }

    /// Takes from the terminal output what no item brought.
    fn fill(&mut self, output: &[&RawValue], events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        if self.slots.iter().filter(|slot| slot.is_finished()).count() >= output.len() {
            return Ok(());
        }
        for (position, raw) in (0u64..).zip(output) {
            let item = Item::read(raw.get());
            if !self.slots.iter().any(|slot| slot.is_finished() && slot.holds(position, &item)) {
                self.item_done(Number(Some(position)), raw, events)?;
            }
        }
        Ok(())
    }

    /// Ends the response. `word` is the status that the event names, for bodies that name none.
    fn finish(&mut self, body: &Body<'_>, word: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        self.done = true;
        self.begin(body);
        let output: Vec<&RawValue> = read(body.output);
        self.fill(&output, events)?;
        let status = match &*body.status {
            // Gateways repeat what the response was when it began.
            "" | "queued" | "in_progress" if !word.is_empty() => word,
            status => status,
        };
        if status == "failed" {
            return Err(error::of_response(body.error));
        }
        self.slots.sort_by_key(|slot| slot.index);
        let whole = self.slots.iter().all(Slot::is_finished);
        let mut message = AssistantMessage::default();
        let mut items = Vec::with_capacity(self.slots.len());
        for slot in self.slots.drain(..) {
            let (parts, item) = slot.into_parts();
            message.parts.extend(parts);
            items.extend(item);
        }
        // An item that was never finished cannot be sent back as the provider wrote it, and the others refer to it.
        if whole && !items.is_empty() {
            message.replay = Some(Replay::new(NAME, self.target.host.clone(), self.target.model.clone(), items));
        }
        events.extend(withheld(body).map(ModelEvent::Warning));
        let stop = stop(status, body, &message);
        let message = Arc::new(Message::Assistant(message));
        events.push_back(ModelEvent::Message(message.clone()));
        let mut response = Response::of(message, stop.reason);
        response.stop = stop;
        response.usage = usage(body);
        response.id = self.id.take();
        response.model = self.model.take();
        events.push_back(ModelEvent::Response(Box::new(response)));
        Ok(())
    }
}

impl Decode for Decoder {
    fn push(&mut self, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        if self.done || data.trim_ascii_start().starts_with("[DONE]") || data.trim_ascii().is_empty() {
            return Ok(());
        }
        let data = &*Json::well_formed(data);
        let event: Event<'_> = serde_json::from_str(data).map_err(|error| not_json("an event", &error))?;
        match &*event.kind {
            "response.output_text.delta" => self.delta(Channel::Text, &event, events),
            "response.refusal.delta" => self.delta(Channel::Refusal, &event, events),
            "response.reasoning_summary_text.delta" => self.delta(Channel::Summary, &event, events),
            "response.reasoning_text.delta" => self.delta(Channel::Reasoning, &event, events),
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" | "response.mcp_call_arguments.delta" => {
                self.delta(Channel::Arguments, &event, events);
            }
            "response.output_item.added" => {
                if let Some(item) = event.item {
                    self.item_added(event.output_index, item, events);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.item_done(event.output_index, item, events)?;
                }
            }
            "response.created" | "response.queued" | "response.in_progress" => self.begin(&read(event.response)),
            "response.completed" | "response.incomplete" | "response.failed" => {
                let word = event.kind.strip_prefix("response.").unwrap_or_default().to_owned();
                self.finish(&read(event.response), &word, events)?;
            }
            "error" => return Err(error::of_event(data)),
            // A gateway that failed under way, in the form of the body it would have sent instead.
            "" if event.error.is_some() => return Err(error::of_event(data)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &[u8], events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        let text = String::from_utf8_lossy(body);
        let text = Json::well_formed(&text);
        let body: Body<'_> = serde_json::from_str(&text).map_err(|error| not_json("the response", &error))?;
        if body.output.is_none() && body.status.is_empty() {
            return Err(if body.error.is_some() {
                error::of_event(&text)
            } else {
                Error::new(ErrorKind::Protocol, "the body is JSON and no response: it has neither a status nor an output")
            });
        }
        self.finish(&body, "", events)
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("items", &self.slots.len()).field("done", &self.done).finish_non_exhaustive()
    }
}

/// The text says where, and nothing of what stood there.
fn not_json(what: &str, error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Protocol, format!("{what} is not the JSON that the protocol asks for, at column {}", error.column()))
}

/// Reasoning that was sent back and that the provider kept from the model. It calls that no error.
fn withheld(body: &Body<'_>) -> Option<Warning> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Transformation<'a> {
        #[serde(borrow)]
        reason: Text<'a>,
    }
    let all: Vec<&RawValue> = read(body.input_transformations);
    let first: Transformation<'_> = read(Some(*all.first()?));
    let reason: String = first.reason.chars().take(64).collect();
    let text = format!("the provider left {} items of the dialogue out of the prompt, the first because of `{reason}`", all.len());
    Some(Warning::new("input_withheld", text))
}

fn stop(status: &str, body: &Body<'_>, message: &AssistantMessage) -> Stop {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Details<'a> {
        #[serde(borrow)]
        reason: Text<'a>,
    }
    let waits = message.parts.iter().any(|part| matches!(part, AssistantPart::ToolCall(_) | AssistantPart::Search(_)));
    let refused = message.parts.iter().any(|part| matches!(part, AssistantPart::Refusal { .. }));
    let only_compacted = !message.parts.is_empty() && message.parts.iter().all(|part| matches!(part, AssistantPart::Compaction { .. }));
    let details: Details<'_> = read(body.incomplete_details);
    let reason = match (status, &*details.reason) {
        ("incomplete", "max_output_tokens") => StopReason::MaxTokens,
        ("incomplete", "content_filter") => StopReason::ContentFilter,
        ("incomplete", _) => StopReason::Other,
        ("completed" | "", _) if waits => StopReason::ToolUse,
        ("completed" | "", _) if refused => StopReason::Refusal,
        ("completed" | "", _) if only_compacted => StopReason::Compaction,
        ("completed" | "", _) => StopReason::EndTurn,
        _ => StopReason::Other,
    };
    let stop = Stop::new(reason);
    match (status, details.reason.some()) {
        ("", _) => stop,
        ("incomplete", Some(detail)) => stop.native(format!("incomplete:{detail}")),
        (status, _) => stop.native(status),
    }
}

fn usage(body: &Body<'_>) -> Usage {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Counters<'a> {
        input_tokens: Number,
        output_tokens: Number,
        #[serde(borrow)]
        input_tokens_details: Option<&'a RawValue>,
        #[serde(borrow)]
        output_tokens_details: Option<&'a RawValue>,
        num_server_side_tools_used: Number,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Details {
        cached_tokens: Number,
        cache_write_tokens: Number,
        reasoning_tokens: Number,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Tools<'a> {
        #[serde(borrow)]
        web_search: Option<&'a RawValue>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Requests {
        num_requests: Number,
    }
    let counters: Counters<'_> = read(body.usage);
    let input: Details = read(counters.input_tokens_details);
    let output: Details = read(counters.output_tokens_details);
    let searches: Requests = read(read::<Tools<'_>>(body.tool_usage).web_search);
    let mut usage = Usage::default();
    usage.input_tokens = counters.input_tokens.0;
    usage.cache_read_tokens = input.cached_tokens.0;
    usage.cache_write_tokens = input.cache_write_tokens.0;
    usage.output_tokens = counters.output_tokens.0;
    usage.reasoning_tokens = output.reasoning_tokens.0;
    usage.server_tool_uses = counters.num_server_side_tools_used.0.or(searches.num_requests.0);
    usage
}
