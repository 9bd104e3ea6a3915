//! A dialogue that is cheap to clone and to extend.

use std::{
    fmt,
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeSeq};

use crate::{AssistantPart, Message, ToolDefinition, ToolName};

/// The messages of a dialogue, oldest first.
///
/// Cloning and pushing cost the same whatever the length: clones share one append-only store, and the clone
/// that pushes at its end extends it. Only a clone that pushes something *else* where another clone has pushed already
/// copies the references. Pushing the very message (the same `Arc`) that stands there is free, which is what
/// `history.extend(response.messages)` does after a layer has pushed them into its own clone.
///
/// It also keeps what layers ask at every request: which definitions are loaded, which tools were called.
///
/// ```
/// use tower_genai_core::{Conversation, Message};
///
/// let mut history = Conversation::from_iter([Message::user("hi"), Message::assistant("hello")]);
/// let before = history.clone();
/// history.push(Message::user("bye"));
/// assert_eq!((before.len(), history.len()), (2, 3));
/// ```
#[derive(Clone, Default)]
pub struct Conversation {
    store: Arc<Store>,
    len: usize,
    users: usize,
    searches: usize,
    hosted_searches: usize,
    ledger: Arc<Ledger>,
}

/// What the messages did to the set of callable tools.
#[derive(Clone, Debug, Default)]
struct Ledger {
    loads: Vec<Load>,
    calls: Vec<(ToolName, usize)>,
    compaction: Option<usize>,
    readable: Option<usize>,
}

/// One definition that a message loaded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Load {
    /// The definition as it was sent.
    pub definition: Arc<ToolDefinition>,
    /// The index of the message.
    pub message: usize,
}

impl Conversation {
    /// An empty dialogue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The message at an index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Arc<Message>> {
        if index < self.len { self.store.get(index) } else { None }
    }

    /// The newest message.
    #[must_use]
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.get(self.len.checked_sub(1)?)
    }

    /// The messages, oldest first.
    pub fn iter(&self) -> ConversationIter<'_> {
        ConversationIter { conversation: self, range: 0..self.len }
    }

    /// Appends a message.
    pub fn push(&mut self, message: impl Into<Arc<Message>>) {
        let message = message.into();
        self.note(&message);
        if !self.store.append(self.len, &message) {
            self.store = Arc::new(Store::from_iter(self.iter().cloned()));
            self.store.append(self.len, &message);
        }
        self.len += 1;
    }

    /// The first `len` messages as a dialogue of its own.
    #[must_use]
    pub fn truncated(&self, len: usize) -> Self {
        self.iter().take(len).cloned().collect()
    }

    /// How many user messages there are.
    #[must_use]
    pub fn user_messages(&self) -> usize {
        self.users
    }

    /// How many searches over deferred tools the model asked for.
    #[must_use]
    pub fn searches(&self) -> usize {
        self.searches
    }

    /// How many times a provider searched deferred tools by itself.
    #[must_use]
    pub fn hosted_searches(&self) -> usize {
        self.hosted_searches
    }

    /// The index of the last message that holds a compaction item.
    #[must_use]
    pub fn compaction(&self) -> Option<usize> {
        self.ledger.compaction
    }

    /// The index of the last message that holds a compaction item whose summary is readable. A provider that did not write an unreadable one is sent
    /// everything before it.
    #[must_use]
    pub fn readable_compaction(&self) -> Option<usize> {
        self.ledger.readable
    }

    /// Every definition that a message loaded, in order, also those before the last compaction item.
    #[must_use]
    pub fn all_loads(&self) -> &[Load] {
        &self.ledger.loads
    }

    /// The definitions loaded since the last compaction item: what the model can see. A name loaded again, because its
    /// definition changed, occurs again.
    #[must_use]
    pub fn loads(&self) -> &[Load] {
        self.loads_since(self.ledger.compaction)
    }

    /// The definitions loaded since a message.
    pub(crate) fn loads_since(&self, message: Option<usize>) -> &[Load] {
        let start = self.ledger.loads.partition_point(|load| Some(load.message) < message);
        self.ledger.loads.get(start..).unwrap_or_default()
    }

    /// The newest definition of a name that the model can see because a message loaded it.
    #[must_use]
    pub fn loaded(&self, name: &ToolName) -> Option<&Arc<ToolDefinition>> {
        self.loads().iter().rev().map(|load| &load.definition).find(|definition| definition.name == *name)
    }

    /// The tools with an answered call since the last compaction item, each with the index of its first answer, in that order.
    pub fn answered_calls(&self) -> impl Iterator<Item = (&ToolName, usize)> {
        self.answered_calls_since(self.ledger.compaction)
    }

    pub(crate) fn answered_calls_since(&self, since: Option<usize>) -> impl Iterator<Item = (&ToolName, usize)> {
        let calls = self.ledger.calls.iter().filter(move |(_, message)| Some(*message) > since);
        calls.map(|(name, message)| (name, *message))
    }

    fn note(&mut self, message: &Message) {
        let index = self.len;
        match message {
            Message::User(_) => self.users += 1,
            Message::Assistant(assistant) => {
                self.searches += assistant.searches().count();
                for part in &assistant.parts {
                    match part {
                        AssistantPart::Hosted(call) if call.is_tool_search() => self.hosted_searches += 1,
                        AssistantPart::Compaction { summary } => {
                            let ledger = Arc::make_mut(&mut self.ledger);
                            ledger.compaction = Some(index);
                            ledger.readable = summary.as_ref().map(|_| index).or(ledger.readable);
                        }
                        _ => {}
                    }
                }
            }
            Message::Tool(result) => {
                let compaction = self.ledger.compaction;
                let known = |(name, at): &(ToolName, usize)| *name == result.name && Some(*at) > compaction;
                if !self.ledger.calls.iter().any(known) {
                    Arc::make_mut(&mut self.ledger).calls.push((result.name.clone(), index));
                }
            }
            Message::System(_) | Message::Search(_) => {}
        }
        if !message.loaded().is_empty() {
            let loads = message.loaded().iter().map(|definition| Load { definition: definition.clone(), message: index });
            Arc::make_mut(&mut self.ledger).loads.extend(loads);
        }
    }
}

/// The messages of a [`Conversation`], oldest first.
#[derive(Clone, Debug)]
pub struct ConversationIter<'a> {
    conversation: &'a Conversation,
    range: Range<usize>,
}

impl<'a> Iterator for ConversationIter<'a> {
    type Item = &'a Arc<Message>;

    fn next(&mut self) -> Option<Self::Item> {
        self.conversation.get(self.range.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.conversation.get(self.range.nth(n)?)
    }
}

impl DoubleEndedIterator for ConversationIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.conversation.get(self.range.next_back()?)
    }
}

impl ExactSizeIterator for ConversationIter<'_> {}

impl<'a> IntoIterator for &'a Conversation {
    type Item = &'a Arc<Message>;
    type IntoIter = ConversationIter<'a>;

    fn into_iter(self) -> ConversationIter<'a> {
        self.iter()
    }
}

const CHUNKS: usize = 28;
const FIRST_CHUNK: usize = 8;

type Slot = OnceLock<Arc<Message>>;

/// An append-only list of slots in chunks that double in size, so that nothing is ever moved.
#[derive(Default)]
struct Store {
    chunks: [OnceLock<Box<[Slot]>>; CHUNKS],
    claimed: AtomicUsize,
}

fn place(index: usize) -> (usize, usize, usize) {
    let position = index + FIRST_CHUNK;
    let chunk = (position.ilog2() - FIRST_CHUNK.ilog2()) as usize;
    let size = FIRST_CHUNK << chunk;
    (chunk, position - size, size)
}

impl Store {
    fn get(&self, index: usize) -> Option<&Arc<Message>> {
        let (chunk, offset, _) = place(index);
        self.chunks.get(chunk)?.get()?.get(offset)?.get()
    }

    /// Puts a message at an index; says false when another message stands there.
    fn append(&self, index: usize, message: &Arc<Message>) -> bool {
        if self.claimed.compare_exchange(index, index + 1, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return self.get(index).is_some_and(|present| Arc::ptr_eq(present, message));
        }
        let (chunk, offset, size) = place(index);
        let Some(chunk) = self.chunks.get(chunk) else { return false };
        let slots = chunk.get_or_init(|| (0..size).map(|_| Slot::new()).collect());
        slots.get(offset).is_some_and(|slot| slot.set(message.clone()).is_ok())
    }
}

impl FromIterator<Arc<Message>> for Store {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let store = Self::default();
        for (index, message) in messages.into_iter().enumerate() {
            store.append(index, &message);
        }
        store
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("len", &self.len).field("loads", &self.ledger.loads.len()).finish_non_exhaustive()
    }
}

impl PartialEq for Conversation {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for Conversation {}

impl<M: Into<Arc<Message>>> FromIterator<M> for Conversation {
    fn from_iter<I: IntoIterator<Item = M>>(messages: I) -> Self {
        let mut conversation = Self::new();
        conversation.extend(messages);
        conversation
    }
}

impl<M: Into<Arc<Message>>> Extend<M> for Conversation {
    fn extend<I: IntoIterator<Item = M>>(&mut self, messages: I) {
        for message in messages {
            self.push(message);
        }
    }
}

impl Serialize for Conversation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.len))?;
        for message in self.iter() {
            sequence.serialize_element(message)?;
        }
        sequence.end()
    }
}

impl<'de> Deserialize<'de> for Conversation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Arc<Message>>::deserialize(deserializer).map(Self::from_iter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssistantMessage, Json, SearchResult, ToolCall, ToolResult};
    use proptest::prelude::*;

    fn texts(conversation: &Conversation) -> Vec<String> {
        conversation.iter().map(|message| serde_json::to_string(message).unwrap()).collect()
    }

    #[test]
    fn places_are_dense() {
        let mut next = (0, 0);
        for index in 0..10_000 {
            let (chunk, offset, size) = place(index);
            assert_eq!((chunk, offset), next);
            next = if offset + 1 == size { (chunk + 1, 0) } else { (chunk, offset + 1) };
        }
    }

    #[test]
    fn iterates_from_both_ends() {
        let history = Conversation::from_iter(["a", "b", "c"].map(Message::user));
        let mut iter = (&history).into_iter();
        assert_eq!((iter.len(), iter.next_back()), (3, history.last()));
        assert_eq!((iter.nth(1), iter.next(), iter.len()), (history.get(1), None, 0));
    }

    #[test]
    fn pushing_the_same_message_shares_the_store() {
        let mut history = Conversation::from_iter([Message::user("a")]);
        let mut inside = history.clone();
        let answer = Arc::new(Message::assistant("b"));
        inside.push(answer.clone());
        history.push(answer);
        assert!(Arc::ptr_eq(&history.store, &inside.store));
        history.push(Message::user("c"));
        inside.push(Message::user("d"));
        assert!(!Arc::ptr_eq(&history.store, &inside.store));
        assert_eq!(texts(&history).last().unwrap(), &serde_json::to_string(&Message::user("c")).unwrap());
        assert_eq!(texts(&inside).last().unwrap(), &serde_json::to_string(&Message::user("d")).unwrap());
    }

    #[test]
    fn loads_and_calls_end_at_a_compaction() {
        let call = ToolCall::new("1", "find", Json::empty_object());
        let definition = |name: &str| Arc::new(ToolDefinition::new(name));
        let mut history = Conversation::new();
        history.push(SearchResult::new(&call, vec![definition("a")], ""));
        history.push(ToolResult::text(&call, "x"));
        assert!(history.loaded(&"a".into()).is_some());
        assert_eq!(history.answered_calls().count(), 1);
        history.push(AssistantMessage::new(vec![AssistantPart::Compaction { summary: None }]));
        assert!(history.loaded(&"a".into()).is_none());
        assert_eq!((history.loads().len(), history.all_loads().len(), history.answered_calls().count()), (0, 1, 0));
        history.push(ToolResult::text(&call, "y").loading([definition("b")]));
        assert_eq!(history.loads().iter().map(|load| load.message).collect::<Vec<_>>(), [3]);
        assert_eq!(history.answered_calls().collect::<Vec<_>>(), [(&ToolName::new("find"), 3)]);
    }

    proptest! {
        /// Clones that diverge at random never see each other's messages.
        #[test]
        fn clones_are_independent(steps in proptest::collection::vec((0usize..4, 0usize..6), 1..60)) {
            let mut real = vec![Conversation::new()];
            let mut model: Vec<Vec<String>> = vec![Vec::new()];
            for (number, (kind, at)) in steps.into_iter().enumerate() {
                let at = at % real.len();
                if kind == 0 {
                    real.push(real[at].clone());
                    model.push(model[at].clone());
                } else {
                    let message = Message::user(format!("{number}"));
                    model[at].push(serde_json::to_string(&message).unwrap());
                    real[at].push(message);
                }
            }
            for (real, model) in real.iter().zip(&model) {
                prop_assert_eq!(&texts(real), model);
                prop_assert_eq!(real.user_messages(), model.len());
            }
        }
    }
}
