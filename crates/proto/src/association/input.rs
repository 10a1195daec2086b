//! Received packets: checksum, verification tag (RFC 9260 §8.5), and signs of life.

use core::net::IpAddr;

use msctp_units::{Ecn, Time};
use msctp_wire::{Checksum, Chunk, ChunkType, EncodeChunk, Packet, ShutdownComplete};

use super::{Around, Association};
use crate::addr::{PathAddr, PathId};
use crate::config::EndpointConfig;
use crate::cookie::{Cookie, CookieJar};
use crate::path::{Path, SourceUse};
use crate::stats::AssociationState as State;
use crate::trace::Direction;

/// Classification of a packet by its verification tag (RFC 9260 §8.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    /// The tag is this end's.
    Ours,
    /// A packet with tag 0 and a single INIT (§8.5.1 A).
    Init,
    /// A packet that begins with COOKIE ECHO, whose cookie decides (§8.5.1 D).
    CookieEcho,
    /// A packet with the peer's tag: an ABORT or SHUTDOWN COMPLETE with the T bit may be valid (§8.5.1 B, C).
    Reflected,
    /// A SHUTDOWN ACK during set-up, which counts as out of the blue with any tag (§8.5.1 E).
    OldShutdownAck,
    /// To be discarded silently.
    Refused,
}

impl Association {
    /// Handles an SCTP packet that arrived between these addresses. Never fails: faults are counted in
    /// [`stats`](Self::stats) or answered on the wire.
    ///
    /// This is for an association without an [`Endpoint`](crate::Endpoint), which opens the peer's cookies
    /// with keys of its own.
    pub fn handle_datagram(&mut self, now: Time, at: PathAddr, bytes: &mut [u8]) {
        self.handle_marked_datagram(now, at, Ecn::NotEct, bytes);
    }

    /// Handles a datagram as [`handle_datagram`](Self::handle_datagram), with the ECN field of the IP header
    /// (`Config::ecn`).
    pub fn handle_marked_datagram(&mut self, now: Time, at: PathAddr, ecn: Ecn, bytes: &mut [u8]) {
        let own = match self.around.as_deref_mut() {
            Some(Around::Alone(jar)) => jar.take(),
            _ => None,
        };
        let mut jar =
            own.unwrap_or_else(|| Box::new(CookieJar::new(&EndpointConfig::default(), self.rng.next_seed())));
        self.input(now, at, ecn, bytes, &mut jar);
        match self.around.as_deref_mut() {
            Some(Around::Alone(own)) => *own = Some(jar),
            Some(Around::Udp(_)) => {}
            None => self.around = Some(Box::new(Around::Alone(Some(jar)))),
        }
    }

    /// Handles a datagram like [`handle_datagram`](Self::handle_datagram), with the endpoint's cookie jar.
    /// Returns whether the peer provably sent the packet: by its verification tag (RFC 9260 §8.5), the cookie
    /// or the keys.
    #[inline]
    pub(crate) fn input(
        &mut self,
        now: Time,
        at: PathAddr,
        ecn: Ecn,
        bytes: &mut [u8],
        jar: &mut CookieJar,
    ) -> bool {
        if self.protection.is_some() && Self::is_sealed(bytes) {
            return self.input_sealed(now, at, ecn, bytes, jar);
        }
        let Ok(packet) = Packet::parse_mut(bytes, self.checksum()) else {
            self.faults.malformed_packets += 1;
            return false;
        };
        self.input_clear(now, at, ecn, &packet, jar, None)
    }

    /// Handles a packet in clear with a correct checksum, like [`input`](Self::input). `cookie` is the
    /// authentic cookie of the packet's COOKIE ECHO, if the jar has opened it already.
    #[inline]
    pub(crate) fn input_clear(
        &mut self,
        now: Time,
        at: PathAddr,
        ecn: Ecn,
        packet: &Packet<'_>,
        jar: &mut CookieJar,
        cookie: Option<&Cookie>,
    ) -> bool {
        if self.state == State::Closed {
            return false;
        }
        if self.protection.is_some() && !self.admits_clear(at, packet) {
            self.note_clear_abort(now, at, packet);
            return false;
        }
        let len = packet.bytes().len();
        self.begin_credit(at, len);
        self.take_packet(now, at, ecn, packet, (jar, cookie), (false, len))
    }

    /// Returns how checksums are verified. An end that announced RFC 9653 accepts a checksum of 0 (§5.3).
    #[inline]
    pub(super) fn checksum(&self) -> Checksum {
        if self.checksum_offload {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
            //= type=exception
            //= reason=option `checksum_offload` of the endpoint, off by default: the layer below has verified
            //= reason=the packet
            //# the receiver MUST first check the CRC32c checksum as follows:
            return Checksum::Skip;
        }
        if self.config.offer.lower_layer_protects { Checksum::ZeroOrRight } else { Checksum::Verify }
    }

    /// Handles a packet of `len` bytes on the wire. `opened` is true if its chunks were protected. Returns
    /// the same as [`input`](Self::input).
    #[inline(always)]
    pub(super) fn take_packet(
        &mut self,
        now: Time,
        at: PathAddr,
        ecn: Ecn,
        packet: &Packet<'_>,
        (jar, cookie): (&mut CookieJar, Option<&Cookie>),
        (opened, len): (bool, usize),
    ) -> bool {
        let verified = match self.admit(packet) {
            Admission::Ours | Admission::Reflected
                if self.readdressing.departed.is_touched() && self.is_departed(now, at, packet) =>
            {
                self.faults.unexpected_chunks += 1;
                false
            }
            Admission::Ours => {
                // With a shared key the tag alone does not prove that the peer sent the packet: observers
                // know it. Before the keys are agreed nothing is signed.
                let needs_signature =
                    self.auth.excludes_observers() && (!self.is_setting_up() || self.is_enforced());
                self.liveness.packet_is_signed = false;
                self.note_valid_packet(now, at);
                if opened {
                    self.note_authenticated(now, at, true);
                }
                self.count_received(at, len);
                let has_control = self.take_chunks(now, at, ecn, packet, (jar, cookie), opened);
                if self.state == State::CookieEchoed && !begins_with_init_ack(packet) {
                    self.repeat_cookie_echo(now, at);
                }
                let verified = !needs_signature || self.liveness.packet_is_signed;
                if !has_control {
                    self.after_data(now);
                    return verified;
                }
                verified
            }
            Admission::CookieEcho => self.take_cookie_echo(now, at, ecn, packet, (jar, cookie)),
            Admission::Init => {
                if let Some(Ok(Chunk::Init(init))) = packet.chunks().next() {
                    self.stats.packets_received += 1;
                    self.trace_control(now, Direction::In, self.path_of(at), &init);
                    self.on_init(now, at, &init, packet.bytes().len(), jar);
                }
                false
            }
            Admission::Reflected => {
                self.take_reflected(now, at, packet);
                false
            }
            Admission::OldShutdownAck => {
                // RFC 9260 §8.4 (5), §9.2: a SHUTDOWN COMPLETE with the same tag, reflected
                let complete = ShutdownComplete { tag_reflected: true };
                self.control.push_clear(at, packet.header.verification_tag.get(), &complete);
                false
            }
            Admission::Refused => {
                self.faults.wrong_tag_packets += 1;
                false
            }
        };
        self.after_change(now);
        verified
    }

    /// Handles a packet with a COOKIE ECHO at the front. Returns whether its cookie is valid.
    #[cold]
    fn take_cookie_echo(
        &mut self,
        now: Time,
        at: PathAddr,
        ecn: Ecn,
        packet: &Packet<'_>,
        cookies: (&mut CookieJar, Option<&Cookie>),
    ) -> bool {
        let before = self.stats.packets_received;
        self.take_chunks(now, at, ecn, packet, cookies, false);
        self.stats.packets_received > before
    }

    pub(super) fn is_setting_up(&self) -> bool {
        matches!(self.state, State::CookieWait | State::CookieEchoed)
    }

    fn admit(&self, packet: &Packet<'_>) -> Admission {
        let (header, tags) = (packet.header, &self.tags);
        if header.dst_port != tags.local_port || header.src_port != tags.peer_port {
            return Admission::Refused;
        }
        let tag = header.verification_tag.get();
        let setting_up = self.is_setting_up();
        //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5
        //# the endpoint MUST ensure that the value in the Verification Tag field of the received SCTP packet
        //# matches its own tag.
        if tag == tags.local_tag && !setting_up {
            return Admission::Ours;
        }
        match packet.chunks_past_auth().next_raw().and_then(|chunk| Some(chunk.ok()?.0)) {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
            //# it SHOULD verify that the packet contains only an INIT chunk. Otherwise, the receiver MUST
            //# silently discard the packet.
            Some(ChunkType::INIT) if tag == 0 && packet.check_bundling().is_ok() => Admission::Init,
            Some(ChunkType::SHUTDOWN_ACK) if setting_up => Admission::OldShutdownAck,
            _ if tag == tags.local_tag => Admission::Ours,
            Some(ChunkType::COOKIE_ECHO) => Admission::CookieEcho,
            Some(ChunkType::ABORT | ChunkType::SHUTDOWN_COMPLETE) if tag == tags.peer_tag && tag != 0 => {
                Admission::Reflected
            }
            //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5
            //# the receiver MUST silently discard the packet and MUST NOT process it any further, except for
            //# those cases listed in Section 8.5.1 below.
            _ => Admission::Refused,
        }
    }

    /// Handles a packet with the peer's tag, which is valid only with the T bit.
    fn take_reflected(&mut self, now: Time, at: PathAddr, packet: &Packet<'_>) {
        let path = self.path_of(at);
        let mut chunks = packet.chunks();
        let from_auth = chunks.rest();
        let (mut chunk, mut authenticated) = (chunks.next(), false);
        if let Some(Ok(Chunk::Auth(auth))) = &chunk {
            if !self.on_auth(at, auth, from_auth, &mut authenticated) {
                return;
            }
            chunk = chunks.next();
        }
        match chunk {
            // RFC 4895 §6.3: with or without the T bit
            // `admits_clear`: the peer has forgotten the association, and all data is delivered.
            Some(Ok(Chunk::Abort(_) | Chunk::ShutdownComplete(_)))
                if self.is_enforced() && self.state == State::ShutdownAckSent =>
            {
                self.on_shutdown_complete(now);
            }
            Some(Ok(chunk)) if self.auth.lacks(chunk.chunk_type(), authenticated) => {
                self.discard_unauthenticated(chunk.chunk_type());
            }
            // RFC 5061 §5.3.1: an ABORT that answers a packet from a deleted address is ignored
            Some(Ok(Chunk::Abort(_))) if self.must_ignore_abort(at) || !self.paths.has_local(&at.local) => {
                self.faults.unexpected_chunks += 1;
            }
            // RFC 9260 §8.4 (8): such an ABORT answers a packet to its source.
            Some(Ok(Chunk::Abort(_))) if !self.has_sent_to(at) => self.faults.unexpected_chunks += 1,
            Some(Ok(Chunk::Abort(abort))) if abort.tag_reflected && self.is_of_other_endpoint(at) => {
                self.trace_control(now, Direction::In, path, &abort);
                self.fail_address_of_other_endpoint(now, at);
            }
            //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
            //# The receiver of an ABORT chunk MUST accept the packet if the Verification Tag field of the
            //# packet matches its own tag and the T bit is not set OR if it is set to its Peer's Tag and the
            //# T bit is set in the Chunk Flags.
            Some(Ok(Chunk::Abort(abort))) if abort.tag_reflected => {
                self.trace_control(now, Direction::In, path, &abort);
                self.on_abort(now, at, &abort);
            }
            Some(Ok(Chunk::ShutdownComplete(complete)))
                if complete.tag_reflected && packet.check_bundling().is_ok() =>
            {
                self.trace_control(now, Direction::In, path, &complete);
                self.on_shutdown_complete(now);
            }
            //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
            //# Otherwise, the receiver MUST silently discard the packet and take no further action.
            _ => self.faults.wrong_tag_packets += 1,
        }
    }

    /// Returns whether a packet was sent between these addresses, so that an ABORT of an endpoint without the
    /// association may answer it (RFC 9260 §8.4 rule 8).
    pub(super) fn has_sent_to(&self, at: PathAddr) -> bool {
        self.path_of(at).and_then(|path| self.paths.get(path)).is_some_and(|path| path.packets_sent > 0)
    }

    /// Returns whether an ABORT with the T bit may come from another endpoint than the peer's: from an
    /// address that is not confirmed, while another one is and can be asked. This end may be deleting all its
    /// addresses that reach the confirmed ones: the ABORT is then the only answer that a lost peer gives.
    ///
    /// The peer lists an address that its network and this one both have, or that of a third party (camping,
    /// RFC 5062). The endpoint there answers the HEARTBEAT that verifies the address (RFC 9260 §8.4 rule 8).
    pub(super) fn is_of_other_endpoint(&self, at: PathAddr) -> bool {
        let confirmed = |address: IpAddr| self.paths.remote_is_confirmed(&address);
        // Only the peer sends protected packets, and an ASCONF that allows early data is one.
        let heard = |path: &Path| self.is_enforced() && (path.early > 0 || path.packets_received > 0);
        let path = self.path_of(at).and_then(|path| self.paths.get(path));
        path.is_some_and(|path| !heard(path)) && !confirmed(at.remote) && self.paths.has_confirmed_source()
    }

    /// Fails the path to an address at which another endpoint than the peer's answers.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-8.5.1
    //= type=exception
    //= reason=an endpoint at an address that the peer only lists reflects the tag of a HEARTBEAT: it proves
    //= reason=that the address is not the peer's, and says nothing about the association at the peer's others
    //# The receiver of an ABORT chunk MUST accept the packet if the Verification Tag field of the packet
    //# matches its own tag and the T bit is not set OR if it is set to its Peer's Tag and the T bit is set in
    //# the Chunk Flags.
    pub(super) fn fail_address_of_other_endpoint(&mut self, now: Time, at: PathAddr) {
        self.faults.unexpected_chunks += 1;
        if let Some(path) = self.path_of(at) {
            self.paths.fail_unconfirmed(path, now);
        }
    }

    #[inline]
    fn count_received(&mut self, at: PathAddr, len: usize) {
        if let Some(path) = self.paths.by_addr_mut(at) {
            path.packets_received += 1;
            path.bytes_received += len as u64;
        }
    }

    #[inline]
    pub(super) fn note_valid_packet(&mut self, now: Time, at: PathAddr) {
        self.stats.packets_received += 1;
        // With a shared key the peer signs every packet. An attacker's unsigned packet must not keep a dead
        // peer or path alive: see `note_authenticated`.
        if !self.auth.excludes_observers() {
            self.note_sign_of_life(now, at);
        }
    }

    /// Records an AUTH chunk. With a shared key, only a valid one is a sign of life.
    pub(super) fn note_authenticated(&mut self, now: Time, at: PathAddr, authenticated: bool) {
        if authenticated && self.auth.excludes_observers() {
            self.liveness.packet_is_signed = true;
            self.note_sign_of_life(now, at);
        }
    }

    #[inline]
    fn note_sign_of_life(&mut self, now: Time, at: PathAddr) {
        self.liveness.heard = now;
        self.note_peer_alive();
        if self.outbound.watches_silence()
            && !self.has_contested_sources(now)
            && let Some(path) = self.path_of(at)
        {
            self.outbound.on_heard(now, path, &mut self.paths);
            self.paths.test_receiving_path(path, now);
        }
    }

    /// Returns the addresses for a reply to a packet at `at` (RFC 9260 §6.4). Returns `None` if no local
    /// address may be its source (RFC 5061 §5.3 F4); the peer then retransmits.
    pub(super) fn reply_addr(&self, at: PathAddr) -> Option<PathAddr> {
        let path = self.paths.reply_path(at).and_then(|path| self.paths.get(path));
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
        //# MUST NOT be used as a source address for any subsequent packets
        path.map(Path::addr).or_else(|| self.paths.answer_addr(at)).or_else(|| {
            //= https://www.rfc-editor.org/rfc/rfc5061#section-5.3
            //= type=exception
            //= reason=a reply leaves from an address being added if there is no other: a HEARTBEAT that
            //= reason=overtakes the ASCONF-ACK would come again an RTO later
            //# the sender MUST NOT use the new IP address as a source for ANY SCTP packet except on
            //# carrying an ASCONF Chunk.
            (self.paths.local_source(&at.local) == Some(SourceUse::AsconfOnly)).then_some(at)
        })
    }

    /// Adds a control chunk to the trace.
    #[inline]
    pub(super) fn trace_control(
        &mut self,
        now: Time,
        direction: Direction,
        path: Option<PathId>,
        chunk: &impl EncodeChunk,
    ) {
        self.tracer.control(now, direction, path, chunk);
    }
}

/// Returns whether the first chunk of a packet is an INIT ACK.
fn begins_with_init_ack(packet: &Packet<'_>) -> bool {
    matches!(packet.chunks().next_raw(), Some(Ok((ChunkType::INIT_ACK, _))))
}
