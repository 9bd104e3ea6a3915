//! The layer over scripted models: what is answered, what is the caller's, what goes out.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use tower::{Layer, ServiceBuilder, ServiceExt};
use tower_genai_core::{
    AssistantMessage, AssistantPart, Conversation, Deferral, DeferralMode, Error, ErrorKind, HostedCall, Json, Message, ModelEvent,
    ModelRequest, ModelServiceExt, Response, SearchResult, ServerTool, Stop, StopReason, ToolCall, ToolChoice, ToolDefinition, ToolKind,
    ToolName, ToolResult, ToolSet, Usage,
    testing::{EventRecorder, ReadinessProbe, ScriptedModel},
};
use tower_genai_tool_search::{CatalogPlacement, MemoryRecord, RecordKey, SessionRecord, ToolSearchLayer};

fn deferred(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition::new(name).description(description).deferred(true)
}

fn tools() -> ToolSet {
    ToolSet::new([
        ToolDefinition::new("now").description("The current time"),
        deferred("get_weather", "The weather of a place").guideline("Name the city."),
        deferred("send_mail", "Send an electronic mail to somebody"),
        ToolDefinition::new("add").namespace("crm").description("Add a customer record").deferred(true),
    ])
    .unwrap()
}

fn request() -> ModelRequest {
    ModelRequest::new().user("hi").tools(tools())
}

fn search(id: &str, arguments: &str) -> AssistantPart {
    AssistantPart::Search(ToolCall::from_text(id, "tool_search", arguments))
}

fn find(id: &str, query: &str) -> AssistantPart {
    search(id, &format!("{{\"queries\":[\"{query}\"]}}"))
}

fn call(id: &str, name: impl Into<ToolName>) -> AssistantPart {
    AssistantPart::ToolCall(ToolCall::new(id, name, Json::empty_object()))
}

fn text(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.into() }
}

fn script(messages: Vec<Vec<AssistantPart>>) -> ScriptedModel {
    ScriptedModel::messages(messages)
}

async fn run(layer: ToolSearchLayer, messages: Vec<Vec<AssistantPart>>, request: ModelRequest) -> (Response, ScriptedModel) {
    let model = script(messages);
    let response = layer.layer(model.clone()).complete(request).await.unwrap();
    (response, model)
}

fn result(message: &Message) -> &SearchResult {
    match message {
        Message::Search(result) => result,
        other => panic!("not a search result: {other:?}"),
    }
}

fn loaded(message: &Message) -> Vec<String> {
    message.loaded().iter().map(|tool| tool.name.to_string()).collect()
}

#[tokio::test]
async fn a_search_is_answered_and_the_model_goes_on() {
    let rounds = vec![vec![find("s", "weather")], vec![call("c", "get_weather")]];
    let (response, model) = run(ToolSearchLayer::new(), rounds, request()).await;
    assert_eq!(response.stop.reason, StopReason::ToolUse);
    assert_eq!(response.messages.len(), 3);
    let definition = &response.messages[1].loaded()[0];
    assert_eq!(&*definition.description, "The weather of a place\n\nGuidelines:\n- Name the city.");
    assert!(definition.deferred, "it is stored as it was sent");
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].tools, requests[1].tools, "the tools never change");
    assert_eq!(requests[0].system, requests[1].system);
    assert_eq!(requests[1].messages.len(), 3);
    let names: Vec<_> = requests[0].tools.iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["now", "get_weather", "send_mail", "crm.add", "tool_search"]);
}

#[tokio::test]
async fn the_caller_sees_one_stream_with_an_event_for_each_search() {
    let mut first = Response::of(AssistantMessage::new(vec![text("Let me look."), find("s", "weather")]), StopReason::ToolUse);
    let mut second = Response::of(Message::assistant("Sunny."), StopReason::EndTurn);
    for response in [&mut first, &mut second] {
        let mut usage = Usage::default();
        usage.input_tokens = Some(10);
        response.usage = usage;
    }
    let model = ScriptedModel::responses([first, second]);
    let stream = ToolSearchLayer::new().layer(model).oneshot(request()).await.unwrap();
    let events: Vec<ModelEvent> = stream.map(Result::unwrap).collect().await;
    let shape: Vec<String> = events
        .iter()
        .map(|event| match event {
            ModelEvent::Text(delta) => format!("text {} {}", delta.message, delta.text),
            ModelEvent::Message(message) if message.answers().is_some() => "result".into(),
            ModelEvent::Message(_) => "message".into(),
            ModelEvent::Search(report) => {
                format!("search {:?} -> {:?}", report.queries, report.loaded.iter().map(|name| &*name.name).collect::<Vec<_>>())
            }
            ModelEvent::Response(response) => format!("response {} {:?}", response.messages.len(), response.usage.input_tokens),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        shape,
        [
            "text 0 Let me look.",
            "message",
            "search [\"weather\"] -> [\"get_weather\"]",
            "result",
            "text 2 Sunny.",
            "message",
            "response 3 Some(20)"
        ]
    );
}

#[tokio::test]
async fn searches_beside_ordinary_calls_leave_the_rest_to_the_caller() {
    let rounds = vec![vec![call("c", "now"), find("s", "weather")]];
    let (response, model) = run(ToolSearchLayer::new(), rounds, request()).await;
    assert_eq!(model.requests().len(), 1);
    assert_eq!(response.stop.reason, StopReason::ToolUse);
    assert_eq!(loaded(&response.messages[1]), ["get_weather"]);
    assert_eq!(response.messages.len(), 2, "the result of `now` is the caller's to add");
}

#[tokio::test]
async fn what_a_search_answers() {
    let rounds = vec![
        vec![find("1", "weather")],
        vec![find("2", "weather place")],
        vec![find("3", "current time")],
        vec![search("4", r#"{"queries":["zebra"]}"#)],
        vec![text("done")],
    ];
    let (response, _) = run(ToolSearchLayer::new(), rounds, request()).await;
    let notes: Vec<&str> = [1, 3, 5, 7].map(|at| &*result(&response.messages[at]).note).to_vec();
    assert_eq!(notes[0], "");
    assert_eq!(notes[1], "Already loaded, call directly: get_weather.");
    assert!(notes[2].starts_with("Never needed a search, call directly: now."), "{}", notes[2]);
    assert!(notes[2].contains("Several searches in a row"), "the second fruitless search gets a hint: {}", notes[2]);
    assert!(notes[3].starts_with("No tool matches."), "{}", notes[3]);
    assert!(response.messages[3].loaded().is_empty());
}

#[tokio::test]
async fn the_limit_counts_new_definitions_and_names_the_rest() {
    let rounds =
        vec![vec![find("1", "get_weather send mail customer")], vec![find("2", "get_weather send mail customer")], vec![text("done")]];
    let layer = ToolSearchLayer::new().limit(1).unwrap();
    let (response, _) = run(layer, rounds, request()).await;
    let first = result(&response.messages[1]);
    assert_eq!(first.loaded.len(), 1);
    assert!(first.note.contains("Also matching, not loaded: "), "{}", first.note);
    let second = result(&response.messages[3]);
    assert_eq!(second.loaded.len(), 1, "what is loaded does not count against the limit");
    assert_ne!(first.loaded[0].name, second.loaded[0].name);
}

#[tokio::test]
async fn two_searches_in_one_turn_load_a_tool_once() {
    let rounds = vec![vec![find("1", "weather"), find("2", "weather"), find("3", "mail")], vec![text("done")]];
    let (response, _) = run(ToolSearchLayer::new(), rounds, request()).await;
    assert_eq!([1, 2, 3].map(|at| loaded(&response.messages[at])), [vec!["get_weather".to_owned()], vec![], vec!["send_mail".to_owned()]]);
    assert_eq!([1, 2, 3].map(|at| response.messages[at].answers().unwrap()), ["1", "2", "3"], "in call order");
}

#[tokio::test]
async fn malformed_searches_are_answered_and_never_stick() {
    let broken = [r#"{"queries":"#, "{}", r#"{"queries":[]}"#, r#"{"queries":["a"],"score":"high"}"#];
    for arguments in broken {
        let rounds = vec![vec![search("1", arguments)], vec![find("2", "weather")], vec![text("done")]];
        let (response, model) = run(ToolSearchLayer::new(), rounds, request()).await;
        let first = result(&response.messages[1]);
        assert!(
            first.is_error && first.loaded.is_empty() && first.note.starts_with("The search was not run"),
            "{arguments}: {}",
            first.note
        );
        let again = request().messages(model.requests()[2].messages.clone());
        let (next, _) = run(ToolSearchLayer::new(), vec![vec![text("fine")]], again).await;
        assert_eq!(next.text(), "fine");
    }
    let (response, _) = run(ToolSearchLayer::new(), vec![vec![search("1", r#"{"queries":"mail"}"#)], vec![text("done")]], request()).await;
    assert_eq!(loaded(&response.messages[1]), ["send_mail"], "one string is one query");
}

#[tokio::test]
async fn a_threshold_of_the_model_replaces_the_default() {
    let ask = |score: &str| vec![vec![search("1", &format!(r#"{{"queries":["weather"],"score":{score}}}"#))], vec![text("done")]];
    let found = |score| async move {
        loaded(&run(ToolSearchLayer::new().min_score(100.0).unwrap(), ask(score), request()).await.0.messages[1]).len()
    };
    assert_eq!(found("null").await, 0);
    assert_eq!(found("0").await, 1);
    assert_eq!(found("-5").await, 1, "a negative score is read as 0");
    assert_eq!(found("99").await, 0);
}

#[tokio::test]
async fn a_guessed_call_loads_the_definition_instead_of_running() {
    let rounds = vec![vec![call("g", "get_weather")], vec![call("c", "get_weather")]];
    let (response, model) = run(ToolSearchLayer::new(), rounds, request()).await;
    let Message::Tool(answer) = &*response.messages[1] else { panic!("not a result") };
    assert!(answer.is_error);
    assert_eq!(loaded(&response.messages[1]), ["get_weather"]);
    assert_eq!(response.stop.reason, StopReason::ToolUse, "now it is loaded, the second call is the caller's");
    assert_eq!(model.requests().len(), 2);
    // By its name on the wire, as an endpoint that withholds definitions cannot map it back.
    let (response, _) = run(ToolSearchLayer::new(), vec![vec![call("g", "crm__add")], vec![text("ok")]], request()).await;
    assert_eq!(loaded(&response.messages[1]), ["crm.add"]);
}

#[tokio::test]
async fn a_call_of_what_the_provider_found_by_itself_is_the_callers() {
    let hosted = AssistantPart::Hosted(HostedCall::new("h", "tool_search_tool_bm25", "server_tool_use"));
    let (response, _) = run(ToolSearchLayer::new(), vec![vec![hosted, call("c", "get_weather")]], request()).await;
    assert_eq!((response.messages.len(), response.open_calls().count()), (1, 1));
}

#[tokio::test]
async fn a_guess_beside_the_search_that_would_load_it_is_still_a_guess() {
    let rounds = vec![vec![find("s", "weather"), call("g", "get_weather")], vec![text("ok")]];
    let (response, _) = run(ToolSearchLayer::new(), rounds, request()).await;
    assert_eq!([1, 2].map(|at| loaded(&response.messages[at]).len()), [1, 1]);
}

#[tokio::test]
async fn a_call_of_a_vanished_tool_is_answered() {
    let mut request = request();
    let gone = ToolCall::new("s", "tool_search", Json::empty_object());
    request.messages.push(SearchResult::new(&gone, vec![Arc::new(deferred("gone", "x"))], ""));
    for tools in [tools(), ToolSet::default()] {
        let request = request.clone().tools(tools);
        let (response, _) = run(ToolSearchLayer::new(), vec![vec![call("c", "gone")], vec![text("ok")]], request).await;
        let Message::Tool(answer) = &*response.messages[1] else { panic!("not a result") };
        assert!(answer.is_error && answer.loaded.is_empty());
        assert_eq!(response.text(), "ok");
    }
}

#[tokio::test]
async fn fruitless_searching_ends() {
    let rounds = (0..9).map(|round| vec![find(&format!("s{round}"), "zebra")]).collect();
    let (response, model) = run(ToolSearchLayer::new(), rounds, request()).await;
    assert_eq!((response.stop.reason, model.requests().len()), (StopReason::SearchLimit, 4));
    assert_eq!(response.messages.len(), 8, "every search is answered");
    let rounds = (0..9).map(|round| vec![find(&format!("s{round}"), ["weather", "mail", "customer"][round % 3])]).collect();
    let (response, model) = run(ToolSearchLayer::new().max_rounds(2), rounds, request()).await;
    assert_eq!((response.stop.reason, model.requests().len(), response.messages.len()), (StopReason::SearchLimit, 2, 4));
}

#[tokio::test]
async fn loads_of_an_earlier_turn_count_until_a_compaction() {
    let (first, _) = run(ToolSearchLayer::new(), vec![vec![find("1", "weather")], vec![text("done")]], request()).await;
    let mut next = request();
    next.messages.extend(first.messages);
    next.messages.push(Message::user("again"));
    let again = || vec![vec![find("2", "weather")], vec![text("done")]];
    let (response, _) = run(ToolSearchLayer::new(), again(), next.clone()).await;
    assert!(response.messages[1].loaded().is_empty());
    let stored = serde_json::to_value(&next.messages).unwrap();
    next.messages = serde_json::from_value(stored).unwrap();
    let (response, _) = run(ToolSearchLayer::new(), again(), next.clone()).await;
    assert!(response.messages[1].loaded().is_empty(), "a restart changes nothing");

    next.messages.push(AssistantMessage::new(vec![AssistantPart::Compaction { summary: None }]));
    next.messages.push(Message::user("again"));
    let (response, model) = run(ToolSearchLayer::new(), again(), next.clone()).await;
    assert_eq!(loaded(&response.messages[1]), ["get_weather"]);
    assert!(model.requests()[0].eager_tools.is_empty());
    let (response, model) = run(ToolSearchLayer::new().resend_after_compaction(false), again(), next).await;
    assert!(response.messages[1].loaded().is_empty());
    assert_eq!(model.requests()[0].eager_tools, [ToolName::new("get_weather")], "what is not sent again stays declared");
}

#[tokio::test]
async fn a_changed_definition_is_loaded_again() {
    let (first, _) = run(ToolSearchLayer::new(), vec![vec![find("1", "weather")], vec![text("done")]], request()).await;
    let mut next = request().tools(ToolSet::new([deferred("get_weather", "The weather of a place, now with wind")]).unwrap());
    next.messages.extend(first.messages);
    let (response, _) = run(ToolSearchLayer::new(), vec![vec![find("2", "weather")], vec![text("done")]], next).await;
    assert!(response.messages[1].loaded()[0].description.contains("wind"));
}

#[tokio::test]
async fn does_nothing_where_there_is_nothing_to_do() {
    let eager = ModelRequest::new().user("hi").tools(ToolSet::new([ToolDefinition::new("now")]).unwrap());
    let hosted = request().server_tool(ServerTool::plain("tool_search_tool_bm25_20251119").unwrap()).unwrap();
    for request in [eager, hosted] {
        let before = serde_json::to_value(&request).unwrap();
        let (response, model) = run(ToolSearchLayer::new(), vec![vec![call("c", "now")]], request).await;
        assert_eq!(serde_json::to_value(&model.requests()[0]).unwrap(), before);
        assert_eq!(response.messages.len(), 1);
    }
}

#[tokio::test]
async fn applied_twice_it_works_once() {
    let model = script(vec![vec![find("s", "weather")], vec![text("done")]]);
    let layer = ToolSearchLayer::new().catalog(CatalogPlacement::SystemPrompt);
    let stack = ServiceBuilder::new().layer(layer.clone()).layer(layer).service(model.clone());
    let response = stack.complete(request()).await.unwrap();
    assert_eq!(response.messages.len(), 3);
    assert_eq!((model.requests()[0].system.len(), model.requests()[0].tools.len()), (1, 5));
}

#[tokio::test]
async fn the_name_is_taken_and_one_search_is_enough() {
    for tool in [ToolDefinition::new("tool_search"), deferred("tool search", "x"), ToolDefinition::new("find").kind(ToolKind::Search)] {
        let name = tool.name.to_string();
        let wire_taken = name == "tool search";
        let model = ScriptedModel::answering("ok");
        let request = ModelRequest::new().user("hi").tools(ToolSet::new([tool, deferred("d", "x")]).unwrap());
        let outcome = ToolSearchLayer::new().layer(model.clone()).complete(request).await;
        if wire_taken {
            assert!(outcome.is_ok(), "it has another name on the wire");
            continue;
        }
        let error = outcome.unwrap_err();
        assert_eq!((error.kind(), model.requests().len()), (ErrorKind::InvalidRequest, 0));
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
    }
}

#[test]
fn options_are_checked_where_they_are_made() {
    assert!(ToolSearchLayer::new().limit(0).is_err());
    assert!(ToolSearchLayer::new().min_score(f64::NAN).is_err());
}

#[tokio::test]
async fn the_catalogue_is_a_small_part_of_what_it_stands_for() {
    for count in [200, 5_000] {
        let parameters =
            Json::parse(&format!(r#"{{"type":"object","properties":{{"x":{{"description":"{}"}}}}}}"#, "x".repeat(500))).unwrap();
        let tools = (0..count)
            .map(|number| deferred(&format!("tool_{number}"), &"a long description of it, ".repeat(20)).parameters(parameters.clone()));
        let tools = ToolSet::new(tools).unwrap();
        let (_, model) = run(ToolSearchLayer::new(), vec![vec![text("ok")]], ModelRequest::new().user("hi").tools(tools.clone())).await;
        let sent = model.requests().remove(0);
        let listed = sent.tools.search_tool().unwrap().description.len() + sent.system.iter().map(|text| text.len()).sum::<usize>();
        assert!(listed * 5 < tools.deferred_bytes() && listed < 20_000, "{count}: {listed} of {}", tools.deferred_bytes());
    }
}

#[tokio::test]
async fn the_catalogue_goes_where_it_is_placed() {
    let first = |layer: ToolSearchLayer| async move { run(layer, vec![vec![text("ok")]], request()).await.1.requests().remove(0) };
    let described = first(ToolSearchLayer::new()).await;
    let description = described.tools.search_tool().unwrap().description.clone();
    assert!(description.ends_with("# Searchable tools\n- get_weather: The weather of a place\n  - Name the city.\n- send_mail: Send an electronic mail to somebody\n- crm__add: Add a customer record"), "{description}");
    assert!(described.system.is_empty());

    let system = first(ToolSearchLayer::new().catalog(CatalogPlacement::SystemPrompt).catalog_guidelines(false)).await;
    assert!(system.system[0].contains("- get_weather: The weather of a place\n- send_mail"), "{}", system.system[0]);
    assert!(!system.tools.search_tool().unwrap().description.contains("send_mail"));

    let none = first(ToolSearchLayer::new().catalog(CatalogPlacement::None)).await;
    assert!(none.system.is_empty() && !none.tools.search_tool().unwrap().description.contains("send_mail"));

    let long = first(ToolSearchLayer::new().max_description(450)).await;
    assert!(long.system[0].contains("send_mail"), "a catalogue that does not fit a description moves");
}

#[tokio::test]
async fn the_texts_of_the_search_tool_can_be_replaced() {
    let layer = ToolSearchLayer::new()
        .search_description("Look here.")
        .search_snippet("look()")
        .search_guidelines(["Look twice."])
        .catalog(CatalogPlacement::None);
    let (_, model) = run(layer, vec![vec![text("ok")]], request()).await;
    let requests = model.requests();
    let tool = requests[0].tools.search_tool().unwrap();
    assert_eq!(
        (&*tool.description, tool.snippet.as_deref(), &*tool.guidelines),
        ("Look here.", Some("look()"), &["Look twice.".into()][..])
    );
}

#[tokio::test]
async fn wanted_deferral_is_lowered_in_every_round() {
    let mut request = request();
    request.deferral = Deferral::Wanted(DeferralMode::Append);
    let (_, model) = run(ToolSearchLayer::new(), vec![vec![find("s", "weather")], vec![text("ok")]], request).await;
    let names = |at: usize| model.requests()[at].tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(0), ["now", "tool_search"]);
    assert_eq!(names(1), ["now", "tool_search", "get_weather"]);
    assert_eq!(model.requests()[1].deferral, Deferral::Lowered(DeferralMode::Append));
}

#[tokio::test]
async fn a_forced_search_is_forced_once_and_a_forced_tool_is_callable() {
    let rounds = vec![vec![find("s", "weather")], vec![text("ok")]];
    let (_, model) = run(ToolSearchLayer::new(), rounds, request().tool_choice(ToolChoice::Tool("tool_search".into()))).await;
    assert_eq!(model.requests()[1].tool_choice, ToolChoice::Auto);
    let (response, _) =
        run(ToolSearchLayer::new(), vec![vec![call("c", "get_weather")]], request().tool_choice(ToolChoice::Tool("get_weather".into())))
            .await;
    assert_eq!(response.messages.len(), 1, "the call is the caller's");
}

#[tokio::test]
async fn a_model_that_never_searches_is_reported_once() {
    let mut request = request();
    let mut warned = Vec::new();
    for _ in 0..4 {
        let recorder = EventRecorder::new();
        let stack = ServiceBuilder::new().layer(recorder.clone()).layer(ToolSearchLayer::new()).service(ScriptedModel::answering("no"));
        let response = stack.complete(request.clone()).await.unwrap();
        warned.push(
            recorder.events().iter().any(|event| matches!(event, ModelEvent::Warning(warning) if &*warning.code == "search_never_used")),
        );
        request.messages.extend(response.messages);
        request.messages.push(Message::user("more"));
    }
    assert_eq!(warned, [false, false, true, false]);
}

#[tokio::test]
async fn a_record_declares_what_the_dialogue_lost() {
    let record = MemoryRecord::new(10);
    let layer = ToolSearchLayer::new().record(record.clone());
    let rounds = vec![vec![find("s", "weather")], vec![text("ok")]];
    let (first, _) = run(layer.clone(), rounds, request().session("a")).await;
    assert_eq!(record.load(&RecordKey::new("a", None)).await.unwrap(), [ToolName::new("get_weather")]);

    // The caller kept only the texts.
    let lost = request().session("a");
    let (response, model) = run(layer.clone(), vec![vec![find("s", "weather")], vec![text("ok")]], lost).await;
    assert_eq!(model.requests()[0].eager_tools, [ToolName::new("get_weather")]);
    assert_eq!(&*result(&response.messages[1]).note, "Already loaded, call directly: get_weather.");
    assert_eq!(model.requests()[0].eager_tools, model.requests()[1].eager_tools);

    // A caller that kept everything has nothing declared again.
    let mut kept = request().session("a");
    kept.messages.extend(first.messages);
    kept.messages.push(Message::user("more"));
    let (_, model) = run(layer.clone(), vec![vec![text("ok")]], kept).await;
    assert!(model.requests()[0].eager_tools.is_empty());

    let (_, model) = run(layer.clone(), vec![vec![text("ok")]], request()).await;
    assert!(model.requests()[0].eager_tools.is_empty(), "no session, no record");
    layer.clear("a").await.unwrap();
    let (_, model) = run(layer, vec![vec![text("ok")]], request().session("a")).await;
    assert!(model.requests()[0].eager_tools.is_empty());
}

#[tokio::test]
async fn a_record_holds_for_the_whole_turn_and_is_read_when_the_user_speaks() {
    let record = MemoryRecord::new(10);
    let key = RecordKey::new("a", None);
    record.add(&key, vec!["get_weather".into()]).await.unwrap();
    let layer = ToolSearchLayer::new().record(record.clone());
    let (first, _) = run(layer.clone(), vec![vec![call("c", "now")]], request().session("a")).await;
    record.add(&key, vec!["send_mail".into()]).await.unwrap();
    let mut next = request().session("a");
    next.messages.extend(first.messages);
    next.messages.push(ToolResult::text(&ToolCall::new("c", "now", Json::empty_object()), "12:00"));
    let (_, model) = run(layer.clone(), vec![vec![text("ok")]], next.clone()).await;
    assert_eq!(model.requests()[0].eager_tools, [ToolName::new("get_weather")]);
    next.messages.push(Message::user("more"));
    let (_, model) = run(layer, vec![vec![text("ok")]], next).await;
    assert_eq!(model.requests()[0].eager_tools.len(), 2);
}

#[derive(Debug)]
struct Broken;

impl SessionRecord for Broken {
    fn load(&self, _: &RecordKey) -> tower_genai_core::rounds::BoxFuture<Vec<ToolName>> {
        Box::pin(async { Err(Error::new(ErrorKind::Connection, "down")) })
    }
    fn add(&self, _: &RecordKey, _: Vec<ToolName>) -> tower_genai_core::rounds::BoxFuture<()> {
        Box::pin(async { Err(Error::new(ErrorKind::Connection, "down")) })
    }
    fn clear(&self, _: &str) -> tower_genai_core::rounds::BoxFuture<()> {
        Box::pin(async { Err(Error::new(ErrorKind::Connection, "down")) })
    }
}

#[tokio::test]
async fn a_broken_record_is_a_warning() {
    let recorder = EventRecorder::new();
    let model = script(vec![vec![find("s", "weather")], vec![text("ok")]]);
    let stack = ServiceBuilder::new().layer(recorder.clone()).layer(ToolSearchLayer::new().record(Broken)).service(model);
    assert_eq!(stack.complete(request().session("a")).await.unwrap().text(), "ok");
    let warned =
        recorder.events().iter().any(|event| matches!(event, ModelEvent::Warning(warning) if &*warning.code == "record_unavailable"));
    assert!(warned);
}

#[tokio::test(start_paused = true)]
async fn readiness_is_polled_for_every_round_and_a_limit_of_one_does_not_deadlock() {
    let rounds = vec![vec![find("1", "weather")], vec![find("2", "mail")], vec![text("done")]];
    let probe = ReadinessProbe::new(script(rounds)).delayed(2);
    let stack = ServiceBuilder::new()
        .layer(ToolSearchLayer::new())
        .buffer(4)
        .concurrency_limit(1)
        .timeout(Duration::from_secs(5))
        .service(probe.clone());
    let response = stack.complete(request()).await.unwrap();
    assert_eq!((response.text().as_str(), probe.calls(), probe.unready_polls()), ("done", 3, 6));
}

#[tokio::test]
async fn an_error_of_a_later_round_ends_the_stream_after_what_was_finished() {
    let mut rounds = 0;
    let model = ScriptedModel::new(move |_| {
        rounds += 1;
        match rounds {
            1 => Ok(tower_genai_core::testing::events_of(Response::of(
                AssistantMessage::new(vec![find("s", "weather")]),
                StopReason::ToolUse,
            ))
            .into_iter()
            .map(Ok)
            .collect()),
            _ => Err(Error::new(ErrorKind::Overloaded, "busy")),
        }
    });
    let mut stream = ToolSearchLayer::new().layer(model).oneshot(request()).await.unwrap();
    let mut messages = 0;
    let error = loop {
        match stream.next().await.unwrap() {
            Ok(ModelEvent::Message(_)) => messages += 1,
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), messages), (ErrorKind::Overloaded, 2));
    assert!(stream.next().await.is_none(), "the stream is over");
}

#[tokio::test]
async fn dropping_the_stream_drops_the_inner_one() {
    let recorder = EventRecorder::new();
    let model = script(vec![vec![find("s", "weather")], vec![text("done")]]);
    let stack = ServiceBuilder::new().layer(ToolSearchLayer::new()).layer(recorder.clone()).service(model);
    let mut stream = stack.oneshot(request()).await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    assert_eq!((recorder.dropped(), recorder.requests().len()), (1, 1));
}

#[tokio::test]
async fn history_and_rounds_share_one_store() {
    let (response, model) = run(ToolSearchLayer::new(), vec![vec![find("s", "weather")], vec![text("ok")]], request()).await;
    let sent: Conversation = model.requests()[1].messages.clone();
    assert!(Arc::ptr_eq(sent.get(1).unwrap(), &response.messages[0]));
    assert!(Arc::ptr_eq(sent.get(2).unwrap(), &response.messages[1]));
}

#[tokio::test]
async fn a_callers_request_is_marked_for_inner_layers_only() {
    let request = request();
    let (_, model) = run(ToolSearchLayer::new(), vec![vec![text("ok")]], request.clone()).await;
    assert!(model.requests()[0].layer_search);
    assert!(!request.layer_search);
    assert_eq!(Stop::new(StopReason::EndTurn).reason, StopReason::default());
}

#[tokio::test]
async fn preparing_ahead_refuses_what_a_request_would() {
    let layer = ToolSearchLayer::new();
    layer.prepare(&tools()).unwrap();
    assert!(layer.prepare(&ToolSet::new([ToolDefinition::new("tool_search"), deferred("d", "x")]).unwrap()).is_err());
}
