//! [`Turns`]: serializes transfers of the same bytes, which complete the same part on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use msctp::{Association, AssociationError};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

/// Time without progress after which a transfer loses its turn to another sender of the same bytes. The
/// stalled transfer is usually that sender's earlier attempt, whose association is dead but not yet declared
/// lost.
const STALLED: Duration = Duration::from_secs(3);

/// One queue for each part in transfer.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<BTreeMap<PathBuf, Arc<Queue>>>>);

/// The transfers of one part.
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

/// The exclusive right to complete a part.
pub(super) struct Turn {
    _guard: OwnedMutexGuard<()>,
    ticket: Ticket,
}

/// A transfer's reference to its queue. The last one removes the queue.
struct Ticket {
    part: PathBuf,
    turns: Turns,
    queue: Arc<Queue>,
}

/// Maximum number of transfers that wait for one part.
const WAITING: usize = 8;

/// Why a transfer gets no turn.
#[derive(Debug)]
pub(super) enum NoTurn {
    /// Many transfers wait for the same part.
    Full,
    /// Its association is over.
    Over(Result<(), AssociationError>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Turns {
    /// Returns true if another transfer of these bytes is in progress.
    pub(super) fn is_taken(&self, part: &Path) -> bool {
        lock(&self.0).get(part).is_some_and(|queue| lock(&queue.holder).is_some())
    }

    /// Waits for the turn, and aborts a holder that stalls.
    ///
    /// # Errors
    ///
    /// Many transfers wait already, or the association has ended.
    pub(super) async fn take(&self, part: &Path, association: &Association) -> Result<Turn, NoTurn> {
        let ticket = {
            let mut queues = lock(&self.0);
            let queue = Arc::clone(queues.entry(part.to_owned()).or_default());
            // The map, the holder and those that wait.
            if Arc::strong_count(&queue) > WAITING + 2 {
                return Err(NoTurn::Full);
            }
            Ticket { part: part.to_owned(), turns: self.clone(), queue }
        };
        let queue = &ticket.queue;
        let turn = async {
            let mut guard = std::pin::pin!(Arc::clone(&queue.turn).lock_owned());
            loop {
                match tokio::time::timeout(queue.patience(), &mut guard).await {
                    Ok(guard) => break guard,
                    Err(_) => queue.abort_stalled(),
                }
            }
        };
        let guard = tokio::select! {
            biased;
            end = association.closed() => return Err(NoTurn::Over(end)),
            guard = turn => guard,
        };
        *lock(&queue.holder) = Some(Holder { association: association.clone(), at: Instant::now() });
        Ok(Turn { _guard: guard, ticket })
    }
}

impl Queue {
    /// Returns the time until the holder counts as stalled.
    fn patience(&self) -> Duration {
        lock(&self.holder).as_ref().map_or(STALLED, |holder| STALLED.saturating_sub(holder.at.elapsed()))
    }

    fn abort_stalled(&self) {
        if let Some(holder) = lock(&self.holder).as_mut().filter(|holder| holder.at.elapsed() >= STALLED) {
            holder.association.abort("stalled: another sender of the same file takes over");
            holder.at = Instant::now();
        }
    }
}

impl Turn {
    /// Records that the transfer made progress.
    pub(super) fn progress(&self) {
        if let Some(holder) = lock(&self.ticket.queue.holder).as_mut() {
            holder.at = Instant::now();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *lock(&self.ticket.queue.holder) = None;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut queues = lock(&self.turns.0);
        // Two references, the map's and ours: no other transfer waits.
        if Arc::strong_count(&self.queue) == 2 {
            queues.remove(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use msctp::{Config, Endpoint, EndpointOptions, Peer, Security};

    use super::*;

    #[tokio::test]
    async fn a_transfer_whose_association_ends_waits_no_more() {
        let options = EndpointOptions::new(["127.0.0.1:0".parse().unwrap()]);
        let (here, there) = (Endpoint::bind(&options).unwrap(), Endpoint::bind(&options).unwrap());
        there.listen(7, Security::insecure(), Config::mobile()).unwrap();
        let connect = async || {
            let peer = Peer { port: 7, ..Peer::new(there.local_addresses()[0]) };
            here.connect(peer, Security::insecure(), Config::mobile()).await.unwrap()
        };
        let (first, second) = (connect().await, connect().await);
        let (turns, part) = (Turns::default(), Path::new("part"));
        let turn = turns.take(part, &first).await.unwrap();
        let wait = || {
            let (turns, second) = (turns.clone(), second.clone());
            tokio::spawn(async move { turns.take(part, &second).await.err() })
        };
        let waiting: Vec<_> = (0..WAITING).map(|_| wait()).collect();
        // The map, the holder and those that wait.
        while Arc::strong_count(&lock(&turns.0)[part]) < WAITING + 2 {
            tokio::task::yield_now().await;
        }
        assert!(matches!(wait().await.unwrap(), Some(NoTurn::Full)));
        second.abort("gone");
        for task in waiting {
            let ended = tokio::time::timeout(Duration::from_secs(60), task).await.expect("it ends");
            assert!(matches!(ended.unwrap(), Some(NoTurn::Over(_))));
        }
        drop(turn);
        assert!(lock(&turns.0).is_empty());
        // One that waits last removes the queue as well.
        let turn = turns.take(part, &first).await.unwrap();
        let third = connect().await;
        let take = async { turns.take(part, &third).await.map(|_| ()) };
        assert!(tokio::time::timeout(Duration::from_millis(50), take).await.is_err());
        drop(turn);
        assert!(lock(&turns.0).is_empty());
    }
}
