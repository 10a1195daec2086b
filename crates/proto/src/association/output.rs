//! Sent packets: order and bundling of chunks (RFC 9260 §6.10), one packet at a time. The other parts decide
//! which chunks are due.

use msctp_units::{Ecn, Time};
use msctp_wire::{
    ChunkType, CommonHeader, CookieEcho, EncodeChunk, Error, Heartbeat, PacketBuilder, Pad, Param, Params,
    Sack, VerificationTag,
};

use super::Association;
use super::control::Waiting;
use super::copies::Copies;
use super::replays::Replays;
use super::roaming::Roaming;
use crate::addr::{PathAddr, PathId};
use crate::event::Event;
use crate::extensions::Extensions;
use crate::message::Transmit;
use crate::outbound::ChunkKind;
use crate::path::Path;
use crate::rare::Rare;
use crate::stats::AssociationState as State;
use crate::trace::{Direction, TraceKind};

/// Output state that no other module owns.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// Addresses of the last packet with DATA, to which SACKs are sent (RFC 9260 §6.4).
    pub(super) sack_to: Option<PathAddr>,
    /// Number of bytes that may answer the current packet if its source is not confirmed.
    pub(super) credit: u32,
    /// True if the last packet may be sent with ECT.
    ect: bool,
    /// True if the layer below computes the checksum of the last packet.
    pub(super) needs_checksum: bool,
    /// Chunks of which copies are to be sent on other paths.
    pub(super) copies: Rare<Copies>,
    /// Answers to replayed packets.
    pub(super) replays: Rare<Replays>,
    /// New addresses of the peer that are asked.
    pub(super) roaming: Rare<Roaming>,
    /// True if anything except data transfer happened, so that heartbeats, probes or address requests may be
    /// due. DATA and SACKs, which are most packets, change none of these.
    pub(super) upkeep_due: bool,
    /// Time at which one of these is due next, computed when none was due.
    pub(super) watch_timeout: Option<Time>,
}

impl Output {
    /// Clears all pending output.
    pub(super) fn clear(&mut self) {
        (self.copies, self.replays) = (Rare::default(), Rare::default());
        self.roaming = Rare::default();
    }
}

impl Association {
    /// Appends the next packet to `out`, or several of equal size with `Config::max_segments`. Returns `None`
    /// when there is nothing to send; call it until then.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if self.has_nothing_to_send(now) || self.protection.is_some() && !self.may_seal(now) {
            self.report_abandoned();
            return None;
        }
        // Returned in place: a copy would wait for store forwarding.
        let mut transmit = self.next_packet(now, out);
        if let Some(transmit) = &mut transmit {
            self.after_packet(now, out, transmit);
        }
        // Preparing a packet may have ended the association.
        self.report_abandoned();
        #[cfg(debug_assertions)]
        if transmit.is_none() {
            self.assert_timed();
        }
        transmit
    }

    /// Returns true only if there is certainly nothing to send, which is the common case after a received
    /// packet.
    #[inline]
    fn has_nothing_to_send(&self, now: Time) -> bool {
        self.state == State::Established
            && !self.output.upkeep_due
            && self.outbound.is_drained()
            && !self.inbound.sack_due(now)
            && self.control.is_empty()
            && self.output.copies.queue.is_empty()
            && !self.outbound.may_forward()
    }

    fn after_packet(&mut self, now: Time, out: &mut Vec<u8>, transmit: &mut Transmit) {
        self.stats.packets_sent += 1;
        let other_port = transmit.udp_port.is_some();
        if !other_port {
            transmit.udp_port = self.udp_port(transmit.at);
        }
        self.spend_early(transmit.path, transmit.len);
        // RFC 3168 §6.1.1: packets of the set-up are not ECT, nor is a COOKIE ECHO with DATA
        if core::mem::take(&mut self.output.ect) && self.state != State::CookieEchoed {
            transmit.ecn = Ecn::Ect0;
        }
        // RFC 9260 §5.1 C: until the COOKIE ACK is returned no other packets may be sent
        if self.config.max_segments > 1 && self.state != State::CookieEchoed && !other_port {
            self.add_segments(now, out, transmit);
        }
        transmit.needs_checksum = core::mem::take(&mut self.output.needs_checksum);
        if let Some(path) = transmit.path.and_then(|path| self.paths.get_mut(path)) {
            path.packets_sent +=
                transmit.segment_size.map_or(1, |segment| transmit.len.div_ceil(segment) as u64);
            path.bytes_sent += transmit.len as u64;
        }
        self.tracer.collect(now, &mut self.outbound, &self.paths);
    }

    #[inline(always)]
    //= https://www.rfc-editor.org/rfc/rfc9260#section-6
    //# Data transmission MUST only happen in the ESTABLISHED,
    fn next_packet(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        while !self.control.is_empty() {
            if let Some(transmit) = self.send_control(now, out) {
                return Some(transmit);
            }
        }
        match self.state {
            State::Closed => None,
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5
            //# the two endpoints MUST complete an initialization process in order to set up an SCTP
            //# association
            State::CookieWait => self.send_init(now, out),
            State::CookieEchoed => self.send_cookie_echo(now, out).or_else(|| self.send_early(now, out)),
            State::Established
            | State::ShutdownPending
            | State::ShutdownReceived
            | State::ShutdownSent
            | State::ShutdownAckSent => self.send_next(now, out),
        }
    }

    /// Appends more packets with DATA for the same path, each as long as the first. The last may be shorter.
    fn add_segments(&mut self, now: Time, out: &mut Vec<u8>, transmit: &mut Transmit) {
        let segment = transmit.len;
        let mut count = 1;
        while count < self.config.max_segments && self.control.is_empty() && self.may_send_data() {
            let Some(path) = transmit.path else { break };
            if self.inbound.sack_due(now)
                || self.awaits_proof()
                || !self.output.copies.queue.is_empty()
                || self.outbound.next_path(now, &mut self.paths) != Some(path)
                // All segments have one codepoint.
                || transmit.ecn.is_capable() && !self.outbound.would_be_ect(path, &self.paths)
            {
                break;
            }
            let mut builder = self.data_builder(out, segment);
            if !self.fill_data(now, path, &mut builder) {
                break;
            }
            let len = self.seal(builder);
            if !core::mem::take(&mut self.output.ect) {
                transmit.ecn = Ecn::NotEct;
            }
            self.stats.packets_sent += 1;
            self.spend_early(Some(path), len);
            transmit.segment_size = Some(segment);
            transmit.len += len;
            count += 1;
            if len < segment {
                break;
            }
        }
    }

    /// Begins a packet, which is protected if it goes to the peer and there are keys.
    pub(super) fn builder<'o>(&self, out: &'o mut Vec<u8>, tag: u32, max_len: usize) -> PacketBuilder<'o> {
        if tag == self.tags.peer_tag && self.seals() {
            return self.protected_builder(out, max_len);
        }
        self.clear_builder(out, tag, max_len)
    }

    /// Begins a packet in clear.
    pub(super) fn clear_builder<'o>(
        &self,
        out: &'o mut Vec<u8>,
        tag: u32,
        max_len: usize,
    ) -> PacketBuilder<'o> {
        let tags = &self.tags;
        let tag_field = VerificationTag::new(tag);
        let mut builder = PacketBuilder::new(out, tags.local_port, tags.peer_port, tag_field, max_len);
        self.plan_auth(&mut builder, tag);
        if tags.extensions.has(Extensions::ZERO_CHECKSUM) && self.may_leave_out_checksum(tag) {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
            //= type=exception
            //= reason=option `offer.lower_layer_protects` of the peer, off by default: RFC 9653 leaves the
            //= reason=checksum out
            //# the endpoint MUST strengthen the data integrity of the transmission by including the CRC32c
            //# checksum value calculated on the packet
            builder.leave_out_checksum();
        }
        builder
    }

    /// Returns a builder like [`builder`](Self::builder), for DATA and SACKs. AUTH affects the packet only if
    /// one of them is signed.
    #[inline(always)]
    fn data_builder<'o>(&self, out: &'o mut Vec<u8>, max_len: usize) -> PacketBuilder<'o> {
        let tags = &self.tags;
        if self.protection.is_some()
            || self.auth.packet_overhead() > 0
            || tags.extensions.has(Extensions::ZERO_CHECKSUM)
        {
            return self.builder(out, tags.peer_tag, max_len);
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5
        //# the endpoint MUST fill in the Verification Tag field of the outbound packet with the tag value in
        //# the Initiate Tag parameter of the INIT or INIT ACK chunk received from its peer.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
        //# This value MUST be placed into the Verification Tag field of every SCTP packet that the receiver
        //# of the INIT chunk transmits
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
        //# This value MUST be placed into the Verification Tag field of every SCTP packet that the receiver
        //# of the INIT ACK chunk transmits
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.3.1
        //# the Verification Tag value used by either endpoint in a given association MUST NOT change during
        //# the life time of an association.
        let tag = VerificationTag::new(tags.peer_tag);
        PacketBuilder::new(out, tags.local_port, tags.peer_port, tag, max_len)
    }

    /// Returns a builder like [`data_builder`](Self::data_builder) for the next DATA chunk on a path, or for
    /// a SACK alone. While the peer may lack the first keys, key management's chunks and SACKs are in clear.
    #[inline(always)]
    fn next_data_builder<'o>(
        &mut self,
        out: &'o mut Vec<u8>,
        max_len: usize,
        data: Option<PathId>,
    ) -> PacketBuilder<'o> {
        if self.awaits_proof()
            && data.is_none_or(|path| self.outbound.is_key_message_next(path, &mut self.paths))
        {
            return self.clear_builder(out, self.tags.peer_tag, max_len);
        }
        self.data_builder(out, max_len)
    }

    /// Returns whether a packet may leave without a checksum (RFC 9653 §5.2). It must go to the peer, and
    /// contain no INIT or COOKIE ECHO.
    #[cold]
    fn may_leave_out_checksum(&self, tag: u32) -> bool {
        tag == self.tags.peer_tag && !matches!(self.state, State::CookieWait | State::CookieEchoed)
    }

    /// Returns the size of an SCTP packet between these addresses in bytes.
    pub(super) fn packet_room(&self, at: PathAddr) -> usize {
        let path = self.paths.by_addr(at).and_then(|path| self.paths.get(path));
        path.map_or(
            (self.config.usable_pmtu().max() - crate::path::ip_header(&at.remote)) as usize,
            packet_room,
        )
    }

    /// Sends queued control chunks: the first, later ones for the same destination, and other chunks that may
    /// be bundled. Returns `None` if the first one fits no packet and was dropped.
    ///
    /// A chunk that must be sent whole, such as a HEARTBEAT ACK (RFC 9260 §8.3) or an INIT ACK, may exceed
    /// the initial PMTU of discovery: IP then fragments it, up to `Config::pmtu`.
    fn send_control(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        let (at, tag, alone, clear, udp_port) = self
            .control
            .front()
            .map(|front| (front.at, front.tag, front.alone, front.clear, front.udp_port))?;
        let path = self.path_of(at);
        let most = (self.config.usable_pmtu().max() - crate::path::ip_header(&at.remote)) as usize;
        let first = self.control.front().and_then(Waiting::chunk).map_or(0, |chunk| chunk.padded_len());
        let (room, needed) = (self.packet_room(at), self.least_packet() + first);
        let may_fragment = needed > room && needed <= most;
        let first = self.control.front().and_then(Waiting::chunk).map(|chunk| chunk.chunk_type());
        let answers = matches!(first, Some(ChunkType::INIT_ACK | ChunkType::ABORT));
        let room = if may_fragment { needed } else { room };
        let mut builder =
            if clear { self.clear_builder(out, tag, room) } else { self.builder(out, tag, room) };
        while let Some(front) = self.control.front() {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
            //# An endpoint MUST NOT bundle INIT, INIT ACK, or SHUTDOWN COMPLETE chunks with any other chunks.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
            //# An INIT or INIT ACK chunk MUST NOT be bundled with any other chunk.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
            //# They MUST be the only chunks present in the SCTP packets that carry them.
            let travels_along = builder.is_empty() || !front.alone;
            let same_place = front.at == at && front.udp_port == udp_port;
            if !same_place || front.tag != tag || front.clear != clear || !travels_along {
                break;
            }
            let Some(chunk) = front.chunk() else {
                self.control.pop();
                continue;
            };
            if builder.push(&chunk).is_err() {
                if builder.is_empty() {
                    self.control.pop();
                }
                break;
            }
            if self.tracer.is_on() {
                let (chunk_type, len) = (chunk.chunk_type().0, chunk.encoded_len() as u16);
                self.tracer
                    .push(now, TraceKind::Control { direction: Direction::Out, path, chunk_type, len });
            }
            self.control.pop();
            if alone {
                break;
            }
        }
        if builder.is_empty() {
            return None;
        }
        if let Some(path) = path
            && !alone
            && udp_port.is_none()
            && tag == self.tags.peer_tag
        {
            self.bundle(now, path, &mut builder);
        }
        let answers_unverified = answers && !builder.has_auth() && !builder.is_enclosed();
        let transmit = Transmit::new(path, at, self.seal(builder));
        Some(Transmit { may_fragment, answers_unverified, udp_port, ..transmit })
    }

    /// Bundles SACK and DATA after other control chunks, if they have the same path and fit.
    pub(super) fn bundle(&mut self, now: Time, path: PathId, builder: &mut PacketBuilder<'_>) {
        if !matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived) {
            return;
        }
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6
        //# Control chunks MUST come before DATA chunks in the packet.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
        //# When bundling control chunks with DATA chunks, an endpoint MUST place control chunks first in the
        //# outbound SCTP packet.
        self.push_held_response(now, path, builder);
        if self.sack_path() == Some(path) {
            self.push_sack(now, path, builder);
        }
        if self.may_send_data() && self.outbound.next_path(now, &mut self.paths) == Some(path) {
            let data = builder.len();
            self.fill_data(now, path, builder);
            self.push_end(now, path, data, builder);
        }
    }

    /// Returns the path of a SACK, if there is something to acknowledge.
    pub(super) fn sack_path(&self) -> Option<PathId> {
        if self.inbound.sack_pending() { self.sack_target() } else { None }
    }

    /// Returns the path to which SACKs go.
    pub(super) fn sack_target(&self) -> Option<PathId> {
        match self.output.sack_to.filter(|at| !self.may_be_forged(*at)) {
            Some(at) => self.paths.reply_path(at),
            None => self.paths.data_path(),
        }
    }

    /// Returns when a delayed SACK is due. Without a path it waits for one.
    pub(super) fn sack_deadline(&self) -> Option<Time> {
        self.inbound.sack_deadline().filter(|_| self.sack_path().is_some())
    }

    pub(super) fn push_sack(&mut self, now: Time, path: PathId, builder: &mut PacketBuilder<'_>) -> bool {
        if !self.begin_auth(builder) {
            return false;
        }
        self.push_echoes(now, path, builder);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# Acknowledgements MUST be sent in SACK chunks unless shutdown was requested by the ULP
        // In clear the peer ignores limits.
        let takes_limits = builder.is_enclosed();
        if takes_limits {
            self.inbound.encode_credit(builder);
        }
        let Some(summary) = self.inbound.encode_sack(builder) else { return false };
        if takes_limits {
            self.inbound.continue_credit();
        }
        self.stats.sacks_sent += 1;
        if self.inbound.became_full(summary.a_rwnd) {
            self.events.push(Event::ReceiveBufferFull);
        }
        if self.tracer.is_on() {
            let kind = TraceKind::Sack {
                direction: Direction::Out,
                path: Some(path),
                cum_tsn_ack: summary.cum_tsn_ack.get(),
                a_rwnd: summary.a_rwnd,
                gap_blocks: summary.gap_blocks,
                duplicates: summary.duplicates,
            };
            self.tracer.push(now, kind);
        }
        true
    }

    /// Returns whether the state allows sending DATA (RFC 9260 §6).
    pub(super) fn may_send_data(&self) -> bool {
        matches!(
            self.state,
            State::CookieEchoed | State::Established | State::ShutdownPending | State::ShutdownReceived
        )
    }

    /// Writes DATA chunks. Returns false if there was none. Records chunks to be copied to another path.
    pub(super) fn fill_data(&mut self, now: Time, path: PathId, builder: &mut PacketBuilder<'_>) -> bool {
        if !self.begin_auth(builder) {
            return false;
        }
        let kind = if builder.is_enclosed() { ChunkKind::User } else { ChunkKind::KeyMessage };
        let only = self.awaits_proof().then_some(kind);
        let filled = self.outbound.fill(now, path, &mut self.paths, only, builder);
        self.output.ect = filled.ect;
        self.stats.data_chunks_sent += u64::from(filled.new);
        // The branch keeps the two sums apart: added as one vector they wait for `filled` to reach memory.
        if filled.again > 0 {
            self.stats.data_chunks_retransmitted += u64::from(filled.again);
        }
        if filled.redundant || self.handover.bicast.is_some() {
            self.queue_copies(path, &filled);
        }
        !filled.is_empty()
    }

    fn send_init(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        let path = self.begin_set_up_chunk(now)?;
        let at = self.paths.get(path).map(Path::addr)?;
        let room = self.packet_room(at);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
        //# The sender MUST set the Verification Tag of the packet to 0.
        // RFC 9260 §8.5.1 A: tag 0
        let mut builder = self.builder(out, 0, room);
        let pushed = self.own_init(|init| builder.push(init).map(|()| init.encoded_len()));
        let len = pushed.ok()? as u16;
        let chunk_type = msctp_wire::ChunkType::INIT.0;
        self.tracer
            .push(now, TraceKind::Control { direction: Direction::Out, path: Some(path), chunk_type, len });
        Some(Transmit::new(Some(path), at, self.seal(builder)))
    }

    /// Sends COOKIE ECHO first (RFC 9260 §5.1 C), bundled with other chunks that may follow it.
    fn send_cookie_echo(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        let path = self.begin_set_up_chunk(now)?;
        let entry = self.paths.get(path)?;
        let (at, room, confirmed) = (entry.addr(), packet_room(entry), entry.is_confirmed());
        let (cookie, unrecognized) = self.set_up.echo();
        // The peer chooses the cookie's length: IP fragments one that exceeds the PMTU.
        let auth_len = self.auth.plan().map_or(0, |plan| plan.chunk_len());
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
        //# An implementation MUST be prepared to receive an INIT ACK chunk that is quite large (more than
        //# 1500 bytes)
        let needed = CommonHeader::LEN + auth_len + CookieEcho { cookie }.padded_len();
        let (may_fragment, room) = (needed > room, room.max(needed));
        let mut builder = self.clear_builder(out, self.tags.peer_tag, room);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
        //# the endpoint MUST use the value of the Initiate Tag received in the INIT ACK chunk.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.11
        //# This field MUST contain the exact cookie received in the State Cookie parameter from the previous
        //# INIT ACK chunk.
        let echo = CookieEcho { cookie };
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.11
        //# This chunk MUST precede any DATA chunk sent within the association
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
        //# it MUST be the first chunk in the packet and, until the COOKIE ACK chunk is returned, the sender
        //# MUST NOT send any other packets to the peer.
        builder.push(&echo).ok()?;
        let (chunk_type, len) = (echo.chunk_type().0, echo.encoded_len() as u16);
        self.tracer
            .push(now, TraceKind::Control { direction: Direction::Out, path: Some(path), chunk_type, len });
        if !confirmed {
            // RFC 9260 §5.4: to an unconfirmed address only with a HEARTBEAT, and no DATA
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.4
            //# A COOKIE ECHO chunk MAY be sent to an UNCONFIRMED address, but it MUST be bundled with a
            //# HEARTBEAT chunk including a nonce, and the size of the SCTP packet MUST NOT exceed the PMTU.
            let request = self.paths.bundled_heartbeat(path, now)?;
            let params = [Param::HeartbeatInfo(&request.info)];
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.4
            //# if the bundled COOKIE ECHO chunk plus HEARTBEAT chunk (including nonce) would result in an
            //# SCTP packet larger than the PMTU, then the implementation MUST NOT send a COOKIE ECHO chunk
            //# to an UNCONFIRMED address.
            builder.push(&Heartbeat { params: Params::from(&params) }).ok()?;
        }
        if !unrecognized.is_empty() {
            // RFC 9260 §3.2.2: unrecognized parameters of the INIT ACK are reported beside the COOKIE ECHO,
            // if they fit.
            let causes = [msctp_wire::Cause::UnrecognizedParameters(unrecognized)];
            let _ = builder.push(&Error { causes: (&causes).into() });
        }
        // RFC 9260 §5.4: no DATA to an unconfirmed address
        if confirmed && self.seals() {
            self.set_up.early = Some(path);
        } else if confirmed && self.may_send_data() && !self.outbound.is_drained() {
            self.fill_data(now, path, &mut builder);
        }
        Some(Transmit { may_fragment, ..Transmit::new(Some(path), at, self.seal(builder)) })
    }

    /// Sends the data that a COOKIE ECHO would carry, in a protected packet that follows it.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
    //= type=exception
    //= reason=a COOKIE ECHO is in clear, so that the DATA that may be bundled with it follows in one packet
    //= reason=under pre-shared keys (option `protection`, off by default)
    //# it MUST be the first chunk in the packet and, until the COOKIE ACK chunk is returned, the sender
    //# MUST NOT send any other packets to the peer.
    fn send_early(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        let path = if self.set_up.early.is_some() { self.set_up.early.take()? } else { return None };
        if self.outbound.is_drained() {
            return None;
        }
        let entry = self.paths.get(path)?;
        let (at, room) = (entry.addr(), packet_room(entry));
        let mut builder = self.next_data_builder(out, room, Some(path));
        if !self.fill_data(now, path, &mut builder) {
            return None;
        }
        Some(Transmit::new(Some(path), at, self.seal(builder)))
    }

    /// Sends the next packet of an established association.
    fn send_next(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(path) = self.begin_shutdown_chunk(now) {
            return self.send_shutdown(now, path, out);
        }
        if let Some(transmit) = self.send_copies(now, out) {
            return Some(transmit);
        }
        if self.output.upkeep_due {
            if let Some(transmit) = self.send_upkeep(now, out) {
                return Some(transmit);
            }
            self.output.upkeep_due = false;
            self.output.watch_timeout = self.upkeep_timeout();
            if self.reconfig.awaits_packet() {
                return self.send_with_reconfig(now, out);
            }
        }
        if self.outbound.may_forward()
            && let Some(transmit) = self.send_forward_tsn(now, out)
        {
            return Some(transmit);
        }
        self.send_data_or_sack::<false>(now, out)
    }

    /// Sends the next packet while ends of streams, or responses to them, wait for one with DATA.
    #[cold]
    fn send_with_reconfig(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        let transmit = match self.outbound.may_forward().then(|| self.send_forward_tsn(now, out)).flatten() {
            Some(transmit) => Some(transmit),
            None => self.send_data_or_sack::<true>(now, out),
        };
        self.output.upkeep_due |= self.reconfig.awaits_packet();
        transmit
    }

    /// Sends heartbeats, probes, address requests and their answers.
    fn send_upkeep(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(transmit) = self.send_repeated_sack(now, out) {
            return Some(transmit);
        }
        if self.watches_paths() {
            if let Some(request) = self.paths.poll_heartbeat(now) {
                // Sent on idle paths (RFC 9260 §8.3)
                self.inbound.rest();
                return self.send_heartbeat(now, request.path, &request.info, None, out);
            }
            if let Some(request) = self.paths.poll_probe(now) {
                return self.send_heartbeat(now, request.path, &request.info, Some(request.padding), out);
            }
        }
        if let Some(transmit) = self.send_asconf(now, out) {
            return Some(transmit);
        }
        if self.reconfig.ours.awaited_data().is_some() {
            // Later packets of a batch may have had the last data.
            self.advance_reconfig();
        }
        self.send_reconfig(now, out)
    }

    /// Sends DATA, a SACK or both, and `RECONFIG` chunks that go with them.
    #[inline(always)]
    fn send_data_or_sack<const RECONFIG: bool>(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        let data_path = if !self.outbound.is_drained() && self.may_send_data() {
            self.outbound.next_path(now, &mut self.paths)
        } else {
            None
        };
        let sack_due = self.inbound.sack_due(now);
        if data_path.is_none() && !sack_due {
            return None;
        }
        let sack_path = self.sack_path();
        let sack_due = sack_due && sack_path.is_some();
        let path = match (data_path, sack_path) {
            // A SACK for another path, or without room for the next chunk, is sent first and alone.
            (Some(data), Some(sack)) if sack_due && (data != sack || !self.fits_beside_sack(data)) => sack,
            (Some(data), _) => data,
            (None, Some(sack)) if sack_due => sack,
            _ => return None,
        };
        let entry = self.paths.get(path)?;
        let (at, mut room) = (entry.addr(), packet_room(entry));
        let oversized = match data_path {
            Some(data) if data == path => self.outbound.oversized_packet(path, &mut self.paths),
            _ => None,
        };
        if let Some(needed) = oversized {
            room = room.max(needed + self.packet_overhead());
        }
        let mut builder = self.next_data_builder(out, room, data_path.filter(|&data| data == path));
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6
        //# Control chunks MUST come before DATA chunks in the packet.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
        //# When bundling control chunks with DATA chunks, an endpoint MUST place control chunks first in the
        //# outbound SCTP packet.
        if RECONFIG {
            self.push_held_response(now, path, &mut builder);
        }
        // RFC 9260 §6.1: a pending SACK is bundled with DATA as long as both fit
        if sack_path == Some(path) && (sack_due || data_path == Some(path) && self.fits_beside_sack(path)) {
            self.push_sack(now, path, &mut builder);
        }
        if data_path == Some(path) {
            let data = builder.len();
            self.fill_data(now, path, &mut builder);
            if RECONFIG {
                self.push_end(now, path, data, &mut builder);
            }
        }
        if builder.is_empty() {
            debug_assert!(false, "nothing to send on {path} after all");
            return None;
        }
        let transmit = Transmit::new(Some(path), at, self.seal(builder));
        Some(Transmit { may_fragment: oversized.is_some(), ..transmit })
    }

    /// Returns whether the next DATA chunk for this path fits into a packet with a SACK without gap blocks.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.9
    //# The implementation MUST also take into account the space required for a SACK chunk if bundling a SACK
    //# chunk with the DATA chunk.
    fn fits_beside_sack(&mut self, path: PathId) -> bool {
        let Some(pmdcs) = self.paths.get(path).map(Path::pmdcs) else { return false };
        let next = self.outbound.next_chunk_len(path, &mut self.paths);
        next.is_some_and(|next| next + self.sack_len() <= pmdcs as usize)
    }

    /// Returns the bytes of a SACK without gap blocks, and of what precedes it.
    fn sack_len(&self) -> usize {
        Sack::MIN_LEN + self.echo_len() + self.inbound.credit_len()
    }

    fn send_heartbeat(
        &mut self,
        now: Time,
        path: PathId,
        info: &[u8],
        padding: Option<u32>,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let entry = self.paths.get(path)?;
        let params = [Param::HeartbeatInfo(info)];
        let heartbeat = Heartbeat { params: Params::from(&params) };
        // A probe may exceed the path's PMTU: it tests a larger one.
        let probe = padding.map_or(0, |padding| 12 + heartbeat.padded_len() + 4 + padding as usize);
        let least = self.least_packet() + heartbeat.padded_len() + 4;
        let (at, room) = (entry.addr(), packet_room(entry).max(probe).max(least));
        let mut builder = self.builder(out, self.tags.peer_tag, room);
        builder.push(&heartbeat).ok()?;
        if let Some(cost) = self.cost_to_tell(&at.local).filter(|_| padding.is_none()) {
            // It fits beside a HEARTBEAT on any path.
            let _ = builder.push(&cost);
        }
        if let Some(padding) = padding {
            // AUTH or protection replaces a part of the padding.
            let after = if builder.is_enclosed() { crate::protection::SPACE.1 } else { 0 };
            let taken = builder.len() + after - CommonHeader::LEN - heartbeat.padded_len();
            let padding = padding.saturating_sub(taken as u32);
            builder.push(&Pad { padding_len: padding.min(u32::from(u16::MAX)) as u16 }).ok()?;
        }
        self.trace_control(now, Direction::Out, Some(path), &heartbeat);
        let probe = padding.is_some();
        Some(Transmit { probe, ..Transmit::new(Some(path), at, self.seal(builder)) })
    }

    /// Sends SHUTDOWN or SHUTDOWN ACK.
    ///
    /// A SACK goes with it to report gaps and duplicates, which a SHUTDOWN cannot report (RFC 9260 §9.2). A
    /// SACK also goes with a retransmitted SHUTDOWN to report the window: a peer that does not answer has
    /// data left, and may have missed a window update.
    fn send_shutdown(&mut self, now: Time, path: PathId, out: &mut Vec<u8>) -> Option<Transmit> {
        let entry = self.paths.get(path)?;
        let (at, room) = (entry.addr(), packet_room(entry));
        let mut builder = self.builder(out, self.tags.peer_tag, room);
        let chunk = self.shutdown_chunk();
        if self.state == State::ShutdownSent {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-9.2
            //# then a SACK chunk MUST also be sent.
            if self.inbound.sack_pending() || self.closing.retransmissions > 0 {
                self.push_sack(now, path, &mut builder);
            }
            self.inbound.acknowledged_by_shutdown();
        }
        builder.push(&chunk).ok()?;
        self.trace_control(now, Direction::Out, Some(path), &chunk);
        Some(Transmit::new(Some(path), at, self.seal(builder)))
    }
}

/// Returns the size of an SCTP packet on this path in bytes.
pub(super) fn packet_room(path: &Path) -> usize {
    (path.pmtu() - path.ip_header()) as usize
}
