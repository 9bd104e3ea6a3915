//! Fields that may turn out to be of any JSON type: what is not of the expected one counts as absent.
//!
//! Gateways put numbers where strings belong, `null` where objects belong and fields of their own beside both. A decoder that reads
//! with these types accepts whatever is JSON, in one pass and without an allocation.

use std::{borrow::Cow, fmt, marker::PhantomData, ops::Deref, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

/// A string, borrowed where it holds no escapes; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text<'a>(Cow<'a, str>);

impl<'a> Text<'a> {
    /// The text, unless it is empty.
    pub(crate) fn some(&self) -> Option<&str> {
        Some(&*self.0).filter(|text| !text.is_empty())
    }

    pub(crate) fn into_cow(self) -> Cow<'a, str> {
        self.0
    }

    pub(crate) fn to_arc(&self) -> Arc<str> {
        Arc::from(&*self.0)
    }
}

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// A whole number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) Option<u64>);

/// A string or a number, as text: some hosts number their error codes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Code<'a>(pub(crate) Option<Cow<'a, str>>);

/// Visits everything that is not expected and takes it for the default.
macro_rules! anything_else {
    ($value:ty, $default:expr, $($method:ident)*) => {
        anything_else!(@all $value, $default, bool unit seq map $($method)*);
    };
    (@all $value:ty, $default:expr, $($method:ident)*) => {
        type Value = $value;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON value")
        }
        $(anything_else!(@$method $value, $default);)*
    };
    (@bool $value:ty, $default:expr) => {
        fn visit_bool<E: de::Error>(self, _: bool) -> Result<$value, E> {
            Ok($default)
        }
    };
    (@unit $value:ty, $default:expr) => {
        fn visit_unit<E: de::Error>(self) -> Result<$value, E> {
            Ok($default)
        }
    };
    (@seq $value:ty, $default:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<$value, A::Error> {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            Ok($default)
        }
    };
    (@map $value:ty, $default:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<$value, A::Error> {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($default)
        }
    };
    (@numbers $value:ty, $default:expr) => {
        fn visit_i64<E: de::Error>(self, _: i64) -> Result<$value, E> {
            Ok($default)
        }
        fn visit_u64<E: de::Error>(self, _: u64) -> Result<$value, E> {
            Ok($default)
        }
        fn visit_f64<E: de::Error>(self, _: f64) -> Result<$value, E> {
            Ok($default)
        }
    };
    (@strings $value:ty, $default:expr) => {
        fn visit_str<E: de::Error>(self, _: &str) -> Result<$value, E> {
            Ok($default)
        }
    };
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    anything_else!(Text<'de>, Text::default(), numbers);

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    anything_else!(Number, Number(None), strings);

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number(Some(number)))
    }
    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Number, E> {
        Ok(Number(None))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Number, E> {
        // Some hosts count in floats. `as` saturates, so a number that no u64 holds does no harm.
        Ok(Number(Some(number as u64).filter(|_| number >= 0.0 && number.fract() == 0.0)))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct CodeVisitor;

impl<'de> Visitor<'de> for CodeVisitor {
    anything_else!(Code<'de>, Code(None),);

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Code<'de>, E> {
        Ok(Code(Some(Cow::Borrowed(text))))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Code<'de>, E> {
        Ok(Code(Some(Cow::Owned(text.to_owned()))))
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Code<'de>, E> {
        Ok(Code(Some(number.to_string().into())))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Code<'de>, E> {
        Ok(Code(Some(number.to_string().into())))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Code<'de>, E> {
        Ok(Code(Some(number.to_string().into())))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Code<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CodeVisitor)
    }
}

/// A list, empty where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Many<T>(pub(crate) Vec<T>);

impl<T> Default for Many<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// An object, the default where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Object<T>(pub(crate) T);

struct ManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ManyVisitor<T> {
    anything_else!(@all Many<T>, Many::default(), bool unit map numbers strings);

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Many<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Many(all))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ManyVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for ObjectVisitor<T> {
    anything_else!(@all Object<T>, Object::default(), bool unit seq numbers strings);

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(entries)).map(Object)
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData))
    }
}

/// Reads a value that may be missing or of another type, which is the default then.
pub(crate) fn read<'a, T: Deserialize<'a> + Default>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Fields<'a> {
        #[serde(borrow)]
        text: Text<'a>,
        number: Number,
        #[serde(borrow)]
        code: Code<'a>,
    }

    #[test]
    fn any_type_is_read_and_the_expected_one_is_kept() {
        for value in ["null", "true", "[1,[2]]", "{\"a\":{\"b\":[]}}", "-1.5", "-3"] {
            let text = format!("{{\"text\":{value},\"number\":{value}}}");
            let fields: Fields<'_> = serde_json::from_str(&text).unwrap();
            assert_eq!((fields.text.some(), fields.number, fields.code.0), (None, Number(None), None), "{value}");
        }
        let fields: Fields<'_> = serde_json::from_str(r#"{"text":"a","number":2,"code":429}"#).unwrap();
        assert_eq!((&*fields.text, fields.number.0, fields.code.0.as_deref()), ("a", Some(2), Some("429")));
        let fields: Fields<'_> = serde_json::from_str(r#"{"text":"a\n","number":3.0,"code":"x"}"#).unwrap();
        assert_eq!((&*fields.text, fields.number.0, fields.code.0.as_deref()), ("a\n", Some(3), Some("x")));
        let fields: Fields<'_> = serde_json::from_str(r#"{"number":"7","text":5}"#).unwrap();
        assert_eq!((fields.number.0, fields.text.some()), (None, None));
    }

    #[test]
    fn lists_and_objects_may_be_something_else() {
        #[derive(Debug, Default, Deserialize)]
        #[serde(default)]
        struct Outer<'a> {
            #[serde(borrow)]
            list: Many<Object<Fields<'a>>>,
            object: Object<Counter>,
        }
        #[derive(Debug, Default, Deserialize)]
        #[serde(default)]
        struct Counter {
            number: Number,
        }
        let outer: Outer<'_> = serde_json::from_str(r#"{"list":[{"text":"a"},null,7,[1]],"object":{"number":4,"x":[]}}"#).unwrap();
        assert_eq!(outer.list.0.iter().map(|item| item.0.text.some()).collect::<Vec<_>>(), [Some("a"), None, None, None]);
        assert_eq!(outer.object.0.number.0, Some(4));
        for other in ["null", "true", "1", "-1", "1.5", "\"x\""] {
            let document = format!("{{\"list\":{other},\"object\":{other}}}");
            let outer: Outer<'_> = serde_json::from_str(&document).unwrap();
            assert!(outer.list.0.is_empty() && outer.object.0.number.0.is_none(), "{other}");
        }
        let outer: Outer<'_> = serde_json::from_str(r#"{"list":{"a":1},"object":[1]}"#).unwrap();
        assert!(outer.list.0.is_empty() && outer.object.0.number.0.is_none());
    }

    #[test]
    fn text_without_escapes_is_borrowed() {
        let fields: Fields<'_> = serde_json::from_str(r#"{"text":"plain é"}"#).unwrap();
        assert!(matches!(fields.text.into_cow(), Cow::Borrowed("plain é")));
    }

    #[test]
    fn a_value_of_another_type_is_the_default() {
        let raw: &RawValue = serde_json::from_str("[1]").unwrap();
        assert_eq!(read::<String>(Some(raw)), "");
        assert_eq!(read::<Vec<u8>>(Some(raw)), [1]);
        assert!(read::<Vec<u8>>(None).is_empty());
    }
}
