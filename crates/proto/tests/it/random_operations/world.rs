//! Runs a plan: the operations, then recovery of the network, then the shutdown. Panics on a violation.

use core::net::IpAddr;

use msctp_proto::{Association, AssociationState, Config, EndpointConfig, Event, LossReason};
use msctp_units::{Span, Time};

use crate::random_operations::coverage::Meetings;
use crate::random_operations::host::Host;
use crate::random_operations::network::{Network, STRAGGLER_MS};
use crate::random_operations::plan::{Ending, Heal, Op, Pace, Plan, Setup, Side};
use crate::random_operations::watch::Watch;

/// The time at which the mobile connects.
const START: Time = Time::from_nanos(1_000_000_000);

/// RFC 9260 §3.3.10.3.
const STALE_COOKIE: u16 = 3;

/// The results of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) seen: crate::random_operations::watch::Seen,
    pub(crate) counts: [crate::random_operations::host::Counts; 2],
    pub(crate) delivered: usize,
    /// Both ends closed gracefully.
    pub(crate) closed: bool,
    pub(crate) unreachable: bool,
    pub(crate) ghosts: bool,
    pub(crate) meetings: Meetings,
    pub(crate) hash: u64,
}

struct World {
    setup: Setup,
    now: Time,
    hosts: [Host; 2],
    network: Network,
    watch: Watch,
    meetings: Meetings,
    healed: Option<Time>,
    /// True if a shutdown was requested on the hostile network.
    shut_early: bool,
}

pub(crate) fn run(plan: &Plan) -> Outcome {
    let mut world = World::new(plan.setup);
    for op in &plan.ops {
        world.perform(op);
    }
    world.heal();
    world.settle();
    world.probe();
    world.end();
    world.outcome()
}

impl World {
    fn new(setup: Setup) -> Self {
        let mut world = Self {
            setup,
            now: START,
            hosts: Side::BOTH.map(|side| Host::new(side, &setup)),
            network: Network::new(setup.seed),
            watch: Watch::new(&setup),
            meetings: Meetings::default(),
            healed: None,
            shut_early: false,
        };
        world.hosts[0].connect(world.now, &setup);
        world.drain(Side::Mobile);
        world
    }

    fn drain(&mut self, side: Side) {
        let [mobile, server] = &mut self.hosts;
        let (host, other) = match side {
            Side::Mobile => (mobile, server),
            Side::Server => (server, mobile),
        };
        host.drain(self.now, &mut self.network, &mut self.watch, &mut other.outbox);
        if !host.moments.is_empty() {
            let busy = host.busy() | other.busy();
            host.moments.drain(..).for_each(|moment| self.meetings.count(moment, busy));
        }
    }

    fn perform(&mut self, op: &Op) {
        self.shut_early |= self.healed.is_none() && matches!(op, Op::Shutdown { .. });
        match *op {
            Op::Run { ms } => self.run_for(Span::from_millis(u64::from(ms))),
            Op::Path { mobile, server, to_server, to_mobile } => {
                self.network.set(mobile, server, to_server, to_mobile);
            }
            Op::Read { side, pace } => {
                self.hosts[side.index()].set_pace(self.now, pace);
                self.drain(side);
            }
            // A server without its secret silently discards its old cookies (RFC 9260 §5.1.5): the mobile
            // could only wait for its T1.
            Op::Restart { side: Side::Server } if self.hosts[0].is_setting_up() => {}
            // Refused: the peer would notice only by its timeouts.
            Op::Restart { .. } if self.setup.is_protected() => {}
            Op::Restart { side } => {
                self.hosts[side.index()].restart(self.now, &self.setup);
                self.hosts[side.other().index()].outbox.excuse();
                self.watch.disturb();
                self.drain(side);
            }
            Op::Cut { side, address, dead } => self.network.cut(side, side.address(address), dead),
            Op::Send { side, .. }
            | Op::SendPartial { side, .. }
            | Op::Reset { side, .. }
            | Op::AddStreams { side, .. }
            | Op::StreamValue { side, .. }
            | Op::Schedule { side, .. }
            | Op::AddWildcard { side, .. }
            | Op::KeepOnly { side, .. }
            | Op::AddAddress { side, .. }
            | Op::RemoveAddress { side, .. }
            | Op::RequestPrimary { side, .. }
            | Op::SetPrimary { side, .. }
            | Op::LinkEvent { side, .. }
            | Op::Shutdown { side }
            | Op::Abort { side } => self.perform_at(side, op),
        }
    }

    fn perform_at(&mut self, side: Side, op: &Op) {
        self.hosts[side.index()].perform(self.now, op);
        self.drain(side);
    }

    /// Processes the next event; returns false if there is none by `end`.
    fn step(&mut self, end: Time) -> bool {
        let [mobile, server] = &self.hosts;
        let next = [self.network.next(), mobile.next(), server.next()].into_iter().flatten().min();
        let Some(next) = next.filter(|next| *next <= end) else {
            self.now = self.now.max(end);
            return false;
        };
        self.now = self.now.max(next);
        if let Some(flight) = self.network.pop(self.now) {
            self.hosts[flight.to.index()].receive(self.now, flight.at, &flight.bytes, &mut self.watch);
            self.drain(flight.to);
            return true;
        }
        for side in Side::BOTH {
            let [mobile, server] = &mut self.hosts;
            let (host, other) = match side {
                Side::Mobile => (mobile, server),
                Side::Server => (server, mobile),
            };
            if host.next().is_some_and(|next| next <= self.now) {
                host.act(self.now, &mut other.outbox);
                self.drain(side);
            }
        }
        true
    }

    fn run_for(&mut self, span: Span) {
        let end = self.now + span;
        while self.step(end) {}
    }

    /// Removes all losses, and reads everything.
    fn heal(&mut self) {
        self.healed = Some(self.now);
        let alive = match self.setup.heal {
            Heal::All => None,
            Heal::One => self.living_path(),
        };
        self.network.heal(|mobile, server| alive.is_none_or(|pair| pair == (mobile, server)));
        for side in Side::BOTH {
            self.hosts[side.index()].alive =
                alive.map(|pair| if side == Side::Mobile { pair.0 } else { pair.1 });
            self.hosts[side.index()].lift_links(self.now);
            self.hosts[side.index()].set_pace(self.now, Pace::AtOnce);
            self.drain(side);
        }
    }

    /// Returns an address pair that is a confirmed path at both ends.
    fn living_path(&self) -> Option<(core::net::IpAddr, core::net::IpAddr)> {
        let [mobile, server] = &self.hosts;
        let at_server = server.confirmed_paths();
        let mut common = mobile.confirmed_paths().into_iter().filter(|path| {
            let back = (path.at.remote, path.at.local);
            at_server.iter().any(|other| (other.at.local, other.at.remote) == back)
        });
        // The last one is the least likely to be in use.
        common.next_back().map(|path| (path.at.local, path.at.remote))
    }

    /// Returns the longest time without progress on a working network.
    fn patience(&self) -> Span {
        let of = |side| self.setup.tuning(side);
        let [mobile, server] = Side::BOTH.map(of);
        let rto_max = u64::from(mobile.rto_max_ms.max(server.rto_max_ms));
        let hb = u64::from(mobile.hb_interval_ms.max(server.hb_interval_ms));
        let failures = u64::from(mobile.path_max_retrans.max(server.path_max_retrans)) + 2;
        let dead = match self.setup.heal {
            Heal::All => 2,
            Heal::One => 2 * failures,
        };
        // If the peer has lost the association, it may only end by errors: of data by its timeouts; without a
        // confirmed address for data, of verification at the rate of heartbeats, which are HB.interval and up
        // to one and a half RTOs apart (RFC 9260 §5.4, §8.3).
        // Under protection, the ABORT of a peer that has forgotten the association is not believed at once.
        let forgets = self.was_restarted() || self.is_disturbed() || self.setup.is_protected();
        let forgotten = if forgets {
            let hb = Config::default().hb_interval.as_millis().max(hb);
            let attempts = u64::from(mobile.assoc_max_retrans.max(server.assoc_max_retrans)) + 1;
            attempts * (hb + rto_max + rto_max / 2)
        } else {
            0
        };
        Span::from_millis(20_000 + STRAGGLER_MS + (2 + dead) * rto_max + forgotten + 2 * hb)
    }

    /// Shuts associations down that the peer does not have: an end that does not know that the other one
    /// ended detects it so, as does an association of a late COOKIE ECHO.
    fn shut_what_is_left(&mut self) {
        for side in Side::BOTH {
            if self.hosts[side.other().index()].association().is_none() {
                self.perform(&Op::Shutdown { side });
            }
            self.hosts[side.index()].shut_ghosts(self.now);
            self.drain(side);
        }
    }

    /// Runs until `done`. Panics if there is no progress for too long, or it never ends.
    fn run_until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let patience = self.patience();
        let limit = self.now + patience * self.endurance();
        let (mut last, mut since) = (self.progress(), self.now);
        while !done(self) {
            self.step(self.now + Span::from_secs(1));
            let progress = self.progress();
            if progress != last {
                (last, since) = (progress, self.now);
            }
            assert!(
                self.now.since(since) <= patience,
                "{what}: no progress for {patience}: {}",
                self.describe()
            );
            assert!(
                self.now <= limit,
                "{what}: not done after {}: {}",
                patience * self.endurance(),
                self.describe()
            );
        }
    }

    /// Returns the factor by which everything may take longer.
    ///
    /// Without heartbeats, an inactive path is known to work only after an answer to a chunk sent over it
    /// alone (RFC 9260 §8.2). With every path inactive, new data is first sent over a dead one, and each
    /// packet takes a timeout.
    fn endurance(&self) -> u64 {
        let silent = Side::BOTH.iter().any(|&side| self.setup.tuning(side).hb_interval_ms == 0);
        if self.setup.heal == Heal::One && silent { 1000 } else { 20 }
    }

    fn progress(&self) -> [u64; 2] {
        [self.hosts[0].progress(), self.hosts[1].progress()]
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        for (side, host) in Side::BOTH.iter().zip(&self.hosts) {
            let ended = host.ended.as_ref().map(|(_, event)| event);
            let buffered = host.association().map(Association::buffered);
            text += &format!("\n  {side:?}: state {:?} ended {ended:?} buffered {buffered:?}", host.state());
            text += &format!(" timer {:?} ghosts {} {}", host.timer(), host.has_ghosts(), host.unfinished());
            for path in host.paths() {
                text += &format!(
                    "\n    {} {} {} primary {} cwnd {} flight {} rto {} errors {}",
                    path.id,
                    path.at,
                    path.state,
                    path.primary,
                    path.cwnd,
                    path.flight_size,
                    path.rto,
                    path.error_count
                );
            }
        }
        format!("at {:?}{text}", self.now)
    }

    /// Checks that on a working network everything arrives and is answered.
    fn settle(&mut self) {
        self.run_until("settle", |world| {
            let [mobile, server] = &world.hosts;
            let whole = mobile.is_quiet() && server.is_quiet() && world.streams_agree();
            // The mobile lost the association: the server may not know it.
            whole && (mobile.ended.is_some() || mobile.state() == Some(AssociationState::Established))
        });
        // A FORWARD TSN of a message received in part may still be in flight; it is in no buffer.
        if self.hosts.iter().any(|host| host.counts.abandoned > 0) {
            self.run_for(self.patience());
        }
        if self.hosts.iter().all(|host| host.ended.is_none()) {
            self.check_all_delivered();
            self.check_idle();
            self.check_addresses();
        }
    }

    /// Returns true if both ends are in the association that they started.
    fn is_one_association(&self) -> bool {
        let up =
            |host: &Host| host.state() == Some(AssociationState::Established) && host.connected.is_some();
        !self.was_restarted() && !self.is_disturbed() && self.hosts.iter().all(up)
    }

    /// Returns true if each end's outbound streams match the other's inbound streams.
    fn streams_agree(&self) -> bool {
        let [mobile, server] = self.hosts.each_ref().map(|host| &host.streams);
        !self.is_one_association() || mobile.outbound == server.inbound && server.outbound == mobile.inbound
    }

    /// Checks that a path of one end is a path of the other.
    fn check_addresses(&self) {
        if !self.is_one_association() {
            return;
        }
        let [mobile, server] = self.hosts.each_ref().map(Host::paths);
        // RFC 9260 §5.1.2: the server listed no addresses of a family that the mobile's INIT did not have,
        // and need not list them later.
        let families: Vec<bool> =
            self.setup.addresses(Side::Mobile).iter().map(|address| address.is_ipv4()).collect();
        let [by_mobile, by_server] = self.hosts.each_ref().map(|host| &host.by_wildcard);
        let known = |pair: &(IpAddr, IpAddr)| {
            families.contains(&pair.1.is_ipv4())
                && !by_mobile.contains(&pair.0)
                && !by_server.contains(&pair.1)
        };
        let mut mobile: Vec<_> =
            mobile.iter().map(|path| (path.at.local, path.at.remote)).filter(known).collect();
        let mut server: Vec<_> =
            server.iter().map(|path| (path.at.remote, path.at.local)).filter(known).collect();
        mobile.sort_unstable();
        server.sort_unstable();
        assert_eq!(mobile, server, "paths of the mobile, of the server");
    }

    /// Sends one more message on every used stream and on the last one. Checks that both ends have the same
    /// numbers, regardless of abandoned messages and resets.
    fn probe(&mut self) {
        if !self.is_one_association() {
            return;
        }
        for side in Side::BOTH {
            let host = &self.hosts[side.index()];
            let mut streams = host.outbox.streams();
            streams.push(host.streams.outbound - 1);
            for stream in streams {
                self.perform(&Op::Send { side, stream, len: 10, count: 1, unordered: false });
            }
        }
        self.settle();
    }

    fn was_restarted(&self) -> bool {
        self.hosts.iter().any(|host| host.restarts > 0)
    }

    fn is_disturbed(&self) -> bool {
        self.hosts.iter().any(Host::has_ghosts)
    }

    fn check_all_delivered(&self) {
        if self.is_disturbed() {
            return;
        }
        for (side, host) in Side::BOTH.iter().zip(&self.hosts) {
            assert_eq!(host.outbox.missing(), [], "sent by {side:?}, acknowledged, never delivered");
            if !self.was_restarted() {
                host.inbox.check_parts(&self.hosts[side.other().index()].outbox);
            }
            // A restarted server is not connected until the mobile detects it.
            let Some(streams) = host.connected else {
                assert!(self.was_restarted(), "{side:?} is not connected");
                continue;
            };
            let failed = host.outbox.failed();
            assert!(
                self.was_restarted() || host.outbox.failed_only_from_stream(streams),
                "failed: {failed:?}"
            );
        }
    }

    /// Checks that an idle association has nothing in flight, and that its counters match its events.
    fn check_idle(&self) {
        for (side, host) in Side::BOTH.iter().zip(&self.hosts) {
            if let Some(association) = host.association().filter(|_| !self.was_restarted()) {
                assert_eq!(association.unsent(), 0, "{side:?}: bytes wait to be sent");
                let stats = association.stats().abandoned;
                let all = [stats.lifetime, stats.retransmissions, stats.priority];
                let (unsent, sent) =
                    all.iter().fold((0, 0), |(unsent, sent), one| (unsent + one.unsent, sent + one.sent));
                let told = u64::from(host.counts.abandoned);
                let told_unsent = u64::from(host.counts.abandoned_unsent);
                assert_eq!((unsent, sent), (told_unsent, told - told_unsent), "{side:?}: abandoned");
            }
            let flight: u64 = host.paths().iter().map(|path| path.flight_size).sum();
            assert_eq!(flight, 0, "{side:?}: bytes in flight with nothing to send");
        }
    }

    fn end(&mut self) {
        let ending = match self.setup.ending {
            Ending::MobileShutsDown => [Some(Op::Shutdown { side: Side::Mobile }), None],
            Ending::ServerShutsDown => [Some(Op::Shutdown { side: Side::Server }), None],
            Ending::BothShutDown => Side::BOTH.map(|side| Some(Op::Shutdown { side })),
            Ending::MobileAborts => [Some(Op::Abort { side: Side::Mobile }), None],
            Ending::ServerAborts => [Some(Op::Abort { side: Side::Server }), None],
        };
        for op in ending.iter().flatten() {
            self.perform(op);
        }
        self.run_for(Span::from_secs(1));
        self.shut_what_is_left();
        self.run_until("end", |world| world.hosts.iter().all(Host::is_gone));
        // A late copy of a COOKIE ECHO makes an association that the peer does not know.
        self.run_for(Span::from_millis(2 * STRAGGLER_MS));
        self.shut_what_is_left();
        self.run_until("end of late associations", |world| world.hosts.iter().all(Host::is_gone));
        self.run_for(Span::from_secs(20));
        for (side, host) in Side::BOTH.iter().zip(&self.hosts) {
            assert_eq!(host.timer(), None, "{side:?}: a timer is left");
            assert!(host.is_gone(), "{side:?}: an association came back");
        }
        self.check_ends();
    }

    fn check_ends(&self) {
        let disturbed = self.is_disturbed();
        for side in Side::BOTH {
            let (host, other) = (&self.hosts[side.index()], &self.hosts[side.other().index()]);
            let Some((at, event)) = &host.ended else {
                assert!(host.main.is_none(), "{side:?}: gone without an event");
                continue;
            };
            // Every message was delivered exactly once, or reported.
            if !disturbed {
                assert_eq!(host.outbox.missing(), [], "{side:?}: neither delivered nor reported, {event:?}");
            }
            match event {
                Event::Closed => {
                    let streams = host.connected.expect("closed means connected before");
                    let failed = host.outbox.failed();
                    assert!(
                        self.was_restarted() || host.outbox.failed_only_from_stream(streams),
                        "{failed:?}"
                    );
                }
                Event::Lost(reason) => self.check_loss(side, *at, reason, other, disturbed),
                other => panic!("{other:?} is no end"),
            }
        }
    }

    /// Checks that the association was lost for an expected reason.
    fn check_loss(&self, side: Side, at: Time, reason: &LossReason, other: &Host, disturbed: bool) {
        let host = &self.hosts[side.index()];
        let healed = self.healed.expect("healed");
        // A timer that ran when the network recovered may still cause the last error.
        let rto_max = Span::from_millis(u64::from(self.setup.tuning(side).rto_max_ms));
        let fresh = at <= healed + rto_max + Span::from_secs(1);
        let text = || format!("{side:?} lost the association at {at:?}, healed at {healed:?}: {reason:?}");
        // A restart with an address that the peer does not list (any more) is rejected (RFC 9260 §5.2.2), and
        // its old association is left to the peer.
        // Under protection, an ABORT that the network lost is repeated in clear and not believed at once.
        let left = (self.was_restarted() || self.setup.is_protected()) && other.ended.is_some();
        match reason {
            LossReason::Aborted => assert!(host.aborted, "{}", text()),
            LossReason::SetupTimeout
            | LossReason::PeerUnreachable
            | LossReason::DataUnacknowledged { .. } => {
                assert!(fresh || disturbed || left, "{}", text());
            }
            LossReason::ShutdownTimeout => {
                // T5 does not wait for the peer's remaining data, and leaves no time to try many dead paths.
                let many_dead = self.setup.heal == Heal::One && host.most_paths > 2;
                assert!(self.shut_early || many_dead || disturbed || left, "{}", text());
            }
            // RFC 9260 §5.2.6, option 2: data under a pre-shared key left behind the COOKIE ECHO, and the
            // peer may have delivered it. It would again after another set-up, and the Stale Cookie is in
            // clear.
            LossReason::PeerAborted { cause: Some(STALE_COOKIE), .. } if self.setup.is_protected() => {
                assert!(
                    at >= START + EndpointConfig::default().valid_cookie_life && host.connected.is_none(),
                    "{}",
                    text()
                );
            }
            LossReason::PeerAborted { .. } => {
                let gone = other.aborted || other.ended.is_some() || self.was_restarted();
                assert!(gone || disturbed, "{}", text());
            }
            LossReason::PeerLostKeys => {
                assert!(other.aborted || other.ended.is_some(), "{}", text());
            }
            LossReason::ProtocolViolation { .. } => {
                assert!(disturbed, "{}", text());
            }
            other => panic!("unknown reason: {other:?}"),
        }
    }

    fn outcome(&self) -> Outcome {
        let [mobile, server] = &self.hosts;
        let closed = |host: &Host| matches!(host.ended, Some((_, Event::Closed)));
        Outcome {
            seen: self.watch.seen,
            counts: [mobile.counts, server.counts],
            delivered: mobile.outbox.delivered() + server.outbox.delivered(),
            closed: closed(mobile) && closed(server),
            unreachable: self
                .hosts
                .iter()
                .any(|host| matches!(host.loss(), Some(LossReason::PeerUnreachable))),
            ghosts: self.is_disturbed(),
            meetings: self.meetings,
            hash: self.watch.hash,
        }
    }
}
