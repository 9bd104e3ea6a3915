//! Raw JSON that survives every store byte for byte.

use std::{
    borrow::Cow,
    fmt,
    str::FromStr,
    sync::{Arc, LazyLock},
};

use memchr::{memchr, memmem::Finder};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{Error, ErrorKind};

/// A JSON value as validated, minified text: a schema, the arguments of a call, an item of a provider.
///
/// The text keeps its key order, number spelling and escapes, so what a provider sent is what it gets back, except for an escaped half of a
/// surrogate pair ([`well_formed`](Self::well_formed)). Cloning is cheap.
///
/// It serialises as a JSON *string*, because a nested value would lose its bytes in stores that parse it, and reads both that string and a
/// nested value. A value that is a string itself is therefore written twice: `"\"text\""`.
///
/// ```
/// use tower_genai_core::Json;
///
/// let schema = Json::parse(r#"{ "type": "object", "x": 1.0 }"#)?;
/// assert_eq!(schema.as_str(), r#"{"type":"object","x":1.0}"#);
///
/// let stored = serde_json::to_string(&schema)?;
/// let restored: Json = serde_json::from_str(&stored)?;
/// assert_eq!(restored, schema);
/// let nested: Json = serde_json::from_str(r#"{"type":"object","x":1.0}"#)?;
/// assert_eq!(nested, schema);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Arc<str>);

impl Json {
    /// Validates and minifies JSON text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] with line and column when the text is not one JSON value.
    pub fn parse(text: &str) -> Result<Self, Error> {
        serde_json::from_str::<IgnoredAny>(text)
            .map_err(|error| Error::new(ErrorKind::InvalidRequest, format!("not valid JSON: {error}")))?;
        Ok(Self(minify(&Self::well_formed(text))))
    }

    /// Minifies text that was put together from values that are JSON, and is therefore not looked at again.
    #[doc(hidden)]
    #[must_use]
    pub fn from_written(text: &str) -> Self {
        debug_assert!(serde_json::from_str::<IgnoredAny>(text).is_ok(), "the text is not JSON");
        Self(minify(text))
    }

    /// JSON text in which no escape is half of a surrogate pair: each such escape becomes U+FFFD.
    ///
    /// Models that are cut in the middle of a character write halves, the grammar of JSON allows them, and both Rust strings and endpoints
    /// refuse the whole text for one of them.
    ///
    /// ```
    /// use tower_genai_core::Json;
    ///
    /// assert_eq!(Json::well_formed(r#"["\ud83d\ude00 \ud83d"]"#), r#"["\ud83d\ude00 \ufffd"]"#);
    /// ```
    #[must_use]
    pub fn well_formed(text: &str) -> Cow<'_, str> {
        // Nearly no text has such an escape, and every byte that a provider sends comes by here.
        static UNICODE_ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u"));
        if UNICODE_ESCAPE.find(text.as_bytes()).is_none() {
            return Cow::Borrowed(text);
        }
        let mut out = String::new();
        let (mut kept, mut at) = (0, 0);
        while let Some(escape) = text.get(at..).and_then(|rest| rest.find('\\')).map(|offset| at + offset) {
            let unit = code_unit(text, escape);
            at = match unit {
                Some(0xd800..=0xdbff) if matches!(code_unit(text, escape + 6), Some(0xdc00..=0xdfff)) => escape + 12,
                Some(0xd800..=0xdfff) => {
                    out.push_str(text.get(kept..escape).unwrap_or_default());
                    out.push_str("\\ufffd");
                    kept = escape + 6;
                    kept
                }
                _ => escape + 2,
            };
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(kept..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// The empty object.
    #[must_use]
    pub fn empty_object() -> Self {
        Self(Arc::from("{}"))
    }

    /// A JSON string that holds `text`.
    #[must_use]
    pub fn string(text: &str) -> Self {
        let mut out = String::with_capacity(text.len() + 2);
        write_string(&mut out, text);
        Self(out.into())
    }

    /// Serialises any value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] when the value cannot be written as JSON, for example a map whose keys
    /// are not strings.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        serde_json::to_string(value)
            .map(|text| Self(text.into()))
            .map_err(|error| Error::new(ErrorKind::InvalidRequest, format!("cannot be written as JSON: {error}")))
    }

    /// The minified text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads the value into a Rust type.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] when the value does not fit the type.
    pub fn deserialize<'de, T: Deserialize<'de>>(&'de self) -> Result<T, Error> {
        serde_json::from_str(&self.0).map_err(|error| Error::new(ErrorKind::InvalidRequest, format!("JSON does not fit: {error}")))
    }

    /// The value as a generic tree. Key order is not kept; use [`as_str`](Self::as_str) to send it.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// Whether the value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }
}

impl Default for Json {
    fn default() -> Self {
        Self::empty_object()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({} bytes)", self.0.len())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Json {
    type Err = Error;

    /// As [`parse`](Self::parse).
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl From<&RawValue> for Json {
    /// As [`parse`](Self::parse), without looking again whether the text is JSON.
    fn from(value: &RawValue) -> Self {
        Self(minify(&Self::well_formed(value.get())))
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

/// The UTF-16 unit that an escape at `at` stands for.
fn code_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

/// Removes the white space between tokens; the text is known to be valid.
fn minify(text: &str) -> Arc<str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    // What stands before `kept` is dealt with; up to `at` there is nothing to remove.
    let (mut kept, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(text, at + 1),
            b' ' | b'\t' | b'\n' | b'\r' => {
                out.push_str(text.get(kept..at).unwrap_or_default());
                at += 1;
                kept = at;
            }
            _ => at += 1,
        }
    }
    let rest = text.get(kept..).unwrap_or_default();
    if out.is_empty() {
        return Arc::from(rest);
    }
    out.push_str(rest);
    out.into()
}

/// Where a string ends whose content begins at `at`: behind its closing quote, which is the first without an odd number of backslashes.
fn string_end(text: &str, mut at: usize) -> usize {
    while let Some(offset) = text.as_bytes().get(at..).and_then(|rest| memchr(b'"', rest)) {
        let quote = at + offset;
        let before = text.as_bytes().get(at..quote).unwrap_or_default();
        at = quote + 1;
        if before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0 {
            return at;
        }
    }
    text.len()
}

/// Appends text as a JSON string.
pub fn write_string(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        let Some((clean, tail)) = rest.split_at_checked(at) else { break };
        out.push_str(clean);
        let Some(special) = tail.bytes().next() else { break };
        match special {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                out.push_str("\\u00");
                let digits = [control >> 4, control & 15];
                out.extend(digits.iter().filter_map(|digit| HEX.get(usize::from(*digit))).map(|hex| char::from(*hex)));
            }
        }
        rest = tail.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    out.push('"');
}

/// At the top a string is stored JSON text; every other value is taken as it stands.
struct JsonVisitor;

/// Writes the visited value, nested values included, as JSON text in the order it arrives.
struct Transcribe<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Transcribe<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Transcribe<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.0.push_str(if value { "true" } else { "false" });
        Ok(())
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.0.push_str(&value.to_string());
        Ok(())
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.0.push_str(&value.to_string());
        Ok(())
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        let number = serde_json::Number::from_f64(value).ok_or_else(|| E::custom("a number that JSON cannot hold"))?;
        self.0.push_str(&number.to_string());
        Ok(())
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        write_string(self.0, value);
        Ok(())
    }
    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.0.push_str("null");
        Ok(())
    }
    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.push('[');
        let mut first = true;
        loop {
            let len = self.0.len();
            if !first {
                self.0.push(',');
            }
            if items.next_element_seed(Transcribe(self.0))?.is_none() {
                self.0.truncate(len);
                break;
            }
            first = false;
        }
        self.0.push(']');
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        self.0.push('{');
        let mut first = true;
        while let Some(key) = entries.next_key::<String>()? {
            if !first {
                self.0.push(',');
            }
            first = false;
            write_string(self.0, &key);
            self.0.push(':');
            entries.next_value_seed(Transcribe(self.0))?;
        }
        self.0.push('}');
        Ok(())
    }
}

macro_rules! transcribe_at_top {
    ($($method:ident($type:ty)),*) => {$(
        fn $method<E: de::Error>(self, value: $type) -> Result<Json, E> {
            let mut out = String::new();
            Transcribe(&mut out).$method(value)?;
            Ok(Json(out.into()))
        }
    )*};
}

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON text in a string, or a JSON value")
    }
    transcribe_at_top!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64));

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Json, E> {
        Json::parse(value).map_err(E::custom)
    }
    fn visit_unit<E: de::Error>(self) -> Result<Json, E> {
        Ok(Json(Arc::from("null")))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Json, A::Error> {
        let mut out = String::new();
        Transcribe(&mut out).visit_seq(items)?;
        Ok(Json(out.into()))
    }
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Json, A::Error> {
        let mut out = String::new();
        Transcribe(&mut out).visit_map(entries)?;
        Ok(Json(out.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_raw_value_is_read_as_its_text_is() {
        for text in [r#"{ "a" : [1.0, "x y\" \u00e9"] }"#, r#"["\ud83d", "\ud83d\ude00"]"#, "null"] {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            assert_eq!(Json::from(raw), Json::parse(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn minifies_outside_strings_only() {
        let json = Json::parse(" { \"a b\" : [ 1 , 2.50e3 ,\n\"\\\" x \" ] }\r\n").unwrap();
        assert_eq!(json.as_str(), "{\"a b\":[1,2.50e3,\"\\\" x \"]}");
    }

    #[test]
    fn halves_of_surrogate_pairs_are_replaced() {
        for (text, expected) in [
            (r#"{"\ud800":"\uDC00"}"#, r#"{"\ufffd":"\ufffd"}"#),
            (r#"["\ud83d\ude00","\ud83d\ud83d\ude00","\ude00\ud83d"]"#, r#"["\ud83d\ude00","\ufffd\ud83d\ude00","\ufffd\ufffd"]"#),
            (r#"["\\ud83d","\\\ud83d","\n\u00e9"]"#, r#"["\\ud83d","\\\ufffd","\n\u00e9"]"#),
        ] {
            let json = Json::parse(text).unwrap();
            assert_eq!(json.as_str(), expected);
            assert!(serde_json::from_str::<serde_json::Value>(json.as_str()).is_ok(), "{text}");
        }
        for broken in ["\\", "\\u", "\\ud8", "\\ud83d\\ude00\\", "\\u+123", "\\u検索"] {
            assert_eq!(Json::well_formed(broken), broken);
        }
    }

    #[test]
    fn refuses_what_is_not_one_value() {
        for text in ["", "{", "{} {}", "nul", "{\"a\":}", "[1,]", "'a'"] {
            assert_eq!(Json::parse(text).unwrap_err().kind(), ErrorKind::InvalidRequest, "{text}");
        }
    }

    #[test]
    fn reads_nested_values_in_their_order() {
        let json: Json = serde_json::from_str("{\"z\": [null, true, -1, 1.5, \"\\u0007é\"], \"a\": {}}").unwrap();
        assert_eq!(json.as_str(), "{\"z\":[null,true,-1,1.5,\"\\u0007é\"],\"a\":{}}");
    }

    #[test]
    fn survives_tagged_flattened_and_generic_stores() {
        #[derive(Serialize, Deserialize, PartialEq, Debug)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Tagged {
            Call { arguments: Json },
        }
        let call = Tagged::Call { arguments: Json::parse("{\"b\":1.0,\"a\":12345678901234567890123}").unwrap() };
        let value = serde_json::to_value(&call).unwrap();
        assert_eq!(serde_json::from_value::<Tagged>(value).unwrap(), call);
    }

    #[test]
    fn a_stored_json_string_stays_a_string() {
        let json = Json::string("say \"hi\"");
        let restored: Json = serde_json::from_str(&serde_json::to_string(&json).unwrap()).unwrap();
        assert_eq!(restored, json);
        assert_eq!(restored.deserialize::<String>().unwrap(), "say \"hi\"");
    }

    #[test]
    fn debug_shows_no_content() {
        assert_eq!(format!("{:?}", Json::string("secret")), "Json(8 bytes)");
    }

    proptest! {
        #[test]
        fn strings_round_trip(text in "\\PC*|[\\x00-\\x1f\"\\\\]*") {
            prop_assert_eq!(Json::string(&text).deserialize::<String>().unwrap(), text);
        }

        #[test]
        fn parse_is_idempotent_and_never_panics(text in "[ \\[\\]{}:,\"a1.e\\\\\n-]*") {
            if let Ok(json) = Json::parse(&text) {
                prop_assert_eq!(Json::parse(json.as_str()).unwrap(), json.clone());
                prop_assert_eq!(json.to_value(), serde_json::from_str::<serde_json::Value>(&text).unwrap());
            }
        }
    }
}
