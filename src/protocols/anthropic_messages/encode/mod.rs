//! Writing one request.
//!
//! The body is written by hand, member by member, so that the same request always gives the same bytes: what the provider caches is a
//! prefix of them, and reasoning is bound to it.

mod binding;
mod cache;
mod content;
mod dialogue;
mod results;
mod server_tools;
mod settings;
#[cfg(test)]
mod tests;
mod tools;
mod turns;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header::HeaderName};
use tower_genai_core::{Cache, Error, ErrorKind, Identity, ModelRequest};

pub(super) use self::tools::WireTools;
use self::{
    binding::Settled,
    cache::{Marks, count_marks, mark, write_marked},
    content::write_text,
    dialogue::Dialogue,
    server_tools::WireServerTools,
    settings::Thinking,
};
use super::Context;
use crate::protocols::{Capabilities, Encoded, Resume, Target, body::Body, history, members::write_string};

const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// Writes a request whose deferral is lowered.
pub(super) fn encode(
    cache: &Cache<Identity, Arc<WireTools>>,
    request: &ModelRequest,
    target: &Target,
    capabilities: &Capabilities,
) -> Result<Encoded<Context>, Error> {
    let tools = WireTools::of(cache, &request.tools, capabilities)?;
    capabilities.check_server_tools(request)?;
    let server_tools = WireServerTools::of(request, &tools)?;
    check_tools(&tools, &server_tools, capabilities)?;

    let entries = history::entries(&request.messages, capabilities.call_ids);
    let plans = turns::plan(&entries, target, &tools, &server_tools, request.extensions.get::<Resume>().is_some());
    let dialogue = dialogue::lay_out(request, &entries, &plans, &tools, capabilities)?;

    let system: Vec<&str> = request.system.iter().map(|text| &**text).filter(|text| !text.trim().is_empty()).collect();
    let own_tools = server_tools.tools.iter().map(String::as_str);
    let head: Vec<&str> = own_tools.chain([tools.shown()]).chain(system.iter().copied()).collect();
    let settled = binding::settle(&dialogue, &tools, &head, capabilities.bound_thinking);
    let thinking = Thinking::of(request, capabilities, settled.without_thinking)?;
    let prompt = Prompt { system: &system, tools: &tools, server_tools: &server_tools, dialogue: &dialogue, settled: &settled };

    let mut out = String::with_capacity(8 * 1024);
    let mut body = Body::new(&mut out, &request.extra_body);
    body.string("model", &target.model);
    body.raw("max_tokens", &thinking.max_tokens.to_string());
    body.raw("stream", "true");
    prompt.write(&mut body, request, capabilities);
    if let Some(choice) = settings::tool_choice(request, capabilities, &tools, &server_tools, &thinking)? {
        body.raw("tool_choice", &choice);
    }
    if thinking.form.is_some() {
        body.member("thinking", |out| thinking.write(out));
    }
    if let Some(config) = settings::output_config(request, &thinking)? {
        body.raw("output_config", &config);
    }
    if capabilities.sampling {
        for (name, value) in settings::sampling(&request.sampling)? {
            body.raw(name, &value);
        }
    }
    write_stop_sequences(&mut body, request);
    if let Some(user) = request.metadata.get("user_id") {
        body.member("metadata", |out| {
            out.push_str("{\"user_id\":");
            write_string(out, user);
            out.push('}');
        });
    }
    if let Some(container) = turns::container(&plans).filter(|_| server_tools.uses_container()) {
        body.string("container", container);
    }
    body.extras("");
    body.end();
    check_size(&out, capabilities)?;

    let context = Context { names: tools.renamed.clone(), search: tools.search.clone(), prefix: Some(settled.prefix.into()) };
    Ok(Encoded { body: Bytes::from(out), headers: headers(&server_tools), path: None, context })
}

fn check_tools(tools: &WireTools, server_tools: &WireServerTools, capabilities: &Capabilities) -> Result<(), Error> {
    let too_many = |count: usize, kind: &str, max: usize| {
        Error::new(ErrorKind::TooLarge, format!("the request has {count} {kind}tools and this endpoint takes {max}; send fewer"))
    };
    let all = tools.len() + server_tools.tools.len();
    if let Some(max) = capabilities.max_tools.filter(|max| all > *max) {
        return Err(too_many(all, "", max));
    }
    let deferred = tools.deferred_len();
    if let Some(max) = capabilities.max_deferred_tools.filter(|max| deferred > *max) {
        return Err(too_many(deferred, "deferred ", max));
    }
    if deferred > 0 && deferred == all {
        return Err(Error::invalid(format!(
            "all {deferred} tools are deferred, which this endpoint refuses; add a search tool or declare one of them without deferral"
        )));
    }
    Ok(())
}

fn check_size(body: &str, capabilities: &Capabilities) -> Result<(), Error> {
    match capabilities.max_body_bytes.filter(|max| body.len() > *max) {
        None => Ok(()),
        Some(max) => Err(Error::new(
            ErrorKind::TooLarge,
            format!("the request is {} bytes and this endpoint takes {max}; shorten the dialogue or its images", body.len()),
        )),
    }
}

fn write_stop_sequences(body: &mut Body<'_>, request: &ModelRequest) {
    let mut texts = request.stop_sequences.iter().filter(|text| !text.is_empty()).peekable();
    if texts.peek().is_none() {
        return;
    }
    body.member("stop_sequences", |out| {
        write_list(out, texts, |out, text| write_string(out, text));
    });
}

fn headers(server_tools: &WireServerTools) -> HeaderMap {
    let betas = server_tools.betas.join(",");
    match HeaderValue::from_str(&betas) {
        Ok(value) if !betas.is_empty() => HeaderMap::from_iter([(BETA, value)]),
        _ => HeaderMap::new(),
    }
}

/// What the model reads: tools, system prompt and dialogue.
struct Prompt<'a> {
    system: &'a [&'a str],
    tools: &'a WireTools,
    server_tools: &'a WireServerTools,
    dialogue: &'a Dialogue,
    settled: &'a Settled,
}

impl Prompt<'_> {
    fn write(&self, body: &mut Body<'_>, request: &ModelRequest, capabilities: &Capabilities) {
        let marks = self.marks(request, capabilities);
        let mark = mark(capabilities);
        if self.tools.len() + self.server_tools.tools.len() > 0 {
            body.member("tools", |out| self.write_tools(out, if marks.tools { mark } else { "" }));
        }
        if let Some((last, others)) = self.system.split_last() {
            body.member("system", |out| {
                out.push('[');
                for text in others {
                    write_text(out, text);
                    out.push(',');
                }
                write_text(out, last);
                if marks.system {
                    out.truncate(out.len() - 1);
                    out.push_str(mark);
                    out.push('}');
                }
                out.push(']');
            });
        }
        body.member("messages", |out| self.write_messages(out, &marks, mark));
    }

    fn marks(&self, request: &ModelRequest, capabilities: &Capabilities) -> Marks {
        if !capabilities.prompt_cache {
            return Marks::default();
        }
        let of_extras = request.extra_body.iter().map(|(key, value)| match &**key {
            "cache_control" => usize::from(value.as_str() != "null"),
            "tools" | "system" | "messages" => count_marks(value.as_str()),
            _ => 0,
        });
        let of_server_tools = self.server_tools.tools.iter().map(|tool| count_marks(tool));
        let can_mark_tools = !self.tools.shown().is_empty() || self.server_tools.last_is_markable;
        let brought = of_extras.chain(of_server_tools).sum();
        Marks::place(self.dialogue, |block| self.settled.left_out.contains(&block), can_mark_tools, !self.system.is_empty(), brought)
    }

    /// The provider's tools, the caller's that are shown, the deferred ones.
    fn write_tools(&self, out: &mut String, mark: &str) {
        let shown = self.tools.shown();
        out.push('[');
        for (number, tool) in self.server_tools.tools.iter().enumerate() {
            out.push_str(if number == 0 { "" } else { "," });
            let is_last = number + 1 == self.server_tools.tools.len() && shown.is_empty();
            write_marked_if(out, tool, mark, is_last);
        }
        if !shown.is_empty() {
            out.push_str(if self.server_tools.tools.is_empty() { "" } else { "," });
            write_marked_if(out, shown, mark, true);
        }
        let deferred = self.tools.deferred();
        if shown.is_empty() && !deferred.is_empty() {
            out.push(',');
        }
        out.push_str(deferred);
        out.push(']');
    }

    fn write_messages(&self, out: &mut String, marks: &Marks, mark: &str) {
        let mut last_role = None;
        out.push('[');
        for (at, block) in self.dialogue.blocks.iter().enumerate() {
            if self.settled.left_out.contains(&at) {
                continue;
            }
            if last_role == Some(block.role) {
                out.push(',');
            } else {
                out.push_str(if last_role.is_none() { "{\"role\":\"" } else { "]},{\"role\":\"" });
                out.push_str(block.role.as_str());
                out.push_str("\",\"content\":[");
            }
            last_role = Some(block.role);
            write_marked_if(out, self.dialogue.json(block), mark, marks.blocks.contains(&at));
        }
        out.push_str(if last_role.is_none() { "]" } else { "]}]" });
    }
}

fn write_marked_if(out: &mut String, object: &str, mark: &str, is_marked: bool) {
    if is_marked && !mark.is_empty() {
        write_marked(out, object, mark);
    } else {
        out.push_str(object);
    }
}

fn write_list<T>(out: &mut String, items: impl Iterator<Item = T>, mut write: impl FnMut(&mut String, T)) {
    out.push('[');
    for (number, item) in items.enumerate() {
        if number > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}
