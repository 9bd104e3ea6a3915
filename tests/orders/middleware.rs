//! tower's own middleware between the layers and around them.

use std::time::Duration;

use tower::{
    ServiceBuilder, buffer::BufferLayer, limit::ConcurrencyLimitLayer, retry::RetryLayer, timeout::TimeoutLayer,
    util::BoxCloneSyncServiceLayer,
};
use tower_genai::{
    BoxModelService, DeferralMode, ErrorKind, ModelRequest, ModelServiceExt, deferred_tools::DeferredToolsLayer, testing::ReadinessProbe,
    tool_guidelines::ToolGuidelinesLayer, tool_search::ToolSearchLayer, transport::retry::RetryPolicy,
};

use crate::{converse_with, endpoint::Endpoint, endpoint::Wire, provider};

/// Middleware over a model, one stack of each kind.
fn wrapped(model: BoxModelService) -> Vec<(&'static str, BoxModelService)> {
    let probe = || ReadinessProbe::new(model.clone()).delayed(1);
    let wait = Duration::from_secs(5);
    vec![
        ("probe", probe().boxed_model()),
        ("limit", ServiceBuilder::new().layer(ConcurrencyLimitLayer::new(1)).service(probe()).boxed_model()),
        ("timeout", ServiceBuilder::new().layer(TimeoutLayer::new(wait)).service(probe()).boxed_model()),
        ("retry", ServiceBuilder::new().layer(RetryLayer::new(RetryPolicy::default())).service(probe()).boxed_model()),
        ("buffer", ServiceBuilder::new().layer(BufferLayer::new(1)).service(probe()).boxed_model()),
        ("box", ServiceBuilder::new().layer(BoxCloneSyncServiceLayer::new(TimeoutLayer::new(wait))).service(probe()).boxed_model()),
        (
            "all",
            ServiceBuilder::new()
                .layer(BufferLayer::new(1))
                .layer(ConcurrencyLimitLayer::new(1))
                .layer(RetryLayer::new(RetryPolicy::default()))
                .layer(TimeoutLayer::new(wait))
                .service(probe())
                .boxed_model(),
        ),
    ]
}

#[tokio::test]
async fn inside_and_outside_of_the_layers() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        let kinds = wrapped(provider(&Endpoint::new(wire)).0).len();
        for (inside, outside) in (0..kinds).flat_map(|inside| (0..kinds).map(move |outside| (inside, outside))) {
            let endpoint = Endpoint::new(wire);
            let (model, mode) = provider(&endpoint);
            let (below, model) = wrapped(model).swap_remove(inside);
            let layers = ServiceBuilder::new().layer(ToolSearchLayer::new()).layer(ToolGuidelinesLayer::new());
            let stack = layers.layer(DeferredToolsLayer::new(mode)).service(model).boxed_model();
            let (above, stack) = wrapped(stack).swap_remove(outside);
            let talk = tokio::time::timeout(Duration::from_secs(10), converse_with(&endpoint, &stack));
            assert!(talk.await.is_ok(), "{above} over the layers over {below} does not end");
        }
    }
}

#[tokio::test]
async fn a_mode_that_the_provider_does_not_speak_is_refused_before_anything_is_sent() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        for mode in [DeferralMode::Reference, DeferralMode::SearchOutput] {
            let endpoint = Endpoint::new(wire);
            let (model, own) = provider(&endpoint);
            let stack = ServiceBuilder::new().layer(ToolSearchLayer::new()).layer(DeferredToolsLayer::innermost(mode)).service(model);
            let stack = stack.boxed_model();
            if mode == own {
                converse_with(&endpoint, &stack).await;
                continue;
            }
            let request = ModelRequest::new().user("weather get_weather").tools(crate::tools());
            let error = stack.complete(request).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{wire:?} {mode:?}: {error}");
            assert!(error.to_string().contains("provider.deferral()") && endpoint.bodies().is_empty(), "{error}");
        }
    }
}
