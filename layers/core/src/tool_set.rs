//! An immutable, shared set of tools with an identity.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

use crate::{Error, ToolDefinition, ToolKind, ToolName, guidance};

/// The identity of a [`ToolSet`]'s content: 128 bits.
///
/// A set that a layer derives has an identity computed from its parent's and the layer's configuration, so
/// equal identities mean equal content and a cache needs no second look at ten thousand definitions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(u128);

impl Identity {
    /// The identity of what is derived from this one with a configuration.
    ///
    /// `configuration` is whatever decides the result: a name for the kind of derivation and its options.
    #[must_use]
    pub fn derive(self, configuration: &[&[u8]]) -> Self {
        let mut hasher = Xxh3::new();
        hasher.update(&self.0.to_le_bytes());
        for part in configuration {
            update(&mut hasher, part);
        }
        Self(hasher.digest128())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// An immutable, ordered set of tools, unique by (namespace, name); cloning is one reference count.
///
/// ```
/// use tower_genai_core::{ToolDefinition, ToolSet};
///
/// let tools = ToolSet::new([ToolDefinition::new("read"), ToolDefinition::new("write").deferred(true)])?;
/// assert_eq!(tools.len(), 2);
/// assert_eq!(tools.deferred_len(), 1);
/// assert!(ToolSet::new([ToolDefinition::new("read"), ToolDefinition::new("read")]).is_err());
/// # Ok::<(), tower_genai_core::Error>(())
/// ```
#[derive(Clone)]
pub struct ToolSet(Arc<Inner>);

struct Inner {
    tools: Vec<Arc<ToolDefinition>>,
    identity: Identity,
    positions: HashMap<ToolName, usize>,
    deferred: usize,
    deferred_bytes: usize,
    search: Option<usize>,
    undeferred: OnceLock<ToolSet>,
    eager: OnceLock<ToolSet>,
}

impl ToolSet {
    /// Builds a set and computes its identity.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](crate::ErrorKind::InvalidRequest) when an identity occurs twice, when a name is empty,
    /// contains a control character or exceeds 256 bytes, when parameters are not a JSON object, or when a
    /// search tool is deferred. The text names the tool.
    pub fn new<T: Into<Arc<ToolDefinition>>>(tools: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        let tools: Vec<Arc<ToolDefinition>> = tools.into_iter().map(Into::into).collect();
        for tool in &tools {
            tool.name.validate()?;
            if !tool.parameters.is_object() {
                return Err(Error::invalid(format!("tool `{}`: parameters must be a JSON Schema object", tool.name)));
            }
            if tool.kind == ToolKind::Search && tool.deferred {
                return Err(Error::invalid(format!("tool `{}`: a search tool cannot be deferred", tool.name)));
            }
        }
        let identity = content_identity(&tools);
        Self::assemble(tools, identity)
    }

    /// A set made from this one, whose identity is [`Identity::derive`]d instead of computed from the content.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), for what `tools` adds.
    pub fn derive(&self, configuration: &[&[u8]], tools: Vec<Arc<ToolDefinition>>) -> Result<Self, Error> {
        Self::assemble(tools, self.identity().derive(configuration))
    }

    fn assemble(tools: Vec<Arc<ToolDefinition>>, identity: Identity) -> Result<Self, Error> {
        let mut positions = HashMap::with_capacity(tools.len());
        let (mut deferred, mut deferred_bytes, mut search) = (0, 0, None);
        for (position, tool) in tools.iter().enumerate() {
            if positions.insert(tool.name.clone(), position).is_some() {
                return Err(Error::invalid(format!("tool `{}` is declared twice; rename one or give it a namespace", tool.name)));
            }
            if tool.deferred {
                deferred += 1;
                deferred_bytes += tool.prompt_bytes();
            }
            if tool.kind == ToolKind::Search {
                search.get_or_insert(position);
            }
        }
        let (undeferred, eager) = (OnceLock::new(), OnceLock::new());
        Ok(Self(Arc::new(Inner { tools, identity, positions, deferred, deferred_bytes, search, undeferred, eager })))
    }

    /// The identity of the content.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.0.identity
    }

    /// The number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.tools.len()
    }

    /// Whether there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.tools.is_empty()
    }

    /// The tools in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Arc<ToolDefinition>> {
        self.0.tools.iter()
    }

    /// The tool with an identity.
    #[must_use]
    pub fn get(&self, name: &ToolName) -> Option<&Arc<ToolDefinition>> {
        self.0.positions.get(name).and_then(|position| self.0.tools.get(*position))
    }

    /// How many tools are deferred.
    #[must_use]
    pub fn deferred_len(&self) -> usize {
        self.0.deferred
    }

    /// The bytes that the deferred definitions would add to a prompt, about.
    #[must_use]
    pub fn deferred_bytes(&self) -> usize {
        self.0.deferred_bytes
    }

    /// The first tool of kind [`ToolKind::Search`].
    #[must_use]
    pub fn search_tool(&self) -> Option<&Arc<ToolDefinition>> {
        self.0.search.and_then(|position| self.0.tools.get(position))
    }

    /// The same tools, none deferred: what were deferred carry their guidelines in their description. Computed once.
    #[must_use]
    pub fn undeferred(&self) -> Self {
        if self.deferred_len() == 0 {
            return self.clone();
        }
        let derived = self.0.undeferred.get_or_init(|| {
            let tools = self.iter().map(|tool| if tool.deferred { Arc::new(undefer(tool)) } else { tool.clone() });
            self.rearranged(&[b"undeferred"], tools.collect())
        });
        derived.clone()
    }

    /// Only the tools that are not deferred. Computed once.
    #[must_use]
    pub fn eager(&self) -> Self {
        if self.deferred_len() == 0 {
            return self.clone();
        }
        let derived = self.0.eager.get_or_init(|| {
            let tools = self.iter().filter(|tool| !tool.deferred).cloned();
            self.rearranged(&[b"eager"], tools.collect())
        });
        derived.clone()
    }

    /// A derived set whose names are a subset of this one's and therefore unique.
    fn rearranged(&self, configuration: &[&[u8]], tools: Vec<Arc<ToolDefinition>>) -> Self {
        self.derive(configuration, tools).unwrap_or_default()
    }
}

/// An ordinary tool made of a deferred one.
pub(crate) fn undefer(tool: &ToolDefinition) -> ToolDefinition {
    let mut tool = guidance::place(tool, guidance::Parts::GUIDELINES);
    tool.deferred = false;
    tool
}

fn update(hasher: &mut Xxh3, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

fn content_identity(tools: &[Arc<ToolDefinition>]) -> Identity {
    let mut hasher = Xxh3::new();
    for tool in tools {
        let ToolDefinition { name, kind, description, parameters, snippet, guidelines, returns, deferred, serial, strict } = &**tool;
        let optional = |text: Option<&str>| text.map(str::to_owned);
        let flags = [*kind as u8, u8::from(*deferred), u8::from(*serial), strict.map_or(2, u8::from), u8::from(name.namespace.is_some())];
        update(&mut hasher, &flags);
        for text in [name.namespace.as_deref().unwrap_or_default(), &name.name, description, parameters.as_str()] {
            update(&mut hasher, text.as_bytes());
        }
        for text in [optional(snippet.as_deref()), optional(returns.as_ref().map(crate::Json::as_str))] {
            hasher.update(&[u8::from(text.is_some())]);
            update(&mut hasher, text.unwrap_or_default().as_bytes());
        }
        hasher.update(&(guidelines.len() as u64).to_le_bytes());
        for rule in guidelines.iter() {
            update(&mut hasher, rule.as_bytes());
        }
    }
    Identity(hasher.digest128())
}

impl Default for ToolSet {
    fn default() -> Self {
        static EMPTY: OnceLock<ToolSet> = OnceLock::new();
        EMPTY
            .get_or_init(|| {
                Self(Arc::new(Inner {
                    tools: Vec::new(),
                    identity: content_identity(&[]),
                    positions: HashMap::new(),
                    deferred: 0,
                    deferred_bytes: 0,
                    search: None,
                    undeferred: OnceLock::new(),
                    eager: OnceLock::new(),
                }))
            })
            .clone()
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSet")
            .field("len", &self.len())
            .field("deferred", &self.deferred_len())
            .field("identity", &self.identity())
            .finish()
    }
}

impl PartialEq for ToolSet {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.tools == other.0.tools
    }
}

impl Eq for ToolSet {}

impl<'a> IntoIterator for &'a ToolSet {
    type Item = &'a Arc<ToolDefinition>;
    type IntoIter = std::slice::Iter<'a, Arc<ToolDefinition>>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Serialize for ToolSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.tools.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tools = Vec::<Arc<ToolDefinition>>::deserialize(deserializer)?;
        Self::new(tools).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;

    #[test]
    fn identity_is_of_the_content_and_its_order() {
        let (a, b) = (ToolDefinition::new("a"), ToolDefinition::new("b"));
        let one = ToolSet::new([a.clone(), b.clone()]).unwrap();
        assert_eq!(one.identity(), ToolSet::new([a.clone(), b.clone()]).unwrap().identity());
        let others = [
            ToolSet::new([b.clone(), a.clone()]).unwrap(),
            ToolSet::new([a.clone(), b.clone().deferred(true)]).unwrap(),
            ToolSet::new([a.clone(), b.clone().snippet("")]).unwrap(),
            ToolSet::new([a.clone(), b.clone().namespace("")]).unwrap_or_default(),
            ToolSet::new([a, b.guideline("x")]).unwrap(),
        ];
        for other in others {
            assert_ne!(one.identity(), other.identity());
        }
    }

    #[test]
    fn refusals_name_the_tool() {
        let twice = ToolSet::new([ToolDefinition::new("twin"), ToolDefinition::new("twin")]).unwrap_err();
        assert!(twice.to_string().contains("`twin`"), "{twice}");
        let list = ToolSet::new([ToolDefinition::new("listy").parameters(Json::parse("[]").unwrap())]).unwrap_err();
        assert!(list.to_string().contains("`listy`"), "{list}");
        assert!(ToolSet::new([ToolDefinition::new("s").kind(ToolKind::Search).deferred(true)]).is_err());
        let spaces = [ToolDefinition::new("twin"), ToolDefinition::new("twin").namespace("other")];
        assert_eq!(ToolSet::new(spaces).unwrap().len(), 2);
    }

    #[test]
    fn undeferred_tools_carry_their_guidelines() {
        let tools = ToolSet::new([
            ToolDefinition::new("a").guideline("eager rule"),
            ToolDefinition::new("b").description("Does b.").guideline("Ask first.").deferred(true),
        ])
        .unwrap();
        let plain = tools.undeferred();
        assert_eq!(plain.deferred_len(), 0);
        let descriptions: Vec<_> = plain.iter().map(|tool| &*tool.description).collect();
        assert_eq!(descriptions, ["", "Does b.\n\nGuidelines:\n- Ask first."]);
        assert_eq!(tools.eager().len(), 1);
        assert_ne!(tools.eager().identity(), plain.identity());
    }
}
