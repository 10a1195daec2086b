//! Authentication in an association (RFC 4895): signs packets, verifies AUTH chunks, changes keys. The
//! algorithms are in `auth`.

use msctp_wire::{Auth as AuthChunk, Cause, Causes, Chunk, ChunkType, Error, Packet, PacketBuilder};

use super::Association;
use super::table12::{Action, action};
use crate::addr::PathAddr;
use crate::auth::{AuthConfig, AuthEvent, AuthOffer, RANDOM_LEN, Random, SharedKey, Verdict};
use crate::call_error::CallError;
use crate::cookie::{Cookie, CookieJar};
use crate::event::Event;
use crate::rng::Rng;
use crate::stats::AssociationState as State;

/// Draws a Random Number (RFC 4895 §6.1), but only if AUTH is on, so that other random numbers do not depend
/// on it.
pub(crate) fn random_number(config: &AuthConfig, rng: &mut Rng) -> Random {
    if config.policy.speaks() { rng.next_seed() } else { [0; RANDOM_LEN] }
}

impl Association {
    /// Sets a shared key, or replaces the one with its identifier (RFC 6458). It verifies at once, and signs
    /// when it is [activated](Self::activate_auth_key). Both ends must set it.
    ///
    /// # Errors
    ///
    /// There are too many keys.
    pub fn set_auth_key(&mut self, key: SharedKey) -> Result<(), CallError> {
        Ok(self.auth.keys.set(key)?)
    }

    /// Signs with this key from now on (RFC 6458).
    ///
    /// # Errors
    ///
    /// The key was not set, or was deactivated.
    pub fn activate_auth_key(&mut self, id: u16) -> Result<(), CallError> {
        Ok(self.auth.activate_key(id)?)
    }

    /// Deactivates a key, which then verifies but no longer signs (RFC 6458). Packets are signed when they
    /// are sent, so that the key is free at once. An event reports that.
    ///
    /// # Errors
    ///
    /// The key is the active one, or was not set.
    pub fn deactivate_auth_key(&mut self, id: u16) -> Result<(), CallError> {
        self.auth.keys.deactivate(id)?;
        self.events.push(Event::Authentication(AuthEvent::FreeKey { key: id }));
        Ok(())
    }

    /// Deletes a key: chunks that the peer signed with it are discarded (RFC 6458).
    ///
    /// # Errors
    ///
    /// The key is the active one, or was not set.
    pub fn delete_auth_key(&mut self, id: u16) -> Result<(), CallError> {
        Ok(self.auth.keys.delete(id)?)
    }

    /// Returns the chunk types that this end accepts only with AUTH (RFC 6458).
    pub fn local_auth_chunks(&self) -> impl Iterator<Item = u8> {
        self.auth.demanded().iter().map(|typ| typ.0)
    }

    /// Applies the AUTH parameters of the peer's INIT ACK.
    pub(super) fn agree_auth(&mut self, peer: Option<&AuthOffer>) {
        self.auth.agree(&self.config.auth, peer);
        self.paths.reserve(self.packet_overhead() as u32);
    }

    /// Applies the AUTH parameters of this end's cookie.
    pub(super) fn agree_auth_of_cookie(&mut self, cookie: &Cookie) {
        if let Some(auth) = &cookie.auth {
            self.auth.set_random(auth.random);
        }
        self.agree_auth(cookie.auth.as_ref().map(|auth| &auth.peer));
    }

    /// Reports if the peer does not support AUTH (RFC 6458).
    pub(super) fn announce_auth(&mut self) {
        if self.config.auth.policy.speaks() && !self.auth.is_spoken() && !self.is_protected() {
            self.events.push(Event::Authentication(AuthEvent::NotSpoken));
        }
    }

    /// Plans the AUTH chunk of a packet to the peer.
    #[inline]
    pub(super) fn plan_auth(&self, builder: &mut PacketBuilder<'_>, tag: u32) {
        if let Some(plan) = self.auth.plan()
            && tag == self.tags.peer_tag
        {
            builder.plan_auth(*plan);
        }
    }

    /// Reserves room for AUTH before DATA or SACK fills the packet, if either is signed. Returns false if
    /// AUTH does not fit, so that they may not follow.
    #[inline]
    #[must_use]
    pub(super) fn begin_auth(&self, builder: &mut PacketBuilder<'_>) -> bool {
        self.auth.packet_overhead() == 0 || builder.begin_auth().is_ok()
    }

    /// Completes a packet, and signs it if a chunk requires AUTH. Returns its length.
    #[inline(always)]
    pub(super) fn seal(&mut self, mut builder: PacketBuilder<'_>) -> usize {
        if builder.has_auth() {
            self.auth.sign_packet(&mut builder);
        } else if builder.is_enclosed() {
            self.seal_enclosed(&mut builder);
        }
        if self.checksum_offload && !builder.leaves_out_checksum() {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
            //= type=exception
            //= reason=option `checksum_offload` of the endpoint, off by default: the layer below writes the
            //= reason=checksum
            //# the endpoint MUST strengthen the data integrity of the transmission by including the CRC32c
            //# checksum value calculated on the packet
            builder.leave_out_checksum();
            self.output.needs_checksum = true;
        }
        builder.finish()
    }

    /// Returns whether a chunk is accepted without the required AUTH: only an ABORT that answers this end's
    /// INIT. No key exists before the INIT ACK, so that nobody could sign it. An observer could end this
    /// set-up by a forged INIT ACK as well.
    pub(super) fn may_come_unsigned(&self, typ: ChunkType) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
        //= type=exception
        //= reason=no key is agreed before the INIT ACK: an ABORT that answers our INIT cannot be signed
        //# It MUST silently discard these chunks if they are not placed after an AUTH chunk in the packet.
        match self.state {
            State::CookieWait => typ == ChunkType::ABORT,
            // A listener has no keys before it accepts the cookie, and no nonces to spare for a refusal.
            State::CookieEchoed => {
                self.is_enforced() && !self.is_proven() && matches!(typ, ChunkType::ABORT | ChunkType::ERROR)
            }
            _ => typ == ChunkType::ABORT && self.awaits_first_packet(),
        }
    }

    /// Discards a chunk that lacks the required AUTH (RFC 4895 §6.3). Returns false if the rest of the packet
    /// must be discarded too, as after an ASCONF (RFC 5061 §5.2 D5).
    #[cold]
    pub(super) fn discard_unauthenticated(&mut self, typ: ChunkType) -> bool {
        self.faults.unauthenticated_chunks += 1;
        //= https://www.rfc-editor.org/rfc/rfc5061#section-5.2
        //# If either authentication fails, or the AUTH chunk is missing, the receiver MUST silently discard
        //# this chunk and the rest of the packet.
        typ != ChunkType::ASCONF && typ != ChunkType::COOKIE_ECHO
    }

    /// Handles an AUTH chunk in front of a packet, as [`on_auth`](Self::on_auth). If the COOKIE ECHO of a
    /// restart or collision follows, the cookie and a shared key authenticate it.
    ///
    /// RFC 4895 §6.3 verifies it with the association's own key, which would reject every restart and
    /// collision. A secret key is needed either way. Replays of an older cookie fail by RFC 9260 §5.2.4, and
    /// because a used cookie is rejected.
    pub(super) fn on_first_auth(
        &mut self,
        at: PathAddr,
        packet: &Packet<'_>,
        (chunk, from_auth): (&AuthChunk<'_>, &[u8]),
        (jar, cookie): (&CookieJar, Option<&Cookie>),
        authenticated: &mut bool,
    ) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
        //= type=exception
        //= reason=the association's own key would refuse every restart and collision: their cookie says with
        //= reason=which Random Numbers to verify
        //# it MUST process the AUTH chunk as described above using the STCB from the existing association
        if self.config.auth.has_secret()
            && let Some(Ok(Chunk::CookieEcho(echo))) = packet.chunks_past_auth().next()
            && let Some(cookie) = cookie.cloned().or_else(|| jar.open(echo.cookie))
            && action(&self.tags, &cookie) != Action::Duplicate
        {
            let mut auth = self.auth.for_cookie(&self.config.auth, cookie.auth.as_ref());
            *authenticated =
                matches!(auth.verify(&self.config.auth, chunk, from_auth), Verdict::Valid { .. });
            if !*authenticated {
                self.faults.unauthenticated_chunks += 1;
            }
            return *authenticated;
        }
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
        //# it MUST process the AUTH chunk as described above using the STCB from the existing association
        self.on_auth(at, chunk, from_auth, authenticated)
    }

    /// Handles an AUTH chunk. `from_auth` is the rest of the packet, beginning with it. Returns false if the
    /// rest must be discarded.
    pub(super) fn on_auth(
        &mut self,
        at: PathAddr,
        chunk: &AuthChunk<'_>,
        from_auth: &[u8],
        authenticated: &mut bool,
    ) -> bool {
        if *authenticated {
            // RFC 4895 §5.1: MUST NOT appear more than once
            self.faults.unexpected_chunks += 1;
            return false;
        }
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
        //# If an association is found, it MUST process the AUTH chunk using the STCB from the existing
        //# association as described earlier.
        match self.auth.verify(&self.config.auth, chunk, from_auth) {
            Verdict::Valid { new_key } => {
                *authenticated = true;
                if let Some(key) = new_key {
                    self.events.push(Event::Authentication(AuthEvent::NewKey { key }));
                }
                true
            }
            Verdict::NotSpoken => self.on_unknown_chunk(at, from_auth),
            Verdict::Unsupported(id) => {
                // RFC 4895 §6.3, §4.1: an ERROR SHOULD be sent
                self.faults.unauthenticated_chunks += 1;
                //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
                //# the AUTH chunk and all the chunks after it MUST be discarded
                let causes = [Cause::UnsupportedHmac(id)];
                let to = self.reply_addr(at);
                self.reply(to, &Error { causes: Causes::from(&causes) });
                false
            }
            Verdict::Invalid => {
                //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
                //# all the chunks following the AUTH chunk MUST be silently discarded
                // RFC 4895 §6.3: "all the chunks following the AUTH chunk MUST be silently discarded"
                self.faults.unauthenticated_chunks += 1;
                false
            }
        }
    }
}
