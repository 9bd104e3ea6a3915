//! The names of a request's tools as they go out, and the way back.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tower_genai_core::{Error, NameRules, ToolDefinition, ToolName, ToolSet, wire_name};

/// Maps between the identities of tools and their names on a wire.
///
/// A tool without a namespace whose name is legal has the same name on both sides; only the others take space here.
#[derive(Clone, Debug)]
pub(crate) struct WireNames {
    rules: NameRules,
    tools: ToolSet,
    altered: Arc<HashMap<Box<str>, ToolName>>,
    /// Tools that only the dialogue knows.
    loaded: HashSet<ToolName>,
    altered_loaded: HashMap<Box<str>, ToolName>,
}

impl Default for WireNames {
    fn default() -> Self {
        Self {
            rules: NameRules::PORTABLE,
            tools: ToolSet::default(),
            altered: Arc::default(),
            loaded: HashSet::new(),
            altered_loaded: HashMap::new(),
        }
    }
}

impl WireNames {
    /// The names of the tools of a request.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) when two of them get one name.
    pub(crate) fn new(tools: &ToolSet, rules: NameRules) -> Result<Self, Error> {
        let mut altered: HashMap<Box<str>, ToolName> = HashMap::new();
        for tool in tools {
            let Some(wire) = differing(&tool.name, rules) else { continue };
            let other = match altered.get(&*wire) {
                Some(other) => Some(other),
                None => tools.get(&ToolName::new(&*wire)).map(|tool| &tool.name),
            };
            if let Some(other) = other {
                return Err(Error::invalid(format!(
                    "tools `{other}` and `{}` are both called `{wire}` for the provider; rename one of them",
                    tool.name
                )));
            }
            altered.insert(wire.into(), tool.name.clone());
        }
        Ok(Self { rules, tools: tools.clone(), altered: Arc::new(altered), ..Self::default() })
    }

    /// Adds the tools that a dialogue loaded. A name that a tool of the request has stays with it.
    #[must_use]
    pub(crate) fn with_loaded<'a>(mut self, loaded: impl Iterator<Item = &'a Arc<ToolDefinition>>) -> Self {
        for tool in loaded {
            if self.tools.get(&tool.name).is_some() || !self.loaded.insert(tool.name.clone()) {
                continue;
            }
            if let Some(wire) = differing(&tool.name, self.rules) {
                self.altered_loaded.entry(wire.into()).or_insert_with(|| tool.name.clone());
            }
        }
        self
    }

    /// The name of a tool on the wire.
    pub(crate) fn wire<'a>(&self, name: &'a ToolName) -> Cow<'a, str> {
        wire_name(name, self.rules)
    }

    /// The tool of the request that goes out under a name.
    pub(crate) fn declared(&self, wire: &str) -> Option<&Arc<ToolDefinition>> {
        match self.altered.get(wire) {
            Some(name) => self.tools.get(name),
            None => self.tools.get(&ToolName::new(wire)),
        }
    }

    /// The tool that a model called by a name and possibly a namespace, both as the model wrote them.
    ///
    /// Models repeat the name as its namespace, and put `functions.` before it. Where nothing is known, the identity is what was written.
    pub(crate) fn resolve(&self, namespace: &str, name: &str) -> ToolName {
        if !namespace.is_empty() && namespace != name {
            let full = ToolName::namespaced(namespace, name);
            if self.tools.get(&full).is_some() || self.loaded.contains(&full) {
                return full;
            }
        }
        let stripped = || self.known(name.strip_prefix("functions.")?);
        if let Some(found) = self.known(name).or_else(stripped) {
            return found;
        }
        let repeated = namespace == name && !(self.tools.is_empty() && self.loaded.is_empty());
        if namespace.is_empty() || repeated { ToolName::new(name) } else { ToolName::namespaced(namespace, name) }
    }

    fn known(&self, wire: &str) -> Option<ToolName> {
        if let Some(name) = self.altered.get(wire) {
            return Some(name.clone());
        }
        let plain = ToolName::new(wire);
        if self.tools.get(&plain).is_some() || self.loaded.contains(&plain) {
            return Some(plain);
        }
        self.altered_loaded.get(wire).cloned()
    }
}

/// The name on the wire, where it is not the tool's own.
fn differing(name: &ToolName, rules: NameRules) -> Option<String> {
    match wire_name(name, rules) {
        Cow::Borrowed(_) => None,
        Cow::Owned(wire) => Some(wire),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: impl Into<ToolName>) -> Arc<ToolDefinition> {
        Arc::new(ToolDefinition::new(name))
    }

    fn names(tools: &[Arc<ToolDefinition>], loaded: &[Arc<ToolDefinition>]) -> Result<WireNames, Error> {
        Ok(WireNames::new(&ToolSet::new(tools.iter().cloned()).unwrap(), NameRules::PORTABLE)?.with_loaded(loaded.iter()))
    }

    #[test]
    fn every_spelling_of_a_call_finds_its_tool() {
        let crm = ToolName::namespaced("crm", "find");
        let known = names(&[tool("read"), tool(crm.clone()), tool("a b")], &[tool(ToolName::namespaced("hr", "hire"))]).unwrap();
        for (namespace, name, expected) in [
            ("", "read", "read".into()),
            ("read", "read", "read".into()),
            ("", "functions.read", "read".into()),
            ("functions", "read", "read".into()),
            ("", "crm__find", crm.clone()),
            ("crm__find", "crm__find", crm.clone()),
            ("", "functions.crm__find", crm.clone()),
            ("crm", "find", crm),
            ("", &*known.wire(&"a b".into()), "a b".into()),
            ("", "hr__hire", ToolName::namespaced("hr", "hire")),
            ("hr", "hire", ToolName::namespaced("hr", "hire")),
            ("", "guess", "guess".into()),
            ("guess", "guess", "guess".into()),
            ("x", "guess", ToolName::namespaced("x", "guess")),
        ] {
            assert_eq!(known.resolve(namespace, name), expected, "{namespace} {name}");
        }
    }

    #[test]
    fn without_tools_a_call_keeps_what_the_model_wrote() {
        let nothing = WireNames::default();
        assert_eq!(nothing.resolve("read", "read"), ToolName::namespaced("read", "read"));
        assert_eq!(nothing.resolve("", "functions.read"), ToolName::new("functions.read"));
    }

    #[test]
    fn two_tools_of_one_name_are_refused_with_both_named() {
        let crm = tool(ToolName::namespaced("crm", "find"));
        let error = names(&[tool("crm__find"), crm.clone()], &[]).unwrap_err().to_string();
        assert!(error.contains("`crm__find`") && error.contains("`crm.find`"), "{error}");
        let split = [tool(ToolName::namespaced("a", "b__c")), tool(ToolName::namespaced("a__b", "c"))];
        assert!(names(&split, &[]).unwrap_err().to_string().contains("`a__b__c`"));
        let known = names(&[tool("crm__find")], &[crm]).unwrap();
        assert_eq!(known.resolve("", "crm__find"), ToolName::new("crm__find"));
    }
}
