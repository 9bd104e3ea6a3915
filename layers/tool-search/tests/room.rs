//! Endpoints that take only so many tools: a search loads no more than fit.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::sync::Arc;

use tower::Layer;
use tower_genai_core::{
    AssistantPart, Message, ModelRequest, ModelServiceExt, SearchResult, ServerTool, StopReason, ToolCall, ToolDefinition, ToolSet,
    testing::ScriptedModel,
};
use tower_genai_tool_search::ToolSearchLayer;

/// One tool that is shown, six that are deferred and alike.
fn request() -> ModelRequest {
    let deferred = |word: &str| ToolDefinition::new(format!("get_{word}")).description(format!("Reads {word}")).deferred(true);
    let tools = std::iter::once(ToolDefinition::new("now")).chain(ALL.map(deferred));
    ModelRequest::new().user("hi").tools(ToolSet::new(tools).unwrap())
}

fn find(id: &str, queries: &[&str]) -> AssistantPart {
    AssistantPart::Search(ToolCall::from_text(id, "tool_search", &format!("{{\"queries\":{queries:?}}}")))
}

async fn run(layer: ToolSearchLayer, turns: Vec<Vec<AssistantPart>>, request: ModelRequest) -> (Vec<Arc<Message>>, StopReason) {
    let response = layer.layer(ScriptedModel::messages(turns)).complete(request).await.unwrap();
    (response.messages, response.stop.reason)
}

/// What each answer loaded, and its note.
fn answers(messages: &[Arc<Message>]) -> Vec<(usize, String)> {
    let answer = |message: &Arc<Message>| match &**message {
        Message::Search(SearchResult { loaded, note, .. }) => Some((loaded.len(), note.to_string())),
        _ => None,
    };
    messages.iter().filter_map(answer).collect()
}

const ALL: [&str; 6] = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"];

#[tokio::test]
async fn a_search_loads_what_still_fits_and_says_how_much_that_is() {
    // `now`, the search tool and three more.
    let layer = ToolSearchLayer::new().max_tools(5);
    let text = AssistantPart::Text { text: "done".into() };
    let turns = vec![vec![find("a", &["alpha"])], vec![find("b", &ALL)], vec![find("c", &["foxtrot"])], vec![text]];
    let (messages, stop) = run(layer, turns, request()).await;
    let [(first, first_note), (second, second_note), (third, third_note)] = &answers(&messages)[..] else { panic!("{messages:?}") };
    assert_eq!((*first, *second, *third, stop), (1, 2, 0, StopReason::EndTurn));
    assert!(first_note.contains("2 more tools can be loaded"), "{first_note}");
    assert!(second_note.contains("No more tools can be loaded") && second_note.contains("0 more tools"), "{second_note}");
    assert!(third_note.contains("get_foxtrot") && third_note.contains("go on with those you have"), "{third_note}");
}

#[tokio::test]
async fn searches_of_one_turn_share_what_is_left_and_tools_of_the_provider_count() {
    let layer = ToolSearchLayer::new().max_tools(5);
    let turns =
        vec![vec![find("a", &["alpha", "bravo"]), find("b", &["charlie", "delta"])], vec![AssistantPart::Text { text: "x".into() }]];
    let request = request().server_tool(ServerTool::plain("web_search").unwrap()).unwrap();
    let (messages, _) = run(layer, turns, request).await;
    assert_eq!(answers(&messages).iter().map(|(loaded, _)| *loaded).collect::<Vec<_>>(), [2, 0]);
}

#[tokio::test]
async fn a_guessed_call_is_answered_without_its_definition_where_none_fits() {
    let layer = ToolSearchLayer::new().max_tools(2);
    let guess = AssistantPart::ToolCall(ToolCall::from_text("a", "get_delta", "{}"));
    let (messages, _) = run(layer, vec![vec![guess], vec![AssistantPart::Text { text: "x".into() }]], request()).await;
    let Message::Tool(result) = &*messages[1] else { panic!("{messages:?}") };
    assert!(result.is_error && result.loaded.is_empty() && format!("{:?}", result.content).contains("no more tools can be"), "{result:?}");
}

#[tokio::test]
async fn without_a_limit_nothing_is_said_of_one() {
    let turns = vec![vec![find("a", &ALL)], vec![AssistantPart::Text { text: "x".into() }]];
    let (messages, _) = run(ToolSearchLayer::new(), turns, request()).await;
    assert_eq!(answers(&messages), [(6, String::new())]);
}
