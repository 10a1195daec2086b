//! A COOKIE ECHO for an existing association: RFC 9260 §5.2.4 and its Table 12.

use core::net::IpAddr;

use msctp_units::Time;
use msctp_wire::{Abort, Cause, Causes, CookieAck, Error, Heartbeat, Param, Params, ShutdownAck, Tsn};

use super::Association;
use crate::addr::{PathAddr, PathId};
use crate::cookie::{Addresses, Cookie, CookieJar};
use crate::event::Event;
use crate::outbound::{Outbound, OutboundConfig};
use crate::path::{Path, SourceUse};
use crate::stats::AssociationState as State;
use crate::tags::Tags;

/// The rows of Table 12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A: the peer restarted.
    Restart,
    /// Case B: both ends began at the same time.
    Collision,
    /// Case C: this end's own cookie, late. Also every case that is not in the table.
    Discard,
    /// Case D: the peer did not receive the COOKIE ACK, or this is the expected cookie.
    Duplicate,
}

/// Returns the row of RFC 9260 Table 12.
pub(crate) fn action(tags: &Tags, cookie: &Cookie) -> Action {
    let local = cookie.tags.local_tag == tags.local_tag;
    let peer = cookie.tags.peer_tag == tags.peer_tag;
    let ties =
        cookie.tags.local_tie_tag == tags.local_tie_tag && cookie.tags.peer_tie_tag == tags.peer_tie_tag;
    match (local, peer) {
        (false, false) if ties => Action::Restart,
        (true, false) => Action::Collision,
        (true, true) => Action::Duplicate,
        _ => Action::Discard,
    }
}

impl Association {
    /// Handles a COOKIE ECHO. Returns false if the packet must be discarded.
    pub(super) fn on_cookie_echo(
        &mut self,
        now: Time,
        at: PathAddr,
        packet_tag: u32,
        bytes: &[u8],
        jar: &mut CookieJar,
    ) -> bool {
        // RFC 9260 §5.2.4 steps 1 and 2: authentic
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
        //# If this comparison fails, the SCTP packet, including the COOKIE ECHO chunk and any DATA chunks,
        //# MUST be silently discarded.
        let Some(cookie) = jar.open(bytes) else {
            self.faults.wrong_tag_packets += 1;
            return false;
        };
        self.on_cookie(now, at, packet_tag, &cookie, jar)
    }

    /// Handles a COOKIE ECHO with an authentic cookie.
    pub(super) fn on_cookie(
        &mut self,
        now: Time,
        at: PathAddr,
        packet_tag: u32,
        cookie: &Cookie,
        jar: &mut CookieJar,
    ) -> bool {
        // §5.1.5 step 3: of this pair of ports and tag
        let expected = (packet_tag, self.tags.local_port, self.tags.peer_port);
        if (cookie.tags.local_tag, cookie.tags.local_port, cookie.tags.peer_port) != expected {
            self.faults.wrong_tag_packets += 1;
            return false;
        }
        let action = action(&self.tags, cookie);
        // draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.4: only keys for that may restart a protected association
        let is_decided = !self.is_setting_up() || self.is_proven();
        if self.is_enforced() && (action == Action::Restart || action == Action::Collision && is_decided) {
            self.faults.unprotected_packets += 1;
            return false;
        }
        // Step 3: an expired cookie is stale unless both tags match the association
        if action != Action::Duplicate
            && let Some(staleness) = jar.staleness(now, cookie)
        {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.4
            //# The endpoint also MUST transmit an ERROR chunk with a "Stale Cookie" error cause
            if jar.may_answer_set_up(now, at.remote) {
                let causes = [stale_cookie(staleness)];
                self.control.push_clear(at, cookie.tags.peer_tag, &Error { causes: Causes::from(&causes) });
            } else {
                self.faults.chunks_held_off += 1;
            }
            return false;
        }
        if action == Action::Discard && !jar.is_used(cookie) && self.refuse_other_host(now, at, cookie, jar) {
            return false;
        }
        let offers = cookie.protection.as_ref();
        let refused = match action {
            Action::Discard => true,
            Action::Restart => jar.is_used(cookie) || !self.accepts_restart(offers.map(|both| &both.theirs)),
            // The INIT ACK must have gone to the peer that was called (RFC 9260 §5.2.1).
            Action::Collision => {
                jar.is_used(cookie)
                    || !self.paths.has_remote(&cookie.at.remote)
                    || self.protection.as_ref().is_some_and(|ours| !ours.may_collide(offers))
            }
            Action::Duplicate => false,
        };
        if refused {
            self.faults.unexpected_chunks += 1;
            return false;
        }
        match action {
            Action::Discard => return false,
            Action::Restart if self.state == State::ShutdownAckSent => {
                // "MUST NOT set up a new association but instead resend the SHUTDOWN ACK and send an ERROR"
                //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.4
                //# it MUST NOT set up a new association but instead resend the SHUTDOWN ACK chunk and send an
                //# ERROR chunk with a "Cookie Received While Shutting Down" error cause to its peer.
                let causes = [Cause::CookieReceivedWhileShuttingDown];
                self.control.push(at, cookie.tags.peer_tag, &ShutdownAck);
                self.control.push(at, cookie.tags.peer_tag, &Error { causes: Causes::from(&causes) });
                return false;
            }
            // Another restart is held off until the application has read the messages of the last one. The
            // peer retransmits its COOKIE ECHO.
            Action::Restart if self.events.is_full() || self.saved_messages() > 0 => {
                self.faults.chunks_held_off += 1;
                return false;
            }
            Action::Restart => self.restart(now, cookie),
            Action::Collision => self.resolve_collision(now, cookie),
            Action::Duplicate if self.state == State::CookieEchoed => self.become_established(now),
            // The peer is there, and answers nothing but HEARTBEATs before it has the COOKIE ACK (RFC 9260
            // §5.1 C, §6): the unanswered retransmissions say nothing about it (§8.1). An expired cookie may
            // be a replay, and once the peer has proved its keys any of them may.
            Action::Duplicate => {
                if jar.staleness(now, cookie).is_none() && !self.excludes_replayed_cookies() {
                    self.paths.clear_assoc_error_count();
                    self.paths.on_data_refused();
                }
            }
        }
        // Protection is required, and was impossible.
        if self.state == State::Closed {
            return false;
        }
        jar.use_up(now, cookie);
        // RFC 9260 §3.3.12: COOKIE ACK precedes any DATA or SACK; it goes into the queue that is sent first.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.12
        //# This chunk MUST precede any DATA or SACK chunk sent within the association
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1
        //# the COOKIE ACK chunk MUST be the first chunk in the packet.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
        //# the COOKIE ACK chunk MUST be the first chunk in the SCTP packet.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.1.5
        //# if the SACK chunk is bundled with the COOKIE ACK chunk, the COOKIE ACK chunk MUST appear first in
        //# the SCTP packet.
        self.send_cookie_ack(now, at);
        true
    }

    /// Answers the COOKIE ECHO of a host behind the peer's NAT, which began with the peer's SCTP port while
    /// the peer did: neither tag is of this association, whose UDP port is another
    /// (draft-tuexen-tsvwg-sctp-udp-encaps-cons-03 §4.4). In silence that host would wait for a minute.
    fn refuse_other_host(&mut self, now: Time, at: PathAddr, cookie: &Cookie, jar: &mut CookieJar) -> bool {
        let other =
            cookie.tags.local_tag != self.tags.local_tag && cookie.tags.peer_tag != self.tags.peer_tag;
        let Some(ports) = self.other_source_port(at).filter(|_| other) else { return false };
        if jar.may_answer_set_up(now, at.remote) {
            let causes = [Cause::RestartWithNewPort(ports)];
            let abort = Abort { tag_reflected: false, causes: Causes::from(&causes) };
            self.control.push_clear(at, cookie.tags.peer_tag, &abort);
        } else {
            self.faults.chunks_held_off += 1;
        }
        true
    }

    /// Queues the COOKIE ACK for the source of the COOKIE ECHO (RFC 9260 §6.4).
    ///
    /// If that address is not confirmed, a HEARTBEAT goes with it: the confirmed ones may be those over which
    /// the peer's earlier COOKIE ECHOs were lost.
    fn send_cookie_ack(&mut self, now: Time, at: PathAddr) {
        let may_be_source = self.paths.local_source(&at.local) == Some(SourceUse::Full);
        let unconfirmed = self.path_of(at).filter(|&path| {
            may_be_source
                && self.paths.get(path).is_some_and(|path| !path.is_confirmed() && path.link_is_up())
        });
        let Some(path) = unconfirmed else {
            let to = self.reply_addr(at).unwrap_or(at);
            return self.reply(Some(to), &CookieAck);
        };
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.4
        //# A COOKIE ACK chunk MAY be sent to an UNCONFIRMED address, but it MUST be bundled with a HEARTBEAT
        //# chunk including a nonce.
        self.reply(Some(at), &CookieAck);
        if let Some(request) = self.paths.bundled_heartbeat(path, now) {
            let params = [Param::HeartbeatInfo(&request.info)];
            self.reply(Some(at), &Heartbeat { params: Params::from(&params) });
        }
    }

    /// Restarts the association (action A) with the addresses of the cookie.
    fn restart(&mut self, now: Time, cookie: &Cookie) {
        // Nothing of the application has passed without keys: to it, the set-up goes on. The client began
        // again, because of a Stale Cookie that anyone may have sent (RFC 9260 §5.2.6), or was started again.
        let is_unused = self.awaits_first_keys();
        if !is_unused {
            self.save_unread();
        }
        self.report_undelivered();
        self.give_up_requests(now);
        self.control.clear();
        self.output.clear();
        self.set_up = crate::rare::Rare::default();
        // The application's request outlives the association of which the peer lost the state.
        let wanted =
            self.closing.is_wanted() || matches!(self.state, State::ShutdownPending | State::ShutdownSent);
        self.closing = crate::rare::Rare::default();
        if wanted {
            self.closing.want();
        }
        self.tags = self.rng.with(|rng| cookie.tags.with_new_ties(rng));
        self.keys_version += 1;
        if !self.protect_by_cookie(now, cookie) {
            return;
        }
        // RFC 4895 §6.3: both ends use the new association shared key from now on
        self.agree_auth_of_cookie(cookie);
        self.restart_paths(now, cookie);
        let room_again = self.outbound.take_writable();
        self.outbound = Outbound::new(&OutboundConfig::from(&*self.config), self.tags.local_initial_tsn);
        self.begin_data(Tsn::new(cookie.peer_initial_tsn), cookie.peer_a_rwnd);
        // "All the congestion control parameters [...] MUST be reset to their initial values"
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.4
        //# All the congestion control parameters (e.g., cwnd, ssthresh) related to this peer MUST be reset to
        //# their initial values
        let ids: Vec<PathId> = self.paths.iter().map(Path::id).collect();
        for id in ids {
            self.paths.on_acknowledged(id);
            if let Some(path) = self.paths.get_mut(id) {
                path.controller.reset();
                path.rtt.reset();
                path.forget_data();
            }
        }
        self.set_state(now, State::Established);
        self.paths.start_heartbeats(now);
        self.forget_moves();
        if !is_unused {
            self.events.push(Event::Restarted);
        }
        if room_again {
            self.events.push(Event::Writable);
        }
        self.announce_connected(now);
        self.readable_told = false;
        self.notify_readable();
    }

    /// Sets the paths to those of the INIT that the cookie answers. Earlier confirmations do not count
    /// (RFC 5062): the previous owner of the association could otherwise hold back data meant for the peer.
    fn restart_paths(&mut self, now: Time, cookie: &Cookie) {
        let theirs: Addresses =
            core::iter::once(cookie.at.remote).chain(cookie.addresses.iter().copied()).collect();
        self.set_peer_addresses(now, &theirs);
        if self.paths.has_local(&cookie.at.local) {
            let locals = self.paths.locals().map(|(address, _)| address);
            let unlisted: Addresses = locals.filter(|address| !self.is_listed(address, cookie)).collect();
            self.drop_locals(now, &unlisted);
        }
        let to_source =
            || self.paths.iter().find(|path| path.addr().remote == cookie.at.remote).map(Path::id);
        // RFC 9260 §5.4 rule 2: the destination of the INIT ACK is confirmed
        let confirmed = self.path_of(cookie.at).or_else(to_source);
        self.paths.verify_anew(confirmed, now);
    }

    /// Returns whether the INIT ACK with this cookie listed the local address, or left from it.
    fn is_listed(&self, local: &IpAddr, cookie: &Cookie) -> bool {
        let lists = self.config.offer.list_addresses && cookie.lists_addresses;
        *local == cookie.at.local || lists && self.paths.shows(local, &cookie.at.local)
    }

    /// Resolves a collision (action B). Before the association is up, the entire cookie applies; later, only
    /// the peer's tag.
    fn resolve_collision(&mut self, now: Time, cookie: &Cookie) {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.4
        //# it MUST update its peer's Verification Tag from the State Cookie
        self.tags.peer_tag = cookie.tags.peer_tag;
        if matches!(self.state, State::CookieWait | State::CookieEchoed) {
            self.tags.outbound_streams = cookie.tags.outbound_streams;
            self.tags.inbound_streams = cookie.tags.inbound_streams;
            self.tags.extensions = cookie.tags.extensions;
            if !self.protect_by_cookie(now, cookie) {
                return;
            }
            // RFC 4895 §6.1: in a collision our Random Number is that of our INIT
            self.agree_auth(cookie.auth.as_ref().map(|auth| &auth.peer));
            self.add_peer_address(now, cookie.at.remote, true);
            for &address in &cookie.addresses {
                self.add_peer_address(now, address, false);
            }
            self.begin_data(Tsn::new(cookie.peer_initial_tsn), cookie.peer_a_rwnd);
            self.become_established(now);
        }
    }

    /// Sets up a new association from a cookie (RFC 9260 §5.1.5 step 5).
    pub(super) fn begin_from_cookie(&mut self, now: Time, local: &[IpAddr], cookie: &Cookie) {
        let mut local: Addresses =
            local.iter().copied().filter(|local| self.is_listed(local, cookie)).collect();
        // A listener need not know the address at which it is called.
        if !local.contains(&cookie.at.local) {
            local.insert(0, cookie.at.local);
        }
        self.enter_addresses(now, local, [cookie.at.remote]);
        for &address in &cookie.addresses {
            self.add_peer_address(now, address, false);
        }
        if !self.protect_by_cookie(now, cookie) {
            return;
        }
        self.agree_auth_of_cookie(cookie);
        // RFC 9260 §5.4 rule 2: the destination of the INIT ACK is confirmed
        if let Some(path) = self.path_of(cookie.at) {
            self.paths.confirm(path, now);
            let confirmed = self.paths.set_primary(path);
            debug_assert_eq!(confirmed, Ok(()));
        }
        self.begin_data(Tsn::new(cookie.peer_initial_tsn), cookie.peer_a_rwnd);
        self.paths.start_heartbeats(now);
    }
}

/// Returns the Stale Cookie cause: microseconds since the expiry, rounded up (RFC 9260 §3.3.10.3).
pub(crate) fn stale_cookie(staleness: msctp_units::Span) -> Cause<'static> {
    let us = staleness.as_nanos().div_ceil(1000).min(u64::from(u32::MAX)) as u32;
    Cause::StaleCookie(us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use msctp_units::Span;

    const LOCAL: u32 = 1;
    const PEER: u32 = 2;
    const TIES: (u32, u32) = (3, 4);

    fn check(peer_tag_of_tcb: u32, local: u32, peer: u32, ties: (u32, u32)) -> Action {
        let ip = "10.0.0.1".parse().unwrap();
        let cookie = Cookie {
            created: Time::ZERO,
            life: Span::ZERO,
            tags: Tags {
                peer_tag: peer,
                local_tie_tag: ties.0,
                peer_tie_tag: ties.1,
                ..Tags::new(1, 1, local, Tsn::new(0))
            },
            peer_initial_tsn: 0,
            peer_a_rwnd: 1500,
            auth: None,
            protection: None,
            at: PathAddr { local: ip, remote: ip },
            addresses: Addresses::new(),
            lists_addresses: true,
            collision: false,
        };
        let tags = Tags {
            local_tag: LOCAL,
            peer_tag: peer_tag_of_tcb,
            local_tie_tag: TIES.0,
            peer_tie_tag: TIES.1,
            ..cookie.tags.clone()
        };
        action(&tags, &cookie)
    }

    #[test]
    fn every_combination_of_table_12() {
        for ties in [TIES, (0, 0), (9, 9), (TIES.0, 9), (9, TIES.1)] {
            let both_new = check(PEER, 8, 9, ties);
            assert_eq!(both_new, if ties == TIES { Action::Restart } else { Action::Discard }, "{ties:?}");
            assert_eq!(check(PEER, LOCAL, 9, ties), Action::Collision);
            assert_eq!(check(0, LOCAL, 9, ties), Action::Collision, "peer's tag not known yet");
            assert_eq!(check(PEER, 8, PEER, ties), Action::Discard);
            assert_eq!(check(PEER, LOCAL, PEER, ties), Action::Duplicate);
        }
    }
}
