//! The recommended stack.

use std::error::Error;

use serde_json::json;
use tower::{ServiceBuilder, retry::RetryLayer, util::MapRequestLayer};
use tower_genai::{
    BoxModelService, DeferralMode, ModelRequest, ModelServiceExt,
    deferred_tools::DeferredToolsLayer,
    provider::{Anthropic, OpenAi},
    server_tools::ServerToolsLayer,
    tool_guidelines::ToolGuidelinesLayer,
    tool_search::ToolSearchLayer,
    transport::retry::RetryPolicy,
};

use crate::options::{Options, Protocol};

pub(crate) fn build(options: &Options) -> Result<BoxModelService, Box<dyn Error>> {
    let key = std::env::var("API_KEY").map_err(|_| "the environment variable API_KEY is not set")?;
    let (provider, mode): (BoxModelService, DeferralMode) = match options.protocol {
        Protocol::Anthropic => {
            let provider = Anthropic::new(key, options.model.as_str()).base_url(&options.base_url)?;
            let mode = provider.deferral();
            (provider.boxed_model(), mode)
        }
        Protocol::OpenAiResponses => {
            let provider = OpenAi::new(key, options.model.as_str()).base_url(&options.base_url)?;
            let mode = provider.deferral();
            (provider.boxed_model(), mode)
        }
    };
    let server_tools = match options.server_tools.as_slice() {
        [] => None,
        tools => Some(ServerToolsLayer::with(tools.iter().cloned())?),
    };
    let guidelines = options.guidelines.map(|placement| ToolGuidelinesLayer::new().placement(placement));
    let trace = options.trace.then(|| MapRequestLayer::new(trace as fn(ModelRequest) -> ModelRequest));
    let stack = ServiceBuilder::new()
        .option_layer(server_tools)
        .layer(ToolSearchLayer::new().catalog(options.catalog))
        .option_layer(guidelines)
        .layer(DeferredToolsLayer::new(mode))
        .option_layer(trace)
        .layer(RetryLayer::new(RetryPolicy::default()))
        .service(provider);
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
