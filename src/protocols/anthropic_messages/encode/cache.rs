//! Where the provider's prompt cache is told to keep what it read.

use serde_json::Value;

use super::dialogue::{BlockKind, Dialogue, Role};
use crate::protocols::{CacheLifetime, Capabilities};

/// The most breakpoints in a request.
const MAX_MARKS: usize = 4;

/// Where breakpoints go.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Marks {
    pub(super) tools: bool,
    pub(super) system: bool,
    /// The last block of the last user message, and of the one before it.
    pub(super) blocks: Vec<usize>,
}

impl Marks {
    /// Places at most four, those that the request brings along counted: the newest user message first, then the system prompt, the tools
    /// and the user message before, which the previous request wrote.
    pub(super) fn place(dialogue: &Dialogue, left_out: impl Fn(usize) -> bool, tools: bool, system: bool, brought: usize) -> Self {
        let of_blocks: usize = dialogue.blocks.iter().map(|block| block.marks).sum();
        let mut room = MAX_MARKS.saturating_sub(brought + of_blocks);
        let mut take = |wanted: bool| {
            let granted = wanted && room > 0;
            room -= usize::from(granted);
            granted
        };
        let mut ends = message_ends(dialogue, left_out);
        let (last, before) = (ends.pop(), ends.pop());
        let newest = last.filter(|_| take(last.is_some()));
        let (system, tools) = (take(system), take(tools));
        let older = before.filter(|_| take(before.is_some()));
        Self { tools, system, blocks: older.into_iter().chain(newest).collect() }
    }
}

/// The last block of each user message, where it can carry a breakpoint.
fn message_ends(dialogue: &Dialogue, left_out: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    let mut last_role = None;
    for (at, block) in dialogue.blocks.iter().enumerate().filter(|(at, _)| !left_out(*at)) {
        if block.role == Role::User {
            if last_role == Some(Role::User) {
                ends.pop();
            }
            ends.push(at);
        }
        last_role = Some(block.role);
    }
    ends.retain(|at| {
        let is_free = |block: &super::dialogue::Block| block.marks == 0 && !matches!(block.kind, BlockKind::Thinking { .. });
        dialogue.blocks.get(*at).is_some_and(is_free)
    });
    ends
}

/// A breakpoint as a member of an object, behind others.
pub(super) fn mark(capabilities: &Capabilities) -> &'static str {
    match capabilities.cache_lifetime {
        None => ",\"cache_control\":{\"type\":\"ephemeral\"}",
        Some(CacheLifetime::FiveMinutes) => ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"5m\"}",
        Some(CacheLifetime::OneHour) => ",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}",
    }
}

/// How many breakpoints a JSON value brings along. The input of a call is data, whatever its keys.
pub(super) fn count_marks(json: &str) -> usize {
    fn count(value: &Value) -> usize {
        match value {
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| match key.as_str() {
                    "input" => 0,
                    "cache_control" => usize::from(!value.is_null()),
                    _ => count(value),
                })
                .sum(),
            Value::Array(items) => items.iter().map(count).sum(),
            _ => 0,
        }
    }
    if !json.contains("\"cache_control\"") {
        return 0;
    }
    serde_json::from_str(json).map_or(0, |value| count(&value))
}

/// Appends an object with a breakpoint as its last member.
pub(super) fn write_marked(out: &mut String, object: &str, mark: &str) {
    out.push_str(object.strip_suffix('}').unwrap_or(object));
    out.push_str(mark);
    out.push('}');
}
