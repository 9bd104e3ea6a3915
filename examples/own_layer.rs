//! A layer of your own: how long the first event takes, how long the whole answer, and how many tokens it cost.
//!
//! ```text
//! cargo run --example own_layer
//! ```
//!
//! It stands around the tool search layer and inside it: outside it sees one call, inside each request that this call made.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use futures_util::Stream;
use pin_project_lite::pin_project;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_genai::{
    AssistantMessage, AssistantPart, Error, Json, ModelEvent, ModelRequest, ModelServiceExt, Response, StopReason, ToolCall,
    ToolDefinition, ToolSet, Usage,
    testing::{ReadinessProbe, ScriptedModel},
    tool_search::ToolSearchLayer,
};

/// The layer is the configuration: here, what the measurements are called.
#[derive(Clone, Copy)]
struct MeterLayer(&'static str);

impl<S> Layer<S> for MeterLayer {
    type Service = Meter<S>;

    fn layer(&self, inner: S) -> Meter<S> {
        Meter { inner, name: self.0 }
    }
}

/// The service. It asks nothing of the request, so that it fits every service, whatever its request type.
#[derive(Clone)]
struct Meter<S> {
    inner: S,
    name: &'static str,
}

impl<S: Service<Req>, Req> Service<Req> for Meter<S> {
    type Response = MeterStream<S::Response>;
    type Error = S::Error;
    type Future = MeterFuture<S::Future>;

    /// Readiness is the inner service's.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    /// The instance that was ready is called right here: no clone of it is needed, nor `S: Clone`.
    fn call(&mut self, request: Req) -> Self::Future {
        let measuring = Measuring { name: self.name, start: Instant::now(), first_event: None, usage: None };
        MeterFuture { inner: self.inner.call(request), measuring: Some(measuring) }
    }
}

/// One measurement. It reports when it is dropped: with the response, with an error, or when nobody wants the answer any more. Readers stop at the
/// response, so there is no waiting for the `None` behind it.
struct Measuring {
    name: &'static str,
    start: Instant,
    first_event: Option<Duration>,
    usage: Option<Usage>,
}

impl Drop for Measuring {
    fn drop(&mut self) {
        let (name, total) = (self.name, self.start.elapsed());
        match (self.first_event, self.usage.and_then(|usage| usage.input_tokens)) {
            (Some(first), Some(tokens)) => println!("{name}: first event after {first:.0?}, all after {total:.0?}, {tokens} tokens read"),
            _ => println!("{name}: given up after {total:.0?}"),
        }
    }
}

pin_project! {
    /// The named future. It resolves when the answer begins, and hands the measurement on.
    struct MeterFuture<F> { #[pin] inner: F, measuring: Option<Measuring> }
}

impl<F: Future<Output = Result<T, E>>, T, E> Future for MeterFuture<F> {
    type Output = Result<MeterStream<T>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let inner = ready!(this.inner.poll(cx))?;
        Poll::Ready(Ok(MeterStream { inner, measuring: this.measuring.take() }))
    }
}

pin_project! {
    /// The stream around the answer: most of it is still to come when the future has resolved.
    struct MeterStream<T> { #[pin] inner: T, measuring: Option<Measuring> }
}

impl<T: Stream<Item = Result<ModelEvent, Error>>> Stream for MeterStream<T> {
    type Item = T::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T::Item>> {
        let this = self.project();
        let item = ready!(this.inner.poll_next(cx));
        if let (Some(Ok(event)), Some(measuring)) = (&item, this.measuring.as_mut()) {
            measuring.first_event.get_or_insert(measuring.start.elapsed());
            if let ModelEvent::Response(response) = event {
                measuring.usage = Some(response.usage);
                *this.measuring = None;
            }
        }
        Poll::Ready(item)
    }
}

/// A model that searches, then answers, and searches again when it is asked a second time.
fn script() -> Result<ScriptedModel, Error> {
    let search = AssistantPart::Search(ToolCall::new("1", "tool_search", Json::parse(r#"{"queries":["weather"]}"#)?));
    let steps = [(search.clone(), 900), (AssistantPart::Text { text: "It is raining.".into() }, 1_100), (search, 900)];
    Ok(ScriptedModel::responses(steps.map(|(part, tokens)| {
        let mut response = Response::of(AssistantMessage::new(vec![part]), StopReason::EndTurn);
        response.usage.input_tokens = Some(tokens);
        response
    })))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let script = script()?;
    let slow = service_fn(move |request: ModelRequest| {
        let script = script.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(30)).await;
            script.oneshot(request).await
        }
    });
    let model = ServiceBuilder::new()
        .layer(MeterLayer("the call"))
        .layer(ToolSearchLayer::new())
        .layer(MeterLayer("  a request"))
        .service(ReadinessProbe::new(slow)); // panics when a layer breaks the contract of `Service`
    let tools = ToolSet::new([ToolDefinition::new("get_weather").description("The weather of a place").deferred(true)])?;
    let request = ModelRequest::new().user("Is it raining?").tools(tools);
    println!("answer: {}", model.clone().complete(request.clone()).await?.text());
    drop(model.oneshot(request).await?); // the caller hangs up
    Ok(())
}
