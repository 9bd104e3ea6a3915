use tower_genai_core::{DeferralMode, Lowering};
use tower_layer::Layer;

use crate::DeferredTools;

/// Shows, defers or withholds tool definitions. See the [crate docs](crate) for an example.
#[derive(Clone, Debug)]
pub struct DeferredToolsLayer {
    lowering: Lowering,
    innermost: bool,
}

impl DeferredToolsLayer {
    /// For the mode of the provider below: `DeferredToolsLayer::new(provider.deferral())`.
    #[must_use]
    pub fn new(mode: DeferralMode) -> Self {
        Self { lowering: Lowering::new(mode), innermost: false }
    }

    /// For a service that is not a provider of this library: nothing further in looks at deferral, so that the request must be finished here.
    #[must_use]
    pub fn innermost(mode: DeferralMode) -> Self {
        Self { innermost: true, ..Self::new(mode) }
    }

    /// Sets how many bytes of deferred definitions may go out as ordinary tools when nothing can search them (256 kB).
    #[must_use]
    pub fn max_definition_bytes(mut self, bytes: usize) -> Self {
        self.lowering = self.lowering.max_definition_bytes(bytes);
        self
    }

    /// The mode.
    #[must_use]
    pub fn mode(&self) -> DeferralMode {
        self.lowering.mode()
    }
}

impl<S> Layer<S> for DeferredToolsLayer {
    type Service = DeferredTools<S>;

    fn layer(&self, inner: S) -> DeferredTools<S> {
        DeferredTools::new(inner, self.lowering.clone(), self.innermost)
    }
}
