//! An item of the answer while it grows.

use std::{collections::VecDeque, mem, sync::Arc};

use serde_json::value::RawValue;
use tower_genai_core::{AssistantPart, Delta, Error, Hosted, HostedCall, HostedOutcome, Json, ModelEvent, ToolCall, ToolName};

use super::parts;
use crate::protocols::openai_responses::{
    Context,
    item::{Call, Item, Role},
};

/// Which text of an item a delta continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Text,
    Refusal,
    Summary,
    Reasoning,
    Arguments,
}

/// The texts of an item as far as they were passed on.
#[derive(Default)]
struct Streamed {
    text: String,
    refusal: String,
    summary: String,
    reasoning: String,
    arguments: String,
}

impl Streamed {
    fn of(&mut self, channel: Channel) -> &mut String {
        match channel {
            Channel::Text => &mut self.text,
            Channel::Refusal => &mut self.refusal,
            Channel::Summary => &mut self.summary,
            Channel::Reasoning => &mut self.reasoning,
            Channel::Arguments => &mut self.arguments,
        }
    }
}

/// An item of the answer.
pub(super) struct Slot {
    pub(super) index: u64,
    opened: bool,
    id: Box<str>,
    kind: Arc<str>,
    role: Role,
    call_id: Arc<str>,
    /// The tool of a client call.
    name: ToolName,
    /// Whether the model searches deferred tools with it, in whatever form.
    is_search: bool,
    /// The call as it was announced, where the provider runs it.
    hosted: Option<Hosted>,
    streamed: Streamed,
    /// The item as it was sent.
    item: Option<Json>,
    parts: Vec<AssistantPart>,
}

/// What the custom tool of this protocol takes instead of an object, as the only member of one.
const CUSTOM_PREFIX: &str = "{\"input\":\"";
const CUSTOM_SUFFIX: &str = "\"}";

impl Slot {
    pub(super) fn new(index: u64) -> Self {
        Self {
            index,
            opened: false,
            id: Box::default(),
            kind: Arc::default(),
            role: Role::Other,
            call_id: Arc::default(),
            name: ToolName::new(""),
            is_search: false,
            hosted: None,
            streamed: Streamed::default(),
            item: None,
            parts: Vec::new(),
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.item.is_some()
    }

    /// Whether an item with this id can be this one.
    pub(super) fn is_called(&self, id: &str) -> bool {
        id.is_empty() || self.id.is_empty() || *self.id == *id
    }

    /// Whether this is an item of the terminal output. Hosts that keep no ids keep the order.
    pub(super) fn holds(&self, position: u64, item: &Item<'_>) -> bool {
        let same = |mine: &str, theirs: &str| !mine.is_empty() && mine == theirs;
        same(&self.id, &item.id)
            || same(&self.call_id, &item.call_id) && *self.kind == *item.kind
            || self.index == position && *self.kind == *item.kind
    }

    /// Learns what the item is, and announces a call.
    pub(super) fn open(&mut self, item: &Item<'_>, context: &Context, events: &mut VecDeque<ModelEvent>) {
        // What turns out to be of another kind was not announced as what it is.
        let announced = mem::replace(&mut self.opened, true) && *self.kind == *item.kind;
        self.id = (*item.id).into();
        self.role = item.role();
        if *self.kind != *item.kind {
            self.kind = item.kind.to_arc();
        }
        if *self.call_id != *item.call_id {
            self.call_id = item.call_id.to_arc();
        }
        match self.role {
            Role::Call(call) => {
                self.name = parts::call_name(item, call, context);
                if call == Call::Approval {
                    self.call_id = item.id.to_arc();
                }
                self.is_search = call == Call::Search || call == Call::Function && context.search.as_ref() == Some(&self.name);
                if !announced && !self.is_search {
                    events.push_back(ModelEvent::ToolCallStarted { message: 0, id: self.call_id.clone(), name: self.name.clone() });
                }
            }
            Role::Hosted if !announced => {
                let hosted = Hosted::new(0, parts::hosted_id(item), parts::hosted_name(item));
                events.push_back(ModelEvent::HostedStarted(hosted.clone()));
                self.hosted = Some(hosted);
            }
            _ => {}
        }
        if !announced && !self.streamed.arguments.is_empty() {
            let early = mem::take(&mut self.streamed.arguments);
            self.delta(Channel::Arguments, &early, events);
        }
    }

    /// Passes on more of a text.
    pub(super) fn delta(&mut self, channel: Channel, text: &str, events: &mut VecDeque<ModelEvent>) {
        if text.is_empty() || self.is_finished() {
            return;
        }
        let is_first = self.streamed.of(channel).is_empty();
        self.streamed.of(channel).push_str(text);
        let delta = |text: &str| Delta::new(0, text);
        match channel {
            Channel::Text => events.push_back(ModelEvent::Text(delta(text))),
            Channel::Refusal => events.push_back(ModelEvent::Refusal(delta(text))),
            Channel::Summary | Channel::Reasoning => events.push_back(ModelEvent::Reasoning(delta(text))),
            // Until the item says what it is, nobody can be told of its arguments.
            Channel::Arguments if !self.opened || self.is_search => {}
            Channel::Arguments => match (self.role, &self.hosted) {
                (Role::Call(Call::Custom), _) => {
                    let prefix = if is_first { CUSTOM_PREFIX } else { "" };
                    self.arguments(format!("{prefix}{}", escaped(text)), events);
                }
                (Role::Call(_), _) => self.arguments(text.to_owned(), events),
                (_, Some(hosted)) => events.push_back(ModelEvent::HostedInput { hosted: hosted.clone(), input: text.to_owned() }),
                _ => {}
            },
        }
    }

    fn arguments(&self, arguments: String, events: &mut VecDeque<ModelEvent>) {
        events.push_back(ModelEvent::ToolCallDelta { message: 0, id: self.call_id.clone(), arguments });
    }

    /// Takes the finished item, and passes on what no delta brought.
    pub(super) fn close(
        &mut self,
        raw: &RawValue,
        item: &Item<'_>,
        context: &Context,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), Error> {
        self.open(item, context, events);
        self.parts = parts::of_item(item, self.role, &self.name, self.is_search);
        match self.role {
            Role::Message => {
                let text: String = self.parts.iter().filter_map(parts::text).collect();
                self.rest(Channel::Text, &text, events);
                let refusal: String = self.parts.iter().filter_map(parts::refusal).collect();
                self.rest(Channel::Refusal, &refusal, events);
            }
            Role::Reasoning => {
                self.rest(Channel::Summary, &parts::texts(item.summary).concat(), events);
                self.rest(Channel::Reasoning, &parts::texts(item.content).concat(), events);
            }
            Role::Call(call) if !self.is_search => {
                self.rest(Channel::Arguments, &parts::raw_arguments(item, call), events);
                if call == Call::Custom {
                    let suffix = if self.streamed.arguments.is_empty() { "{\"input\":\"\"}" } else { CUSTOM_SUFFIX };
                    self.arguments(suffix.to_owned(), events);
                }
            }
            Role::Hosted => self.returned(events),
            _ => {}
        }
        self.item = Some(Json::from(raw));
        Ok(())
    }

    /// Passes on what of a text was not streamed. Where the deltas said something else, nothing is added to them.
    fn rest(&mut self, channel: Channel, whole: &str, events: &mut VecDeque<ModelEvent>) {
        if let Some(rest) = whole.strip_prefix(self.streamed.of(channel).as_str()) {
            self.delta(channel, rest, events);
        }
    }

    /// Says what the provider gave the tool and how it went.
    fn returned(&mut self, events: &mut VecDeque<ModelEvent>) {
        let (Some(hosted), [AssistantPart::Hosted(call)]) = (&self.hosted, self.parts.as_slice()) else { return };
        if let Some(input) = call.input.as_ref().filter(|_| self.streamed.arguments.is_empty()) {
            events.push_back(ModelEvent::HostedInput { hosted: hosted.clone(), input: input.as_str().to_owned() });
        }
        match &call.outcome {
            HostedOutcome::Completed => events.push_back(ModelEvent::HostedCompleted(hosted.clone())),
            HostedOutcome::Failed { code } => {
                events.push_back(ModelEvent::HostedFailed { hosted: hosted.clone(), code: code.clone() });
            }
            _ => {}
        }
    }

    /// A program is done when its output arrives, which is an item of its own.
    pub(super) fn program_returned(&mut self, call_id: &str, events: &mut VecDeque<ModelEvent>) {
        let is_mine = &*self.kind == "program" && !call_id.is_empty() && *self.call_id == *call_id;
        let (true, [AssistantPart::Hosted(call)], Some(hosted)) = (is_mine, self.parts.as_mut_slice(), &self.hosted) else { return };
        call.outcome = HostedOutcome::Completed;
        events.push_back(ModelEvent::HostedCompleted(hosted.clone()));
    }

    /// The parts of the message that this item stands for, and the item. An item that was never finished is made of its deltas.
    pub(super) fn into_parts(mut self) -> (Vec<AssistantPart>, Option<Json>) {
        if self.is_finished() {
            return (self.parts, self.item);
        }
        let arguments = mem::take(&mut self.streamed.arguments);
        let part = match (self.role, self.hosted.take()) {
            (Role::Call(Call::Custom), _) => {
                let whole = format!("{CUSTOM_PREFIX}{}{CUSTOM_SUFFIX}", escaped(&arguments));
                Some(AssistantPart::ToolCall(ToolCall::from_text(self.call_id, self.name, &whole).call_type(self.kind)))
            }
            (Role::Call(Call::Function), _) => {
                let call = ToolCall::from_text(self.call_id, self.name, &arguments);
                Some(if self.is_search { AssistantPart::Search(call) } else { AssistantPart::ToolCall(call) })
            }
            (Role::Hosted, Some(hosted)) => Some(AssistantPart::Hosted(HostedCall::new(hosted.id, hosted.name, self.kind))),
            _ => None,
        };
        let Streamed { text, refusal, summary, reasoning, .. } = self.streamed;
        let mut parts = Vec::new();
        for text in [summary, reasoning].into_iter().filter(|text| !text.is_empty()) {
            parts.push(AssistantPart::Reasoning { text: text.into() });
        }
        if !text.is_empty() {
            parts.push(AssistantPart::Text { text: text.into() });
        }
        if !refusal.is_empty() {
            parts.push(AssistantPart::Refusal { text: refusal.into() });
        }
        parts.extend(part);
        (parts, None)
    }
}

/// Text as it stands inside a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Json::string(text);
    quoted.as_str().strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default().to_owned()
}
