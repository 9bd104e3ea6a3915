//! The calls of a message while they grow.

use std::{collections::VecDeque, mem, sync::Arc};

use serde_json::value::RawValue;
use tower_genai_core::{AssistantPart, Json, ModelEvent, ToolCall, ToolName};

use super::chunk::{Function, ToolDelta};
use crate::protocols::{
    context::Context,
    lenient::{Text, read},
    made_call_id,
    members::write_string,
    object::{List, Object},
};

/// The type of a call whose argument is free text.
const CUSTOM: &str = "custom_tool_call";

/// A call.
#[derive(Debug, Default)]
struct Call {
    index: u64,
    id: Arc<str>,
    /// The name as the model wrote it.
    written: Box<str>,
    name: Option<ToolName>,
    arguments: String,
    is_search: bool,
    is_custom: bool,
    extra: Option<Json>,
}

/// The calls in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Call>);

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn delta(&mut self, delta: &ToolDelta<'_>, context: &Context, events: &mut VecDeque<ModelEvent>) {
        let id = delta.id.0.as_deref().unwrap_or_default();
        let custom = &delta.custom.0;
        let is_custom = !custom.name.is_empty() || !custom.input.is_empty();
        let name = if is_custom { &custom.name } else { &delta.function.0.name };
        let position = self.position(delta.index.0, id, name);
        let Some(call) = self.0.get_mut(position) else { return };
        call.is_custom |= is_custom;
        if let Some(extra) = delta.extra_content.filter(|extra| extra.get() != "null") {
            call.extra = Some(Json::from(extra));
        }
        call.open(position, id, name, context, events);
        if is_custom {
            call.grow(&custom.input, events);
        } else {
            call.grow_by(delta.function.0.arguments, events);
        }
    }

    /// The call of the first version of the protocol.
    pub(super) fn legacy(&mut self, function: &Function<'_>, context: &Context, events: &mut VecDeque<ModelEvent>) {
        let arguments: Text<'_> = read(function.arguments);
        // Some hosts send every member that they know, with nothing in it.
        if function.name.is_empty() && (self.0.is_empty() || arguments.is_empty()) {
            return;
        }
        let position = self.position(None, "", &function.name);
        let Some(call) = self.0.get_mut(position) else { return };
        call.open(position, "", &function.name, context, events);
        call.grow_by(function.arguments, events);
    }

    /// The position of the call that a delta is about. A new one begins at a new index, and at a used one where the delta brings a new id and a
    /// name; everything else goes on with the latest call of its index.
    fn position(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let wanted = index.unwrap_or(0);
        let is_new = |call: &Call| {
            let is_other = !id.is_empty() && !call.id.is_empty() && *call.id != *id;
            // Without an index the id alone tells calls apart.
            is_other && (!name.is_empty() || index.is_none())
        };
        let latest = self.0.iter().rposition(|call| call.index == wanted);
        let same_id = || self.0.iter().rposition(|call| index.is_none() && !id.is_empty() && *call.id == *id);
        match same_id().or(latest) {
            Some(at) if !self.0.get(at).is_some_and(is_new) => at,
            _ => {
                self.0.push(Call { index: wanted, ..Call::default() });
                self.0.len() - 1
            }
        }
    }

    /// The parts of the finished message.
    pub(super) fn parts<'a>(&'a self, context: &'a Context) -> impl Iterator<Item = AssistantPart> + 'a {
        self.0.iter().map(|call| {
            let name = call.name.clone().unwrap_or_else(|| context.names.resolve("", &call.written));
            if !call.is_custom {
                return context.part(ToolCall::from_text(call.id.clone(), name, &call.arguments));
            }
            let mut arguments = String::from("{\"input\":");
            write_string(&mut arguments, &call.arguments);
            arguments.push('}');
            AssistantPart::ToolCall(ToolCall::from_text(call.id.clone(), name, &arguments).call_type(CUSTOM))
        })
    }

    /// The calls as the API takes them back.
    pub(super) fn write(&self, out: &mut String) {
        let mut list = List::new(out);
        for call in &self.0 {
            let mut object = Object::new(list.entry());
            object.string("id", &call.id);
            let (kind, text) = if call.is_custom { ("custom", "input") } else { ("function", "arguments") };
            object.string("type", kind);
            let mut inner = Object::new(object.key(kind));
            inner.string("name", &call.written);
            inner.string(text, &call.arguments);
            inner.end();
            if let Some(extra) = &call.extra {
                object.raw("extra_content", extra.as_str());
            }
            object.end();
        }
        list.end();
    }
}

impl Call {
    /// Learns what the call is, and tells the caller.
    fn open(&mut self, position: usize, id: &str, name: &str, context: &Context, events: &mut VecDeque<ModelEvent>) {
        if self.id.is_empty() && !id.is_empty() {
            self.id = id.into();
        }
        if self.name.is_some() || name.is_empty() {
            return;
        }
        if self.id.is_empty() {
            self.id = made_call_id(position);
        }
        self.written = name.into();
        let known = context.names.resolve("", name);
        self.is_search = context.searches_with(&known);
        if !self.is_search {
            events.push_back(ModelEvent::ToolCallStarted { message: 0, id: self.id.clone(), name: known.clone() });
        }
        self.name = Some(known);
        let early = mem::take(&mut self.arguments);
        self.grow(&early, events);
    }

    /// Adds arguments, which some hosts send as an object.
    fn grow_by(&mut self, arguments: Option<&RawValue>, events: &mut VecDeque<ModelEvent>) {
        let Some(raw) = arguments.map(RawValue::get) else { return };
        if raw.starts_with('{') {
            if self.arguments.is_empty() {
                self.grow(raw, events);
            }
            return;
        }
        let text: Text<'_> = read(arguments);
        // Some gateways end with a chunk that holds all arguments again.
        let is_whole = |text: &str| text.starts_with(['{', '"']) && text.ends_with(['}', '"']);
        if self.arguments.ends_with('}') && is_whole(&text) && same_object(&self.arguments, &text) {
            return;
        }
        self.grow(&text, events);
    }

    fn grow(&mut self, text: &str, events: &mut VecDeque<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        self.arguments.push_str(text);
        if self.name.is_some() && !self.is_search {
            events.push_back(ModelEvent::ToolCallDelta { message: 0, id: self.id.clone(), arguments: text.to_owned() });
        }
    }
}

/// Whether a text holds the same object, as such or as a string with it.
fn same_object(arguments: &str, text: &str) -> bool {
    let object = |text: &str| Json::parse(text).ok().filter(Json::is_object);
    let inside = || object(&serde_json::from_str::<String>(text).ok()?);
    object(text).or_else(inside).is_some_and(|object| Json::parse(arguments).is_ok_and(|arguments| arguments == object))
}
