//! The dialogue as every wire needs it: each call directly followed by its answer.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use tower_genai_core::ToolName;
use tower_genai_core::{
    AssistantMessage, AssistantPart, Conversation, Message, SearchResult, SystemMessage, ToolCall, ToolResult, UserMessage,
};
use xxhash_rust::xxh3::xxh3_64;

use super::{CallIds, wire_names::WireNames};

/// One step of the dialogue.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    /// What the user says.
    User(&'a UserMessage),
    /// An instruction in the middle.
    System(&'a SystemMessage),
    /// A summary that stands for all that was before.
    Summary(&'a str),
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
    /// The number of parts that a summary stands for.
    summarized: usize,
}

impl<'a> Turn<'a> {
    /// The parts that a summary does not stand for, each call with the position of its answer.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&'a AssistantPart, Option<usize>)> + use<'a> {
        let mut answers = 0..self.answers.len();
        let summarized = self.summarized;
        let parts = self.message.parts.iter().map(move |part| {
            let is_call = matches!(part, AssistantPart::ToolCall(_) | AssistantPart::Search(_));
            (part, if is_call { answers.next() } else { None })
        });
        parts.enumerate().filter(move |(at, (_, answer))| *at >= summarized || answer.is_some()).map(|(_, part)| part)
    }
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

impl<'a> Answer<'a> {
    /// The name under which the call goes out: a search is one with the search of this request, whatever it was called.
    pub(crate) fn called(&self, names: &WireNames, search: Option<&ToolName>) -> Cow<'a, str> {
        match search.filter(|_| self.is_search) {
            Some(search) => Cow::Owned(names.wire(search).into_owned()),
            None => names.wire(&self.call.name),
        }
    }

    /// The arguments of the call as an object, whatever they are.
    pub(crate) fn arguments(&self) -> Cow<'a, str> {
        let arguments = &self.call.arguments;
        match arguments.as_str() {
            object if arguments.is_object() => Cow::Borrowed(object),
            "null" => Cow::Borrowed("{}"),
            other => Cow::Owned(format!("{{\"input\":{other}}}")),
        }
    }
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

/// What stands where the model made an image and the endpoint takes none from it.
pub(crate) const IMAGE_MADE: &str = "[an image that the model made]";

/// The answer to a search where definitions cannot stand in it: they are declared beside the other tools.
pub(crate) fn search_text(result: &SearchResult, names: &WireNames) -> String {
    let loaded: Vec<_> = result.loaded.iter().map(|tool| names.wire(&tool.name)).collect();
    match (loaded.is_empty(), result.note.is_empty()) {
        (true, _) => result.note.to_string(),
        (false, true) => format!("Loaded, call directly: {}.", loaded.join(", ")),
        (false, false) => format!("Loaded, call directly: {}. {}", loaded.join(", "), result.note),
    }
}

/// A summary as a text of the user.
pub(crate) fn summary_text(summary: &str) -> String {
    format!("Summary of the conversation so far:\n\n{summary}")
}

/// Drops what the last summary stands for, where it is readable; other endpoints cannot read it and get everything.
pub(crate) fn begin_at_summary<'a>(messages: &Conversation, mut entries: Vec<Entry<'a>>) -> Vec<Entry<'a>> {
    let Some(compaction) = messages.compaction() else { return entries };
    let Some(at) = entries.iter().position(|entry| matches!(entry, Entry::Turn(turn) if turn.index == compaction)) else { return entries };
    let Some(Entry::Turn(turn)) = entries.get_mut(at) else { return entries };
    let Some((summary, end)) = readable_summary(turn.message) else { return entries };
    turn.summarized = end;
    entries.drain(..at);
    entries.insert(0, Entry::Summary(summary));
    entries
}

/// The last summary of a message, where it is readable, and the number of parts up to it.
pub(crate) fn readable_summary(message: &AssistantMessage) -> Option<(&str, usize)> {
    let parts = message.parts.iter().enumerate().rev();
    let mut summaries = parts.filter_map(|(at, part)| match part {
        AssistantPart::Compaction { summary } => Some((summary.as_deref(), at + 1)),
        _ => None,
    });
    let (summary, end) = summaries.next()?;
    Some((summary.filter(|summary| !summary.trim().is_empty())?, end))
}

/// Puts each answer behind its call.
///
/// Answers are found wherever they stand after their call and before the next one of the same id, the first of several counts; an answer
/// without a call is left out, a call without an answer is [`Answered::Missing`].
pub(crate) fn entries(messages: &Conversation, call_ids: CallIds) -> Vec<Entry<'_>> {
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
                        Answer { call, is_search, id: unique_id(&call.id, call_ids, &mut used), result }
                    })
                    .collect();
                entries.push(Entry::Turn(Turn { index, message, answers, summarized: 0 }));
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

/// An id that the endpoint takes and that no earlier call has. It depends on nothing but the calls before it.
fn unique_id<'a>(id: &'a str, rules: CallIds, used: &mut HashSet<String>) -> Cow<'a, str> {
    let is_legal = match rules {
        CallIds::UpTo(most) => !id.is_empty() && id.len() <= most && id.bytes().all(is_id_byte),
        CallIds::Exactly(len) => id.len() == len && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    };
    if is_legal && used.insert(id.to_owned()) {
        return Cow::Borrowed(id);
    }
    let mut count = 2u32;
    loop {
        let candidate = match rules {
            CallIds::UpTo(most) => {
                let legal = id.bytes().map(|byte| if is_id_byte(byte) { char::from(byte) } else { '_' });
                let base: String = legal.take(most.saturating_sub(12)).collect();
                format!("{}_{count}", if base.is_empty() { "call" } else { &base })
            }
            CallIds::Exactly(len) => {
                let digits = format!("{:016x}", xxh3_64(format!("{count}:{id}").as_bytes()));
                digits.chars().cycle().take(len).collect()
            }
        };
        // Rules that leave room for less than a few ids cannot be kept.
        if used.insert(candidate.clone()) || count > 10_000 {
            return Cow::Owned(candidate);
        }
        count += 1;
    }
}

fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
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
        let entries = entries(&messages, CallIds::UpTo(64));
        let shape = entries.iter().map(|entry| match entry {
            Entry::User(_) => "user".to_owned(),
            Entry::System(_) => "system".to_owned(),
            Entry::Summary(_) => "summary".to_owned(),
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
        let (mut used, rules) = (HashSet::new(), CallIds::UpTo(64));
        assert_eq!(unique_id("", rules, &mut used), "call_2");
        assert_eq!(unique_id("a b", rules, &mut used), "a_b_2");
        let long = unique_id(&"x".repeat(80), rules, &mut used).into_owned();
        assert!(long.len() <= 64 && long.ends_with("_2"), "{long}");
    }

    #[test]
    fn ids_of_one_length_are_hashes_where_they_do_not_fit() {
        let (mut used, rules) = (HashSet::new(), CallIds::Exactly(9));
        assert_eq!(unique_id("abcDEF123", rules, &mut used), "abcDEF123");
        let [one, again] = [(); 2].map(|()| unique_id("toolu_1", rules, &mut used).into_owned());
        assert!(one != again && [&one, &again].iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())));
        assert_eq!(unique_id("toolu_1", rules, &mut HashSet::new()), one);
    }

    #[test]
    fn a_readable_summary_stands_for_what_was_before() {
        let compaction = |summary: Option<&str>| {
            let parts = [AssistantPart::Text { text: "old".into() }, AssistantPart::Compaction { summary: summary.map(Into::into) }];
            let new = AssistantPart::Text { text: "new".into() };
            Message::Assistant(AssistantMessage::new(parts.into_iter().chain([new]).collect()))
        };
        for (summary, expected) in [(Some("s"), 3), (None, 3), (Some(" "), 3)] {
            let messages = Conversation::from_iter([Message::user("u"), compaction(summary), Message::user("v")]);
            let entries = begin_at_summary(&messages, entries(&messages, CallIds::UpTo(64)));
            assert_eq!(entries.len(), expected);
            let is_shortened = matches!(entries.first(), Some(Entry::Summary("s")));
            assert_eq!(is_shortened, summary == Some("s"));
            let Some(Entry::Turn(turn)) = entries.get(1) else { panic!("a turn") };
            assert_eq!(turn.parts().count(), if is_shortened { 1 } else { 3 });
        }
    }
}
