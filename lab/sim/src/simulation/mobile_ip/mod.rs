//! Mobile IP in a run: passes messages and timers between the state machines and the network, and executes
//! their decisions: tunnels packets, delivers them to visitors, selects a mobile's base station.

mod report;
mod set_up;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use etherparse::{IpNumber, Ipv4Header, UdpHeader, UdpSlice};
use msctp_units::{Ecn, Span, Time};

use crate::event::{EventQueue, Target};
use crate::mobile_ip::foreign_agent::ForeignAgent;
use crate::mobile_ip::home_agent::HomeAgent;
use crate::mobile_ip::message::advertisement::Advertisement;
use crate::mobile_ip::mobile::{Mobile, Note};
use crate::mobile_ip::{Datagram, MobileOptions, PORT};
use crate::network::Network;
use crate::packet::{AddressId, Body, Packet, PacketId};
use crate::scenario::DirectionIndex;

use super::Simulation;

pub(crate) use set_up::EVERYBODY;

/// Bytes of the outer IP header (RFC 2003 §3.1).
const OUTER_HEADER: u32 = 20;
/// Bytes of an IP and of a UDP header.
const IP_HEADER: u32 = 20;
const UDP_HEADER: usize = 8;

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
    pub(super) address: AddressId,
    pub(super) role: Role,
    /// The mobiles that have a link to it, by home address, each with the hop to it.
    pub(super) radios: Vec<(AddressId, DirectionIndex)>,
    /// Earliest wake-up in the event queue.
    wake: Time,
    /// Packets sent into a tunnel, and taken out of one for a visitor.
    pub(super) tunnelled: u64,
    pub(super) delivered: u64,
    /// Packets from a tunnel for mobiles that are not registered here.
    pub(super) strangers: u64,
}

/// A change of the agent, and its outcome.
#[derive(Clone, Debug)]
pub(super) struct Handover {
    pub(super) at: Time,
    pub(super) to: Ipv4Addr,
    /// Time of the home agent's acceptance, and the number of requests.
    pub(super) registered: Option<(Time, u32)>,
    /// Time of the last data packet before that.
    before: Option<Time>,
    /// Time from that to the first data packet after it.
    pub(super) gap: Option<Span>,
}

/// A mobile in the simulation.
#[derive(Debug)]
pub(super) struct MobileNode {
    pub(super) node: usize,
    pub(super) address: AddressId,
    machine: Mobile,
    /// Its links to agents, each with the hop there and the hop from there.
    pub(super) radios: Vec<(Ipv4Addr, DirectionIndex, DirectionIndex)>,
    scan: Span,
    next_scan: Time,
    wake: Time,
    /// Time of the last data packet.
    last_packet: Option<Time>,
    pub(super) handovers: Vec<Handover>,
    pub(super) renewals: u64,
    pub(super) denied: u64,
    /// Times at which it lost its last agent.
    pub(super) lost: Vec<Time>,
    used_before: bool,
}

/// All agents and mobiles of a run.
#[derive(Debug)]
pub(crate) struct MobileIp {
    pub(super) agents: Vec<AgentNode>,
    pub(super) mobiles: Vec<MobileNode>,
    /// The address of all hosts on a link.
    pub(super) everybody: AddressId,
}

/// The parts of the simulation that agents and mobiles use.
struct Wire<'s> {
    now: Time,
    network: &'s mut Network,
    events: &'s mut EventQueue,
    numbers: &'s BTreeMap<IpAddr, AddressId>,
    addresses: &'s [IpAddr],
}

impl Wire<'_> {
    fn number(&self, address: Ipv4Addr) -> Option<AddressId> {
        self.numbers.get(&IpAddr::V4(address)).copied()
    }

    fn ip(&self, address: AddressId) -> Option<Ipv4Addr> {
        match self.addresses[address.index()] {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        }
    }

    /// Builds the packet of a registration message; `None` if an address is unknown.
    fn pack(&mut self, datagram: &Datagram) -> Option<Packet> {
        let (source, destination) = (self.number(datagram.source)?, self.number(datagram.destination)?);
        let len = (UDP_HEADER + datagram.payload.len()) as u16;
        let (from, to) = (datagram.source.octets(), datagram.destination.octets());
        let ip = Ipv4Header::new(len, 64, IpNumber::UDP, from, to).ok()?;
        let (port, to_port) = (datagram.source_port, datagram.destination_port);
        let header = UdpHeader::with_ipv4_checksum(port, to_port, &ip, &datagram.payload).ok()?;
        let mut bytes = self.network.pool.buffer();
        bytes.extend_from_slice(&header.to_bytes());
        bytes.extend_from_slice(&datagram.payload);
        let wire_len = IP_HEADER + bytes.len() as u32;
        Some(Packet {
            source,
            destination,
            inner: None,
            body: Body::Udp,
            wire_len,
            may_fragment: false,
            ecn: Ecn::NotEct,
            bytes,
        })
    }

    /// Parses a packet for the registration port.
    fn unpack(&self, id: PacketId) -> Option<Datagram> {
        let packet = self.network.pool.packet(id);
        if packet.body != Body::Udp {
            return None;
        }
        let udp = UdpSlice::from_slice(&packet.bytes).ok()?;
        (udp.destination_port() == PORT).then_some(())?;
        Some(Datagram {
            source: self.ip(packet.source)?,
            source_port: udp.source_port(),
            destination: self.ip(packet.destination)?,
            destination_port: udp.destination_port(),
            payload: udp.payload().to_vec(),
        })
    }

    fn send_over(&mut self, hop: DirectionIndex, packet: Packet) {
        let wire_len = packet.wire_len;
        let id = self.network.pool.insert(packet);
        self.network.offer(self.now, self.events, hop, id, wire_len);
    }

    fn pass_over(&mut self, hop: DirectionIndex, id: PacketId) {
        let wire_len = self.network.pool.packet(id).wire_len;
        self.network.offer(self.now, self.events, hop, id, wire_len);
    }

    fn forward(&mut self, node: usize, id: PacketId) {
        self.network.forward(self.now, self.events, node, id);
    }

    fn stray(&mut self, id: PacketId) {
        self.network.strays.no_address += 1;
        self.network.pool.release(id);
    }
}

impl AgentNode {
    pub(super) fn new(node: usize, ip: Ipv4Addr, address: AddressId, role: Role) -> Self {
        let (tunnelled, delivered, strangers) = (0, 0, 0);
        let (radios, wake) = (Vec::new(), Time::MAX);
        Self { node, ip, address, role, radios, wake, tunnelled, delivered, strangers }
    }

    /// Returns the hop to a mobile that has a link to this agent.
    fn radio_to(&self, mobile: AddressId) -> Option<DirectionIndex> {
        self.radios.iter().find(|(address, _)| *address == mobile).map(|&(_, hop)| hop)
    }

    /// Handles a packet at the agent's node.
    fn receive(&mut self, wire: &mut Wire<'_>, id: PacketId) {
        let packet = wire.network.pool.packet(id);
        let (destination, inner) = (packet.destination, packet.inner);
        if destination != self.address {
            self.transit(wire, id, destination);
        } else if let Some(inner) = inner {
            self.decapsulate(wire, id, inner);
        } else if let Some(datagram) = wire.unpack(id) {
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

    /// Forwards a packet: into the tunnel, to a visitor, or by the routing table.
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
        let Some(packet) = wire.pack(datagram) else {
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

    fn on_timer(&mut self, wire: &mut Wire<'_>, everybody: AddressId) {
        if self.wake <= wire.now {
            self.wake = Time::MAX;
        }
        let advertisement = match &mut self.role {
            Role::Home(agent) => agent.handle_timeout(wire.now),
            Role::Foreign(agent) => agent.handle_timeout(wire.now),
        };
        if let Some(advertisement) = advertisement {
            self.advertise(wire, everybody, &advertisement);
        }
    }

    /// Sends one frame to each mobile that has a link here.
    fn advertise(&self, wire: &mut Wire<'_>, everybody: AddressId, advertisement: &Advertisement) {
        let message = advertisement.encode();
        for &(_, hop) in &self.radios {
            let mut bytes = wire.network.pool.buffer();
            bytes.extend_from_slice(&message);
            let wire_len = IP_HEADER + bytes.len() as u32;
            let (source, destination) = (self.address, everybody);
            let packet = Packet {
                source,
                destination,
                inner: None,
                body: Body::Icmp,
                wire_len,
                may_fragment: false,
                ecn: Ecn::NotEct,
                bytes,
            };
            wire.send_over(hop, packet);
        }
    }

    fn timeout(&self) -> Time {
        match &self.role {
            Role::Home(agent) => agent.poll_timeout(),
            Role::Foreign(agent) => agent.poll_timeout(),
        }
    }

    /// Returns the wake-up that must be scheduled, if none is that early.
    fn earlier(&mut self) -> Option<Time> {
        let next = self.timeout();
        (next < self.wake).then(|| {
            self.wake = next;
            next
        })
    }
}

impl MobileNode {
    pub(super) fn new(
        node: usize,
        address: AddressId,
        home_address: Ipv4Addr,
        home_agent: Ipv4Addr,
        options: MobileOptions,
    ) -> Self {
        Self {
            node,
            address,
            machine: Mobile::new(home_address, home_agent, options),
            radios: Vec::new(),
            scan: options.scan,
            next_scan: Time::ZERO,
            wake: Time::MAX,
            last_packet: None,
            handovers: Vec::new(),
            renewals: 0,
            denied: 0,
            lost: Vec::new(),
            used_before: false,
        }
    }

    /// Handles a signalling packet.
    fn receive(&mut self, wire: &mut Wire<'_>, id: PacketId) {
        let packet = wire.network.pool.packet(id);
        if packet.body == Body::Icmp {
            if let Some(advertisement) = Advertisement::parse(&packet.bytes) {
                self.machine.handle_advertisement(wire.now, &advertisement);
            }
        } else if let Some(datagram) = wire.unpack(id) {
            self.machine.handle_datagram(wire.now, &datagram);
        }
        wire.network.pool.release(id);
        self.settle(wire);
    }

    fn on_timer(&mut self, wire: &mut Wire<'_>) {
        if self.wake <= wire.now {
            self.wake = Time::MAX;
        }
        if self.next_scan <= wire.now {
            self.next_scan = wire.now + self.scan;
            let mut heard: Vec<(i32, Ipv4Addr)> = self
                .radios
                .iter()
                .filter_map(|&(agent, _, from)| Some((wire.network.receive_power(wire.now, from)?, agent)))
                .collect();
            // The strongest first; of equal ones, the link declared first.
            heard.sort_by_key(|&(power, _)| std::cmp::Reverse(power));
            self.machine.set_covered(heard.into_iter().map(|(_, agent)| agent).collect());
        }
        self.machine.handle_timeout(wire.now);
        self.settle(wire);
    }

    /// Selects the host's base station, and drains datagrams and events.
    fn settle(&mut self, wire: &mut Wire<'_>) {
        let attached = self.machine.attached();
        if let Some(&(_, hop, _)) = self.radios.iter().find(|(agent, ..)| Some(*agent) == attached) {
            wire.network.set_egress(self.address, hop);
        }
        while let Some(datagram) = self.machine.poll_transmit() {
            match wire.pack(&datagram) {
                Some(packet) => wire.network.send(wire.now, wire.events, packet),
                None => wire.network.strays.no_route += 1,
            }
        }
        while let Some(note) = self.machine.poll_note() {
            self.take_note(wire.now, note);
        }
    }

    fn take_note(&mut self, now: Time, note: Note) {
        match note {
            // The first agent is no handover.
            Note::Switched { to } if self.used_before => {
                self.handovers.push(Handover { at: now, to, registered: None, before: None, gap: None });
            }
            Note::Switched { .. } => self.used_before = true,
            Note::Registered { renewal: true, .. } => self.renewals += 1,
            Note::Registered { attempts, .. } => {
                if let Some(handover) = self.handovers.last_mut() {
                    handover.registered = Some((now, attempts));
                    handover.before = self.last_packet;
                }
            }
            Note::Denied { .. } => self.denied += 1,
            Note::Lost => self.lost.push(now),
        }
    }

    /// Records the arrival of a data packet.
    fn delivered(&mut self, now: Time) {
        self.last_packet = Some(now);
        if let Some(handover) = self.handovers.last_mut()
            && let Some(before) = handover.before.take()
        {
            handover.gap = Some(now.since(before));
        }
    }

    fn earlier(&mut self) -> Option<Time> {
        let next = self.machine.poll_timeout().min(self.next_scan);
        (next < self.wake).then(|| {
            self.wake = next;
            next
        })
    }
}

impl MobileIp {
    /// Returns the wake-ups to schedule: agents by number, then mobiles.
    fn due(&mut self) -> Vec<(Time, Target)> {
        let agents = self.agents.len() as u32;
        let of_agents = self.agents.iter_mut().map(AgentNode::earlier).zip(0..);
        let of_mobiles = self.mobiles.iter_mut().map(MobileNode::earlier).zip(agents..);
        of_agents.chain(of_mobiles).filter_map(|(at, number)| Some((at?, Target::MobileIp(number)))).collect()
    }
}

impl Simulation {
    /// Returns the state of Mobile IP, and the parts of the simulation that it uses.
    fn mobile_ip(&mut self, act: impl FnOnce(&mut MobileIp, &mut Wire<'_>)) {
        let Some(world) = &mut self.mobile_ip else { return };
        let mut wire = Wire {
            now: self.now,
            network: &mut self.network,
            events: &mut self.events,
            numbers: &self.numbers,
            addresses: &self.addresses,
        };
        act(world, &mut wire);
        for (at, target) in world.due() {
            self.events.push(at, target);
        }
    }

    /// Starts the mobiles and schedules all first wake-ups.
    pub(crate) fn start_mobile_ip(&mut self) {
        self.mobile_ip(|world, wire| {
            for mobile in &mut world.mobiles {
                mobile.on_timer(wire);
            }
        });
    }

    /// Handles a packet at an agent's node.
    pub(crate) fn on_agent_packet(&mut self, agent: u32, id: PacketId) {
        self.mobile_ip(|world, wire| world.agents[agent as usize].receive(wire, id));
    }

    /// Handles an advertisement or a registration message at a host.
    pub(crate) fn on_signalling(&mut self, host: u32, id: PacketId) {
        self.mobile_ip(|world, wire| match world.mobiles.iter_mut().find(|m| m.node == host as usize) {
            Some(mobile) => mobile.receive(wire, id),
            None => wire.stray(id),
        });
    }

    /// Records a data packet at a host.
    pub(crate) fn on_mobile_delivery(&mut self, host: u32) {
        let now = self.now;
        let Some(world) = &mut self.mobile_ip else { return };
        if let Some(mobile) = world.mobiles.iter_mut().find(|m| m.node == host as usize) {
            mobile.delivered(now);
        }
    }

    /// Handles an agent's or a mobile's wake-up.
    pub(crate) fn on_mobile_ip(&mut self, number: u32) {
        self.mobile_ip(|world, wire| {
            let number = number as usize;
            match number.checked_sub(world.agents.len()) {
                None => world.agents[number].on_timer(wire, world.everybody),
                Some(mobile) => world.mobiles[mobile].on_timer(wire),
            }
        });
    }
}
