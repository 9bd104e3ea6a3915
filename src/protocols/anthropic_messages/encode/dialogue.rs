//! The dialogue as content blocks, in the order in which they go out.

use crate::protocols::members::write_string;
use std::{collections::HashSet, ops::Range, sync::Arc};

use tower_genai_core::{
    AssistantPart, Deferral, DeferralMode, Error, Message, ModelRequest, SystemMessage, ToolCall, UserMessage, wire_name,
};

use super::{
    cache::count_marks,
    content::{write_content, write_text},
    results::Note,
    tools::WireTools,
    turns::{Form, Item, ItemKind, Plan, with_id},
};
use crate::protocols::{
    Capabilities, Resume,
    history::{Entry, IMAGE_MADE, Turn, readable_summary, summary_text},
};

/// Who says a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    System,
}

impl Role {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Plain,
    /// The answer to a call.
    Result,
    /// What came of a hosted call.
    HostedResult,
    /// Reasoning; `is_altered` where something before it in its message is left out now.
    Thinking {
        is_altered: bool,
    },
}

/// A content block.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) role: Role,
    pub(super) kind: BlockKind,
    pub(super) range: Range<usize>,
    /// Cache breakpoints that it brings along.
    pub(super) marks: usize,
}

/// Where a message of the model begins.
#[derive(Debug)]
pub(super) struct TurnStart {
    pub(super) block: usize,
    /// The hash of the prompt that produced it, where it is known.
    pub(super) prefix: Option<Arc<str>>,
}

/// All blocks. Neighbours with the same role are one message.
#[derive(Debug, Default)]
pub(super) struct Dialogue {
    text: String,
    pub(super) blocks: Vec<Block>,
    pub(super) turns: Vec<TurnStart>,
    /// Tools that blocks refer to: the block, and the position of the tool.
    pub(super) references: Vec<(usize, usize)>,
}

impl Dialogue {
    pub(super) fn json(&self, block: &Block) -> &str {
        self.text.get(block.range.clone()).unwrap_or_default()
    }

    /// Adds what `write` appends, unless it says that there is nothing.
    pub(super) fn push(&mut self, role: Role, kind: BlockKind, write: impl FnOnce(&mut String) -> bool) -> bool {
        let start = self.text.len();
        if !write(&mut self.text) {
            self.text.truncate(start);
            return false;
        }
        let range = start..self.text.len();
        let marks = self.text.get(range.clone()).map_or(0, count_marks);
        self.blocks.push(Block { role, kind, range, marks });
        true
    }
}

/// What the user says, or is told to be said.
#[derive(Clone, Copy)]
enum Said<'a> {
    User(&'a UserMessage),
    System(&'a SystemMessage),
}

/// Lays out a dialogue.
///
/// # Errors
///
/// For what cannot be repaired: see the texts.
pub(super) fn lay_out(
    request: &ModelRequest,
    entries: &[Entry<'_>],
    plans: &[Plan<'_>],
    tools: &WireTools,
    capabilities: &Capabilities,
) -> Result<Dialogue, Error> {
    let mode = match request.deferral {
        Deferral::Lowered(mode) | Deferral::Wanted(mode) => mode,
        Deferral::Unset => capabilities.deferral,
    };
    let mut layout = Layout {
        request,
        capabilities,
        tools,
        understands_references: matches!(mode, DeferralMode::Reference | DeferralMode::Hosted),
        resumes: request.extensions.get::<Resume>().is_some(),
        dialogue: Dialogue::default(),
        referenced: HashSet::new(),
        held: Vec::new(),
        is_holding: false,
    };
    let (start, skipped_turns, begins_with_summary) = beginning(request, entries, plans);
    let mut plans = plans.iter().skip(skipped_turns);
    for (at, entry) in entries.iter().enumerate().skip(start) {
        match entry {
            Entry::User(user) => layout.user(user)?,
            Entry::Summary(summary) => {
                let text = summary_text(summary);
                layout.dialogue.push(Role::User, BlockKind::Plain, |out| write_text(out, &text));
            }
            Entry::System(system) => layout.system(system, entries.get(at + 1..).unwrap_or_default()),
            Entry::Turn(turn) => {
                if let Some(plan) = plans.next() {
                    layout.turn(turn, plan, begins_with_summary && at == start);
                }
            }
        }
    }
    let may_begin_with_assistant = start > 0 || begins_with_summary;
    layout.check(entries, may_begin_with_assistant)?;
    Ok(layout.dialogue)
}

/// Where the dialogue begins: at its start, or at a summary that stands for all that was before.
///
/// The endpoint skips what stands before its own summary by itself, and a summary alone in its message must come first. Another model's
/// summary is a text, and counts where it is readable.
fn beginning(request: &ModelRequest, entries: &[Entry<'_>], plans: &[Plan<'_>]) -> (usize, usize, bool) {
    let Some(compaction) = request.messages.compaction() else { return (0, 0, false) };
    let mut turns = 0;
    for (at, entry) in entries.iter().enumerate() {
        let Entry::Turn(turn) = entry else { continue };
        if turn.index == compaction {
            let begins = match plans.get(turns).map(|plan| &plan.form) {
                Some(Form::Items(items)) => items.iter().all(|item| matches!(item.kind, ItemKind::Compaction | ItemKind::Container { .. })),
                Some(Form::Parts) => readable_summary(turn.message).is_some(),
                None => false,
            };
            return if begins { (at, turns, true) } else { (0, 0, false) };
        }
        turns += 1;
    }
    (0, 0, false)
}

pub(super) struct Layout<'r, 'a> {
    request: &'r ModelRequest,
    pub(super) capabilities: &'r Capabilities,
    pub(super) tools: &'r WireTools,
    pub(super) understands_references: bool,
    resumes: bool,
    pub(super) dialogue: Dialogue,
    /// Tools that were referred to: the endpoint shows each once.
    pub(super) referenced: HashSet<usize>,
    /// What was said while only results could be.
    held: Vec<Said<'a>>,
    is_holding: bool,
}

impl<'a> Layout<'_, 'a> {
    fn user(&mut self, user: &'a UserMessage) -> Result<(), Error> {
        let images = self.capabilities.images;
        let mut scratch = String::new();
        if !user.content.iter().any(|content| write_content(&mut scratch, content, images)) {
            let index =
                self.request.messages.iter().position(|message| matches!(&**message, Message::User(other) if std::ptr::eq(other, user)));
            return Err(Error::invalid(format!(
                "message {} of the user has no content that this endpoint takes; give it a text or leave it out",
                index.unwrap_or_default()
            )));
        }
        self.say(Said::User(user));
        Ok(())
    }

    fn system(&mut self, system: &'a SystemMessage, rest: &[Entry<'_>]) {
        let is_place = |block: &Block| block.role != Role::Assistant || block.kind == BlockKind::HostedResult;
        let follows = self.dialogue.blocks.last().is_some_and(is_place);
        let precedes = rest.iter().find(|entry| !matches!(entry, Entry::System(_))).is_none_or(|entry| matches!(entry, Entry::Turn(_)));
        if self.capabilities.system_messages && follows && precedes && !self.is_holding {
            self.dialogue.push(Role::System, BlockKind::Plain, |out| write_text(out, &system.content));
        } else {
            self.say(Said::System(system));
        }
    }

    /// Says something now, or behind the next message of the model where only results may be said now.
    fn say(&mut self, said: Said<'a>) {
        if self.is_holding {
            self.held.push(said);
            return;
        }
        match said {
            Said::User(user) => self.note(Note::Content(&user.content)),
            Said::System(system) => self.note(Note::Text(&system.content)),
        }
    }

    fn note(&mut self, note: Note<'_>) {
        let images = self.capabilities.images;
        match note {
            Note::Text(text) => {
                self.dialogue.push(Role::User, BlockKind::Plain, |out| write_text(out, text));
            }
            Note::Content(content) => {
                for content in content {
                    self.dialogue.push(Role::User, BlockKind::Plain, |out| write_content(out, content, images));
                }
            }
        }
    }

    fn turn(&mut self, turn: &Turn<'a>, plan: &Plan<'_>, begins_with_summary: bool) {
        let first = self.dialogue.blocks.len();
        match &plan.form {
            Form::Items(items) => self.items(turn, items),
            Form::Parts => self.parts(turn, begins_with_summary),
        }
        if self.dialogue.blocks.len() > first {
            let prefix = match plan.form {
                Form::Items(_) => turn.message.replay.as_ref().and_then(|replay| replay.prefix.clone()),
                Form::Parts => None,
            };
            self.dialogue.turns.push(TurnStart { block: first, prefix });
        }
        let mut notes = Vec::new();
        for answer in &turn.answers {
            notes.extend(self.answer(answer));
        }
        self.is_holding = plan.results_only;
        if self.is_holding {
            return;
        }
        for note in notes {
            self.note(note);
        }
        for said in std::mem::take(&mut self.held) {
            self.say(said);
        }
    }

    /// Whether nothing of the dialogue follows, not even an answer.
    fn is_last(&self, turn: &Turn<'_>) -> bool {
        turn.index + 1 == self.request.messages.len()
    }

    fn items(&mut self, turn: &Turn<'_>, items: &[Item<'_>]) {
        // A message may not end with reasoning, as one does that was cut short. What is resumed goes back as it is.
        let is_content = |item: &Item<'_>| !matches!(item.kind, ItemKind::Thinking { .. } | ItemKind::Container { .. } | ItemKind::Blank);
        let is_resumed = self.resumes && self.is_last(turn);
        let end = if is_resumed { items.len() } else { items.iter().rposition(is_content).map_or(0, |last| last + 1) };
        let mut answers = turn.answers.iter();
        for item in items.iter().take(end) {
            let kind = match item.kind {
                ItemKind::Container { .. } | ItemKind::Blank => continue,
                ItemKind::Thinking { is_altered } => BlockKind::Thinking { is_altered },
                ItemKind::HostedResult { .. } => BlockKind::HostedResult,
                _ => BlockKind::Plain,
            };
            if item.kind == ItemKind::Compaction {
                self.referenced.clear();
            }
            let id = match item.kind {
                ItemKind::Call { .. } => answers.next().filter(|answer| *answer.id != *answer.call.id).map(|answer| &*answer.id),
                _ => None,
            };
            self.dialogue.push(Role::Assistant, kind, |out| {
                match id {
                    Some(id) => out.push_str(&with_id(item.json(), id)),
                    None => out.push_str(item.json()),
                }
                true
            });
        }
    }

    fn parts(&mut self, turn: &Turn<'a>, begins_with_summary: bool) {
        let mut skipped = 0;
        if let Some((summary, end)) = readable_summary(turn.message).filter(|_| begins_with_summary) {
            skipped = end;
            let text = summary_text(summary);
            self.dialogue.push(Role::User, BlockKind::Plain, |out| write_text(out, &text));
        }
        let is_prefill = self.is_last(turn) && turn.answers.is_empty();
        let parts = &turn.message.parts;
        let mut answers = turn.answers.iter();
        for (at, part) in parts.iter().enumerate() {
            let answer = match part {
                AssistantPart::ToolCall(_) | AssistantPart::Search(_) => answers.next(),
                _ => None,
            };
            if at < skipped && answer.is_none() {
                continue;
            }
            let is_end = is_prefill && at + 1 == parts.len();
            self.dialogue.push(Role::Assistant, BlockKind::Plain, |out| match part {
                // The endpoint refuses to go on from white space.
                AssistantPart::Text { text } if is_end => write_text(out, text.trim_end()),
                AssistantPart::Text { text } | AssistantPart::Refusal { text } => write_text(out, text),
                AssistantPart::Image(_) => write_text(out, IMAGE_MADE),
                AssistantPart::ToolCall(call) | AssistantPart::Search(call) => {
                    write_call(out, call, answer.map_or(&call.id, |answer| &answer.id), &wire_name(&call.name, self.capabilities.names));
                    true
                }
                _ => false,
            });
        }
    }

    fn check(&self, entries: &[Entry<'_>], may_begin_with_assistant: bool) -> Result<(), Error> {
        let Some(first) = self.dialogue.blocks.first() else {
            return Err(Error::invalid("the request has no message to send; add a user message"));
        };
        if first.role != Role::User && !may_begin_with_assistant {
            return Err(Error::invalid(
                "the dialogue begins with a message of the model, which this endpoint refuses; begin it with a user message",
            ));
        }
        let ends_with_model = self.dialogue.blocks.last().is_some_and(|block| block.role == Role::Assistant);
        if !ends_with_model || self.capabilities.prefill || self.resumes {
            return Ok(());
        }
        let last = entries.iter().rev().find_map(|entry| match entry {
            Entry::Turn(turn) => Some(turn.index),
            _ => None,
        });
        Err(Error::invalid(format!(
            "the dialogue ends with message {} of the model, which this endpoint refuses; end it with a user message, or set \
             Capabilities::prefill where the model goes on from its own words",
            last.unwrap_or_default()
        )))
    }
}

fn write_call(out: &mut String, call: &ToolCall, id: &str, name: &str) {
    out.push_str("{\"type\":\"tool_use\",\"id\":");
    write_string(out, id);
    out.push_str(",\"name\":");
    write_string(out, name);
    out.push_str(",\"input\":");
    if call.arguments.is_object() {
        out.push_str(call.arguments.as_str());
    } else {
        // The free text of another protocol's custom tools.
        out.push_str("{\"input\":");
        out.push_str(call.arguments.as_str());
        out.push('}');
    }
    out.push('}');
}
