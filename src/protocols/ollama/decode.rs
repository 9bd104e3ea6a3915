//! Reads an answer, streamed or whole.

#[cfg(test)]
mod tests;

use std::{collections::VecDeque, fmt, sync::Arc};

use serde::Deserialize;
use serde_json::{Deserializer, value::RawValue};
use tower_genai_core::{
    AssistantMessage, AssistantPart, Delta, Error, ErrorKind, Json, Message, ModelEvent, Replay, Response, Stop, StopReason, ToolCall,
    Usage,
};

use super::{Context, NAME};
use crate::protocols::{
    Decode, Framing, Target, error_body,
    lenient::{Many, Number, Object as Lenient, Text, read},
    made_call_id,
    object::{List, Object},
};

/// Reads one response: lines, of which the last says that it is done.
///
/// A call comes whole. Servers that give none an id get one made from its position.
pub struct Decoder {
    context: Context,
    target: Target,
    model: Option<Arc<str>>,
    thinking: String,
    text: String,
    calls: Vec<Call>,
    usage: Usage,
    done: bool,
}

/// A call with its name as the model wrote it.
struct Call {
    written: Box<str>,
    call: ToolCall,
}

/// A line of a stream, or a whole response.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    model: Text<'a>,
    #[serde(borrow)]
    message: Option<Lenient<Said<'a>>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    done: Option<&'a RawValue>,
    #[serde(borrow)]
    done_reason: Text<'a>,
    prompt_eval_count: Number,
    eval_count: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said<'a> {
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(borrow)]
    thinking: Text<'a>,
    #[serde(borrow)]
    tool_calls: Many<Lenient<Called<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Called<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    function: Lenient<Function<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Function<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    /// An object; with some proxies a string that holds one.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Decoder {
    pub(super) fn new(context: Context, target: &Target) -> Self {
        Self {
            context,
            target: target.clone(),
            model: None,
            thinking: String::new(),
            text: String::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            done: false,
        }
    }

    /// Reads a line. `data` is where it stands.
    fn line(&mut self, data: &str, line: &Line<'_>, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        if line.error.is_some_and(|error| !matches!(error.get(), "null" | "\"\"")) {
            return Err(error_body::of_event(data));
        }
        if self.model.is_none() {
            self.model = line.model.some().map(Into::into);
        }
        if let Some(Lenient(said)) = &line.message {
            self.said(said, events);
        }
        let count = |counter: &mut Option<u64>, Number(value)| *counter = value.or(*counter);
        count(&mut self.usage.input_tokens, line.prompt_eval_count);
        count(&mut self.usage.output_tokens, line.eval_count);
        if line.done.is_some_and(|done| done.get() == "true") {
            self.finish(line.done_reason.some(), events);
        }
        Ok(())
    }

    fn said(&mut self, said: &Said<'_>, events: &mut VecDeque<ModelEvent>) {
        if !said.thinking.is_empty() {
            self.thinking.push_str(&said.thinking);
            events.push_back(ModelEvent::Reasoning(Delta::new(0, &*said.thinking)));
        }
        if !said.content.is_empty() {
            self.text.push_str(&said.content);
            events.push_back(ModelEvent::Text(Delta::new(0, &*said.content)));
        }
        for Lenient(called) in &said.tool_calls.0 {
            self.called(called, events);
        }
    }

    fn called(&mut self, called: &Called<'_>, events: &mut VecDeque<ModelEvent>) {
        let function = &called.function.0;
        if function.name.is_empty() {
            return;
        }
        let id = called.id.some().map_or_else(|| made_call_id(self.calls.len()), Into::into);
        let name = self.context.names.resolve("", &function.name);
        let text: Text<'_> = read(function.arguments);
        let arguments = text.some().or(function.arguments.map(RawValue::get)).unwrap_or_default();
        let call = ToolCall::from_text(id, name, arguments);
        if !self.context.searches_with(&call.name) {
            events.push_back(ModelEvent::ToolCallStarted { message: 0, id: call.id.clone(), name: call.name.clone() });
            if !arguments.is_empty() {
                events.push_back(ModelEvent::ToolCallDelta { message: 0, id: call.id.clone(), arguments: arguments.to_owned() });
            }
        }
        self.calls.push(Call { written: (*function.name).into(), call });
    }

    fn finish(&mut self, reason: Option<&str>, events: &mut VecDeque<ModelEvent>) {
        self.done = true;
        let mut message = AssistantMessage::default();
        message.replay = Some(Replay::new(NAME, self.target.host.clone(), self.target.model.clone(), vec![self.item()]));
        if !self.thinking.is_empty() {
            message.parts.push(AssistantPart::Reasoning { text: std::mem::take(&mut self.thinking).into() });
        }
        if !self.text.is_empty() {
            message.parts.push(AssistantPart::Text { text: std::mem::take(&mut self.text).into() });
        }
        message.parts.extend(self.calls.drain(..).map(|call| self.context.part(call.call)));
        let waits = message.tool_calls().next().is_some() || message.searches().next().is_some();
        let stop = Stop::new(match reason {
            Some("length") => StopReason::MaxTokens,
            // The server says `stop` with calls too.
            _ if waits => StopReason::ToolUse,
            None | Some("stop" | "load" | "unload") => StopReason::EndTurn,
            Some(_) => StopReason::Other,
        });
        let message = Arc::new(Message::Assistant(message));
        events.push_back(ModelEvent::Message(message.clone()));
        let mut response = Response::of(message, stop.reason);
        response.stop = match reason {
            Some(native) => stop.native(native),
            None => stop,
        };
        response.usage = self.usage;
        response.model = self.model.take();
        events.push_back(ModelEvent::Response(Box::new(response)));
    }

    /// The message as the API takes it back.
    fn item(&self) -> Json {
        let mut out = String::with_capacity(self.text.len() + self.thinking.len() + 64);
        let mut object = Object::new(&mut out);
        object.string("role", "assistant");
        object.string("content", &self.text);
        if !self.thinking.is_empty() {
            object.string("thinking", &self.thinking);
        }
        if !self.calls.is_empty() {
            let mut list = List::new(object.key("tool_calls"));
            for Call { written, call } in &self.calls {
                let mut entry = Object::new(list.entry());
                entry.string("id", &call.id);
                let mut function = Object::new(entry.key("function"));
                function.string("name", written);
                function.raw("arguments", call.arguments.as_str());
                function.end();
                entry.end();
            }
            list.end();
        }
        object.end();
        Json::from_written(&out)
    }
}

impl Decode for Decoder {
    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn push(&mut self, data: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        if self.done || data.trim_ascii().is_empty() {
            return Ok(());
        }
        let data = &*Json::well_formed(data);
        let line: Line<'_> = serde_json::from_str(data).map_err(|error| not_json("a line of the response", &error))?;
        self.line(data, &line, events)
    }

    fn whole(&mut self, body: &[u8], events: &mut VecDeque<ModelEvent>) -> Result<(), Error> {
        let text = String::from_utf8_lossy(body);
        let text = Json::well_formed(&text);
        // Proxies call lines JSON.
        let mut documents = Deserializer::from_str(&text).into_iter::<&RawValue>();
        while let Some(document) = documents.next().filter(|_| !self.done) {
            let document = document.map_err(|error| not_json("the response", &error))?.get();
            let line: Line<'_> = serde_json::from_str(document).map_err(|error| not_json("the response", &error))?;
            self.line(document, &line, events)?;
        }
        Ok(())
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

/// The text says where, and nothing of what stood there.
fn not_json(what: &str, error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Protocol, format!("{what} is not the JSON that the protocol asks for, at column {}", error.column()))
}
