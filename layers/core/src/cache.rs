//! A small cache that builds each value once.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A least-recently-used cache of a few values, shared by its clones.
///
/// A value is built by one caller while others that want the same one wait; callers that want another one do not. No
/// lock outlives a call of [`get_or_try_build`](Self::get_or_try_build).
///
/// ```
/// use tower_genai_core::Cache;
///
/// let cache = Cache::new(16);
/// let build = || Ok::<_, ()>("built".to_owned());
/// assert_eq!(cache.get_or_try_build(1, build)?, "built");
/// assert_eq!(cache.get_or_try_build(1, || Err(()))?, "built");
/// # Ok::<(), ()>(())
/// ```
pub struct Cache<K, V>(Arc<Mutex<Slots<K, V>>>);

struct Slots<K, V> {
    capacity: usize,
    /// Most recently used last.
    entries: Vec<(K, Slot<V>)>,
}

type Slot<V> = Arc<Mutex<Option<V>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: PartialEq, V: Clone> Cache<K, V> {
    /// A cache of at most `capacity` values (at least one).
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self(Arc::new(Mutex::new(Slots { capacity: capacity.max(1), entries: Vec::new() })))
    }

    /// The value of a key, built if it is not there. A failed build leaves nothing behind.
    ///
    /// # Errors
    ///
    /// What `build` returns.
    pub fn get_or_try_build<E>(&self, key: K, build: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let slot = self.slot(key);
        let mut value = lock(&slot);
        if let Some(value) = &*value {
            return Ok(value.clone());
        }
        let built = build()?;
        *value = Some(built.clone());
        Ok(built)
    }

    fn slot(&self, key: K) -> Slot<V> {
        let mut slots = lock(&self.0);
        if let Some(position) = slots.entries.iter().rposition(|(present, _)| *present == key) {
            let last = slots.entries.len() - 1;
            if position != last {
                let entry = slots.entries.remove(position);
                slots.entries.push(entry);
            }
            if let Some((_, slot)) = slots.entries.last() {
                return slot.clone();
            }
        }
        if slots.entries.len() == slots.capacity {
            slots.entries.remove(0);
        }
        let slot = Slot::default();
        slots.entries.push((key, slot.clone()));
        slot
    }
}

impl<K, V> Clone for Cache<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = lock(&self.0);
        f.debug_struct("Cache").field("len", &slots.entries.len()).field("capacity", &slots.capacity).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::{
            Barrier,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
    };

    #[test]
    fn eight_callers_build_once() {
        let cache = Cache::new(2);
        let (built, barrier) = (AtomicUsize::new(0), Barrier::new(8));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    let value = cache.get_or_try_build(7, || Ok::<_, ()>(built.fetch_add(1, Ordering::SeqCst)));
                    assert_eq!(value, Ok(0));
                });
            }
        });
        assert_eq!(built.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn the_least_recently_used_goes_first_and_failures_are_not_kept() {
        let cache = Cache::new(2);
        assert_eq!(cache.get_or_try_build(1, || Err("no")), Err("no"));
        for key in [1, 2, 1, 3] {
            assert_eq!(cache.get_or_try_build(key, || Ok::<_, ()>(key)), Ok(key));
        }
        assert_eq!(cache.get_or_try_build(1, || Err(())), Ok(1));
        assert_eq!(cache.get_or_try_build(2, || Err(())), Err(()));
    }
}
