//! What users say and tools answer.

use std::borrow::Cow;

use tower_genai_core::{Content, Image};

use crate::protocols::{
    Capabilities,
    chat_completions::NAME,
    history::IMAGE_OMITTED,
    members::write_string,
    object::{List, Object},
};

/// A piece of content as it goes out.
#[derive(Clone, Debug)]
pub(super) enum Piece<'a> {
    Text(Cow<'a, str>),
    Image(&'a Image),
    /// An item in the protocol's own form, which is JSON.
    Own(&'a str),
}

/// The pieces that go to this protocol.
pub(super) fn pieces<'a>(content: &'a [Content], capabilities: &Capabilities) -> Vec<Piece<'a>> {
    let piece = |content: &'a Content| match content {
        Content::Text { text } => Some(Piece::Text(Cow::Borrowed(text))),
        Content::Image(_) if !capabilities.images => Some(Piece::Text(Cow::Borrowed(IMAGE_OMITTED))),
        Content::Image(image) => Some(Piece::Image(image)),
        Content::Provider { protocol, item, .. } if **protocol == *NAME => Some(Piece::Own(item.as_str())),
        Content::Provider { text: Some(text), .. } => Some(Piece::Text(Cow::Borrowed(text))),
        // Content is non-exhaustive: later kinds have no form here yet.
        _ => None,
    };
    content.iter().filter_map(piece).collect()
}

/// Writes pieces: as one text where they are nothing else, which every host takes, and else as a list.
pub(super) fn write(pieces: &[Piece<'_>], out: &mut String) {
    if let [Piece::Text(text)] = pieces {
        write_string(out, text);
        return;
    }
    let text = |piece: &Piece<'_>| match piece {
        Piece::Text(text) => Some(text.to_string()),
        _ => None,
    };
    if let Some(texts) = pieces.iter().map(text).collect::<Option<Vec<String>>>() {
        write_string(out, &texts.join("\n\n"));
        return;
    }
    let mut list = List::new(out);
    for piece in pieces {
        match piece {
            // Some hosts refuse a text that says nothing.
            Piece::Text(text) if text.is_empty() => {}
            Piece::Text(text) => write_text(text, list.entry()),
            Piece::Image(image) => {
                let mut object = Object::typed(list.entry(), "image_url");
                let mut url = Object::new(object.key("image_url"));
                match image {
                    Image::Url { url: address, .. } => url.string("url", address),
                    Image::Base64 { media_type, data } => url.string("url", &format!("data:{media_type};base64,{data}")),
                }
                url.end();
                object.end();
            }
            Piece::Own(item) => list.entry().push_str(item),
        }
    }
    list.end();
}

/// Writes a text as a part of a list.
pub(super) fn write_text(text: &str, out: &mut String) {
    let mut object = Object::typed(out, "text");
    object.string("text", text);
    object.end();
}
