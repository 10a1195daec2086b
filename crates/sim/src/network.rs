//! The network: link directions, routers' tables, hosts' interfaces, and the packets between them.
//!
//! Everything is reached by dense index; nothing here looks anything up by name or address. Knows no transport and no
//! application: what arrives at a host is handed out by [`Network::take`].

use msctp_units::Time;

use crate::event::{EventQueue, Target};
use crate::hop::Hop;
use crate::packet::{AddressId, Packet, PacketId, PacketPool};
use crate::scenario::{DirectionIndex, NO_ROUTE};

/// What a node does with what arrives.
#[derive(Debug)]
pub(crate) enum Station {
    /// Hands it to the host of this number.
    Host(u32),
    /// Sends it on: for each address the direction to take.
    Router(Vec<u32>),
}

/// A host's interface; its index is its address's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    /// Does the host have this address now?
    pub(crate) present: bool,
    pub(crate) egress: u32,
    pub(crate) host: u32,
}

/// Packets lost elsewhere than on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strays {
    /// Sent from or to an address that the host did not have at the moment.
    pub(crate) no_address: u64,
    /// A router had no route.
    pub(crate) no_route: u64,
}

/// Where a packet that left a link went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is at its host: the caller must release it.
    Host(u32, PacketId),
    /// It was sent on or dropped.
    PassedOn,
}

/// All links and nodes.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) hops: Vec<Hop>,
    pub(crate) stations: Vec<Station>,
    pub(crate) ports: Vec<Port>,
    pub(crate) pool: PacketPool,
    pub(crate) strays: Strays,
}

impl Network {
    /// Sends a packet from the host its source address belongs to.
    pub(crate) fn send(&mut self, now: Time, events: &mut EventQueue, packet: Packet) {
        let port = self.ports[packet.source.index()];
        if !port.present {
            self.strays.no_address += 1;
            self.pool.recycle(packet.bytes);
            return;
        }
        let wire_len = packet.wire_len;
        let id = self.pool.insert(packet);
        self.offer(now, events, port.egress as DirectionIndex, id, wire_len);
    }

    fn offer(
        &mut self,
        now: Time,
        events: &mut EventQueue,
        hop: DirectionIndex,
        id: PacketId,
        wire_len: u32,
    ) {
        let link = &mut self.hops[hop];
        if let Some(dropped) = link.offer(now, id, wire_len) {
            self.pool.release(dropped);
            return;
        }
        if let Some(at) = link.arm() {
            events.push(at, Target::Link(hop as u32));
        }
    }

    /// The next packet that has arrived at the far end of a hop by `now`.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, hop: DirectionIndex) -> Option<PacketId> {
        self.hops[hop].take(now, &mut self.pool)
    }

    /// Routes a packet that [`take`](Self::take) gave.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        events: &mut EventQueue,
        hop: DirectionIndex,
        id: PacketId,
    ) -> Arrival {
        let packet = self.pool.packet(id);
        match &self.stations[self.hops[hop].leads_to as usize] {
            Station::Router(table) => {
                let next = table[packet.destination.index()];
                let wire_len = packet.wire_len;
                if next == NO_ROUTE {
                    self.strays.no_route += 1;
                    self.pool.release(id);
                } else {
                    self.offer(now, events, next as DirectionIndex, id, wire_len);
                }
                Arrival::PassedOn
            }
            &Station::Host(host) => {
                let port = self.ports[packet.destination.index()];
                if port.present && port.host == host {
                    return Arrival::Host(host, id);
                }
                self.strays.no_address += 1;
                self.pool.release(id);
                Arrival::PassedOn
            }
        }
    }

    /// Schedules the hop's next delivery, after its wake-up has been handled.
    #[inline]
    pub(crate) fn rearm(&mut self, now: Time, events: &mut EventQueue, hop: DirectionIndex) {
        if let Some(at) = self.hops[hop].rearm(now) {
            events.push(at, Target::Link(hop as u32));
        }
    }

    /// Changes one direction of a link.
    pub(crate) fn set<T>(
        &mut self,
        events: &mut EventQueue,
        hop: DirectionIndex,
        change: impl FnOnce(&mut Hop) -> T,
    ) -> T {
        let result = change(&mut self.hops[hop]);
        if let Some(at) = self.hops[hop].arm() {
            events.push(at, Target::Link(hop as u32));
        }
        result
    }

    /// Gives or takes a host's address.
    pub(crate) fn set_present(&mut self, address: AddressId, present: bool) {
        self.ports[address.index()].present = present;
    }
}
