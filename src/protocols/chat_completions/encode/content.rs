//! What users say and tools answer.

use tower_genai_core::Image;

use crate::protocols::{
    members::write_string,
    object::{List, Object},
    pieces::Piece,
};

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
