//! SCTP in a run: passes packets and timers to the hosts' endpoints, and their output to links, applications
//! and counters.

use msctp_proto::handover::{LinkEvent, LinkState};
use msctp_proto::{
    AddressRequest, Association, DatagramOutcome, ENCAPSULATION_PORT, Event, Handle, LinkChange, LocalAddrs,
    PathAddr, PathId, PrimaryCause, RemoteAddrs,
};
use msctp_units::Span;

use crate::action::{Act, Call, Trigger};
use crate::capture::ip_header_len;
use crate::event::Target;
use crate::event_lines::Source;
use crate::host::Host;
use crate::line::{Handover, Last, path_to};
use crate::packet::{Body, Packet, PacketId};
use crate::scenario::{Interface, Side, UDP_HEADER};

use super::Simulation;

impl Simulation {
    /// Delivers an SCTP packet to its host.
    pub(crate) fn on_sctp(&mut self, number: u32, id: PacketId) {
        let now = self.now;
        let packet = self.network.pool.packet_mut(id);
        let at = PathAddr {
            local: self.addresses[packet.destination.index()],
            remote: self.addresses[packet.source.index()],
        };
        let Some(host) = &mut self.hosts[number as usize] else {
            self.network.pool.release(id);
            return;
        };
        let (udp_port, ecn, bytes) = (packet.ports.0, packet.ecn, &mut packet.bytes);
        let outcome = match host.udp {
            Some(_) => host.endpoint.handle_encapsulated_datagram(now, at, udp_port, ecn, bytes),
            None => host.endpoint.handle_marked_datagram(now, at, ecn, bytes),
        };
        let ports = Packet::ports_of(&packet.bytes);
        if let Some(udp) = &mut host.udp {
            udp.received(&host.endpoint, outcome, at, udp_port);
        }
        self.network.pool.release(id);
        let end = match outcome {
            DatagramOutcome::Association(handle) | DatagramOutcome::Unverified(handle) => {
                host.line(handle).map(|end| (end, handle))
            }
            DatagramOutcome::Accepted(handle) => {
                self.accept(number, handle, at, ports).map(|end| (end, handle))
            }
            DatagramOutcome::Replied | DatagramOutcome::Ignored(_) => None,
        };
        let touched = end.map(|((line, side), handle)| (line, side, handle));
        if let Some((line, side, handle)) = touched {
            self.exchange(line, side, handle, Some(at));
        }
        self.flush(number, touched);
        if let Some(udp) = self.hosts[number as usize].as_mut().and_then(|host| host.udp.as_mut()) {
            udp.settled();
        }
    }

    /// Returns the scenario's association for a new one at a server.
    fn accept(
        &mut self,
        number: u32,
        handle: Handle,
        at: PathAddr,
        (client_port, server_port): (u16, u16),
    ) -> Option<(u32, Side)> {
        let client = self.network.ports[self.numbers.get(&at.remote)?.index()].host;
        let ports = (client_port, server_port);
        let line = self.index.between(number, client, ports).map(|line| line as usize).or_else(|| {
            self.lines.iter().zip(&self.ports).position(|(line, &of_line)| {
                of_line == ports
                    && line.end(Side::Server).host == number
                    && (line.end(Side::Client).host == client || line.knows_as(at.remote))
            })
        })?;
        self.lines[line].end_mut(Side::Server).handle = Some(handle);
        if let Some(host) = &mut self.hosts[number as usize] {
            host.enter(handle, line as u32, Side::Server);
        }
        self.notify_own_quality(line, Side::Server);
        Some((line as u32, Side::Server))
    }

    /// Lets the applications at one end of an association read and write.
    #[inline]
    fn exchange(&mut self, line: u32, side: Side, handle: Handle, at: Option<PathAddr>) {
        let now = self.now;
        let both = &mut self.lines[line as usize];
        let host = both.end(side).host;
        let Some(host) = &mut self.hosts[host as usize] else { return };
        let Some(association) = host.endpoint.association_mut(handle) else { return };
        let ended = both.read(now, side, association, at);
        let end = both.end_mut(side);
        end.fill(now, association);
        if let Some((app, reader)) = &mut end.reader
            && association.readable()
            && let Some(next) = reader.arm(now)
        {
            self.events.push(next, Target::App(*app));
        }
        if ended {
            self.notify_delivered(line, side.other());
        }
    }

    /// Records the completion of sources of this end.
    fn notify_delivered(&mut self, line: u32, from: Side) {
        let now = self.now;
        let sources = &self.lines[line as usize].end(from).sources;
        let done: Vec<u32> =
            sources.iter().filter(|(_, s)| s.completed() == Some(now)).map(|(app, _)| *app).collect();
        for app in done {
            self.happened(Trigger::Delivered { app: app as usize });
        }
    }

    /// Runs the due actions of the applications at one end of an association.
    pub(crate) fn serve(&mut self, line: usize, side: Side) {
        let end = self.lines[line].end(side);
        let host = end.host;
        if let Some(handle) = end.handle {
            self.exchange(line as u32, side, handle, None);
            self.flush(host, Some((line as u32, side, handle)));
        }
    }

    /// Handles an endpoint's deadline.
    pub(crate) fn on_host_timer(&mut self, number: u32) {
        let now = self.now;
        if let Some(host) = &mut self.hosts[number as usize] {
            host.woken(now);
            host.endpoint.handle_timeout(now);
        }
        self.flush(number, None);
    }

    /// Drains packets and events of a host's endpoint, and schedules its next deadline. `touched` is the end
    /// whose association was just called.
    pub(crate) fn flush(&mut self, number: u32, touched: Option<(u32, Side, Handle)>) {
        self.transmit(number);
        if let Some((line, side, handle)) = touched {
            self.feed(number, line, side, handle);
        }
        let now = self.now;
        let Some(host) = &mut self.hosts[number as usize] else { return };
        if let Some(at) = host.arm(now) {
            self.events.push(at, Target::Host(number));
        }
        self.hear(number);
    }

    fn transmit(&mut self, number: u32) {
        let now = self.now;
        let Some(host) = &mut self.hosts[number as usize] else { return };
        let mut buffer = self.network.pool.buffer();
        while let Some((handle, transmit)) = host.endpoint.poll_transmit_from(now, &mut buffer) {
            debug_assert_eq!(transmit.segment_size, None, "profiles have no max_segments");
            let bytes = std::mem::replace(&mut buffer, self.network.pool.buffer());
            let ports = match &host.udp {
                None => Some(((0, 0), 0)),
                Some(udp) => udp.port(handle, &transmit).map(|to| ((ENCAPSULATION_PORT, to), UDP_HEADER)),
            };
            if let (Some((ports, udp_header)), Some((source, destination))) =
                (ports, host.numbers(handle, transmit.at, &self.numbers))
            {
                let wire_len = bytes.len() as u32 + udp_header + ip_header_len(transmit.at.local);
                let (may_fragment, ecn) = (transmit.may_fragment, transmit.ecn);
                let packet = Packet {
                    source,
                    destination,
                    inner: None,
                    body: Body::Sctp,
                    ports,
                    wire_len,
                    may_fragment,
                    ecn,
                    needs_checksum: transmit.needs_checksum,
                    bytes,
                };
                self.network.send(now, &mut self.events, packet);
            } else {
                self.network.strays.no_route += 1;
                self.network.pool.recycle(bytes);
            }
        }
        self.network.pool.recycle(buffer);
    }

    /// Refills the send buffer as long as the association sends more.
    #[inline]
    fn feed(&mut self, number: u32, line: u32, side: Side, handle: Handle) {
        loop {
            let Some(host) = &mut self.hosts[number as usize] else { return };
            let end = self.lines[line as usize].end_mut(side);
            if end.sources.is_empty() || host.endpoint.association(handle).is_none_or(|a| !end.is_hungry(a)) {
                return;
            }
            let Some(association) = host.endpoint.association_mut(handle) else { return };
            if !end.fill(self.now, association) {
                return;
            }
            self.transmit(number);
        }
    }

    /// Handles events and traces of a host's associations.
    fn hear(&mut self, number: u32) {
        while let Some((handle, event)) =
            self.hosts[number as usize].as_mut().and_then(|host| host.endpoint.poll_event())
        {
            // Both ends read and write at every packet.
            if matches!(event, Event::Readable | Event::Writable | Event::StreamWritable(_)) {
                continue;
            }
            let line = self.hosts[number as usize].as_ref().and_then(|host| host.line(handle));
            if let Some((line, side)) = line {
                self.on_event(line, side, handle, &event);
            }
        }
        if !self.scenario.probes.trace {
            return;
        }
        let Some(host) = &mut self.hosts[number as usize] else { return };
        while let Some((handle, event)) = host.endpoint.poll_trace() {
            let Some((line, side)) = host.line(handle) else { continue };
            let number = line as usize;
            let association = &self.scenario.associations[number].name;
            self.observer.event(Source { number, association, side: side.word() }, &event);
            if let Some(trace) = &mut self.lines[number].end_mut(side).trace {
                trace.add(event, self.scenario.probes.chunks);
            }
        }
    }

    fn on_event(&mut self, line: u32, side: Side, handle: Handle, event: &Event) {
        let association = line as usize;
        match event {
            Event::Connected { .. } if side == Side::Client => {
                self.lines[association].established.get_or_insert(self.now);
                self.happened(Trigger::Established { association });
            }
            &Event::PrimaryChanged { path, cause } => self.on_primary(association, side, handle, path, cause),
            &Event::AddressChange { request, accepted: true } => match request {
                AddressRequest::Add(address) => {
                    self.notify_own_quality(association, side);
                    self.happened(Trigger::AddressAdded { association, address });
                }
                AddressRequest::Delete(address) => {
                    self.happened(Trigger::AddressDeleted { association, address });
                }
                AddressRequest::SetPrimary(_) | AddressRequest::KeepOnly(_) => {}
            },
            &Event::AddressChange { request, accepted: false } => self.refuse(association, side, request),
            Event::Closed => self.on_end(association, side, handle, "closed in good order".to_owned()),
            Event::Lost(reason) => self.on_end(association, side, handle, format!("lost: {reason:?}")),
            _ => {}
        }
    }

    fn on_primary(
        &mut self,
        association: usize,
        side: Side,
        handle: Handle,
        path: PathId,
        cause: PrimaryCause,
    ) {
        let number = self.lines[association].end(side).host;
        let Some(host) = &self.hosts[number as usize] else { return };
        let paths = host.endpoint.association(handle).into_iter().flat_map(Association::paths);
        let Some(to) = paths.into_iter().find(|p| p.id == path).map(|p| p.at) else { return };
        let handover = Handover { at: self.now, to, cause, gap: Span::ZERO };
        self.lines[association].end_mut(side).handovers.push(handover);
        let address = self.lines[association].own_name(to.remote);
        self.happened(Trigger::PrimaryChanged { association, address });
    }

    /// Records that the peer rejected the request of an action.
    fn refuse(&mut self, association: usize, side: Side, request: AddressRequest) {
        let asked = match request {
            AddressRequest::Add(address) => Call::AddAddress(address),
            AddressRequest::Delete(address) => Call::DeleteAddress(address),
            AddressRequest::SetPrimary(address) => Call::RequestPrimary(address),
            // No action makes this request.
            AddressRequest::KeepOnly(_) => return,
        };
        let is_it = |act: &Act| matches!(*act, Act::Association { association: a, side: s, call } if a == association && s == side && call == asked);
        let mut done = self.plan.actions.iter_mut().filter(|p| p.done.is_some() && p.refused.is_none());
        if let Some(action) = done.find(|p| is_it(&p.act)) {
            action.refused = Some("the peer refused it".to_owned());
        }
    }

    /// Records the end of an association at this end, with its counters.
    fn on_end(&mut self, association: usize, side: Side, handle: Handle, why: String) {
        let number = self.lines[association].end(side).host;
        let Some(host) = &self.hosts[number as usize] else { return };
        if let Some(a) = host.endpoint.association(handle) {
            let last = Last::of(a, Some(why));
            let end = self.lines[association].end_mut(side);
            end.ended = Some(last);
        }
    }

    /// Executes an action's call at one end of an association.
    pub(crate) fn call(&mut self, association: usize, side: Side, call: Call) -> Result<(), String> {
        if call == Call::Connect {
            return self.connect(association);
        }
        let now = self.now;
        let end = self.lines[association].end(side);
        let number = end.host;
        let handle = end.handle.ok_or("the association is not up")?;
        let host = self.hosts[number as usize].as_mut().ok_or("the host has no SCTP")?;
        let a = host.endpoint.association_mut(handle).ok_or("the association has ended")?;
        let paths: Vec<_> = a.paths().collect();
        let line = &self.lines[association];
        let result = match call {
            Call::Connect => Ok(()),
            Call::AddAddress(address) if line.is_translated(address) => {
                a.add_translated_address(now, address)
            }
            Call::AddAddress(address) => a.add_local_address(now, address),
            Call::DeleteAddress(address) => a.remove_local_address(now, address),
            Call::RequestPrimary(address) => a.request_peer_primary(now, address),
            Call::SetPrimary { to, from } => {
                let path = path_to(&paths, line.seen_as(to), from)
                    .ok_or_else(|| format!("there is no path to {to} yet"))?;
                a.set_primary(now, path)
            }
            Call::Heartbeat(address) => {
                let path = path_to(&paths, line.seen_as(address), None)
                    .ok_or_else(|| format!("there is no path to {address} yet"))?;
                a.request_heartbeat(now, path)
            }
            Call::ReportQuality(local, quality) => {
                a.link_event(now, LinkEvent { local, state: LinkState::Quality(quality) })
            }
            Call::Shutdown => {
                a.shutdown(now);
                Ok(())
            }
        };
        self.flush(number, Some((association as u32, side, handle)));
        result.map_err(|e| e.to_string())
    }

    fn connect(&mut self, association: usize) -> Result<(), String> {
        let spec = &self.scenario.associations[association];
        let (client_port, server_port) = self.ports[association];
        let local = LocalAddrs { port: client_port, addresses: spec.client_addresses.clone() };
        let remote = RemoteAddrs { port: server_port, addresses: spec.server_addresses.clone() };
        let config = self.configs.of(spec.client_profile.as_deref());
        let number = self.lines[association].end(Side::Client).host;
        let host = self.hosts[number as usize].as_mut().ok_or("the host has no SCTP")?;
        let handle = host.endpoint.connect(self.now, config, local, remote).map_err(|e| e.to_string())?;
        host.enter(handle, association as u32, Side::Client);
        let encapsulated = host.udp.is_some();
        if let Some(a) = host.endpoint.association_mut(handle) {
            if encapsulated {
                a.encapsulate(ENCAPSULATION_PORT);
            }
            let line = &self.lines[association];
            for &address in spec.client_addresses.iter().filter(|address| line.is_translated(**address)) {
                a.set_translated(address, true).map_err(|e| e.to_string())?;
            }
        }
        self.lines[association].end_mut(Side::Client).handle = Some(handle);
        self.notify_own_quality(association, Side::Client);
        self.serve(association, Side::Client);
        Ok(())
    }

    /// Reports the state of a link to the associations with an address on it.
    pub(crate) fn notify_link_state(&mut self, link: usize, up: bool) {
        let state = if up { LinkState::Up } else { LinkState::Down };
        for number in self.index.interfaces_on(link).to_vec() {
            if !self.report_interface(number as usize) {
                let interface = self.interfaces[number as usize];
                self.notify_end(&interface, state);
            }
        }
    }

    /// Reports the quality of a radio link to the associations with an address on it.
    pub(crate) fn notify_quality(&mut self, link: usize) {
        for interface in self.ends_of_link(link) {
            if let Some(quality) = self.quality(&interface) {
                self.notify_end(&interface, LinkState::Quality(quality));
            }
        }
    }

    /// Reports the quality of the links below its addresses to one end of an association.
    fn notify_own_quality(&mut self, line: usize, side: Side) {
        let (now, end) = (self.now, self.lines[line].end(side));
        let (number, Some(handle)) = (end.host, end.handle) else { return };
        let own = self.index.interfaces_of(number).iter().map(|&own| &self.interfaces[own as usize]);
        let own: Vec<_> = own.filter_map(|i| Some((i.address, self.quality(i)?))).collect();
        let Some(host) = &mut self.hosts[number as usize] else { return };
        let Some(association) = host.endpoint.association_mut(handle) else { return };
        for (local, quality) in own {
            // Rejections are ignored, as below.
            let _ = association.link_event(now, LinkEvent { local, state: LinkState::Quality(quality) });
        }
    }

    /// Returns the interfaces on a link.
    fn ends_of_link(&self, link: usize) -> Vec<Interface> {
        self.index.interfaces_on(link).iter().map(|&number| self.interfaces[number as usize]).collect()
    }

    /// Reports the links to the hosts that follow theirs, at the start.
    pub(crate) fn report_links(&mut self) {
        for number in 0..self.interfaces.len() {
            self.report_interface(number);
        }
    }

    /// Reports an interface to its host. Returns false if that does not follow its links.
    pub(crate) fn report_interface(&mut self, number: usize) -> bool {
        let (now, Interface { node, link, address, .. }) = (self.now, self.interfaces[number]);
        let follows = |host: &&mut Box<Host>| host.endpoint.follows_links();
        let Some(host) = self.hosts[node].as_mut().filter(follows) else { return false };
        let addresses = self.network.ports[number].present.then_some(address);
        let report = LinkChange::new(number as u32, self.scenario.links[link].name.as_str())
            .with_addresses(addresses)
            .with_carrier(self.network.is_up(2 * link));
        host.endpoint.link_change(now, &[report]);
        // The host needs no sockets.
        while host.endpoint.poll_socket().is_some() {}
        self.flush(node as u32, None);
        true
    }

    fn notify_end(&mut self, interface: &Interface, state: LinkState) {
        let now = self.now;
        let number = interface.node as u32;
        for &(line, side) in self.index.ends(number) {
            let Some(handle) = self.lines[line as usize].end(side).handle else { continue };
            let Some(host) = &mut self.hosts[number as usize] else { continue };
            let Some(a) = host.endpoint.association_mut(handle) else { continue };
            // Rejected if the association does not have the address, or not yet; ignored then.
            let _ = a.link_event(now, LinkEvent { local: interface.address, state });
        }
        self.flush(number, None);
    }
}
