//! Writes a request.

mod content;
mod messages;
mod replay;
mod settings;
#[cfg(test)]
mod tests;
mod tools;

use bytes::Bytes;
use http::HeaderMap;
use tower_genai_core::{Deferral, DeferralMode, Error, ErrorKind, ModelRequest, ServerTool};

use self::{messages::Scene, tools::Tools};
use super::Context;
use crate::protocols::{
    Capabilities, Encoded, HostedSearch, Target,
    body::{Body as Fields, bounded_cache_key},
    functions::FunctionCache,
    object::Object,
};

pub(super) fn encode(
    cache: &FunctionCache,
    request: &ModelRequest,
    target: &Target,
    capabilities: &Capabilities,
) -> Result<Encoded<Context>, Error> {
    capabilities.check_server_tools(request)?;
    refuse_hosted_search(request, capabilities)?;
    let mode = mode(request, capabilities)?;
    let tools = Tools::of(cache, request, mode, capabilities)?;
    let body = Body { request, target, capabilities, tools: &tools, mode }.write()?;
    if let Some(most) = capabilities.max_body_bytes.filter(|most| body.len() > *most) {
        let bytes = body.len();
        return Err(Error::new(ErrorKind::TooLarge, format!("the request has {bytes} bytes and the endpoint takes at most {most}")));
    }
    Ok(Encoded { body: Bytes::from(body), headers: HeaderMap::new(), path: None, context: tools.functions.context(request) })
}

/// Refuses a search of the provider's own where it has none.
fn refuse_hosted_search(request: &ModelRequest, capabilities: &Capabilities) -> Result<(), Error> {
    let mut searches = request.server_tools.iter().filter(|tool| tool.is_tool_search());
    let Some(search) = searches.next() else { return Ok(()) };
    let name = search.tool_type();
    if capabilities.hosted_search == HostedSearch::Unsupported {
        return Err(Error::invalid(format!(
            "server tool `{name}` searches deferred tools at the provider, and this Chat Completions endpoint has no such search; leave it out \
             and let a tool search layer search, use the Responses API, or set Capabilities::hosted_search"
        )));
    }
    match searches.next() {
        None => Ok(()),
        Some(other) => Err(Error::invalid(format!(
            "server tools `{name}` and `{}` both search deferred tools; declare one of them",
            other.tool_type()
        ))),
    }
}

/// The mode in which the request goes out.
fn mode(request: &ModelRequest, capabilities: &Capabilities) -> Result<DeferralMode, Error> {
    let mut accepted = vec![DeferralMode::Append];
    if capabilities.deferral == DeferralMode::Reference {
        accepted.push(DeferralMode::Reference);
    }
    if capabilities.hosted_search != HostedSearch::Unsupported {
        accepted.push(DeferralMode::Hosted);
    }
    match request.deferral {
        lowered @ Deferral::Lowered(_) => lowered.lowered_to(&accepted),
        _ if request.server_tools.iter().any(ServerTool::is_tool_search) => Ok(DeferralMode::Hosted),
        _ => Deferral::Lowered(capabilities.deferral).lowered_to(&accepted),
    }
}

/// What a body is made of.
struct Body<'a> {
    request: &'a ModelRequest,
    target: &'a Target,
    capabilities: &'a Capabilities,
    tools: &'a Tools,
    mode: DeferralMode,
}

impl Body<'_> {
    fn write(&self) -> Result<String, Error> {
        let Self { request, target, capabilities, .. } = self;
        let mut out = String::with_capacity(8 * 1024);
        let mut fields = Fields::new(&mut out, &request.extra_body);
        fields.string("model", &target.model);
        fields.bool("stream", true);
        // Hosts refuse the options of a stream where none is asked for.
        let streams = fields.brought("stream").is_none_or(|stream| stream.as_str() == "true");
        if capabilities.stream_usage && streams {
            fields.raw("stream_options", "{\"include_usage\":true}");
        }
        self.tools.write(request, capabilities, &mut fields)?;
        settings::write(request, capabilities, &mut fields)?;
        if let Some(key) = request.prompt_cache_key().filter(|_| capabilities.prompt_cache) {
            fields.string("prompt_cache_key", &bounded_cache_key(key));
        }
        if capabilities.metadata && !request.metadata.is_empty() {
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

    /// Writes what the caller adds, and behind everything else the dialogue, so that a longer one begins like a shorter one.
    fn dialogue(&self, mut fields: Fields<'_>) -> Result<(), Error> {
        fields.extras("messages");
        let scene = Scene {
            names: &self.tools.functions.names,
            search: self.tools.functions.search.as_ref(),
            capabilities: self.capabilities,
            target: self.target,
            references: self.mode == DeferralMode::Reference,
        };
        fields.last("messages", |out| {
            if messages::write(self.request, &self.tools.functions.system(self.request), scene, out) {
                return Ok(());
            }
            Err(Error::invalid("the request has no message that this endpoint can be sent; add a user message"))
        })?;
        fields.end();
        Ok(())
    }
}
