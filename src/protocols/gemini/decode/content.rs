//! The parts of an answer while they grow: as the caller reads them, and as they go back.

use std::{collections::VecDeque, sync::Arc};

use serde::Deserialize;
use serde_json::value::RawValue;
use tower_genai_core::{AssistantPart, Delta, Hosted, HostedCall, HostedOutcome, Image, Json, ModelEvent, ToolCall, ToolName};

use super::{
    part::{Fields, Kind},
    partial::Value,
};
use crate::protocols::{
    context::Context,
    lenient::{Many, Object as Lenient, Text, read},
    made_call_id, made_hosted_id,
    members::Members,
    object::Object,
};

/// The parts so far.
#[derive(Debug, Default)]
pub(super) struct Content {
    parts: Vec<Part>,
    items: Vec<Item>,
    calls: Vec<Call>,
    hosted: usize,
}

/// A part as the caller reads it.
#[derive(Debug)]
enum Part {
    Text(String),
    Reasoning(String),
    Call(usize),
    Done(AssistantPart),
}

/// A part as it goes back.
#[derive(Debug)]
enum Item {
    /// Text, which goes on while nothing but text follows.
    Text(String),
    Whole(Json),
    Call(usize),
}

/// A call for the caller.
#[derive(Debug)]
struct Call {
    id: Arc<str>,
    name: ToolName,
    is_search: bool,
    /// The part as it came, or its beginning where the arguments come value by value.
    raw: Box<str>,
    arguments: Arguments,
}

#[derive(Debug)]
enum Arguments {
    Whole(Box<str>),
    /// They are still coming.
    Open(Value),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FunctionCall<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    partial_args: Many<Lenient<PartialArg<'a>>>,
    #[serde(borrow)]
    will_continue: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PartialArg<'a> {
    #[serde(borrow)]
    json_path: Text<'a>,
    #[serde(borrow)]
    string_value: Option<Text<'a>>,
    #[serde(borrow)]
    number_value: Option<&'a RawValue>,
    #[serde(borrow)]
    bool_value: Option<&'a RawValue>,
    #[serde(borrow)]
    null_value: Option<&'a RawValue>,
}

/// A tool that the provider runs, or what it gave.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Served<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    tool_type: Text<'a>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    outcome: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow)]
    mime_type: Text<'a>,
    #[serde(borrow)]
    data: Text<'a>,
    #[serde(borrow)]
    file_uri: Text<'a>,
}

impl Content {
    /// Reads a part.
    pub(super) fn part(&mut self, raw: &RawValue, context: &Context, events: &mut VecDeque<ModelEvent>) {
        let Ok(fields) = serde_json::from_str::<Fields<'_>>(raw.get()) else { return };
        match (fields.data, &fields.text) {
            (Some((Kind::FunctionCall, call)), _) => return self.function_call(raw, call, context, events),
            (None, Some(text)) => return self.text(raw, &fields, text, events),
            (Some((Kind::ExecutableCode, code)), _) => {
                self.start(HostedCall::new("", "code_execution", "executableCode"), Some(Json::from(code)), events);
            }
            (Some((Kind::CodeExecutionResult, result)), _) => {
                let result: Served<'_> = read(Some(result));
                let failed = result.outcome.some().filter(|outcome| *outcome != "OUTCOME_OK");
                self.complete(|call| &*call.call_type == "executableCode", failed, events);
            }
            (Some((Kind::ToolCall, call)), _) => {
                let call: Served<'_> = read(Some(call));
                self.start(HostedCall::new(call.id.to_arc(), call.tool_type.to_arc(), "toolCall"), call.args.map(Json::from), events);
            }
            (Some((Kind::ToolResponse, response)), _) => {
                let response: Served<'_> = read(Some(response));
                self.complete(|call| &*call.call_type == "toolCall" && *call.id == *response.id, None, events);
            }
            (Some((Kind::Media, data)), _) => {
                self.parts.extend(image(&read(Some(data))).map(|image| Part::Done(AssistantPart::Image(image))));
            }
            (None, None) if fields.is_empty => return,
            (None, None) => {}
        }
        self.items.push(Item::Whole(Json::from(raw)));
    }

    /// Text goes on with text; what is signed, or says more, stays apart on its way back.
    fn text(&mut self, raw: &RawValue, fields: &Fields<'_>, text: &str, events: &mut VecDeque<ModelEvent>) {
        match self.items.last_mut() {
            _ if !fields.is_plain => self.items.push(Item::Whole(Json::from(raw))),
            // What the model thought is of no use to it without a signature.
            _ if fields.is_thought || text.is_empty() => {}
            Some(Item::Text(known)) => known.push_str(text),
            _ => self.items.push(Item::Text(text.to_owned())),
        }
        self.shown(text, fields.is_thought, events);
    }

    fn shown(&mut self, text: &str, is_thought: bool, events: &mut VecDeque<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        match (self.parts.last_mut(), is_thought) {
            (Some(Part::Text(known)), false) | (Some(Part::Reasoning(known)), true) => known.push_str(text),
            (_, false) => self.parts.push(Part::Text(text.to_owned())),
            (_, true) => self.parts.push(Part::Reasoning(text.to_owned())),
        }
        let delta = Delta::new(0, text);
        events.push_back(if is_thought { ModelEvent::Reasoning(delta) } else { ModelEvent::Text(delta) });
    }

    /// A call, or more of the one that is open.
    fn function_call(&mut self, raw: &RawValue, call: &RawValue, context: &Context, events: &mut VecDeque<ModelEvent>) {
        let function: FunctionCall<'_> = read(Some(call));
        let goes_on = function.will_continue.is_some_and(|goes_on| goes_on.get() == "true");
        if let Some(name) = function.name.some() {
            self.close(events);
            let position = self.calls.len();
            let id = function.id.some().map_or_else(|| made_call_id(position), Into::into);
            let name = context.names.resolve("", name);
            let is_search = context.searches_with(&name);
            if !is_search {
                events.push_back(ModelEvent::ToolCallStarted { message: 0, id: Arc::clone(&id), name: name.clone() });
            }
            let is_open = goes_on || !function.partial_args.0.is_empty();
            let arguments =
                if is_open { Arguments::Open(Value::object()) } else { Arguments::Whole(function.args.map_or("{}", RawValue::get).into()) };
            self.calls.push(Call { id, name, is_search, raw: raw.get().into(), arguments });
            self.parts.push(Part::Call(position));
            self.items.push(Item::Call(position));
            if !is_open {
                self.calls.last().into_iter().for_each(|call| call.show(events));
            }
        }
        let Some(Call { arguments: Arguments::Open(value), .. }) = self.calls.last_mut() else { return };
        for Lenient(argument) in &function.partial_args.0 {
            argument.apply(value);
        }
        if !goes_on {
            self.close(events);
        }
    }

    /// Ends the call that is open.
    pub(super) fn close(&mut self, events: &mut VecDeque<ModelEvent>) {
        let Some(call) = self.calls.last_mut() else { return };
        let Arguments::Open(value) = &call.arguments else { return };
        let mut whole = String::new();
        value.write(&mut whole);
        call.arguments = Arguments::Whole(whole.into());
        call.show(events);
    }

    /// The provider begins to run a tool.
    pub(super) fn start(&mut self, mut call: HostedCall, input: Option<Json>, events: &mut VecDeque<ModelEvent>) -> Hosted {
        if call.id.is_empty() {
            call.id = made_hosted_id(self.hosted);
        }
        self.hosted += 1;
        let hosted = Hosted::new(0, Arc::clone(&call.id), Arc::clone(&call.name));
        events.push_back(ModelEvent::HostedStarted(hosted.clone()));
        if let Some(input) = &input {
            events.push_back(ModelEvent::HostedInput { hosted: hosted.clone(), input: input.as_str().to_owned() });
        }
        call.input = input;
        self.parts.push(Part::Done(AssistantPart::Hosted(call)));
        hosted
    }

    /// The last pending call that is meant came back.
    fn complete(&mut self, is_meant: impl Fn(&HostedCall) -> bool, failed: Option<&str>, events: &mut VecDeque<ModelEvent>) {
        let pending = self.parts.iter_mut().rev().find_map(|part| match part {
            Part::Done(AssistantPart::Hosted(call)) if call.outcome == HostedOutcome::Pending && is_meant(call) => Some(call),
            _ => None,
        });
        let Some(call) = pending else { return };
        let hosted = Hosted::new(0, Arc::clone(&call.id), Arc::clone(&call.name));
        match failed {
            None => {
                call.outcome = HostedOutcome::Completed;
                events.push_back(ModelEvent::HostedCompleted(hosted));
            }
            Some(code) => {
                call.outcome = HostedOutcome::Failed { code: code.into() };
                events.push_back(ModelEvent::HostedFailed { hosted, code: code.into() });
            }
        }
    }

    /// What the provider ran without a part of its own, and how it went.
    pub(super) fn ran(&mut self, call: HostedCall, events: &mut VecDeque<ModelEvent>) {
        let failed = match &call.outcome {
            HostedOutcome::Failed { code } => Some(Arc::clone(code)),
            _ => None,
        };
        let input = call.input.clone();
        let mut call = call;
        call.outcome = HostedOutcome::Pending;
        let hosted = self.start(call, input, events);
        self.complete(|call| call.id == hosted.id, failed.as_deref(), events);
    }

    /// The parts of the finished message.
    pub(super) fn parts(&mut self, context: &Context) -> Vec<AssistantPart> {
        let parts = std::mem::take(&mut self.parts);
        let part = |part| match part {
            Part::Text(text) => Some(AssistantPart::Text { text: text.into() }),
            Part::Reasoning(text) => Some(AssistantPart::Reasoning { text: text.into() }),
            Part::Done(part) => Some(part),
            Part::Call(at) => self.calls.get(at).map(|call| context.part(call.tool_call())),
        };
        parts.into_iter().filter_map(part).collect()
    }

    /// The parts as the API takes them back.
    pub(super) fn items(&mut self) -> Vec<Json> {
        let items = std::mem::take(&mut self.items);
        let item = |item| match item {
            Item::Text(text) => {
                let mut out = String::new();
                let mut object = Object::new(&mut out);
                object.string("text", &text);
                object.end();
                Some(Json::from_written(&out))
            }
            Item::Whole(json) => Some(json),
            Item::Call(at) => self.calls.get(at).and_then(Call::item),
        };
        items.into_iter().filter_map(item).collect()
    }
}

impl Call {
    fn arguments(&self) -> &str {
        match &self.arguments {
            Arguments::Whole(arguments) => arguments,
            Arguments::Open(_) => "{}",
        }
    }

    fn show(&self, events: &mut VecDeque<ModelEvent>) {
        if !self.is_search {
            let arguments = self.arguments().to_owned();
            events.push_back(ModelEvent::ToolCallDelta { message: 0, id: Arc::clone(&self.id), arguments });
        }
    }

    /// The part with its arguments, and without what is said of their coming in pieces.
    fn item(&self) -> Option<Json> {
        let part = Members::of(&self.raw)?;
        let mut out = String::with_capacity(self.raw.len());
        let mut object = Object::new(&mut out);
        for (key, value) in &part.0 {
            let call = if key == "functionCall" { Members::of(value) } else { None };
            let Some(call) = call else {
                object.raw(key, value);
                continue;
            };
            let mut function = Object::new(object.key(key));
            for (key, value) in call.0.iter().filter(|(key, _)| !matches!(&**key, "args" | "partialArgs" | "willContinue")) {
                function.raw(key, value);
            }
            let arguments = self.arguments();
            function.raw("args", if arguments.starts_with('{') { arguments } else { "{}" });
            function.end();
        }
        object.end();
        Some(Json::from_written(&out))
    }

    /// The call for the caller. The arguments are JSON, and only objects begin with a brace.
    fn tool_call(&self) -> ToolCall {
        let (id, name, arguments) = (Arc::clone(&self.id), self.name.clone(), self.arguments());
        if arguments.starts_with('{') {
            return ToolCall::new(id, name, Json::from_written(arguments));
        }
        ToolCall::from_text(id, name, arguments)
    }
}

impl PartialArg<'_> {
    fn apply(&self, value: &mut Value) {
        if let Some(text) = &self.string_value {
            value.append(&self.json_path, text);
        }
        let other = self.number_value.or(self.bool_value).map(RawValue::get);
        if let Some(json) = other.or(self.null_value.map(|_| "null")) {
            value.set(&self.json_path, json);
        }
    }
}

/// An image in an answer; other media stay among the items.
fn image(data: &Data<'_>) -> Option<Image> {
    let media_type = data.mime_type.some().filter(|kind| kind.starts_with("image/"))?;
    match (data.data.some(), data.file_uri.some()) {
        (Some(bytes), _) => Some(Image::Base64 { media_type: media_type.into(), data: bytes.into() }),
        (None, Some(url)) => Some(Image::Url { url: url.into(), media_type: Some(media_type.into()) }),
        (None, None) => None,
    }
}
