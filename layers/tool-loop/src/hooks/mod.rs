//! Code of yours at the boundaries of a run, of each call of the model, and of each call of a tool.
//!
//! Implement [`Hooks`] and install the value where you want to be asked, one line for each boundary:
//!
//! ```
//! use tower::ServiceBuilder;
//! use tower_genai_core::{BoxError, Error, ModelRequest, ModelServiceExt, Response, ToolCall, testing::ScriptedModel};
//! use tower_genai_tool_loop::{ToolLoopLayer, ToolOutput, hooks::{Hooks, InstallHooks}};
//!
//! struct Audit;
//!
//! impl Hooks for Audit {
//!     async fn before_tool(&self, call: &mut ToolCall) -> Result<Option<ToolOutput>, Error> {
//!         Ok((&*call.name.name == "delete").then(|| ToolOutput::error("Deleting needs a human; ask for one.")))
//!     }
//!     async fn on_success(&self, response: &Response) -> Result<(), Error> {
//!         println!("{} messages", response.messages.len());
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let provider = ScriptedModel::answering("hello");
//! # let tools = tower::service_fn(|_: ToolCall| async { Ok::<_, BoxError>(ToolOutput::from("done")) });
//! let hooks = InstallHooks::new(Audit);
//! let model = ServiceBuilder::new()
//!     .layer(hooks.run())
//!     .layer(ToolLoopLayer::new(hooks.tools(tools)))
//!     .layer(hooks.model())
//!     .service(provider);
//! assert_eq!(model.complete(ModelRequest::new().user("hi")).await?.text(), "hello");
//! # Ok(())
//! # }
//! ```
//!
//! # When what is asked
//!
//! `before_run`; then for each round `before_model`, `after_model`, and for each of its calls `before_tool`, `after_tool`; at last `after_run` and
//! `on_success`, and only then the caller sees the response. `on_event` sees every event that the caller sees, before it does. Where anything fails,
//! `on_error` is asked before the caller sees the error; where the run is dropped before its end, `on_cancelled`.
//!
//! # Errors
//!
//! A hook that fails ends the run with its error. If that happens between the calls of a turn, each of them that has no result yet is given a failed
//! one first, so that the messages so far can be sent again.
//!
//! # Several
//!
//! A second value of [`Hooks`] is one more layer: what is installed outermost is asked first before, and last after.

mod boundary;
mod tools;

use std::{future::Future, sync::Arc};

use tower_genai_core::{Error, ModelEvent, ModelRequest, Response, ToolCall};

pub use boundary::{Hooked, HookedFuture, HookedStream, ModelHooksLayer, RunHooksLayer};
pub use tools::{HookedTools, HookedToolsFuture};

use crate::ToolOutput;

/// What is asked at the boundaries. Every method has a default that does nothing.
pub trait Hooks: Send + Sync + 'static {
    /// Before a run: the request may be changed, also the message of the user that opens it.
    fn before_run(&self, _request: &mut ModelRequest) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// Before each call of the model, the first and those behind tools: the request holds everything that is settled.
    fn before_model(&self, _request: &mut ModelRequest) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// After each call of the model, before any of its calls is run.
    fn after_model(&self, _response: &mut Response) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// Before a call is run. The arguments may be changed; an output answers the call, which is then not run.
    fn before_tool(&self, _call: &mut ToolCall) -> impl Future<Output = Result<Option<ToolOutput>, Error>> + Send {
        async { Ok(None) }
    }

    /// After a call was run or failed, before the model reads the output, which may be changed.
    fn after_tool(&self, _call: &ToolCall, _output: &mut ToolOutput) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// After the last message of a run.
    fn after_run(&self, _response: &mut Response) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// After [`after_run`](Self::after_run), of all hooks that are installed inside: the last word before the caller sees the response.
    fn on_success(&self, _response: &Response) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }

    /// A run failed.
    fn on_error(&self, _error: &Error) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// A run was dropped before its end.
    fn on_cancelled(&self) {}

    /// An event of a run, before the caller sees it.
    fn on_event(&self, _event: &ModelEvent) {}
}

/// Nothing is done.
impl Hooks for () {}

/// Makes what installs one value of [`Hooks`]. Clones share it.
#[derive(Debug)]
pub struct InstallHooks<H>(Arc<H>);

impl<H> Clone for InstallHooks<H> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<H: Hooks> InstallHooks<H> {
    /// Shares hooks between the boundaries.
    pub fn new(hooks: H) -> Self {
        Self(Arc::new(hooks))
    }

    /// The layer of the run, outside the tool loop: `before_run`, `after_run` and all that begins with `on_`.
    #[must_use]
    pub fn run(&self) -> RunHooksLayer<H> {
        RunHooksLayer::new(self.0.clone())
    }

    /// The layer of the model, inside the tool loop: `before_model`, `after_model`.
    #[must_use]
    pub fn model(&self) -> ModelHooksLayer<H> {
        ModelHooksLayer::new(self.0.clone())
    }

    /// The tools with `before_tool` and `after_tool` around each call.
    pub fn tools<T>(&self, tools: T) -> HookedTools<T, H> {
        HookedTools::new(tools, self.0.clone())
    }
}
