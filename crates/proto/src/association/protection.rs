//! The DTLS chunk in an association (draft-ietf-tsvwg-sctp-dtls-chunk-04): agreement, sealed and opened
//! packets, which packets may be in clear, and the calls of a key management method.
//!
//! A packet that was opened counts as authenticated, as one after a valid AUTH chunk with a shared key does;
//! in clear only the chunks of a set-up are accepted.

use bytes::Bytes;
use msctp_protection::{FirstProtected, KeyMaterial, NegotiationError, OpenError, ReceiveUsage, SendUsage};
use msctp_units::{Ecn, Time};
use msctp_wire::{
    Abort, Cause, Checksum, Chunk, ChunkType, CommonHeader, EncodeChunk, Fragment, Packet, PacketBuilder,
    Ppid, VerificationTag,
};

use super::Association;
use crate::addr::PathAddr;
use crate::call_error::CallError;
use crate::config::{Config, EndpointConfig};
use crate::cookie::{Cookie, CookieJar};
use crate::error::SendError;
use crate::event::{Event, LossReason};
use crate::message::{KEY_MANAGEMENT_STREAM, Message, OutMessage, is_key_management};
use crate::protection::{
    KeyAgreement, MAX_ROOM, OVERHEAD, PacketProtection, ProtectionOffer, SPACE, SetUpNumbers,
};
use crate::rng::Rng;
use crate::stats::AssociationState as State;
use crate::tags::Tags;

/// Reason in the ABORT of an end whose first keys differ from the peer's.
const SET_UP_CHANGED: &[u8] = b"the set-up was changed on the way";

/// Returns the state of protection, if it is on. Draws a tie breaker only in that case, so that other random
/// numbers do not depend on it.
pub(super) fn begin(config: &Config, rng: &mut Rng) -> Option<Box<PacketProtection>> {
    let keys = config.protection.keys()?;
    Some(Box::new(PacketProtection::new(keys.clone(), rng.next_u32())))
}

impl Association {
    /// Agrees on protection with the peer's parameter. `ours` is the parameter of this end's INIT ACK.
    ///
    /// # Errors
    ///
    /// This end requires protection, and the ends cannot agree on it.
    pub(super) fn agree_protection(
        &mut self,
        ours: Option<&ProtectionOffer>,
        theirs: Option<&ProtectionOffer>,
        numbers: SetUpNumbers,
    ) -> Result<(), NegotiationError> {
        let Some(protection) = &mut self.protection else { return Ok(()) };
        self.auth.begin_demands(&self.config.auth);
        // Anyone may have sent the Stale Cookie after which a set-up begins anew (RFC 9260 §5.2.6).
        let insists = protection.has_agreed();
        match protection.agree(ours, theirs, numbers) {
            Ok(()) if protection.is_enforced() => self.auth.demand_protection(),
            // §3.2: dynamic addresses only with protection
            Ok(()) => self.auth.demand_for_addresses(),
            Err(error) if insists || self.config.protection.refuses(error) => return Err(error),
            Err(_) => {}
        }
        Ok(())
    }

    /// Agrees on protection from this end's cookie. Aborts and returns false if protection is required and
    /// impossible.
    pub(super) fn protect_by_cookie(&mut self, now: Time, cookie: &Cookie) -> bool {
        let numbers = SetUpNumbers {
            ours: (cookie.tags.local_tag, cookie.tags.local_initial_tsn.get()),
            theirs: (cookie.tags.peer_tag, cookie.peer_initial_tsn),
            binding: cookie.protection.as_ref().map(|both| both.binding).unwrap_or_default(),
        };
        let (ours, theirs) = cookie.protection.as_ref().map(|both| (&both.ours, &both.theirs)).unzip();
        let Err(error) = self.agree_protection(ours, theirs, numbers) else { return true };
        self.abort_with(now, &[error.cause()], cannot_protect(error));
        false
    }

    /// Returns whether the peer may restart the association with this parameter (RFC 9260 §5.2.2). Protected
    /// associations refuse it (draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.4: only keys for that may).
    pub(super) fn accepts_restart(&self, theirs: Option<&ProtectionOffer>) -> bool {
        let protection = self.protection.as_ref();
        self.config.auth.accept_restarts
            && protection.is_none_or(|ours| !ours.is_enforced() && ours.may_restart(theirs))
    }

    /// Returns the parameter of this end's INIT ACK; `None` if there is nothing to answer. In a collision it
    /// is that of the INIT.
    pub(super) fn offer_protection(
        &mut self,
        colliding: bool,
        theirs: Option<&ProtectionOffer>,
    ) -> Option<ProtectionOffer> {
        let (keys, ours) = (self.config.protection.keys()?, self.protection.as_ref()?.ours());
        theirs?;
        if colliding {
            return Some(ours.clone());
        }
        let drawn = self.rng.next_u64() as u32;
        Some(ProtectionOffer::ours(keys, ProtectionOffer::other_tie_breaker(theirs, drawn)))
    }

    /// Discards the keys of a set-up that begins again.
    ///
    /// The new INIT differs from the last one, and has another tag: an answer to the last one is no answer to
    /// it. New Tie-Tags: a cookie of the last one is no restart either, which would take up its keys again.
    pub(super) fn begin_protection_anew(&mut self) {
        if let Some(protection) = &mut self.protection {
            protection.begin_anew(self.rng.next_u64() as u32);
            self.auth.begin_demands(&self.config.auth);
            let tags = &self.tags;
            self.tags = self.rng.with(|rng| Tags { local_tag: rng.next_tag(), ..tags.with_new_ties(rng) });
            self.keys_version += 1;
        }
    }

    /// Sends a packet that proves this end's key to the peer, which has accepted the COOKIE ECHO.
    pub(super) fn prove_key(&mut self, at: PathAddr) {
        if self.seals() && self.outbound.is_drained() {
            // The COOKIE ACK may be a copy from another address.
            for path in [self.path_of(at), self.paths.data_path()].into_iter().flatten() {
                self.paths.request_heartbeat(path);
            }
        }
    }

    /// Returns whether both ends agreed on protection.
    pub(super) fn is_protected(&self) -> bool {
        self.protection.as_ref().is_some_and(|protection| protection.is_agreed())
    }

    /// Returns whether packets in clear are discarded.
    pub(super) fn is_enforced(&self) -> bool {
        self.protection.as_ref().is_some_and(|protection| protection.is_enforced())
    }

    /// Returns whether packets to the peer are sealed.
    #[inline]
    pub(super) fn seals(&self) -> bool {
        self.protection.as_ref().is_some_and(|protection| protection.seals())
    }

    /// Returns whether packets are protected for which the peer may lack the first keys.
    #[inline]
    pub(super) fn awaits_proof(&self) -> bool {
        self.protection.as_ref().is_some_and(|protection| protection.awaits_proof())
    }

    /// Returns whether this end has the first keys from outside, and no packet of the peer was opened.
    pub(super) fn awaits_first_packet(&self) -> bool {
        self.has_external_keys() && self.is_enforced() && !self.is_proven()
    }

    /// Returns whether a packet of the peer was opened.
    pub(super) fn is_proven(&self) -> bool {
        self.protection.as_ref().is_some_and(|protection| protection.is_proven())
    }

    /// Returns whether a repeated COOKIE ECHO, which is in clear, says nothing about the peer: its protected
    /// packets do.
    pub(super) fn excludes_replayed_cookies(&self) -> bool {
        self.is_enforced() && self.is_proven()
    }

    /// Returns whether both directions are protected, or protection was not agreed on.
    pub(super) fn protects_addresses(&self) -> bool {
        self.protection.as_ref().is_none_or(|protection| {
            !protection.is_agreed() || protection.seals() && protection.opens() && !protection.awaits_proof()
        })
    }

    /// Returns the bytes that protection adds to each packet, from the agreement on.
    pub(super) fn protection_overhead(&self) -> usize {
        if self.is_protected() { OVERHEAD } else { 0 }
    }

    /// Returns the bytes that AUTH or protection adds to each packet with DATA.
    pub(super) fn packet_overhead(&self) -> usize {
        self.auth.packet_overhead().max(self.protection_overhead())
    }

    /// Begins a packet to be sealed.
    #[cold]
    pub(super) fn protected_builder<'o>(&self, out: &'o mut Vec<u8>, max_len: usize) -> PacketBuilder<'o> {
        let tags = &self.tags;
        let tag = VerificationTag::new(tags.peer_tag);
        let max_len = max_len.min(MAX_ROOM);
        PacketBuilder::enclosed(out, tags.local_port, tags.peer_port, tag, max_len, SPACE)
    }

    /// Seals a packet in place.
    #[cold]
    pub(super) fn seal_enclosed(&mut self, builder: &mut PacketBuilder<'_>) {
        let bytes = builder.enclosed_mut(SPACE.1);
        let sealed = self.protection.as_mut().is_some_and(|protection| protection.seal(bytes).is_ok());
        if !sealed {
            debug_assert!(false, "`may_seal` looked after the keys");
            // Whatever happened, nothing leaves in clear.
            bytes.fill(0);
        }
    }

    /// Returns whether more packets may be protected, and changes the keys in time. Closes the association if
    /// they are used up and nobody established others.
    #[cold]
    pub(super) fn may_seal(&mut self, now: Time) -> bool {
        if self.protection.as_ref().is_some_and(|protection| protection.awaits_last_clear()) {
            self.fix_first_protected();
        }
        let may = self.protection.as_mut().is_none_or(|protection| protection.prepare_to_seal());
        if !may {
            self.close(now, Some(LossReason::KeysUsedUp));
        }
        may
    }

    /// Returns whether `bytes` are a packet that begins with a DTLS chunk.
    pub(crate) fn is_sealed(bytes: &[u8]) -> bool {
        bytes.get(CommonHeader::LEN) == Some(&ChunkType::DTLS.0)
    }

    /// Handles a protected packet like [`input`](Self::input). A packet that cannot be opened only increments
    /// a counter.
    #[cold]
    pub(super) fn input_sealed(
        &mut self,
        now: Time,
        at: PathAddr,
        ecn: Ecn,
        bytes: &mut [u8],
        jar: &mut CookieJar,
    ) -> bool {
        let Ok(packet) = Packet::parse_mut(bytes, self.checksum()) else {
            self.faults.malformed_packets += 1;
            return false;
        };
        let (header, tags, len) = (packet.header, &self.tags, packet.bytes().len());
        let ours = (tags.local_tag, tags.local_port, tags.peer_port);
        if (header.verification_tag.get(), header.dst_port, header.src_port) != ours {
            self.faults.wrong_tag_packets += 1;
            return false;
        }
        if self.state == State::Closed {
            return false;
        }
        if self.protection.as_ref().is_some_and(|protection| protection.awaits_numbers()) {
            self.fix_first_protected();
        }
        let Some(protection) = &mut self.protection else { return false };
        if protection.awaits_receive_keys() {
            protection.hold(at, ecn, bytes);
            return false;
        }
        let opened = match protection.open(now, &mut bytes[CommonHeader::LEN..]) {
            Ok(opened) => opened,
            Err(error) => {
                let used_up = matches!(error, OpenError::LimitReached { .. }) && !protection.opens();
                self.faults.undecryptable_packets += 1;
                if matches!(error, OpenError::Replayed { .. }) {
                    // Of two copies, the genuine one may be this one.
                    self.on_replay(now, at, bytes, len);
                }
                if used_up {
                    // RFC 9147 §4.5.3
                    self.abort_with(now, &[], LossReason::KeysUsedUp);
                }
                self.note_unopened(now, &error);
                return false;
            }
        };
        // An earlier epoch may have to be destroyed later.
        self.output.upkeep_due = true;
        // The common header again, in front of the chunks.
        let chunks = opened.chunks.clone();
        bytes.copy_within(..CommonHeader::LEN, chunks.start);
        let inner = &bytes[chunks.start..chunks.end + CommonHeader::LEN];
        let Ok(packet) = Packet::parse(inner, Checksum::Skip) else { return false };
        let departed = self.readdressing.departed.is_touched() && self.is_departed(now, at, &packet);
        let record = (opened.epoch, opened.sequence_number);
        let asks = packet.first_chunk_type() == Some(ChunkType::ASCONF);
        if departed || asks && self.distrusts_source(at, &packet, record) {
            // No key protects the addresses (RFC 5061 §6): a forged one must not use up the record, or the
            // genuine copy on a path in use would count as a replay.
            self.faults.unexpected_chunks += 1;
            if let Some(protection) = &mut self.protection {
                protection.forget(&opened);
            }
            return false;
        }
        let first = self.protection.as_mut().is_some_and(|protection| protection.note_proven());
        if first {
            // The peer protects all that it sends from now on (draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.2).
            // Until key management says so as well, a SACK in clear could acknowledge user data that an
            // attacker deletes.
            self.auth.demand_protection();
            self.forget_measurements_in_clear();
            self.forget_ports_in_clear();
            self.events.push(Event::Protected);
        }
        self.begin_credit(at, len);
        self.note_source(now, at);
        let verified = self.take_packet(now, at, ecn, &packet, (jar, None), (true, len));
        match self.path_of(at) {
            None => self.ask_newcomer(now, at, false),
            Some(path) => self.paths.test_receiving_path(path, now),
        }
        if first {
            // A shutdown may have waited for it.
            self.after_change(now);
        }
        verified
    }

    /// Discards the round-trip times and windows of a handshake in clear. A forged SACK gives a path a
    /// round-trip time shorter than its own, by which a controller measures queueing delay for many seconds.
    /// Answers in clear have confirmed no path either.
    #[cold]
    fn forget_measurements_in_clear(&mut self) {
        // With pre-shared keys, only an INIT ACK is measured in clear. The keys depend on it.
        if self.has_external_keys() {
            for path in self.paths.iter_mut() {
                path.controller.reset();
                path.rtt.reset();
            }
            self.paths.verify_again();
        }
    }

    /// Handles the packets that arrived before the keys that open them.
    #[cold]
    fn open_held(&mut self, now: Time) {
        let Some(protection) = &mut self.protection else { return };
        let held = protection.take_held();
        if held.is_empty() {
            return;
        }
        // Nothing that the peer seals has a cookie of ours.
        let mut jar = CookieJar::new(&EndpointConfig::default(), self.rng.next_seed());
        for mut packet in held {
            self.begin_held(packet.at);
            self.input_sealed(now, packet.at, packet.ecn, &mut packet.bytes, &mut jar);
        }
    }

    /// Ends a set-up if the first keys do not decrypt the peer's packets.
    ///
    /// This reveals no more about a key than the packets themselves. To forge such a packet, an attacker must
    /// know the tags of the set-up; such an attacker can also prevent the set-up by other means.
    #[cold]
    fn note_unopened(&mut self, now: Time, error: &OpenError) {
        let Some(protection) = &mut self.protection else { return };
        let unopened = protection.count_unopened(error);
        let (reason, text): (_, &[u8]) = if protection.is_external() {
            (LossReason::SetUpChanged, SET_UP_CHANGED)
        } else {
            (LossReason::KeysDiffer, b"the pre-shared keys differ")
        };
        match self.state {
            _ if unopened == 0 => {}
            // The answers to two COOKIE ECHOs. The peer cannot open the ABORT, and so notices too.
            State::CookieEchoed if unopened >= 2 && self.set_up.retransmissions > 0 => {
                self.abort_with(now, &[], reason);
            }
            State::CookieEchoed => {}
            // The first protected packet of the peer, which reads an ABORT in clear only.
            _ => {
                let (at, tag) = (self.data_addr(), self.tags.peer_tag);
                self.control.clear();
                self.output.clear();
                if let Some(at) = at {
                    let causes = [Cause::UserInitiatedAbort(text)];
                    self.control.push_clear(
                        at,
                        tag,
                        &Abort { tag_reflected: false, causes: (&causes).into() },
                    );
                }
                self.close(now, Some(reason));
            }
        }
    }

    /// Returns the reason of an ABORT during a set-up, if the keys of both ends differ: `text` is the peer's
    /// reason.
    pub(super) fn set_up_failure(&self, text: &[u8]) -> Option<LossReason> {
        let protection = self.protection.as_ref()?;
        let unopened = self.state == State::CookieEchoed && protection.unopened_in_set_up() > 0;
        let changed = text == SET_UP_CHANGED && protection.is_external() && !protection.is_proven();
        match (unopened, changed) {
            (true, _) => Some(LossReason::KeysDiffer),
            (_, true) => Some(LossReason::SetUpChanged),
            _ => None,
        }
    }

    /// Returns where this end begins to protect, if nothing more is sent in clear: TSN and ordered messages
    /// on the stream of key management.
    fn own_first_protected(&self) -> FirstProtected {
        let messages = self.outbound.next_ordered(KEY_MANAGEMENT_STREAM);
        FirstProtected { tsn: self.outbound.next_tsn().get(), messages }
    }

    /// Fixes where protection begins, if the first keys wait for this end's last message in clear and it was
    /// sent.
    fn fix_first_protected(&mut self) {
        if self.outbound.has_key_messages() {
            return;
        }
        let ours = self.own_first_protected();
        if let Some(protection) = &mut self.protection {
            let fixed = protection.fix(ours);
            debug_assert_eq!(fixed, Ok(()));
        }
    }

    /// Returns whether a packet in clear may be processed. With protection, only chunks of a set-up or its
    /// repetition may (draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.2).
    pub(super) fn admits_clear(&mut self, at: PathAddr, packet: &Packet<'_>) -> bool {
        let admits = match packet.first_chunk_type() {
            _ if !self.is_enforced() => {
                !self.is_protected() && !self.config.protection.is_required()
                    || packet.chunks().flatten().all(|chunk| self.admits_in_set_up(&chunk))
            }
            Some(ChunkType::INIT | ChunkType::COOKIE_ECHO) => true,
            // It answers nothing.
            Some(ChunkType::ABORT) if !self.has_sent_to(at) => false,
            // Once the peer has proved its keys it refuses nothing, and the COOKIE ACK is protected too.
            Some(ChunkType::ABORT | ChunkType::ERROR | ChunkType::SHUTDOWN_ACK)
                if self.state == State::CookieEchoed && !self.is_proven() =>
            {
                true
            }
            // The peer's first keys differ, or it has none yet. An attacker who can send this can also
            // prevent the set-up.
            Some(ChunkType::ABORT)
                if self.awaits_first_packet()
                    && packet.header.verification_tag.get() == self.tags.local_tag =>
            {
                true
            }
            // All data is delivered. A peer that has forgotten the association has no keys.
            Some(ChunkType::ABORT | ChunkType::SHUTDOWN_COMPLETE) => self.state == State::ShutdownAckSent,
            _ => false,
        };
        if !admits {
            self.faults.unprotected_packets += 1;
        }
        admits
    }

    /// Returns whether a chunk may be in clear while the keys are being agreed on. Data must be key
    /// management's, which protects itself (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §4). Once packets can
    /// be opened, only repeated data may.
    fn admits_in_set_up(&self, chunk: &Chunk<'_>) -> bool {
        if self.awaits_proof() && !self.admits_before_proof(chunk) {
            return false;
        }
        let (tsn, stream, unordered, ppid) = match chunk {
            Chunk::Data(data) => (data.tsn, data.stream, data.flags.unordered, data.ppid),
            Chunk::IData(data) => match data.fragment {
                Fragment::First(ppid) => (data.tsn, data.stream, data.unordered, ppid),
                // Of such a message: `establish_receive_keys` accepts no incomplete one.
                Fragment::Later(_) => (data.tsn, data.stream, data.unordered, Ppid::DTLS_KEY_MANAGEMENT),
            },
            // What the policy takes from them would outlast the start of protection.
            Chunk::Unknown(unknown) => return !self.is_private(unknown.chunk_type()),
            // They would skip or renumber data that the peer protects.
            Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_) | Chunk::ReConfig(_) => return false,
            // Limits concern data that is protected.
            Chunk::StreamCredit(_) | Chunk::StreamBlocked(_) => return false,
            // The end of an association would be reported under protection that no end has asked for.
            Chunk::Shutdown(_) | Chunk::ShutdownComplete(_) => return false,
            // RFC 9260 §8.5.1 E: during a set-up it is out of the blue.
            Chunk::ShutdownAck(_) => return self.is_setting_up(),
            _ => return true,
        };
        let opens = self.protection.as_ref().is_some_and(|protection| protection.opens());
        is_key_management(stream.get(), unordered, ppid.get())
            && (!opens || !self.inbound.cum_tsn_ack().precedes(tsn))
    }

    /// Returns whether a chunk may be in clear while user data is already protected: only what a server
    /// without keys sends. Such a server has opened no user data, so that it acknowledges none. A restart
    /// would end protection.
    fn admits_before_proof(&self, chunk: &Chunk<'_>) -> bool {
        match chunk {
            Chunk::Sack(sack) => {
                let gaps = sack.gap_blocks.iter().map(|block| sack.cum_tsn_ack + u32::from(block.end));
                !gaps.chain([sack.cum_tsn_ack]).any(|tsn| self.outbound.has_sent_user_data(tsn))
            }
            Chunk::Data(_)
            | Chunk::IData(_)
            | Chunk::CookieAck(_)
            | Chunk::Heartbeat(_)
            | Chunk::HeartbeatAck(_)
            | Chunk::Abort(_) => true,
            _ => false,
        }
    }

    /// Returns role, method and parameters for a key management method (draft-ietf-tsvwg-sctp-dtls-chunk-04
    /// §7.2). Returns `None` before the agreement, and without protection.
    pub fn key_agreement(&self) -> Option<KeyAgreement> {
        self.protection.as_ref()?.agreement()
    }

    /// Queues a message of a key management method outside of the core, even if the send buffer is full. The
    /// message precedes all user data except a message that is being sent, and leaves in clear until send
    /// keys are established.
    ///
    /// # Errors
    ///
    /// An empty message, or an association that is closing or has no such method.
    pub fn send_key_message(&mut self, data: Bytes) -> Result<(), SendError> {
        // A shutdown that waits for the keys does not prevent them.
        if !self.is_open() {
            return Err(SendError::Closed);
        }
        if !self.has_external_keys() {
            return Err(SendError::KeyManagement);
        }
        let ppid = Ppid::DTLS_KEY_MANAGEMENT.get();
        self.outbound.enqueue_urgent(OutMessage { ppid, data, ..OutMessage::default() })?;
        self.after_enqueue();
        Ok(())
    }

    /// Returns the next message for a key management method outside of the core, which [`recv`](Self::recv)
    /// does not return. It may be a part of a message that is longer than the receive buffer.
    pub fn recv_key_message(&mut self) -> Option<Message> {
        self.inbound.read_key_message()
    }

    /// Returns whether [`recv_key_message`](Self::recv_key_message) would return a message.
    pub fn has_key_message(&self) -> bool {
        self.inbound.has_key_message()
    }

    /// Returns whether both ends agreed on keys that are managed outside of the core.
    pub(super) fn has_external_keys(&self) -> bool {
        let protection = self.protection.as_deref();
        protection.is_some_and(|protection| protection.is_external() && protection.is_agreed())
    }

    /// Returns whether user data must wait for keys from outside of the core, because it would leave in
    /// clear. Until the peer has answered the INIT, it may agree on them.
    pub(super) fn awaits_keys(&self) -> bool {
        self.protection.as_deref().is_some_and(|protection| {
            let undecided = self.config.protection.is_required() || self.state == State::CookieWait;
            protection.is_external() && (protection.is_agreed() || undecided) && !protection.has_send_keys()
        })
    }

    /// Returns whether both ends agreed on keys from outside of the core, and this end has none yet.
    pub(super) fn awaits_first_keys(&self) -> bool {
        let opens = self.protection.as_ref().is_some_and(|protection| protection.opens());
        self.has_external_keys() && !self.seals() && !opens
    }

    /// Returns whether a shutdown must wait for keys from outside of the core, and for the proof that the
    /// peer has them: in clear, anyone could end the association as if an end had asked for it.
    pub(super) fn awaits_keys_to_close(&self) -> bool {
        self.has_external_keys() && (!self.seals() || self.awaits_proof())
    }

    /// Opens packets also with this key material, from now on (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.5). The
    /// first epoch is 3.
    ///
    /// The keys of the first epoch are bound to the TSN and the message number at which each end begins to
    /// protect ([`KeyMaterial::bound`]), so that no end takes a protected chunk for one that it has received
    /// in clear. The client's wait until it has sent its last message in clear.
    ///
    /// # Errors
    ///
    /// The keys are not managed outside of the core ([`KeyManagement::external`](crate::KeyManagement)), or
    /// the epoch is not the one after the last. [`CallError::ForgedData`]: abort the association.
    pub fn establish_receive_keys(&mut self, epoch: u64, keys: &KeyMaterial) -> Result<(), CallError> {
        // The message that completes the first keys is the peer's last one in clear. What follows it would
        // take the place of protected data.
        if !self.external_keys()?.opens() && !self.inbound.is_settled() {
            return Err(CallError::ForgedData);
        }
        let tsn = self.inbound.cum_tsn_ack() + 1;
        let messages = self.inbound.next_ordered(KEY_MANAGEMENT_STREAM);
        let theirs = FirstProtected { tsn: tsn.get(), messages };
        let ours = self.own_first_protected();
        self.external_keys()?.add_receive(epoch, keys, [ours, theirs])?;
        self.begin_anew();
        Ok(())
    }

    /// Protects packets with this key material from now on (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.4).
    ///
    /// The server's peer must have established its receive keys. The client may call this earlier with the
    /// first keys, once it has sent everything that the peer needs to derive them (False Start). User data is
    /// then protected. SACKs and key management's messages stay in clear until a packet of the peer was
    /// opened. The server holds a few protected packets that arrive before its keys, and handles them in this
    /// call.
    ///
    /// # Errors
    ///
    /// Same as [`establish_receive_keys`](Self::establish_receive_keys).
    pub fn establish_send_keys(
        &mut self,
        now: Time,
        epoch: u64,
        keys: &KeyMaterial,
    ) -> Result<(), CallError> {
        let ours = self.own_first_protected();
        self.external_keys()?.add_send(epoch, keys, ours)?;
        self.begin_anew();
        self.open_held(now);
        self.after_change(now);
        Ok(())
    }

    /// Sets the time at which the receive keys of all epochs before `epoch` are destroyed. By then, packets
    /// in flight under them must have arrived.
    ///
    /// # Errors
    ///
    /// The keys are not managed outside of the core.
    pub fn retire_receive_keys(&mut self, now: Time, epoch: u64, until: Time) -> Result<(), CallError> {
        self.external_keys()?.retire_receive(epoch, until);
        self.after_change(now);
        Ok(())
    }

    /// Discards packets in clear from now on (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.9). Pre-shared keys need
    /// no such call.
    ///
    /// # Errors
    ///
    /// The keys are not managed outside of the core, or none were established for receiving.
    pub fn require_protected(&mut self) -> Result<(), CallError> {
        let protection = self.external_keys()?;
        if !protection.opens() {
            return Err(CallError::NotExternalKeys);
        }
        protection.enforce();
        self.auth.demand_protection();
        Ok(())
    }

    /// Changes pre-shared keys in both directions. The peer follows when the next packet arrives.
    ///
    /// # Errors
    ///
    /// The keys are not pre-shared, or the peer has not followed the last change yet.
    pub fn change_keys(&mut self, now: Time) -> Result<(), CallError> {
        if !self.protection.as_mut().is_some_and(|protection| protection.rekey()) {
            return Err(CallError::NoNextKeys);
        }
        if let Some(path) = self.paths.data_path() {
            self.paths.request_heartbeat(path);
        }
        self.after_change(now);
        Ok(())
    }

    /// Returns the usage of the current send keys (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.10).
    pub fn send_key_usage(&self) -> Option<SendUsage> {
        self.protection.as_ref()?.send_usage()
    }

    /// Returns the usage of the receive keys of an epoch (draft-ietf-tsvwg-sctp-dtls-chunk-04 §7.11).
    pub fn receive_key_usage(&self, epoch: u64) -> Option<ReceiveUsage> {
        self.protection.as_ref()?.receive_usage(epoch)
    }

    fn external_keys(&mut self) -> Result<&mut PacketProtection, CallError> {
        let protection = self.protection.as_deref_mut();
        let external = protection.filter(|protection| protection.is_external() && protection.is_agreed());
        external.ok_or(CallError::NotExternalKeys)
    }
}

/// Returns why an end refuses a peer with which it cannot agree on protection.
pub(super) fn cannot_protect(error: NegotiationError) -> LossReason {
    match error {
        NegotiationError::EarlierVersion => LossReason::EarlierVersion,
        _ => {
            let what = "the DTLS chunk, which is required here, cannot be agreed on";
            LossReason::ProtocolViolation { cause: error.cause().typ().0, what }
        }
    }
}
