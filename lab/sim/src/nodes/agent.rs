//! Mobility agents: carries messages and timers between the state machines and the network, tunnels packets
//! to mobiles that are away, and delivers them to visitors.

use std::net::Ipv4Addr;

use msctp_units::{Ecn, Time};

use super::datagram::{IP_HEADER, pack, unpack};
use super::{Names, Node, Wire};
use crate::mobile_ip::Datagram;
use crate::mobile_ip::foreign_agent::ForeignAgent;
use crate::mobile_ip::home_agent::HomeAgent;
use crate::mobile_ip::message::advertisement::Advertisement;
use crate::packet::{AddressId, Body, Packet, PacketId};
use crate::scenario::DirectionIndex;
use crate::summary::{AgentSummary, Summary};

/// Length in bytes of the outer IP header (RFC 2003 §3.1).
const OUTER_HEADER: u32 = 20;

/// The role of an agent.
#[derive(Debug)]
pub(super) enum Role {
    Home(HomeAgent),
    Foreign(ForeignAgent),
}

/// An agent in the simulation.
#[derive(Debug)]
pub(super) struct AgentNode {
    pub(super) node: usize,
    pub(super) ip: Ipv4Addr,
    address: AddressId,
    role: Role,
    /// Mobiles that have a link to the agent, by home address, each with the hop to it.
    pub(super) radios: Vec<(AddressId, DirectionIndex)>,
    /// The address of all hosts on a link.
    everybody: AddressId,
    /// Numbers of packets sent into a tunnel, and taken out of one for a visitor.
    tunnelled: u64,
    delivered: u64,
    /// Packets from a tunnel for mobiles that are not registered here.
    strangers: u64,
}

impl AgentNode {
    pub(super) fn new(
        node: usize,
        ip: Ipv4Addr,
        address: AddressId,
        everybody: AddressId,
        role: Role,
    ) -> Self {
        let (tunnelled, delivered, strangers) = (0, 0, 0);
        Self { node, ip, address, role, radios: Vec::new(), everybody, tunnelled, delivered, strangers }
    }

    /// Returns the hop to a mobile that has a link to this agent.
    fn radio_to(&self, mobile: AddressId) -> Option<DirectionIndex> {
        self.radios.iter().find(|(address, _)| *address == mobile).map(|&(_, hop)| hop)
    }

    /// Forwards a packet into the tunnel, to a visitor, or by the routing table.
    fn transit(&mut self, wire: &mut Wire<'_>, id: PacketId, destination: AddressId) {
        let Some(to) = wire.ip(destination) else { return wire.forward(self.node, id) };
        match &self.role {
            Role::Home(agent) => {
                if let Some(care_of) = agent.care_of(wire.now, to).and_then(|care_of| wire.number(care_of)) {
                    // RFC 2003 §3.1: an outer header before the unchanged packet.
                    self.tunnelled += 1;
                    let outer = (self.address, care_of);
                    wire.network.pool.encapsulate(id, outer, OUTER_HEADER);
                }
                wire.forward(self.node, id);
            }
            Role::Foreign(agent) => match self.radio_to(destination) {
                Some(hop) if agent.is_visitor(wire.now, to) => wire.pass_over(hop, id),
                _ => wire.forward(self.node, id),
            },
        }
    }

    /// Decapsulates a packet and delivers it to its visitor (RFC 5944 §4.2.2), or drops it.
    fn decapsulate(&mut self, wire: &mut Wire<'_>, id: PacketId, inner: (AddressId, AddressId)) {
        let visitor = match (&self.role, wire.ip(inner.1)) {
            (Role::Foreign(agent), Some(to)) => agent.is_visitor(wire.now, to),
            _ => false,
        };
        match self.radio_to(inner.1) {
            Some(hop) if visitor => {
                self.delivered += 1;
                wire.network.pool.decapsulate(id, OUTER_HEADER);
                wire.pass_over(hop, id);
            }
            _ => {
                self.strangers += 1;
                wire.network.pool.release(id);
            }
        }
    }

    /// Sends a message: directly to a mobile with a link here, otherwise by the routing table.
    fn send(&self, wire: &mut Wire<'_>, datagram: &Datagram) {
        let Some(packet) = pack(wire, datagram) else {
            wire.network.strays.no_route += 1;
            return;
        };
        if let Some(hop) = self.radio_to(packet.destination) {
            wire.send_over(hop, packet);
        } else {
            let id = wire.network.pool.insert(packet);
            wire.forward(self.node, id);
        }
    }

    /// Sends one frame to each mobile that has a link here.
    fn advertise(&self, wire: &mut Wire<'_>, advertisement: &Advertisement) {
        let message = advertisement.encode();
        for &(_, hop) in &self.radios {
            let mut bytes = wire.network.pool.buffer();
            bytes.extend_from_slice(&message);
            let wire_len = IP_HEADER + bytes.len() as u32;
            let (source, destination) = (self.address, self.everybody);
            let packet = Packet {
                source,
                destination,
                inner: None,
                body: Body::Icmp,
                ports: (0, 0),
                wire_len,
                may_fragment: false,
                ecn: Ecn::NotEct,
                needs_checksum: false,
                bytes,
            };
            wire.send_over(hop, packet);
        }
    }
}

impl Node for AgentNode {
    fn receive(&mut self, wire: &mut Wire<'_>, _from: DirectionIndex, id: PacketId) {
        let packet = wire.network.pool.packet(id);
        let (destination, inner) = (packet.destination, packet.inner);
        if destination != self.address {
            self.transit(wire, id, destination);
        } else if let Some(inner) = inner {
            self.decapsulate(wire, id, inner);
        } else if let Some(datagram) = unpack(wire, id) {
            wire.network.pool.release(id);
            let answer = match &mut self.role {
                Role::Home(agent) => agent.handle_datagram(wire.now, &datagram),
                Role::Foreign(agent) => agent.handle_datagram(wire.now, &datagram),
            };
            if let Some(answer) = answer {
                self.send(wire, &answer);
            }
        } else {
            wire.stray(id);
        }
    }

    fn poll_timeout(&self) -> Time {
        match &self.role {
            Role::Home(agent) => agent.poll_timeout(),
            Role::Foreign(agent) => agent.poll_timeout(),
        }
    }

    fn on_timeout(&mut self, wire: &mut Wire<'_>) {
        let advertisement = match &mut self.role {
            Role::Home(agent) => agent.handle_timeout(wire.now),
            Role::Foreign(agent) => agent.handle_timeout(wire.now),
        };
        if let Some(advertisement) = advertisement {
            self.advertise(wire, &advertisement);
        }
    }

    fn summarize(&self, names: &Names<'_>, summary: &mut Summary) {
        let (role, accepted, denied) = match &self.role {
            Role::Home(home) => ("home", home.accepted, home.denied),
            Role::Foreign(foreign) => ("foreign", foreign.relayed / 2, foreign.denied),
        };
        summary.mobile_ip.get_or_insert_default().agents.push(AgentSummary {
            name: names.of(self.node),
            role,
            accepted,
            denied,
            tunnelled: self.tunnelled,
            delivered: self.delivered,
            strangers: self.strangers,
        });
    }
}
