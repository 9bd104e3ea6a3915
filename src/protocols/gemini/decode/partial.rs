//! Arguments that come value by value, each with the path of its place.

use tower_genai_core::write_string;

/// Paths that lead deeper than JSON is read are not followed.
const MAX_DEPTH: usize = 100;

/// A list is filled up to a place that lies at most so far behind its end.
const MAX_GAP: usize = 1_000;

/// A value in the making.
#[derive(Debug)]
pub(super) enum Value {
    /// JSON that is complete.
    Json(String),
    /// A string that may go on.
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// What a path leads through.
#[derive(Debug, PartialEq)]
enum Step {
    Member(String),
    Index(usize),
}

impl Value {
    /// An object without members.
    pub(super) fn object() -> Self {
        Self::Object(Vec::new())
    }

    /// Adds text at a place. Says whether there is such a place.
    pub(super) fn append(&mut self, path: &str, text: &str) -> bool {
        let Some(place) = steps(path).and_then(|steps| self.at(&steps)) else { return false };
        match place {
            Self::Text(known) => known.push_str(text),
            other => *other = Self::Text(text.to_owned()),
        }
        true
    }

    /// Sets a place to a value, which is JSON. Says whether there is such a place.
    pub(super) fn set(&mut self, path: &str, json: &str) -> bool {
        let Some(place) = steps(path).and_then(|steps| self.at(&steps)) else { return false };
        *place = Self::Json(json.to_owned());
        true
    }

    /// A place, made if it is not there.
    fn at(&mut self, steps: &[Step]) -> Option<&mut Self> {
        let mut place = self;
        for step in steps {
            place = match step {
                Step::Member(name) => {
                    if !matches!(place, Self::Object(_)) {
                        *place = Self::object();
                    }
                    let Self::Object(members) = place else { return None };
                    let at = members.iter().position(|(known, _)| known == name).unwrap_or(members.len());
                    if at == members.len() {
                        members.push((name.clone(), Self::null()));
                    }
                    &mut members.get_mut(at)?.1
                }
                Step::Index(index) => {
                    if !matches!(place, Self::List(_)) {
                        *place = Self::List(Vec::new());
                    }
                    let Self::List(entries) = place else { return None };
                    if *index > entries.len() + MAX_GAP {
                        return None;
                    }
                    while entries.len() <= *index {
                        entries.push(Self::null());
                    }
                    entries.get_mut(*index)?
                }
            };
        }
        Some(place)
    }

    fn null() -> Self {
        Self::Json("null".to_owned())
    }

    /// Writes it as JSON.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Json(json) => out.push_str(json),
            Self::Text(text) => write_string(out, text),
            Self::List(entries) => {
                out.push('[');
                for (at, entry) in entries.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    entry.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    write_string(out, name);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Reads a path: `$.list[0].name`, `$['a name']`. Nothing for what is no path, or leads too deep.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == MAX_DEPTH {
            return None;
        }
        if let Some(member) = rest.strip_prefix('.') {
            let end = member.find(['.', '[']).unwrap_or(member.len());
            let (name, behind) = member.split_at_checked(end)?;
            if name.is_empty() {
                return None;
            }
            steps.push(Step::Member(name.to_owned()));
            rest = behind;
            continue;
        }
        let inner = rest.strip_prefix('[')?;
        let quote = inner.chars().next().filter(|first| matches!(first, '\'' | '"'));
        let Some(quote) = quote else {
            let (index, behind) = inner.split_once(']')?;
            steps.push(Step::Index(index.parse().ok()?));
            rest = behind;
            continue;
        };
        let (name, behind) = quoted(inner.get(1..)?, quote)?;
        steps.push(Step::Member(name));
        rest = behind.strip_prefix(']')?;
    }
    Some(steps)
}

/// A name up to its closing quote, and what is behind that.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => name.push(chars.next()?.1),
            char if char == quote => return Some((name, text.get(at + 1..)?)),
            char => name.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &Value) -> String {
        let mut out = String::new();
        value.write(&mut out);
        out
    }

    #[test]
    fn values_find_their_places() {
        let mut value = Value::object();
        assert!(value.append("$.place", "Bos") && value.append("$.place", "ton") && value.append("$.place", ""));
        assert!(value.set("$.list[0].price", "0.5") && value.set("$.list[1]", "true") && value.append("$['a.b'][\"c\\\"]\"]", "é\""));
        assert!(value.set("$.list[3]", "null"));
        assert_eq!(written(&value), r#"{"place":"Boston","list":[{"price":0.5},true,null,null],"a.b":{"c\"]":"é\""}}"#);
        assert!(serde_json::from_str::<serde_json::Value>(&written(&value)).is_ok());
    }

    #[test]
    fn what_is_no_path_changes_nothing() {
        let mut value = Value::object();
        let deep = format!("${}", ".a".repeat(MAX_DEPTH + 1));
        for path in
            ["", "a", "$.", "$..a", "$[", "$[]", "$[-1]", "$['a", "$['a'", "$.a b]c[", "$[99999999999999999999]", "$.list[1001]", &deep]
        {
            assert!(!value.append(path, "x"), "{path}");
        }
        assert!(matches!(&value, Value::Object(members) if members.iter().all(|(name, _)| name == "list")), "{value:?}");
        assert!(value.set("$", "{}"));
        assert_eq!(written(&value), "{}");
    }

    #[test]
    fn a_value_of_another_kind_gives_way() {
        let mut value = Value::object();
        assert!(value.set("$.a", "1") && value.append("$.a.b", "x") && value.append("$.a[0]", "y"));
        assert_eq!(written(&value), r#"{"a":["y"]}"#);
    }
}
