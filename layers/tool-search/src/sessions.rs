//! What the record said at the start of the current turn of a session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tower_genai_core::ToolName;

use crate::RecordKey;

/// A record is read when the user has spoken, and holds for the whole turn, so that the declared tools do not change in the middle of it.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Vec<(RecordKey, Arc<[ToolName]>)>>);

const CAPACITY: usize = 1024;

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, Vec<(RecordKey, Arc<[ToolName]>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, key: &RecordKey) -> Option<Arc<[ToolName]>> {
        self.lock().iter().rev().find(|(present, _)| present == key).map(|(_, names)| names.clone())
    }

    pub(crate) fn set(&self, key: RecordKey, names: Arc<[ToolName]>) {
        let mut sessions = self.lock();
        sessions.retain(|(present, _)| *present != key);
        if sessions.len() == CAPACITY {
            sessions.remove(0);
        }
        sessions.push((key, names));
    }

    pub(crate) fn forget(&self, session: &str) {
        self.lock().retain(|(key, _)| *key.session != *session);
    }
}
