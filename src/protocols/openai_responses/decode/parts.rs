//! Finished items in neutral form.

use std::{borrow::Cow, sync::Arc};

use serde::Deserialize;
use serde_json::value::RawValue;
use tower_genai_core::{AssistantPart, HostedCall, HostedOutcome, Json, ToolCall, ToolName};

use crate::protocols::{
    lenient::{Code, Text, read},
    openai_responses::{
        Context,
        item::{Call, Item, Role},
    },
};

/// A piece of content.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Piece<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    refusal: Text<'a>,
}

fn pieces<'a>(content: Option<&'a RawValue>) -> impl Iterator<Item = Piece<'a>> {
    read::<Vec<&'a RawValue>>(content).into_iter().map(|piece| read(Some(piece)))
}

/// The texts of a list of content.
pub(super) fn texts<'a>(content: Option<&'a RawValue>) -> Vec<Cow<'a, str>> {
    pieces(content).map(|piece| piece.text.into_cow()).filter(|text| !text.is_empty()).collect()
}

pub(super) fn text(part: &AssistantPart) -> Option<&str> {
    match part {
        AssistantPart::Text { text } => Some(text),
        _ => None,
    }
}

pub(super) fn refusal(part: &AssistantPart) -> Option<&str> {
    match part {
        AssistantPart::Refusal { text } => Some(text),
        _ => None,
    }
}

/// The parts of a message that an item stands for. `name` is the tool of a client call.
pub(super) fn of_item(item: &Item<'_>, role: Role, name: &ToolName, is_search: bool) -> Vec<AssistantPart> {
    match role {
        Role::Message => message(item),
        Role::Reasoning => {
            let texts = texts(item.summary).into_iter().chain(texts(item.content));
            let mut parts: Vec<_> = texts.map(|text| AssistantPart::Reasoning { text: text.into() }).collect();
            if parts.is_empty() {
                // That the model thought is worth knowing where its thoughts are encrypted.
                parts.push(AssistantPart::Reasoning { text: Arc::default() });
            }
            parts
        }
        Role::Call(Call::Search) => vec![AssistantPart::Search(search(item, name))],
        Role::Call(call) => {
            let call = client_call(item, call, name);
            vec![if is_search { AssistantPart::Search(call) } else { AssistantPart::ToolCall(call) }]
        }
        Role::Hosted => vec![AssistantPart::Hosted(hosted(item))],
        Role::Compaction => vec![AssistantPart::Compaction { summary: None }],
        Role::Other => Vec::new(),
    }
}

fn message(item: &Item<'_>) -> Vec<AssistantPart> {
    let plain: Text<'_> = read(item.content);
    if plain.some().is_some() {
        return vec![AssistantPart::Text { text: plain.to_arc() }];
    }
    let parts = pieces(item.content).filter_map(|piece| match &*piece.kind {
        "output_text" | "text" if !piece.text.is_empty() => Some(AssistantPart::Text { text: piece.text.to_arc() }),
        "refusal" if !piece.refusal.is_empty() => Some(AssistantPart::Refusal { text: piece.refusal.to_arc() }),
        _ => None,
    });
    parts.collect()
}

/// The tool that a client call names. Tools that this protocol defines itself have the name of their item.
pub(super) fn call_name(item: &Item<'_>, call: Call, context: &Context) -> ToolName {
    match call {
        Call::Function | Call::Custom => context.names.resolve(&item.namespace, &item.name),
        Call::Search => context.search.clone().unwrap_or_else(|| ToolName::new("tool_search")),
        Call::Approval => ToolName::new("mcp_approval_request"),
        Call::Computer | Call::Shell | Call::LocalShell | Call::ApplyPatch => {
            ToolName::new(item.kind.strip_suffix("_call").unwrap_or(&item.kind))
        }
    }
}

/// The arguments of a client call as the provider wrote them: JSON text, or the free text of a custom tool.
pub(super) fn raw_arguments<'a>(item: &'a Item<'_>, call: Call) -> Cow<'a, str> {
    let object = |raw: Option<&'a RawValue>| raw.map_or("", RawValue::get).into();
    match call {
        Call::Custom => (*item.input).into(),
        Call::Function | Call::Search => {
            let text: Text<'a> = read(item.arguments);
            match (text.some(), item.arguments) {
                // Some hosts send an object where the protocol asks for its text.
                (None, Some(raw)) if !raw.get().starts_with('"') => raw.get().into(),
                _ => text.into_cow(),
            }
        }
        Call::ApplyPatch => object(item.operation),
        // Newer computers take several actions at once.
        Call::Computer if item.action.is_none() => item.actions.map_or("{}".into(), |actions| format!("{{\"actions\":{actions}}}").into()),
        Call::Computer | Call::Shell | Call::LocalShell => object(item.action),
        Call::Approval => {
            let arguments: Text<'_> = read(item.arguments);
            let [label, name, arguments] = [&item.server_label, &item.name, &arguments].map(|text| Json::string(text));
            format!("{{\"server_label\":{label},\"name\":{name},\"arguments\":{arguments}}}").into()
        }
    }
}

fn client_call(item: &Item<'_>, call: Call, name: &ToolName) -> ToolCall {
    let arguments = raw_arguments(item, call);
    let id: Arc<str> = if call == Call::Approval { item.id.to_arc() } else { item.call_id.to_arc() };
    let made = match call {
        Call::Custom => ToolCall::from_text(id, name.clone(), &format!("{{\"input\":{}}}", Json::string(&arguments))),
        _ => ToolCall::from_text(id, name.clone(), &arguments),
    };
    if call == Call::Function { made } else { made.call_type(item.kind.to_arc()) }
}

fn search(item: &Item<'_>, name: &ToolName) -> ToolCall {
    let mut call = ToolCall::from_text(item.call_id.to_arc(), name.clone(), &raw_arguments(item, Call::Search));
    if !call.arguments.is_object() {
        call.invalid_arguments = Some(call.arguments.as_str().into());
        call.arguments = Json::empty_object();
    }
    call.call_type(item.kind.to_arc())
}

/// The id of a hosted call.
pub(super) fn hosted_id(item: &Item<'_>) -> Arc<str> {
    if item.id.is_empty() { item.call_id.to_arc() } else { item.id.to_arc() }
}

/// The tool of a hosted call: of an MCP server its own name, else the name of the item.
pub(super) fn hosted_name(item: &Item<'_>) -> Arc<str> {
    match &*item.kind {
        "mcp_call" | "custom_tool_call" if !item.name.is_empty() => item.name.to_arc(),
        kind => kind.strip_suffix("_call").unwrap_or(kind).into(),
    }
}

fn hosted(item: &Item<'_>) -> HostedCall {
    let mut call = HostedCall::new(hosted_id(item), hosted_name(item), item.kind.to_arc());
    call.input = hosted_input(item);
    call.outcome = match (failure(item.error), &*item.status) {
        (Some(code), _) => HostedOutcome::Failed { code },
        (None, "failed" | "incomplete" | "cancelled") => HostedOutcome::Failed { code: item.status.to_arc() },
        // What runs shows a status of its own ("searching"); a program shows none, its output says when it is done.
        (None, "completed") => HostedOutcome::Completed,
        (None, "") if &*item.kind != "program" => HostedOutcome::Completed,
        _ => HostedOutcome::Pending,
    };
    call
}

/// The input of a hosted call, under whatever key the provider shows it.
fn hosted_input(item: &Item<'_>) -> Option<Json> {
    let one = |key: &str, raw: &RawValue| Json::parse(&format!("{{\"{key}\":{}}}", raw.get())).ok();
    if let Some(arguments) = item.arguments {
        let text: Text<'_> = read(Some(arguments));
        return match text.some() {
            Some(text) => Some(Json::parse(text).unwrap_or_else(|_| Json::string(text))),
            None if arguments.get().starts_with('{') => Some(Json::from(arguments)),
            None => None,
        };
    }
    match (item.action, item.queries, item.code) {
        (Some(action), _, _) => Some(Json::from(action)),
        (_, Some(queries), _) => one("queries", queries),
        (_, _, Some(code)) => one("code", code),
        _ if !item.input.is_empty() => Json::parse(&format!("{{\"input\":{}}}", Json::string(&item.input))).ok(),
        _ => None,
    }
}

/// The code of an error object; an error that is only a text has none of its own.
fn failure(error: Option<&RawValue>) -> Option<Arc<str>> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Fields<'a> {
        #[serde(borrow, rename = "type")]
        kind: Text<'a>,
        #[serde(borrow)]
        code: Code<'a>,
    }
    let fields: Fields<'_> = read(Some(error?));
    let named = fields.code.0.as_deref().filter(|code| code.bytes().any(|byte| byte.is_ascii_alphabetic()));
    Some(named.or(fields.kind.some()).or(fields.code.0.as_deref()).unwrap_or("error").into())
}
