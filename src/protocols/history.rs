//! The dialogue as every wire needs it: each call directly followed by its answer.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use tower_genai_core::{
    AssistantMessage, AssistantPart, Conversation, Message, SearchResult, SystemMessage, ToolCall, ToolResult, UserMessage,
};

/// One step of the dialogue.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    /// What the user says.
    User(&'a UserMessage),
    /// An instruction in the middle.
    System(&'a SystemMessage),
    /// What the model says, with the answers to all its calls.
    Turn(Turn<'a>),
}

/// A message of the model with the answers to its calls.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    /// Its index in the conversation.
    pub(crate) index: usize,
    /// The message.
    pub(crate) message: &'a AssistantMessage,
    /// An answer for every call and search, in the order of the calls.
    pub(crate) answers: Vec<Answer<'a>>,
}

/// A call and its answer.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    /// The call.
    pub(crate) call: &'a ToolCall,
    /// Whether it is a search.
    pub(crate) is_search: bool,
    /// The id to send: the call's own, changed where an earlier call has it already or the endpoint refuses it.
    pub(crate) id: Cow<'a, str>,
    /// What was answered.
    pub(crate) result: Answered<'a>,
}

/// What was answered to a call.
#[derive(Debug)]
pub(crate) enum Answered<'a> {
    /// A tool's result.
    Tool(&'a ToolResult),
    /// A search's result.
    Search(&'a SearchResult),
    /// Nothing: the dialogue went on without an answer, which every endpoint refuses.
    Missing,
}

/// What the model reads where a call was never answered.
pub(crate) const MISSING_RESULT: &str = "No result was recorded for this call.";

/// What stands where an image was and the model reads text only.
pub(crate) const IMAGE_OMITTED: &str = "[image omitted: this model reads text only]";

/// Puts each answer behind its call.
///
/// Answers are found wherever they stand after their call and before the next one of the same id, the first of several counts; an answer
/// without a call is left out, a call without an answer is [`Answered::Missing`].
pub(crate) fn entries(messages: &Conversation, max_call_id: usize) -> Vec<Entry<'_>> {
    let mut answers: HashMap<&str, Vec<(usize, &Message)>> = HashMap::new();
    let mut turns: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        if let Some(id) = message.answers() {
            answers.entry(id).or_default().push((index, message));
        }
        if let Message::Assistant(message) = &**message {
            calls(message).for_each(|(call, _)| turns.entry(&call.id).or_default().push(index));
        }
    }
    let mut used: HashSet<String> = HashSet::new();
    let mut taken: HashSet<usize> = HashSet::new();
    let mut entries = Vec::with_capacity(messages.len());
    for (index, message) in messages.iter().enumerate() {
        match &**message {
            Message::User(user) => entries.push(Entry::User(user)),
            Message::System(system) => entries.push(Entry::System(system)),
            Message::Assistant(message) => {
                let answers = calls(message)
                    .map(|(call, is_search)| {
                        let again = turns.get(&*call.id).and_then(|turns| turns.iter().copied().find(|at| *at > index));
                        let candidates = answers.get(&*call.id).map(Vec::as_slice).unwrap_or_default();
                        let found =
                            candidates.iter().find(|(at, _)| *at > index && again.is_none_or(|again| *at < again) && !taken.contains(at));
                        if let Some((at, _)) = found {
                            taken.insert(*at);
                        }
                        let result = match found.map(|(_, message)| *message) {
                            Some(Message::Tool(result)) => Answered::Tool(result),
                            Some(Message::Search(result)) => Answered::Search(result),
                            _ => Answered::Missing,
                        };
                        Answer { call, is_search, id: unique_id(&call.id, max_call_id, &mut used), result }
                    })
                    .collect();
                entries.push(Entry::Turn(Turn { index, message, answers }));
            }
            // Answers stand with their calls. Message is non-exhaustive: later kinds have no form on a wire.
            _ => {}
        }
    }
    entries
}

/// The calls of a message that the caller's side answers, each with whether it is a search.
fn calls(message: &AssistantMessage) -> impl Iterator<Item = (&ToolCall, bool)> {
    message.parts.iter().filter_map(|part| match part {
        AssistantPart::ToolCall(call) => Some((call, false)),
        AssistantPart::Search(call) => Some((call, true)),
        _ => None,
    })
}

/// An id that every endpoint takes and that no earlier call has.
fn unique_id<'a>(id: &'a str, max_len: usize, used: &mut HashSet<String>) -> Cow<'a, str> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !id.is_empty() && id.len() <= max_len && id.bytes().all(legal) && used.insert(id.to_owned()) {
        return Cow::Borrowed(id);
    }
    let room = max_len.saturating_sub(9).max(1);
    let base: String = id.bytes().take(room).map(|byte| if legal(byte) { char::from(byte) } else { '_' }).collect();
    let base = if base.is_empty() { "call".to_owned() } else { base };
    let mut count = 2u32;
    loop {
        let candidate = format!("{base}_{count}");
        if used.insert(candidate.clone()) {
            return Cow::Owned(candidate);
        }
        count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tower_genai_core::Json;

    fn call(id: &str) -> ToolCall {
        ToolCall::new(id, "tool", Json::empty_object())
    }

    fn turn(calls: &[&str]) -> Message {
        let parts = calls.iter().map(|id| AssistantPart::ToolCall(call(id))).collect();
        Message::Assistant(AssistantMessage::new(parts))
    }

    fn result(id: &str, text: &str) -> Message {
        ToolResult::text(&call(id), text).into()
    }

    /// Each entry in short: a letter, and for a turn the ids with the text of their answers.
    fn shape(messages: Vec<Message>) -> Vec<String> {
        let messages = Conversation::from_iter(messages);
        let show = |answer: &Answer<'_>| match answer.result {
            Answered::Tool(result) => format!("{}={}", answer.id, serde_json::to_value(&result.content).unwrap()[0]["text"]),
            Answered::Search(_) => format!("{}=search", answer.id),
            Answered::Missing => format!("{}=?", answer.id),
        };
        let entries = entries(&messages, 64);
        let shape = entries.iter().map(|entry| match entry {
            Entry::User(_) => "user".to_owned(),
            Entry::System(_) => "system".to_owned(),
            Entry::Turn(turn) => format!("turn {}", turn.answers.iter().map(show).collect::<Vec<_>>().join(" ")),
        });
        shape.collect()
    }

    #[test]
    fn answers_move_behind_their_calls_in_call_order() {
        let messages = vec![Message::user("u"), turn(&["a", "b"]), result("b", "B"), Message::user("late"), result("a", "A")];
        assert_eq!(shape(messages), ["user", "turn a=\"A\" b=\"B\"", "user"]);
    }

    #[test]
    fn missing_orphan_and_repeated_answers() {
        let messages = vec![result("x", "orphan"), turn(&["a", "b"]), result("a", "one"), result("a", "two")];
        assert_eq!(shape(messages), ["turn a=\"one\" b=?"]);
    }

    #[test]
    fn repeated_ids_of_later_turns_are_told_apart() {
        let messages = vec![turn(&["call_0"]), result("call_0", "1"), turn(&["call_0"]), result("call_0", "2")];
        assert_eq!(shape(messages), ["turn call_0=\"1\"", "turn call_0_2=\"2\""]);
        let messages = vec![turn(&["call_0"]), Message::user("lost"), turn(&["call_0"]), result("call_0", "2")];
        assert_eq!(shape(messages), ["turn call_0=?", "user", "turn call_0_2=\"2\""]);
    }

    #[test]
    fn ids_that_endpoints_refuse_are_changed() {
        let mut used = HashSet::new();
        assert_eq!(unique_id("", 64, &mut used), "call_2");
        assert_eq!(unique_id("a b", 64, &mut used), "a_b_2");
        let long = unique_id(&"x".repeat(80), 64, &mut used).into_owned();
        assert!(long.len() <= 64 && long.ends_with("_2"), "{long}");
    }
}
