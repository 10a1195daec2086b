//! [`Turns`]: serializes transfers of the same bytes, which complete the same part on disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use msctp::Association;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// Time without progress after which a transfer loses its turn to another sender of the same bytes. The
/// stalled transfer is usually that sender's earlier attempt, whose association is dead but not yet declared
/// lost.
const STALLED: Duration = Duration::from_secs(3);

/// One queue for each hash of a file in transfer.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<BTreeMap<String, Arc<Queue>>>>);

/// The transfers of one hash.
#[derive(Default)]
struct Queue {
    turn: Arc<tokio::sync::Mutex<()>>,
    holder: Mutex<Option<Holder>>,
}

struct Holder {
    association: Association,
    /// Time of the transfer's last progress.
    at: Instant,
}

/// The exclusive right to complete the file with a hash.
pub(super) struct Turn {
    hash: String,
    turns: Turns,
    queue: Arc<Queue>,
    _guard: OwnedMutexGuard<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Turns {
    /// Returns true if another transfer of these bytes is in progress.
    pub(super) fn is_taken(&self, hash: &str) -> bool {
        lock(&self.0).get(hash).is_some_and(|queue| lock(&queue.holder).is_some())
    }

    /// Waits for the turn, and aborts a holder that stalls.
    pub(super) async fn take(&self, hash: &str, association: &Association) -> Turn {
        let queue = Arc::clone(lock(&self.0).entry(hash.to_owned()).or_default());
        let mut guard = std::pin::pin!(Arc::clone(&queue.turn).lock_owned());
        let guard = loop {
            match tokio::time::timeout(queue.patience(), &mut guard).await {
                Ok(guard) => break guard,
                Err(_) => queue.abort_stalled(),
            }
        };
        *lock(&queue.holder) = Some(Holder { association: association.clone(), at: Instant::now() });
        Turn { hash: hash.to_owned(), turns: self.clone(), queue, _guard: guard }
    }
}

impl Queue {
    /// Returns the time until the holder counts as stalled.
    fn patience(&self) -> Duration {
        lock(&self.holder).as_ref().map_or(STALLED, |holder| STALLED.saturating_sub(holder.at.elapsed()))
    }

    fn abort_stalled(&self) {
        if let Some(holder) = lock(&self.holder).as_mut().filter(|holder| holder.at.elapsed() >= STALLED) {
            holder.association.abort("stalled, and another sender of the same bytes came");
            holder.at = Instant::now();
        }
    }
}

impl Turn {
    /// Records that the transfer made progress.
    pub(super) fn progress(&self) {
        if let Some(holder) = lock(&self.queue.holder).as_mut() {
            holder.at = Instant::now();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *lock(&self.queue.holder) = None;
        let mut queues = lock(&self.turns.0);
        // Two references, the map's and ours: no other transfer waits.
        if Arc::strong_count(&self.queue) == 2 {
            queues.remove(&self.hash);
        }
    }
}
