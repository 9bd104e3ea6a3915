//! The name of a tool as an endpoint accepts it.

use std::borrow::Cow;

use xxhash_rust::xxh3::Xxh3;

use crate::ToolName;

/// What an endpoint accepts as a function name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameRules {
    /// The longest legal name in bytes.
    pub max_len: usize,
    /// Legal ASCII punctuation besides `_` and `-`; letters and digits are always legal.
    pub punctuation: &'static str,
    /// Whether the first byte must be a letter or `_`.
    pub letter_first: bool,
}

impl NameRules {
    /// `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`: what every endpoint accepts (Gemini asks for the first letter).
    pub const PORTABLE: Self = Self { max_len: 64, punctuation: "", letter_first: true };

    fn allows(self, index: usize, byte: u8) -> bool {
        if index == 0 && self.letter_first && !(byte.is_ascii_alphabetic() || byte == b'_') {
            return false;
        }
        byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || self.punctuation.as_bytes().contains(&byte)
    }

    fn is_legal(self, name: &str) -> bool {
        name.len() <= self.max_len && name.bytes().enumerate().all(|(index, byte)| self.allows(index, byte))
    }
}

const HASH_DIGITS: usize = 8;

/// The name of a tool on the wire: a pure function of its identity and the endpoint's rules.
///
/// A legal name without a namespace goes out as it is. Otherwise it is `namespace__name`, illegal bytes replaced by `_`; where
/// anything was replaced or cut, it ends in `_` and eight hexadecimal digits of a hash of the identity.
///
/// ```
/// use tower_genai_core::{NameRules, ToolName, wire_name};
///
/// let rules = NameRules::PORTABLE;
/// assert_eq!(wire_name(&ToolName::new("read_file"), rules), "read_file");
/// assert_eq!(wire_name(&ToolName::namespaced("crm", "find"), rules), "crm__find");
/// let odd = wire_name(&ToolName::new("read file"), rules).into_owned();
/// assert!(odd.starts_with("read_file_") && odd.len() == "read_file_".len() + 8);
/// ```
#[must_use]
pub fn wire_name(name: &ToolName, rules: NameRules) -> Cow<'_, str> {
    let joined = match &name.namespace {
        None => Cow::Borrowed(&*name.name),
        Some(namespace) => Cow::Owned(format!("{namespace}__{}", name.name)),
    };
    if rules.is_legal(&joined) {
        return joined;
    }
    let room = rules.max_len.saturating_sub(HASH_DIGITS + 1);
    let mut legal = String::with_capacity(rules.max_len);
    for byte in joined.bytes() {
        if legal.len() == room {
            break;
        }
        let index = legal.len();
        legal.push(if rules.allows(index, byte) { char::from(byte) } else { '_' });
    }
    let mut hasher = Xxh3::new();
    hasher.update(name.namespace.as_deref().unwrap_or_default().as_bytes());
    hasher.update(&[u8::from(name.namespace.is_some()), 0]);
    hasher.update(name.name.as_bytes());
    let digits = format!("{:016x}", hasher.digest());
    legal.push('_');
    legal.extend(digits.chars().take(HASH_DIGITS));
    Cow::Owned(legal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_names() {
        let rules = NameRules::PORTABLE;
        let cases = [(ToolName::new("a-B_9"), "a-B_9".to_owned()), (ToolName::namespaced("ns", "a"), "ns__a".to_owned())];
        for (name, expected) in cases {
            assert_eq!(wire_name(&name, rules), expected);
        }
        let long = wire_name(&ToolName::new("x".repeat(65)), rules).into_owned();
        assert_eq!((long.len(), long.get(..56)), (64, Some("x".repeat(55) + "_").as_deref()));
        // The name on the wire is stored in histories, so it must never change between versions.
        assert_eq!(wire_name(&ToolName::new("read file"), rules), "read_file_1cbbadf4");
    }

    #[test]
    fn a_first_digit_is_replaced_where_a_letter_is_asked_for() {
        let name = wire_name(&ToolName::new("3d"), NameRules::PORTABLE).into_owned();
        assert!(name.starts_with("_d_"), "{name}");
        let rules = NameRules { letter_first: false, ..NameRules::PORTABLE };
        assert_eq!(wire_name(&ToolName::new("3d"), rules), "3d");
    }

    proptest! {
        #[test]
        fn always_legal_and_distinct(namespace in proptest::option::of("\\PC{1,40}"), name in "\\PC{1,80}", other in "\\PC{1,80}") {
            let rules = NameRules::PORTABLE;
            let make = |name: &str| ToolName { namespace: namespace.as_deref().map(Into::into), name: name.into() };
            let (one, two) = (make(&name), make(&other));
            let wire = wire_name(&one, rules);
            prop_assert!(!wire.is_empty() && rules.is_legal(&wire), "{}", wire);
            if one != two {
                prop_assert_ne!(wire, wire_name(&two, rules));
            }
        }
    }
}
