//! Reads an answer, streamed or whole.

mod calls;
mod chunk;
mod reasoning;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, fmt, sync::Arc};

use serde::Deserialize;
use serde_json::value::RawValue;
use tower_genai_core::{
    AssistantMessage, AssistantPart, Delta as TextDelta, Error, ErrorKind, Hosted, HostedCall, HostedOutcome, Image, Json, Message,
    ModelEvent, Replay, Response, Stop, StopReason, Usage, Warning,
};

use super::{Context, NAME};
use crate::protocols::{
    Decode, Target, error_body,
    lenient::{Number, Object as Lenient, Text, read},
    made_hosted_id,
    object::Object,
    pieces::data_url,
    unfinished,
};
use calls::Calls;
use chunk::{Choice, Chunk, Delta, Executed, Piece};
use reasoning::Reasoning;

/// Reads one response.
///
/// A stream ends with `[DONE]`, or, with hosts that do not send it, behind a finish reason: usage may come after that, and more text with
/// some. The first choice counts. Of what a host says twice, as reasoning in two spellings or arguments that are repeated at the end, one counts.
pub struct Decoder {
    context: Context,
    target: Target,
    id: Option<Arc<str>>,
    model: Option<Arc<str>>,
    text: String,
    refusal: String,
    reasoning: Reasoning,
    calls: Calls,
    executed: Vec<Run>,
    images: Vec<Image>,
    /// Members of the message that are kept for whoever wants to read them.
    kept: Vec<(&'static str, Json)>,
    usage: Usage,
    finish: Option<Arc<str>>,
    failed: Option<Error>,
    done: bool,
}

/// A tool that the host ran.
struct Run {
    index: Option<u64>,
    hosted: Hosted,
    kind: Arc<str>,
    input: Option<Json>,
    outcome: HostedOutcome,
}

impl Decoder {
    pub(super) fn new(context: Context, target: &Target) -> Self {
        Self {
            context,
            target: target.clone(),
            id: None,
            model: None,
            text: String::new(),
            refusal: String::new(),
            reasoning: Reasoning::default(),
            calls: Calls::default(),
            executed: Vec::new(),
            images: Vec::new(),
            kept: Vec::new(),
            usage: Usage::default(),
            finish: None,
            failed: None,
            done: false,
        }
    }

    fn chunk(&mut self, data: &str, chunk: &Chunk<'_>, is_whole: bool, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        if self.id.is_none() {
            self.id = chunk.id.some().map(Into::into);
        }
        if self.model.is_none() {
            self.model = chunk.model.some().map(Into::into);
        }
        for usage in [chunk.usage, chunk.x_groq.0.usage] {
            note_usage(&mut self.usage, usage);
        }
        self.keep("citations", chunk.citations);
        self.keep("search_results", chunk.search_results);
        let first = |choice: &&Lenient<Choice<'_>>| choice.0.index.0.unwrap_or(0) == 0;
        if let Some(Lenient(choice)) = chunk.choices.0.iter().find(first) {
            let [first, second] = if is_whole { [&choice.message, &choice.delta] } else { [&choice.delta, &choice.message] };
            if let Some(Lenient(delta)) = first.as_ref().or(second.as_ref()) {
                self.delta(delta, events);
            }
            if let Some(reason) = &choice.finish_reason.0
                && self.finish.as_deref() != Some(&**reason)
            {
                self.finish = Some((**reason).into());
            }
        }
        let failed = [chunk.error, chunk.x_groq.0.error].into_iter().flatten().any(is_error);
        if !failed {
            return Ok(());
        }
        let error = error_body::of_event(chunk.x_groq.0.error.filter(|error| is_error(error)).map_or(data, RawValue::get));
        if self.finish.as_deref().is_none_or(|finish| finish == "error") {
            return Err(error);
        }
        // A message that had ended is complete, whatever went wrong behind it; usage may still come.
        events.push_back(ModelEvent::Warning(Warning::new("host_error", error.to_string())));
        self.failed = Some(error);
        Ok(())
    }

    /// Ends the response, with the error of a host that failed behind its last word.
    fn conclude(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        self.finish(events);
        self.failed.take().map_or(Ok(()), Err)
    }

    fn delta(&mut self, delta: &Delta<'_>, events: &mut VecDeque<ModelEvent>) {
        let thought = self.reasoning.delta(delta);
        push(&thought, ModelEvent::Reasoning, events);
        for Lenient(executed) in &delta.executed_tools.0 {
            self.executed(executed, events);
        }
        if let Some(content) = delta.content {
            self.content(content, events);
        }
        self.refusal.push_str(&delta.refusal);
        push(&delta.refusal, ModelEvent::Refusal, events);
        for Lenient(picture) in &delta.images.0 {
            self.images.extend(image(&picture.image_url.0.url));
        }
        for Lenient(call) in &delta.tool_calls.0 {
            self.calls.delta(call, &self.context, events);
        }
        self.calls.legacy(&delta.function_call.0, &self.context, events);
        self.keep("annotations", delta.annotations);
        self.keep("audio", delta.audio);
    }

    fn content(&mut self, raw: &RawValue, events: &mut VecDeque<ModelEvent>) {
        let json = raw.get();
        if json.starts_with('"') {
            let text: Text<'_> = read(Some(raw));
            self.text.push_str(&text);
            push(&text, ModelEvent::Text, events);
        } else if json.starts_with('[') {
            let pieces: Vec<Lenient<Piece<'_>>> = read(Some(raw));
            for Lenient(piece) in pieces {
                for Lenient(thought) in &piece.thinking.0 {
                    self.reasoning.thought(&thought.text);
                    push(&thought.text, ModelEvent::Reasoning, events);
                }
                if matches!(&*piece.kind, "" | "text" | "output_text") {
                    self.text.push_str(&piece.text);
                    push(&piece.text, ModelEvent::Text, events);
                }
            }
        } else if json.starts_with('{') {
            // Cloudflare answers with the object that a schema asked for.
            self.keep("content_object", Some(raw));
        }
    }

    fn executed(&mut self, executed: &Executed<'_>, events: &mut VecDeque<ModelEvent>) {
        let is_finished = executed.output.is_some_and(|output| output.get() != "null");
        // Until it has run, Groq calls it a function, and what it is `name`.
        let kind = if &*executed.kind == "function" && !executed.name.is_empty() { &executed.name } else { &executed.kind };
        let open = |run: &Run| run.index == executed.index.0 && run.outcome == HostedOutcome::Pending;
        let position = self.executed.iter().position(open).unwrap_or(self.executed.len());
        if position == self.executed.len() {
            let hosted = Hosted::new(0, made_hosted_id(position), &**kind);
            events.push_back(ModelEvent::HostedStarted(hosted.clone()));
            let input = Json::parse(&executed.arguments).ok();
            if !executed.arguments.is_empty() {
                events.push_back(ModelEvent::HostedInput { hosted: hosted.clone(), input: executed.arguments.to_string() });
            }
            let index = executed.index.0;
            self.executed.push(Run { index, hosted, kind: (**kind).into(), input, outcome: HostedOutcome::Pending });
        }
        if let Some(run) = self.executed.get_mut(position).filter(|_| is_finished) {
            run.kind = (**kind).into();
            run.outcome = HostedOutcome::Completed;
            events.push_back(ModelEvent::HostedCompleted(run.hosted.clone()));
        }
    }

    /// Keeps a member of the message as it came last.
    fn keep(&mut self, key: &'static str, value: Option<&RawValue>) {
        let Some(value) = value.filter(|value| !matches!(value.get(), "null" | "[]" | "{}")) else { return };
        let value = Json::from(value);
        match self.kept.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => self.kept.push((key, value)),
        }
    }

    fn finish(&mut self, events: &mut VecDeque<ModelEvent>) {
        self.done = true;
        let item = self.item();
        let mut message = AssistantMessage::default();
        let text = |text: &mut String| Some(std::mem::take(text)).filter(|text| !text.is_empty());
        message.parts.extend(text(&mut self.reasoning.text).map(|text| AssistantPart::Reasoning { text: text.into() }));
        message.parts.extend(self.executed.drain(..).map(|run| {
            let mut call = HostedCall::new(run.hosted.id, run.kind, "executed_tools");
            (call.input, call.outcome) = (run.input, run.outcome);
            AssistantPart::Hosted(call)
        }));
        message.parts.extend(text(&mut self.text).map(|text| AssistantPart::Text { text: text.into() }));
        message.parts.extend(text(&mut self.refusal).map(|text| AssistantPart::Refusal { text: text.into() }));
        message.parts.extend(self.images.drain(..).map(AssistantPart::Image));
        message.parts.extend(self.calls.parts(&self.context));
        message.replay = Some(Replay::new(NAME, self.target.host.clone(), self.target.model.clone(), vec![item]));
        let stop = stop(self.finish.take(), &message);
        let message = Arc::new(Message::Assistant(message));
        events.push_back(ModelEvent::Message(message.clone()));
        let mut response = Response::of(message, stop.reason);
        response.stop = stop;
        response.usage = self.usage;
        response.id = self.id.take();
        response.model = self.model.take();
        events.push_back(ModelEvent::Response(Box::new(response)));
    }

    /// The message as the API takes it back, with what else the host said about it.
    fn item(&self) -> Json {
        let mut out = String::with_capacity(self.text.len() + self.reasoning.text.len() + 256);
        let mut object = Object::new(&mut out);
        object.string("role", "assistant");
        object.string("content", &self.text);
        if !self.refusal.is_empty() {
            object.string("refusal", &self.refusal);
        }
        self.reasoning.write(&mut object);
        if !self.calls.is_empty() {
            self.calls.write(object.key("tool_calls"));
        }
        for (key, value) in &self.kept {
            object.raw(key, value.as_str());
        }
        object.end();
        Json::from_written(&out)
    }
}

impl Decode for Decoder {
    fn push(&mut self, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        if self.done || data.trim_ascii().is_empty() {
            return Ok(());
        }
        if data.trim_ascii_start().starts_with("[DONE]") {
            return self.conclude(events);
        }
        let data = &*Json::well_formed(data);
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| not_json("an event", &error))?;
        self.chunk(data, &chunk, false, events)
    }

    fn whole(&mut self, body: &[u8], events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        let text = String::from_utf8_lossy(body);
        let text = Json::well_formed(&text);
        let chunk: Chunk<'_> = serde_json::from_str(&text).map_err(|error| not_json("the response", &error))?;
        if chunk.choices.0.is_empty() {
            return Err(if chunk.error.is_some_and(is_error) || is_message(&text) {
                error_body::of_event(&text)
            } else {
                Error::new(ErrorKind::Protocol, "the body is JSON and no response: it has no choices")
            });
        }
        self.chunk(&text, &chunk, true, events)?;
        self.conclude(events)
    }

    fn end(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        if self.finish.is_none() {
            return Err(unfinished());
        }
        self.conclude(events)
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

fn push(text: &str, event: fn(TextDelta) -> ModelEvent, events: &mut VecDeque<ModelEvent>) {
    if !text.is_empty() {
        events.push_back(event(TextDelta::new(0, text)));
    }
}

/// Whether an `error` says anything: some hosts send an empty one with every chunk.
fn is_error(raw: &RawValue) -> bool {
    !matches!(raw.get(), "null" | "{}" | "\"\"" | "false" | "[]")
}

/// Whether a body is an error object that stands alone (Mistral).
fn is_message(body: &str) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Alone<'a> {
        #[serde(borrow)]
        object: Text<'a>,
    }
    serde_json::from_str::<Alone<'_>>(body).is_ok_and(|alone| &*alone.object == "error")
}

/// An image as a data URL, or where it is to be had.
fn image(url: &str) -> Option<Image> {
    if url.is_empty() {
        return None;
    }
    Some(match data_url(url) {
        Some((media_type, data)) => Image::Base64 { media_type: media_type.into(), data: data.into() },
        None => Image::Url { url: url.into(), media_type: None },
    })
}

/// The text says where, and nothing of what stood there.
fn not_json(what: &str, error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Protocol, format!("{what} is not the JSON that the protocol asks for, at column {}", error.column()))
}

fn stop(finish: Option<Arc<str>>, message: &AssistantMessage) -> Stop {
    let waits = message.tool_calls().next().is_some() || message.searches().next().is_some();
    let refused = message.parts.iter().any(|part| matches!(part, AssistantPart::Refusal { .. }));
    let reason = match finish.as_deref().unwrap_or_default() {
        "length" | "max_tokens" => StopReason::MaxTokens,
        "content_filter" => StopReason::ContentFilter,
        "model_context_window_exceeded" | "model_length" => StopReason::ContextWindow,
        // Hosts say `stop` with calls too.
        _ if waits => StopReason::ToolUse,
        _ if refused => StopReason::Refusal,
        "" | "stop" | "eos" | "end_turn" | "tool_calls" | "tool_call" | "function_call" | "tool_use" => StopReason::EndTurn,
        _ => StopReason::Other,
    };
    let stop = Stop::new(reason);
    match finish {
        Some(native) => stop.native(native),
        None => stop,
    }
}

/// Takes the counters that are there; hosts send them once, or with every chunk.
fn note_usage(usage: &mut Usage, raw: Option<&RawValue>) {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Counters {
        prompt_tokens: Number,
        completion_tokens: Number,
        prompt_cache_hit_tokens: Number,
        prompt_tokens_details: Lenient<Details>,
        completion_tokens_details: Lenient<Details>,
        server_tool_use: Lenient<ServerTools>,
        server_tool_use_details: Lenient<ServerTools>,
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
    struct ServerTools {
        tool_calls_executed: Number,
        web_search_requests: Number,
    }
    let Some(raw) = raw.filter(|raw| raw.get().len() > "null".len()) else { return };
    let counters: Counters = read(Some(raw));
    let tools = [&counters.server_tool_use_details.0, &counters.server_tool_use.0];
    let used = tools.into_iter().find_map(|tools| tools.tool_calls_executed.0.or(tools.web_search_requests.0));
    let set = |counter: &mut Option<u64>, value: Option<u64>| *counter = value.or(*counter);
    set(&mut usage.input_tokens, counters.prompt_tokens.0);
    set(&mut usage.output_tokens, counters.completion_tokens.0);
    set(&mut usage.cache_read_tokens, counters.prompt_tokens_details.0.cached_tokens.0.or(counters.prompt_cache_hit_tokens.0));
    set(&mut usage.cache_write_tokens, counters.prompt_tokens_details.0.cache_write_tokens.0);
    set(&mut usage.reasoning_tokens, counters.completion_tokens_details.0.reasoning_tokens.0);
    set(&mut usage.server_tool_uses, used);
}
