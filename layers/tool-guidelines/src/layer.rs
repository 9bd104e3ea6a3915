use std::sync::Arc;

use tower_genai_core::{Cache, Identity, ToolSet, guidance::Parts};
use tower_layer::Layer;

use crate::ToolGuidelines;

/// Where guidance goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Placement {
    /// Into the system prompt, after the instructions that are there.
    #[default]
    SystemPrompt,
    /// Into the description of each tool.
    Description,
}

/// Shows the guidance of tools to the model. See the [crate docs](crate) for an example.
#[derive(Clone, Debug)]
pub struct ToolGuidelinesLayer {
    placement: Placement,
    parts: Parts,
    caches: Caches,
}

/// What was made of each tool set; the keys also hold the parts, so that clones with other options do not meet.
#[derive(Clone, Debug)]
pub(crate) struct Caches {
    pub(crate) texts: Cache<(Identity, Parts), Arc<str>>,
    pub(crate) sets: Cache<(Identity, Parts), ToolSet>,
}

impl ToolGuidelinesLayer {
    /// Snippets and guidelines in the system prompt.
    #[must_use]
    pub fn new() -> Self {
        Self {
            placement: Placement::SystemPrompt,
            parts: Parts { snippet: true, guidelines: true, returns: false },
            caches: Caches { texts: Cache::new(16), sets: Cache::new(16) },
        }
    }

    /// Sets where guidance goes (the system prompt).
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Sets whether snippets are shown (yes).
    #[must_use]
    pub fn snippets(mut self, show: bool) -> Self {
        self.parts.snippet = show;
        self
    }

    /// Sets whether guidelines are shown (yes).
    #[must_use]
    pub fn guidelines(mut self, show: bool) -> Self {
        self.parts.guidelines = show;
        self
    }

    /// Sets whether the schema of what a tool returns is shown (no).
    #[must_use]
    pub fn return_schema(mut self, show: bool) -> Self {
        self.parts.returns = show;
        self
    }

    /// Whether this layer writes into the system prompt.
    #[must_use]
    pub fn in_system_prompt(&self) -> bool {
        self.placement == Placement::SystemPrompt && self.parts != Parts::NONE
    }
}

impl Default for ToolGuidelinesLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for ToolGuidelinesLayer {
    type Service = ToolGuidelines<S>;

    fn layer(&self, inner: S) -> ToolGuidelines<S> {
        ToolGuidelines::new(inner, self.placement, self.parts, self.caches.clone())
    }
}
