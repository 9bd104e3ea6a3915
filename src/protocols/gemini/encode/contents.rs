//! The dialogue as a list of contents.

use std::borrow::Cow;

use serde::Deserialize;
use tower_genai_core::{AssistantMessage, AssistantPart, Error, Image, ModelRequest, ToolName};

use super::write_text;
use crate::protocols::{
    Capabilities, Target,
    gemini::NAME,
    history::{self, Answer, Answered, Entry, IMAGE_MADE, Turn, summary_text},
    lenient::Text,
    members::Members,
    object::{List, Object},
    pieces::{self, Piece, data_url},
    wire_names::WireNames,
};

/// What stands for the signature of a call that this model did not make.
const UNSIGNED: &str = "\"skip_thought_signature_validator\"";

/// What is said about an answer beside its parts: it is kept among the items, and is none.
const BESIDE: [&str; 3] = ["groundingMetadata", "urlContextMetadata", "citationMetadata"];

/// What does not change from message to message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) names: &'a WireNames,
    /// The tool that searches.
    pub(super) search: Option<&'a ToolName>,
    pub(super) capabilities: &'a Capabilities,
    pub(super) target: &'a Target,
}

/// Writes the contents.
///
/// # Errors
///
/// Where there are none, or where they begin with a call.
pub(super) fn write(request: &ModelRequest, scene: Scene<'_>, out: &mut String) -> Result<(), Error> {
    let mut writer = Writer { scene, contents: List::new(out), said: String::new() };
    let messages = &request.messages;
    for entry in history::begin_at_summary(messages, history::entries(messages, scene.capabilities.call_ids)) {
        match entry {
            Entry::User(message) => writer.user(&pieces::pieces(&message.content, scene.capabilities, NAME)),
            Entry::System(message) => writer.user(&[Piece::text(&*message.content)]),
            Entry::Summary(summary) => writer.user(&[Piece::text(summary_text(summary))]),
            Entry::Turn(turn) => {
                if writer.contents.is_empty() && !turn.answers.is_empty() {
                    return Err(Error::invalid(format!(
                        "messages[{}] calls a tool and no message of the user stands before it; this endpoint wants one",
                        turn.index
                    )));
                }
                writer.turn(&turn);
            }
        }
    }
    writer.flush();
    if writer.contents.is_empty() {
        return Err(Error::invalid("the request has no message that this endpoint can be sent; add a user message"));
    }
    writer.contents.end();
    Ok(())
}

struct Writer<'a, 'b> {
    scene: Scene<'a>,
    contents: List<'b>,
    /// The parts that the model says in one go and that are not written yet, separated by commas.
    said: String,
}

/// A call as it goes out: what its answer has to repeat.
struct Called<'a> {
    id: Option<Cow<'a, str>>,
    name: Cow<'a, str>,
}

impl Writer<'_, '_> {
    /// Writes a content of parts that are separated by commas.
    fn content(&mut self, role: &str, parts: &str) {
        if parts.is_empty() {
            return;
        }
        let mut object = Object::new(self.contents.entry());
        object.string("role", role);
        let out = object.key("parts");
        out.push('[');
        out.push_str(parts);
        out.push(']');
        object.end();
    }

    /// Writes what the model said so far.
    fn flush(&mut self) {
        let mut said = std::mem::take(&mut self.said);
        self.content("model", &said);
        said.clear();
        self.said = said;
    }

    /// Where the next part of what the model says goes.
    fn next(&mut self) -> &mut String {
        if !self.said.is_empty() {
            self.said.push(',');
        }
        &mut self.said
    }

    fn user(&mut self, pieces: &[Piece<'_>]) {
        let is_silent = pieces.iter().all(is_empty);
        if is_silent && !(self.contents.is_empty() && self.said.is_empty() && !pieces.is_empty()) {
            return;
        }
        self.flush();
        if is_silent {
            // A dialogue may begin with nothing, for a model that has its instructions.
            self.content("user", r#"{"text":""}"#);
            return;
        }
        let mut object = Object::new(self.contents.entry());
        object.string("role", "user");
        write_parts(pieces, object.key("parts"));
        object.end();
    }

    /// What the model said and asked for, then all answers, then what only a user can say of them.
    fn turn(&mut self, turn: &Turn<'_>) {
        let called = match self.replayed(turn) {
            Some(called) => called,
            None => self.retold(turn),
        };
        if turn.answers.is_empty() {
            return;
        }
        self.flush();
        let mut after: Vec<Piece<'_>> = Vec::new();
        let mut answers = String::new();
        for (answer, called) in turn.answers.iter().zip(&called) {
            if !answers.is_empty() {
                answers.push(',');
            }
            self.answer(answer, called, &mut after, &mut answers);
        }
        self.content("user", &answers);
        self.user(&after);
    }

    /// The parts as this very host and model wrote them, unless they do not fit the neutral ones: then those are what holds.
    fn replayed<'c>(&mut self, turn: &Turn<'c>) -> Option<Vec<Called<'c>>> {
        let message: &'c AssistantMessage = turn.message;
        let target = self.scene.target;
        let replay = message.replay.as_ref().filter(|replay| replay.is_from(NAME, &target.host, &target.model))?;
        let items: Vec<(&'c str, Members<'c>)> =
            replay.items.iter().filter_map(|item| Some((item.as_str(), Members::of(item.as_str())?))).collect();
        let calls = items.iter().filter(|(_, members)| members.get("functionCall").is_some()).count();
        if calls != turn.answers.len() {
            return None;
        }
        let mut called = Vec::with_capacity(calls);
        for (item, members) in items {
            let is_signed = members.get("thoughtSignature").is_some();
            if let Some(call) = members.get("functionCall") {
                let needs_one = called.is_empty() && !is_signed && self.scene.capabilities.call_signatures;
                let item = if needs_one { Cow::Owned(members.with("thoughtSignature", UNSIGNED)) } else { Cow::Borrowed(item) };
                self.next().push_str(&item);
                called.push(Called::of(call));
                continue;
            }
            let is_thought = members.get("thought") == Some("true") && !is_signed;
            let is_beside = members.0.iter().all(|(key, _)| BESIDE.contains(&&**key));
            if !is_thought && !is_beside {
                self.next().push_str(item);
            }
        }
        Some(called)
    }

    /// The parts that every provider can be told.
    fn retold<'c>(&mut self, turn: &Turn<'c>) -> Vec<Called<'c>> {
        let mut called = Vec::with_capacity(turn.answers.len());
        for (part, answer) in turn.parts() {
            match part {
                AssistantPart::Text { text } | AssistantPart::Refusal { text } if !text.is_empty() => write_text(text, self.next()),
                AssistantPart::Image(_) => write_text(IMAGE_MADE, self.next()),
                // What a provider thought, ran and summed up is of use to that provider only.
                _ => {}
            }
            let Some(answer) = answer.and_then(|at| turn.answers.get(at)) else { continue };
            let name = answer.called(self.scene.names, self.scene.search);
            self.call(&name, answer, called.is_empty());
            called.push(Called { id: None, name });
        }
        called
    }

    fn call(&mut self, name: &str, answer: &Answer<'_>, is_first: bool) {
        let is_unsigned = is_first && self.scene.capabilities.call_signatures;
        let mut object = Object::new(self.next());
        let mut call = Object::new(object.key("functionCall"));
        call.string("name", name);
        call.raw("args", &answer.arguments());
        call.end();
        if is_unsigned {
            object.raw("thoughtSignature", UNSIGNED);
        }
        object.end();
    }

    /// The answer to a call. Images that cannot stand in it are left for the content behind.
    fn answer<'c>(&self, answer: &Answer<'c>, called: &Called<'_>, after: &mut Vec<Piece<'c>>, out: &mut String) {
        let Scene { names, capabilities, .. } = self.scene;
        let mut pieces = pieces::answer(&answer.result, names, capabilities, NAME);
        if !capabilities.tool_images {
            after.extend(pieces::take_images(&mut pieces, &answer.id));
        }
        let (texts, media): (Vec<Piece<'_>>, Vec<Piece<'_>>) = pieces.into_iter().partition(|piece| matches!(piece, Piece::Text(_)));
        let texts = texts.iter().filter_map(|piece| match piece {
            Piece::Text(text) if !text.is_empty() => Some(&**text),
            _ => None,
        });
        let mut object = Object::new(out);
        let mut response = Object::new(object.key("functionResponse"));
        if let Some(id) = &called.id {
            response.string("id", id);
        }
        response.string("name", &called.name);
        let mut said = Object::new(response.key("response"));
        said.string(if is_error(&answer.result) { "error" } else { "output" }, &texts.collect::<Vec<_>>().join("\n\n"));
        said.end();
        if !media.is_empty() {
            write_parts(&media, response.key("parts"));
        }
        response.end();
        object.end();
    }
}

impl<'a> Called<'a> {
    /// A call that the endpoint wrote.
    fn of(call: &'a str) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Fields<'a> {
            #[serde(borrow)]
            id: Text<'a>,
            #[serde(borrow)]
            name: Text<'a>,
        }
        let fields: Fields<'a> = serde_json::from_str(call).unwrap_or_default();
        Self { id: Some(fields.id.into_cow()).filter(|id| !id.is_empty()), name: fields.name.into_cow() }
    }
}

fn is_error(result: &Answered<'_>) -> bool {
    match result {
        Answered::Tool(result) => result.is_error,
        Answered::Search(result) => result.is_error,
        Answered::Missing => true,
    }
}

/// Whether a piece says nothing.
fn is_empty(piece: &Piece<'_>) -> bool {
    matches!(piece, Piece::Text(text) if text.is_empty())
}

/// Writes pieces as a list of parts, but for those that say nothing.
fn write_parts(pieces: &[Piece<'_>], out: &mut String) {
    let mut parts = List::new(out);
    for piece in pieces.iter().filter(|piece| !is_empty(piece)) {
        write_part(piece, parts.entry());
    }
    parts.end();
}

fn write_part(piece: &Piece<'_>, out: &mut String) {
    match piece {
        Piece::Text(text) => write_text(text, out),
        Piece::Own(item) => out.push_str(item),
        Piece::Image(Image::Base64 { media_type, data }) => inline(media_type, data, out),
        Piece::Image(Image::Url { url, media_type }) => match data_url(url) {
            Some((media_type, data)) => inline(media_type, data, out),
            None => {
                let mut object = Object::new(out);
                let mut file = Object::new(object.key("fileData"));
                if let Some(media_type) = media_type {
                    file.string("mimeType", media_type);
                }
                file.string("fileUri", url);
                file.end();
                object.end();
            }
        },
    }
}

fn inline(media_type: &str, data: &str, out: &mut String) {
    let mut object = Object::new(out);
    let mut blob = Object::new(object.key("inlineData"));
    blob.string("mimeType", media_type);
    blob.string("data", data);
    blob.end();
    object.end();
}
