//! The network: link directions, routers' tables, hosts' interfaces, and the packets between them.
//!
//! All components have dense indexes; there is no look-up by name or address. The network does not know
//! transports and applications: [`Network::take`] returns the packets that arrive at hosts.

use msctp_link::{DropReason, Judgement};
use msctp_units::Time;

use crate::air::Air;
use crate::event::{EventQueue, Target};
use crate::hop::Hop;
use crate::losses::{self, Lost};
use crate::packet::{AddressId, Packet, PacketId, PacketPool};
use crate::scenario::{DirectionIndex, NO_ROUTE};

/// How a node handles an arriving packet.
#[derive(Debug)]
pub(crate) enum Station {
    /// Delivers the packet to the host with this number.
    Host(u32),
    /// Forwards the packet: a direction for each address.
    Router(Vec<u32>),
    /// Passes the packet to the node with this number, which may forward it like a router.
    Node(u32, Vec<u32>),
}

/// The host number that stands for the address of all hosts on a link.
pub(crate) const ALL_HOSTS: u32 = u32::MAX;

/// An interface of a host. Its index is its address's number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    /// True if the host has this address now.
    pub(crate) present: bool,
    pub(crate) egress: u32,
    pub(crate) host: u32,
}

/// Packets lost outside links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strays {
    /// Packets sent from or to an address that the host did not have at that time.
    pub(crate) no_address: u64,
    /// A router had no route.
    pub(crate) no_route: u64,
}

/// The outcome of a packet that left a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The packet is at its host. The caller must release it.
    Host(u32, PacketId),
    /// The packet is at this node, which forwards or releases it.
    Node(u32, PacketId),
    /// The node has forwarded or dropped the packet.
    PassedOn,
}

/// All links and nodes.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) hops: Vec<Hop>,
    pub(crate) air: Air,
    pub(crate) stations: Vec<Station>,
    pub(crate) ports: Vec<Port>,
    pub(crate) pool: PacketPool,
    pub(crate) strays: Strays,
    pub(crate) lost: Lost,
}

impl Network {
    /// Sends a packet from the host to which its source address belongs.
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

    pub(crate) fn offer(
        &mut self,
        now: Time,
        events: &mut EventQueue,
        hop: DirectionIndex,
        id: PacketId,
        wire_len: u32,
    ) {
        let link = &mut self.hops[hop];
        match link.judge(now, &self.air, wire_len, self.pool.packet(id).ecn) {
            Judgement::Pass => {}
            Judgement::Mark => self.pool.mark(id),
            Judgement::Drop => {
                self.lost.lose(&mut self.pool, id, Some(losses::dropped(DropReason::QueueFull)));
                return;
            }
        }
        let dropped = match link.in_pieces(wire_len) {
            Some(all) if self.pool.packet(id).may_fragment => {
                link.enter(now, &mut self.air, id, all, || self.pool.packet(id).class())
            }
            _ => link.offer(now, &mut self.air, id, wire_len, || self.pool.packet(id).class()),
        };
        if let Some((dropped, cause)) = dropped {
            self.lost.lose(&mut self.pool, dropped, cause);
            return;
        }
        self.arm(events, hop);
    }

    /// Schedules a wake-up of the hop, or of its cell, if none is that early.
    #[inline]
    fn arm(&mut self, events: &mut EventQueue, hop: DirectionIndex) {
        let link = &mut self.hops[hop];
        if let Some(cell) = link.cell() {
            if let Some(at) = self.air.arm(cell) {
                events.push(at, Target::Air(cell));
            }
        } else if let Some(at) = link.arm() {
            events.push(at, Target::Link(hop as u32));
        }
    }

    /// Returns the next packet that has left a cell by `now`, with its hop.
    pub(crate) fn take_from_air(&mut self, now: Time, cell: u32) -> Option<(DirectionIndex, PacketId)> {
        self.air.take(now, cell, &mut self.pool, &mut self.lost)
    }

    /// Schedules the cell's next wake-up, after one has been handled.
    pub(crate) fn rearm_air(&mut self, now: Time, events: &mut EventQueue, cell: u32) {
        if let Some(at) = self.air.rearm(now, cell) {
            events.push(at, Target::Air(cell));
        }
    }

    /// Returns the next packet that has arrived at the far end of a hop by `now`.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, hop: DirectionIndex) -> Option<PacketId> {
        self.hops[hop].take(now, &mut self.pool, &mut self.lost)
    }

    /// Routes a packet from [`take`](Self::take).
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        events: &mut EventQueue,
        hop: DirectionIndex,
        id: PacketId,
    ) -> Arrival {
        let node = self.hops[hop].leads_to as usize;
        match &self.stations[node] {
            Station::Router(_) => {
                self.forward(now, events, node, id);
                Arrival::PassedOn
            }
            &Station::Node(node, _) => Arrival::Node(node, id),
            &Station::Host(host) => {
                let port = self.ports[self.pool.packet(id).destination.index()];
                if port.present && (port.host == host || port.host == ALL_HOSTS) {
                    return Arrival::Host(host, id);
                }
                self.strays.no_address += 1;
                self.pool.release(id);
                Arrival::PassedOn
            }
        }
    }

    /// Returns the next hop to an address at a node with a table.
    #[inline]
    pub(crate) fn next_hop(&self, node: usize, to: AddressId) -> Option<DirectionIndex> {
        match &self.stations[node] {
            Station::Router(table) | Station::Node(_, table) => {
                Some(table[to.index()] as DirectionIndex).filter(|_| table[to.index()] != NO_ROUTE)
            }
            Station::Host(_) => None,
        }
    }

    /// Forwards a packet at a node with a table.
    #[inline]
    pub(crate) fn forward(&mut self, now: Time, events: &mut EventQueue, node: usize, id: PacketId) {
        let packet = self.pool.packet(id);
        let wire_len = packet.wire_len;
        match self.next_hop(node, packet.destination) {
            Some(next) => self.offer(now, events, next, id, wire_len),
            None => {
                self.strays.no_route += 1;
                self.pool.release(id);
            }
        }
    }

    /// Makes a host send from this address over this hop.
    pub(crate) fn set_egress(&mut self, address: AddressId, hop: DirectionIndex) {
        self.ports[address.index()].egress = hop as u32;
    }

    /// Returns the receive power at the far end of a hop in mdBm; `None` if it is too weak or the link is
    /// down.
    pub(crate) fn receive_power(&self, now: Time, hop: DirectionIndex) -> Option<i32> {
        self.hops[hop].receive_power(now, &self.air)
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
        change: impl FnOnce(&mut Hop, &mut Air) -> T,
    ) -> T {
        let result = change(&mut self.hops[hop], &mut self.air);
        self.arm(events, hop);
        result
    }

    /// Returns whether a direction is up.
    pub(crate) fn is_up(&self, hop: DirectionIndex) -> bool {
        self.hops[hop].is_up(&self.air)
    }

    /// Adds or removes a host's address.
    pub(crate) fn set_present(&mut self, address: AddressId, present: bool) {
        self.ports[address.index()].present = present;
    }
}
