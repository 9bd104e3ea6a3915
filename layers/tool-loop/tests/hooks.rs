//! Hooks: when each is asked, what it can change, what a failing one does.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use futures_util::{FutureExt, StreamExt};
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_genai_core::{
    AssistantPart, Content, Error, ErrorKind, Message, ModelEvent, ModelRequest, ModelServiceExt, Response, ToolCall, ToolDefinition,
    ToolSet, testing::ScriptedModel,
};
use tower_genai_tool_loop::{
    EndRun, ToolLoopLayer, ToolOutput,
    hooks::{Hooks, InstallHooks},
};

/// Notes what it is asked, and fails where it is told to.
#[derive(Clone, Default)]
struct Note {
    name: &'static str,
    log: Arc<Mutex<Vec<String>>>,
    fails: &'static str,
}

impl Note {
    fn failing(fails: &'static str) -> Self {
        Self { fails, ..Self::default() }
    }

    fn note(&self, what: impl Into<String>) -> Result<(), Error> {
        let what = what.into();
        let fails = !self.fails.is_empty() && what.starts_with(self.fails);
        self.log.lock().unwrap().push(format!("{}{what}", self.name));
        if fails { Err(Error::new(ErrorKind::Service, "the hook failed")) } else { Ok(()) }
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl Hooks for Note {
    async fn before_run(&self, request: &mut ModelRequest) -> Result<(), Error> {
        request.system.push("Be brief.".into());
        self.note("before_run")
    }
    async fn before_model(&self, request: &mut ModelRequest) -> Result<(), Error> {
        self.note(format!("before_model {}", request.messages.len()))
    }
    async fn after_model(&self, response: &mut Response) -> Result<(), Error> {
        self.note(format!("after_model {}", response.open_calls().count()))
    }
    async fn before_tool(&self, call: &mut ToolCall) -> Result<Option<ToolOutput>, Error> {
        self.note(format!("before_tool {}", call.id))?;
        Ok((&*call.name.name == "delete").then(|| ToolOutput::error("ask a human")))
    }
    async fn after_tool(&self, call: &ToolCall, output: &mut ToolOutput) -> Result<(), Error> {
        if output.is_error {
            output.content.push(Content::text("(seen)"));
        }
        self.note(format!("after_tool {} {}", call.id, output.is_error))
    }
    async fn after_run(&self, response: &mut Response) -> Result<(), Error> {
        self.note(format!("after_run {}", response.messages.len()))
    }
    async fn on_success(&self, _: &Response) -> Result<(), Error> {
        self.note("on_success")
    }
    async fn on_error(&self, error: &Error) {
        let _ = self.note(format!("on_error {error}"));
    }
    fn on_cancelled(&self) {
        let _ = self.note("on_cancelled");
    }
    fn on_event(&self, event: &ModelEvent) {
        match event {
            ModelEvent::ToolStarted(run) => drop(self.note(format!("event started {}", run.id))),
            ModelEvent::Response(_) => drop(self.note("event response")),
            _ => {}
        }
    }
}

fn call(id: &str, name: &str) -> AssistantPart {
    AssistantPart::ToolCall(ToolCall::from_text(id, name, "{}"))
}

fn text(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.into() }
}

fn request() -> ModelRequest {
    let tools = ["read", "fail", "delete", "hang"].map(ToolDefinition::new);
    ModelRequest::new().user("hi").tools(ToolSet::new(tools).unwrap())
}

fn tools() -> impl Service<ToolCall, Response = ToolOutput, Error = BoxError, Future: Send> + Clone + Send + 'static {
    service_fn(|call: ToolCall| async move {
        match &*call.name.name {
            "fail" => Err(BoxError::from("no disk")),
            "hang" => pending().await,
            _ => Ok(ToolOutput::from("ran")),
        }
    })
}

struct Ran {
    messages: Vec<Arc<Message>>,
    outcome: Result<Response, Error>,
    requests: Vec<ModelRequest>,
}

impl Ran {
    fn results(&self) -> Vec<String> {
        let results = self.messages.iter().filter_map(|message| match &**message {
            Message::Tool(result) => {
                let text: String =
                    result.content.iter().map(|content| if let Content::Text { text } = content { &**text } else { "" }).collect();
                Some(format!("{}{} {text}", result.call_id, if result.is_error { "!" } else { "" }))
            }
            _ => None,
        });
        results.collect()
    }
}

async fn run(hooks: Note, turns: Vec<Vec<AssistantPart>>) -> Ran {
    let hooks = InstallHooks::new(hooks);
    let model = ScriptedModel::messages(turns);
    let service = ServiceBuilder::new()
        .layer(hooks.run())
        .layer(ToolLoopLayer::new(hooks.tools(tools())).concurrency(1).unwrap())
        .layer(hooks.model())
        .service(model.clone());
    let mut messages = Vec::new();
    let outcome = match service.oneshot(request()).await {
        Err(error) => Err(error),
        Ok(mut events) => loop {
            match events.next().await.unwrap() {
                Ok(ModelEvent::Message(message)) => messages.push(message),
                Ok(ModelEvent::Response(response)) => break Ok(*response),
                Ok(_) => {}
                Err(error) => {
                    assert!(events.next().await.is_none());
                    break Err(error);
                }
            }
        },
    };
    Ran { messages, outcome, requests: model.requests() }
}

#[tokio::test]
async fn each_is_asked_in_its_turn() {
    let note = Note::default();
    let ran = run(note.clone(), vec![vec![call("a", "read"), call("b", "fail"), call("c", "delete")], vec![text("done")]]).await;
    assert_eq!(
        note.log(),
        [
            "before_run",
            "before_model 1",
            "after_model 3",
            "event started a",
            "before_tool a",
            "after_tool a false",
            "event started b",
            "before_tool b",
            "after_tool b true",
            "event started c",
            "before_tool c",
            "after_tool c true",
            "before_model 5",
            "after_model 0",
            "after_run 5",
            "on_success",
            "event response",
        ]
    );
    assert_eq!(ran.results(), ["a ran", "b! The tool failed: no disk(seen)", "c! ask a human(seen)"]);
    assert!(ran.requests.iter().all(|request| *request.system == [Arc::from("Be brief.")]));
    assert_eq!(ran.outcome.unwrap().text(), "done");
}

#[tokio::test]
async fn a_hook_that_fails_ends_the_run_with_every_call_answered() {
    for (fails, last, results) in [
        ("before_run", "before_run", &[][..]),
        ("before_model 1", "before_model 1", &[]),
        ("after_model", "after_model 2", &[]),
        ("before_tool b", "before_tool b", &["a ran", "b! This call has no result: the run was ended."]),
        (
            "after_tool a",
            "after_tool a false",
            &["a! This call has no result: the run was ended.", "b! This call has no result: the run was ended."],
        ),
        ("before_model 4", "before_model 4", &["a ran", "b ran"]),
        ("after_run", "after_run 4", &["a ran", "b ran"]),
        ("on_success", "on_success", &["a ran", "b ran"]),
    ] {
        let note = Note::failing(fails);
        let ran = run(note.clone(), vec![vec![call("a", "read"), call("b", "read")], vec![text("done")]]).await;
        let error = ran.outcome.as_ref().unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Service, "the hook failed"), "{fails}");
        assert_eq!(ran.results(), results, "{fails}");
        let log = note.log();
        assert_eq!(log[log.len() - 2..], [last.to_owned(), "on_error the hook failed".to_owned()], "{fails}: {log:?}");
        assert!(!log.iter().any(|line| line == "event response" || line == "on_cancelled"), "{fails}: {log:?}");
    }
}

#[tokio::test]
async fn an_error_of_the_model_is_shown_to_the_run_only() {
    let note = Note::default();
    let ran = run(note.clone(), vec![]).await;
    assert_eq!(ran.outcome.unwrap_err().kind(), ErrorKind::Server);
    assert_eq!(note.log(), ["before_run", "before_model 1", "on_error the script of the model is over"]);
}

#[tokio::test]
async fn a_drop_before_the_end_is_seen_once() {
    let note = Note::default();
    let hooks = InstallHooks::new(note.clone());
    let service = || {
        let model = ScriptedModel::messages([vec![call("a", "hang")]]);
        ServiceBuilder::new().layer(hooks.run()).layer(ToolLoopLayer::new(hooks.tools(tools()))).layer(hooks.model()).service(model)
    };
    let mut events = service().oneshot(request()).await.unwrap();
    while events.next().now_or_never().is_some() {}
    drop(events);
    assert_eq!(note.log().iter().filter(|line| *line == "on_cancelled").count(), 1);
    drop(service().oneshot(request()));
    assert_eq!(note.log().iter().filter(|line| *line == "on_cancelled").count(), 1, "what was never polled never began");
    let done = hooks.run().layer(ScriptedModel::answering("ok")).complete(request()).await.unwrap();
    assert_eq!((done.text().as_str(), note.log().iter().filter(|line| *line == "on_cancelled").count()), ("ok", 1));
}

#[tokio::test]
async fn two_are_asked_from_outside_in_and_from_inside_out() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let [outer, inner] = ["outer ", "inner "].map(|name| InstallHooks::new(Note { name, log: log.clone(), fails: "" }));
    let model = ScriptedModel::answering("ok");
    let service = ServiceBuilder::new().layer(outer.run()).layer(inner.run()).service(model);
    service.complete(request()).await.unwrap();
    let asked: Vec<_> = log.lock().unwrap().iter().filter(|line| line.contains("_run") || line.contains("success")).cloned().collect();
    assert_eq!(
        asked,
        ["outer before_run", "inner before_run", "inner after_run 1", "inner on_success", "outer after_run 1", "outer on_success"]
    );
}

#[tokio::test]
async fn a_tool_can_end_the_run_by_itself() {
    let tools = service_fn(|call: ToolCall| async move {
        if *call.id == *"b" { Err(EndRun::new(Error::invalid("the licence has run out"))) } else { Ok(ToolOutput::from("ran")) }
    });
    let model = ScriptedModel::messages([vec![call("a", "read"), call("b", "read"), call("c", "read")]]);
    let layer = ToolLoopLayer::new(tools).concurrency(1).unwrap();
    let events: Vec<_> = layer.layer(model).oneshot(request()).await.unwrap().collect().await;
    let answered = events.iter().filter(|event| matches!(event, Ok(ModelEvent::Message(message)) if message.answers().is_some())).count();
    assert_eq!(answered, 3);
    assert_eq!(events.last().unwrap().as_ref().unwrap_err().to_string(), "the licence has run out");
}
