//! TCP in a run: passes segments and timers to the connections' ends, and their output to links, applications
//! and counters.

use msctp_lab_tcp::{Connection, Event, Ports};
use msctp_units::{Ecn, Time};

use crate::action::Trigger;
use crate::capture::ip_header_len;
use crate::event::Target;
use crate::free_ports::FreePorts;
use crate::packet::{AddressId, Body, Packet, PacketId};
use crate::random;
use crate::scenario::{Scenario, ScenarioError, Side};
use crate::tcp_line::TcpLine;

use super::Simulation;

impl Simulation {
    /// Creates the scenario's connections. `address` maps an address to its number.
    pub(crate) fn tcp_lines(
        scenario: &Scenario,
        address: impl Fn(std::net::IpAddr) -> AddressId,
    ) -> Result<Vec<TcpLine>, ScenarioError> {
        let ports = client_ports(scenario)?;
        let line = |(spec, client_port)| TcpLine::new(spec, client_port, &address, &scenario.probes);
        Ok(scenario.tcp.iter().zip(ports).map(line).collect())
    }

    /// Schedules the starts of the connections.
    pub(crate) fn start_tcp(&mut self) {
        for (number, spec) in self.scenario.tcp.iter().enumerate() {
            let target = target(number, Side::Client);
            self.events.push(Time::ZERO + spec.start, target);
        }
    }

    /// Creates one end of a connection. The initial sequence number comes from the stream `tcp/NAME/SIDE`.
    fn open_tcp(&mut self, number: usize, side: Side) {
        let now = self.now;
        let spec = &self.scenario.tcp[number];
        let profile = match side {
            Side::Client => spec.client_profile.as_deref(),
            Side::Server => spec.server_profile.as_deref(),
        };
        let config = self.scenario.tcp_config(profile, spec.client_address.is_ipv6());
        let seed = random::component_seed(self.seed, &format!("tcp/{}/{}", spec.name, side.word()));
        let iss = u32::from_be_bytes([seed[0], seed[1], seed[2], seed[3]]);
        let line = &mut self.tcp[number];
        let server = spec.server_port;
        let opened = match side {
            Side::Client => {
                Connection::connect(now, config, Ports { local: line.client_port, remote: server }, iss)
            }
            Side::Server => {
                Connection::listen(config, Ports { local: server, remote: line.seen_client_port }, iss)
            }
        };
        line.end_mut(side).connection =
            Some(Box::new(opened.expect("the scenario's checks let no others through")));
        line.end_mut(side).begin();
    }

    /// Delivers a segment to its host.
    pub(crate) fn on_tcp(&mut self, host: u32, id: PacketId, number: u32, to: Side) {
        let number = number as usize;
        let packet = self.network.pool.packet(id);
        if self.tcp[number].end(to).connection.is_none() && to == Side::Server {
            let (client, port) = (packet.source, packet.ports.0);
            self.tcp[number].is_known_as(client, port);
            self.open_tcp(number, Side::Server);
        }
        let packet = self.network.pool.packet(id);
        let end = self.tcp[number].end_mut(to);
        let is_its_own =
            self.network.ports[end.local.index()].host == host && packet.destination == end.local;
        if let Some(connection) = &mut end.connection
            && is_its_own
        {
            let header = packet.bytes.len() as u32 + ip_header_len(self.addresses[end.local.index()]);
            connection.handle_segment(self.now, &packet.bytes, packet.wire_len - header);
        }
        self.network.pool.release(id);
        self.flush_tcp(number, to);
    }

    /// Handles a connection's deadline, or its start.
    pub(crate) fn on_tcp_timer(&mut self, index: u32) {
        let (number, side) =
            (index as usize / 2, if index.is_multiple_of(2) { Side::Client } else { Side::Server });
        let now = self.now;
        let end = self.tcp[number].end_mut(side);
        end.woken(now);
        match &mut end.connection {
            Some(connection) => connection.handle_timeout(now),
            None => self.open_tcp(number, side),
        }
        self.flush_tcp(number, side);
    }

    /// Runs the due actions of the applications at one end.
    pub(crate) fn serve_tcp(&mut self, number: usize, side: Side) {
        self.flush_tcp(number, side);
    }

    /// Starts or stops an application of this end.
    pub(crate) fn set_tcp_app(&mut self, number: usize, side: Side, app: u32, start: bool) {
        let now = self.now;
        self.tcp[number].end_mut(side).set_running(now, app, start);
        self.flush_tcp(number, side);
    }

    /// Reads, drains events and segments, and schedules the next deadline.
    fn flush_tcp(&mut self, number: usize, side: Side) {
        let now = self.now;
        if let Some((app, at)) = self.tcp[number].end_mut(side).read(now) {
            self.events.push(at, Target::App(app));
        }
        self.count_tcp(number, side);
        self.hear_tcp(number, side);
        self.transmit_tcp(number, side);
        let end = self.tcp[number].end_mut(side);
        end.record(self.scenario.probes.chunks);
        if let Some(at) = end.arm() {
            self.events.push(at, target(number, side));
        }
    }

    /// Counts new deliveries at one end, which may complete the source at the other.
    fn count_tcp(&mut self, number: usize, side: Side) {
        let now = self.now;
        let line = &mut self.tcp[number];
        let Some(total) = line.end_mut(side).count(now) else { return };
        if let Some(app) = line.end_mut(side.other()).was_delivered(now, total) {
            self.happened(Trigger::Delivered { app: app as usize });
        }
    }

    fn hear_tcp(&mut self, number: usize, side: Side) {
        let now = self.now;
        let line = &mut self.tcp[number];
        while let Some(event) = line.end_mut(side).connection.as_mut().and_then(|c| c.poll_event()) {
            let end = line.end_mut(side);
            match event {
                Event::Connected => {
                    end.established.get_or_insert(now);
                }
                Event::PeerFinished => end.peer_finished(),
                Event::Closed => end.ended = Some("closed in good order".to_owned()),
                Event::Lost(why) => end.ended = Some(format!("lost: {why:?}")),
            }
        }
    }

    fn transmit_tcp(&mut self, number: usize, side: Side) {
        let now = self.now;
        let end = self.tcp[number].end_mut(side);
        let (source, destination) = (end.local, end.remote);
        let ip_header = ip_header_len(self.addresses[source.index()]);
        loop {
            let mut bytes = self.network.pool.buffer();
            let connection = self.tcp[number].end_mut(side).connection.as_mut();
            let Some(len) = connection.and_then(|c| c.poll_transmit(now, &mut bytes)) else {
                self.network.pool.recycle(bytes);
                return;
            };
            let body = Body::Tcp { connection: number as u32, to: side.other() };
            let ports = Packet::ports_of(&bytes);
            let wire_len = ip_header + bytes.len() as u32 + len;
            self.network.send(
                now,
                &mut self.events,
                Packet {
                    source,
                    destination,
                    inner: None,
                    body,
                    ports,
                    wire_len,
                    may_fragment: false,
                    ecn: Ecn::NotEct,
                    needs_checksum: false,
                    bytes,
                },
            );
        }
    }
}

fn target(number: usize, side: Side) -> Target {
    Target::Tcp(2 * number as u32 + u32::from(side == Side::Server))
}

/// Returns the clients' ports. A client without one gets a free one from 10000 on.
fn client_ports(scenario: &Scenario) -> Result<Vec<u16>, ScenarioError> {
    let mut free = FreePorts::default();
    for spec in &scenario.tcp {
        free.take(&spec.client, spec.client_port);
    }
    let mut ports = Vec::with_capacity(scenario.tcp.len());
    for spec in &scenario.tcp {
        ports.push(match spec.client_port {
            0 => free.next(&spec.client, || format!("tcp.{}.client_port", spec.name))?,
            port => port,
        });
    }
    Ok(ports)
}
