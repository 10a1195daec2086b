//! What Reno and NewReno share: counting duplicate ACKs, inflating the window by them, limited transmit.

use crate::outstanding::{Outstanding, Role, Segment};

use super::DUP_THRESH;

/// Duplicate ACKs and the window they inflate (RFC 5681 §3.2).
#[derive(Clone, Debug)]
pub(super) struct Inflation {
    limited_transmit: bool,
    /// Duplicate ACKs in a row.
    pub(super) dup_acks: u32,
    /// Bytes the sender may reach beyond the congestion window; below zero after partial ACKs that deflate.
    pub(super) extra: i64,
    /// Bytes sent by limited transmit since the last ACK of new data.
    limited: u64,
    /// The first segment is to be sent again.
    pub(super) resend_first: bool,
    pub(super) recovering: bool,
}

impl Inflation {
    pub(super) fn new(limited_transmit: bool) -> Self {
        Self { limited_transmit, dup_acks: 0, extra: 0, limited: 0, resend_first: false, recovering: false }
    }

    /// A duplicate ACK. `may_enter`: a third one may start fast recovery. Gives FlightSize when it did.
    pub(super) fn duplicate(&mut self, at: &Outstanding, may_enter: bool) -> Option<u64> {
        self.dup_acks += 1;
        if self.recovering {
            // RFC 5681 §3.2 (4)
            self.extra += at.smss as i64;
            return None;
        }
        if self.dup_acks != DUP_THRESH || !may_enter {
            return None;
        }
        // RFC 5681 §3.2 (2): what limited transmit sent does not count.
        let flight_size = (at.nxt - at.una).saturating_sub(self.limited);
        // (3): the three segments that left the network
        self.extra = (u64::from(DUP_THRESH) * at.smss) as i64;
        self.resend_first = true;
        self.recovering = true;
        Some(flight_size)
    }

    /// New data was acknowledged outside of fast recovery, or fast recovery is over.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.limited_transmit);
    }

    pub(super) fn next(&self, at: &Outstanding, cwnd: u64) -> Option<Segment> {
        if self.resend_first {
            return Some(Segment { start: at.una, end: at.cut(at.una, at.max), role: Role::First });
        }
        // RFC 3042 §2: on the first two duplicates, new data up to two segments beyond cwnd
        let early = self.limited_transmit && !self.recovering && at.nxt == at.max;
        let limited = if early { u64::from(self.dup_acks.min(2)) * at.smss } else { 0 };
        let window = cwnd.saturating_add_signed(self.extra).max(at.smss);
        at.in_order(at.una.saturating_add(window).saturating_add(limited))
    }

    pub(super) fn sent(&mut self, segment: &Segment) {
        match segment.role {
            Role::First => self.resend_first = false,
            Role::InOrder if !self.recovering && self.dup_acks > 0 => {
                self.limited += segment.end - segment.start;
            }
            _ => {}
        }
    }

    /// What has not left the network: each duplicate ACK stands for a segment that has.
    pub(super) fn pipe(&self, at: &Outstanding) -> u64 {
        (at.nxt - at.una).saturating_sub(u64::from(self.dup_acks) * at.smss)
    }
}
