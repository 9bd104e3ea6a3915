//! A model that answers from a script.

use std::{
    collections::VecDeque,
    fmt,
    future::{Ready, ready},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures_core::Stream;
use tower_service::Service;

use crate::{AssistantMessage, AssistantPart, Delta, Error, ErrorKind, Message, ModelEvent, ModelRequest, Response, Stop, StopReason};

type Answer = Result<Vec<Result<ModelEvent, Error>>, Error>;
type Script = dyn FnMut(&ModelRequest) -> Answer + Send;

/// A model that answers from a script or a function, and keeps the requests it saw. Clones share both.
///
/// ```
/// use tower_genai_core::{ModelRequest, ModelServiceExt, StopReason, testing::ScriptedModel, Response, Message};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tower_genai_core::Error> {
/// let model = ScriptedModel::responses([Response::of(Message::assistant("one"), StopReason::EndTurn)]);
/// assert_eq!(model.clone().complete(ModelRequest::new().user("hi")).await?.text(), "one");
/// assert_eq!(model.requests().len(), 1);
/// assert!(model.complete(ModelRequest::new()).await.is_err(), "the script is over");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ScriptedModel {
    script: Arc<Mutex<Box<Script>>>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

impl ScriptedModel {
    /// Answers with what a function makes of each request: an error of the call, or the items of its stream.
    pub fn new(script: impl FnMut(&ModelRequest) -> Answer + Send + 'static) -> Self {
        Self { script: Arc::new(Mutex::new(Box::new(script))), requests: Arc::default() }
    }

    /// Answers with these responses, one a call, each with the events that lead to it.
    pub fn responses(responses: impl IntoIterator<Item = Response>) -> Self {
        let mut responses: VecDeque<Response> = responses.into_iter().collect();
        Self::new(move |_| match responses.pop_front() {
            Some(response) => Ok(events_of(response).into_iter().map(Ok).collect()),
            None => Err(Error::new(ErrorKind::Server, "the script of the model is over")),
        })
    }

    /// Answers every call with a text.
    pub fn answering(text: &str) -> Self {
        let text = text.to_owned();
        Self::new(move |_| {
            let response = Response::of(Message::assistant(text.as_str()), StopReason::EndTurn);
            Ok(events_of(response).into_iter().map(Ok).collect())
        })
    }

    /// Answers with these parts, one message a call; the stop is `ToolUse` where a part waits for an answer.
    pub fn messages(messages: impl IntoIterator<Item = Vec<AssistantPart>>) -> Self {
        Self::responses(messages.into_iter().map(|parts| {
            let waits = parts.iter().any(|part| matches!(part, AssistantPart::ToolCall(_) | AssistantPart::Search(_)));
            let stop = if waits { StopReason::ToolUse } else { StopReason::EndTurn };
            Response { stop: Stop::new(stop), ..Response::of(AssistantMessage::new(parts), stop) }
        }))
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").finish_non_exhaustive()
    }
}

/// The events that lead to a response: a delta for each text, each message, the response.
#[must_use]
pub fn events_of(response: Response) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    for (ordinal, message) in (0u32..).zip(&response.messages) {
        if let Message::Assistant(assistant) = &**message {
            for part in &assistant.parts {
                if let AssistantPart::Text { text } = part {
                    events.push(ModelEvent::Text(Delta { message: ordinal, text: text.to_string() }));
                }
            }
        }
        events.push(ModelEvent::Message(message.clone()));
    }
    events.push(ModelEvent::Response(Box::new(response)));
    events
}

impl Service<ModelRequest> for ScriptedModel {
    type Response = ScriptedStream;
    type Error = Error;
    type Future = Ready<Result<ScriptedStream, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ModelRequest) -> Self::Future {
        let answer = {
            let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
            script(&request)
        };
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        ready(answer.map(|items| ScriptedStream { items: items.into() }))
    }
}

/// The stream of a [`ScriptedModel`].
#[derive(Debug)]
pub struct ScriptedStream {
    items: VecDeque<Result<ModelEvent, Error>>,
}

impl Stream for ScriptedStream {
    type Item = Result<ModelEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.items.pop_front())
    }
}
