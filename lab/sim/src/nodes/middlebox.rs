//! [`MiddleboxNode`]: carries packets between the network and a middlebox, and counts them.

use msctp_units::Time;

use super::{Names, Node, Wire};
use crate::middlebox::{End, Flow, Middlebox, Protocol};
use crate::packet::{AddressId, Body, Packet, PacketId};
use crate::scenario::{DirectionIndex, MiddleboxChange};
use crate::summary::{MiddleboxSummary, Summary};

/// Numbers of packets from one side.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    passed: u64,
    dropped: u64,
}

/// A middlebox at a node.
#[derive(Debug)]
pub(super) struct MiddleboxNode {
    node: usize,
    /// The link to the outside.
    outside: usize,
    kind: &'static str,
    middlebox: Box<dyn Middlebox>,
    /// Numbers of packets from inside, and from outside.
    counts: [Counts; 2],
}

impl MiddleboxNode {
    pub(super) fn new(
        node: usize,
        outside: usize,
        kind: &'static str,
        middlebox: Box<dyn Middlebox>,
    ) -> Self {
        Self { node, outside, kind, middlebox, counts: [Counts::default(); 2] }
    }

    /// Passes a packet to the middlebox. Returns false if it is dropped, as packets without ports are.
    fn pass(&mut self, now: Time, packet: &mut Packet, inward: bool) -> bool {
        let Some(mut flow) = flow_of(packet) else { return false };
        let passes = if inward {
            self.middlebox.inward(now, &mut flow)
        } else {
            self.middlebox.outward(now, &mut flow)
        };
        if passes {
            rewrite(packet, &flow);
        }
        passes
    }
}

/// Returns the addresses and ports of a UDP or TCP packet. Registrations of Mobile IP and tunnels have none.
fn flow_of(packet: &Packet) -> Option<Flow> {
    let protocol = match packet.body {
        Body::Sctp | Body::Cbr { .. } if packet.inner.is_none() => Protocol::Udp,
        Body::Tcp { .. } if packet.inner.is_none() => Protocol::Tcp,
        _ => return None,
    };
    let end = |address: AddressId, port| End { address: address.0, port };
    Some(Flow {
        protocol,
        source: end(packet.source, packet.ports.0),
        destination: end(packet.destination, packet.ports.1),
    })
}

/// Writes addresses and ports into a packet, and the ports of TCP into its header.
fn rewrite(packet: &mut Packet, flow: &Flow) {
    packet.source = AddressId(flow.source.address);
    packet.destination = AddressId(flow.destination.address);
    packet.ports = (flow.source.port, flow.destination.port);
    if let Body::Tcp { .. } = packet.body {
        packet.bytes[..2].copy_from_slice(&flow.source.port.to_be_bytes());
        packet.bytes[2..4].copy_from_slice(&flow.destination.port.to_be_bytes());
    }
}

impl Node for MiddleboxNode {
    fn receive(&mut self, wire: &mut Wire<'_>, from: DirectionIndex, id: PacketId) {
        let inward = from / 2 == self.outside;
        let to = wire.network.pool.packet(id).destination;
        if !inward && wire.network.next_hop(self.node, to).is_none_or(|hop| hop / 2 != self.outside) {
            // Between two links inside.
            return wire.forward(self.node, id);
        }
        let passes = self.pass(wire.now, wire.network.pool.packet_mut(id), inward);
        let counts = &mut self.counts[usize::from(inward)];
        if passes {
            counts.passed += 1;
            wire.forward(self.node, id);
        } else {
            counts.dropped += 1;
            wire.network.pool.release(id);
        }
    }

    fn change(&mut self, change: MiddleboxChange) {
        self.middlebox.change(change);
    }

    fn summarize(&self, names: &Names<'_>, summary: &mut Summary) {
        let [outward, inward] = self.counts;
        summary.middleboxes.push(MiddleboxSummary {
            name: names.of(self.node),
            kind: self.kind,
            outward: outward.passed,
            outward_dropped: outward.dropped,
            inward: inward.passed,
            inward_dropped: inward.dropped,
            created: self.middlebox.created(),
        });
    }
}
