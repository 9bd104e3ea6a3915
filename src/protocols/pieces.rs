//! What users say and tools answer, piece by piece.

use std::{borrow::Cow, sync::Arc};

use tower_genai_core::{Content, Image, ToolDefinition};

use super::{
    Capabilities,
    functions::{about, overflow_of},
    history::{Answered, IMAGE_OMITTED, MISSING_RESULT, search_text},
    wire_names::WireNames,
};

/// What stands in a result where an image was that only a user can send.
const IMAGE_FOLLOWS: &str = "[image: it follows in the next message of the user]";

/// A piece of content as it goes out.
#[derive(Clone, Debug)]
pub(crate) enum Piece<'a> {
    Text(Cow<'a, str>),
    Image(&'a Image),
    /// An item in the protocol's own form, which is JSON.
    Own(&'a str),
}

impl<'a> Piece<'a> {
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }
}

/// The pieces that go to a protocol.
pub(crate) fn pieces<'a>(content: &'a [Content], capabilities: &Capabilities, protocol: &str) -> Vec<Piece<'a>> {
    let piece = |content: &'a Content| match content {
        Content::Text { text } => Some(Piece::text(&**text)),
        Content::Image(_) if !capabilities.images => Some(Piece::text(IMAGE_OMITTED)),
        Content::Image(image) => Some(Piece::Image(image)),
        Content::Provider { protocol: of, item, .. } if **of == *protocol => Some(Piece::Own(item.as_str())),
        Content::Provider { text: Some(text), .. } => Some(Piece::text(&**text)),
        // Content is non-exhaustive: later kinds have no form here yet.
        _ => None,
    };
    content.iter().filter_map(piece).collect()
}

/// The pieces of the answer to a call, with what did not fit into the descriptions of the tools that it loaded.
pub(crate) fn answer<'a>(result: &Answered<'a>, names: &WireNames, capabilities: &Capabilities, protocol: &str) -> Vec<Piece<'a>> {
    let (mut pieces, loaded) = match *result {
        Answered::Tool(result) => (pieces(&result.content, capabilities, protocol), &*result.loaded),
        Answered::Search(result) => (vec![Piece::text(search_text(result, names))], &*result.loaded),
        Answered::Missing => (vec![Piece::text(MISSING_RESULT)], &[][..]),
    };
    let overflow = |tool: &Arc<ToolDefinition>| Some(about(&names.wire(&tool.name), overflow_of(tool, capabilities)?.1));
    pieces.extend(loaded.iter().filter_map(overflow).map(Piece::text));
    pieces
}

/// Takes the images out of an answer, for the message of a user behind it: first what they belong to, then they.
pub(crate) fn take_images<'a>(answer: &mut [Piece<'a>], call: &str) -> Vec<Piece<'a>> {
    let mut taken = Vec::new();
    for piece in answer {
        if let Piece::Image(image) = *piece {
            if taken.is_empty() {
                taken.push(Piece::text(format!("Returned by call {call}:")));
            }
            taken.push(Piece::Image(image));
            *piece = Piece::text(IMAGE_FOLLOWS);
        }
    }
    taken
}

/// The media type and the base64 of a URL that holds its data.
pub(crate) fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"))
}
