//! The dialogue as a list of messages.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use tower_genai_core::{AssistantPart, ModelRequest, ToolDefinition, ToolName};

use super::{content, replay::Replayed};
use crate::protocols::{
    Capabilities, Target,
    chat_completions::NAME,
    history::{self, Answer, Answered, Entry, IMAGE_MADE, Turn, summary_text},
    members::write_string,
    object::{List, Object},
    pieces::{self, Piece},
    wire_names::WireNames,
};

/// What does not change from message to message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) names: &'a WireNames,
    /// The tool that searches.
    pub(super) search: Option<&'a ToolName>,
    pub(super) capabilities: &'a Capabilities,
    pub(super) target: &'a Target,
    /// Whether a definition is loaded by a reference to it.
    pub(super) references: bool,
}

/// Writes the messages. Says whether there are any.
pub(super) fn write(request: &ModelRequest, system: &[&str], scene: Scene<'_>, out: &mut String) -> bool {
    let mut writer = Writer { scene, messages: List::new(out), referenced: HashSet::new() };
    if !system.is_empty() {
        writer.message("system", |out| write_string(out, &system.join("\n\n")));
    }
    let messages = &request.messages;
    for entry in history::begin_at_summary(messages, history::entries(messages, scene.capabilities.call_ids)) {
        match entry {
            Entry::User(message) => writer.user(&pieces::pieces(&message.content, scene.capabilities, NAME)),
            Entry::System(message) => {
                let role = if scene.capabilities.system_messages { "system" } else { "user" };
                writer.message(role, |out| write_string(out, &message.content));
            }
            Entry::Summary(summary) => writer.message("user", |out| write_string(out, &summary_text(summary))),
            Entry::Turn(turn) => writer.turn(&turn),
        }
    }
    let any = !writer.messages.is_empty();
    writer.messages.end();
    any
}

struct Writer<'a, 'b> {
    scene: Scene<'a>,
    messages: List<'b>,
    /// The tools that a result refers to already, by their names on the wire: each is loaded once.
    referenced: HashSet<Box<str>>,
}

impl Writer<'_, '_> {
    fn message(&mut self, role: &str, content: impl FnOnce(&mut String)) {
        let mut object = Object::new(self.messages.entry());
        object.string("role", role);
        content(object.key("content"));
        object.end();
    }

    fn user(&mut self, pieces: &[Piece<'_>]) {
        if !pieces.is_empty() {
            self.message("user", |out| content::write(pieces, out));
        }
    }

    /// What the model said and asked for, then all answers, then what only a user can say of them.
    fn turn(&mut self, turn: &Turn<'_>) {
        let told: Vec<bool> = turn.answers.iter().map(|answer| self.scene.is_told(answer)).collect();
        let replayed = Replayed::of(turn.message, &turn.answers, self.scene.target);
        let assistant = Assistant { scene: self.scene, turn, told: &told, replayed: replayed.as_ref() };
        assistant.write(&mut self.messages);
        let mut after: Vec<Piece<'_>> = Vec::new();
        for (answer, told) in turn.answers.iter().zip(&told) {
            if *told {
                self.tell(answer, &mut after);
            } else {
                self.answer(answer, &mut after);
            }
        }
        self.user(&after);
    }

    /// Writes the answer to a call. Images that cannot stand in it are left for the message behind.
    fn answer<'c>(&mut self, answer: &Answer<'c>, after: &mut Vec<Piece<'c>>) {
        let mut pieces = self.scene.answer_pieces(&answer.result);
        if !self.scene.capabilities.tool_images {
            after.extend(pieces::take_images(&mut pieces, &answer.id));
        }
        let references = self.references(&answer.result);
        let mut object = Object::new(self.messages.entry());
        object.string("role", "tool");
        object.string("tool_call_id", &answer.id);
        let out = object.key("content");
        if references.is_empty() {
            content::write(&pieces, out);
        } else {
            if let Answered::Search(result) = &answer.result {
                // The references say which tools were loaded.
                pieces = vec![Piece::Text(Cow::Borrowed(&result.note))];
            }
            let references: Vec<String> = references.iter().map(|wire| reference(wire)).collect();
            let own = references.iter().map(|reference| Piece::Own(reference));
            let pieces: Vec<Piece<'_>> = own.chain(pieces).collect();
            content::write(&pieces, out);
        }
        object.end();
    }

    /// The names of the tools that an answer loads by referring to them.
    fn references(&mut self, result: &Answered<'_>) -> Vec<String> {
        if !self.scene.references {
            return Vec::new();
        }
        let names = self.scene.names;
        let mut wires: Vec<String> = loaded(result).iter().map(|tool| names.wire(&tool.name).into_owned()).collect();
        wires.retain(|wire| names.declared(wire).is_some() && self.referenced.insert(wire.as_str().into()));
        wires
    }

    /// Tells the model what a call brought that it cannot be shown as one.
    fn tell<'c>(&self, answer: &Answer<'c>, after: &mut Vec<Piece<'c>>) {
        after.push(Piece::Text(Cow::Owned(format!("Result of the call of `{}`:", self.scene.called(answer)))));
        after.extend(self.scene.answer_pieces(&answer.result));
    }
}

impl Scene<'_> {
    /// The name under which a call goes out.
    fn called<'c>(&self, answer: &Answer<'c>) -> Cow<'c, str> {
        answer.called(self.names, self.search)
    }

    /// Whether a call is told in words, since the host refuses one of a function that the request does not declare.
    fn is_told(&self, answer: &Answer<'_>) -> bool {
        !self.capabilities.undeclared_calls && self.names.declared(&self.called(answer)).is_none()
    }

    fn answer_pieces<'c>(&self, result: &Answered<'c>) -> Vec<Piece<'c>> {
        pieces::answer(result, self.names, self.capabilities, NAME)
    }
}

/// The definitions that an answer loaded.
fn loaded<'a>(result: &Answered<'a>) -> &'a [Arc<ToolDefinition>] {
    match result {
        Answered::Tool(result) => &result.loaded,
        Answered::Search(result) => &result.loaded,
        Answered::Missing => &[],
    }
}

fn reference(wire: &str) -> String {
    let mut out = String::new();
    let mut object = Object::typed(&mut out, "tool_reference");
    object.string("tool_name", wire);
    object.end();
    out
}

/// A message of the model.
struct Assistant<'a> {
    scene: Scene<'a>,
    turn: &'a Turn<'a>,
    /// Which calls are told in words.
    told: &'a [bool],
    replayed: Option<&'a Replayed<'a>>,
}

impl Assistant<'_> {
    /// Writes the message, unless it says nothing and calls nothing.
    fn write(&self, messages: &mut List<'_>) {
        let content = self.content();
        let refusal = self.replayed.and_then(Replayed::refusal);
        let audio = self.replayed.and_then(Replayed::audio);
        let calls = self.told.iter().any(|told| !told);
        if content == "\"\"" && refusal.is_none() && audio.is_none() && !calls {
            return;
        }
        let mut object = Object::new(messages.entry());
        object.string("role", "assistant");
        object.raw("content", &content);
        if let Some(refusal) = refusal {
            object.raw("refusal", refusal);
        }
        if let Some(id) = audio {
            let mut audio = Object::new(object.key("audio"));
            audio.string("id", &id);
            audio.end();
        }
        if let Some(replayed) = self.replayed {
            replayed.write_reasoning(&mut object);
        }
        let has_reasoning = self.replayed.is_some_and(Replayed::has_reasoning_content);
        if self.scene.capabilities.reasoning_content && calls && !has_reasoning {
            object.string("reasoning_content", &self.reasoning());
        }
        if calls {
            let mut list = List::new(object.key("tool_calls"));
            for (at, (answer, told)) in self.turn.answers.iter().zip(self.told).enumerate() {
                if !told {
                    self.call(at, answer, list.entry());
                }
            }
            list.end();
        }
        object.end();
    }

    /// The content as JSON: a string, or the list that the endpoint wrote.
    fn content(&self) -> Cow<'_, str> {
        let told = self.turn.answers.iter().zip(self.told).filter(|(_, told)| **told);
        let told = told.map(|(answer, _)| format!("[called `{}` with {}]", self.scene.called(answer), answer.arguments()));
        let told = told.collect::<Vec<_>>().join("\n");
        let written = self.replayed.map(|replayed| replayed.content().unwrap_or("\"\""));
        if let Some(written) = written.filter(|_| told.is_empty()) {
            return Cow::Borrowed(written);
        }
        let mut out = String::new();
        if let Some(list) = written.and_then(|written| written.strip_suffix(']')) {
            out.push_str(list);
            out.push(',');
            content::write_text(&told, &mut out);
            out.push(']');
            return Cow::Owned(out);
        }
        let said = match written {
            Some(written) => serde_json::from_str(written).unwrap_or_default(),
            None => self.said(),
        };
        let gap = if said.is_empty() || told.is_empty() { "" } else { "\n\n" };
        write_string(&mut out, &format!("{said}{gap}{told}"));
        Cow::Owned(out)
    }

    /// What the model said, from the parts that every provider can be told.
    fn said(&self) -> String {
        let texts = self.turn.parts().filter_map(|(part, _)| match part {
            AssistantPart::Text { text } | AssistantPart::Refusal { text } => Some(&**text),
            AssistantPart::Image(_) => Some(IMAGE_MADE),
            // What a provider thought, ran and summed up is of use to that provider only.
            _ => None,
        });
        texts.collect()
    }

    /// What the model thought, as far as it can be read.
    fn reasoning(&self) -> String {
        let texts = self.turn.parts().filter_map(|(part, _)| match part {
            AssistantPart::Reasoning { text } => Some(&**text),
            _ => None,
        });
        texts.collect()
    }

    fn call(&self, at: usize, answer: &Answer<'_>, out: &mut String) {
        if self.replayed.is_some_and(|replayed| replayed.write_call(at, answer, out)) {
            return;
        }
        let mut object = Object::new(out);
        object.string("id", &answer.id);
        object.string("type", "function");
        let mut function = Object::new(object.key("function"));
        function.string("name", &self.scene.called(answer));
        function.string("arguments", &answer.arguments());
        function.end();
        object.end();
    }
}
