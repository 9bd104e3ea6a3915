use std::{sync::Arc, time::Duration};

use tower_genai_core::Error;
use tower_layer::Layer;

use crate::ToolLoop;
#[cfg(feature = "validation")]
use crate::validation::Schemas;

/// Runs the tools that the model calls, and calls the model again. See the [crate docs](crate) for an example.
#[derive(Clone, Debug)]
pub struct ToolLoopLayer<T> {
    tools: T,
    config: Arc<Config>,
}

/// The options.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) concurrency: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_rounds: u32,
    pub(crate) max_repeats: u32,
    #[cfg(feature = "validation")]
    pub(crate) schemas: Option<Schemas>,
}

impl<T> ToolLoopLayer<T> {
    /// Runs calls through a service: at most 16 at once, for as long as they take, in at most 50 rounds, each call at most 5 rounds in a row
    /// with the same arguments, which are held against the schema of the tool.
    pub fn new(tools: T) -> Self {
        let config = Config {
            concurrency: 16,
            timeout: None,
            max_rounds: 50,
            max_repeats: 5,
            #[cfg(feature = "validation")]
            schemas: Some(Schemas::new()),
        };
        Self { tools, config: Arc::new(config) }
    }

    fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(Arc::make_mut(&mut self.config));
        self
    }

    /// Sets how many calls of a turn run at once (16).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) for 0.
    pub fn concurrency(self, calls: usize) -> Result<Self, Error> {
        if calls == 0 {
            return Err(Error::invalid("concurrency is 0, so that no call could run; use 1 for one after the other"));
        }
        Ok(self.with(|config| config.concurrency = calls))
    }

    /// Sets how long a call may take, its readiness included (no limit). Single tools are limited by a `TimeoutLayer` of tower around them.
    #[must_use]
    pub fn timeout(self, wait: Option<Duration>) -> Self {
        self.with(|config| config.timeout = wait)
    }

    /// Sets how many rounds one call may have (50): the last one's calls are answered without being run, and the call ends with
    /// [`StopReason::RoundLimit`](tower_genai_core::StopReason::RoundLimit).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`](tower_genai_core::ErrorKind::InvalidRequest) for 0.
    pub fn max_rounds(self, rounds: u32) -> Result<Self, Error> {
        if rounds == 0 {
            return Err(Error::invalid("max_rounds is 0, so that the model could not be asked; use at least 1"));
        }
        Ok(self.with(|config| config.max_rounds = rounds))
    }

    /// Sets in how many rounds in a row the model may make a call with the same arguments (5). After that the call ends with
    /// [`StopReason::RepeatLimit`](tower_genai_core::StopReason::RepeatLimit).
    #[must_use]
    pub fn max_repeats(self, rounds: u32) -> Self {
        self.with(|config| config.max_repeats = rounds.max(1))
    }

    /// Sets whether arguments are held against the schema of the tool before it is run (yes).
    #[cfg(feature = "validation")]
    #[must_use]
    pub fn validate(self, validate: bool) -> Self {
        self.with(|config| config.schemas = validate.then(Schemas::new))
    }
}

impl<S, T: Clone> Layer<S> for ToolLoopLayer<T> {
    type Service = ToolLoop<S, T>;

    fn layer(&self, inner: S) -> ToolLoop<S, T> {
        ToolLoop::new(inner, self.tools.clone(), self.config.clone())
    }
}
