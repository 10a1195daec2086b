//! The listener's side of set-up: INITs are answered without state, a valid COOKIE ECHO creates an
//! association (RFC 9260 §5.1 B, §5.1.5).

use core::net::IpAddr;

use msctp_units::{Span, Time};
use msctp_wire::{Abort, Cause, Causes, Chunk, ChunkType, Error, Init, Packet, Tsn};

use super::{DatagramOutcome, Endpoint, IgnoreReason, RefusalReason, RefusedSetUp};
use crate::addr::PathAddr;
use crate::association::auth::random_number;
use crate::association::negotiate::{Answer, Offer, OfferFault, answer_room};
use crate::association::{Association, stale_cookie};
use crate::auth::{Authentication, RANDOM_LEN, Verdict};
use crate::config::{Config, SharedConfig};
use crate::cookie::{Addresses, Cookie};
use crate::protection::ProtectionOffer;
use crate::tags::Tags;

/// Number of refused set-ups whose repeated packets are recognized.
const REFUSED_KEPT: usize = 16;

/// A port that accepts associations.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) addresses: Vec<IpAddr>,
    pub(super) config: SharedConfig,
}

/// A set-up by a peer whose association is being made, which is counted already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accepting {
    at: PathAddr,
    /// The peer's address in the cookie.
    peer: IpAddr,
    ports: (u16, u16),
    peer_tag: u32,
}

impl Endpoint {
    /// Answers an INIT whose source address selects no association.
    pub(super) fn on_init(
        &mut self,
        now: Time,
        at: PathAddr,
        packet: &Packet<'_>,
        init: &Init<'_>,
    ) -> DatagramOutcome {
        let (local_port, peer_port) = (packet.header.dst_port, packet.header.src_port);
        let ports = (local_port, peer_port);
        let mut offer = match Offer::read(init) {
            Ok(offer) => offer,
            Err(fault) => {
                let Some(cause) = fault.cause() else {
                    return DatagramOutcome::Ignored(IgnoreReason::BadInit);
                };
                return self.refuse_init(now, at, ports, init.initiate_tag.get(), &[cause]);
            }
        };
        // RFC 9260 §5.1.2 D: an address that it lists may belong to an association
        let known = |address: &IpAddr| self.demux.by_address(local_port, peer_port, *address);
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
        //# An INIT or INIT ACK chunk MUST be treated as belonging to an already established association
        if let Some(slot) = offer.addresses.iter().find_map(known) {
            return self.give(now, at, packet, slot, None);
        }
        if !self.listeners.contains_key(&local_port) {
            // RFC 9260 §8.4 rule 3
            return self.refuse_init(now, at, ports, offer.tag, &[]);
        }
        let (local_tag, local_initial_tsn) = (self.rng.next_tag(), Tsn::new(self.rng.next_u32()));
        let Some(listener) = self.listeners.get(&local_port) else {
            return DatagramOutcome::Ignored(IgnoreReason::OutOfTheBlue);
        };
        if let Err(fault) = offer.check(&listener.config) {
            if let OfferFault::Protection(error) = fault {
                let methods = offer.protection.as_ref().map_or_else(Vec::new, ProtectionOffer::methods);
                self.note_refused(at, ports, offer.tag, RefusalReason::Protection { error, methods });
            }
            return self.refuse_init(now, at, ports, offer.tag, fault.cause().as_slice());
        }
        let theirs = offer.protection.as_ref();
        let protection = listener.config.protection.keys().filter(|_| theirs.is_some()).map(|keys| {
            let tie_breaker = ProtectionOffer::other_tie_breaker(theirs, self.rng.next_u32());
            ProtectionOffer::ours(keys, tie_breaker)
        });
        let shown = |local: &IpAddr| self.host.as_ref().is_none_or(|host| host.shows(local, &at.local));
        let local_addresses: Addresses = listener.addresses.iter().copied().filter(shown).collect();
        let answer = Answer {
            config: &listener.config,
            local_addresses: &local_addresses,
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.2
            //# For a normal association INIT chunk (i.e., the endpoint is in the CLOSED state), the Tie-Tags
            //# MUST be set to 0
            tags: Tags::new(local_port, peer_port, local_tag, local_initial_tsn),
            collision: false,
            random: random_number(&listener.config.auth, &mut self.rng),
            protection,
            at,
            room: answer_room(packet.bytes().len(), &at.remote),
        };
        // Reuses a reply's buffer for the chunk
        let mut chunk = self.spare.pop().unwrap_or_default();
        answer.give(now, init, &offer, &mut self.jar, |ack| msctp_wire::EncodeChunk::encode(ack, &mut chunk));
        let outcome = match msctp_wire::UnknownChunk::new(&chunk) {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
            //# "Z" MUST set the Verification Tag field to Tag_A and also provide its own Verification Tag
            //# (Tag_Z) in the Initiate Tag field.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
            //# The destination IP address of the INIT ACK chunk MUST be set to the source IP address of the
            //# INIT chunk to which this INIT ACK chunk is responding.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
            //# An endpoint MUST send the INIT ACK chunk to the IP address from which it received the INIT
            //# chunk.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.2
            //# The packet containing the INIT ACK chunk MUST be sent to the source address of the packet
            //# containing the INIT chunk.
            Ok(chunk) => self.reply(now, at, ports, offer.tag, &chunk),
            Err(_) => DatagramOutcome::Ignored(IgnoreReason::OutOfTheBlue),
        };
        chunk.clear();
        self.spare.push(chunk);
        outcome
    }

    /// Refuses an INIT with an ABORT that has its Initiate Tag and no T bit (RFC 9260 §8.4 rule 3).
    fn refuse_init(
        &mut self,
        now: Time,
        at: PathAddr,
        ports: (u16, u16),
        tag: u32,
        causes: &[Cause<'_>],
    ) -> DatagramOutcome {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-8.4
        //# If, for whatever reason, the INIT chunk cannot be processed normally and an ABORT chunk has to be
        //# sent in response, the Verification Tag of the packet containing the ABORT chunk MUST be the
        //# Initiate Tag of the received INIT chunk
        self.reply(now, at, ports, tag, &Abort { tag_reflected: false, causes: Causes::from(causes) })
    }

    /// Handles a COOKIE ECHO without an association (RFC 9260 §5.1.5).
    pub(super) fn on_cookie_echo(
        &mut self,
        now: Time,
        at: PathAddr,
        packet: &Packet<'_>,
        bytes: &[u8],
    ) -> DatagramOutcome {
        let header = packet.header;
        // Steps 1 to 3
        //= https://www.rfc-editor.org/rfc/rfc9260#section-4
        //# If the State Cookie in the received COOKIE ECHO chunk is invalid (i.e., failed to pass the
        //# integrity check), the receiver MUST silently discard the packet.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
        //# If these values do not match, the packet MUST be silently discarded.
        let Some(cookie) = self.jar.open(bytes).filter(|cookie| {
            cookie.tags.local_tag == header.verification_tag.get()
                && cookie.tags.local_port == header.dst_port
                && cookie.tags.peer_port == header.src_port
        }) else {
            return DatagramOutcome::Ignored(IgnoreReason::BadCookie);
        };
        let ports = (header.dst_port, header.src_port);
        // The peer may echo from a new address of an existing association.
        let known =
            |address: &IpAddr| self.demux.by_address(cookie.tags.local_port, cookie.tags.peer_port, *address);
        let slot = core::iter::once(&cookie.at.remote).chain(&cookie.addresses).find_map(known);
        // RFC 4895 §6.3: an unauthenticated one gets no answer, not even Stale Cookie
        let listener = self.listeners.get(&cookie.tags.local_port);
        let config = listener.filter(|_| slot.is_none()).map(|listener| listener.config.clone());
        if config.as_ref().is_some_and(|config| !may_echo(config, packet, &cookie)) {
            return DatagramOutcome::Ignored(IgnoreReason::Unauthenticated);
        }
        // Step 4. The keys of a collision's cookie may be those of an association that is over: an honest
        // peer sends a new INIT (RFC 9260 §5.2.6).
        let is_over = (slot.is_none() && cookie.collision).then_some(Span::ZERO);
        if let Some(staleness) = self.jar.staleness(now, &cookie).or(is_over) {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-4
            //# if the received State Cookie is expired (see Section 5.1.5), the receiver MUST send back an
            //# ERROR chunk.
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
            //# the endpoint MUST transmit an ERROR chunk with a "Stale Cookie" error cause to the peer
            //# endpoint.
            let causes = [stale_cookie(staleness)];
            let error = Error { causes: Causes::from(&causes) };
            let auth = config.map(|config| authentication(&config, &cookie));
            return self.reply_signed(now, at, ports, cookie.tags.peer_tag, &error, auth);
        }
        if let Some(slot) = slot {
            return self.give(now, at, packet, slot, Some(&cookie));
        }
        // The association that it set up is over: this is a replay, or the peer missed the end.
        let used = self.jar.is_used(&cookie);
        let reserved = match used || self.demux.has_tag(cookie.tags.local_tag) {
            true => false,
            false => match self.reserve(cookie.at.remote) {
                Ok(()) => true,
                Err(reason) => {
                    self.note_refused(at, ports, cookie.tags.peer_tag, reason);
                    false
                }
            },
        };
        if !reserved {
            let causes = [Cause::OutOfResource];
            let causes = if used { Causes::EMPTY } else { Causes::from(&causes) };
            let abort = Abort { tag_reflected: false, causes };
            let auth = config.map(|config| authentication(&config, &cookie));
            return self.reply_signed(now, at, ports, cookie.tags.peer_tag, &abort, auth);
        }
        let outcome = self.accept(now, at, packet, &cookie);
        if !matches!(outcome, DatagramOutcome::Accepted(_)) {
            self.limits.end(cookie.at.remote);
            self.limits.remove_association();
        }
        outcome
    }

    /// Keeps a refused set-up for the caller, once: a peer that missed the ABORT repeats its packet.
    fn note_refused(&mut self, at: PathAddr, ports: (u16, u16), peer_tag: u32, reason: RefusalReason) {
        let set_up = (at.remote, ports, peer_tag);
        if self.refused_last.contains(&set_up) {
            return;
        }
        if self.refused_last.len() == REFUSED_KEPT {
            self.refused_last.pop_front();
        }
        self.refused_last.push_back(set_up);
        self.refused = Some(RefusedSetUp { at, local_port: ports.0, reason });
    }

    /// Counts another association that this peer sets up, if that is not too many.
    fn reserve(&self, peer: IpAddr) -> Result<(), RefusalReason> {
        if !self.limits.begin(peer, self.config.max_associations_per_peer) {
            return Err(RefusalReason::TooManyOfPeer);
        }
        if !self.limits.add_association(self.config.max_associations) {
            self.limits.end(peer);
            return Err(RefusalReason::TooManyAssociations);
        }
        Ok(())
    }

    /// Refuses the set-up whose association was being made: for a driver that has caught a panic of the
    /// application's controller or policy, after which [`remove_panicked`](Self::remove_panicked) returns
    /// `None`. The peer gets an ABORT, which is the next packet, and [`take_refused`](Self::take_refused)
    /// returns the set-up. Returns where its packet came from, with the UDP port; `None` if no association
    /// was being made.
    pub fn refuse_panicked(&mut self, now: Time) -> Option<(PathAddr, Option<u16>)> {
        let Accepting { at, peer, ports, peer_tag } = self.accepting.take()?;
        self.limits.end(peer);
        self.limits.remove_association();
        self.refused = Some(RefusedSetUp { at, local_port: ports.0, reason: RefusalReason::Panicked });
        let causes = [Cause::OutOfResource];
        let abort = Abort { tag_reflected: false, causes: Causes::from(&causes) };
        self.reply_signed(now, at, ports, peer_tag, &abort, None);
        Some((at, self.source.take()))
    }

    /// Creates the association (step 5), which is counted already. The association handles the COOKIE ECHO as
    /// a duplicate: it sends the COOKIE ACK and handles the later chunks.
    fn accept(&mut self, now: Time, at: PathAddr, packet: &Packet<'_>, cookie: &Cookie) -> DatagramOutcome {
        let seed = self.seed();
        let Some(listener) = self.listeners.get(&cookie.tags.local_port) else {
            // `stop_listening` was called meanwhile.
            return DatagramOutcome::Ignored(IgnoreReason::OutOfTheBlue);
        };
        let config = listener.config.clone();
        let local = (&listener.addresses[..], self.host.clone());
        let ports = (cookie.tags.local_port, cookie.tags.peer_port);
        let (peer, peer_tag) = (cookie.at.remote, cookie.tags.peer_tag);
        // Code of the application runs, which may panic.
        self.running = None;
        self.accepting = Some(Accepting { at, peer, ports, peer_tag });
        let accepted = Association::accept(now, config, local, cookie, seed);
        self.accepting = None;
        let Ok(association) = accepted else {
            debug_assert!(false, "options were checked by listen");
            return DatagramOutcome::Ignored(IgnoreReason::OutOfTheBlue);
        };
        let handle = self.insert(association, Some(cookie.at.remote));
        self.jar.use_up(now, cookie);
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
        //# the COOKIE-ECHO and all the chunks after the COOKIE-ECHO MUST be processed
        self.give(now, at, packet, handle.slot, Some(cookie));
        DatagramOutcome::Accepted(handle)
    }
}

/// Returns whether a COOKIE ECHO may create an association (RFC 4895 §6.3). The cookie's parameters and the
/// shared keys authenticate it if AUTH precedes it or is required.
fn may_echo(config: &Config, packet: &Packet<'_>, cookie: &Cookie) -> bool {
    if config.protection.is_required() && cookie.protection.is_none() {
        return false;
    }
    let mut chunks = packet.chunks();
    let from_auth = chunks.rest();
    let Some(Ok(Chunk::Auth(auth))) = chunks.next() else {
        return !config.auth.demanded().has(ChunkType::COOKIE_ECHO);
    };
    //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
    //# the receiver MUST authenticate the chunks in the packet by using the RANDOM parameters, CHUNKS
    //# parameters and HMAC_ALGO parameters obtained from the COOKIE-ECHO chunk
    let verdict = authentication(config, cookie).verify(&config.auth, &auth, from_auth);
    matches!(verdict, Verdict::Valid { .. })
}

/// Returns the AUTH state that the cookie describes.
fn authentication(config: &Config, cookie: &Cookie) -> Authentication {
    let random = cookie.auth.as_ref().map_or([0; RANDOM_LEN], |auth| auth.random);
    let mut authentication = Authentication::new(&config.auth, random);
    authentication.agree(&config.auth, cookie.auth.as_ref().map(|auth| &auth.peer));
    authentication
}

#[cfg(test)]
mod tests {
    use msctp_wire::{Checksum, CookieEcho, PacketBuilder, VerificationTag};

    use super::*;
    use crate::addr::LocalAddrs;
    use crate::config::EndpointConfig;
    use crate::cookie::testing::cookie;
    use crate::extensions::Extensions;

    /// Sends a COOKIE ECHO from a new host, with a cookie that was created at `ms`.
    fn echo(endpoint: &mut Endpoint, ms: u64, host: u8) -> DatagramOutcome {
        let created = Time::ZERO + Span::from_millis(ms);
        let at = PathAddr { local: [10, 0, 0, 1].into(), remote: [10, 0, 1, host].into() };
        let cookie = Cookie {
            tags: Tags { local_tag: u32::from(host), extensions: Extensions::NONE, ..cookie(created).tags },
            auth: None,
            protection: None,
            at,
            addresses: crate::cookie::Addresses::new(),
            ..cookie(created)
        };
        let (mut signed, mut bytes) = (Vec::new(), Vec::new());
        endpoint.jar.sign(&cookie, &mut signed);
        let tag = VerificationTag::new(cookie.tags.local_tag);
        let mut builder =
            PacketBuilder::new(&mut bytes, cookie.tags.peer_port, cookie.tags.local_port, tag, 1400);
        builder.push(&CookieEcho { cookie: &signed }).unwrap();
        builder.finish();
        endpoint.handle_datagram(Time::ZERO + Span::from_secs(1), at, &mut bytes)
    }

    // RFC 9260 §5.2.6: an ABORT would end the set-up of an honest peer that is late.
    #[test]
    fn a_cookie_that_is_only_presumed_used_is_called_stale() {
        let mut endpoint = Endpoint::new(EndpointConfig::default(), [1; 32]).unwrap();
        let local = LocalAddrs { port: 5000, addresses: vec![[10, 0, 0, 1].into()] };
        endpoint.listen(local, Config::default()).unwrap();
        endpoint.jar.remember_at_most(2);
        for (ms, host) in [(3, 1), (4, 2), (5, 3)] {
            assert!(matches!(echo(&mut endpoint, ms, host), DatagramOutcome::Accepted(_)));
        }
        let mut out = Vec::new();
        while endpoint.poll_transmit(Time::ZERO, &mut out).is_some() {}
        out.clear();
        assert_eq!(echo(&mut endpoint, 2, 9), DatagramOutcome::Replied, "older than a forgotten one");
        assert!(endpoint.poll_transmit(Time::ZERO, &mut out).is_some());
        let packet = Packet::parse(&out, Checksum::Verify).unwrap();
        let Some(Ok(Chunk::Error(error))) = packet.chunks().next() else { panic!("{out:?}") };
        assert_eq!(error.causes.iter().next(), Some(Ok(Cause::StaleCookie(0))));
        assert!(matches!(echo(&mut endpoint, 6, 10), DatagramOutcome::Accepted(_)));
    }
}
