//! New addresses of a protected peer: one from which an opened packet came, and which the peer did not add.
//!
//! A router that gets another public address, or another network that gives a host the address that it had,
//! changes nothing that the peer could see or request (RFC 5061). Its packets tell. No key protects their
//! source: an observer may deliver a copy first, from any address. Such an address is therefore only asked,
//! with a HEARTBEAT under protection. If the peer answers, there is one more path: nothing moves there and
//! nothing is deleted. The path that it may replace is tested, and data leaves it if it does not answer.
//!
//! The nonce is the proof, and not the address from which the answer comes: copies of that may overtake too.
//! For the same reason a replay is asked as well: it may be the genuine packet. Nothing here has a timer: the
//! next packet from the address asks again.
//!
//! An observer that sees all packets can pass the question on, and so have the peer answer for any address.
//! Such an address takes no room from those that the peer lists, and selects no association. It carries data
//! only if the path in use does not answer.
//!
//! In clear, and with shared keys (RFC 4895), only an ASCONF adds an address.

use core::net::IpAddr;

use msctp_units::{Span, Time};
use msctp_wire::{Heartbeat, Param, Params};

use super::Association;
use crate::addr::{PathAddr, PathId};
use crate::path::{AddressError, HeartbeatInfo, Path, PathState, Purpose, SourceUse};
use crate::rare::rare_state;

/// Most addresses that are asked at a time, of opened packets and of replays each.
const MAX_ASKED: usize = 8;

/// Most addresses that are asked for the first time in a [`PERIOD`], of opened packets and of replays each.
const MAX_NEW: u32 = 30;

/// See [`MAX_NEW`].
const PERIOD: Span = Span::from_secs(60);

/// Most addresses that the peer has not listed. Each gets HEARTBEATs.
const MAX_ADDED: usize = 4;

/// An address that was asked.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: PathAddr,
    /// The UDP port that was asked, with encapsulation.
    port: Option<u16>,
    nonce: u64,
    last: Time,
}

/// Addresses that were asked, with their limits.
#[derive(Debug)]
struct Askings {
    asked: Vec<Asked>,
    /// Begin of the period, and the addresses that were new in it.
    since: Time,
    new: u32,
}

impl Askings {
    const NONE: Self = Self { asked: Vec::new(), since: Time::ZERO, new: 0 };

    /// Returns whether another address may be asked now, and counts it.
    fn admit(&mut self, now: Time) -> bool {
        if now >= self.since + PERIOD {
            (self.since, self.new) = (now, 0);
        }
        self.new += 1;
        self.new <= MAX_NEW
    }
}

rare_state! {
    /// What is known of new addresses of the peer.
    pub(super) struct Roaming {
        /// Sources of opened packets.
        opened: Askings = Askings::NONE,
        /// Sources of replays.
        replayed: Askings = Askings::NONE,
    }
}

impl Association {
    /// Asks the source of a protected packet, to which no path leads, whether the peer is there. The packet
    /// is opened, or a replay.
    #[cold]
    pub(super) fn ask_newcomer(&mut self, now: Time, at: PathAddr, replay: bool) {
        let may = self.is_enforced()
            && self.may_readdress()
            && !self.paths.has_remote(&at.remote)
            // RFC 5061 §5.3: only the peer adds it again.
            && !self.has_departed(&at.remote)
            && self.paths.local_source(&at.local) == Some(SourceUse::Full)
            && self.paths.paths_to(&at.remote).is_some_and(|paths| paths > 0);
        if !may {
            return;
        }
        let port = self.source_port();
        let data_path = self.paths.data_path().and_then(|path| self.paths.get(path));
        let again = data_path.map_or(self.config.rto_initial, Path::rto_without_back_off);
        let nonce = self.rng.next_u64();
        let roaming = &mut self.output.roaming;
        let askings = if replay { &mut roaming.replayed } else { &mut roaming.opened };
        let known = askings.asked.iter_mut().find(|asked| (asked.at, asked.port) == (at, port));
        let asked = match known {
            Some(asked) if now < asked.last + again => return,
            Some(asked) => {
                asked.last = now;
                *asked
            }
            None => {
                if !askings.admit(now) {
                    return;
                }
                if askings.asked.len() == MAX_ASKED {
                    askings.asked.remove(0);
                }
                let asked = Asked { at, port, nonce, last: now };
                askings.asked.push(asked);
                asked
            }
        };
        let (path, purpose) = (PathId::new(u32::MAX), Purpose::Address);
        let info = HeartbeatInfo { path, purpose, sent: now, nonce: asked.nonce }.to_bytes();
        let params = [Param::HeartbeatInfo(&info)];
        // Within the credit of the packet: the address is not confirmed.
        self.reply(Some(at), &Heartbeat { params: Params::from(&params) });
    }

    /// Handles a HEARTBEAT ACK. Returns false if it answers no question to a new address. `authenticated`: it
    /// was protected.
    pub(super) fn on_newcomer_answer(
        &mut self,
        now: Time,
        info: &HeartbeatInfo,
        authenticated: bool,
    ) -> bool {
        if info.purpose != Purpose::Address || !authenticated || !self.output.roaming.is_touched() {
            return false;
        }
        let roaming = &mut *self.output.roaming;
        let found = [&mut roaming.opened, &mut roaming.replayed].into_iter().find_map(|askings| {
            let place = askings.asked.iter().position(|asked| asked.nonce == info.nonce)?;
            Some(askings.asked.remove(place))
        });
        if let Some(asked) = found {
            self.add_newcomer(now, asked);
        }
        true
    }

    /// Adds an address at which the peer has answered.
    fn add_newcomer(&mut self, now: Time, Asked { at, port, .. }: Asked) {
        // It causes events. The next packet from there asks again.
        if self.has_departed(&at.remote) || self.events.is_full() {
            return;
        }
        if self.paths.heard_remotes().count() >= MAX_ADDED {
            self.remove_heard(now);
        }
        let mut added = self.paths.add_heard_remote(at.remote, now);
        if matches!(added, Err(AddressError::Full(_))) && self.remove_heard(now) {
            added = self.paths.add_heard_remote(at.remote, now);
        }
        let Ok(added) = added else { return };
        self.keys_version += 1;
        self.announce_paths(now, &added);
        let Some(path) = self.path_of(at) else { return };
        if let Some(port) = port {
            self.set_source_port(at, port);
        }
        self.paths.confirm(path, now);
        // Measures its round-trip time.
        self.paths.request_heartbeat(path);
        // What stops answering tells which path this one replaces.
        if let Some(data) = self.paths.data_path().filter(|data| *data != path) {
            self.paths.request_heartbeat(data);
        }
        // The last SACK may have gone to an address that the peer has left.
        if self.stats.data_chunks_received > 0 {
            self.inbound.repeat_sack();
        }
    }

    /// Removes an address that the peer has not listed: one to which no path works, else the oldest where no
    /// data goes. Returns false if there is none.
    fn remove_heard(&mut self, now: Time) -> bool {
        let paths = &self.paths;
        let data = paths.data_path().and_then(|path| paths.get(path)).map(|path| path.addr().remote);
        let is_dead = |address: &IpAddr| {
            paths.iter().all(|path| path.addr().remote != *address || path.state() == PathState::Inactive)
        };
        let idle = || paths.heard_remotes().filter(|address| Some(*address) != data);
        let Some(gone) = idle().find(is_dead).or_else(|| idle().next()) else { return false };
        let old = self.primary_view();
        let removed = self.paths.remove_remote(&gone);
        self.keys_version += 1;
        self.control.forget(&gone);
        self.forget_paths(now, &removed, old);
        true
    }

    /// Makes room for the addresses that an ASCONF adds. Those that the peer has not listed give way, and are
    /// asked again when packets come from there.
    pub(super) fn make_room_for_listed(&mut self, now: Time, added: &[IpAddr]) {
        while !self.paths.has_room_for(added) && self.remove_heard(now) {}
    }
}
