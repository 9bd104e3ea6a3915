//! The recommended stack.

use std::error::Error;

use serde_json::json;
use tower::{ServiceBuilder, retry::RetryLayer, util::MapRequestLayer};
use tower_genai::{
    BoxModelService, DeferralMode, ModelRequest, ModelServiceExt, deferred_tools::DeferredToolsLayer, server_tools::ServerToolsLayer,
    tool_guidelines::ToolGuidelinesLayer, tool_search::ToolSearchLayer, transport::retry::RetryPolicy,
};

use crate::{endpoint::Connected, options::Options};

pub(crate) fn build(options: &Options) -> Result<BoxModelService, Box<dyn Error>> {
    let Connected { model, mode, max_tools } = options.endpoint.connect(&options.model)?;
    let search = ToolSearchLayer::new().catalog(options.catalog);
    let search = match max_tools {
        Some(tools) if mode == DeferralMode::Append => search.max_tools(tools),
        _ => search,
    };
    let server_tools = match options.server_tools.as_slice() {
        [] => None,
        tools => Some(ServerToolsLayer::with(tools.iter().cloned())?),
    };
    let guidelines = options.guidelines.map(|placement| ToolGuidelinesLayer::new().placement(placement));
    let trace = options.trace.then(|| MapRequestLayer::new(trace as fn(ModelRequest) -> ModelRequest));
    let stack = ServiceBuilder::new()
        .option_layer(server_tools)
        .layer(search)
        .option_layer(guidelines)
        .layer(DeferredToolsLayer::new(mode))
        .option_layer(trace)
        .layer(RetryLayer::new(RetryPolicy::default()))
        .service(model);
    Ok(stack.boxed_model())
}

/// One line about a request as it reaches the provider: what is declared, and how long the dialogue is.
fn trace(request: ModelRequest) -> ModelRequest {
    let line = json!({
        "messages": request.messages.len(),
        "tools": request.tools.len(),
        "deferred": request.tools.deferred_len(),
        "loaded": request.messages.loads().iter().map(|load| load.definition.name.to_string()).collect::<Vec<_>>(),
        "system_bytes": request.system.iter().map(|text| text.len()).sum::<usize>(),
        "server_tools": request.server_tools.iter().map(|tool| tool.tool_type()).collect::<Vec<_>>(),
    });
    eprintln!("{line}");
    request
}
