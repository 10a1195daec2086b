//! Hosts outside the simulation: their packets enter and leave as bytes, and pass links, routers and queues
//! in between. The emulator uses this to put real programs on simulated links.
//!
//! The caller supplies the time with every call, and learns when to call again. May not touch clocks or
//! devices; reads only the IP header of packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use msctp_units::Time;

use crate::ip_ecn;
use crate::outside::News;
use crate::packet::{AddressId, Body, Packet};
use crate::scenario::{Routes, Scenario, ScenarioError, UDP_HEADER};
use crate::simulation::Simulation;

/// A host's end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideInterface {
    /// The host's name.
    pub host: String,
    /// The link's name.
    pub link: String,
    /// Address of the interface.
    pub address: IpAddr,
    /// MTU of the link in bytes.
    pub mtu: u32,
    /// True if the link is up at the start.
    pub up: bool,
}

/// The reason why a packet from a host was not put on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// The packet is not an IP packet, or is shorter than its header states.
    Malformed,
    /// No host of the scenario has the destination: it is multicast, broadcast, or outside the scenario.
    NoDestination,
    /// The interface does not have its address now.
    NoAddress,
}

/// A [`Simulation`] with outside hosts. Its links, routers, actions and constant-rate sources run normally.
#[derive(Debug)]
pub struct OutsideHosts {
    simulation: Simulation,
    interfaces: Vec<OutsideInterface>,
    /// UDP packets from or to this port count without their UDP header on links.
    encapsulated: Option<u16>,
}

impl OutsideHosts {
    /// Prepares a run of a scenario from [`Scenario::with_outside_hosts`]; A `seed` replaces the scenario's
    /// own.
    ///
    /// # Errors
    /// Same as [`Simulation::new`].
    pub fn new(scenario: &Scenario, seed: Option<u64>) -> Result<Self, ScenarioError> {
        let mut simulation = Simulation::new(scenario, seed)?;
        simulation.outside.on = true;
        let interfaces = simulation.interfaces.iter().map(|interface| {
            let link = &scenario.links[interface.link];
            OutsideInterface {
                host: scenario.nodes[interface.node].name.clone(),
                link: link.name.clone(),
                address: interface.address,
                mtu: link.mtu,
                up: link.up,
            }
        });
        Ok(Self { interfaces: interfaces.collect(), simulation, encapsulated: None })
    }

    /// Makes links count UDP packets from or to `port` without the UDP header. They then count like the
    /// simulator's SCTP packets without encapsulation (RFC 6951).
    pub fn count_without_udp_header(&mut self, port: u16) {
        self.encapsulated = Some(port);
    }

    /// Returns the hosts' interfaces, in the order of the scenario's link ends.
    #[must_use]
    pub fn interfaces(&self) -> &[OutsideInterface] {
        &self.interfaces
    }

    /// Returns the minimum MTU of the links between two interfaces in bytes; `None` without a route.
    #[must_use]
    pub fn path_mtu(&self, from: usize, to: usize) -> Option<u32> {
        let routes = Routes::of(&self.simulation.scenario);
        let path = routes.path(routes.interfaces.get(from)?, routes.interfaces.get(to)?).ok()?;
        path.into_iter().map(|direction| self.simulation.scenario.links[direction / 2].mtu).min()
    }

    /// Returns the simulation, for captures and the summary.
    pub fn simulation(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// Returns the simulation, for its recordings.
    #[must_use]
    pub fn into_simulation(self) -> Simulation {
        self.simulation
    }

    /// Runs everything that is due until `now`, which must not decrease.
    pub fn run_until(&mut self, now: Time) {
        self.simulation.run_until(now);
    }

    /// Returns the time at which to call [`run_until`](Self::run_until) next; `None` if no event is
    /// scheduled.
    pub fn next_wake(&mut self) -> Option<Time> {
        self.simulation.events.next_at()
    }

    /// Sends an IP packet of an interface's host at `now`.
    ///
    /// # Errors
    /// The packet was not put on the link. Losses on the link are counted there instead.
    pub fn send(&mut self, now: Time, interface: usize, packet: &[u8]) -> Result<(), Stray> {
        let simulation = &mut self.simulation;
        simulation.run_until(now);
        let (source, destination) = ends(packet).ok_or(Stray::Malformed)?;
        let destination = *simulation.numbers.get(&destination).ok_or(Stray::NoDestination)?;
        let port = simulation.network.ports[interface];
        if !port.present {
            simulation.network.strays.no_address += 1;
            return Err(Stray::NoAddress);
        }
        // A host may send from any address.
        let own = AddressId(interface as u32);
        let source = simulation.numbers.get(&source).copied().unwrap_or(own);
        let mut bytes = simulation.network.pool.buffer();
        bytes.extend_from_slice(packet);
        let encapsulated = self.encapsulated.is_some_and(|port| is_udp_of(packet, port));
        let wire_len = packet.len() as u32 - if encapsulated { UDP_HEADER } else { 0 };
        let ecn = ip_ecn::read(packet);
        let packet = Packet {
            source,
            destination,
            inner: None,
            body: Body::Outside,
            ports: (0, 0),
            wire_len,
            may_fragment: false,
            ecn,
            needs_checksum: false,
            bytes,
        };
        let id = simulation.network.pool.insert(packet);
        let (now, events) = (simulation.now, &mut simulation.events);
        simulation.network.offer(now, events, port.egress as usize, id, wire_len);
        if !simulation.network.lost.is_empty() {
            simulation.report_losses();
        }
        Ok(())
    }

    /// Calls `take` for each packet that arrived at a host, in order, with time, interface and bytes.
    pub fn take_arrivals(&mut self, mut take: impl FnMut(Time, usize, &[u8])) {
        while let Some((at, interface, id)) = self.simulation.outside.arrived.pop_front() {
            take(at, interface as usize, &self.simulation.network.pool.packet(id).bytes);
            self.simulation.network.pool.release(id);
        }
    }

    /// Returns the oldest change that was not polled yet.
    pub fn poll_news(&mut self) -> Option<News> {
        self.simulation.outside.news.pop_front()
    }
}

/// Returns true if a packet is UDP from or to this port, with a complete header. IPv6 packets must not have
/// extension headers.
fn is_udp_of(packet: &[u8], port: u16) -> bool {
    const UDP: u8 = 17;
    let (protocol, header) = match packet.first().map(|first| first >> 4) {
        // RFC 791 §3.1: header length in words, protocol at 9.
        Some(4) => (packet.get(9), usize::from(packet[0] & 15) * 4),
        // RFC 8200 §3: next header at 6.
        _ => (packet.get(6), 40),
    };
    let Some(&[a, b, c, d, _, _, _, _]) = packet.get(header..).and_then(<[u8]>::first_chunk) else {
        return false;
    };
    protocol == Some(&UDP) && [[a, b], [c, d]].map(u16::from_be_bytes).contains(&port)
}

/// Returns source and destination of an IP packet that is as long as its header states.
fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let be16 = |at: usize| Some(usize::from(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?)));
    match packet.first()? >> 4 {
        // RFC 791 §3.1: total length at 2, addresses at 12 and 16.
        4 if be16(2)? == packet.len() => {
            let address = |at: usize| Some(Ipv4Addr::from(*packet.get(at..)?.first_chunk::<4>()?).into());
            Some((address(12)?, address(16)?))
        }
        // RFC 8200 §3: payload length at 4, addresses at 8 and 24.
        6 if be16(4)? + 40 == packet.len() => {
            let address = |at: usize| Some(Ipv6Addr::from(*packet.get(at..)?.first_chunk::<16>()?).into());
            Some((address(8)?, address(24)?))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "outside_hosts_tests.rs"]
mod tests;
