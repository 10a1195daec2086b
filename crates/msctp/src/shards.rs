//! [`Shards`]: the parts of an endpoint. Each has its own state, task and sockets, and some of the
//! associations.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msctp_udp::Dispatch;
use tokio::runtime::Handle;

use crate::binding::Later;
use crate::place::Place;
use crate::state::{Shared, State};

/// The shards of an endpoint. The two SCTP ports of an association select its shard ([`Dispatch`]).
///
/// All packets of an association have these ports, including those of its set-up, restart and end. Addresses
/// and UDP ports do not matter, so that an association has the same shard wherever its packets come from.
#[derive(Debug)]
pub(crate) struct Shards {
    pub(crate) dispatch: Dispatch,
    /// How to bind sockets later.
    pub(crate) later: Later,
    /// The runtime of the tasks and sockets.
    pub(crate) runtime: Handle,
    all: Vec<Arc<Shared>>,
    /// Random numbers for ports, drawn in bulk. One system call for each set-up took half of the time that
    /// set-ups spent in system calls.
    random: Mutex<Vec<u16>>,
    /// Number of shards that are finished.
    finished: AtomicUsize,
}

impl Shards {
    /// Creates the shards from their states, at least one.
    pub(crate) fn new(dispatch: Dispatch, later: Later, runtime: Handle, all: Vec<Arc<Shared>>) -> Self {
        debug_assert_eq!(all.len(), dispatch.sockets());
        Self { dispatch, later, runtime, all, random: Mutex::default(), finished: AtomicUsize::new(0) }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Shared>> {
        self.all.iter()
    }

    /// Returns the first shard, which answers queries whose result is equal in all.
    pub(crate) fn first(&self) -> &Arc<Shared> {
        &self.all[0]
    }

    pub(crate) fn get(&self, place: Place) -> &Arc<Shared> {
        &self.all[usize::from(place.index)]
    }

    /// Returns the shard of the associations between these SCTP ports.
    pub(crate) fn of_ports(&self, local: u16, remote: u16) -> &Arc<Shared> {
        &self.all[self.dispatch.index_of_ports(remote, local)]
    }

    /// Returns all shards except this one.
    pub(crate) fn others(&self, place: Place) -> impl Iterator<Item = &Arc<Shared>> {
        self.all.iter().filter(move |shard| shard.place != place)
    }

    /// Calls `f` with the state of each shard in turn. Returns the results.
    pub(crate) fn each<R>(&self, mut f: impl FnMut(&mut State) -> R) -> Vec<R> {
        self.all.iter().map(|shard| f(&mut shard.lock())).collect()
    }

    /// Marks one more shard as finished. The last one wakes all.
    pub(crate) fn finish(&self) {
        if self.finished.fetch_add(1, SeqCst) + 1 == self.all.len() {
            self.iter().for_each(|shard| shard.forwarded.extend([]));
        }
    }

    /// Returns whether all shards are finished.
    pub(crate) fn finished(&self) -> bool {
        self.finished.load(SeqCst) >= self.all.len()
    }

    /// Returns 16 random bits; `None` if the system has none.
    pub(crate) fn random(&self) -> Option<u16> {
        let mut random: MutexGuard<'_, Vec<u16>> = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if random.is_empty() {
            let mut bytes = [0; 256];
            getrandom::fill(&mut bytes).ok()?;
            random.extend(bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])));
        }
        random.pop()
    }
}

/// The shared owner of an endpoint's handles. When the last handle is dropped, no association begins, and the
/// tasks end with the last association.
#[derive(Debug)]
pub(crate) struct Owned(pub(crate) Arc<Shards>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.each(|state| {
            state.dropped = true;
            state.close_listeners();
            state.wake_driver();
        });
    }
}
