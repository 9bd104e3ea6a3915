//! The team's stack around its model service, without and with two layers of this library.

use futures_util::Stream;
use tower::{Service, ServiceBuilder, ServiceExt, util::BoxCloneSyncService};
use tower_genai::{DeferralMode, Error, EventStream, ModelEvent, deferred_tools::DeferredToolsLayer, tool_search::ToolSearchLayer};

use crate::{
    model::HouseModel,
    types::{CallError, CallRequest},
};

/// The stack as the handler holds it, boxed once: the type of what is inside does not matter to it.
pub(crate) type ModelStack = BoxCloneSyncService<CallRequest, EventStream, CallError>;

/// As it was.
pub(crate) fn before(model: HouseModel) -> ModelStack {
    boxed(ServiceBuilder::new().map_request(with_house_rules).concurrency_limit(64).service(model))
}

/// As it is now. `innermost`, because nothing of this library follows that would finish the request; `Append`, because the gateway behind the team's
/// model service knows no deferred tools: what a search has loaded is declared like any other tool, behind those.
pub(crate) fn after(model: HouseModel) -> ModelStack {
    boxed(
        ServiceBuilder::new()
            .map_request(with_house_rules)
            .layer(ToolSearchLayer::new()) // new
            .layer(DeferredToolsLayer::innermost(DeferralMode::Append)) // new
            .concurrency_limit(64)
            .service(model),
    )
}

/// A layer of the team's: what every request says first.
fn with_house_rules(mut request: CallRequest) -> CallRequest {
    request.model.system.insert(0, "You work at the support desk.".into());
    request
}

fn boxed<S>(stack: S) -> ModelStack
where
    S: Service<CallRequest, Error = CallError, Future: Send> + Clone + Send + Sync + 'static,
    S::Response: Stream<Item = Result<ModelEvent, Error>> + Send + 'static,
{
    BoxCloneSyncService::new(stack.map_response(|events| -> EventStream { Box::pin(events) }))
}
