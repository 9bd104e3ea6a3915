//! Inner services that notice what happens to them.

use std::{
    future::{Future, pending},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt, stream};
use tower::Service;
use tower_genai::{Error, ErrorKind, EventStream, Json, Message, ModelEvent, ModelRequest, Response, StopReason, ToolDefinition, ToolSet};

/// A request that gives every layer something to do.
pub(crate) fn request() -> ModelRequest {
    let parameters = Json::parse(r#"{"type":"object"}"#).unwrap();
    let tools = [
        ToolDefinition::new("now").description("The time").snippet("now()").guideline("Ask first."),
        ToolDefinition::new("get_weather").description("The weather").parameters(parameters).deferred(true),
    ];
    ModelRequest::new().system("Be brief.").user("hi").tools(ToolSet::new(tools).unwrap())
}

/// The stream of an answer.
pub(crate) fn answer(text: &str) -> EventStream {
    let response = Response::of(Message::assistant(text), StopReason::EndTurn);
    Box::pin(stream::iter(tower_genai::testing::events_of(response).into_iter().map(Ok)))
}

/// How many futures and streams of a [`Hanging`] model are alive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alive {
    pub(crate) futures: Arc<AtomicUsize>,
    pub(crate) streams: Arc<AtomicUsize>,
}

impl Alive {
    pub(crate) fn now(&self) -> (usize, usize) {
        (self.futures.load(Ordering::SeqCst), self.streams.load(Ordering::SeqCst))
    }
}

struct Guard(Arc<AtomicUsize>);

impl Guard {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A model that never ends: either its future hangs, or its stream does after one event.
#[derive(Clone, Debug)]
pub(crate) struct Hanging {
    pub(crate) alive: Alive,
    pub(crate) answers: bool,
}

type BoxedFuture = Pin<Box<dyn Future<Output = Result<EventStream, Error>> + Send>>;

impl Service<ModelRequest> for Hanging {
    type Response = EventStream;
    type Error = Error;
    type Future = BoxedFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: ModelRequest) -> BoxedFuture {
        let (guard, alive, answers) = (Guard::new(&self.alive.futures), self.alive.clone(), self.answers);
        Box::pin(async move {
            let _guard = guard;
            if !answers {
                pending::<()>().await;
            }
            Ok(hanging_stream(&alive))
        })
    }
}

fn hanging_stream(alive: &Alive) -> EventStream {
    let guard = Guard::new(&alive.streams);
    let first = ModelEvent::Warning(tower_genai::Warning::new("first", "the first event"));
    let rest = stream::poll_fn(move |_| {
        let _held = &guard;
        Poll::<Option<Result<ModelEvent, Error>>>::Pending
    });
    Box::pin(stream::iter([Ok(first)]).chain(rest))
}

/// A model that refuses: its call, or its stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusing {
    pub(crate) in_stream: bool,
}

impl Service<ModelRequest> for Refusing {
    type Response = EventStream;
    type Error = Error;
    type Future = std::future::Ready<Result<EventStream, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: ModelRequest) -> Self::Future {
        let error = Error::new(ErrorKind::Permission, "not for you").with_status(403);
        std::future::ready(match self.in_stream {
            true => Ok(Box::pin(stream::iter([Err(error)]))),
            false => Err(error),
        })
    }
}

pub(crate) fn assert_stream<T: Stream<Item = Result<ModelEvent, Error>> + Send>(_: &T) {}
