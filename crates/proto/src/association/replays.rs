//! Replayed packets of a protected peer: each is answered where it came from, and changes nothing else.
//!
//! No key protects addresses. An observer that delivers a copy of each packet first, from another address of
//! the peer, makes the genuine packet the replay. If the other address is dead, answers to the first copy
//! alone would never arrive. In clear, a duplicate is answered at its source for the same effect (RFC 9260
//! §6.2). An attacker that replays packets draws at most one packet for each, to an address that the peer
//! lists.

use msctp_protection::Opener;
use msctp_units::{Span, Time};
use msctp_wire::{Checksum, Chunk, CommonHeader, Packet, Param, ReConfig};

use super::Association;
use super::output::packet_room;
use crate::addr::{PathAddr, PathId};
use crate::message::Transmit;
use crate::path::Path;
use crate::rare::rare_state;
use crate::stats::AssociationState as State;

/// Time after a replay in which the sources of other packets are doubted.
const CONTESTED: Span = Span::from_secs(10);

rare_state! {
    /// What is known of replays.
    pub(super) struct Replays {
        /// Time of the last replay on another path than that of SACKs.
        last: Option<Time> = None,
        /// Paths on which the last SACK is repeated, each once.
        sacks: Vec<PathId> = Vec::new(),
    }
}

impl Association {
    /// Handles a packet of `len` bytes that was opened before; `bytes` are decrypted. It is no sign of life,
    /// and no answer to what this end has sent.
    #[cold]
    pub(super) fn on_replay(&mut self, now: Time, at: PathAddr, bytes: &mut [u8], len: usize) {
        self.begin_credit(at, len);
        self.note_source(now, at);
        self.output.upkeep_due = true;
        if self.path_of(at).is_none() {
            return self.ask_newcomer(now, at, true);
        }
        // The only path gets all answers already.
        if self.paths.len() < 2 {
            return;
        }
        let Some(chunks) = Opener::replayed_chunks(&bytes[CommonHeader::LEN..]) else { return };
        bytes.copy_within(..CommonHeader::LEN, chunks.start);
        let inner = &bytes[chunks.start..chunks.end + CommonHeader::LEN];
        let Ok(packet) = Packet::parse(inner, Checksum::Skip) else { return };
        if self.readdressing.departed.is_touched() && self.is_departed(now, at, &packet) {
            return;
        }
        if self.sack_target() != self.path_of(at) {
            self.output.replays.last = Some(now);
        }
        let mut sack = false;
        for chunk in packet.chunks().flatten() {
            match &chunk {
                Chunk::Data(_) | Chunk::IData(_) | Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_) => {
                    sack = true;
                }
                // The limits precede a SACK.
                Chunk::StreamBlocked(blocked) => {
                    self.on_stream_blocked(blocked);
                    sack = true;
                }
                Chunk::Heartbeat(heartbeat) => self.on_heartbeat(at, heartbeat, true),
                Chunk::Asconf(request) => self.repeat_asconf_ack(at, request),
                Chunk::ReConfig(request) => self.repeat_responses(at, request),
                Chunk::CookieAck(_) => self.prove_key(at),
                Chunk::Shutdown(_) => self.answer_replayed_shutdown(at),
                _ => {}
            }
        }
        if sack {
            self.repeat_sack_on(at);
        }
    }

    /// Returns whether packets are replayed, so that those which come first may be copies: their source then
    /// says nothing about a path.
    #[inline]
    pub(super) fn has_contested_sources(&self, now: Time) -> bool {
        let replays = &self.output.replays;
        replays.is_touched() && replays.last.is_some_and(|last| now < last + CONTESTED)
    }

    /// Repeats the SHUTDOWN ACK where a SHUTDOWN came from again, unless one is due elsewhere.
    fn answer_replayed_shutdown(&mut self, at: PathAddr) {
        if self.state == State::ShutdownAckSent && !self.closing.due {
            (self.closing.asked_at, self.closing.due) = (Some(at), true);
        }
    }

    /// Repeats the responses to requests that were answered before (RFC 6525 §5.2.1).
    fn repeat_responses(&mut self, at: PathAddr, chunk: &ReConfig<'_>) {
        for param in chunk.params.iter().flatten() {
            let serial = match param {
                Param::OutgoingReset(reset) => reset.serial,
                Param::IncomingReset(reset) => reset.serial,
                Param::TsnReset(serial) => serial,
                Param::AddOutgoingStreams(add) | Param::AddIncomingStreams(add) => add.serial,
                _ => continue,
            };
            self.respond_again(at, serial);
        }
    }

    /// Repeats the acknowledgement of data on the path of a replay, if SACKs go to another one.
    fn repeat_sack_on(&mut self, at: PathAddr) {
        if self.state == State::ShutdownSent {
            if !self.closing.due {
                (self.closing.asked_at, self.closing.due) = (Some(at), true);
            }
            return;
        }
        let Some(path) = self.path_of(at).filter(|_| self.watches_paths()) else { return };
        let confirmed = self.paths.get(path).is_some_and(Path::is_confirmed);
        if confirmed && self.sack_target() != Some(path) && !self.output.replays.sacks.contains(&path) {
            self.output.replays.sacks.push(path);
        }
    }

    /// Sends a SACK on the path of a replay. One that is pending is sent elsewhere all the same: the replay
    /// may be the copy.
    pub(super) fn send_repeated_sack(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        if !self.output.replays.is_touched() {
            return None;
        }
        // Emptied whatever becomes of the first: a replay is answered now or not at all.
        let path = loop {
            let path = self.output.replays.sacks.pop()?;
            if self.paths.get(path).is_some_and(|entry| self.paths.reply_path(entry.addr()) == Some(path)) {
                break path;
            }
        };
        let entry = self.paths.get(path)?;
        let (at, room) = (entry.addr(), packet_room(entry));
        let pending = self.inbound.sack_pending();
        let mut builder = self.builder(out, self.tags.peer_tag, room);
        if !self.push_sack(now, path, &mut builder) {
            return None;
        }
        if pending {
            self.inbound.repeat_sack();
        }
        Some(Transmit::new(Some(path), at, self.seal(builder)))
    }
}
