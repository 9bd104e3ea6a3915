//! What a user says while the model works.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tower_genai_core::{Content, UserMessage};

/// Puts messages of the user between the rounds of a running call.
///
/// Put a clone into [`ModelRequest::extensions`](tower_genai_core::ModelRequest::extensions) and keep the other. What is sent waits for the
/// calls that run, skips the [serial](tower_genai_core::ToolDefinition::serial) ones that have not begun, and opens the next round; what is sent
/// while the model gives its last answer opens another one. What nobody took when the call is over can be [taken](Self::take) back.
///
/// ```
/// use tower_genai_core::ModelRequest;
/// use tower_genai_tool_loop::Steering;
///
/// let steering = Steering::new();
/// let mut request = ModelRequest::new().user("Tidy up the repository.");
/// request.extensions.insert(steering.clone());
/// steering.send("Leave the tests alone.");
/// assert_eq!(steering.waiting(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Steering(Arc<Mutex<VecDeque<UserMessage>>>);

impl Steering {
    /// A handle without messages.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says something.
    pub fn send(&self, text: impl Into<Arc<str>>) {
        self.send_message(UserMessage::new([Content::text(text)]));
    }

    /// Says something with images.
    pub fn send_message(&self, message: UserMessage) {
        self.queue().push_back(message);
    }

    /// How many messages wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue().len()
    }

    /// Takes all that wait, oldest first.
    #[must_use]
    pub fn take(&self) -> Vec<UserMessage> {
        self.queue().drain(..).collect()
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<UserMessage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
