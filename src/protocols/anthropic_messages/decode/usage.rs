//! Tokens.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, Visitor},
};
use tower_genai_core::Usage;

/// A number that may be missing, null, or something else.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Count(Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;

        impl<'de> Visitor<'de> for CountVisitor {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Count, E> {
                Ok(Count(Some(value)))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Count, E> {
                Ok(Count(u64::try_from(value).ok()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Count, E> {
                Ok(Count((value >= 0.0).then_some(value as u64)))
            }
            fn visit_unit<E: de::Error>(self) -> Result<Count, E> {
                Ok(Count(None))
            }
            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Count, E> {
                Ok(Count(None))
            }
            fn visit_str<E: de::Error>(self, _: &str) -> Result<Count, E> {
                Ok(Count(None))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Count, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Count(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Count, A::Error> {
                while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Count(None))
            }
        }

        deserializer.deserialize_any(CountVisitor)
    }
}

/// The sum of the numbers in an object, whatever their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum(Option<u64>);

impl<'de> Deserialize<'de> for Sum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SumVisitor;

        impl<'de> Visitor<'de> for SumVisitor {
            type Value = Sum;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of numbers")
            }
            fn visit_unit<E: de::Error>(self) -> Result<Sum, E> {
                Ok(Sum(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Sum, A::Error> {
                let mut sum = None;
                while let Some((_, Count(value))) = members.next_entry::<IgnoredAny, Count>()? {
                    sum = value.map(|value| sum.unwrap_or(0u64).saturating_add(value)).or(sum);
                }
                Ok(Sum(sum))
            }
        }

        deserializer.deserialize_any(SumVisitor)
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    thinking_tokens: Count,
}

/// The counters of a response, each the newest that was told.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    /// Without what was read from or written to the cache.
    input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    output_tokens: Count,
    output_tokens_details: Option<Details>,
    server_tool_use: Sum,
}

impl Counts {
    /// Takes over what a later report tells: reports are cumulative.
    pub(super) fn update(&mut self, later: &Self) {
        let take = |mine: &mut Count, theirs: Count| {
            if theirs.0.is_some() {
                *mine = theirs;
            }
        };
        take(&mut self.input_tokens, later.input_tokens);
        take(&mut self.cache_creation_input_tokens, later.cache_creation_input_tokens);
        take(&mut self.cache_read_input_tokens, later.cache_read_input_tokens);
        take(&mut self.output_tokens, later.output_tokens);
        self.output_tokens_details = later.output_tokens_details.or(self.output_tokens_details);
        self.server_tool_use = Sum(later.server_tool_use.0.or(self.server_tool_use.0));
    }

    pub(super) fn usage(&self) -> Usage {
        let (read, write) = (self.cache_read_input_tokens.0, self.cache_creation_input_tokens.0);
        let cached = read.unwrap_or(0).saturating_add(write.unwrap_or(0));
        let mut usage = Usage::default();
        usage.input_tokens = self.input_tokens.0.map(|input| input.saturating_add(cached));
        usage.cache_read_tokens = read;
        usage.cache_write_tokens = write;
        usage.output_tokens = self.output_tokens.0;
        usage.reasoning_tokens = self.output_tokens_details.and_then(|details| details.thinking_tokens.0);
        usage.server_tool_uses = self.server_tool_use.0;
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Counts {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn later_reports_replace_and_never_add() {
        let mut total = counts(r#"{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"output_tokens":1}"#);
        total.update(&counts(r#"{"output_tokens":40,"output_tokens_details":{"thinking_tokens":30},"input_tokens":null}"#));
        total.update(&counts(r#"{"input_tokens":12,"server_tool_use":{"web_search_requests":2,"web_fetch_requests":1,"note":"x"}}"#));
        let usage = total.usage();
        assert_eq!((usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens), (Some(117), Some(100), Some(5)));
        assert_eq!((usage.output_tokens, usage.reasoning_tokens, usage.server_tool_uses), (Some(40), Some(30), Some(3)));
    }

    #[test]
    fn not_reported_is_not_zero_and_odd_values_are_not_reported() {
        assert_eq!(counts("{}").usage(), Usage::default());
        let odd = counts(r#"{"input_tokens":"7","output_tokens":[1],"cache_read_input_tokens":{"a":1},"server_tool_use":null,"x":1}"#);
        assert_eq!(odd.usage(), Usage::default());
        assert_eq!(counts(r#"{"input_tokens":7.0,"output_tokens":-1}"#).usage().input_tokens, Some(7));
    }
}
