//! [`Unproven`]: associations that peers set up and whose peers have not proved their keys.

use std::collections::BTreeSet;
use std::collections::btree_map::{self, BTreeMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use msctp_proto::Handle;
use msctp_units::{Span, Time};

use crate::place::Place;

/// Time in which a peer that set an association up must prove its keys, equal to TLS's time for a handshake.
pub(crate) const PROOF_TIME: Span = Span::from_secs(60);

/// Maximum number of associations whose peers have not proved their keys. It ends those of a flood before
/// they use much memory. A further one aborts the oldest of the source that has most, if possible one whose
/// handshake has not begun. The limit is lower if a quarter of `EndpointConfig::max_associations` is smaller.
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
    by_deadline: BTreeMap<(Time, Place, Handle), Entry>,
    /// Number of unproven associations of each source.
    of_source: BTreeMap<IpAddr, usize>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    source: IpAddr,
    /// True if this end has begun the handshake.
    begun: bool,
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
        let entry = (deadline, self.place, handle);
        all.insert(entry, source_of(remote));
        if all.by_deadline.len() > all.max { all.take_one_of_largest_source(entry) } else { None }
    }

    /// Records that the handshake of an association has begun.
    #[cfg(feature = "tls")]
    pub(crate) fn begin(&self, deadline: Time, handle: Handle) {
        if let Some(entry) = self.of_endpoint.lock().by_deadline.get_mut(&(deadline, self.place, handle)) {
            entry.begun = true;
        }
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
        self.by_deadline.insert(entry, Entry { source, begun: false });
        *self.of_source.entry(source).or_default() += 1;
    }

    fn remove(&mut self, entry: (Time, Place, Handle)) {
        let Some(Entry { source, .. }) = self.by_deadline.remove(&entry) else { return };
        if let btree_map::Entry::Occupied(mut count) = self.of_source.entry(source) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Takes the oldest association of the source that has most, if possible one whose handshake has not
    /// begun, other than the newest.
    fn take_one_of_largest_source(&mut self, newest: (Time, Place, Handle)) -> Option<(Place, Handle)> {
        let most = self.of_source.values().max()?;
        let of_largest = |(_, entry): &(&_, &Entry)| self.of_source.get(&entry.source) == Some(most);
        let mut waiting = self.by_deadline.iter().filter(|(at, entry)| !entry.begun && **at != newest);
        let taken = waiting.find(of_largest).or_else(|| self.by_deadline.iter().find(of_largest));
        let taken = taken.map(|(entry, _)| *entry)?;
        self.remove(taken);
        Some((taken.1, taken.2))
    }
}

/// Returns the key that identifies a source of set-ups: an IPv4 address, or the 64-bit prefix of an IPv6
/// address.
pub(crate) fn source_of(remote: IpAddr) -> IpAddr {
    match remote.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use msctp_proto::{Config, Endpoint, EndpointConfig, LocalAddrs, RemoteAddrs};

    use super::*;

    #[test]
    fn the_largest_source_loses_its_oldest_whose_handshake_has_not_begun() {
        let mut core = Endpoint::new(EndpointConfig::default(), [1; 32]).unwrap();
        let mut handle = |port| {
            let local = LocalAddrs { port, addresses: vec![IpAddr::from([192, 0, 2, 1])] };
            let remote = RemoteAddrs { port, addresses: vec![IpAddr::from([192, 0, 2, 2])] };
            core.connect(Time::ZERO, Arc::new(Config::default()), local, remote).unwrap()
        };
        let place = Place { index: 0, of: 1 };
        let mut unproven = Unproven::new(place, OfEndpoint::new(3));
        let (one, other) = (IpAddr::from([198, 51, 100, 1]), IpAddr::from([198, 51, 100, 2]));
        let [oldest, of_one, of_other, newest, last] = [1, 2, 3, 4, 5].map(&mut handle);
        let at = |n| Time::from_nanos(n);
        for (n, handle, source) in [(1, oldest, one), (2, of_one, one), (3, of_other, other)] {
            assert_eq!(unproven.insert(at(n), handle, source), None);
        }
        unproven.begin(at(1), oldest);
        assert_eq!(unproven.insert(at(4), newest, other), Some((place, of_one)), "it has not begun");
        unproven.begin(at(3), of_other);
        assert_eq!(unproven.insert(at(5), last, other), Some((place, newest)), "the largest source's");
    }
}
