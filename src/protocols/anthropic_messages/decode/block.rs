//! One content block while it grows.

use crate::protocols::members::{Members, Text, write_string};
use std::{borrow::Cow, sync::Arc};

use serde_json::value::RawValue;
use tower_genai_core::{AssistantPart, HostedCall, HostedOutcome, Json, ToolCall, ToolName};

use super::{
    super::Context,
    event::{Block, HostedError},
};

/// What a block means.
#[derive(Debug)]
pub(super) enum Kind {
    Text,
    Thinking,
    /// A call for the caller's side.
    Call {
        id: Arc<str>,
        name: ToolName,
        is_search: bool,
    },
    /// A call that the provider runs.
    Hosted {
        id: Arc<str>,
        name: Arc<str>,
        call_type: Arc<str>,
    },
    /// What came of a hosted call.
    HostedResult {
        id: Arc<str>,
        call_type: Arc<str>,
        outcome: HostedOutcome,
    },
    Compaction,
    /// Kept for replay only.
    Other,
}

/// A block that has started.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) index: u64,
    pub(super) kind: Kind,
    /// The block as it started.
    start: Json,
    text: Grown,
    thinking: Grown,
    /// The input as it arrives, as JSON text.
    input: String,
    signature: Option<String>,
    /// Citations as they arrived, as JSON values with commas between.
    citations: String,
    /// Further members that were set, as JSON text.
    set: Vec<(String, String)>,
}

/// A text that may grow after the start.
#[derive(Debug, Default)]
struct Grown {
    text: String,
    grew: bool,
}

impl Grown {
    fn of(text: Option<Text<'_>>) -> Self {
        Self { text: text.map(|text| text.0.into_owned()).unwrap_or_default(), grew: false }
    }

    fn push(&mut self, more: &str) {
        self.grew = true;
        self.text.push_str(more);
    }
}

impl Open {
    pub(super) fn new(index: u64, raw: &RawValue, block: Block<'_>, context: &Context) -> Self {
        let id = block.id.map(|id| Arc::from(id.0)).unwrap_or_default();
        let name = block.name.as_ref().map(|name| &*name.0).unwrap_or_default();
        let block_type = block.kind.as_ref().map(|kind| &*kind.0).unwrap_or_default();
        let kind = match block_type {
            "text" => Kind::Text,
            "thinking" => Kind::Thinking,
            "compaction" => Kind::Compaction,
            "tool_use" => Kind::Call { id, name: context.tool_name(name), is_search: context.is_search(name) },
            "server_tool_use" | "mcp_tool_use" => Kind::Hosted { id, name: name.into(), call_type: block_type.into() },
            result if result.ends_with("_tool_result") => {
                let outcome = outcome(block.content, block.is_error);
                Kind::HostedResult {
                    id: block.tool_use_id.map(|id| Arc::from(id.0)).unwrap_or_default(),
                    call_type: result.into(),
                    outcome,
                }
            }
            _ => Kind::Other,
        };
        Self {
            index,
            kind,
            start: Json::from(raw),
            text: Grown::of(block.text),
            thinking: Grown::of(block.thinking),
            input: String::new(),
            signature: None,
            citations: String::new(),
            set: Vec::new(),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text.text
    }

    pub(super) fn thinking(&self) -> &str {
        &self.thinking.text
    }

    pub(super) fn push_text(&mut self, more: &str) {
        self.text.push(more);
    }

    pub(super) fn push_thinking(&mut self, more: &str) {
        self.thinking.push(more);
    }

    pub(super) fn push_input(&mut self, more: &str) {
        self.input.push_str(more);
    }

    /// The newest signature holds; pieces are never joined.
    pub(super) fn sign(&mut self, signature: &str) {
        self.signature = Some(signature.to_owned());
    }

    pub(super) fn cite(&mut self, citation: &RawValue) {
        if !self.citations.is_empty() {
            self.citations.push(',');
        }
        self.citations.push_str(citation.get());
    }

    /// Sets every member of a delta that has a value, its type excepted.
    pub(super) fn set(&mut self, delta: &Members<'_>) {
        let members = delta.0.iter().filter(|(key, value)| key != "type" && *value != "null");
        self.set.extend(members.map(|(key, value)| (key.as_ref().to_owned(), (*value).to_owned())));
    }

    /// Input that came with the start, which no delta has told.
    pub(super) fn late_input(&self) -> Option<&str> {
        let is_call = matches!(self.kind, Kind::Call { .. } | Kind::Hosted { .. });
        if !is_call || !self.input.trim().is_empty() {
            return None;
        }
        Members::of(self.start.as_str())?.get("input").filter(|input| !matches!(*input, "{}" | "null"))
    }

    /// The block as it goes back to the provider, and what it says to everybody else: a result says nothing of its own.
    pub(super) fn finish(self) -> (Json, Option<AssistantPart>) {
        let sent = self.late_input().unwrap_or(&self.input).to_owned();
        let mut call = ToolCall::from_text("", "", &sent);
        if !call.arguments.is_object() {
            call.arguments = Json::empty_object();
            call.invalid_arguments = Some(sent.into());
        }
        let item = self.item(&call.arguments);
        let part = match self.kind {
            Kind::Text => Some(AssistantPart::Text { text: self.text.text.into() }),
            Kind::Thinking => Some(AssistantPart::Reasoning { text: self.thinking.text.into() }),
            Kind::Call { id, name, is_search } => {
                call.id = id;
                call.name = name;
                Some(if is_search { AssistantPart::Search(call) } else { AssistantPart::ToolCall(call) })
            }
            Kind::Hosted { id, name, call_type } => {
                let mut hosted = HostedCall::new(id, name, call_type);
                hosted.input = Some(call.arguments);
                Some(AssistantPart::Hosted(hosted))
            }
            Kind::Compaction => Some(AssistantPart::Compaction { summary: summary(&item) }),
            Kind::HostedResult { .. } | Kind::Other => None,
        };
        (item, part)
    }

    /// The block that the start and the deltas add up to; what nobody here knows stays as it came.
    fn item(&self, input: &Json) -> Json {
        let mut changes = Changes(Vec::new());
        if self.text.grew {
            changes.text("text", &self.text.text);
        }
        if self.thinking.grew {
            changes.text("thinking", &self.thinking.text);
        }
        if let Some(signature) = &self.signature {
            changes.text("signature", signature);
        }
        if matches!(self.kind, Kind::Call { .. } | Kind::Hosted { .. }) || !self.input.is_empty() {
            changes.0.push(("input".into(), input.as_str().to_owned()));
        }
        changes.0.extend(self.set.iter().cloned());
        if changes.0.is_empty() && self.citations.is_empty() && self.start.is_object() {
            return self.start.clone();
        }
        let members = Members::of(self.start.as_str()).unwrap_or(Members(Vec::new()));
        if !self.citations.is_empty() {
            changes.0.push(("citations".into(), join_citations(members.get("citations"), &self.citations)));
        }
        changes.apply(&members)
    }
}

fn summary(item: &Json) -> Option<Arc<str>> {
    Members::of(item.as_str())?.text("content").map(Into::into)
}

fn join_citations(given: Option<&str>, added: &str) -> String {
    let given = given.map(str::trim).and_then(|given| given.strip_prefix('[')?.strip_suffix(']')).map(str::trim);
    match given {
        Some(given) if !given.is_empty() => format!("[{given},{added}]"),
        _ => format!("[{added}]"),
    }
}

/// Whether a result says that its call failed, and why.
fn outcome(content: Option<&RawValue>, is_error: Option<bool>) -> HostedOutcome {
    let content: HostedError<'_> = content.and_then(|content| serde_json::from_str(content.get()).ok()).unwrap_or_default();
    let failed = content.error_code.is_some() || content.kind.is_some_and(|kind| kind.0.ends_with("_error"));
    match content.error_code {
        Some(Text(code)) => HostedOutcome::Failed { code: code.into() },
        None if is_error == Some(true) => HostedOutcome::Failed { code: "is_error".into() },
        None if failed => HostedOutcome::Failed { code: "unknown".into() },
        None => HostedOutcome::Completed,
    }
}

/// Members to replace or add, as JSON text.
struct Changes(Vec<(String, String)>);

impl Changes {
    fn text(&mut self, key: &str, text: &str) {
        let mut json = String::new();
        write_string(&mut json, text);
        self.0.push((key.to_owned(), json));
    }

    /// The object with the changes, members in their order and new ones behind them.
    fn apply(self, members: &Members<'_>) -> Json {
        let changed_bytes: usize = self.0.iter().map(|(key, value)| key.len() + value.len() + 4).sum();
        let kept_bytes: usize = members.0.iter().map(|(key, value)| key.len() + value.len() + 4).sum();
        let mut out = String::with_capacity(changed_bytes + kept_bytes + 2);
        out.push('{');
        let mut write = |key: &str, value: &str| {
            if out.len() > 1 {
                out.push(',');
            }
            write_string(&mut out, key);
            out.push(':');
            out.push_str(value);
        };
        let changed = |key: &str| self.0.iter().rev().find(|(changed, _)| changed == key).map(|(_, value)| value.as_str());
        for (key, value) in &members.0 {
            write(key, changed(key).unwrap_or(value));
        }
        let mut added: Vec<Cow<'_, str>> = Vec::new();
        for (key, _) in &self.0 {
            let known = members.get(key).is_some() || added.iter().any(|added| added == key);
            if let (false, Some(value)) = (known, changed(key)) {
                write(key, value);
                added.push(Cow::Borrowed(key));
            }
        }
        out.push('}');
        // Written from members that were read as JSON, and from what `write_string` made.
        Json::from_written(&out)
    }
}
