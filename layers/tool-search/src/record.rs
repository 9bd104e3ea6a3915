//! What a session has been given, kept outside of its messages.

use std::{
    fmt,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tower_genai_core::{ToolName, rounds::BoxFuture};

/// Which record: a session, and the compaction since which it counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RecordKey {
    /// The session of the request.
    pub session: Arc<str>,
    /// A fingerprint of the last compaction item of the dialogue, where there is one and it starts a new record.
    pub compaction: Option<Arc<str>>,
}

impl RecordKey {
    /// A key.
    pub fn new(session: impl Into<Arc<str>>, compaction: Option<Arc<str>>) -> Self {
        Self { session: session.into(), compaction }
    }
}

/// A store of the definitions that a session has been given.
///
/// The dialogue itself says what is loaded, and that is enough where it is stored whole. A record is for callers that store only part of it: a
/// name that only the record knows is declared again, so that the model keeps its tools. A store that fails never fails a call: an error of
/// [`load`](Self::load) reaches the caller as a warning, one of [`add`](Self::add) the log.
///
/// The futures own what they need, so that a store is usually a handle that clones cheaply:
///
/// ```
/// use std::{collections::HashMap, sync::Arc};
/// use tokio::sync::Mutex;
/// use tower_genai_core::ToolName;
/// use tower_genai_tool_search::{BoxFuture, RecordKey, SessionRecord, ToolSearchLayer};
///
/// #[derive(Clone, Debug, Default)]
/// struct Table(Arc<Mutex<HashMap<RecordKey, Vec<ToolName>>>>);
///
/// impl SessionRecord for Table {
///     fn load(&self, key: &RecordKey) -> BoxFuture<Vec<ToolName>> {
///         let (table, key) = (self.clone(), key.clone());
///         Box::pin(async move { Ok(table.0.lock().await.get(&key).cloned().unwrap_or_default()) })
///     }
///
///     fn add(&self, key: &RecordKey, mut names: Vec<ToolName>) -> BoxFuture<()> {
///         let (table, key) = (self.clone(), key.clone());
///         Box::pin(async move {
///             let mut rows = table.0.lock().await;
///             let present = rows.entry(key).or_default();
///             names.retain(|name| !present.contains(name));
///             present.append(&mut names);
///             Ok(())
///         })
///     }
///
///     fn clear(&self, session: &str) -> BoxFuture<()> {
///         let (table, session) = (self.clone(), session.to_owned());
///         Box::pin(async move {
///             table.0.lock().await.retain(|key, _| *key.session != *session);
///             Ok(())
///         })
///     }
/// }
///
/// let layer = ToolSearchLayer::new().record(Table::default());
/// ```
pub trait SessionRecord: fmt::Debug + Send + Sync {
    /// The names recorded, in the order in which they were added.
    fn load(&self, key: &RecordKey) -> BoxFuture<Vec<ToolName>>;

    /// Adds names; those that are there already stay where they are.
    fn add(&self, key: &RecordKey, names: Vec<ToolName>) -> BoxFuture<()>;

    /// Forgets every record of a session.
    fn clear(&self, session: &str) -> BoxFuture<()>;
}

/// A [`SessionRecord`] in memory, of a bounded number of records; the one unused for longest goes first. Clones share it.
///
/// ```
/// use tower_genai_core::ToolName;
/// use tower_genai_tool_search::{MemoryRecord, RecordKey, SessionRecord};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tower_genai_core::Error> {
/// let record = MemoryRecord::new(1_000);
/// let key = RecordKey::new("session", None);
/// record.add(&key, vec!["read_file".into()]).await?;
/// assert_eq!(record.load(&key).await?, [ToolName::new("read_file")]);
/// record.clear("session").await?;
/// assert!(record.load(&key).await?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MemoryRecord {
    capacity: usize,
    /// Least recently used first.
    records: Arc<Mutex<Records>>,
}

type Records = Vec<(RecordKey, Vec<ToolName>)>;

impl MemoryRecord {
    /// A record of at most so many sessions (at least one).
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), records: Arc::default() }
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the entry of a key to the end, where the most recently used stands, and shows it.
    fn touch<T>(&self, key: &RecordKey, create: bool, read: impl FnOnce(&mut Vec<ToolName>) -> T) -> Option<T> {
        let mut records = self.records();
        match records.iter().position(|(present, _)| present == key) {
            Some(position) => {
                let entry = records.remove(position);
                records.push(entry);
            }
            None if !create => return None,
            None => {
                if records.len() == self.capacity {
                    records.remove(0);
                }
                records.push((key.clone(), Vec::new()));
            }
        }
        records.last_mut().map(|(_, names)| read(names))
    }
}

impl SessionRecord for MemoryRecord {
    fn load(&self, key: &RecordKey) -> BoxFuture<Vec<ToolName>> {
        let names = self.touch(key, false, |names| names.clone()).unwrap_or_default();
        Box::pin(ready(Ok(names)))
    }

    fn add(&self, key: &RecordKey, names: Vec<ToolName>) -> BoxFuture<()> {
        self.touch(key, true, |present| {
            for name in names {
                if !present.contains(&name) {
                    present.push(name);
                }
            }
        });
        Box::pin(ready(Ok(())))
    }

    fn clear(&self, session: &str) -> BoxFuture<()> {
        self.records().retain(|(key, _)| *key.session != *session);
        Box::pin(ready(Ok(())))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn is_bounded_and_keeps_the_order() {
        let record = MemoryRecord::new(2);
        let key = |session: &str| RecordKey::new(session, None);
        record.add(&key("a"), vec!["x".into(), "y".into()]).await.unwrap();
        record.add(&key("b"), vec!["z".into()]).await.unwrap();
        record.add(&key("a"), vec!["w".into(), "x".into()]).await.unwrap();
        record.add(&key("c"), vec![]).await.unwrap();
        let names: Vec<String> = record.load(&key("a")).await.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["x", "y", "w"]);
        assert!(record.load(&key("b")).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn clearing_reaches_every_compaction_of_a_session() {
        let record = MemoryRecord::new(4);
        let keys = [RecordKey::new("a", None), RecordKey::new("a", Some("1".into())), RecordKey::new("b", None)];
        for key in &keys {
            record.add(key, vec!["x".into()]).await.unwrap();
        }
        record.clear("a").await.unwrap();
        let mut left = Vec::new();
        for key in &keys {
            left.push(record.load(key).await.unwrap().len());
        }
        assert_eq!(left, [0, 0, 1]);
    }
}
