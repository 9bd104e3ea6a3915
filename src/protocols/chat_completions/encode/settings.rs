//! What a request asks for beside its prompt: reasoning, the form of the answer, its length, and how tokens are drawn.

use tower_genai_core::{Error, ModelRequest, OutputFormat, Reasoning, ToolName, wire_name};

use crate::protocols::{
    Capabilities, ThinkingStyle,
    body::Body as Fields,
    object::{List, Object},
};

/// Writes the settings.
///
/// # Errors
///
/// Names a setting that the endpoint would refuse, or that the protocol has no field for.
pub(super) fn write(request: &ModelRequest, capabilities: &Capabilities, fields: &mut Fields<'_>) -> Result<(), Error> {
    if let Some(reasoning) = request.reasoning {
        write_reasoning(reasoning, capabilities.thinking, fields)?;
    }
    format(request, capabilities, fields)?;
    if let Some(most) = request.max_output_tokens {
        fields.raw(capabilities.output_limit_field, &most.to_string());
    }
    if !request.stop_sequences.is_empty() {
        fields.member("stop", |out| {
            let mut list = List::new(out);
            for text in &request.stop_sequences {
                crate::protocols::members::write_string(list.entry(), text);
            }
            list.end();
        });
    }
    if capabilities.sampling { sampling(request, fields) } else { Ok(()) }
}

fn sampling(request: &ModelRequest, fields: &mut Fields<'_>) -> Result<(), Error> {
    let sampling = request.sampling;
    if sampling.top_k.is_some() && fields.brought("top_k").is_none() {
        return Err(Error::invalid(
            "`sampling.top_k` has no field in Chat Completions; leave it out, or put what your endpoint calls it (often `top_k`) into `extra_body`",
        ));
    }
    fields.number("temperature", sampling.temperature);
    fields.number("top_p", sampling.top_p);
    fields.number("frequency_penalty", sampling.frequency_penalty);
    fields.number("presence_penalty", sampling.presence_penalty);
    if let Some(seed) = sampling.seed {
        fields.raw("seed", &seed.to_string());
    }
    Ok(())
}

fn write_reasoning(reasoning: Reasoning, style: ThinkingStyle, fields: &mut Fields<'_>) -> Result<(), Error> {
    match style {
        ThinkingStyle::Unsupported => {}
        ThinkingStyle::Effort => {
            if let Some(effort) = reasoning.effort {
                fields.string("reasoning_effort", effort.as_str());
            }
        }
        ThinkingStyle::Object => fields.member("reasoning", |out| object(reasoning, out)),
        ThinkingStyle::Switch => {
            let kind = if reasoning.is_off() { "disabled" } else { "enabled" };
            fields.member("thinking", |out| Object::typed(out, kind).end());
            if let Some(effort) = reasoning.effort.filter(|_| !reasoning.is_off()) {
                fields.string("reasoning_effort", effort.as_str());
            }
        }
        other => {
            return Err(Error::invalid(format!(
                "reasoning: Capabilities::thinking is {other:?}, which Chat Completions have no field for; make it Effort, Object, Switch or \
                 Unsupported, or put what your endpoint wants into `extra_body`"
            )));
        }
    }
    Ok(())
}

/// The object `reasoning`, which takes one of an effort and a number of tokens: the number, which says more.
fn object(reasoning: Reasoning, out: &mut String) {
    let mut object = Object::new(out);
    match (reasoning.budget_tokens, reasoning.effort) {
        _ if reasoning.is_off() => object.bool("enabled", false),
        (Some(tokens), _) => object.raw("max_tokens", &tokens.to_string()),
        (None, Some(effort)) => object.string("effort", effort.as_str()),
        (None, None) => object.bool("enabled", true),
    }
    if reasoning.summary == Some(false) && !reasoning.is_off() {
        object.bool("exclude", true);
    }
    object.end();
}

fn format(request: &ModelRequest, capabilities: &Capabilities, fields: &mut Fields<'_>) -> Result<(), Error> {
    let (name, schema, strict) = match &request.output {
        OutputFormat::Json => {
            fields.raw("response_format", r#"{"type":"json_object"}"#);
            return Ok(());
        }
        OutputFormat::JsonSchema { name, schema, strict } => (name, schema, strict),
        _ => return Ok(()),
    };
    if !capabilities.output_schema {
        return Err(Error::invalid(
            "`output` asks for a JSON Schema, which this endpoint cannot hold its answers to; ask for `OutputFormat::Json` and put the schema \
             into the prompt, or set Capabilities::output_schema",
        ));
    }
    fields.member("response_format", |out| {
        let name = ToolName::new(if name.is_empty() { "output" } else { name });
        let mut format = Object::typed(out, "json_schema");
        let mut object = Object::new(format.key("json_schema"));
        object.string("name", &wire_name(&name, capabilities.names));
        object.raw("schema", schema.as_str());
        object.bool("strict", *strict);
        object.end();
        format.end();
    });
    Ok(())
}
