//! [`Simulation`]: runs a scenario. Takes the next wake-up, runs its component, and passes on the output.

pub(crate) mod coding;
mod losses;
mod perform;
mod sctp;
mod tcp;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;

use msctp_qlog::{Vantage, Writer};
use msctp_units::{Ecn, Time};

use crate::action::Plan;
use crate::app::cbr::{self, Cbr};
use crate::capture::Capture;
use crate::event::{EventQueue, Target};
use crate::event_lines::EventLines;
use crate::host::Host;
use crate::index::Index;
use crate::line::Line;
use crate::network::{Arrival, Network};
use crate::nodes::{Nodes, Wire};
use crate::observer::Observer;
use crate::outside::Outside;
use crate::packet::{AddressId, Body, Packet, PacketId};
use crate::probe::QueueProbe;
use crate::scenario::{Configs, Interface, LinkDirection, Scenario, Side};
use crate::tcp_line::TcpLine;

use coding::Coding;
use watch::Watch;

/// The part of an application that the simulation runs.
#[derive(Debug)]
pub(crate) enum App {
    /// Sends over an association, whose end holds the source.
    Bulk { association: usize, from: Side },
    /// Sends generated messages over an association, whose end holds the source.
    Video { association: usize, from: Side },
    /// Reads from an association, whose end holds the reader.
    Reader { association: usize, at: Side },
    /// Sends or reads at one end of a TCP connection, which holds the source or reader.
    Tcp { connection: usize, side: Side },
    /// Sends at a constant rate over UDP.
    Cbr(Box<Cbr>),
}

/// A run of a scenario.
#[derive(Debug)]
pub struct Simulation {
    pub(crate) scenario: Scenario,
    pub(crate) seed: u64,
    pub(crate) now: Time,
    pub(crate) end: Time,
    pub(crate) events: EventQueue,
    pub(crate) network: Network,
    /// Addresses by number.
    pub(crate) addresses: Vec<IpAddr>,
    /// The numbers of addresses.
    pub(crate) numbers: BTreeMap<IpAddr, AddressId>,
    /// The hosts' interfaces, by address number.
    pub(crate) interfaces: Vec<Interface>,
    /// Ports of the client and the server of each association.
    pub(crate) ports: Vec<(u16, u16)>,
    pub(crate) index: Index,
    /// The core's options by the name of their profile.
    pub(crate) configs: Configs,
    /// SCTP of each node; `None` without SCTP.
    pub(crate) hosts: Vec<Option<Box<Host>>>,
    /// The scenario's associations.
    pub(crate) lines: Vec<Line>,
    /// The scenario's TCP connections.
    pub(crate) tcp: Vec<TcpLine>,
    pub(crate) apps: Vec<App>,
    pub(crate) plan: Plan,
    /// Mobility agents, mobiles and middleboxes.
    pub(crate) nodes: Nodes,
    pub(crate) codings: Vec<Coding>,
    /// Levels of links that actions wait for.
    pub(crate) watches: Vec<Watch>,
    pub(crate) observer: Observer,
    pub(crate) queues: Option<QueueProbe>,
    /// Output for hosts outside of the simulation.
    pub(crate) outside: Outside,
    pub(crate) handled: u64,
}

impl Simulation {
    /// Number of pieces of [`run_in_pieces`](Self::run_in_pieces).
    pub const PIECES: u64 = 1000;

    /// Returns the virtual time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the end of the run.
    #[must_use]
    pub fn end(&self) -> Time {
        self.end
    }

    /// Returns the names of the link directions, such as `wlan/forward`, in the order of the scenario.
    #[must_use]
    pub fn directions(&self) -> Vec<String> {
        (0..self.network.hops.len()).map(|number| self.direction(number)).collect()
    }

    /// Returns the name of a link direction.
    pub(crate) fn direction(&self, number: usize) -> String {
        let way = if number.is_multiple_of(2) { LinkDirection::Forward } else { LinkDirection::Reverse };
        format!("{}/{}", self.scenario.links[number / 2].name, way.word())
    }

    /// Starts to hash every delivered packet. The summary contains the hash.
    pub fn hash_trace(&mut self) {
        self.observer.hash();
    }

    /// Starts to write the associations' events, one JSON object per line (docs/events.md). The scenario must
    /// set `probes.trace`.
    pub fn write_events(&mut self, out: Box<dyn Write + Send>) {
        self.observer.write_events(EventLines::new(out));
    }

    /// Ends the event lines. Call it after the last run.
    ///
    /// # Errors
    /// The first error met in writing.
    pub fn finish_events(&mut self) -> io::Result<()> {
        self.observer.finish_events()
    }

    /// Starts to write the associations' events as a qlog file with this title (docs/events.md). The scenario
    /// must set `probes.trace`.
    pub fn write_qlog(&mut self, title: &str, out: Box<dyn Write + Send>) {
        self.observer.write_qlog(Writer::new(out, title, Vantage::Unknown));
    }

    /// Ends the qlog. Call it after the last run.
    ///
    /// # Errors
    /// The first error met in writing.
    pub fn finish_qlog(&mut self) -> io::Result<()> {
        self.observer.finish_qlog()
    }

    /// Starts to capture link directions. `names` are links (`wlan`) or directions (`wlan/forward`); none
    /// stands for all.
    ///
    /// # Errors
    /// A name is not a link of the scenario ([`io::ErrorKind::InvalidInput`]), or `out` fails.
    pub fn capture(&mut self, names: &[String], out: Box<dyn Write + Send>) -> io::Result<()> {
        let all = self.directions();
        let matches = |direction: &str, name: &str| {
            direction == name || direction.rsplit_once('/').is_some_and(|(link, _)| link == name)
        };
        if let Some(name) = names.iter().find(|name| !all.iter().any(|direction| matches(direction, name))) {
            let links = self.scenario.links.iter().map(|link| link.name.as_str());
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("there is no link \"{name}\"{}", crate::scenario::suggest(name, links)),
            ));
        }
        let mut chosen = Vec::new();
        let mut interfaces = Vec::new();
        for direction in all {
            if names.is_empty() || names.iter().any(|name| matches(&direction, name)) {
                interfaces.push(Some(chosen.len() as u32));
                chosen.push(direction);
            } else {
                interfaces.push(None);
            }
        }
        self.observer.capture(Capture::begin(out, &chosen)?, interfaces, self.addresses.clone());
        Ok(())
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        self.run_until(self.end);
    }

    /// Runs until virtual time `until`, including events at that instant, or to the end.
    pub fn run_until(&mut self, until: Time) {
        self.run_events(until, u64::MAX);
    }

    /// Handles at most `most` events up to virtual time `until` or the end. Returns whether that time is
    /// reached.
    fn run_events(&mut self, until: Time, most: u64) -> bool {
        let until = until.min(self.end);
        let last = self.handled.saturating_add(most);
        while self.handled < last {
            let Some((at, target)) = self.events.pop(until) else {
                self.now = until;
                return true;
            };
            debug_assert!(at >= self.now, "time went back");
            self.now = at;
            self.handled += 1;
            match target {
                Target::Link(hop) => self.on_link(hop as usize),
                Target::Host(host) => self.on_host_timer(host),
                Target::App(app) => self.on_app(app),
                Target::Action(action) => self.on_action(action as usize),
                Target::Probe => self.on_probe(),
                Target::Tcp(end) => self.on_tcp_timer(end),
                Target::Air(cell) => self.on_air(cell),
                Target::Node(number) => self.with_nodes(|nodes, wire| nodes.on_timer(wire, number)),
            }
            if !self.network.lost.is_empty() {
                self.report_losses();
            }
        }
        false
    }

    /// Runs until `until` in [`PIECES`](Self::PIECES) pieces of equal virtual time. Returns whether the run
    /// reached `until`.
    ///
    /// Calls `go_on` with the number of complete pieces: before each piece, after the last one, and within a
    /// piece every 100,000 events, which take about 0.1 s. The run stops when it returns false.
    pub fn run_in_pieces(&mut self, until: Time, mut go_on: impl FnMut(u64) -> bool) -> bool {
        const EVENTS: u64 = 100_000;
        for piece in 0..Self::PIECES {
            let part = until.since(Time::ZERO).mul_ratio(piece + 1, Self::PIECES);
            loop {
                if !go_on(piece) {
                    return false;
                }
                if self.run_events(Time::ZERO + part, EVENTS) {
                    break;
                }
            }
        }
        go_on(Self::PIECES);
        true
    }

    /// Delivers the packets that arrived at the far end of a link.
    fn on_link(&mut self, hop: usize) {
        let now = self.now;
        while let Some(id) = self.network.take(now, hop) {
            self.on_arrival(hop, id);
        }
        self.network.rearm(now, &mut self.events, hop);
    }

    /// Delivers the packets that left a cell.
    fn on_air(&mut self, cell: u32) {
        let now = self.now;
        while let Some((hop, id)) = self.network.take_from_air(now, cell) {
            self.on_arrival(hop, id);
        }
        self.network.rearm_air(now, &mut self.events, cell);
    }

    /// Routes a packet at the far end of a hop.
    #[inline]
    fn on_arrival(&mut self, hop: usize, id: PacketId) {
        let now = self.now;
        if self.observer.is_on() {
            self.observer.delivered(now, hop, self.network.pool.completed(id));
        }
        match self.network.arrive(now, &mut self.events, hop, id) {
            Arrival::Host(host, id) => self.on_packet(hop, host, id),
            Arrival::Node(number, id) => self.with_nodes(|nodes, wire| {
                nodes.call(wire, number, |node, wire| node.receive(wire, hop, id));
            }),
            Arrival::PassedOn => {}
        }
    }

    /// Delivers a packet to its host.
    fn on_packet(&mut self, hop: usize, host: u32, id: PacketId) {
        let packet = self.network.pool.packet(id);
        if matches!(packet.body, Body::Udp | Body::Icmp) {
            // A mobile's signalling.
            return self.with_nodes(|nodes, wire| match nodes.number(host as usize) {
                Some(number) => nodes.call(wire, number, |node, wire| node.receive(wire, hop, id)),
                None => wire.stray(id),
            });
        }
        self.nodes.delivered(self.now, host);
        let packet = self.network.pool.packet(id);
        match packet.body {
            Body::Udp | Body::Icmp => {}
            Body::Outside => self.outside.arrived(self.now, packet.destination, id),
            Body::Sctp => self.on_sctp(host, id),
            Body::Tcp { connection, to } => self.on_tcp(host, id, connection, to),
            Body::Cbr { app, .. } => {
                let len = u64::from(packet.wire_len);
                if let App::Cbr(cbr) = &mut self.apps[app as usize] {
                    cbr.received += 1;
                    cbr.received_bytes += len;
                }
                self.network.pool.release(id);
            }
        }
    }

    /// Passes to the nodes the parts of the simulation that they use.
    pub(crate) fn with_nodes(&mut self, act: impl FnOnce(&mut Nodes, &mut Wire<'_>)) {
        let mut wire = Wire {
            now: self.now,
            network: &mut self.network,
            events: &mut self.events,
            numbers: &self.numbers,
            addresses: &self.addresses,
        };
        act(&mut self.nodes, &mut wire);
    }

    fn on_app(&mut self, app: u32) {
        let now = self.now;
        match &mut self.apps[app as usize] {
            App::Cbr(cbr) => {
                let Some((number, next)) = cbr.poll(now) else { return };
                let packet = Packet {
                    source: cbr.source,
                    destination: cbr.destination,
                    inner: None,
                    body: Body::Cbr { app, number },
                    ports: (cbr::source_port(app), cbr::PORT),
                    wire_len: cbr.packet,
                    may_fragment: false,
                    ecn: Ecn::NotEct,
                    needs_checksum: false,
                    bytes: Vec::new(),
                };
                self.events.push(next, Target::App(app));
                self.network.send(now, &mut self.events, packet);
            }
            &mut App::Video { association, from } => {
                let due =
                    self.lines[association].end_mut(from).video_mut(app).and_then(|video| video.poll(now));
                if let Some(next) = due {
                    self.events.push(next, Target::App(app));
                    self.serve(association, from);
                }
            }
            &mut App::Reader { association, at: side } | &mut App::Bulk { association, from: side } => {
                self.serve(association, side);
            }
            &mut App::Tcp { connection, side } => self.serve_tcp(connection, side),
        }
    }

    fn on_probe(&mut self) {
        let Some(probe) = &mut self.queues else { return };
        probe.sample(self.now, &self.network);
        self.events.push(self.now + probe.interval, Target::Probe);
    }

    /// Ends captures. Call it after the last run.
    ///
    /// # Errors
    /// The first error met in writing.
    pub fn finish(&mut self) -> io::Result<()> {
        self.observer.finish()
    }
}
