//! The recommended stack.

use std::{convert::Infallible, error::Error};

use serde_json::json;
use tower::{ServiceBuilder, retry::RetryLayer, service_fn, util::MapRequestLayer};
use tower_genai::{
    BoxModelService, DeferralMode, ModelRequest, ModelServiceExt, NameRules, ToolCall,
    deferred_tools::DeferredToolsLayer,
    server_tools::ServerToolsLayer,
    tool_guidelines::ToolGuidelinesLayer,
    tool_loop::{ToolLoopLayer, ToolOutput},
    tool_search::ToolSearchLayer,
    transport::retry::RetryPolicy,
    wire_name,
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
    // Whatever the arguments are, they are repeated.
    let mut tool_loop = ToolLoopLayer::new(service_fn(|call: ToolCall| async move { Ok::<_, Infallible>(answer(&call)) })).validate(false);
    if let Some(rounds) = options.max_rounds {
        tool_loop = tool_loop.max_rounds(rounds)?;
    }
    let stack = ServiceBuilder::new()
        .layer(tool_loop)
        .option_layer(server_tools)
        .layer(search)
        .option_layer(guidelines)
        .layer(DeferredToolsLayer::new(mode))
        .option_layer(trace)
        .layer(RetryLayer::new(RetryPolicy::default()))
        .service(model);
    Ok(stack.boxed_model())
}

/// What a local tool answers: its name and arguments.
fn answer(call: &ToolCall) -> ToolOutput {
    let name = wire_name(&call.name, NameRules::PORTABLE);
    ToolOutput::from(format!("{{\"tool\":{},\"arguments\":{}}}", json!(name), call.arguments))
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
