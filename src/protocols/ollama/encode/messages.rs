//! The dialogue as a list of messages.

use std::borrow::Cow;

use serde::Deserialize;
use tower_genai_core::{AssistantMessage, AssistantPart, Image, ModelRequest, ToolName};

use crate::protocols::{
    Capabilities, Target,
    history::{self, Entry, IMAGE_MADE, Turn, summary_text},
    lenient::Text,
    members::write_string,
    object::{List, Object},
    ollama::NAME,
    pieces::{self, Piece, data_url},
    wire_names::WireNames,
};

/// Messages hold texts and images only, so an item of the protocol has no form here and its text stands for it.
const NO_ITEMS: &str = "";

/// What does not change from message to message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) names: &'a WireNames,
    /// The tool that searches.
    pub(super) search: Option<&'a ToolName>,
    pub(super) capabilities: &'a Capabilities,
    pub(super) target: &'a Target,
}

/// Writes the messages. Says whether there are any.
pub(super) fn write(request: &ModelRequest, system: &[&str], scene: Scene<'_>, out: &mut String) -> bool {
    let mut writer = Writer { scene, messages: List::new(out) };
    if !system.is_empty() {
        writer.message("system", &system.join("\n\n"), &[]);
    }
    let messages = &request.messages;
    for entry in history::begin_at_summary(messages, history::entries(messages, scene.capabilities.call_ids)) {
        match entry {
            Entry::User(message) => writer.user(&pieces::pieces(&message.content, scene.capabilities, NO_ITEMS)),
            Entry::System(message) => {
                let role = if scene.capabilities.system_messages { "system" } else { "user" };
                writer.message(role, &message.content, &[]);
            }
            Entry::Summary(summary) => writer.message("user", &summary_text(summary), &[]),
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
}

impl Writer<'_, '_> {
    fn message(&mut self, role: &str, content: &str, images: &[&str]) {
        let mut object = Object::new(self.messages.entry());
        object.string("role", role);
        object.string("content", content);
        write_images(images, &mut object);
        object.end();
    }

    fn user(&mut self, pieces: &[Piece<'_>]) {
        if !pieces.is_empty() {
            let (text, images) = split(pieces);
            self.message("user", &text, &images);
        }
    }

    /// What the model said and asked for, then all answers, then what only a user can say of them.
    fn turn(&mut self, turn: &Turn<'_>) {
        self.assistant(turn);
        let mut after: Vec<Piece<'_>> = Vec::new();
        let Scene { names, search, capabilities, .. } = self.scene;
        for answer in &turn.answers {
            let mut pieces = pieces::answer(&answer.result, names, capabilities, NO_ITEMS);
            if !capabilities.tool_images {
                after.extend(pieces::take_images(&mut pieces, &answer.id));
            }
            let (text, images) = split(&pieces);
            let mut object = Object::new(self.messages.entry());
            object.string("role", "tool");
            object.string("tool_name", &answer.called(names, search));
            object.string("tool_call_id", &answer.id);
            object.string("content", &text);
            write_images(&images, &mut object);
            object.end();
        }
        self.user(&after);
    }

    /// Writes the message of the model, unless it says nothing and calls nothing.
    fn assistant(&mut self, turn: &Turn<'_>) {
        let Scene { names, search, target, .. } = self.scene;
        let content = said(turn);
        let thinking = thought(turn.message, target);
        if content.is_empty() && thinking.is_none() && turn.answers.is_empty() {
            return;
        }
        let mut object = Object::new(self.messages.entry());
        object.string("role", "assistant");
        object.string("content", &content);
        if let Some(thinking) = thinking {
            object.string("thinking", &thinking);
        }
        if !turn.answers.is_empty() {
            let mut calls = List::new(object.key("tool_calls"));
            for answer in &turn.answers {
                let mut call = Object::new(calls.entry());
                call.string("id", &answer.id);
                let mut function = Object::new(call.key("function"));
                function.string("name", &answer.called(names, search));
                function.raw("arguments", &answer.arguments());
                function.end();
                call.end();
            }
            calls.end();
        }
        object.end();
    }
}

/// What the model said, from the parts that every provider can be told.
fn said(turn: &Turn<'_>) -> String {
    let texts = turn.parts().filter_map(|(part, _)| match part {
        AssistantPart::Text { text } | AssistantPart::Refusal { text } => Some(&**text),
        AssistantPart::Image(_) => Some(IMAGE_MADE),
        // What a provider thought, ran and summed up is of use to that provider only.
        _ => None,
    });
    texts.collect()
}

/// What the model thought, where this host and model wrote it.
fn thought<'a>(message: &'a AssistantMessage, target: &Target) -> Option<Cow<'a, str>> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Item<'a> {
        #[serde(borrow)]
        thinking: Text<'a>,
    }
    let replay = message.replay.as_ref().filter(|replay| replay.is_from(NAME, &target.host, &target.model))?;
    let item: Item<'a> = serde_json::from_str(replay.items.first()?.as_str()).ok()?;
    Some(item.thinking.into_cow()).filter(|text| !text.is_empty())
}

/// The text of a message and the images beside it.
fn split<'a>(pieces: &'a [Piece<'_>]) -> (String, Vec<&'a str>) {
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut images = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) if text.is_empty() => {}
            Piece::Text(text) => texts.push(Cow::Borrowed(text)),
            Piece::Image(Image::Base64 { data, .. }) => images.push(&**data),
            Piece::Image(Image::Url { url, .. }) => match data_url(url) {
                Some((_, data)) => images.push(data),
                None => texts.push(Cow::Owned(format!("[image at {url}: this model is sent no images from URLs]"))),
            },
            Piece::Own(_) => {}
        }
    }
    (texts.join("\n\n"), images)
}

fn write_images(images: &[&str], object: &mut Object<'_>) {
    if images.is_empty() {
        return;
    }
    let mut list = List::new(object.key("images"));
    images.iter().for_each(|data| write_string(list.entry(), data));
    list.end();
}
