//! The HTTP side: one route that streams the answer as server-sent events.

use std::{convert::Infallible, error::Error, io};

use axum::{
    Json, Router,
    extract::State,
    http::HeaderMap,
    response::sse::{Event, Sse},
    routing::post,
};
use futures_util::{Stream, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_genai::{ModelEvent, ModelRequest, ToolSet};
use tower_http::{limit::RequestBodyLimitLayer, trace::TraceLayer};

use crate::{
    stack::ModelStack,
    types::{CallError, CallRequest},
};

/// What a browser sends.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Ask {
    pub(crate) question: String,
}

#[derive(Clone)]
struct App {
    model: ModelStack,
    tools: ToolSet,
}

/// A running service.
pub(crate) struct Server {
    pub(crate) url: String,
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<()>>,
}

impl Server {
    /// Ends it once every answer has been sent.
    pub(crate) async fn stop(self) -> Result<(), Box<dyn Error>> {
        drop(self.stop);
        Ok(self.task.await??)
    }
}

pub(crate) async fn start(model: ModelStack, tools: ToolSet) -> io::Result<Server> {
    let around_http = ServiceBuilder::new().layer(TraceLayer::new_for_http()).layer(RequestBodyLimitLayer::new(64 * 1024));
    let app = Router::new().route("/chat", post(chat)).layer(around_http).with_state(App { model, tools });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/chat", listener.local_addr()?);
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async {
        let _ = stopped.await;
    };
    let task = tokio::spawn(async move { axum::serve(listener, app).with_graceful_shutdown(stopped).await });
    Ok(Server { url, stop, task })
}

/// Errors before the first event have a status; later ones are an event. A browser that goes away drops the stream, and with it the call of the model.
async fn chat(
    State(mut app): State<App>,
    headers: HeaderMap,
    Json(ask): Json<Ask>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, CallError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("unknown").to_owned();
    let request =
        CallRequest { user: header("x-user"), trace: header("x-trace"), model: ModelRequest::new().user(ask.question).tools(app.tools) };
    let events = app.model.ready().await?.call(request).await?;
    Ok(Sse::new(events.map(|event| Ok(event.map_or_else(|error| failed(error.kind().as_str()), |event| to_event(&event))))))
}

fn to_event(event: &ModelEvent) -> Event {
    Event::default().json_data(event).unwrap_or_else(|_| failed("encoding"))
}

fn failed(kind: &str) -> Event {
    Event::default().event("error").data(kind)
}
