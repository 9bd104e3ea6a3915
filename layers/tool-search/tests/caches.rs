//! How often an index is built.
#![allow(clippy::unwrap_used)]

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use tower::Layer;
use tower_genai_core::{AssistantPart, ModelRequest, ModelServiceExt, ToolCall, ToolDefinition, ToolSet, testing::ScriptedModel};
use tower_genai_tool_search::{ToolSearchLayer, documents, index::ToolIndex};

fn tools(name: &str) -> ToolSet {
    ToolSet::new([ToolDefinition::new(name).description("Tells the weather").deferred(true)]).unwrap()
}

/// A layer that counts how often it builds an index.
fn counting() -> (ToolSearchLayer, Arc<AtomicUsize>) {
    let built = Arc::new(AtomicUsize::new(0));
    let count = built.clone();
    let layer = ToolSearchLayer::new().index(move |tools: &ToolSet| {
        count.fetch_add(1, Ordering::SeqCst);
        ToolIndex::build(documents(tools)).map_err(|error| tower_genai_core::Error::invalid(error.to_string()))
    });
    (layer, built)
}

/// One call in which the model searches once.
async fn search(layer: &ToolSearchLayer, tools: ToolSet) {
    let call = AssistantPart::Search(ToolCall::from_text("1", "tool_search", r#"{"queries":["weather"]}"#));
    let model = ScriptedModel::messages([vec![call], vec![AssistantPart::Text { text: "done".into() }]]);
    let response = layer.layer(model).complete(ModelRequest::new().user("hi").tools(tools)).await.unwrap();
    assert_eq!(response.messages.len(), 3);
}

#[tokio::test]
async fn two_sets_that_alternate_are_indexed_once_each() {
    let (layer, built) = counting();
    for _ in 0..4 {
        for name in ["one", "two"] {
            // Equal content is the same set, however often it is made.
            search(&layer, tools(name)).await;
        }
    }
    assert_eq!(built.load(Ordering::SeqCst), 2);
}

#[test]
fn eight_first_searches_at_once_build_one_index() {
    let (layer, built) = counting();
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                barrier.wait();
                runtime.block_on(search(&layer.clone(), tools("one")));
            });
        }
    });
    assert_eq!(built.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_request_builds_no_index_and_preparing_builds_it_ahead() {
    let (layer, built) = counting();
    let model = ScriptedModel::answering("nothing to search");
    layer.layer(model).complete(ModelRequest::new().user("hi").tools(tools("one"))).await.unwrap();
    assert_eq!(built.load(Ordering::SeqCst), 0);
    layer.prepare(&tools("one")).unwrap();
    search(&layer, tools("one")).await;
    assert_eq!(built.load(Ordering::SeqCst), 1);
}
