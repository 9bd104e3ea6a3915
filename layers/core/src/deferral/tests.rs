use super::*;
use crate::{AssistantMessage, AssistantPart, Json, Message, SearchResult, ToolCall, ToolKind, ToolResult};

fn eager(name: &str) -> ToolDefinition {
    ToolDefinition::new(name)
}

fn deferred(name: &str) -> ToolDefinition {
    ToolDefinition::new(name).guideline("Careful.").deferred(true)
}

fn search() -> ToolDefinition {
    ToolDefinition::new("tool_search").kind(ToolKind::Search)
}

fn request(tools: Vec<ToolDefinition>) -> ModelRequest {
    ModelRequest::new().tools(ToolSet::new(tools).unwrap())
}

fn load(request: &mut ModelRequest, definition: ToolDefinition) {
    let call = ToolCall::new("s", "tool_search", Json::empty_object());
    request.messages.push(AssistantMessage::new(vec![AssistantPart::Search(call.clone())]));
    request.messages.push(SearchResult::new(&call, vec![Arc::new(definition)], ""));
}

/// The names that go out; a deferred one in brackets.
fn shown(mut request: ModelRequest, mode: DeferralMode) -> Vec<String> {
    let lowering = Lowering::new(mode);
    lowering.lower(&mut request).unwrap();
    let names = |request: &ModelRequest| -> Vec<String> {
        let name = |tool: &Arc<ToolDefinition>| if tool.deferred { format!("[{}]", tool.name) } else { tool.name.to_string() };
        request.tools.iter().map(name).collect()
    };
    let once = names(&request);
    lowering.lower(&mut request).unwrap();
    assert_eq!(names(&request), once, "lowering twice");
    once
}

use DeferralMode::{Append, Hosted, Reference, SearchOutput};

#[test]
fn each_mode_before_any_search() {
    let tools = || request(vec![deferred("d"), eager("e"), search()]);
    assert_eq!(shown(tools(), Reference), ["[d]", "e", "tool_search"]);
    assert_eq!(shown(tools(), SearchOutput), ["e", "tool_search"]);
    assert_eq!(shown(tools(), Append), ["e", "tool_search"]);
}

#[test]
fn loaded_tools_join_the_end_in_append_mode_only() {
    let mut request = request(vec![deferred("d1"), deferred("d2"), eager("e"), search()]);
    load(&mut request, deferred("d2"));
    load(&mut request, deferred("d1"));
    assert_eq!(shown(request.clone(), Append), ["e", "tool_search", "d2", "d1"]);
    assert_eq!(shown(request.clone(), SearchOutput), ["e", "tool_search"]);
    assert_eq!(shown(request, Reference), ["[d1]", "[d2]", "e", "tool_search"]);
}

#[test]
fn a_loaded_tool_that_became_eager_keeps_its_place_in_append_mode() {
    let mut request = request(vec![eager("d1"), eager("e"), deferred("x"), search()]);
    load(&mut request, deferred("d1"));
    assert_eq!(shown(request.clone(), Append), ["e", "tool_search", "d1"]);
    assert_eq!(shown(request, Reference), ["d1", "e", "[x]", "tool_search"]);
}

#[test]
fn a_vanished_tool_stays_declared() {
    let mut request = request(vec![eager("e"), deferred("x"), search()]);
    load(&mut request, deferred("gone"));
    assert_eq!(shown(request.clone(), Reference), ["e", "tool_search", "[x]", "[gone]"]);
    assert_eq!(shown(request.clone(), Append), ["e", "tool_search", "gone"]);
    assert_eq!(shown(request.clone(), SearchOutput), ["e", "tool_search"]);
    request.tools = ToolSet::default();
    assert_eq!(shown(request, Reference), ["gone"], "a request with deferred tools only is refused");
}

#[test]
fn without_a_search_nothing_is_deferred() {
    for mode in [Reference, SearchOutput, Append] {
        let mut request = request(vec![deferred("d"), eager("e")]);
        assert_eq!(shown(request.clone(), mode), ["d", "e"]);
        Lowering::new(mode).lower(&mut request).unwrap();
        assert!(request.tools.iter().any(|tool| tool.description.contains("Careful.")));
    }
    let error = Lowering::new(Reference).max_definition_bytes(10).lower(&mut request(vec![deferred("d")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.to_string().contains("1 deferred tools") && error.to_string().contains("10 bytes"), "{error}");
}

#[test]
fn a_hosted_search_that_joins_late_finds_deferred_what_it_found_before() {
    let mut request = request(vec![deferred("a"), eager("e"), deferred("b"), search()]);
    let answer = ToolResult::text(&ToolCall::new("1", "b", Json::empty_object()), "done");
    request.messages.push(answer);
    request.eager_tools.push("a".into());
    request.layer_search = true;
    Lowering::new(Reference).lower(&mut request).unwrap();
    request.add_server_tool(ServerTool::plain("tool_search_tool_bm25_20251119").unwrap()).unwrap();
    assert_eq!(shown(request, Reference), ["e", "a", "[b]"]);
}

#[test]
fn a_hosted_search_needs_something_deferred_of_any_kind() {
    let searches = |deferred: &[ServerTool]| {
        let mut request = request(vec![eager("e")]);
        for tool in deferred.iter().cloned().chain([ServerTool::plain("tool_search").unwrap()]) {
            request.add_server_tool(tool).unwrap();
        }
        Lowering::new(SearchOutput).lower(&mut request).unwrap();
        request.server_tools.iter().any(ServerTool::is_tool_search)
    };
    assert!(!searches(&[]));
    assert!(!searches(&[ServerTool::new("mcp", r#"{"server_label":"a","defer_loading":false}"#).unwrap()]));
    for deferred in [
        ServerTool::new("mcp", r#"{"server_label":"a","defer_loading":true}"#),
        ServerTool::new("custom", r#"{"name":"a","defer_loading": true}"#),
        ServerTool::new("namespace", r#"{"name":"a","description":"b","tools":[{"type":"function","name":"c","defer_loading":true}]}"#),
    ] {
        assert!(searches(&[deferred.unwrap()]));
    }
}

#[test]
fn called_and_forced_tools_are_shown() {
    let mut request = request(vec![deferred("a"), deferred("b"), deferred("c"), search()]);
    let call = ToolCall::new("1", "c", Json::empty_object());
    request.messages.push(ToolResult::text(&call, "done"));
    request.tool_choice = ToolChoice::Tool("a".into());
    assert_eq!(shown(request.clone(), SearchOutput), ["tool_search", "c", "a"]);
    assert_eq!(shown(request.clone(), Reference), ["tool_search", "c", "a", "[b]"]);
    request.tool_choice = ToolChoice::Auto;
    request.eager_tools = vec!["b".into(), "unknown".into()];
    assert_eq!(shown(request.clone(), Append), ["tool_search", "b", "c"]);
    load(&mut request, deferred("a"));
    assert_eq!(shown(request.clone(), Append), ["tool_search", "b", "c", "a"], "a load leaves the others where they are");
    load(&mut request, deferred("c"));
    assert_eq!(shown(request.clone(), Append), ["tool_search", "b", "c", "a"]);
    request.eager_tools.clear();
    assert_eq!(shown(request, Reference), ["tool_search", "c", "[a]", "[b]"], "shown once, shown for good");
}

#[test]
fn a_stored_definition_returns_only_where_it_can_be_declared() {
    let mut request = request(vec![eager("e"), deferred("x"), search()]);
    load(&mut request, deferred("").description("no name"));
    load(&mut request, deferred("listy").parameters(Json::parse("[1]").unwrap()));
    load(&mut request, ToolDefinition::new("find").namespace("e_").deferred(true));
    request.tools = ToolSet::new(request.tools.iter().map(|tool| (**tool).clone()).chain([eager("e___find")])).unwrap();
    for mode in [Reference, Append] {
        let names = shown(request.clone(), mode);
        assert!(
            !names.iter().any(|name| name.contains("listy") || name.contains("e_.find") || name == "[]" || name.is_empty()),
            "{names:?}"
        );
    }
    load(&mut request, deferred("strict").strict(true));
    let mut strict = request.clone();
    Lowering::new(Reference).lower(&mut strict).unwrap();
    assert_eq!(strict.tools.get(&"strict".into()).unwrap().strict, Some(true));
}

#[test]
fn a_compaction_that_another_provider_cannot_read_hides_nothing_from_it() {
    let mut request = request(vec![deferred("d"), eager("e"), search()]);
    load(&mut request, deferred("d"));
    request.messages.push(AssistantMessage::new(vec![AssistantPart::Compaction { summary: None }]));
    assert_eq!(shown(request, Append), ["e", "tool_search", "d"]);
}

#[test]
fn an_endpoint_takes_only_its_modes() {
    assert_eq!(Deferral::Lowered(Append).lowered_to(&[Append, Hosted]).unwrap(), Append);
    for foreign in [Deferral::Lowered(Reference), Deferral::Wanted(Append), Deferral::Unset] {
        assert!(foreign.lowered_to(&[Append]).is_err());
    }
}

#[test]
fn loads_before_a_compaction_do_not_count() {
    let mut request = request(vec![deferred("d"), eager("e"), search()]);
    load(&mut request, deferred("d"));
    request.messages.push(AssistantMessage::new(vec![AssistantPart::Compaction { summary: Some("short".into()) }]));
    assert_eq!(shown(request, Append), ["e", "tool_search"]);
}

#[test]
fn the_providers_search_needs_deferred_tools_and_no_client_search_beside_it() {
    let hosted = ServerTool::plain("tool_search_tool_bm25_20251119").unwrap();
    let with_hosted = |tools| request(tools).server_tool(hosted.clone()).unwrap();
    assert_eq!(shown(with_hosted(vec![deferred("d"), eager("e")]), SearchOutput), ["[d]", "e"]);
    let mut called = with_hosted(vec![deferred("d"), eager("e")]);
    called.messages.push(ToolResult::text(&ToolCall::new("1", "d", Json::empty_object()), "done"));
    assert_eq!(shown(called, Reference), ["[d]", "e"], "the provider knows what it found");

    let mut nothing_deferred = with_hosted(vec![eager("e")]);
    Lowering::new(Reference).lower(&mut nothing_deferred).unwrap();
    assert!(nothing_deferred.server_tools.is_empty());
    let server = ServerTool::new("mcp", r#"{"server_label":"s","defer_loading":true}"#).unwrap();
    let mut deferred_server = with_hosted(vec![eager("e")]).server_tool(server).unwrap();
    Lowering::new(Reference).lower(&mut deferred_server).unwrap();
    assert_eq!(deferred_server.server_tools.len(), 2);

    let both = || with_hosted(vec![deferred("d"), eager("e"), search()]);
    assert!(Lowering::new(Reference).lower(&mut both()).unwrap_err().to_string().contains("`tool_search`"));
    let mut of_a_layer = both();
    of_a_layer.layer_search = true;
    assert_eq!(shown(of_a_layer.clone(), Reference), ["[d]", "e"]);
    of_a_layer.server_tools.clear();
    Lowering::new(Reference).lower(&mut of_a_layer).unwrap();
    of_a_layer.server_tools.push(hosted.clone());
    Lowering::new(Reference).lower(&mut of_a_layer).unwrap();
    assert_eq!((of_a_layer.deferral, of_a_layer.tools.len()), (Deferral::Lowered(Hosted), 2));
}

#[test]
fn a_wanted_mode_wins_over_the_own_one() {
    let mut request = request(vec![deferred("d"), search()]);
    request.deferral = Deferral::Wanted(SearchOutput);
    assert_eq!(shown(request.clone(), Reference), ["tool_search"]);
    assert!(Lowering::is_ready(&request));
    request.messages.push(Message::user("x"));
    assert_eq!(request.deferral, Deferral::Wanted(SearchOutput));
}
