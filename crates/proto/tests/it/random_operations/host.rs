//! One end: an endpoint, the application above it, and its observations.

use core::net::IpAddr;
use std::collections::{BTreeSet, VecDeque};

use msctp_proto::handover::LinkQuality;
use msctp_proto::handover::{LinkEvent, LinkState};
use msctp_proto::{
    AbortReason, AddressRequest, Association, AssociationState, DatagramOutcome, Endpoint, EndpointConfig,
    Event, Handle, LocalAddrs, LossReason, OutMessage, PathAddr, PathId, PathState, PathStats, PrimaryCause,
    ReconfigOutcome, Reliability, SendError, StreamEvent, StreamRequest,
};
use msctp_units::{Rate, Span, Time};
use msctp_wire::{Checksum, Chunk, Packet};

use crate::random_operations::coverage::{Feature, Set};
use crate::random_operations::ledger::{Inbox, Outbox};
use crate::random_operations::network::Network;
use crate::random_operations::plan::{Link, Op, Pace, Setup, Side, scheduler_name};
use crate::random_operations::rng;
use crate::random_operations::watch::Watch;

/// Largest number of packets that one end may send at one instant, and of timeouts in a second of virtual
/// time. More is a livelock.
const MAX_PACKETS_AT_ONCE: u32 = 10_000;
const MAX_TIMEOUTS_PER_SECOND: u32 = 5_000;
/// Largest number of timeouts at one instant without a packet between them.
const MAX_IDLE_TIMEOUTS: u32 = 8;

pub(crate) const PORTS: [u16; 2] = [5000, 5001];

/// An association beside the one under test, created by a late copy of a COOKIE ECHO.
struct Ghost {
    handle: Handle,
    inbox: Inbox,
}

/// Counters of one end in a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) writable: u32,
    pub(crate) stream_writable: u32,
    pub(crate) primary_changes: u32,
    pub(crate) paths_failed: u32,
    pub(crate) address_requests: u32,
    pub(crate) address_answers: u32,
    pub(crate) failures: u32,
    pub(crate) restarts: u32,
    pub(crate) abandoned: u32,
    pub(crate) abandoned_unsent: u32,
    pub(crate) partial_aborts: u32,
    pub(crate) stream_answers: u32,
    pub(crate) streams_reset: u32,
    pub(crate) streams_added: u32,
}

/// Streams as seen by one end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    /// Number of streams in each direction.
    pub(crate) outbound: u16,
    pub(crate) inbound: u16,
    /// Unanswered requests of the application.
    asked: Vec<StreamRequest>,
}

pub(crate) struct Host {
    side: Side,
    endpoint: Endpoint,
    pub(crate) restarts: u32,
    pub(crate) main: Option<Handle>,
    ghosts: Vec<Ghost>,
    /// The server's address that is never deleted.
    anchor: IpAddr,
    pub(crate) outbox: Outbox,
    pub(crate) inbox: Inbox,
    /// Messages that did not fit the send buffer.
    backlog: VecDeque<OutMessage>,
    pace: Pace,
    /// The stream that is not read.
    held: Option<u16>,
    next_read: Option<Time>,
    wake: Option<Time>,
    /// Number of outbound streams in `Event::Connected`.
    pub(crate) connected: Option<u16>,
    pub(crate) ended: Option<(Time, Event)>,
    links_down: Vec<IpAddr>,
    /// Addresses deleted with the peer's consent, and not added again since.
    deleted: Vec<IpAddr>,
    /// Addresses that the peer knows, without those to be deleted.
    kept: Vec<IpAddr>,
    /// Requested deletions.
    deleting: Vec<IpAddr>,
    adding: Vec<IpAddr>,
    /// Addresses added by the wildcard, in a packet from themselves. If their network failed meanwhile, the
    /// peer may or may not know them.
    pub(crate) by_wildcard: Vec<IpAddr>,
    /// Addresses of such requests that are unanswered.
    from_there: Vec<IpAddr>,
    /// This end's address on the only working path.
    pub(crate) alive: Option<IpAddr>,
    pub(crate) streams: Streams,
    /// Events since the last check.
    pub(crate) moments: Vec<Feature>,
    /// True if the application closed or aborted the association.
    pub(crate) aborted: bool,
    send_buffer: u64,
    second: u64,
    timeouts: u32,
    instant: Time,
    packets: u32,
    idle_timeouts: u32,
    pub(crate) most_paths: usize,
    /// Paths that were ever active, and so confirmed.
    confirmed: BTreeSet<PathId>,
    pub(crate) counts: Counts,
    primary: Primary,
}

/// The state according to `Event::PrimaryChanged`.
#[derive(Debug, Default)]
struct Primary {
    /// The primary path; `None` until it is queried after the set-up or a restart.
    known: Option<PathId>,
    /// The path in the last event.
    named: Option<PathId>,
}

/// Creates an endpoint; the server listens.
fn endpoint(side: Side, setup: &Setup, restarts: u32) -> Endpoint {
    let purpose = if side == Side::Mobile { "mobile" } else { "server" };
    let seed = rng::bytes(setup.seed.wrapping_add(u64::from(restarts) << 32), purpose);
    let mut endpoint = Endpoint::new(EndpointConfig::default(), seed).unwrap();
    if side == Side::Server {
        let local = LocalAddrs { port: PORTS[1], addresses: setup.addresses(side) };
        endpoint.listen(local, setup.server.config(setup)).unwrap();
    }
    endpoint
}

/// Returns the first TSN that the mobile sends.
pub(crate) fn initial_tsn(setup: &Setup) -> u32 {
    let mut host = Host::new(Side::Mobile, setup);
    host.connect(Time::ZERO, setup);
    let mut packet = Vec::new();
    host.endpoint.poll_transmit(Time::ZERO, &mut packet).expect("an INIT");
    match Packet::parse(&packet, Checksum::Verify).expect("a packet").chunks().next() {
        Some(Ok(Chunk::Init(init))) => init.initial_tsn.get(),
        other => panic!("an INIT, not {other:?}"),
    }
}

impl Host {
    pub(crate) fn new(side: Side, setup: &Setup) -> Self {
        Self {
            side,
            endpoint: endpoint(side, setup, 0),
            restarts: 0,
            main: None,
            ghosts: Vec::new(),
            anchor: setup.named()[0],
            outbox: Outbox::default(),
            inbox: Inbox::default(),
            backlog: VecDeque::new(),
            pace: Pace::AtOnce,
            held: None,
            next_read: None,
            wake: None,
            connected: None,
            ended: None,
            links_down: Vec::new(),
            deleted: Vec::new(),
            kept: setup.addresses(side),
            deleting: Vec::new(),
            adding: Vec::new(),
            by_wildcard: Vec::new(),
            from_there: Vec::new(),
            alive: None,
            streams: Streams::default(),
            moments: Vec::new(),
            aborted: false,
            send_buffer: u64::from(setup.tuning(side).send_buffer),
            second: 0,
            timeouts: 0,
            instant: Time::ZERO,
            packets: 0,
            idle_timeouts: 0,
            most_paths: 0,
            confirmed: BTreeSet::new(),
            counts: Counts::default(),
            primary: Primary::default(),
        }
    }

    pub(crate) fn connect(&mut self, now: Time, setup: &Setup) {
        let local = LocalAddrs { port: PORTS[0], addresses: setup.addresses(Side::Mobile) };
        let remote = msctp_proto::RemoteAddrs { port: PORTS[1], addresses: setup.named() };
        self.main = Some(self.endpoint.connect(now, setup.mobile.config(setup), local, remote).unwrap());
    }

    /// Drops all state; the mobile connects again.
    pub(crate) fn restart(&mut self, now: Time, setup: &Setup) {
        let fresh = Self::new(self.side, setup);
        let old = core::mem::replace(self, fresh);
        self.restarts = old.restarts + 1;
        self.endpoint = endpoint(self.side, setup, self.restarts);
        self.counts = old.counts;
        self.counts.address_requests = self.counts.address_answers;
        self.most_paths = old.most_paths;
        (self.outbox, self.inbox) = (old.outbox, old.inbox);
        self.outbox.excuse();
        self.outbox.begin_epoch();
        if self.side == Side::Mobile {
            self.connect(now, setup);
        }
    }

    pub(crate) fn association(&self) -> Option<&Association> {
        self.endpoint.association(self.main?)
    }

    pub(crate) fn state(&self) -> Option<AssociationState> {
        self.association().map(Association::state)
    }

    pub(crate) fn is_setting_up(&self) -> bool {
        matches!(self.state(), Some(AssociationState::CookieWait | AssociationState::CookieEchoed))
    }

    pub(crate) fn paths(&self) -> Vec<PathStats> {
        self.association().map(|association| association.paths().collect()).unwrap_or_default()
    }

    /// Returns the paths that ever worked and whose local address is to stay.
    pub(crate) fn confirmed_paths(&self) -> Vec<PathStats> {
        let worked =
            |path: &PathStats| self.confirmed.contains(&path.id) && self.kept.contains(&path.at.local);
        self.paths().into_iter().filter(worked).collect()
    }

    /// Returns true if no association is left and no timer runs.
    pub(crate) fn is_gone(&self) -> bool {
        self.endpoint.is_empty()
    }

    pub(crate) fn timer(&self) -> Option<Time> {
        self.wake
    }

    pub(crate) fn has_ghosts(&self) -> bool {
        !self.ghosts.is_empty()
    }

    /// Returns true if all messages were acknowledged, or no more can be.
    pub(crate) fn is_quiet(&self) -> bool {
        if self.ended.is_some() {
            return true;
        }
        let Some(association) = self.association() else { return true };
        association.state() == AssociationState::Established
            && self.backlog.is_empty()
            && association.buffered() == 0
            && self.counts.address_requests - self.counts.address_answers <= self.stranded()
            && self.streams.asked.is_empty()
    }

    /// Describes what [`is_quiet`](Self::is_quiet) waits for, besides the send buffer.
    pub(crate) fn unfinished(&self) -> String {
        let first = self.backlog.front().map(|message| (message.stream, message.data.len()));
        let addresses = self.counts.address_requests - self.counts.address_answers;
        format!(
            "backlog {} {first:?} addresses {addresses} asked {:?}",
            self.backlog.len(),
            self.streams.asked
        )
    }

    /// Counts requests that cannot be answered. A request that can only leave from a dead address waits until
    /// that address recovers or other data needs it.
    fn stranded(&self) -> u32 {
        let dead = |ip: &IpAddr| self.alive.is_some_and(|alive| alive != *ip);
        u32::from(self.from_there.iter().any(dead))
    }

    /// Returns a number that grows as long as there is progress.
    pub(crate) fn progress(&self) -> u64 {
        let acked = self.association().map_or(0, |association| association.stats().bytes_acked);
        let answers = u64::from(self.counts.address_answers);
        acked
            + answers
            + u64::from(self.counts.abandoned)
            + u64::from(self.counts.stream_answers + self.counts.streams_reset + self.counts.streams_added)
            + self.inbox.bytes
            + self.state().map_or(0, |state| state as u64)
            + self.endpoint.len() as u64
    }

    /// Returns the features that are busy.
    pub(crate) fn busy(&self) -> Set {
        let Some(association) = self.association() else { return Set::default() };
        let mut set = Set::default();
        set.put(
            Feature::Interleaving,
            association.agreed().is_some_and(|agreed| agreed.interleaving) && association.buffered() > 0,
        );
        set.put(Feature::Reconfiguration, !self.streams.asked.is_empty());
        set.put(Feature::PathDeath, association.paths().any(|path| path.state == PathState::Inactive));
        set.put(Feature::Addresses, self.counts.address_requests > self.counts.address_answers);
        set
    }

    /// Returns the time of its next action.
    pub(crate) fn next(&self) -> Option<Time> {
        [self.wake, self.next_read].into_iter().flatten().min()
    }

    pub(crate) fn receive(&mut self, now: Time, at: PathAddr, bytes: &[u8], watch: &mut Watch) {
        if let DatagramOutcome::Accepted(handle) = self.endpoint.handle_datagram(now, at, &mut bytes.to_vec())
        {
            if self.main.is_none() {
                self.main = Some(handle);
            } else {
                self.ghosts.push(Ghost { handle, inbox: Inbox::default() });
                watch.disturb();
            }
        }
    }

    /// Runs timers and slow reading.
    pub(crate) fn act(&mut self, now: Time, outbox: &mut Outbox) {
        if self.wake.is_some_and(|wake| wake <= now) {
            if self.second != now.as_nanos() / 1_000_000_000 {
                (self.second, self.timeouts) = (now.as_nanos() / 1_000_000_000, 0);
            }
            self.timeouts += 1;
            self.idle_timeouts += 1;
            assert!(self.timeouts <= MAX_TIMEOUTS_PER_SECOND, "{:?}: timeouts without end", self.side);
            self.endpoint.handle_timeout(now);
        }
        if self.next_read.is_some_and(|next| next <= now) {
            self.read(1, outbox);
            self.schedule_read(now);
        }
    }

    fn schedule_read(&mut self, now: Time) {
        self.next_read = match self.pace {
            Pace::OneEvery { ms } => Some(now + Span::from_millis(u64::from(ms.max(1)))),
            Pace::AtOnce | Pace::Never | Pace::AllBut { .. } => None,
        };
        if self.ended.is_some() && !self.association().is_some_and(Association::readable) {
            self.next_read = None;
        }
    }

    pub(crate) fn set_pace(&mut self, now: Time, pace: Pace) {
        let held = self.held.take();
        if let Some(association) = self.main.and_then(|main| self.endpoint.association_mut(main)) {
            if let Some(stream) = held {
                association.leave_stream(stream);
                self.inbox.rejoin(stream);
            }
            if let Pace::AllBut { stream } = pace {
                self.held = association.claim_stream(stream).then_some(stream);
            }
        }
        self.pace = if let Pace::AllBut { .. } = pace { Pace::AtOnce } else { pace };
        self.schedule_read(now);
    }

    /// Reads up to `limit` messages of the association under test.
    fn read(&mut self, limit: usize, from: &mut Outbox) -> bool {
        let Some(handle) = self.main.filter(|_| self.association().is_some_and(Association::readable)) else {
            return false;
        };
        let association = self.endpoint.association_mut(handle).unwrap();
        for _ in 0..limit {
            let Some(message) = next_message(association) else { break };
            self.inbox.take(&message, from);
        }
        true
    }

    fn read_ghosts(&mut self, from: &mut Outbox) -> bool {
        let mut read = false;
        for ghost in &mut self.ghosts {
            if !self.endpoint.association(ghost.handle).is_some_and(Association::readable) {
                continue;
            }
            let association = self.endpoint.association_mut(ghost.handle).unwrap();
            while let Some(message) = next_message(association) {
                ghost.inbox.take(&message, from);
                read = true;
            }
        }
        read
    }

    /// Polls all output of the last calls.
    pub(crate) fn drain(&mut self, now: Time, network: &mut Network, watch: &mut Watch, from: &mut Outbox) {
        loop {
            self.transmit(now, network, watch);
            let mut again = self.take_events(now);
            if self.pace == Pace::AtOnce {
                again |= self.read(usize::MAX, from);
            }
            again |= self.read_ghosts(from);
            if !again {
                break;
            }
        }
        self.wake = self.endpoint.poll_timeout();
        if self.wake.is_some_and(|wake| wake <= now) {
            assert!(
                self.idle_timeouts <= MAX_IDLE_TIMEOUTS,
                "{:?}: the timer at {:?} fires again and again at {now:?} and nothing happens",
                self.side,
                self.wake
            );
        }
        self.check_association();
    }

    fn transmit(&mut self, now: Time, network: &mut Network, watch: &mut Watch) {
        if self.instant != now {
            (self.instant, self.packets, self.idle_timeouts) = (now, 0, 0);
        }
        let mut buffer = Vec::new();
        while let Some(transmit) = self.endpoint.poll_transmit(now, &mut buffer) {
            self.idle_timeouts = 0;
            assert_eq!(buffer.len(), transmit.len, "length of what was appended");
            let segment = transmit.segment_size.unwrap_or(transmit.len);
            assert!(transmit.segment_size.is_none_or(|size| size < transmit.len), "{transmit:?}");
            assert!(
                transmit.path.is_none() || self.has_ghosts() || !self.deleted.contains(&transmit.at.local),
                "{:?}: sends from an address that was deleted: {transmit:?}",
                self.side
            );
            for packet in buffer.chunks(segment) {
                self.packets += 1;
                watch.packet(now, self.side, &transmit, packet, self.inbox.bytes);
                network.send(now, self.side, transmit.at, packet);
            }
            assert!(
                self.packets <= MAX_PACKETS_AT_ONCE,
                "{:?}: packets without end at one instant",
                self.side
            );
            buffer.clear();
        }
    }

    /// Polls events; returns true if one of them made the application act.
    fn take_events(&mut self, now: Time) -> bool {
        let mut writable = false;
        while let Some((handle, event)) = self.endpoint.poll_event() {
            if Some(handle) != self.main {
                continue;
            }
            assert!(self.ended.is_none(), "{:?}: {event:?} after the end", self.side);
            match event {
                Event::Connected { outbound_streams, inbound_streams } => {
                    self.streams = Streams {
                        outbound: outbound_streams,
                        inbound: inbound_streams,
                        ..Streams::default()
                    };
                    assert!(self.connected.is_none(), "connected twice");
                    self.connected = Some(outbound_streams);
                }
                Event::Restarted => {
                    self.connected = None;
                    self.primary = Primary::default();
                    self.outbox.begin_epoch();
                    // Outstanding requests belonged to the association that ended.
                    self.counts.address_requests = self.counts.address_answers;
                    self.counts.restarts += 1;
                }
                Event::Writable => {
                    writable = true;
                    self.counts.writable += 1;
                }
                Event::StreamWritable(_) => {
                    writable = true;
                    self.counts.stream_writable += 1;
                }
                Event::SendFailed(failure) => {
                    self.counts.failures += 1;
                    self.counts.abandoned += u32::from(failure.abandoned);
                    self.counts.abandoned_unsent += u32::from(failure.abandoned && failure.unsent);
                    if failure.abandoned && !failure.unsent {
                        self.moments.push(Feature::PartialReliability);
                    }
                    self.outbox.fail(&failure);
                }
                Event::PartialDeliveryAborted(abort) => {
                    self.counts.partial_aborts += 1;
                    self.inbox.abort(&abort);
                }
                Event::Streams(event) => self.take_stream_event(event),
                Event::PrimaryChanged { path, cause } => self.take_primary_change(path, cause),
                Event::PathState { state: PathState::Inactive, .. } => {
                    self.counts.paths_failed += 1;
                    self.moments.push(Feature::PathDeath);
                }
                Event::AddressChange { request, accepted } => self.take_address_change(request, accepted),
                Event::Closed | Event::Lost(_) => self.ended = Some((now, event)),
                _ => {}
            }
        }
        self.check_primary();
        writable && self.offer(now)
    }

    /// Checks that an event names either another primary, or another path for its data.
    fn take_primary_change(&mut self, path: PathId, cause: PrimaryCause) {
        self.counts.primary_changes += 1;
        let (side, old) = (self.side, &self.primary);
        if cause == PrimaryCause::Failover {
            assert_ne!(old.named, Some(path), "{side:?}: failover to where data went");
        } else {
            assert_ne!(old.known, Some(path), "{side:?}: {cause:?} names the primary that it was");
            self.primary.known = self.primary.known.map(|_| path);
        }
        self.primary.named = Some(path);
    }

    /// Checks that the primary is that of the last event that named one.
    fn check_primary(&mut self) {
        if self.connected.is_none() || self.ended.is_some() {
            return;
        }
        let primary = self.paths().iter().find(|path| path.primary).map(|path| path.id);
        if let Some(known) = self.primary.known {
            assert_eq!(primary, Some(known), "{:?}: another primary without an event", self.side);
        }
        self.primary.known = primary;
    }

    fn take_address_change(&mut self, request: AddressRequest, accepted: bool) {
        self.counts.address_answers += 1;
        self.moments.push(Feature::Addresses);
        if let AddressRequest::Add(address) | AddressRequest::SetPrimary(address) = request
            && let Some(index) = self.from_there.iter().position(|ip| *ip == address)
        {
            self.from_there.remove(index);
        }
        if let AddressRequest::Add(address) = request {
            // The application may have requested it again already.
            if let Some(index) = self.adding.iter().position(|ip| *ip == address) {
                self.adding.remove(index);
            }
        }
        match (request, accepted) {
            (AddressRequest::Delete(address), true) => {
                self.deleting.retain(|ip| *ip != address);
                // The application may have requested it back already.
                if !self.adding.contains(&address) {
                    self.deleted.push(address);
                }
            }
            (AddressRequest::Delete(address), false) => {
                self.deleting.retain(|ip| *ip != address);
                self.kept.push(address);
            }
            (AddressRequest::KeepOnly(_), true) => {
                for address in core::mem::take(&mut self.deleting) {
                    if !self.adding.contains(&address) {
                        self.deleted.push(address);
                    }
                }
            }
            (AddressRequest::KeepOnly(_), false) => self.kept.append(&mut self.deleting),
            (AddressRequest::Add(address), true) if !self.deleting.contains(&address) => {
                self.kept.push(address);
            }
            _ => {}
        }
    }

    fn take_stream_event(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Answered { request, outcome } => {
                // A request made by the peer is reported to us too.
                if let Some(own) = self.streams.asked.iter().position(|asked| *asked == request) {
                    self.streams.asked.remove(own);
                }
                self.counts.stream_answers += 1;
                self.moments.push(Feature::Reconfiguration);
                // Both of two simultaneous reset requests are rejected (RFC 6525 §4.4, Result 4). Any other
                // error would be our own fault, except that the peer may not know yet that a stream it added
                // exists (Result 3).
                let ours = match outcome {
                    ReconfigOutcome::Failed(3) if self.counts.streams_added > 0 => {
                        !matches!(request, StreamRequest::ResetIncoming(_))
                    }
                    ReconfigOutcome::Failed(4) => !matches!(request, StreamRequest::ResetIncoming(_)),
                    ReconfigOutcome::Failed(_) => true,
                    _ => false,
                };
                assert!(!ours, "{:?}: {request:?} answered by {outcome:?}", self.side);
                match request {
                    StreamRequest::ResetOutgoing(_) => self.outbox.renumber(),
                    StreamRequest::AddOutgoing(more) if outcome == ReconfigOutcome::Performed => {
                        self.streams.outbound += more;
                    }
                    _ => {}
                }
            }
            StreamEvent::IncomingReset(streams) => {
                self.counts.streams_reset += 1;
                // What follows is another use, and not held: it must not be read before this one.
                if let Some(held) = self.held.take_if(|held| streams.is_empty() || streams.contains(held))
                    && let Some(association) = self.main.and_then(|main| self.endpoint.association_mut(main))
                {
                    association.leave_stream(held);
                }
            }
            StreamEvent::ResetRequested(_) => {}
            StreamEvent::IncomingAdded(streams) => {
                self.counts.streams_added += 1;
                self.streams.inbound = streams;
            }
        }
    }

    /// Sends the backlog in order, as far as it fits.
    fn offer(&mut self, now: Time) -> bool {
        let Some(association) = self.main.and_then(|main| self.endpoint.association_mut(main)) else {
            self.backlog.clear();
            return false;
        };
        let mut any = false;
        while let Some(message) = self.backlog.front() {
            let id = message.ppid;
            match association.send(now, message.clone()) {
                Ok(()) => {
                    self.idle_timeouts = 0;
                    self.outbox.accept(id);
                }
                Err(SendError::BufferFull { .. }) => break,
                Err(SendError::Closed | SendError::InvalidStream { .. } | SendError::TooLarge { .. }) => {}
                Err(error @ (SendError::Empty | SendError::KeyManagement | SendError::NoKeys)) => {
                    panic!("message {id}: {error}")
                }
            }
            self.backlog.pop_front();
            any = true;
        }
        any
    }

    /// Checks the invariants.
    fn check_association(&mut self) {
        let Some(association) = self.main.and_then(|main| self.endpoint.association(main)) else { return };
        let buffered = association.buffered();
        assert!(buffered <= self.send_buffer, "{buffered} bytes in a send buffer of {}", self.send_buffer);
        let (mut primaries, mut flight) = (0, 0);
        self.most_paths = self.most_paths.max(association.paths().count());
        for path in association.paths() {
            primaries += u32::from(path.primary);
            flight += path.flight_size;
            if path.state == PathState::Active {
                self.confirmed.insert(path.id);
            }
            assert!(path.cwnd > 0, "a window of 0 on {}", path.id);
        }
        assert!(flight == 0 || buffered > 0, "{flight} bytes in flight and nothing buffered");
        if association.state() != AssociationState::Closed {
            assert_eq!(primaries, 1, "primary paths");
        }
    }

    /// Performs an operation of this end. `drain` polls its output.
    pub(crate) fn perform(&mut self, now: Time, op: &Op) {
        let Some(handle) = self.main else { return };
        if self.send_all(now, op) || self.change_addresses(now, op) {
            return;
        }
        let Some(association) = self.endpoint.association_mut(handle) else { return };
        match *op {
            Op::SetPrimary { path, .. } => {
                let paths: Vec<_> = association.paths().map(|path| path.id).collect();
                if let Some(&path) = paths.get(usize::from(path) % paths.len().max(1)) {
                    // An unconfirmed path is rejected.
                    let _ = association.set_primary(now, path);
                }
            }
            Op::LinkEvent { address, link, .. } => {
                let local = self.side.address(address);
                let state = match link {
                    Link::Up => LinkState::Up,
                    Link::Degrading => LinkState::Degrading,
                    Link::Down => LinkState::Down,
                    Link::PredictedDown => LinkState::PredictedDown { within: Span::from_millis(500) },
                    Link::Report { bps, round_trip_ms, cell } => LinkState::Quality(LinkQuality {
                        rate: Some(Rate::from_bps(bps)),
                        round_trip: Some(Span::from_millis(u64::from(round_trip_ms))),
                        cell: Some(u64::from(cell)),
                        ..LinkQuality::default()
                    }),
                };
                // An address that this end does not have is rejected.
                if association.link_event(now, LinkEvent { local, state }).is_ok() {
                    self.links_down.retain(|ip| *ip != local);
                    if link == Link::Down {
                        self.links_down.push(local);
                    }
                }
            }
            Op::Reset { incoming, first, count, .. } => {
                let streams = (first..).take(usize::from(count)).collect();
                match incoming {
                    true => self.ask(now, StreamRequest::ResetIncoming(streams)),
                    // Behind what is queued.
                    false if first.is_multiple_of(2) && count > 0 => self.end(now, streams),
                    false => self.ask(now, StreamRequest::ResetOutgoing(streams)),
                }
            }
            Op::AddStreams { incoming, count, .. } => {
                let request = if incoming { StreamRequest::AddIncoming } else { StreamRequest::AddOutgoing };
                self.ask(now, request(count));
            }
            Op::StreamValue { stream, value, .. } => {
                // A stream that does not exist is rejected.
                let _ = association.set_stream_value(stream, value);
            }
            Op::Schedule { scheduler, .. } => {
                association.set_scheduler(scheduler_name(scheduler)).expect("one of the registry");
            }
            Op::Shutdown { .. } => association.shutdown(now),
            Op::Abort { .. } => {
                self.aborted = true;
                association.abort(now, &AbortReason::from("enough"));
            }
            _ => {}
        }
    }

    /// Returns true if the operation sends messages.
    fn send_all(&mut self, now: Time, op: &Op) -> bool {
        let sends = match *op {
            Op::Send { stream, len, count, unordered, .. } => {
                Some((stream, len, count, unordered, Reliability::Full))
            }
            Op::SendPartial { stream, len, count, unordered, effort, .. } => {
                Some((stream, len, count, unordered, effort.reliability()))
            }
            _ => None,
        };
        if let Some((stream, len, count, unordered, reliability)) = sends {
            if self.ended.is_none() {
                let compose = |_| self.outbox.compose(stream, len as usize, unordered, reliability);
                let new: Vec<OutMessage> = (0..count).map(compose).collect();
                let waiting = !self.backlog.is_empty();
                self.backlog.extend(new);
                if !waiting {
                    self.offer(now);
                }
            }
            return true;
        }
        false
    }

    /// Returns true if the operation changes addresses.
    fn change_addresses(&mut self, now: Time, op: &Op) -> bool {
        let association = self.main.and_then(|main| self.endpoint.association_mut(main));
        let Some(association) = association else { return false };
        match *op {
            Op::AddAddress { address, .. } | Op::AddWildcard { address, .. } => {
                let address = self.side.address(address);
                let result = match op {
                    // The request must leave from there: skip it if the peer may ever lack an address
                    // reachable from there.
                    Op::AddWildcard { .. } if address.is_ipv4() != self.anchor.is_ipv4() => return true,
                    Op::AddWildcard { .. } => association.add_translated_address(now, address),
                    _ => association.add_local_address(now, address),
                };
                // An existing address is rejected, as is one after which no request is allowed yet.
                if result.is_ok() {
                    self.counts.address_requests += 1;
                    self.moments.push(Feature::Addresses);
                    self.deleted.retain(|ip| *ip != address);
                    self.adding.push(address);
                    if let Op::AddWildcard { .. } = op {
                        self.by_wildcard.push(address);
                        self.from_there.push(address);
                    }
                }
            }
            Op::RemoveAddress { address, .. } => {
                let address = self.side.address(address);
                // The application must not remove the last path to the peer: the server keeps its anchor, the
                // mobile an address from which that is reachable.
                let stays = match self.side {
                    Side::Mobile => {
                        self.kept.iter().any(|ip| *ip != address && ip.is_ipv4() == self.anchor.is_ipv4())
                    }
                    Side::Server => address != self.anchor,
                };
                if stays && association.remove_local_address(now, address).is_ok() {
                    self.counts.address_requests += 1;
                    self.moments.push(Feature::Addresses);
                    self.kept.retain(|ip| *ip != address);
                    self.deleting.push(address);
                }
            }
            Op::KeepOnly { address, .. } => {
                let address = self.side.address(address);
                // As above; a missing address, or one under deletion, is no path to the peer.
                let stays = self.kept.contains(&address)
                    && match self.side {
                        Side::Mobile => address.is_ipv4() == self.anchor.is_ipv4(),
                        Side::Server => address == self.anchor,
                    };
                if stays && association.keep_only_address(now, address).is_ok() {
                    self.counts.address_requests += 1;
                    self.moments.push(Feature::Addresses);
                    let others = self.kept.iter().chain(&self.adding).filter(|ip| **ip != address);
                    self.deleting.extend(others);
                    self.kept.retain(|ip| *ip == address);
                }
            }
            Op::RequestPrimary { address, .. } => {
                let address = self.side.address(address);
                if association.request_peer_primary(now, address).is_ok() {
                    self.counts.address_requests += 1;
                    self.from_there.extend(self.by_wildcard.contains(&address).then_some(address));
                }
            }
            _ => return false,
        }
        true
    }

    /// Sends a request. If the association accepts it, it must be answered.
    fn ask(&mut self, now: Time, request: StreamRequest) {
        let association = self.main.and_then(|main| self.endpoint.association_mut(main));
        if association.is_some_and(|association| association.reconfigure(now, request.clone()).is_ok()) {
            self.streams.asked.push(request);
            self.moments.push(Feature::Reconfiguration);
        }
    }

    /// Ends streams of this end behind their queued messages.
    fn end(&mut self, now: Time, streams: Vec<u16>) {
        let association = self.main.and_then(|main| self.endpoint.association_mut(main));
        if association.is_some_and(|end| end.end_streams(now, streams.clone(), Vec::new()).is_ok()) {
            self.streams.asked.push(StreamRequest::ResetOutgoing(streams));
            self.moments.push(Feature::Reconfiguration);
        }
    }

    /// Reports every link below the end as up.
    pub(crate) fn lift_links(&mut self, now: Time) {
        for local in core::mem::take(&mut self.links_down) {
            if let Some(association) = self.main.and_then(|main| self.endpoint.association_mut(main)) {
                let _ = association.link_event(now, LinkEvent { local, state: LinkState::Up });
            }
        }
    }

    /// Ends associations created by old copies of packets.
    pub(crate) fn shut_ghosts(&mut self, now: Time) {
        for ghost in &self.ghosts {
            if let Some(association) = self.endpoint.association_mut(ghost.handle) {
                association.shutdown(now);
            }
        }
    }

    /// Returns the reason of the loss; `None` if the association was not lost.
    pub(crate) fn loss(&self) -> Option<&LossReason> {
        match &self.ended {
            Some((_, Event::Lost(reason))) => Some(reason),
            _ => None,
        }
    }
}

/// Reads the next message. Restarts of the peer are checked by events.
fn next_message(association: &mut Association) -> Option<msctp_proto::Message> {
    association.recv().or_else(|_| association.recv()).ok().flatten()
}
