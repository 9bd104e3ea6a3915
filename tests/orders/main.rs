//! Every order of the layers, over an HTTP service in process: what goes out is valid, and a prefix of what goes out next.
#![cfg(all(feature = "anthropic", feature = "openai", feature = "tool-search"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod determinism;
mod endpoint;
mod middleware;

use endpoint::{Endpoint, Wire};
use tower::Layer;
use tower_genai::{
    BoxModelService, Conversation, DeferralMode, Message, ModelRequest, ModelServiceExt, ToolDefinition, ToolResult, ToolSet,
    deferred_tools::DeferredToolsLayer,
    provider::{Anthropic, OpenAi},
    server_tools::ServerToolsLayer,
    tool_guidelines::{Placement, ToolGuidelinesLayer},
    tool_search::{CatalogPlacement, ToolSearchLayer},
};

#[derive(Clone)]
enum Part {
    ServerTools(ServerToolsLayer),
    Search(ToolSearchLayer),
    Guidelines(ToolGuidelinesLayer),
    Deferred,
}

fn provider(endpoint: &Endpoint) -> (BoxModelService, DeferralMode) {
    match endpoint.wire() {
        Wire::Anthropic => {
            let provider = Anthropic::new("key", "model").http(endpoint.clone());
            let mode = provider.deferral();
            (provider.boxed_model(), mode)
        }
        Wire::Responses => {
            let provider = OpenAi::new("key", "model").http(endpoint.clone());
            let mode = provider.deferral();
            (provider.boxed_model(), mode)
        }
    }
}

fn build(endpoint: &Endpoint, parts: &[Part]) -> BoxModelService {
    let (model, mode) = provider(endpoint);
    parts.iter().rev().fold(model, |inner, part| match part {
        Part::ServerTools(layer) => layer.layer(inner).boxed_model(),
        Part::Search(layer) => layer.layer(inner).boxed_model(),
        Part::Guidelines(layer) => layer.layer(inner).boxed_model(),
        Part::Deferred => DeferredToolsLayer::new(mode).layer(inner).boxed_model(),
    })
}

fn tools() -> ToolSet {
    let deferred = |name: &str, text: &str| ToolDefinition::new(name).description(text).guideline(format!("Mind {name}.")).deferred(true);
    ToolSet::new([
        ToolDefinition::new("now").description("The current time").snippet("now()").guideline("Never guess the time."),
        deferred("get_weather", "The weather of a place"),
        deferred("send_mail", "Send a mail"),
        deferred("find", "Find a customer").namespace("crm"),
    ])
    .unwrap()
}

/// Two turns, in each of which the scripted model searches for a tool, calls it, and answers.
async fn converse(endpoint: &Endpoint, parts: &[Part]) {
    converse_with(endpoint, &build(endpoint, parts)).await;
}

async fn converse_with(endpoint: &Endpoint, model: &BoxModelService) {
    let mut history = Conversation::new();
    for (word, name) in [("weather", "get_weather"), ("customer", "crm__find")] {
        history.push(Message::user(format!("{word} {name}")));
        loop {
            let request = ModelRequest::new().system("Base.").messages(history.clone()).tools(tools());
            let response = model.clone().complete(request).await.unwrap();
            let results: Vec<ToolResult> = response.open_calls().map(|call| ToolResult::text(call, "done")).collect();
            let text = response.text();
            history.extend(response.messages);
            if results.is_empty() {
                assert_eq!(text, format!("answered {name}"));
                break;
            }
            history.extend(results);
        }
    }
    endpoint.assert_valid();
}

fn permutations<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let insert = |order: Vec<T>| {
        (0..=order.len()).map(move |at| {
            let mut order = order.clone();
            order.insert(at, first.clone());
            order
        })
    };
    permutations(rest).into_iter().flat_map(insert).collect()
}

#[tokio::test]
async fn every_order_and_every_placement() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        let mut stacks = 0;
        for catalog in [CatalogPlacement::SearchDescription, CatalogPlacement::SystemPrompt, CatalogPlacement::None] {
            for placement in [Placement::SystemPrompt, Placement::Description] {
                let hosted = if wire == Wire::Anthropic { "web_search_20250305" } else { "web_search" };
                let parts = [
                    Part::ServerTools(ServerToolsLayer::with([hosted]).unwrap()),
                    Part::Search(ToolSearchLayer::new().catalog(catalog)),
                    Part::Guidelines(ToolGuidelinesLayer::new().placement(placement)),
                    Part::Deferred,
                ];
                for order in permutations(&parts) {
                    stacks += 1;
                    converse(&Endpoint::new(wire), &order).await;
                }
            }
        }
        assert_eq!(stacks, 24 * 6);
    }
}

#[tokio::test]
async fn layers_applied_twice() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        let search = Part::Search(ToolSearchLayer::new().catalog(CatalogPlacement::SystemPrompt));
        let guidelines = Part::Guidelines(ToolGuidelinesLayer::new());
        let parts = [search.clone(), search, guidelines.clone(), guidelines, Part::Deferred, Part::Deferred];
        converse(&Endpoint::new(wire), &parts).await;
    }
}

#[tokio::test]
async fn without_the_search_layer_everything_is_an_ordinary_tool() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        for parts in [vec![], vec![Part::Deferred], vec![Part::Guidelines(ToolGuidelinesLayer::new()), Part::Deferred]] {
            let endpoint = Endpoint::new(wire);
            converse(&endpoint, &parts).await;
            assert!(!endpoint.bodies().iter().any(|body| body.to_string().contains("defer_loading")));
        }
    }
}
