//! The layers as methods of [`ServiceBuilder`].

use tower::ServiceBuilder;

mod sealed {
    pub trait Sealed {}
    impl<L> Sealed for tower::ServiceBuilder<L> {}
}

/// Adds the layers of this library to [`ServiceBuilder`], a method each. What is added first is outermost.
///
/// ```
/// # #[cfg(all(feature = "tool-search", feature = "tool-guidelines", feature = "deferred-tools"))] {
/// use tower::ServiceBuilder;
/// use tower_genai::{DeferralMode, ServiceBuilderExt, testing::ScriptedModel};
///
/// let model = ServiceBuilder::new()
///     .tool_search()
///     .tool_guidelines()
///     .deferred_tools(DeferralMode::Append)
///     .service(ScriptedModel::answering("hello"));
/// # drop(model); }
/// ```
pub trait ServiceBuilderExt<L>: sealed::Sealed + Sized {
    /// Adds hosted tools. See [`server_tools`](crate::server_tools).
    #[cfg(feature = "server-tools")]
    fn server_tools(
        self,
        layer: crate::server_tools::ServerToolsLayer,
    ) -> ServiceBuilder<tower::layer::util::Stack<crate::server_tools::ServerToolsLayer, L>>;

    /// Adds the tool loop with its defaults, around a service that runs tools. See [`tool_loop`](crate::tool_loop).
    #[cfg(feature = "tool-loop")]
    fn tool_loop<T>(self, tools: T) -> ServiceBuilder<tower::layer::util::Stack<crate::tool_loop::ToolLoopLayer<T>, L>>;

    /// Adds tool search with its defaults. See [`tool_search`](crate::tool_search); for options use `layer(ToolSearchLayer::new()..)`.
    #[cfg(feature = "tool-search")]
    fn tool_search(self) -> ServiceBuilder<tower::layer::util::Stack<crate::tool_search::ToolSearchLayer, L>>;

    /// Adds tool guidelines with their defaults. See [`tool_guidelines`](crate::tool_guidelines).
    #[cfg(feature = "tool-guidelines")]
    fn tool_guidelines(self) -> ServiceBuilder<tower::layer::util::Stack<crate::tool_guidelines::ToolGuidelinesLayer, L>>;

    /// Adds the deferral of tools for a mode. See [`deferred_tools`](crate::deferred_tools).
    #[cfg(feature = "deferred-tools")]
    fn deferred_tools(
        self,
        mode: crate::DeferralMode,
    ) -> ServiceBuilder<tower::layer::util::Stack<crate::deferred_tools::DeferredToolsLayer, L>>;

    /// Limits how long an answer may take in all. See [`limits`](crate::limits).
    #[cfg(feature = "limits")]
    fn stream_timeout(self, total: std::time::Duration) -> ServiceBuilder<tower::layer::util::Stack<crate::limits::StreamTimeoutLayer, L>>;

    /// Limits how many answers are under way at once. See [`limits`](crate::limits).
    #[cfg(feature = "limits")]
    fn stream_concurrency_limit(
        self,
        answers: usize,
    ) -> ServiceBuilder<tower::layer::util::Stack<crate::limits::StreamConcurrencyLimitLayer, L>>;
}

impl<L> ServiceBuilderExt<L> for ServiceBuilder<L> {
    #[cfg(feature = "server-tools")]
    fn server_tools(
        self,
        layer: crate::server_tools::ServerToolsLayer,
    ) -> ServiceBuilder<tower::layer::util::Stack<crate::server_tools::ServerToolsLayer, L>> {
        self.layer(layer)
    }

    #[cfg(feature = "tool-loop")]
    fn tool_loop<T>(self, tools: T) -> ServiceBuilder<tower::layer::util::Stack<crate::tool_loop::ToolLoopLayer<T>, L>> {
        self.layer(crate::tool_loop::ToolLoopLayer::new(tools))
    }

    #[cfg(feature = "tool-search")]
    fn tool_search(self) -> ServiceBuilder<tower::layer::util::Stack<crate::tool_search::ToolSearchLayer, L>> {
        self.layer(crate::tool_search::ToolSearchLayer::new())
    }

    #[cfg(feature = "tool-guidelines")]
    fn tool_guidelines(self) -> ServiceBuilder<tower::layer::util::Stack<crate::tool_guidelines::ToolGuidelinesLayer, L>> {
        self.layer(crate::tool_guidelines::ToolGuidelinesLayer::new())
    }

    #[cfg(feature = "deferred-tools")]
    fn deferred_tools(
        self,
        mode: crate::DeferralMode,
    ) -> ServiceBuilder<tower::layer::util::Stack<crate::deferred_tools::DeferredToolsLayer, L>> {
        self.layer(crate::deferred_tools::DeferredToolsLayer::new(mode))
    }

    #[cfg(feature = "limits")]
    fn stream_timeout(self, total: std::time::Duration) -> ServiceBuilder<tower::layer::util::Stack<crate::limits::StreamTimeoutLayer, L>> {
        self.layer(crate::limits::StreamTimeoutLayer::new(total))
    }

    #[cfg(feature = "limits")]
    fn stream_concurrency_limit(
        self,
        answers: usize,
    ) -> ServiceBuilder<tower::layer::util::Stack<crate::limits::StreamConcurrencyLimitLayer, L>> {
        self.layer(crate::limits::StreamConcurrencyLimitLayer::new(answers))
    }
}
