//! Copies of DATA chunks on other paths: bicasting (a policy's `Action::StartBicast`) and redundant messages
//! (`PathUse::Redundant`).
//!
//! Copies count in no window, because the chunks are outstanding on the path that sent them first. So a path
//! carries no more redundant ones than RFC 9260 §7.2.1 lets a sender send without any acknowledgement: an
//! initial window per round trip. Bicasting copies all data, as C-SCTP does.

use msctp_congestion::{InitialWindow, IpVersion};
use msctp_units::Time;
use msctp_wire::Tsn;

use super::Association;
use super::output::packet_room;
use crate::addr::PathId;
use crate::message::Transmit;
use crate::outbound::Filled;
use crate::path::Path;
use crate::rare::rare_state;

rare_state! {
    /// Copies to be sent, and those that left in the current round trip of each path.
    pub(super) struct Copies {
        pub(super) queue: Vec<Copied> = Vec::new(),
        sent: Vec<Sent> = Vec::new(),
    }
}

/// Chunks of which copies are to be sent on a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copied {
    path: PathId,
    /// The first TSN, and the number of chunks.
    first: Tsn,
    left: u32,
    /// True to copy all chunks (bicasting), not only the redundant ones.
    all: bool,
}

/// Redundant copies sent on a path.
#[derive(Clone, Copy, Debug)]
struct Sent {
    path: PathId,
    /// The start of the round trip in which they left.
    since: Time,
    bytes: u64,
}

impl Copies {
    /// Returns the copies of the current round trip of a path.
    fn sent_on(&self, now: Time, path: &Path) -> Sent {
        let round_trip = path.rtt.srtt().unwrap_or(path.rtt.rto());
        let current = |sent: &&Sent| sent.path == path.id() && now < sent.since + round_trip;
        let sent = self.sent.iter().find(current).copied();
        sent.unwrap_or(Sent { path: path.id(), since: now, bytes: 0 })
    }

    /// Returns true if another packet of redundant copies may leave on a path now.
    ///
    /// Like new data (RFC 9260 §6.1 rule B), the last packet may exceed the limit.
    fn may_leave(&self, now: Time, path: &Path) -> bool {
        let bytes = self.sent_on(now, path).bytes;
        let version = IpVersion::of(&path.addr().remote);
        let initial = InitialWindow::Rfc9260.bytes(u64::from(path.pmdcs()), version);
        bytes < initial && path.flight_size + bytes < path.controller.window().cwnd
    }

    /// Records a packet of redundant copies of `bytes` bytes.
    fn on_sent(&mut self, now: Time, path: &Path, bytes: u64) {
        let sent = self.sent_on(now, path);
        self.sent.retain(|sent| sent.path != path.id());
        self.sent.push(Sent { bytes: sent.bytes + bytes, ..sent });
    }
}

impl Association {
    /// Queues the copies of new chunks that left on `path`.
    pub(super) fn queue_copies(&mut self, path: PathId, filled: &Filled) {
        if self.awaits_proof() {
            return;
        }
        let (first, left) = (self.outbound.next_tsn() - filled.new, filled.new);
        let bicast = self.handover.bicast.filter(|&(from, _)| from == path && filled.new > 0);
        if let Some((_, to)) = bicast {
            self.output.copies.queue.push(Copied { path: to, first, left, all: true });
        } else if filled.redundant {
            let others = self.paths.other_networks(path).into_iter();
            let copies = others.map(|path| Copied { path, first, left, all: false });
            self.output.copies.queue.extend(copies);
        }
    }

    /// Sends a packet of the queued copies, if any may leave.
    pub(super) fn send_copies(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Transmit> {
        while !self.output.copies.queue.is_empty() {
            let copies = self.output.copies.queue.pop()?;
            if let Some(transmit) = self.send_copy(now, copies, out) {
                return Some(transmit);
            }
        }
        None
    }

    fn send_copy(&mut self, now: Time, mut copies: Copied, out: &mut Vec<u8>) -> Option<Transmit> {
        let may = |path: &&Path| path.is_usable() && (copies.all || self.output.copies.may_leave(now, path));
        let entry = self.paths.get(copies.path).filter(may)?;
        let (at, room) = (entry.addr(), packet_room(entry));
        let mut builder = self.builder(out, self.tags.peer_tag, room);
        let signed = self.begin_auth(&mut builder);
        let mut copied = 0;
        while signed && copies.left > 0 {
            if copies.all || self.outbound.is_redundant(copies.first) {
                if !self.outbound.copy_chunk(copies.first, &mut builder) {
                    break;
                }
                copied += 1;
            }
            copies.first += 1;
            copies.left -= 1;
        }
        self.stats.data_chunks_copied += copied;
        if copied == 0 {
            return None;
        }
        if copies.left > 0 {
            self.output.copies.queue.push(copies);
        }
        let len = self.seal(builder);
        if let Some(entry) = self.paths.get(copies.path).filter(|_| !copies.all) {
            self.output.copies.on_sent(now, entry, len as u64);
        }
        Some(Transmit::new(Some(copies.path), at, len))
    }
}
