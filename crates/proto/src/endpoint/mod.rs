//! [`Endpoint`]: associations in a slab, found by tag or address, and listeners without state before a valid
//! COOKIE ECHO. Does not touch the internals of an association.

mod demux;
mod icmp;
mod limits;
mod listener;
mod mobility;
mod out_of_the_blue;
mod schedule;
mod tags;

use core::net::IpAddr;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use msctp_protection::NegotiationError;
use msctp_units::{Ecn, Time};
use msctp_wire::{
    ChunkType, EncodeChunk, KeyManagementId, Packet, PacketBuilder, PacketError, VerificationTag,
};

use self::demux::{Demux, Keys};
use self::limits::Limits;
use self::listener::{Accepting, Listener};
use self::schedule::Schedule;
use crate::addr::{LocalAddrs, PathAddr, RemoteAddrs};
use crate::association::{Association, check_addresses};
use crate::auth::Authentication;
use crate::config::{Config, EndpointConfig, SharedConfig};
use crate::cookie::{Cookie, CookieJar};
use crate::error::{ConfigError, check};
use crate::event::Event;
use crate::message::Transmit;
use crate::mobility::{Links, SocketOrder};
use crate::path::HostAddrs;
use crate::rate::RateLimit;
use crate::rng::Rng;
use crate::stats::AssociationState;
use crate::timer_table::earlier;
use crate::trace::TraceEvent;

/// Maximum size of an IP packet without an association. The largest INIT ACK is smaller.
const REPLY_PMTU: u32 = 1500;

/// Bytes that an association may always hold: a full packet and its bookkeeping.
const LEAST_SHARE: u64 = 4096;

/// Identifies an association of one endpoint. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle {
    slot: u32,
    generation: u32,
}

impl Handle {
    /// Returns a number that no other association of the endpoint has. It is small while few associations
    /// have ended.
    #[must_use]
    pub fn number(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }
}

/// Outcome of a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramOutcome {
    /// The packet provably belongs to this association, by its checksum and its verification tag or cookie
    /// (RFC 9260 §8.5).
    Association(Handle),
    /// This association handled the packet, but the peer did not provably send it. It has a wrong checksum or
    /// tag, is an INIT, or has an invalid cookie. It may be answered, but nothing may be learned from its
    /// source.
    Unverified(Handle),
    /// A valid COOKIE ECHO: this association is new.
    Accepted(Handle),
    /// The packet belongs to no association and is answered.
    Replied,
    /// The packet was dropped.
    Ignored(IgnoreReason),
}

/// Why a datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IgnoreReason {
    /// Not an SCTP packet, or its checksum is wrong.
    Malformed(PacketError),
    /// Tag 0 without a single INIT (RFC 9260 §8.5.1 A).
    ZeroTag,
    /// The source or destination is not a unicast address (RFC 9260 §8.4 rule 1).
    NotUnicast,
    /// A packet out of the blue that must not be answered (RFC 9260 §8.4 rules 2, 6, 7).
    OutOfTheBlue,
    /// An INIT that must not be answered (RFC 9260 §3.3.2: Initiate Tag 0).
    BadInit,
    /// A COOKIE ECHO with a forged, changed or misplaced cookie (RFC 9260 §5.1.5 steps 2, 3).
    BadCookie,
    /// A COOKIE ECHO without the required AUTH chunk, or after an invalid one (RFC 4895 §6.3).
    Unauthenticated,
    /// Too many replies are queued.
    TooManyReplies,
    /// `EndpointConfig::max_replies_per_second` was reached.
    ReplyRate,
}

/// A set-up that this endpoint refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedSetUp {
    /// Addresses of the peer's packet.
    pub at: PathAddr,
    /// The listener's SCTP port.
    pub local_port: u16,
    /// The reason of the refusal.
    pub reason: RefusalReason,
}

/// Why an endpoint refused a set-up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The ends cannot agree on protection (`Config::protection`). The source of the INIT may be forged.
    Protection {
        /// What they disagree on.
        error: NegotiationError,
        /// Key management methods that the peer offers; empty if it offers no protection.
        methods: Vec<KeyManagementId>,
    },
    /// The endpoint has [`EndpointConfig::max_associations`].
    TooManyAssociations,
    /// The peer's address has [`EndpointConfig::max_associations_per_peer`].
    TooManyOfPeer,
    /// A controller or a policy of the application panicked while the association was made
    /// ([`Endpoint::refuse_panicked`]).
    Panicked,
}

/// An association and its bookkeeping.
#[derive(Debug)]
struct Entry {
    association: Box<Association>,
    keys: Keys,
    keys_version: u32,
    /// Bytes charged to `EndpointConfig::receive_memory`.
    memory: u64,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    entry: Option<Entry>,
    /// Queued in `dirty`.
    dirty: bool,
    /// Queued in `eventful`.
    eventful: bool,
    /// Queued in `traced`.
    traced: bool,
}

/// A complete packet without an association.
#[derive(Debug)]
struct Reply {
    at: PathAddr,
    bytes: Vec<u8>,
}

/// Several associations and listeners over the same network.
///
/// See the [crate's documentation](crate) for the order of calls. The cost of a packet grows only with the
/// logarithm of the number of associations.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    rng: Rng,
    jar: CookieJar,
    listeners: BTreeMap<u16, Listener>,
    /// This host's addresses; `None` if nobody told them.
    host: Option<Arc<HostAddrs>>,
    /// The host's links, if the endpoint follows them.
    links: Option<Box<Links>>,
    /// What the host must do for its sockets.
    socket_orders: VecDeque<SocketOrder>,
    /// The last validated options, which most associations share.
    checked: Option<SharedConfig>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    count: usize,
    /// The counters of this endpoint and its shards.
    limits: Arc<Limits>,
    demux: Demux,
    schedule: Schedule,
    /// The last refused set-up, until the caller takes it.
    refused: Option<RefusedSetUp>,
    /// The last refused set-ups, of which repeated packets are no further ones: the peer's address, the SCTP
    /// ports and the peer's tag.
    refused_last: VecDeque<(IpAddr, (u16, u16), u32)>,
    /// Slot of the association whose code ran last.
    running: Option<u32>,
    /// The set-up whose association is being made.
    accepting: Option<Accepting>,
    /// Associations that may have something to send.
    dirty: VecDeque<u32>,
    /// Associations that may have events.
    eventful: VecDeque<u32>,
    /// Associations that may have trace entries.
    traced: VecDeque<u32>,
    replies: VecDeque<Reply>,
    /// Limits replies without an association, except INIT ACKs, which the jar limits separately.
    reply_rate: RateLimit,
    /// Buffers of sent replies, kept for reuse.
    spare: Vec<Vec<u8>>,
    /// UDP source port of the packet that is being handled.
    source: Option<u16>,
}

impl Endpoint {
    /// Creates an endpoint without associations and listeners. All randomness comes from `seed`.
    ///
    /// # Errors
    ///
    /// An invalid option.
    pub fn new(config: EndpointConfig, seed: [u8; 32]) -> Result<Self, ConfigError> {
        config.validate()?;
        let mut rng = Rng::new(seed);
        // A separate seed: other random numbers do not depend on it.
        let hash_key = Rng::new(seed.map(|byte| byte ^ 0x5c)).next_seed();
        let jar = CookieJar::new(&config, rng.next_seed());
        let reply_rate = RateLimit::new(config.max_replies_per_second, hash_key);
        Ok(Self::with(config, rng, jar, reply_rate, Arc::default()))
    }

    /// Creates an empty endpoint that shares this one's limits. They are `max_associations`,
    /// `max_associations_per_peer`, `receive_memory`, `max_replies_per_second` and the HMAC algorithms.
    ///
    /// The two can run on different threads. Each has its own associations, listeners and cookies. Pass all
    /// packets of an association, including those of its set-up, to the same one.
    #[must_use]
    pub fn shard(&self, seed: [u8; 32]) -> Self {
        let mut rng = Rng::new(seed);
        let jar = self.jar.sharing_rate(&self.config, rng.next_seed());
        Self::with(self.config.clone(), rng, jar, self.reply_rate.clone(), Arc::clone(&self.limits))
    }

    fn with(
        config: EndpointConfig,
        rng: Rng,
        jar: CookieJar,
        reply_rate: RateLimit,
        limits: Arc<Limits>,
    ) -> Self {
        Self {
            config,
            rng,
            jar,
            reply_rate,
            listeners: BTreeMap::new(),
            host: None,
            links: None,
            socket_orders: VecDeque::new(),
            checked: None,
            slots: Vec::new(),
            free: Vec::new(),
            count: 0,
            demux: Demux::new(Arc::clone(&limits)),
            limits,
            schedule: Schedule::default(),
            refused: None,
            refused_last: VecDeque::new(),
            running: None,
            accepting: None,
            dirty: VecDeque::new(),
            eventful: VecDeque::new(),
            traced: VecDeque::new(),
            replies: VecDeque::new(),
            spare: Vec::new(),
            source: None,
        }
    }

    /// Sets the addresses of this host, at first and after each change. Without them, every local address may
    /// be named to every peer.
    ///
    /// In an INIT or INIT ACK, in clear, only those addresses are named that the application named, or whose
    /// scope is that of the address called. The application adds the others to an association whose packets
    /// are protected ([`Association::may_name`]). An address of this host in a peer's list gets no path,
    /// unless the peer is at this host.
    pub fn set_host_addresses(&mut self, host: HostAddrs) {
        self.host = Some(Arc::new(host));
        for entry in self.slots.iter_mut().filter_map(|slot| slot.entry.as_mut()) {
            entry.association.set_host(self.host.clone());
        }
    }

    /// Accepts associations on this port from now on, with these addresses and options. Each association also
    /// has the address at which its peer called, so that a caller who does not know this host's addresses may
    /// name none.
    ///
    /// # Errors
    ///
    /// An invalid option or address, a port that is listening already, or `auth.algorithms` that differ from
    /// those of earlier calls (RFC 4895 §6.1).
    pub fn listen(&mut self, local: LocalAddrs, config: impl Into<Arc<Config>>) -> Result<(), ConfigError> {
        let config = config.into();
        config.validate()?;
        check_addresses("local.addresses", "local.port", local.port, (0, &local.addresses))?;
        let taken = self.listeners.contains_key(&local.port);
        check(!taken, "local.port", local.port, "a port that is not listening already")?;
        self.keep_algorithms(&config)?;
        self.listeners.insert(local.port, Listener { addresses: local.addresses, config: config.into() });
        Ok(())
    }

    /// Stops accepting associations on this port; existing ones continue. Returns false if it was not
    /// listening.
    pub fn stop_listening(&mut self, port: u16) -> bool {
        self.listeners.remove(&port).is_some()
    }

    /// Begins an association (RFC 9260 §5.1 A). Associations with the same options can share them in an
    /// `Arc`.
    ///
    /// # Errors
    ///
    /// An invalid option or address, an existing association with that peer on these ports, too many
    /// associations, or `auth.algorithms` that differ from those of earlier calls (RFC 4895 §6.1).
    pub fn connect(
        &mut self,
        now: Time,
        config: impl Into<Arc<Config>>,
        local: LocalAddrs,
        remote: RemoteAddrs,
    ) -> Result<Handle, ConfigError> {
        check(
            self.limits.add_association(self.config.max_associations),
            "max_associations",
            self.limits.associations(),
            "fewer associations, or a higher limit",
        )?;
        let begun = self.begin(now, config.into(), local, remote);
        if begun.is_err() {
            self.limits.remove_association();
        }
        begun
    }

    /// Begins an association that is counted already.
    fn begin(
        &mut self,
        now: Time,
        config: Arc<Config>,
        local: LocalAddrs,
        remote: RemoteAddrs,
    ) -> Result<Handle, ConfigError> {
        if let Some(address) = self.associated(local.port, &remote) {
            check(false, "remote.addresses", address, "an address without an association at these ports")?;
        }
        let config = match &self.checked {
            Some(checked) if Arc::ptr_eq(&checked.config, &config) => checked.clone(),
            _ => {
                config.validate()?;
                self.keep_algorithms(&config)?;
                self.checked.insert(config.into()).clone()
            }
        };
        let seed = self.seed();
        let mut association = Association::begin(now, config, local, remote, seed)?;
        association.set_host(self.host.clone());
        // A tag selects one association. A collision has a chance of one in 2^32; the application then tries
        // again.
        let tag = association.tags().local_tag;
        check(!self.demux.has_tag(tag), "seed", tag, "a tag that is not in use: connect again")?;
        Ok(self.insert(association, None))
    }

    /// Stores the HMAC algorithms of the first options with AUTH, and rejects others after that.
    fn keep_algorithms(&self, config: &Config) -> Result<(), ConfigError> {
        if !config.auth.policy.speaks() {
            return Ok(());
        }
        let ours = &config.auth.algorithms;
        let kept = self.limits.algorithms(ours);
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
        //# An SCTP endpoint MUST NOT change the parameters listed in the HMAC-ALGO parameter during the
        //# lifetime of the endpoint.
        check(
            kept == ours,
            "auth.algorithms",
            format_args!("{ours:?}"),
            format_args!("{kept:?}, which this endpoint uses already, or another endpoint"),
        )
    }

    /// Returns the first of these addresses that has an association with this port.
    fn associated<'a>(&self, port: u16, remote: &'a RemoteAddrs) -> Option<&'a IpAddr> {
        let known = |address: &&IpAddr| self.demux.by_address(port, remote.port, **address).is_some();
        remote.addresses.iter().find(known)
    }

    /// Returns whether an association with that peer exists on this port, so that [`connect`](Self::connect)
    /// would reject another.
    pub fn is_associated(&self, port: u16, remote: &RemoteAddrs) -> bool {
        self.associated(port, remote).is_some()
    }

    fn seed(&mut self) -> [u8; 32] {
        self.rng.next_seed()
    }

    /// Inserts an association that is counted already. `begun` is the peer's address from which it set the
    /// association up.
    fn insert(&mut self, mut association: Association, begun: Option<IpAddr>) -> Handle {
        association.offload_checksum(self.config.checksum_offload);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let keys = keys_of(&association, begun);
        self.demux.insert(slot, &keys);
        let keys_version = association.keys_version();
        let entry = &mut self.slots[slot as usize];
        entry.entry = Some(Entry { association: Box::new(association), keys, keys_version, memory: 0 });
        self.count += 1;
        self.mark_dirty(slot);
        self.handle(slot)
    }

    fn handle(&self, slot: u32) -> Handle {
        Handle { slot, generation: self.slots[slot as usize].generation }
    }

    fn mark_dirty(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        if !core::mem::replace(&mut entry.dirty, true) {
            self.dirty.push_back(slot);
        }
    }

    fn slot_of(&self, handle: Handle) -> Option<&Slot> {
        self.slots.get(handle.slot as usize).filter(|slot| slot.generation == handle.generation)
    }

    /// Returns the association for reading, or `None` once it is closed and drained.
    pub fn association(&self, handle: Handle) -> Option<&Association> {
        self.slot_of(handle)?.entry.as_ref().map(|entry| &*entry.association)
    }

    /// Returns the association for calls, or `None` once it is closed and drained. Call `poll_transmit`
    /// afterwards.
    pub fn association_mut(&mut self, handle: Handle) -> Option<&mut Association> {
        let slot = self.slots.get_mut(handle.slot as usize)?;
        let entry = slot.entry.as_mut().filter(|_| slot.generation == handle.generation)?;
        if !core::mem::replace(&mut slot.dirty, true) {
            self.dirty.push_back(handle.slot);
        }
        self.running = Some(handle.slot);
        Some(&mut entry.association)
    }

    /// Removes the association whose code ran last, without running any of it: for a driver that has caught
    /// its panic, such as that of a controller or a policy of the application. Its state may be inconsistent.
    /// Returns `None` if none has run, or it is removed already.
    pub fn remove_panicked(&mut self) -> Option<(Handle, Box<Association>)> {
        let slot = self.running.take()?;
        self.source = None;
        let handle = self.handle(slot);
        let entry = self.slots[slot as usize].entry.take()?;
        self.demux.remove(slot, &entry.keys);
        if let Some(peer) = entry.keys.begun {
            self.limits.end(peer);
        }
        self.free_slot(slot, entry.memory);
        Some((handle, entry.association))
    }

    /// Frees the slot of an association that was removed, which held these bytes.
    fn free_slot(&mut self, slot: u32, memory: u64) {
        self.limits.change_memory(memory, 0);
        self.limits.remove_association();
        let freed = &mut self.slots[slot as usize];
        freed.generation = freed.generation.wrapping_add(1);
        self.schedule.set(slot, None);
        self.free.push(slot);
        self.count -= 1;
    }

    /// Returns the number of associations, including closed ones that are not drained, without those of other
    /// shards.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there is no association.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Handles an SCTP packet that arrived between these addresses. Never fails: see [`DatagramOutcome`].
    pub fn handle_datagram(&mut self, now: Time, at: PathAddr, bytes: &mut [u8]) -> DatagramOutcome {
        self.handle_marked_datagram(now, at, Ecn::NotEct, bytes)
    }

    /// Handles a datagram like [`handle_datagram`](Self::handle_datagram), with the ECN field of the IP
    /// header (`Config::ecn`).
    pub fn handle_marked_datagram(
        &mut self,
        now: Time,
        at: PathAddr,
        ecn: Ecn,
        bytes: &mut [u8],
    ) -> DatagramOutcome {
        match self.find(at, bytes) {
            Some(slot) => {
                let sealed = Association::is_sealed(bytes);
                self.give_found(slot, (at, sealed), |association, jar| {
                    association.input(now, at, ecn, bytes, jar)
                })
            }
            //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
            //# If no association is found, the packet MUST be considered as out of the blue.
            None => self.take_stray(now, at, bytes),
        }
    }

    /// Handles a datagram like [`handle_marked_datagram`](Self::handle_marked_datagram) that came over UDP
    /// (RFC 6951) from this port. Learns the port of an association
    /// [over UDP](Association::encapsulate), or validates it if packets are protected. A new association is
    /// over UDP.
    pub fn handle_encapsulated_datagram(
        &mut self,
        now: Time,
        at: PathAddr,
        udp_port: u16,
        ecn: Ecn,
        bytes: &mut [u8],
    ) -> DatagramOutcome {
        self.source = Some(udp_port);
        let outcome = self.handle_marked_datagram(now, at, ecn, bytes);
        self.source = None;
        if let DatagramOutcome::Accepted(handle) = outcome
            && let Some(association) = self.association_mut(handle)
        {
            association.encapsulate(udp_port);
            association.learn_source(at);
        }
        outcome
    }

    /// Finds the association of a packet by its common header, before the checksum is verified.
    #[inline]
    fn find(&self, at: PathAddr, bytes: &[u8]) -> Option<u32> {
        let header: &[u8; 8] = bytes.first_chunk()?;
        let peer_port = u16::from_be_bytes([header[0], header[1]]);
        let local_port = u16::from_be_bytes([header[2], header[3]]);
        let tag = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        self.demux
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3.2
            //= type=exception
            //= reason=the verification tag and the ports name one association, from whatever source; the
            //= reason=source address is asked when they name none
            //# The receiver of such a chunk MUST always first use the source address found in the IP header
            //# in looking up the association.
            //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
            //= type=exception
            //= reason=the verification tag and the ports name one association, from whatever source; the
            //= reason=source address is asked when they name none
            //# it MUST use the chunks after the AUTH chunk to look up an existing association
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# MUST NOT treat this data as an OOTB datagram
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# MUST be considered part of the current association
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //# it MUST NOT respond with an ABORT
            .by_tag(tag, local_port, peer_port)
            .or_else(|| self.demux.by_address(local_port, peer_port, at.remote))
    }

    /// Passes a packet of the set-up, which is never marked (RFC 3168 §6.1.1), to an association. `cookie` is
    /// the packet's cookie, if the jar has opened it already.
    #[cold]
    fn give(
        &mut self,
        now: Time,
        at: PathAddr,
        packet: &Packet<'_>,
        slot: u32,
        cookie: Option<&Cookie>,
    ) -> DatagramOutcome {
        self.give_found(slot, (at, false), |association, jar| {
            association.input_clear(now, at, Ecn::NotEct, packet, jar, cookie)
        })
    }

    #[inline(always)]
    fn give_found(
        &mut self,
        slot: u32,
        (at, sealed): (PathAddr, bool),
        input: impl FnOnce(&mut Association, &mut CookieJar) -> bool,
    ) -> DatagramOutcome {
        let share = self.memory_share();
        self.running = Some(slot);
        let entry = &mut self.slots[slot as usize].entry;
        let verified = entry.as_mut().is_some_and(|entry| {
            let association = &mut entry.association;
            association.set_memory_share(share);
            let learns = self.source.is_some_and(|port| association.begin_source(at, port, sealed));
            let verified = input(association, &mut self.jar);
            if verified && learns {
                association.learn_source(at);
            }
            verified
        });
        self.mark_dirty(slot);
        let handle = self.handle(slot);
        if verified { DatagramOutcome::Association(handle) } else { DatagramOutcome::Unverified(handle) }
    }

    /// Returns the bytes that each association may hold. While all associations hold less than half of the
    /// endpoint's memory, only their buffers limit them. Beyond that, each has an equal share of the other
    /// half, so that no peer takes all of it.
    #[inline]
    fn memory_share(&self) -> u64 {
        let half = self.config.receive_memory / 2;
        if self.limits.memory() <= half {
            return u64::MAX;
        }
        (half / self.limits.associations().max(1) as u64).max(LEAST_SHARE)
    }

    /// Updates the keys of an association whose addresses or tag changed.
    fn refresh_keys(&mut self, slot: u32) {
        let Some(entry) = &mut self.slots[slot as usize].entry else { return };
        if entry.keys_version == entry.association.keys_version() {
            return;
        }
        entry.keys_version = entry.association.keys_version();
        self.demux.remove(slot, &entry.keys);
        let begun = entry.keys.begun;
        entry.keys = Keys::default();
        // A closed one has no keys: later packets for it are out of the blue (RFC 9260 §8.4).
        if entry.association.state() != AssociationState::Closed {
            entry.keys = keys_of(&entry.association, begun);
            self.demux.insert(slot, &entry.keys);
        } else if let Some(peer) = begun {
            self.limits.end(peer);
        }
    }

    /// Takes the last set-up that this endpoint refused, once for each set-up, after
    /// [`DatagramOutcome::Replied`]. Anyone can forge one with [`RefusalReason::Protection`]: report those at
    /// a limited rate.
    pub fn take_refused(&mut self) -> Option<RefusedSetUp> {
        self.refused.take()
    }

    /// Appends the next packet to `out`. Call it until it returns `None`, when there is nothing to send.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if !self.replies.is_empty() {
            return self.send_reply(out);
        }
        self.next_transmit(now, out)
    }

    /// Returns the next packet with the association that sends it; `None` for a reply without one. Replies
    /// come first: that of a [`DatagramOutcome::Replied`] is next.
    pub fn poll_transmit_from(&mut self, now: Time, out: &mut Vec<u8>) -> Option<(Option<Handle>, Transmit)> {
        if !self.replies.is_empty() {
            return self.send_reply(out).map(|transmit| (None, transmit));
        }
        let transmit = self.next_transmit(now, out)?;
        Some((self.dirty.front().map(|&slot| self.handle(slot)), transmit))
    }

    /// Returns the next packet of an association, which is then the first dirty one.
    #[inline(always)]
    fn next_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        while let Some(&slot) = self.dirty.front() {
            if let Some(entry) = &mut self.slots[slot as usize].entry {
                self.running = Some(slot);
                // Returned in place, as `Transmit` is large.
                let transmit = entry.association.poll_transmit(now, out);
                if transmit.is_some() {
                    return transmit;
                }
                if entry.association.has_news() && self.follow(now, slot) {
                    continue;
                }
            }
            self.dirty.pop_front();
            self.settle(slot);
        }
        None
    }

    #[cold]
    fn send_reply(&mut self, out: &mut Vec<u8>) -> Option<Transmit> {
        let mut reply = self.replies.pop_front()?;
        out.extend_from_slice(&reply.bytes);
        let needs_checksum = self.config.checksum_offload;
        let transmit = Transmit { needs_checksum, ..Transmit::new(None, reply.at, reply.bytes.len()) };
        reply.bytes.clear();
        self.spare.push(reply.bytes);
        Some(transmit)
    }

    /// Updates timers and queues of an association that has nothing more to send.
    fn settle(&mut self, slot: u32) {
        self.refresh_keys(slot);
        let entry = &mut self.slots[slot as usize];
        entry.dirty = false;
        let Some(Entry { association, memory, .. }) = &mut entry.entry else { return };
        let before = core::mem::replace(memory, association.received_memory());
        self.limits.change_memory(before, *memory);
        self.schedule.set(slot, association.poll_timeout());
        if association.has_events() && !core::mem::replace(&mut entry.eventful, true) {
            self.eventful.push_back(slot);
        }
        if association.has_trace() && !core::mem::replace(&mut entry.traced, true) {
            self.traced.push_back(slot);
        }
        self.release_if_empty(slot);
    }

    /// Removes an association that is closed and drained.
    #[inline]
    fn release_if_empty(&mut self, slot: u32) {
        let entry = self.slots[slot as usize].entry.as_ref();
        if entry.is_some_and(|entry| entry.association.state() == AssociationState::Closed) {
            self.release_closed(slot);
        }
    }

    #[cold]
    fn release_closed(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        if entry.dirty {
            return;
        }
        let done = entry.entry.as_ref().is_some_and(|Entry { association, .. }| {
            !association.has_events() && !association.has_trace() && !association.has_unread()
        });
        if done {
            let memory = entry.entry.take().map_or(0, |entry| entry.memory);
            self.free_slot(slot, memory);
        }
    }

    /// Returns the time at which [`handle_timeout`](Self::handle_timeout) must be called next, possibly a
    /// little early; `None` if no timer runs. Valid after `poll_transmit` returned `None`.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        match &self.links {
            None => self.schedule.earliest(),
            Some(links) => earlier(self.schedule.earliest(), links.next_timeout()),
        }
    }

    /// Handles every timer that is due. Has no effect if none is.
    pub fn handle_timeout(&mut self, now: Time) {
        while self.handle_next_timeout(now).is_some() {}
    }

    /// Handles the next due timer of one association, and returns that association. `None` if no timer is
    /// due.
    pub fn handle_next_timeout(&mut self, now: Time) -> Option<Handle> {
        self.links_timeout(now);
        while let Some(slot) = self.schedule.pop_due(now) {
            if let Some(entry) = &mut self.slots[slot as usize].entry {
                self.running = Some(slot);
                entry.association.handle_timeout(now);
                self.mark_dirty(slot);
                return Some(self.handle(slot));
            }
        }
        None
    }

    /// Returns the next event of any association. Valid after `poll_transmit` returned `None`.
    #[inline]
    pub fn poll_event(&mut self) -> Option<(Handle, Event)> {
        if self.eventful.is_empty() { None } else { self.next_event() }
    }

    fn next_event(&mut self) -> Option<(Handle, Event)> {
        while let Some(&slot) = self.eventful.front() {
            let handle = self.handle(slot);
            let entry = &mut self.slots[slot as usize];
            if let Some(event) = entry.entry.as_mut().and_then(|entry| entry.association.poll_event()) {
                return Some((handle, event));
            }
            entry.eventful = false;
            self.eventful.pop_front();
            self.release_if_empty(slot);
        }
        None
    }

    /// Returns the next trace entry of any association. Valid after `poll_transmit` returned `None`.
    pub fn poll_trace(&mut self) -> Option<(Handle, TraceEvent)> {
        // What takes the entry is no code of an association.
        self.running = None;
        while let Some(&slot) = self.traced.front() {
            let handle = self.handle(slot);
            let entry = &mut self.slots[slot as usize];
            if let Some(event) = entry.entry.as_mut().and_then(|entry| entry.association.poll_trace()) {
                return Some((handle, event));
            }
            entry.traced = false;
            self.traced.pop_front();
            self.release_if_empty(slot);
        }
        None
    }

    /// Queues a packet with one chunk that belongs to no association.
    fn reply(
        &mut self,
        now: Time,
        at: PathAddr,
        ports: (u16, u16),
        tag: u32,
        chunk: &impl EncodeChunk,
    ) -> DatagramOutcome {
        self.reply_signed(now, at, ports, tag, chunk, None)
    }

    /// Queues a reply like [`reply`](Self::reply), signed if `auth` requires it.
    fn reply_signed(
        &mut self,
        now: Time,
        at: PathAddr,
        ports: (u16, u16),
        tag: u32,
        chunk: &impl EncodeChunk,
        auth: Option<Authentication>,
    ) -> DatagramOutcome {
        if self.replies.len() >= self.config.max_pending_replies {
            return DatagramOutcome::Ignored(IgnoreReason::TooManyReplies);
        }
        let allowed = match chunk.chunk_type() {
            ChunkType::INIT_ACK => self.jar.may_answer_set_up(now, at.remote),
            _ => self.reply_rate.take(now, at.remote),
        };
        if !allowed {
            return DatagramOutcome::Ignored(IgnoreReason::ReplyRate);
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        let room = REPLY_PMTU - crate::path::ip_header(&at.remote);
        let mut builder =
            PacketBuilder::new(&mut bytes, ports.0, ports.1, VerificationTag::new(tag), room as usize);
        let plan = auth.as_ref().and_then(Authentication::plan).copied();
        if let Some(plan) = plan {
            builder.plan_auth(plan);
        }
        let pushed = builder.push(chunk);
        debug_assert_eq!(pushed, Ok(()), "a reply is small");
        if let Some(mut auth) = auth {
            auth.sign_packet(&mut builder);
        }
        if self.config.checksum_offload {
            builder.leave_out_checksum();
        }
        builder.finish();
        self.replies.push_back(Reply { at, bytes });
        DatagramOutcome::Replied
    }
}

fn keys_of(association: &Association, begun: Option<IpAddr>) -> Keys {
    let tags = association.tags();
    Keys {
        local_port: tags.local_port,
        peer_port: tags.peer_port,
        local_tag: tags.local_tag,
        peer_addresses: association.peer_addresses().collect(),
        begun,
    }
}
