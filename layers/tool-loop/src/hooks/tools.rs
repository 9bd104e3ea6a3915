//! The boundary of a tool.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tower::ServiceExt;
use tower_genai_core::{BoxError, ToolCall};
use tower_service::Service;

use super::Hooks;
use crate::{EndRun, ToolOutput, running::failure};

/// Tools with hooks around each call.
///
/// A tool that fails is given to [`after_tool`](Hooks::after_tool) as the output that the model would read.
pub struct HookedTools<T, H> {
    tools: T,
    hooks: Arc<H>,
}

impl<T, H> HookedTools<T, H> {
    pub(super) fn new(tools: T, hooks: Arc<H>) -> Self {
        Self { tools, hooks }
    }
}

impl<T: Clone, H> Clone for HookedTools<T, H> {
    fn clone(&self) -> Self {
        Self { tools: self.tools.clone(), hooks: self.hooks.clone() }
    }
}

impl<T, H> fmt::Debug for HookedTools<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookedTools").finish_non_exhaustive()
    }
}

/// The future of [`HookedTools`].
pub struct HookedToolsFuture(Pin<Box<dyn Future<Output = Result<ToolOutput, BoxError>> + Send>>);

impl Future for HookedToolsFuture {
    type Output = Result<ToolOutput, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for HookedToolsFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookedToolsFuture").finish_non_exhaustive()
    }
}

impl<T, H> Service<ToolCall> for HookedTools<T, H>
where
    T: Service<ToolCall, Response = ToolOutput> + Clone + Send + 'static,
    T::Error: Into<BoxError>,
    T::Future: Send,
    H: Hooks,
{
    type Response = ToolOutput;
    type Error = BoxError;
    type Future = HookedToolsFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // The hook comes first, and may answer without the tool.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut call: ToolCall) -> HookedToolsFuture {
        let (tools, hooks) = (self.tools.clone(), self.hooks.clone());
        HookedToolsFuture(Box::pin(async move {
            let mut output = match hooks.before_tool(&mut call).await.map_err(EndRun::new)? {
                Some(output) => output,
                None => match tools.oneshot(call.clone()).await.map_err(Into::into) {
                    Ok(output) => output,
                    Err(error) if error.is::<EndRun>() => return Err(error),
                    Err(error) => ToolOutput::error(failure(&error).1),
                },
            };
            hooks.after_tool(&call, &mut output).await.map_err(EndRun::new)?;
            Ok(output)
        }))
    }
}
