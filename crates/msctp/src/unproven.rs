//! [`Unproven`]: associations that peers set up and whose peers have not proved their keys.

use std::collections::btree_map::{BTreeMap, Entry};
use std::net::{IpAddr, Ipv6Addr};

use msctp_proto::Handle;
use msctp_units::{Span, Time};

/// Time in which the peer of an association that it set up must prove its keys. As long as TLS has for a
/// handshake.
pub(crate) const PROOF_TIME: Span = Span::from_secs(60);

/// Most associations whose peers have not proved their keys: those of a flood end before they hold much
/// memory. For a further one, the oldest of the source that has most is aborted. Fewer if
/// `EndpointOptions::backlog` is smaller, or than a quarter of `EndpointConfig::max_associations`.
pub(crate) const MAX_UNPROVEN: usize = 1024;

/// Associations by the time at which they are aborted.
#[derive(Debug)]
pub(crate) struct Unproven {
    max: usize,
    by_deadline: BTreeMap<(Time, Handle), IpAddr>,
    /// How many each source has.
    of_source: BTreeMap<IpAddr, usize>,
}

impl Unproven {
    /// Holds at most `max`.
    pub(crate) fn new(max: usize) -> Self {
        Self { max, by_deadline: BTreeMap::new(), of_source: BTreeMap::new() }
    }

    /// Adds an association with a peer at `remote`. Returns the one to abort if there are too many.
    pub(crate) fn insert(&mut self, deadline: Time, handle: Handle, remote: IpAddr) -> Option<Handle> {
        let source = source_of(remote);
        self.by_deadline.insert((deadline, handle), source);
        *self.of_source.entry(source).or_default() += 1;
        if self.by_deadline.len() > self.max { self.oldest_of_largest_source() } else { None }
    }

    /// Removes an association. Returns whether it was here.
    pub(crate) fn remove(&mut self, deadline: Time, handle: Handle) -> bool {
        let Some(source) = self.by_deadline.remove(&(deadline, handle)) else { return false };
        if let Entry::Occupied(mut count) = self.of_source.entry(source) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        true
    }

    /// Returns the first to be aborted, with its time.
    pub(crate) fn first(&self) -> Option<(Time, Handle)> {
        self.by_deadline.keys().next().copied()
    }

    /// Returns all of them.
    pub(crate) fn handles(&self) -> impl Iterator<Item = Handle> {
        self.by_deadline.keys().map(|&(_, handle)| handle)
    }

    fn oldest_of_largest_source(&self) -> Option<Handle> {
        let most = self.of_source.values().max()?;
        let mut entries = self.by_deadline.iter();
        entries.find(|(_, source)| self.of_source.get(source) == Some(most)).map(|(&(_, handle), _)| handle)
    }
}

/// Returns what counts as one source of set-ups: an IPv4 address, or the 64-bit prefix of an IPv6 address.
fn source_of(remote: IpAddr) -> IpAddr {
    match remote.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}
