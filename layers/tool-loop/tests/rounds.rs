//! The layer over scripted models: what is run, in which order, what the model is told, where it ends.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::{
    future::pending,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, StreamExt};
use serde_json::json;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt};
use tower_genai_core::{
    AssistantMessage, AssistantPart, Content, Conversation, Error, ErrorKind, Message, ModelEvent, ModelRequest, ModelServiceExt, Response,
    SearchResult, StopReason, ToolCall, ToolChoice, ToolDefinition, ToolResult, ToolSet, testing::ScriptedModel,
};
use tower_genai_tool_loop::{Steering, ToolLoopLayer, ToolOutput};

fn call(id: &str, name: &str) -> AssistantPart {
    AssistantPart::ToolCall(ToolCall::from_text(id, name, "{}"))
}

fn call_with(id: &str, name: &str, arguments: &str) -> AssistantPart {
    AssistantPart::ToolCall(ToolCall::from_text(id, name, arguments))
}

fn text(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.into() }
}

fn tools() -> ToolSet {
    let read = json!({"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}});
    ToolSet::new([
        ToolDefinition::new("now"),
        ToolDefinition::new("read").parameters(read),
        ToolDefinition::new("fail"),
        ToolDefinition::new("break"),
        ToolDefinition::new("hang"),
        ToolDefinition::new("commit").serial(true),
        ToolDefinition::new("push").serial(true),
        ToolDefinition::new("find").namespace("crm"),
        ToolDefinition::new("hidden").deferred(true),
    ])
    .unwrap()
}

fn request() -> ModelRequest {
    ModelRequest::new().user("hi").tools(tools())
}

/// Runs each tool as its name says, and notes when a call begins and ends.
#[derive(Clone, Default)]
struct Toolbox {
    log: Arc<Mutex<Vec<String>>>,
    alive: Arc<AtomicUsize>,
}

/// Counts the calls that run.
struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Service<ToolCall> for Toolbox {
    type Response = ToolOutput;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutput, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        let Self { log, alive } = self.clone();
        Box::pin(async move {
            alive.fetch_add(1, Ordering::SeqCst);
            let _alive = Alive(alive);
            log.lock().unwrap().push(format!("+{}", call.id));
            match &*call.name.name {
                "fail" => return Err(BoxError::from("the disk is full")),
                "break" => panic!("a secret"),
                "hang" => pending::<()>().await,
                // Calls with longer ids are done sooner.
                "read" => tokio::time::sleep(Duration::from_secs(10 - call.id.len() as u64)).await,
                _ => tokio::task::yield_now().await,
            }
            log.lock().unwrap().push(format!("-{}", call.id));
            Ok(ToolOutput::from(format!("ran {}", call.name)))
        })
    }
}

struct Ran {
    response: Response,
    events: Vec<ModelEvent>,
    log: Vec<String>,
    requests: Vec<ModelRequest>,
}

impl Ran {
    /// The results in short.
    fn results(&self) -> Vec<String> {
        let results = self.response.messages.iter().filter_map(|message| match &**message {
            Message::Tool(result) => {
                Some(format!("{}{}: {}", result.call_id, if result.is_error { "!" } else { "" }, said(&result.content)))
            }
            _ => None,
        });
        results.collect()
    }

    /// The kinds of the messages: m for the model, t for a tool, u for a user.
    fn shape(&self) -> String {
        let kind = |message: &Arc<Message>| match &**message {
            Message::Assistant(_) => 'm',
            Message::Tool(_) => 't',
            Message::User(_) => 'u',
            _ => '?',
        };
        self.response.messages.iter().map(kind).collect()
    }

    /// The events of the tools in short.
    fn tools(&self) -> Vec<String> {
        let tools = self.events.iter().filter_map(|event| match event {
            ModelEvent::ToolStarted(run) => Some(format!("+{}", run.id)),
            ModelEvent::ToolCompleted(run) => Some(format!("-{}", run.id)),
            ModelEvent::ToolFailed { run, reason } => Some(format!("!{} {reason}", run.id)),
            ModelEvent::Message(message) => message.answers().map(|id| format!("={id}")),
            _ => None,
        });
        tools.collect()
    }
}

fn said(content: &[Content]) -> String {
    let texts = content.iter().map(|content| match content {
        Content::Text { text } => text.to_string(),
        other => format!("{other:?}"),
    });
    texts.collect()
}

/// Runs a script to its end.
async fn run(turns: Vec<Vec<AssistantPart>>) -> Ran {
    run_with(turns, request(), |layer| layer).await
}

async fn run_with(
    turns: Vec<Vec<AssistantPart>>,
    request: ModelRequest,
    tune: fn(ToolLoopLayer<Toolbox>) -> ToolLoopLayer<Toolbox>,
) -> Ran {
    play(ScriptedModel::messages(turns), request, tune).await
}

async fn play(model: ScriptedModel, request: ModelRequest, tune: fn(ToolLoopLayer<Toolbox>) -> ToolLoopLayer<Toolbox>) -> Ran {
    let toolbox = Toolbox::default();
    let mut stream = tune(ToolLoopLayer::new(toolbox.clone())).layer(model.clone()).oneshot(request).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event.unwrap());
    }
    let Some(ModelEvent::Response(response)) = events.last() else { panic!("{events:?}") };
    let (response, log) = ((**response).clone(), toolbox.log.lock().unwrap().clone());
    Ran { response, events, log, requests: model.requests() }
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side_and_their_results_keep_the_order_of_the_calls() {
    let reads = vec![call_with("a", "read", "{\"path\":\"1\"}"), call_with("bbb", "read", "{\"path\":\"2\"}"), call("cc", "now")];
    let ran = run(vec![reads, vec![text("done")]]).await;
    assert_eq!(ran.results(), ["a: ran read", "bbb: ran read", "cc: ran now"]);
    assert_eq!(ran.log, ["+a", "+bbb", "+cc", "-cc", "-bbb", "-a"]);
    assert_eq!(ran.tools(), ["+a", "+bbb", "+cc", "-cc", "-bbb", "-a", "=a", "=bbb", "=cc"]);
    assert_eq!((ran.shape().as_str(), ran.response.text().as_str(), ran.response.stop.reason), ("mtttm", "done", StopReason::EndTurn));
    assert_eq!(ran.requests.len(), 2);
    assert_eq!(ran.requests[1].messages.len(), 5);
    assert!(ran.requests[1].messages.iter().skip(1).zip(&ran.response.messages).all(|(sent, given)| Arc::ptr_eq(sent, given)));
}

#[tokio::test(start_paused = true)]
async fn at_most_so_many_run_at_once_and_serial_calls_run_alone_after_the_others() {
    let read = |id: &str| call_with(id, "read", "{\"path\":\"x\"}");
    let turn = vec![call("s1", "commit"), read("aaa"), call("s2", "push"), read("bb"), read("c")];
    let ran = run_with(vec![turn, vec![text("done")]], request(), |layer| layer.concurrency(2).unwrap()).await;
    assert_eq!(ran.log, ["+aaa", "+bb", "-aaa", "+c", "-bb", "-c", "+s1", "-s1", "+s2", "-s2"]);
    assert_eq!(ran.results(), ["s1: ran commit", "aaa: ran read", "s2: ran push", "bb: ran read", "c: ran read"]);
    assert!(ToolLoopLayer::new(Toolbox::default()).concurrency(0).is_err());
}

#[tokio::test(start_paused = true)]
async fn what_fails_is_a_failed_result_and_the_model_goes_on() {
    let turn = vec![call("a", "fail"), call("b", "break"), call("c", "hang"), call("d", "now")];
    let ran = run_with(vec![turn, vec![text("done")]], request(), |layer| layer.timeout(Some(Duration::from_secs(60)))).await;
    assert_eq!(
        ran.results(),
        [
            "a!: The tool failed: the disk is full",
            "b!: The tool failed: it broke down while it ran.",
            "c!: The tool did not answer in time.",
            "d: ran now"
        ]
    );
    for failed in ["!a error", "!b panic", "!c timeout"] {
        assert!(ran.tools().iter().any(|event| event == failed), "{failed}: {:?}", ran.tools());
    }
    assert!(!format!("{:?}", ran.response).contains("secret"));
    // A timeout of tower around the tools says the same.
    let limited = ServiceBuilder::new().timeout(Duration::from_secs(1)).service(Toolbox::default());
    let model = ScriptedModel::messages([vec![call("c", "hang")], vec![text("done")]]);
    let response = ToolLoopLayer::new(limited).layer(model).complete(request()).await.unwrap();
    assert!(matches!(&*response.messages[1], Message::Tool(result) if said(&result.content) == "The tool did not answer in time."));
}

#[tokio::test(start_paused = true)]
async fn calls_that_cannot_be_run_say_what_to_change() {
    let turn = vec![
        call_with("a", "read", "{broken"),
        call("b", "nope"),
        call_with("c", "read", "{\"file\":1}"),
        call_with("d", "read", "{\"path\":7}"),
    ];
    let ran = run(vec![turn, vec![text("done")]]).await;
    let results = ran.results();
    for (result, words) in results.iter().zip([
        &["a!", "not a JSON object"][..],
        &["b!", "no tool `nope`", "now, read, fail", "crm__find", "searched for"],
        &["c!", "do not fit", "path"],
        &["d!", "/path", "string"],
    ]) {
        assert!(words.iter().all(|word| result.contains(word)), "{words:?}: {result}");
    }
    assert!(!results[1].contains("hidden"), "a deferred tool is not to be called: {}", results[1]);
    assert!(ran.log.is_empty(), "{:?}", ran.log);
    assert_eq!(ran.tools()[..2], ["!a invalid_arguments", "=a"]);
    let unchecked = run_with(vec![vec![call("a", "read")], vec![text("done")]], request(), |layer| layer.validate(false)).await;
    assert_eq!(unchecked.results(), ["a: ran read"]);
    let none = run_with(vec![vec![call("a", "read")], vec![text("done")]], ModelRequest::new().user("hi"), |layer| layer).await;
    assert!(none.results()[0].contains("Answer without tools"), "{:?}", none.results());
}

#[tokio::test]
async fn a_tool_that_has_vanished_is_said_to_be_gone() {
    let search = ToolCall::from_text("s", "tool_search", "{}");
    let loaded = Arc::new(ToolDefinition::new("gone").deferred(true));
    let messages: Vec<Arc<Message>> = vec![
        Arc::new(Message::user("u")),
        AssistantMessage::new(vec![AssistantPart::Search(search.clone())]).into(),
        SearchResult::new(&search, vec![loaded], "").into(),
    ];
    let request = request().messages(Conversation::from_iter(messages));
    let ran = run_with(vec![vec![call("a", "gone")], vec![text("done")]], request, |layer| layer).await;
    assert!(ran.results()[0].contains("no longer available"), "{:?}", ran.results());
}

#[tokio::test]
async fn a_call_ends_at_a_limit_with_every_call_answered() {
    let turn = |number: usize| vec![call_with(&format!("c{number}"), "find", &format!("{{\"n\":{number}}}"))];
    let named = |mut parts: Vec<AssistantPart>| {
        if let AssistantPart::ToolCall(call) = &mut parts[0] {
            call.name.namespace = Some("crm".into());
        }
        parts
    };
    let ran = run_with((0..9).map(turn).map(named).collect(), request(), |layer| layer.max_rounds(3).unwrap()).await;
    assert_eq!((ran.response.stop.reason, ran.requests.len(), ran.shape().as_str()), (StopReason::RoundLimit, 3, "mtmtmt"));
    assert!(ran.results()[2].starts_with("c2!: This call was not run") && ran.log.len() == 4, "{:?}", ran.results());
    assert_eq!(ran.response.open_calls().count(), 0);

    let same =
        run_with((0..9).map(|number| vec![call(&format!("c{number}"), "now")]).collect(), request(), |layer| layer.max_repeats(2)).await;
    assert_eq!((same.response.stop.reason, same.shape().as_str()), (StopReason::RepeatLimit, "mtmtmt"));
    assert!(same.results()[2].contains("too often"));
    // What happens in between breaks the row.
    let turns = vec![vec![call("a", "now")], vec![call("b", "commit")], vec![call("c", "now")], vec![text("done")]];
    assert_eq!(run_with(turns, request(), |layer| layer.max_repeats(1)).await.response.stop.reason, StopReason::EndTurn);
    assert!(ToolLoopLayer::new(Toolbox::default()).max_rounds(0).is_err());
}

#[tokio::test]
async fn what_is_the_callers_goes_back_to_the_caller() {
    let search = AssistantPart::Search(ToolCall::from_text("s", "tool_search", "{}"));
    let ran = run(vec![vec![search, call("a", "now")]]).await;
    assert_eq!((ran.shape().as_str(), ran.log.len(), ran.response.open_calls().count()), ("m", 0, 1));
    for reason in [StopReason::SearchLimit, StopReason::ContentFilter, StopReason::Refusal, StopReason::ContextWindow] {
        let response = Response::of(AssistantMessage::new(vec![call("a", "now")]), reason);
        let ran = play(ScriptedModel::responses([response]), request(), |layer| layer).await;
        assert_eq!((ran.response.stop.reason, ran.log.len()), (reason, 0));
    }
    let cut = Response::of(AssistantMessage::new(vec![call("a", "now"), call_with("b", "read", "{\"pa")]), StopReason::MaxTokens);
    let done = Response::of(Message::assistant("done"), StopReason::EndTurn);
    let ran = play(ScriptedModel::responses([cut, done]), request(), |layer| layer).await;
    assert_eq!((ran.results()[0].as_str(), ran.shape().as_str()), ("a: ran now", "mttm"));
}

#[tokio::test]
async fn what_a_layer_inside_answered_is_not_run_again() {
    let inner = ToolCall::from_text("a", "now", "{}");
    let mut response =
        Response::of(AssistantMessage::new(vec![AssistantPart::ToolCall(inner.clone()), call("b", "now")]), StopReason::ToolUse);
    response.messages.push(ToolResult::error(&inner, "answered inside").into());
    let done = Response::of(Message::assistant("done"), StopReason::EndTurn);
    let ran = play(ScriptedModel::responses([response, done]), request(), |layer| layer).await;
    assert_eq!(ran.log, ["+b", "-b"]);
    assert_eq!(ran.results(), ["a!: answered inside", "b: ran now"]);
}

#[tokio::test]
async fn counters_and_ordinals_go_on_and_a_forced_call_is_forced_once() {
    let counted = |parts: Vec<AssistantPart>, stop: StopReason| {
        let mut response = Response::of(AssistantMessage::new(parts), stop);
        (response.usage.input_tokens, response.usage.output_tokens) = (Some(3), Some(1));
        response
    };
    let turns = [counted(vec![text("one"), call("a", "now")], StopReason::ToolUse), counted(vec![text("two")], StopReason::EndTurn)];
    let ran = play(ScriptedModel::responses(turns), request().tool_choice(ToolChoice::Required), |layer| layer).await;
    assert_eq!((ran.response.usage.input_tokens, ran.response.usage.output_tokens), (Some(6), Some(2)));
    let ordinals: Vec<_> =
        ran.events.iter().filter_map(|event| if let ModelEvent::Text(delta) = event { Some(delta.message) } else { None }).collect();
    assert_eq!(ordinals, [0, 2]);
    assert_eq!([&ran.requests[0].tool_choice, &ran.requests[1].tool_choice], [&ToolChoice::Required, &ToolChoice::Auto]);
}

#[tokio::test(start_paused = true)]
async fn what_a_user_says_in_the_meantime_opens_the_next_round_and_skips_serial_calls() {
    let steering = Steering::new();
    let mut request = request();
    request.extensions.insert(steering.clone());
    let turn = vec![call("s1", "commit"), call_with("r", "read", "{\"path\":\"1\"}"), call("s2", "push")];
    let model = ScriptedModel::messages([turn, vec![text("as you wish")], vec![text("that too")]]);
    let toolbox = Toolbox::default();
    let mut stream = ToolLoopLayer::new(toolbox.clone()).layer(model.clone()).oneshot(request).await.unwrap();
    let mut shape = Vec::new();
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            ModelEvent::ToolStarted(run) if *run.id == *"r" => steering.send("stop that"),
            ModelEvent::Text(delta) if delta.text == "as you wish" => steering.send("and this"),
            ModelEvent::Message(message) => shape.push(message.answers().map_or_else(|| "message".to_owned(), str::to_owned)),
            ModelEvent::ToolFailed { run, reason } => assert!((*run.id).starts_with('s') && *reason == *"skipped", "{run:?} {reason}"),
            ModelEvent::Response(response) => {
                assert_eq!((response.text().as_str(), response.messages.len()), ("that too", 8));
            }
            _ => {}
        }
    }
    assert_eq!(shape, ["message", "s1", "r", "s2", "message", "message", "message", "message"]);
    assert_eq!(*toolbox.log.lock().unwrap(), ["+r", "-r"]);
    assert_eq!(model.requests().len(), 3);
    assert!(matches!(model.requests()[1].messages.last().map(|message| (**message).clone()), Some(Message::User(_))));
    assert_eq!(steering.waiting(), 0);
    steering.send("too late");
    assert_eq!(steering.take().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_ends_the_calls() {
    let toolbox = Toolbox::default();
    let model = ScriptedModel::messages([vec![call("a", "hang"), call("b", "hang")]]);
    let mut stream = ToolLoopLayer::new(toolbox.clone()).layer(model).oneshot(request()).await.unwrap();
    while toolbox.alive.load(Ordering::SeqCst) < 2 {
        assert!(stream.next().now_or_never().flatten().is_none_or(|event| event.is_ok()));
    }
    drop(stream);
    assert_eq!(toolbox.alive.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_error_of_a_later_round_ends_the_stream_behind_what_was_finished() {
    let first = Response::of(AssistantMessage::new(vec![call("a", "now")]), StopReason::ToolUse);
    let mut script =
        vec![Err(Error::new(ErrorKind::Overloaded, "busy")), Ok(tower_genai_core::testing::events_of(first).into_iter().map(Ok).collect())];
    let model = ScriptedModel::new(move |_| script.pop().unwrap());
    let events: Vec<_> = ToolLoopLayer::new(Toolbox::default()).layer(model).oneshot(request()).await.unwrap().collect().await;
    let messages = events.iter().filter(|event| matches!(event, Ok(ModelEvent::Message(_)))).count();
    assert_eq!(messages, 2);
    assert_eq!(events.last().unwrap().as_ref().unwrap_err().kind(), ErrorKind::Overloaded);
}
