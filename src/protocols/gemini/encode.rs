//! Writes a request.

mod contents;
mod settings;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::HeaderMap;
use tower_genai_core::{Error, ErrorKind, ModelRequest, ToolDefinition};

use super::{Context, NAME, path};
use crate::protocols::{
    Capabilities, Encoded, MixedTools, Target,
    body::Body,
    functions::{Choice, FunctionCache, Functions, check_count},
    members::write_string,
    object::{List, Object},
    schema,
};
use contents::Scene;

pub(super) fn encode(
    cache: &FunctionCache,
    request: &ModelRequest,
    target: &Target,
    capabilities: &Capabilities,
) -> Result<Encoded<Context>, Error> {
    check_server_tools(request, capabilities)?;
    let functions = Functions::of(cache, &request.tools, capabilities, NAME, write_function)?;
    functions.check_append(request)?;
    check_count(functions.len, capabilities)?;
    let mut out = String::with_capacity(8 * 1024);
    let mut body = Body::new(&mut out, &request.extra_body);
    // The path says it, and the endpoint refuses what it does not know.
    let streams = body.brought("stream").is_none_or(|stream| stream.as_str() != "false");
    body.withhold("stream");
    write_tools(request, &functions, &mut body);
    tool_config(request, &functions, capabilities, &mut body)?;
    settings::write(request, capabilities, &mut body)?;
    let system = functions.system(request);
    if !system.is_empty() {
        body.member("systemInstruction", |out| {
            let mut object = Object::new(out);
            let mut parts = List::new(object.key("parts"));
            system.iter().for_each(|text| write_text(text, parts.entry()));
            parts.end();
            object.end();
        });
    }
    body.extras("contents");
    let scene = Scene { names: &functions.names, search: functions.search.as_ref(), capabilities, target };
    body.last("contents", |out| contents::write(request, scene, out))?;
    body.end();
    if let Some(most) = capabilities.max_body_bytes.filter(|most| out.len() > *most) {
        let bytes = out.len();
        return Err(Error::new(ErrorKind::TooLarge, format!("the request has {bytes} bytes and the endpoint takes at most {most}")));
    }
    let path = (!streams).then(|| path(&target.model, "generateContent"));
    Ok(Encoded { body: Bytes::from(out), headers: HeaderMap::new(), path, context: functions.context(request) })
}

/// Writes a text as a part.
fn write_text(text: &str, out: &mut String) {
    let mut object = Object::new(out);
    object.string("text", text);
    object.end();
}

/// Refuses server tools that the endpoint does not have, or does not have beside functions.
fn check_server_tools(request: &ModelRequest, capabilities: &Capabilities) -> Result<(), Error> {
    capabilities.check_server_tools(request)?;
    if let Some(search) = request.server_tools.iter().find(|tool| tool.is_tool_search()) {
        return Err(Error::invalid(format!(
            "server tool `{}` searches deferred tools at the provider, and this one has no such search; leave it out and let a tool search layer \
             search",
            search.tool_type()
        )));
    }
    let function = request.tools.iter().next().filter(|_| capabilities.mixed_tools == MixedTools::Refused);
    match request.server_tools.first().zip(function) {
        None => Ok(()),
        Some((tool, function)) => Err(Error::invalid(format!(
            "server tool `{}` cannot stand beside functions (`{}`) with this model; send one or the other, ask a model of the third generation, \
             or set Capabilities::mixed_tools",
            tool.tool_type(),
            function.name
        ))),
    }
}

/// Writes the tools of the provider, and behind them the functions, so that the list only grows at its end.
fn write_tools(request: &ModelRequest, functions: &Functions, body: &mut Body<'_>) {
    if request.server_tools.is_empty() && functions.len == 0 {
        return;
    }
    body.member("tools", |out| {
        let mut tools = List::new(out);
        for tool in &request.server_tools {
            let mut object = Object::new(tools.entry());
            object.raw(tool.tool_type(), tool.configuration().as_str());
            object.end();
        }
        if functions.len > 0 {
            let mut object = Object::new(tools.entry());
            let mut declarations = List::new(object.key("functionDeclarations"));
            declarations.entry().push_str(&functions.text);
            declarations.end();
            object.end();
        }
        tools.end();
    });
}

/// Writes one function.
fn write_function(tool: &ToolDefinition, wire: &str, out: &mut String) {
    let mut object = Object::new(out);
    object.string("name", wire);
    if !tool.description.is_empty() {
        object.string("description", &tool.description);
    }
    object.raw("parametersJsonSchema", &schema::with_object_root(tool.parameters.as_str()));
    object.end();
}

/// Writes what the model is told about calling tools.
fn tool_config(request: &ModelRequest, functions: &Functions, capabilities: &Capabilities, body: &mut Body<'_>) -> Result<(), Error> {
    let choice = functions.choice(request, capabilities)?;
    let is_mixed = capabilities.mixed_tools == MixedTools::Flagged && !request.server_tools.is_empty() && functions.len > 0;
    if choice.is_none() && !is_mixed {
        return Ok(());
    }
    body.member("toolConfig", |out| {
        let mut object = Object::new(out);
        if let Some(choice) = &choice {
            let mut config = Object::new(object.key("functionCallingConfig"));
            config.string("mode", if *choice == Choice::None { "NONE" } else { "ANY" });
            if let Choice::Function(name) = choice {
                let mut names = List::new(config.key("allowedFunctionNames"));
                write_string(names.entry(), name);
                names.end();
            }
            config.end();
        }
        if is_mixed {
            object.bool("includeServerSideToolInvocations", true);
        }
        object.end();
    });
    Ok(())
}
