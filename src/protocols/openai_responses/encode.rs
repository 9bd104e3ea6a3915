//! Writes a request.

mod input;
mod output;
mod plan;
mod replay;
#[cfg(test)]
mod tests;
pub(super) mod tools;

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use http::HeaderMap;
use tower_genai_core::{
    Cache, Deferral, Effort, Error, ErrorKind, Identity, ModelRequest, OutputFormat, ToolChoice, ToolDefinition, ToolName, wire_name,
};

use self::{
    output::Scene,
    plan::Plan,
    tools::{SearchForm, WireTools},
};
use super::Context;
use crate::protocols::{
    Capabilities, Encoded, Target, ThinkingStyle,
    body::{Body as Fields, bounded_cache_key},
    object::Object,
};

/// The keys of a body that can stand for the dialogue.
const DIALOGUE: [&str; 4] = ["input", "prompt", "conversation", "previous_response_id"];

/// What a tool of the provider may be forced by: its type alone.
const FORCIBLE: [&str; 11] = [
    "file_search",
    "web_search_preview",
    "web_search_preview_2025_03_11",
    "computer",
    "computer_use",
    "computer_use_preview",
    "image_generation",
    "code_interpreter",
    "apply_patch",
    "shell",
    "programmatic_tool_calling",
];

pub(super) fn encode(
    cache: &Cache<Identity, Arc<WireTools>>,
    request: &ModelRequest,
    target: &Target,
    capabilities: &Capabilities,
) -> Result<Encoded<Context>, Error> {
    refuse(request, capabilities)?;
    let mode = match request.deferral {
        Deferral::Lowered(mode) => mode,
        _ => capabilities.deferral,
    };
    let form = SearchForm::of(mode);
    let tools = tools::wire_tools(cache, &request.tools, form, capabilities)?;
    let plan = Plan::of(request, target, &tools.names, form, capabilities);
    let body = Body { request, capabilities, tools: &tools, plan: &plan }.write(target)?;
    if let Some(most) = capabilities.max_body_bytes.filter(|most| body.len() > *most) {
        let bytes = body.len();
        return Err(Error::new(ErrorKind::TooLarge, format!("the request has {bytes} bytes and the endpoint takes at most {most}")));
    }
    let loads = request.messages.all_loads().iter().map(|load| &load.definition);
    let context = Context { names: tools.names.clone().with_loaded(loads), search: tools.search.clone() };
    Ok(Encoded { body: Bytes::from(body), headers: HeaderMap::new(), path: None, context })
}

/// Refuses what the protocol has no field for.
fn refuse(request: &ModelRequest, capabilities: &Capabilities) -> Result<(), Error> {
    capabilities.check_server_tools(request)?;
    let absent = |field: &str| {
        Err(Error::invalid(format!(
            "`{field}` has no field in the Responses API; leave it out, or put what your endpoint calls it into `extra_body`"
        )))
    };
    if !request.stop_sequences.is_empty() {
        return absent("stop_sequences");
    }
    let sampling = request.sampling;
    if !capabilities.sampling {
        return Ok(());
    }
    if sampling.top_k.is_some() {
        return absent("sampling.top_k");
    }
    if sampling.frequency_penalty.is_some() {
        return absent("sampling.frequency_penalty");
    }
    if sampling.presence_penalty.is_some() {
        return absent("sampling.presence_penalty");
    }
    Ok(())
}

/// What a body is made of.
struct Body<'a> {
    request: &'a ModelRequest,
    capabilities: &'a Capabilities,
    tools: &'a WireTools,
    plan: &'a Plan<'a>,
}

impl Body<'_> {
    fn write(&self, target: &Target) -> Result<String, Error> {
        let Self { request, capabilities, .. } = self;
        let mut out = String::with_capacity(8 * 1024);
        let mut fields = Fields::new(&mut out, &request.extra_body);
        fields.string("model", &target.model);
        fields.raw("stream", "true");
        fields.raw("store", "false");
        let reasons = capabilities.thinking != ThinkingStyle::Unsupported;
        if capabilities.encrypted_reasoning && reasons {
            fields.raw("include", "[\"reasoning.encrypted_content\"]");
        }
        if !request.system.is_empty() {
            fields.string("instructions", &request.system.join("\n\n"));
        }
        self.tools(&mut fields)?;
        if reasons {
            self.reasoning(&mut fields);
        }
        self.format(&mut fields);
        if let Some(most) = request.max_output_tokens {
            fields.raw("max_output_tokens", &most.to_string());
        }
        if capabilities.sampling {
            fields.number("temperature", request.sampling.temperature);
            fields.number("top_p", request.sampling.top_p);
        }
        if let Some(key) = request.prompt_cache_key().filter(|_| capabilities.prompt_cache) {
            fields.string("prompt_cache_key", &bounded_cache_key(key));
        }
        if !request.metadata.is_empty() && capabilities.metadata {
            fields.member("metadata", |out| {
                let mut object = Object::new(out);
                for (key, value) in &request.metadata {
                    object.string(key, value);
                }
                object.end();
            });
        }
        self.dialogue(fields)?;
        Ok(out)
    }

    fn tools(&self, fields: &mut Fields<'_>) -> Result<(), Error> {
        let mut list = String::new();
        let any = tools::list(self.request, self.tools, &self.plan.added, self.capabilities, &mut list)?;
        if any {
            fields.raw("tools", &list);
        }
        let choice = self.tool_choice(any)?;
        if let Some(choice) = choice {
            fields.raw("tool_choice", &choice);
        }
        if let Some(parallel) = self.request.parallel_tool_calls.filter(|_| any && self.capabilities.parallel_tool_calls) {
            fields.raw("parallel_tool_calls", if parallel { "true" } else { "false" });
        }
        Ok(())
    }

    fn tool_choice(&self, any: bool) -> Result<Option<Cow<'static, str>>, Error> {
        let choice = &self.request.tool_choice;
        match choice {
            ToolChoice::Auto => return Ok(None),
            ToolChoice::None => return Ok(any.then_some(Cow::Borrowed("\"none\""))),
            _ if !self.capabilities.forced_tool_choice => {
                return Err(Error::invalid(
                    "`tool_choice` forces a call and the endpoint takes `auto` and `none` only; ask for the call in words",
                ));
            }
            _ => {}
        }
        match choice {
            ToolChoice::Required if any => Ok(Some(Cow::Borrowed("\"required\""))),
            ToolChoice::Required => Err(Error::invalid("`tool_choice` asks for a call and the request declares no tool")),
            ToolChoice::Tool(name) => self.forced(name).map(|choice| Some(choice.into())),
            ToolChoice::ServerTool(kind) => self.forced_server_tool(kind).map(|choice| Some(choice.into())),
            _ => Ok(None),
        }
    }

    fn forced(&self, name: &ToolName) -> Result<String, Error> {
        let invalid = |what: &str| Err(Error::invalid(format!("`tool_choice` names tool `{name}`, {what}")));
        let is_added = |tool: &&&Arc<ToolDefinition>| tool.name == *name;
        let tool = self.request.tools.get(name).or(self.plan.added.iter().find(is_added).copied());
        match tool {
            None => return invalid("which the request does not declare"),
            Some(tool) if tool.deferred => return invalid("which is deferred; declare it in `eager_tools` too"),
            Some(_) if self.tools.searches_with(name) => return invalid("and this endpoint cannot be told to search; leave it the choice"),
            Some(_) => {}
        }
        let mut out = String::new();
        let mut object = Object::typed(&mut out, "function");
        object.string("name", &self.tools.names.wire(name));
        object.end();
        Ok(out)
    }

    fn forced_server_tool(&self, kind: &str) -> Result<String, Error> {
        let Some(tool) = self.request.server_tools.iter().find(|tool| tool.tool_type() == kind) else {
            return Err(Error::invalid(format!("`tool_choice` names server tool `{kind}`, which the request does not declare")));
        };
        let mut out = String::new();
        let mut object = Object::typed(&mut out, kind);
        match (kind, tool.key().1) {
            ("mcp", Some(label)) => object.string("server_label", label),
            _ if FORCIBLE.contains(&kind) => {}
            _ => {
                return Err(Error::invalid(format!(
                    "`tool_choice` names server tool `{kind}`, which the Responses API does not force; it forces {}. Where your endpoint \
                     does, put `tool_choice` into `extra_body`",
                    FORCIBLE.join(", ")
                )));
            }
        }
        object.end();
        Ok(out)
    }

    fn reasoning(&self, fields: &mut Fields<'_>) {
        let Some(reasoning) = self.request.reasoning else { return };
        let summary = reasoning.summary == Some(true) && reasoning.effort != Some(Effort::None);
        if reasoning.effort.is_none() && !summary {
            return;
        }
        fields.member("reasoning", |out| {
            let mut object = Object::new(out);
            if let Some(effort) = reasoning.effort {
                object.string("effort", effort.as_str());
            }
            if summary {
                object.string("summary", "auto");
            }
            object.end();
        });
    }

    fn format(&self, fields: &mut Fields<'_>) {
        let (name, schema, strict) = match &self.request.output {
            OutputFormat::Json => {
                fields.raw("text", r#"{"format":{"type":"json_object"}}"#);
                return;
            }
            OutputFormat::JsonSchema { name, schema, strict } => (name, schema, strict),
            _ => return,
        };
        fields.member("text", |out| {
            let name = ToolName::new(if name.is_empty() { "output" } else { name });
            let mut text = Object::new(out);
            let mut format = Object::typed(text.key("format"), "json_schema");
            format.string("name", &wire_name(&name, self.capabilities.names));
            format.raw("schema", schema.as_str());
            format.bool("strict", *strict);
            format.end();
            text.end();
        });
    }

    /// Writes what the caller adds, and behind everything else the dialogue, so that a longer one begins like a shorter one.
    fn dialogue(&self, mut fields: Fields<'_>) -> Result<(), Error> {
        fields.extras("input");
        let stands_for_it = DIALOGUE.iter().any(|key| fields.brought(key).is_some());
        let scene = Scene { names: &self.tools.names, capabilities: self.capabilities };
        fields.last("input", |out| {
            let any = input::write(self.plan, self.tools.search.as_ref(), scene, out)?;
            if any || stands_for_it {
                return Ok(());
            }
            Err(Error::invalid("the request has no message that this endpoint can be sent; add a user message"))
        })?;
        fields.end();
        Ok(())
    }
}
