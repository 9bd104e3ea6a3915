//! Writes a request.

mod messages;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::HeaderMap;
use tower_genai_core::{Effort, Error, ErrorKind, ModelRequest, OutputFormat, Reasoning, Sampling, ToolChoice, ToolDefinition};

use super::{Context, NAME};
use crate::protocols::{
    Capabilities, Encoded, Target, ThinkingStyle,
    body::Body,
    functions::{FunctionCache, Functions, check_count},
    members::write_string,
    object::{List, Object},
    schema,
};
use messages::Scene;

pub(super) fn encode(
    cache: &FunctionCache,
    request: &ModelRequest,
    target: &Target,
    capabilities: &Capabilities,
) -> Result<Encoded<Context>, Error> {
    capabilities.check_server_tools(request)?;
    let functions = Functions::of(cache, &request.tools, capabilities, NAME, write_function)?;
    functions.check_append(request)?;
    check_count(functions.len, capabilities)?;
    let mut out = String::with_capacity(8 * 1024);
    let mut body = Body::new(&mut out, &request.extra_body);
    body.string("model", &target.model);
    body.bool("stream", true);
    // The choice is made of what the endpoint can do: there is no field that says it.
    functions.choice(request, capabilities)?;
    if functions.len > 0 && request.tool_choice != ToolChoice::None {
        body.member("tools", |out| {
            let mut list = List::new(out);
            list.entry().push_str(&functions.text);
            list.end();
        });
    }
    if let Some(reasoning) = request.reasoning {
        think(reasoning, capabilities.thinking, &mut body)?;
    }
    format(request, capabilities, &mut body)?;
    options(request, capabilities, &mut body);
    body.extras("messages");
    let scene = Scene { names: &functions.names, search: functions.search.as_ref(), capabilities, target };
    body.last("messages", |out| {
        if messages::write(request, &functions.system(request), scene, out) {
            return Ok(());
        }
        Err(Error::invalid("the request has no message that this endpoint can be sent; add a user message"))
    })?;
    body.end();
    if let Some(most) = capabilities.max_body_bytes.filter(|most| out.len() > *most) {
        let bytes = out.len();
        return Err(Error::new(ErrorKind::TooLarge, format!("the request has {bytes} bytes and the endpoint takes at most {most}")));
    }
    Ok(Encoded { body: Bytes::from(out), headers: HeaderMap::new(), path: None, context: functions.context(request) })
}

/// Writes one function.
fn write_function(tool: &ToolDefinition, wire: &str, out: &mut String) {
    let mut object = Object::typed(out, "function");
    let mut function = Object::new(object.key("function"));
    function.string("name", wire);
    if !tool.description.is_empty() {
        function.string("description", &tool.description);
    }
    function.raw("parameters", &schema::with_object_root(tool.parameters.as_str()));
    function.end();
    object.end();
}

fn think(reasoning: Reasoning, style: ThinkingStyle, body: &mut Body<'_>) -> Result<(), Error> {
    match (style, reasoning.effort) {
        (ThinkingStyle::Unsupported, _) => {}
        (ThinkingStyle::Switch | ThinkingStyle::Effort, _) if reasoning.is_off() => body.bool("think", false),
        (ThinkingStyle::Effort, Some(effort)) => body.string("think", level(effort)),
        (ThinkingStyle::Switch | ThinkingStyle::Effort, _) => body.bool("think", true),
        (other, _) => {
            return Err(Error::invalid(format!(
                "reasoning: Capabilities::thinking is {other:?}, which Ollama has no field for; make it Switch, Effort or Unsupported"
            )));
        }
    }
    Ok(())
}

/// The server knows three levels.
fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        // Effort is non-exhaustive: what is added lies above.
        _ => "high",
    }
}

fn format(request: &ModelRequest, capabilities: &Capabilities, body: &mut Body<'_>) -> Result<(), Error> {
    match &request.output {
        OutputFormat::Json => body.string("format", "json"),
        OutputFormat::JsonSchema { schema, .. } if capabilities.output_schema => body.raw("format", schema.as_str()),
        OutputFormat::JsonSchema { .. } => {
            return Err(Error::invalid(
                "`output` asks for a JSON Schema, which this endpoint cannot hold its answers to; ask for `OutputFormat::Json` and put the \
                 schema into the prompt, or set Capabilities::output_schema",
            ));
        }
        _ => {}
    }
    Ok(())
}

fn options(request: &ModelRequest, capabilities: &Capabilities, body: &mut Body<'_>) {
    let sampling = if capabilities.sampling { request.sampling } else { Sampling::default() };
    let mut members: Vec<(&str, String)> = Vec::new();
    members.extend(request.max_output_tokens.map(|most| ("num_predict", most.to_string())));
    let numbers = [
        ("temperature", sampling.temperature),
        ("top_p", sampling.top_p),
        ("frequency_penalty", sampling.frequency_penalty),
        ("presence_penalty", sampling.presence_penalty),
    ];
    let numbers = numbers.into_iter().filter_map(|(key, number)| Some((key, serde_json::Number::from_f64(number?)?.to_string())));
    members.extend(numbers);
    members.extend(sampling.top_k.map(|tokens| ("top_k", tokens.to_string())));
    members.extend(sampling.seed.map(|seed| ("seed", seed.to_string())));
    if !request.stop_sequences.is_empty() {
        let mut list = String::new();
        let mut texts = List::new(&mut list);
        request.stop_sequences.iter().for_each(|text| write_string(texts.entry(), text));
        texts.end();
        members.push(("stop", list));
    }
    if !members.is_empty() {
        body.member("options", |out| {
            let mut object = Object::new(out);
            members.iter().for_each(|(key, value)| object.raw(key, value));
            object.end();
        });
    }
}
