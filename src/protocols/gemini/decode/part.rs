//! What a part of an answer is looked at for, in one pass.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::protocols::lenient::Text;

/// The members of a part.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    pub(super) text: Option<Text<'a>>,
    pub(super) is_thought: bool,
    /// Whether nothing but text is said, and whether it was thought.
    pub(super) is_plain: bool,
    pub(super) is_empty: bool,
    /// What it is, if not a text.
    pub(super) data: Option<(Kind, &'a RawValue)>,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    FunctionCall,
    ExecutableCode,
    CodeExecutionResult,
    ToolCall,
    ToolResponse,
    Media,
}

impl Kind {
    fn of(key: &str) -> Option<Self> {
        Some(match key {
            "functionCall" => Self::FunctionCall,
            "executableCode" => Self::ExecutableCode,
            "codeExecutionResult" => Self::CodeExecutionResult,
            "toolCall" => Self::ToolCall,
            "toolResponse" => Self::ToolResponse,
            "inlineData" | "fileData" => Self::Media,
            _ => return None,
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Fields { is_plain: true, is_empty: true, ..Fields::default() };
        while let Some(key) = map.next_key::<Text<'de>>()? {
            fields.is_empty = false;
            match &*key {
                "text" => fields.text = Some(map.next_value()?),
                "thought" => fields.is_thought = map.next_value::<&RawValue>()?.get() == "true",
                other => {
                    fields.is_plain = false;
                    match Kind::of(other) {
                        Some(kind) => fields.data = Some((kind, map.next_value()?)),
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
            }
        }
        Ok(fields)
    }
}
