//! Tools that a query calls by their name.

use std::collections::{HashMap, HashSet};
use std::iter;

use tower_genai_core::{NameRules, ToolName, wire_name};

use super::document::ToolDocument;

/// What may stand between namespace and name.
const SEPARATORS: [&str; 4] = ["__", ".", "/", ":"];

/// No longer word is taken for a name, so that no query can make looking for one costly.
const LONGEST: usize = 1024;

/// The names of all tools, to be found with and without their namespace.
#[derive(Debug, Default)]
pub(super) struct Names {
    identities: Vec<Identity>,
    /// The ordinals of each name, by the name in lower case.
    by_name: HashMap<Box<str>, Vec<u32>>,
    /// The ordinals of the tools that the model sees under another name, by that name in lower case.
    by_wire_name: HashMap<Box<str>, Vec<u32>>,
}

#[derive(Debug)]
struct Identity {
    name: Box<str>,
    namespace: Option<Box<str>>,
}

impl Identity {
    /// Whether `word` is this very name, in this very case.
    fn is_spelled(&self, word: &str) -> bool {
        let before = word.strip_suffix(&*self.name);
        let separator = self.namespace.as_deref().and_then(|namespace| before?.strip_prefix(namespace));
        before == Some("") || separator.is_some_and(|separator| SEPARATORS.contains(&separator))
    }

    fn is_in(&self, folded_namespace: &str) -> bool {
        self.namespace.as_ref().is_some_and(|namespace| namespace.to_lowercase() == folded_namespace)
    }
}

impl Names {
    /// Adds the next tool, `ordinal` being the number of tools before it.
    pub(super) fn push(&mut self, ordinal: u32, tool: &ToolDocument<'_>) {
        let folded = tool.name.to_lowercase().into();
        self.by_name.entry(folded).or_default().push(ordinal);
        if let Some(wire) = altered(tool) {
            self.by_wire_name.entry(wire.to_lowercase().into()).or_default().push(ordinal);
        }
        self.identities.push(Identity { name: tool.name.into(), namespace: tool.namespace.map(Into::into) });
    }

    /// Gives `found` every word of `query` that is the name of a tool, with the ordinals of the
    /// tools of that name: those that are spelled in the same case where there are any, else those
    /// that differ in case only. For a name that only the wire has, the tool's own is given.
    pub(super) fn in_query(&self, query: &str, mut found: impl FnMut(&str, &[u32])) {
        let mut is_name = |word: &str| {
            let ordinals = self.called(word);
            if !ordinals.is_empty() {
                found(word, &ordinals);
                return true;
            }
            let on_the_wire = self.called_on_the_wire(word);
            for ordinal in on_the_wire {
                if let Some(tool) = self.identity(*ordinal) {
                    found(&tool.name, &[*ordinal]);
                }
            }
            !on_the_wire.is_empty()
        };
        let mut seen = HashSet::new();
        for word in query.split_whitespace().filter(|&word| seen.insert(word)) {
            if is_name(word) {
                continue;
            }
            // Names are listed with commas and stand in quotes or brackets; a name of its own may
            // have such signs too.
            for part in word.split([',', ';']) {
                if !is_name(part) {
                    is_name(part.trim_matches(|c: char| c.is_ascii_punctuation() && c != '_'));
                }
            }
        }
    }

    fn called(&self, word: &str) -> Vec<u32> {
        if word.is_empty() || word.len() > LONGEST {
            return Vec::new();
        }
        let folded = word.to_lowercase();
        let qualified = SEPARATORS.iter().flat_map(|separator| {
            let splits = folded.match_indices(separator);
            splits.filter_map(|(at, _)| Some((Some(folded.get(..at)?), folded.get(at + separator.len()..)?)))
        });
        let mut called = Vec::new();
        for (namespace, name) in iter::once((None, folded.as_str())).chain(qualified) {
            for &ordinal in self.by_name.get(name).into_iter().flatten() {
                let tool = self.identity(ordinal);
                if namespace.is_none_or(|namespace| tool.is_some_and(|tool| tool.is_in(namespace))) {
                    called.push(ordinal);
                }
            }
        }
        called.sort_unstable();
        called.dedup();
        let is_spelled = |ordinal: &u32| self.identity(*ordinal).is_some_and(|tool| tool.is_spelled(word));
        if called.iter().any(is_spelled) {
            called.retain(is_spelled);
        }
        called
    }

    fn called_on_the_wire(&self, word: &str) -> &[u32] {
        if word.len() > LONGEST {
            return &[];
        }
        self.by_wire_name.get(&*word.to_lowercase()).map(Vec::as_slice).unwrap_or_default()
    }

    fn identity(&self, ordinal: u32) -> Option<&Identity> {
        self.identities.get(usize::try_from(ordinal).ok()?)
    }
}

/// The name that the model sees, where it is more than the namespace before the name: catalogues list it so, and models repeat it.
fn altered(tool: &ToolDocument<'_>) -> Option<String> {
    let name = ToolName { namespace: tool.namespace.map(Into::into), name: tool.name.into() };
    let wire = wire_name(&name, NameRules::PORTABLE);
    let plain = tool.namespace.map_or_else(|| tool.name.to_owned(), |namespace| format!("{namespace}__{}", tool.name));
    (*wire != *plain).then(|| wire.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tools: &[(Option<&str>, &str)], query: &str) -> Vec<(String, Vec<u32>)> {
        let mut names = Names::default();
        for (ordinal, &(namespace, name)) in (0..).zip(tools) {
            names.push(ordinal, &ToolDocument { name, namespace, ..ToolDocument::default() });
        }
        let mut found = Vec::new();
        names.in_query(query, |word, ordinals| found.push((word.to_owned(), ordinals.to_vec())));
        found
    }

    #[test]
    fn same_case_goes_before_another_case() {
        let tools = [(None, "open"), (None, "Open"), (None, "OPEN"), (None, "open")];
        assert_eq!(found(&tools, "please open it"), [("open".into(), vec![0, 3])]);
        assert_eq!(found(&tools, "oPEN"), [("oPEN".into(), vec![0, 1, 2, 3])]);
        assert_eq!(found(&tools, "opens reopen"), []);
    }

    #[test]
    fn with_and_without_namespace() {
        let tools = [(Some("crm"), "add"), (Some("wiki"), "add"), (Some("a.b"), "c/d")];
        assert_eq!(found(&tools, "add"), [("add".into(), vec![0, 1])]);
        for word in ["wiki__add", "wiki.add", "wiki/add", "wiki:add", "Wiki__ADD"] {
            assert_eq!(found(&tools, word), [(word.into(), vec![1])]);
        }
        assert_eq!(found(&tools, "a.b.c/d"), [("a.b.c/d".into(), vec![2])]);
        assert_eq!(found(&tools, "other__add wiki-add __add"), []);
    }

    #[test]
    fn the_name_that_the_model_sees() {
        let long = "l".repeat(256);
        let tools = [(None, "naïve/検索"), (Some("my server"), "do it"), (None, &*long), (None, "plain"), (None, "DO it")];
        for (ordinal, (namespace, name)) in (0..).zip(tools) {
            let identity = ToolName { namespace: namespace.map(Into::into), name: name.into() };
            let wire = wire_name(&identity, NameRules::PORTABLE);
            for query in [format!("load {wire}"), format!("`{}`,", wire.to_uppercase())] {
                let (word, ordinals) = found(&tools, &query).remove(0);
                assert_eq!((word.to_lowercase(), ordinals), (name.to_lowercase(), vec![ordinal]), "{query}");
            }
        }
    }

    #[test]
    fn listed_and_quoted_names() {
        let tools = [(None, "get_a"), (None, "_b"), (None, "c++"), (None, "d,e")];
        assert_eq!(found(&tools, "`get_a`,(_b); c++, d,e.").len(), 3);
        assert_eq!(found(&tools, "d,e"), [("d,e".into(), vec![3])]);
        assert_eq!(found(&tools, "'c++'"), []);
    }

    #[test]
    fn no_tools_and_endless_words() {
        assert_eq!(found(&[], "anything"), []);
        assert_eq!(found(&[(None, "")], " . "), []);
        let (dots, name) = ("a.".repeat(500_000), "y".repeat(LONGEST + 1));
        assert_eq!(found(&[(Some("x"), "y"), (None, &name)], &dots), []);
        assert_eq!(found(&[(None, &name)], &name), []);
        let repeated = "y ".repeat(10_000);
        assert_eq!(found(&[(None, "y"); 1_000], &repeated).len(), 1);
    }
}
