//! [`Association`]: one SCTP association as a state machine. This module connects its parts; each part is in
//! the file named after it. Does not touch clocks, sockets, or other associations.

mod addresses;
pub(crate) mod auth;
mod calls;
mod chunks;
mod control;
mod copies;
mod costs;
mod credit;
mod departed;
mod ecn;
mod encapsulation;
mod events;
mod forgotten;
mod forward;
mod handshake;
mod input;
mod liveness;
mod moves;
mod moving;
pub(crate) mod negotiate;
mod output;
mod policy;
mod primary;
mod protection;
mod reading;
mod reconfig;
mod replays;
mod replies;
mod roaming;
mod shutdown;
mod streams;
mod table12;
mod timers;
mod trace;
#[cfg(debug_assertions)]
mod waits;

pub(crate) use self::moves::Moves;
pub(crate) use self::moving::News;
pub(crate) use self::table12::stale_cookie;

use core::net::IpAddr;
use std::sync::Arc;

use msctp_units::Time;
use msctp_wire::Tsn;
use smallvec::SmallVec;

use self::addresses::Readdressing;
use self::control::ControlQueue;
use self::ecn::EcnState;
use self::encapsulation::Encapsulation;
use self::events::EventQueue;
use self::handshake::SetUp;
use self::liveness::Liveness;
use self::output::Output;
use self::policy::Handover;
use self::reading::Unread;
use self::reconfig::Reconfig;
use self::shutdown::Closing;
use self::trace::Tracer;
use crate::addr::{LocalAddrs, PathAddr, PathId, RemoteAddrs};
use crate::auth::{Authentication, Random};
use crate::config::{Config, SharedConfig};
use crate::cookie::{Cookie, CookieJar};
use crate::error::{ConfigError, check};
use crate::event::{Event, LossReason};
use crate::inbound::{Inbound, InboundConfig};
use crate::message::{OutMessage, is_key_management};
use crate::outbound::{Outbound, OutboundConfig};
use crate::path::{Added, HostAddrs, PathEvent, Paths, SourceUse};
use crate::protection::PacketProtection;
use crate::rare::Rare;
use crate::rng::{Rng, RngState};
use crate::stats::{AssociationState, FaultCounts, PathState, TrafficCounts};
use crate::tags::Tags;
use crate::trace::{PrimaryCause, TraceKind};

/// One end of an SCTP association (RFC 9260), with dynamic addresses (RFC 5061).
///
/// See the [crate's documentation](crate) for the order of calls.
#[derive(Debug)]
pub struct Association {
    config: Arc<Config>,
    tags: Tags,
    state: AssociationState,
    paths: Paths,
    inbound: Inbound,
    outbound: Outbound,
    set_up: Rare<SetUp>,
    closing: Rare<Closing>,
    liveness: Liveness,
    control: ControlQueue,
    output: Output,
    events: EventQueue,
    tracer: Tracer,
    stats: TrafficCounts,
    faults: Rare<FaultCounts>,
    rng: RngState,
    handover: Handover,
    readdressing: Readdressing,
    /// Address requests of `mobility`.
    moves: Option<Box<Moves>>,
    reconfig: Reconfig,
    auth: Authentication,
    /// State of protection; `None` if it is off, so that other associations pay only for the pointer.
    protection: Option<Box<PacketProtection>>,
    ecn: Option<Box<EcnState>>,
    /// Unread messages from before a restart of the peer, and the restart.
    unread: Rare<Unread>,
    /// True if `Event::Readable` was reported and not everything was read since.
    readable_told: bool,
    /// True if `Event::Readable` must be reported. It is as frequent as packets, so that it is not queued.
    readable_event: bool,
    /// State that depends on whether there is an endpoint. UDP needs one.
    around: Option<Box<Around>>,
    /// Counts changes of the keys by which an endpoint finds this association.
    keys_version: u32,
    /// Value of `EndpointConfig::checksum_offload`.
    checksum_offload: bool,
}

/// What an association keeps itself, or keeps of what is between it and the network.
#[derive(Debug)]
enum Around {
    /// No endpoint: signs cookies (RFC 9260 §5.2.1 needs them at a collision). An endpoint passes its own
    /// jar.
    Alone(Option<Box<CookieJar>>),
    /// An endpoint over UDP.
    Udp(Encapsulation),
}

/// Checks the addresses of one end.
pub(crate) fn check_addresses(
    field: &'static str,
    port_field: &'static str,
    port: u16,
    (least, addresses): (usize, &[IpAddr]),
) -> Result<(), ConfigError> {
    use crate::path::pairing::{MAX_ADDRESSES, is_endpoint};
    check(port != 0, port_field, port, "1 to 65535")?;
    check(
        (least..=MAX_ADDRESSES).contains(&addresses.len()),
        field,
        format_args!("{} addresses", addresses.len()),
        format_args!("{least} to {MAX_ADDRESSES}"),
    )?;
    for (i, address) in addresses.iter().enumerate() {
        check(is_endpoint(address), field, address, "a unicast address")?;
        check(!addresses[..i].contains(address), field, address, "each address once")?;
    }
    Ok(())
}

impl Association {
    /// Begins an association: an INIT is ready to be sent (RFC 9260 §5.1 A). Associations with the same
    /// options can share them in an `Arc`.
    ///
    /// This is for an association without an [`Endpoint`](crate::Endpoint), such as that of a WebRTC stack.
    /// Both ends begin, since nothing listens (RFC 9260 §5.2.1): see `examples/single.rs`.
    ///
    /// # Errors
    ///
    /// An invalid option or address.
    pub fn connect(
        now: Time,
        config: impl Into<Arc<Config>>,
        local: LocalAddrs,
        remote: RemoteAddrs,
        seed: [u8; 32],
    ) -> Result<Self, ConfigError> {
        let config = config.into();
        config.validate()?;
        Self::begin(now, config.into(), local, remote, seed)
    }

    /// Creates an association like [`connect`](Self::connect), with validated options.
    pub(crate) fn begin(
        now: Time,
        config: SharedConfig,
        local: LocalAddrs,
        remote: RemoteAddrs,
        seed: [u8; 32],
    ) -> Result<Self, ConfigError> {
        check_addresses("local.addresses", "local.port", local.port, (1, &local.addresses))?;
        check_addresses("remote.addresses", "remote.port", remote.port, (1, &remote.addresses))?;
        let mut rng = Rng::new(seed);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.3.1
        //# A new Verification Tag value MUST be used each time the endpoint tears down and then
        //# reestablishes an association to the same peer.
        let local_tag = rng.next_tag();
        let (local_tie_tag, peer_tie_tag) = (rng.next_tag(), rng.next_tag());
        let tags = Tags {
            local_tie_tag,
            peer_tie_tag,
            outbound_streams: config.outbound_streams,
            ..Tags::new(local.port, remote.port, local_tag, Tsn::new(rng.next_u32()))
        };
        let handover = Handover::new(&config);
        let mut new = Self::with(config, handover, tags, AssociationState::CookieWait, rng, None);
        let mut addresses = local.addresses;
        if !new.config.offer.list_addresses && !new.config.moves.is_fast() {
            addresses.truncate(1);
        }
        new.enter_addresses(now, addresses, remote.addresses);
        // RFC 9260 §5.4 rule 1: addresses that the application names are confirmed
        let named: Added = new.paths.iter().map(crate::path::Path::id).collect();
        check(
            !named.is_empty(),
            "remote.addresses",
            "no address that a local one can reach",
            "one of the same family as a local one",
        )?;
        for path in named {
            new.paths.confirm(path, now);
        }
        new.begin_set_up();
        new.after_change(now);
        Ok(new)
    }

    /// Creates the established association that a valid cookie describes (RFC 9260 §5.1.5 step 5).
    pub(crate) fn accept(
        now: Time,
        config: SharedConfig,
        (local, host): (&[IpAddr], Option<Arc<HostAddrs>>),
        cookie: &Cookie,
        seed: [u8; 32],
    ) -> Result<Self, ConfigError> {
        let mut rng = Rng::new(seed);
        let tags = cookie.tags.with_new_ties(&mut rng);
        let handover = Handover::new(&config);
        let random = cookie.auth.as_ref().map(|auth| auth.random);
        let mut new = Self::with(config, handover, tags, AssociationState::Established, rng, random);
        if let Some(protection) = &mut new.protection {
            protection.ignore_clear_aborts();
        }
        new.paths.set_host(host);
        new.begin_from_cookie(now, local, cookie);
        if new.state != AssociationState::Closed {
            new.announce_connected(now);
        }
        new.after_change(now);
        Ok(new)
    }

    fn with(
        shared: SharedConfig,
        handover: Handover,
        tags: Tags,
        state: AssociationState,
        mut rng: Rng,
        random: Option<Random>,
    ) -> Self {
        let SharedConfig { config, paths } = shared;
        let paths = Paths::new(paths, rng.next_seed());
        let protection = protection::begin(&config, &mut rng);
        let random = random.unwrap_or_else(|| auth::random_number(&config.auth, &mut rng));
        Self {
            // Replaced when the peer's initial TSN is known; nothing is given to it before.
            inbound: Inbound::new(&InboundConfig::from(&*config), Tsn::new(0), 0),
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
            //# each endpoint MUST set its internal Cumulative TSN Ack Point to the value of its transmitted
            //# Initial TSN minus one.
            outbound: Outbound::new(&OutboundConfig::from(&*config), tags.local_initial_tsn),
            set_up: Rare::default(),
            closing: Rare::default(),
            liveness: Liveness::default(),
            control: ControlQueue::default(),
            output: Output::default(),
            events: EventQueue::default(),
            tracer: Tracer::new(config.trace),
            stats: TrafficCounts::default(),
            faults: Rare::default(),
            unread: Rare::default(),
            readable_told: false,
            readable_event: false,
            handover,
            // As `inbound`.
            reconfig: Reconfig::new(tags.local_initial_tsn, Tsn::new(0)),
            readdressing: Readdressing::new(tags.local_initial_tsn, Tsn::new(0), &[], false),
            moves: None,
            auth: Authentication::new(&config.auth, random),
            protection,
            ecn: None,
            around: None,
            keys_version: 0,
            checksum_offload: false,
            config,
            tags,
            state,
            paths,
            rng: rng.state(),
        }
    }

    /// Adds addresses of both ends and the paths between them.
    fn enter_addresses(
        &mut self,
        now: Time,
        local: impl IntoIterator<Item = IpAddr>,
        remote: impl IntoIterator<Item = IpAddr>,
    ) {
        for address in local {
            // Rejected addresses (repeated, too many) were reported before, or are the peer's excess.
            let _ = self.paths.add_local(address, SourceUse::Full, now);
        }
        for address in remote {
            self.add_peer_address(now, address, true);
        }
    }

    /// Adds paths to another address of the peer. Has no effect if the address exists, or there are too many.
    ///
    /// `called`: the peer is called there or has sent from there, instead of only listing the address.
    fn add_peer_address(&mut self, now: Time, address: IpAddr, called: bool) {
        let added = match called {
            true => self.paths.add_remote(address, now),
            false => self.paths.add_listed_remote(address, now),
        };
        let Ok(added) = added else { return };
        self.keys_version += 1;
        self.announce_paths(now, &added);
    }

    fn announce_paths(&mut self, now: Time, added: &[PathId]) {
        for &path in added {
            let Some(at) = self.paths.get(path).map(crate::path::Path::addr) else { continue };
            self.events.push(Event::PathAdded { path, at });
            self.tracer.push(now, TraceKind::PathAdded { path, at });
        }
    }

    /// Returns the state (RFC 9260 §4).
    #[inline]
    pub fn state(&self) -> AssociationState {
        self.state
    }

    fn set_state(&mut self, now: Time, to: AssociationState) {
        let from = core::mem::replace(&mut self.state, to);
        if from != to {
            self.tracer.push(now, TraceKind::State { from, to });
        }
    }

    fn announce_connected(&mut self, now: Time) {
        self.start_liveness(now);
        self.events.push(Event::Connected {
            outbound_streams: self.tags.outbound_streams,
            inbound_streams: self.tags.inbound_streams,
        });
        self.announce_auth();
        self.notify_established(now);
    }

    /// Completes every input, application call and timeout before anything is sent.
    fn after_change(&mut self, now: Time) {
        self.output.upkeep_due = true;
        if self.protection.is_some() {
            self.paths.hold_probes(!self.protects_addresses());
        }
        self.report_abandoned();
        self.report_path_events(now);
        self.report_estimates(now);
        self.report_round_trips(now);
        self.send_waiting_chunks();
        self.grant_wanted_primary(now);
        self.advance_readdressing(now);
        self.answer_deferred();
        self.advance_reconfig();
        self.report_path_events(now);
        self.advance_shutdown(now);
        self.tracer.collect(now, &mut self.outbound, &self.paths);
    }

    /// Does the work of [`after_change`](Self::after_change) after DATA and SACKs only.
    #[inline]
    fn after_data(&mut self, now: Time) {
        let news = self.paths.has_events() || self.state != AssociationState::Established;
        if self.report_round_trips(now) || news {
            self.after_change(now);
        } else {
            self.tracer.collect(now, &mut self.outbound, &self.paths);
        }
    }

    fn report_path_events(&mut self, now: Time) {
        let mut changed: SmallVec<[(PathId, PathState); 4]> = SmallVec::new();
        while let Some(event) = self.paths.poll_event() {
            match event {
                // Several timers may have expired at once: no events after the end.
                _ if self.state == AssociationState::Closed => {}
                PathEvent::StateChanged { path, from, to } => {
                    // Only confirmed addresses select this association.
                    self.keys_version +=
                        u32::from(PathState::Unconfirmed == from || PathState::Unconfirmed == to);
                    self.events.push(Event::PathState { path, state: to });
                    self.tracer.push(now, TraceKind::PathState { path, from, to });
                    if self.knows_path(path) {
                        changed.push((path, from));
                    }
                    if to == PathState::Active {
                        self.outbound.leave_failed_paths(now, path, &mut self.paths);
                    }
                    self.notify_path_active(now, path, to);
                }
                PathEvent::DataPathChanged { from, .. } => self.report_data_path(now, from),
                PathEvent::PmtuChanged { path, pmtu } => {
                    self.events.push(Event::PathMtu { path, pmtu });
                }
                PathEvent::PrimarySwitchover { to } => {
                    // A path that was removed meanwhile cannot take over.
                    let _ = self.switch_primary(now, to, PrimaryCause::Switchover);
                }
                //= https://www.rfc-editor.org/rfc/rfc9260#section-8.1
                //# SHALL stop transmitting any more data to it (and thus the association enters the CLOSED
                //# state).
                PathEvent::PeerUnreachable => self.close(now, Some(LossReason::PeerUnreachable)),
                // The peer answers: the ABORT spares it its own timeouts.
                PathEvent::DataUnacknowledged { after } => {
                    self.abort_with(now, &[], LossReason::DataUnacknowledged { after });
                }
            }
        }
        // A new primary may be one that cannot carry data.
        self.report_data_path(now, None);
        // After the failovers that they caused: a switch by the policy comes last.
        for (path, from) in changed {
            self.notify_path_state(now, path, from);
        }
    }

    /// Ends the association: gracefully with `None`, else as lost. A queued ABORT or SHUTDOWN COMPLETE is
    /// still sent, and undelivered messages are reported.
    fn close(&mut self, now: Time, reason: Option<LossReason>) {
        if self.state == AssociationState::Closed {
            return;
        }
        self.set_state(now, AssociationState::Closed);
        self.keys_version += 1;
        self.set_up = Rare::default();
        self.closing = Rare::default();
        self.paths.stop_heartbeats();
        self.report_undelivered();
        self.events.push(match reason {
            None => Event::Closed,
            Some(reason) => Event::Lost(reason),
        });
    }

    /// Reports undelivered messages (RFC 9260 §8.1: "report back all outstanding user data"), but not those
    /// of key management, which the application has not sent.
    fn report_undelivered(&mut self) {
        let external = self.has_external_keys();
        let is_of_keys = |message: &OutMessage| {
            external && is_key_management(message.stream, message.unordered, message.ppid)
        };
        let failures = self.outbound.give_up(&mut self.paths).into_iter();
        let failures = failures.filter(|failure| !is_of_keys(&failure.message));
        self.events.extend(failures.map(Event::SendFailed));
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        if core::mem::take(&mut self.readable_event) {
            return Some(Event::Readable);
        }
        self.events.pop()
    }

    /// Returns the next trace entry; always `None` if `Config::trace` is off. The last 65,536 entries wait to
    /// be taken.
    pub fn poll_trace(&mut self) -> Option<crate::trace::TraceEvent> {
        self.tracer.pop()
    }

    /// Returns whether [`poll_event`](Self::poll_event) has an event.
    pub(crate) fn has_events(&self) -> bool {
        self.readable_event || !self.events.is_empty()
    }

    /// Returns whether [`poll_trace`](Self::poll_trace) has an entry.
    pub(crate) fn has_trace(&self) -> bool {
        !self.tracer.is_empty()
    }

    /// Returns the path between these addresses.
    #[inline]
    fn path_of(&self, at: PathAddr) -> Option<PathId> {
        self.paths.by_addr(at)
    }

    pub(crate) fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Returns the received bytes that this end holds (`EndpointConfig::receive_memory`).
    #[inline]
    pub(crate) fn received_memory(&self) -> u64 {
        self.inbound.memory() + self.unread.bytes
    }

    /// Sets the association's share of the endpoint's memory; `u64::MAX` means no limit.
    #[inline]
    pub(crate) fn set_memory_share(&mut self, share: u64) {
        self.inbound.set_share(share.saturating_sub(self.unread.bytes));
    }

    /// Sets the addresses of this host.
    pub(crate) fn set_host(&mut self, host: Option<Arc<HostAddrs>>) {
        self.paths.set_host(host);
    }

    /// Sets whether the layer below computes and verifies checksums.
    pub(crate) fn offload_checksum(&mut self, on: bool) {
        self.checksum_offload = on;
    }

    pub(crate) fn keys_version(&self) -> u32 {
        self.keys_version
    }

    /// Returns the peer's addresses, each with true if it is confirmed (RFC 9260 §5.4) and the peer lists it.
    /// An observer may have answered for any other, whose owner may call with the same ports.
    pub(crate) fn peer_addresses(&self) -> impl Iterator<Item = (IpAddr, bool)> {
        let paths = &self.paths;
        let is_theirs =
            |address: &IpAddr| paths.remote_is_confirmed(address) && !paths.is_heard_only(address);
        paths.remotes().map(move |address| (address, is_theirs(&address)))
    }
}
