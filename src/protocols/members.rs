//! JSON read without copying: strings, and the members of an object in their order.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};
use serde_json::value::RawValue;
pub(super) use tower_genai_core::write_string;

/// A string that is borrowed where it has no escapes, also inside an `Option`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for TextVisitor<'a> {
            type Value = Text<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'a>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'a>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Text<'a>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }

        deserializer.deserialize_str(TextVisitor(PhantomData))
    }
}

/// The members of an object, values unread, in their order.
#[derive(Debug)]
pub(super) struct Members<'a>(pub(super) Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Members<'a> {
    /// The members of an object; `None` for text that is none.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The JSON text of a member.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The object with one member set, in its place or as the last.
    pub(super) fn with(&self, key: &str, value: &str) -> String {
        let mut out = String::from("{");
        let is_new = self.get(key).is_none();
        let members = self.0.iter().map(|(name, old)| (&**name, if name == key { value } else { *old }));
        for (name, value) in members.chain(is_new.then_some((key, value))) {
            if out.len() > 1 {
                out.push(',');
            }
            write_string(&mut out, name);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
        out
    }

    /// A member that is a string.
    pub(super) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        serde_json::from_str(self.get(key)?).ok().map(|Text(text)| text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for MembersVisitor<'a> {
            type Value = Members<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'a>, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some((Text(key), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    members.push((key, value.get()));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn members_keep_their_order_and_bytes() {
        let members = Members::of(r#"{"z":1.50,"a":{"b" : [1]},"\u0061\"":null}"#).unwrap();
        let shown: Vec<_> = members.0.iter().map(|(key, value)| (&**key, *value)).collect();
        assert_eq!(shown, [("z", "1.50"), ("a", r#"{"b" : [1]}"#), ("a\"", "null")]);
        assert!(Members::of("[1]").is_none() && Members::of("{\"a\":").is_none());
    }

    #[test]
    fn a_member_is_set_in_its_place_or_as_the_last() {
        let members = Members::of(r#"{"z":1.50,"a":{"b" : [1]},"\u0061\"":null}"#).unwrap();
        assert_eq!(members.with("a", "2"), r#"{"z":1.50,"a":2,"a\"":null}"#);
        assert_eq!(Members::of("{}").unwrap().with("new", "[]"), r#"{"new":[]}"#);
    }

    #[test]
    fn strings_are_borrowed_inside_options() {
        let text: Option<Text<'_>> = serde_json::from_str("\"plain\"").unwrap();
        assert!(matches!(text, Some(Text(Cow::Borrowed("plain")))));
        let text: Option<Text<'_>> = serde_json::from_str("\"a\\nb\"").unwrap();
        assert_eq!(text.unwrap().0, "a\nb");
    }

    proptest! {
        #[test]
        fn written_strings_read_back(text in "\\PC*|[\\x00-\\x1f\"\\\\é日]*") {
            let mut out = String::new();
            write_string(&mut out, &text);
            prop_assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
        }
    }
}
