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
    /// The peers' UDP ports; `None` if SCTP runs over IP.
    pub(crate) udp: Option<Encapsulation>,
    /// Time of the earliest wake-up in the event queue; [`Time::MAX`] for none.
    wake: Time,
    /// The association and end of each handle, by its slot.
    lines: Vec<Option<Entry>>,
}

/// An end of an association on this host.
#[derive(Debug)]
struct Entry {
    handle: Handle,
    line: u32,
    side: Side,
    /// Pairs of addresses between which the association has sent, the latest first.
    pairs: Vec<(PathAddr, AddressId, AddressId)>,
}

/// Returns the slot of a handle. It is small, and belongs to one association at a time.
fn slot(handle: Handle) -> usize {
    handle.number() as u32 as usize
}

impl Host {
    pub(crate) fn new(endpoint: Endpoint, udp: Option<Encapsulation>) -> Self {
        Self { endpoint, udp, wake: Time::MAX, lines: Vec::new() }
    }

    /// Maps `handle` to this end of this association.
    pub(crate) fn enter(&mut self, handle: Handle, line: u32, side: Side) {
        let slot = slot(handle);
        if slot >= self.lines.len() {
            self.lines.resize_with(slot + 1, || None);
        }
        self.lines[slot] = Some(Entry { handle, line, side, pairs: Vec::new() });
    }

    /// Returns the association and end of a handle.
    #[inline]
    pub(crate) fn line(&self, handle: Handle) -> Option<(u32, Side)> {
        let entry = self.lines.get(slot(handle))?.as_ref().filter(|entry| entry.handle == handle)?;
        Some((entry.line, entry.side))
    }

    /// Returns the numbers of two addresses between which an association sends; `None` if the scenario lacks
    /// one of them.
    #[inline]
    pub(crate) fn numbers(
        &mut self,
        from: Option<Handle>,
        at: PathAddr,
        all: &BTreeMap<IpAddr, AddressId>,
    ) -> Option<(AddressId, AddressId)> {
        let look_up = || Some((*all.get(&at.local)?, *all.get(&at.remote)?));
        let entry = from.and_then(|handle| {
            self.lines.get_mut(slot(handle))?.as_mut().filter(|entry| entry.handle == handle)
        });
        // A packet that belongs to no association, or to one that the host does not know yet.
        let Some(Entry { pairs, .. }) = entry else { return look_up() };
        if let Some((pair, local, remote)) = pairs.first()
            && *pair == at
        {
            return Some((*local, *remote));
        }
        match pairs.iter().position(|(pair, ..)| *pair == at) {
            Some(found) => pairs.swap(0, found),
            None => {
                let (local, remote) = look_up()?;
                pairs.insert(0, (at, local, remote));
            }
        }
        pairs.first().map(|(_, local, remote)| (*local, *remote))
    }

    /// Returns the time at which a wake-up must be scheduled, if none is that early. Call it after all
    /// packets were sent.
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
