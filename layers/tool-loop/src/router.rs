//! Names of tools to the services that run them.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tower::{
    ServiceExt,
    util::{BoxCloneSyncService, Oneshot},
};
use tower_genai_core::{BoxError, Error, NameRules, ToolCall, ToolDefinition, ToolName, ToolSet, wire_name};
use tower_layer::Layer;
use tower_service::Service;

use crate::{Tool, ToolOutput};

/// The service of one tool.
pub type ToolService = BoxCloneSyncService<ToolCall, ToolOutput, BoxError>;

/// Tools, each with the service that runs it.
///
/// ```
/// use std::time::Duration;
///
/// use tower::{limit::ConcurrencyLimitLayer, service_fn, timeout::TimeoutLayer};
/// use tower_genai_core::{BoxError, ToolCall, ToolDefinition};
/// use tower_genai_tool_loop::{Tool, ToolLoopLayer, ToolOutput, ToolRouter};
///
/// let read = Tool::new(
///     ToolDefinition::new("read_file").description("Read a text file"),
///     service_fn(|call: ToolCall| async move { Ok::<_, BoxError>(ToolOutput::from(format!("{} bytes", call.arguments))) }),
/// );
/// let customers = ToolRouter::new().tool(
///     Tool::new(
///         ToolDefinition::new("find").description("Find a customer").deferred(true),
///         service_fn(|_: ToolCall| async { Ok::<_, BoxError>(ToolOutput::from("Ada")) }),
///     )
///     .layer(ConcurrencyLimitLayer::new(2)),
/// );
/// let router = ToolRouter::new().tool(read.layer(TimeoutLayer::new(Duration::from_secs(5)))).group("crm", customers);
/// let (tools, service) = router.into_parts()?;
/// assert_eq!(tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>(), ["read_file", "crm.find"]);
/// let layer = ToolLoopLayer::new(service);
/// # drop(layer);
/// # Ok::<(), tower_genai_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct ToolRouter {
    tools: Vec<Tool>,
}

impl ToolRouter {
    /// A router without tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a tool of its definition and the service that runs it.
    #[must_use]
    pub fn route<S>(self, definition: ToolDefinition, service: S) -> Self
    where
        S: Service<ToolCall, Response = ToolOutput> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
    {
        self.tool(Tool::new(definition, service))
    }

    /// Adds the tools of another router under a namespace; those that have one keep it.
    #[must_use]
    pub fn group(mut self, namespace: impl Into<Arc<str>>, tools: Self) -> Self {
        let namespace = namespace.into();
        self.tools.extend(tools.tools.into_iter().map(|mut tool| {
            tool.definition.name.namespace.get_or_insert_with(|| namespace.clone());
            tool
        }));
        self
    }

    /// Puts a layer around the service of each tool so far.
    #[must_use]
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<ToolService>,
        L::Service: Service<ToolCall, Response = ToolOutput> + Clone + Send + Sync + 'static,
        <L::Service as Service<ToolCall>>::Error: Into<BoxError>,
        <L::Service as Service<ToolCall>>::Future: Send + 'static,
    {
        self.tools = self.tools.into_iter().map(|tool| tool.layer(&layer)).collect();
        self
    }

    /// Adds the tools of another router.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) where both have a tool of one name.
    pub fn merge(mut self, other: Self) -> Result<Self, Error> {
        let same = other.tools.iter().find(|tool| self.tools.iter().any(|known| known.definition.name == tool.definition.name));
        if let Some(tool) = same {
            let name = &tool.definition.name;
            return Err(Error::invalid(format!("both routers have a tool `{name}`; rename one, or put one router into a group")));
        }
        self.tools.extend(other.tools);
        Ok(self)
    }

    /// The definitions for the request, and the service for the loop.
    ///
    /// # Errors
    ///
    /// As [`ToolSet::new`]: two tools of one name, or one that no provider takes.
    pub fn into_parts(self) -> Result<(ToolSet, RoutedTools), Error> {
        let tools = ToolSet::new(self.tools.iter().map(|tool| tool.definition.clone()))?;
        let services = self.tools.into_iter().map(|tool| (tool.definition.name, tool.service)).collect();
        Ok((tools, RoutedTools { services: Arc::new(services) }))
    }
}

impl fmt::Debug for ToolRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| tool.definition.name.to_string())).finish()
    }
}

/// The services of a [`ToolRouter`], as one. Clones share them.
///
/// It is always ready: what a tool waits for is part of its call.
#[derive(Clone)]
pub struct RoutedTools {
    services: Arc<HashMap<ToolName, ToolService>>,
}

impl fmt::Debug for RoutedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoutedTools").field("tools", &self.services.len()).finish_non_exhaustive()
    }
}

impl Service<ToolCall> for RoutedTools {
    type Response = ToolOutput;
    type Error = BoxError;
    type Future = RoutedFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> RoutedFuture {
        RoutedFuture(match self.services.get(&call.name) {
            Some(service) => Routed::Found(Box::pin(service.clone().oneshot(call))),
            None => Routed::Unknown(call.name),
        })
    }
}

/// The future of [`RoutedTools`].
pub struct RoutedFuture(Routed);

enum Routed {
    Found(Pin<Box<Oneshot<ToolService, ToolCall>>>),
    Unknown(ToolName),
}

impl Future for RoutedFuture {
    type Output = Result<ToolOutput, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Routed::Found(call) => call.as_mut().poll(cx),
            Routed::Unknown(name) => {
                let name = wire_name(name, NameRules::PORTABLE);
                Poll::Ready(Ok(ToolOutput::error(format!("There is no tool `{name}` here."))))
            }
        }
    }
}

impl fmt::Debug for RoutedFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoutedFuture").finish_non_exhaustive()
    }
}
