//! Texts, images and the provider's own items as content blocks.

use tower_genai_core::{Content, Image};

use super::super::AnthropicMessages;
use crate::protocols::{Protocol, history::IMAGE_OMITTED, members::write_string};

/// Appends a block; says false where the content has no form here: blank text, which the endpoint refuses, and items of other protocols.
pub(super) fn write_content(out: &mut String, content: &Content, images: bool) -> bool {
    match content {
        Content::Text { text } => write_text(out, text),
        Content::Image(_) if !images => write_text(out, IMAGE_OMITTED),
        Content::Image(image) => {
            write_image(out, image);
            true
        }
        Content::Provider { protocol, item, .. } if **protocol == *AnthropicMessages::NAME && item.is_object() => {
            out.push_str(item.as_str());
            true
        }
        Content::Provider { text: Some(text), .. } => write_text(out, text),
        _ => false,
    }
}

/// Appends a text block unless the text is blank.
pub(super) fn write_text(out: &mut String, text: &str) -> bool {
    if text.trim().is_empty() {
        return false;
    }
    out.push_str("{\"type\":\"text\",\"text\":");
    write_string(out, text);
    out.push('}');
    true
}

fn write_image(out: &mut String, image: &Image) {
    out.push_str("{\"type\":\"image\",\"source\":{\"type\":");
    match image {
        Image::Url { url, .. } => {
            out.push_str("\"url\",\"url\":");
            write_string(out, url);
        }
        Image::Base64 { media_type, data } => {
            out.push_str("\"base64\",\"media_type\":");
            write_string(out, media_type);
            out.push_str(",\"data\":");
            write_string(out, data);
        }
    }
    out.push_str("}}");
}
