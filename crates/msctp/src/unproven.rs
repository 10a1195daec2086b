//! [`Unproven`]: associations that peers set up and whose peers have not proved their keys.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msctp_proto::Handle;
use msctp_units::{Span, Time};

use crate::place::Place;

/// Time in which a peer that set an association up must prove its keys, equal to TLS's time for a handshake.
pub(crate) const PROOF_TIME: Span = Span::from_secs(60);

/// Maximum number of associations whose peers have not proved their keys. It ends those of a flood before
/// they use much memory. A further one aborts the oldest of the source that has most. The limit is lower if
/// `EndpointOptions::backlog` or a quarter of `EndpointConfig::max_associations` is smaller.
const MAX_UNPROVEN: usize = 1024;

/// The unproven associations of a shard, by the time at which they are aborted.
#[derive(Debug)]
pub(crate) struct Unproven {
    place: Place,
    by_deadline: BTreeSet<(Time, Handle)>,
    of_endpoint: OfEndpoint,
}

/// The unproven associations of all shards of an endpoint. Its lock is taken after that of a shard's state,
/// never before.
#[derive(Clone, Debug)]
pub(crate) struct OfEndpoint(Arc<Mutex<Sources>>);

#[derive(Debug)]
struct Sources {
    max: usize,
    by_deadline: BTreeMap<(Time, Place, Handle), IpAddr>,
    /// Number of unproven associations of each source.
    of_source: BTreeMap<IpAddr, usize>,
}

impl OfEndpoint {
    /// Creates an empty set of at most [`MAX_UNPROVEN`] associations, and at most `limit`.
    pub(crate) fn new(limit: usize) -> Self {
        let max = limit.min(MAX_UNPROVEN);
        Self(Arc::new(Mutex::new(Sources { max, by_deadline: BTreeMap::new(), of_source: BTreeMap::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, Sources> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unproven {
    pub(crate) fn new(place: Place, of_endpoint: OfEndpoint) -> Self {
        Self { place, by_deadline: BTreeSet::new(), of_endpoint }
    }

    /// Adds an association with a peer at `remote`. Returns the association to abort if there are too many,
    /// which may be another shard's.
    pub(crate) fn insert(
        &mut self,
        deadline: Time,
        handle: Handle,
        remote: IpAddr,
    ) -> Option<(Place, Handle)> {
        self.by_deadline.insert((deadline, handle));
        let mut all = self.of_endpoint.lock();
        all.insert((deadline, self.place, handle), source_of(remote));
        if all.by_deadline.len() > all.max { all.take_oldest_of_largest_source() } else { None }
    }

    /// Removes an association. Returns whether it was in the set.
    pub(crate) fn remove(&mut self, deadline: Time, handle: Handle) -> bool {
        self.of_endpoint.lock().remove((deadline, self.place, handle));
        self.by_deadline.remove(&(deadline, handle))
    }

    /// Returns the first association to be aborted, with its time.
    pub(crate) fn first(&self) -> Option<(Time, Handle)> {
        self.by_deadline.first().copied()
    }

    /// Returns all of the shard.
    pub(crate) fn handles(&self) -> impl Iterator<Item = Handle> {
        self.by_deadline.iter().map(|&(_, handle)| handle)
    }
}

impl Sources {
    fn insert(&mut self, entry: (Time, Place, Handle), source: IpAddr) {
        self.by_deadline.insert(entry, source);
        *self.of_source.entry(source).or_default() += 1;
    }

    fn remove(&mut self, entry: (Time, Place, Handle)) {
        let Some(source) = self.by_deadline.remove(&entry) else { return };
        if let Entry::Occupied(mut count) = self.of_source.entry(source) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    fn take_oldest_of_largest_source(&mut self) -> Option<(Place, Handle)> {
        let most = self.of_source.values().max()?;
        let mut entries = self.by_deadline.iter();
        let oldest = entries.find(|(_, source)| self.of_source.get(source) == Some(most));
        let oldest = oldest.map(|(entry, _)| *entry)?;
        self.remove(oldest);
        Some((oldest.1, oldest.2))
    }
}

/// Returns the key that identifies a source of set-ups: an IPv4 address, or the 64-bit prefix of an IPv6
/// address.
fn source_of(remote: IpAddr) -> IpAddr {
    match remote.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}
