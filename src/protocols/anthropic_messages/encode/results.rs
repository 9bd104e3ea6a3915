//! The answers to calls.
//!
//! A result holds references to what it loads, or content, never both: what the model reads beside references stands behind all results
//! of the message.

use std::sync::Arc;

use tower_genai_core::{Content, ToolDefinition, wire_name};

use super::{
    content::{write_content, write_text},
    dialogue::{BlockKind, Layout, Role},
    tools::WireTools,
};
use crate::protocols::{
    history::{Answer, Answered, MISSING_RESULT},
    members::write_string,
};

/// What the model reads about an answer.
#[derive(Clone, Copy)]
pub(super) enum Note<'a> {
    Text(&'a str),
    Content(&'a [Content]),
}

impl<'a> Layout<'_, 'a> {
    /// Writes the result of a call; what belongs behind all results is returned.
    pub(super) fn answer(&mut self, answer: &Answer<'a>) -> Option<Note<'a>> {
        let (loaded, is_error, note): (&'a [Arc<ToolDefinition>], bool, Note<'a>) = match answer.result {
            Answered::Tool(result) => (&result.loaded, result.is_error, Note::Content(&result.content)),
            Answered::Search(result) => (&result.loaded, result.is_error, Note::Text(&result.note)),
            Answered::Missing => (&[], true, Note::Text(MISSING_RESULT)),
        };
        let names = self.capabilities.names;
        let declared: Vec<usize> = loaded.iter().filter_map(|tool| self.tools.position(&wire_name(&tool.name, names))).collect();
        let mut fresh = declared.clone();
        fresh.retain(|tool| self.understands_references && self.referenced.insert(*tool));
        let (tools, images, is_search) = (self.tools, self.capabilities.images, answer.is_search);
        let block = self.dialogue.blocks.len();
        self.dialogue.push(Role::User, BlockKind::Result, |out| {
            out.push_str("{\"type\":\"tool_result\",\"tool_use_id\":");
            write_string(out, &answer.id);
            if is_error {
                out.push_str(",\"is_error\":true");
            }
            let start = out.len();
            out.push_str(",\"content\":[");
            let empty = out.len();
            if fresh.is_empty() {
                write_note(out, note, images);
                if out.len() == empty && (is_search || !loaded.is_empty()) {
                    write_text(out, &what_is_callable(tools, &declared));
                }
            } else {
                write_references(out, tools, &fresh);
            }
            if out.len() == empty {
                out.truncate(start);
            } else {
                out.push(']');
            }
            out.push('}');
            true
        });
        self.dialogue.references.extend(fresh.iter().map(|tool| (block, *tool)));
        (!fresh.is_empty()).then_some(note)
    }
}

fn write_note(out: &mut String, note: Note<'_>, images: bool) {
    match note {
        Note::Text(text) => {
            write_text(out, text);
        }
        Note::Content(content) => {
            let mut is_first = true;
            for content in content {
                let start = out.len();
                if !is_first {
                    out.push(',');
                }
                if write_content(out, content, images) {
                    is_first = false;
                } else {
                    out.truncate(start);
                }
            }
        }
    }
}

fn write_references(out: &mut String, tools: &WireTools, positions: &[usize]) {
    for (number, position) in positions.iter().enumerate() {
        out.push_str(if number == 0 { "" } else { "," });
        out.push_str("{\"type\":\"tool_reference\",\"tool_name\":");
        write_string(out, tools.wire_name(*position));
        out.push('}');
    }
}

/// What a search without a note says where no reference can.
fn what_is_callable(tools: &WireTools, declared: &[usize]) -> String {
    if declared.is_empty() {
        return "No tools were loaded.".to_owned();
    }
    let names: Vec<String> = declared.iter().map(|position| format!("`{}`", tools.wire_name(*position))).collect();
    format!("You can call: {}.", names.join(", "))
}
