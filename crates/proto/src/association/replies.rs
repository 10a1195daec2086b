//! Replies to the sender of a packet, within the anti-amplification limit: an unconfirmed address gets at
//! most [`AMPLIFICATION_LIMIT`] bytes for each byte received from it.
//!
//! A confirmed address is the peer's, and has no limit. Early data (`Moves::Fast`) has the same limit,
//! counted per path, and replies are charged to it when they are sent. This module keeps only the credit of
//! the current packet, so that forged sources take no memory. HB.Max.Burst bounds the HEARTBEATs that verify
//! a path (RFC 9260 §5.4).

use msctp_wire::{CommonHeader, EncodeChunk};

use super::Association;
use crate::addr::PathAddr;
use crate::path::{AMPLIFICATION_LIMIT, ip_header};

impl Association {
    /// Sets the credit of a received packet of `len` bytes.
    #[inline]
    pub(super) fn begin_credit(&mut self, at: PathAddr, len: usize) {
        // A packet is no longer than 65,535 bytes, whatever the network below.
        let came = len.min(1 << 16) as u32 + ip_header(&at.remote);
        self.output.credit = AMPLIFICATION_LIMIT * came;
    }

    /// Queues a reply to the current packet. Drops it if its destination is unconfirmed and has no credit
    /// left, or if no local address may be its source (`None`).
    pub(super) fn reply(&mut self, to: Option<PathAddr>, chunk: &impl EncodeChunk) {
        let Some(to) = to else {
            self.faults.replies_withheld += 1;
            return;
        };
        if !self.paths.remote_is_confirmed(&to.remote) {
            // As if each reply were a packet of its own: some are.
            let packet = ip_header(&to.remote) as usize + self.least_packet() + chunk.padded_len();
            let Some(left) = self.output.credit.checked_sub(packet as u32) else {
                self.faults.replies_withheld += 1;
                return;
            };
            self.output.credit = left;
        }
        match self.source_port().filter(|_| self.path_of(to).is_none()) {
            // No port is known of an address without a path.
            Some(port) => self.control.push_to_port(to, self.tags.peer_tag, port, chunk),
            None => self.control.push(to, self.tags.peer_tag, chunk),
        }
    }

    /// Returns the overhead of an SCTP packet in bytes: the common header, and an AUTH chunk or protection if
    /// one may be needed.
    pub(super) fn least_packet(&self) -> usize {
        let auth = self.auth.plan().map_or(0, |plan| plan.chunk_len());
        CommonHeader::LEN + auth.max(self.protection_overhead())
    }

    /// Returns the maximum length in bytes of one more SCTP packet in reply to the current packet; `u32::MAX`
    /// without a limit.
    pub(super) fn reply_room(&self, to: PathAddr) -> u32 {
        if self.paths.remote_is_confirmed(&to.remote) {
            return u32::MAX;
        }
        self.output.credit.saturating_sub(ip_header(&to.remote))
    }
}
