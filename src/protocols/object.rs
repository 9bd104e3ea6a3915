//! Objects written member by member.

use crate::protocols::members::write_string;

/// An object in the making. [`end`](Self::end) closes it.
pub(in crate::protocols) struct Object<'a> {
    out: &'a mut String,
    empty: bool,
}

impl<'a> Object<'a> {
    pub(in crate::protocols) fn new(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, empty: true }
    }

    /// An item or tool of a type.
    pub(in crate::protocols) fn typed(out: &'a mut String, kind: &str) -> Self {
        let mut object = Self::new(out);
        object.string("type", kind);
        object
    }

    /// Writes a key; its value is to be appended to what comes back.
    pub(in crate::protocols) fn key(&mut self, key: &str) -> &mut String {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        write_string(self.out, key);
        self.out.push(':');
        self.out
    }

    pub(in crate::protocols) fn string(&mut self, key: &str, value: &str) {
        write_string(self.key(key), value);
    }

    /// A value that is JSON already.
    pub(in crate::protocols) fn raw(&mut self, key: &str, json: &str) {
        self.key(key).push_str(json);
    }

    pub(in crate::protocols) fn bool(&mut self, key: &str, value: bool) {
        self.raw(key, if value { "true" } else { "false" });
    }

    /// The members of another object, which is JSON already.
    pub(in crate::protocols) fn members(&mut self, object: &str) {
        let inner = object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        if inner.is_empty() {
            return;
        }
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        self.out.push_str(inner);
    }

    pub(in crate::protocols) fn end(self) {
        self.out.push('}');
    }
}

/// A list in the making.
pub(in crate::protocols) struct List<'a> {
    out: &'a mut String,
    empty: bool,
}

impl<'a> List<'a> {
    pub(in crate::protocols) fn new(out: &'a mut String) -> Self {
        out.push('[');
        Self { out, empty: true }
    }

    /// Begins an entry, which is to be appended to what comes back.
    pub(in crate::protocols) fn entry(&mut self) -> &mut String {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        self.out
    }

    pub(in crate::protocols) fn is_empty(&self) -> bool {
        self.empty
    }

    pub(in crate::protocols) fn end(self) {
        self.out.push(']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_stand_between_members_only() {
        let mut out = String::new();
        let mut object = Object::typed(&mut out, "a\"b");
        object.members("{}");
        object.members(r#"{"x":1,"y":2}"#);
        let mut list = List::new(object.key("list"));
        assert!(list.is_empty());
        list.entry().push('1');
        list.entry().push('2');
        list.end();
        object.bool("z", false);
        object.end();
        assert_eq!(out, r#"{"type":"a\"b","x":1,"y":2,"list":[1,2],"z":false}"#);
    }
}
