//! What a tool gives back.

use serde::Serialize;
use tower_genai_core::{Content, Error, Image, Json, ToolCall, ToolResult};

/// What a tool gives back: what the model reads, and whether it is a failure.
///
/// ```
/// use tower_genai_tool_loop::ToolOutput;
///
/// let sunny = ToolOutput::from("sunny");
/// let figures = ToolOutput::json(&[20.5, 21.0])?;
/// let failed = ToolOutput::error("no such city; give its English name");
/// assert!(failed.is_error && !sunny.is_error && figures != sunny);
/// # Ok::<(), tower_genai_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// What the model reads.
    pub content: Vec<Content>,
    /// Whether the tool failed. The model is told, and can try again.
    pub is_error: bool,
}

impl ToolOutput {
    /// Texts and images.
    pub fn new(content: impl IntoIterator<Item = Content>) -> Self {
        Self { content: content.into_iter().collect(), is_error: false }
    }

    /// A failure, in words that say what to change.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::from(text.into()) }
    }

    /// A value as JSON text; a string as it is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) for what has no JSON form.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        let json = Json::from_serialize(value)?;
        Ok(match json.deserialize::<String>() {
            Ok(text) => Self::from(text),
            Err(_) => Self::from(json.as_str()),
        })
    }

    /// Adds an image.
    #[must_use]
    pub fn image(mut self, image: Image) -> Self {
        self.content.push(Content::Image(image));
        self
    }

    /// The answer to a call.
    pub(crate) fn into_result(self, call: &ToolCall) -> ToolResult {
        let mut result = ToolResult::text(call, "");
        (result.content, result.is_error) = (self.content, self.is_error);
        result
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::new([Content::text(text)])
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::new([Content::text(text)])
    }
}

impl From<Image> for ToolOutput {
    fn from(image: Image) -> Self {
        Self::default().image(image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_json_and_strings_are_themselves() {
        assert_eq!(ToolOutput::json("a \"b\"").unwrap(), ToolOutput::from("a \"b\""));
        assert_eq!(ToolOutput::json(&serde_json::json!({"a": [1, null]})).unwrap(), ToolOutput::from(r#"{"a":[1,null]}"#));
        assert_eq!(ToolOutput::json(&()).unwrap(), ToolOutput::from("null"));
        let call = ToolCall::from_text("1", "t", "");
        let failed = ToolOutput::error("no").into_result(&call);
        assert!(failed.is_error && failed.content == [Content::text("no")] && *failed.call_id == *"1");
    }
}
