//! The answers to calls.

use std::sync::Arc;

use tower_genai_core::{Content, Error, Image, ToolDefinition};

use super::tools;
use crate::protocols::{
    Capabilities,
    functions::check_description,
    history::{Answered, IMAGE_OMITTED, MISSING_RESULT, search_text},
    members::{Members, write_string},
    object::{List, Object},
    openai_responses::{NAME, item::Call},
    wire_names::WireNames,
};

/// An answer to write.
pub(super) struct Output<'a, 'b> {
    pub(super) call: Call,
    /// The id of the call as it goes out.
    pub(super) id: &'b str,
    pub(super) result: &'b Answered<'a>,
    /// The definitions that the answer to a search carries.
    pub(super) loaded: &'b [&'a Arc<ToolDefinition>],
    /// The program that made the call, as JSON.
    pub(super) program: Option<&'b str>,
}

/// What does not change from answer to answer.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) names: &'a WireNames,
    pub(super) capabilities: &'a Capabilities,
}

impl<'a> Output<'a, '_> {
    /// Writes the answer.
    pub(super) fn write(&self, scene: Scene<'_>, out: &mut String) -> Result<(), Error> {
        if let Some(own) = self.own_item() {
            own_item(own, self.call, self.id, out);
            return Ok(());
        }
        let mut object = Object::typed(out, self.call.answer_type());
        match self.call {
            Call::Function | Call::Custom => {
                object.string("call_id", self.id);
                self.content(scene, object.key("output"));
            }
            Call::Search => {
                object.string("call_id", self.id);
                object.string("execution", "client");
                object.string("status", "completed");
                let mut tools = List::new(object.key("tools"));
                for tool in self.loaded {
                    check_description(tool, scene.capabilities)?;
                    tools::function(tool, scene.names, true, tools.entry());
                }
                tools.end();
            }
            Call::Shell => {
                object.string("call_id", self.id);
                let (stdout, stderr) = if self.failed() { (String::new(), self.text()) } else { (self.text(), String::new()) };
                let mut chunks = List::new(object.key("output"));
                let mut chunk = Object::new(chunks.entry());
                chunk.string("stdout", &stdout);
                chunk.string("stderr", &stderr);
                let mut outcome = Object::typed(chunk.key("outcome"), "exit");
                outcome.raw("exit_code", if self.failed() { "1" } else { "0" });
                outcome.end();
                chunk.end();
                chunks.end();
            }
            Call::LocalShell => {
                object.string("id", self.id);
                object.string("output", &self.text());
            }
            Call::ApplyPatch => {
                object.string("call_id", self.id);
                object.string("status", if self.failed() { "failed" } else { "completed" });
                object.string("output", &self.text());
            }
            Call::Computer => {
                object.string("call_id", self.id);
                let image = self.contents().iter().find_map(|content| match content {
                    Content::Image(image) => Some(image),
                    _ => None,
                });
                let mut screenshot = Object::typed(object.key("output"), "computer_screenshot");
                match image {
                    Some(image) => image_url(image, screenshot.key("image_url")),
                    None => screenshot.string("image_url", BLANK_SCREENSHOT),
                }
                screenshot.end();
            }
            Call::Approval => {
                object.string("approval_request_id", self.id);
                object.bool("approve", false);
                object.string("reason", &self.text());
            }
        }
        if let Some(program) = self.program.filter(|_| matches!(self.call, Call::Function | Call::Custom | Call::Shell | Call::ApplyPatch))
        {
            object.raw("caller", program);
        }
        object.end();
        Ok(())
    }

    fn contents(&self) -> &'a [Content] {
        match self.result {
            Answered::Tool(result) => &result.content,
            _ => &[],
        }
    }

    fn failed(&self) -> bool {
        match self.result {
            Answered::Tool(result) => result.is_error,
            Answered::Search(result) => result.is_error,
            Answered::Missing => true,
        }
    }

    /// The item that the caller wrote for this protocol, for answers that are no plain text.
    fn own_item(&self) -> Option<&'a str> {
        let kind = self.call.answer_type();
        self.contents().iter().find_map(|content| match content {
            Content::Provider { protocol, item, .. } if **protocol == *NAME => {
                Members::of(item.as_str())?.get("type").filter(|written| written.trim_matches('"') == kind)?;
                Some(item.as_str())
            }
            _ => None,
        })
    }

    /// All text of the answer.
    fn text(&self) -> String {
        match self.result {
            Answered::Tool(result) => {
                let texts: Vec<&str> = result.content.iter().filter_map(text).collect();
                texts.join("\n")
            }
            Answered::Search(result) => result.note.to_string(),
            Answered::Missing => MISSING_RESULT.to_owned(),
        }
    }

    /// The output of a function: its text, or a list where it is more than one.
    fn content(&self, scene: Scene<'_>, out: &mut String) {
        match self.result {
            Answered::Tool(result) => output_content(&result.content, scene.capabilities, out),
            Answered::Search(result) => write_string(out, &search_text(result, scene.names)),
            Answered::Missing => write_string(out, MISSING_RESULT),
        }
    }

    /// What the model is to read about a search beside the definitions.
    pub(super) fn note(&self) -> Option<String> {
        let note = match (self.call, self.result) {
            (Call::Search, Answered::Search(_) | Answered::Tool(_)) => self.text(),
            _ => String::new(),
        };
        Some(note).filter(|note| !note.is_empty())
    }
}

/// What stands for a screenshot where a computer call was answered without one: the endpoint takes nothing else than an image.
const BLANK_SCREENSHOT: &str =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

fn text(content: &Content) -> Option<&str> {
    match content {
        Content::Text { text } => Some(text),
        _ => None,
    }
}

/// Writes an item of the caller's own, as the answer to this very call.
fn own_item(item: &str, call: Call, id: &str, out: &mut String) {
    let key = match call {
        Call::LocalShell => "id",
        Call::Approval => "approval_request_id",
        _ => "call_id",
    };
    let Some(members) = Members::of(item) else { return };
    let mut object = Object::typed(out, call.answer_type());
    object.string(key, id);
    for (member, value) in &members.0 {
        if member != key && member != "type" {
            object.raw(member, value);
        }
    }
    object.end();
}

fn output_content(content: &[Content], capabilities: &Capabilities, out: &mut String) {
    let sent: Vec<&Content> = content.iter().filter(|content| is_sent(content)).collect();
    match sent.as_slice() {
        [] => out.push_str("\"\""),
        [Content::Text { text }] => write_string(out, text),
        _ => list(&sent, capabilities, out),
    }
}

/// Whether a piece of content goes to this protocol.
pub(super) fn is_sent(content: &Content) -> bool {
    !matches!(content, Content::Provider { protocol, text: None, .. } if **protocol != *NAME)
}

/// Writes content as a list.
pub(super) fn list(content: &[&Content], capabilities: &Capabilities, out: &mut String) {
    let mut list = List::new(out);
    for content in content {
        match content {
            Content::Text { text } => input_text(list.entry(), text),
            Content::Image(_) if !capabilities.images => input_text(list.entry(), IMAGE_OMITTED),
            Content::Image(image) => {
                let mut object = Object::typed(list.entry(), "input_image");
                object.string("detail", "auto");
                image_url(image, object.key("image_url"));
                object.end();
            }
            Content::Provider { protocol, item, .. } if **protocol == *NAME => list.entry().push_str(item.as_str()),
            Content::Provider { text: Some(text), .. } => input_text(list.entry(), text),
            // Content is non-exhaustive: later kinds have no form here yet.
            _ => {}
        }
    }
    list.end();
}

fn input_text(out: &mut String, text: &str) {
    let mut object = Object::typed(out, "input_text");
    object.string("text", text);
    object.end();
}

fn image_url(image: &Image, out: &mut String) {
    match image {
        Image::Url { url, .. } => write_string(out, url),
        Image::Base64 { media_type, data } => write_string(out, &format!("data:{media_type};base64,{data}")),
    }
}
