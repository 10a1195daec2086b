//! A host's SCTP: its endpoint, the association of each handle, the address pairs of packets. May not touch
//! links or events.

use std::collections::BTreeMap;
use std::net::IpAddr;

use msctp_proto::{Endpoint, Handle, PathAddr};
use msctp_units::Time;

use crate::encapsulation::Encapsulation;
use crate::packet::AddressId;
use crate::scenario::Side;

/// SCTP on one host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) endpoint: Endpoint,
    /// The peers' UDP ports; `None`: SCTP runs over IP.
    pub(crate) udp: Option<Encapsulation>,
    /// Earliest wake-up in the event queue; [`Time::MAX`]: none.
    wake: Time,
    /// The association and end of each handle.
    lines: Vec<(Handle, u32, Side)>,
    /// Pairs of addresses seen, by pair.
    pairs: Vec<(PathAddr, AddressId, AddressId)>,
    /// Position of the last pair.
    last_pair: usize,
}

impl Host {
    pub(crate) fn new(endpoint: Endpoint, udp: Option<Encapsulation>) -> Self {
        Self { endpoint, udp, wake: Time::MAX, lines: Vec::new(), pairs: Vec::new(), last_pair: 0 }
    }

    /// Maps `handle` to this end of this association.
    pub(crate) fn enter(&mut self, handle: Handle, line: u32, side: Side) {
        match self.lines.binary_search_by_key(&handle, |entry| entry.0) {
            Ok(at) => self.lines[at] = (handle, line, side),
            Err(at) => self.lines.insert(at, (handle, line, side)),
        }
    }

    /// Returns the association and end of a handle.
    #[inline]
    pub(crate) fn line(&self, handle: Handle) -> Option<(u32, Side)> {
        let at = self.lines.binary_search_by_key(&handle, |entry| entry.0).ok()?;
        Some((self.lines[at].1, self.lines[at].2))
    }

    /// Returns the numbers of two addresses; `None` if the scenario lacks one of them.
    #[inline]
    pub(crate) fn numbers(
        &mut self,
        at: PathAddr,
        all: &BTreeMap<IpAddr, AddressId>,
    ) -> Option<(AddressId, AddressId)> {
        if let Some((pair, local, remote)) = self.pairs.get(self.last_pair)
            && *pair == at
        {
            return Some((*local, *remote));
        }
        self.last_pair = match self.pairs.binary_search_by_key(&at, |entry| entry.0) {
            Ok(found) => found,
            Err(place) => {
                let (local, remote) = (*all.get(&at.local)?, *all.get(&at.remote)?);
                self.pairs.insert(place, (at, local, remote));
                place
            }
        };
        let (_, local, remote) = self.pairs[self.last_pair];
        Some((local, remote))
    }

    /// Returns when a wake-up must be scheduled, if none is that early. Call it after all packets were sent.
    #[inline]
    pub(crate) fn arm(&mut self, now: Time) -> Option<Time> {
        // A call may make an old deadline count again: it is due now.
        let next = self.endpoint.poll_timeout()?.max(now);
        if next >= self.wake {
            return None;
        }
        self.wake = next;
        Some(next)
    }

    /// Handles a wake-up.
    pub(crate) fn woken(&mut self, now: Time) {
        // A wake-up that an earlier one replaced is still in the queue.
        if self.wake <= now {
            self.wake = Time::MAX;
        }
    }
}
