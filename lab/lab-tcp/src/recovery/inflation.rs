//! Parts shared by Reno and NewReno: counting duplicate ACKs, inflating the window by them, limited transmit.

use crate::outstanding::{Outstanding, Role, Segment};

use super::DUP_THRESH;
use super::ld::{self, Phase, Response};

/// Duplicate ACKs and the window they inflate (RFC 5681 §3.2).
#[derive(Clone, Debug)]
pub(super) struct Inflation {
    limited_transmit: bool,
    /// Duplicate ACKs in a row.
    pub(super) dup_acks: u32,
    /// Bytes that the sender may exceed the congestion window by; negative after partial ACKs that deflate
    /// it.
    pub(super) extra: i64,
    /// Bytes sent by limited transmit since the last ACK of new data.
    limited: u64,
    /// Retransmit the first segment.
    pub(super) resend_first: bool,
    pub(super) phase: Phase,
}

impl Inflation {
    pub(super) fn new(limited_transmit: bool) -> Self {
        Self { limited_transmit, dup_acks: 0, extra: 0, limited: 0, resend_first: false, phase: Phase::Open }
    }

    /// Counts a duplicate ACK. Returns true when it starts fast recovery, which `may_enter` allows at the
    /// third.
    pub(super) fn duplicate(&mut self, at: &Outstanding, may_enter: bool) -> bool {
        self.dup_acks += 1;
        if self.phase.is_fast() {
            // RFC 5681 §3.2 (4)
            self.extra += at.smss as i64;
        }
        self.phase == Phase::Open && self.dup_acks == DUP_THRESH && may_enter
    }

    /// Starts this response to the loss. Returns FlightSize in bytes.
    pub(super) fn enter(&mut self, at: &Outstanding, response: Response) -> u64 {
        if response == Response::Fast {
            // RFC 5681 §3.2 (3): the segments that left the network, three but after a wait
            self.extra = (u64::from(self.dup_acks) * at.smss) as i64;
        }
        self.resend_first = response != Response::Wait;
        self.phase = Phase::Answering(response);
        // RFC 5681 §3.2 (2): what limited transmit sent does not count.
        (at.nxt - at.una).saturating_sub(self.limited)
    }

    /// Resets the count, because new data was acknowledged or fast recovery ended.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.limited_transmit);
    }

    pub(super) fn next(&self, at: &Outstanding, cwnd: u64) -> Option<Segment> {
        if self.resend_first {
            return Some(Segment { start: at.una, end: at.cut(at.una, at.max), role: Role::First });
        }
        if self.phase.is_ld() {
            // Park & Jang §2.1: three segments beyond cwnd, those of limited transmit among them
            let room = cwnd.max(at.smss).saturating_add(u64::from(DUP_THRESH) * at.smss);
            let window_end = at.una.saturating_add(room);
            let allowed = at.nxt.saturating_add(ld::allowance(at.smss, self.limited));
            return at.in_order(window_end.min(allowed));
        }
        // RFC 3042 §2: on the first two duplicates, new data up to two segments beyond cwnd
        let early = self.limited_transmit && self.phase == Phase::Open && at.nxt == at.max;
        let limited = if early { u64::from(self.dup_acks.min(2)) * at.smss } else { 0 };
        let window = cwnd.saturating_add_signed(self.extra).max(at.smss);
        at.in_order(at.una.saturating_add(window).saturating_add(limited))
    }

    pub(super) fn sent(&mut self, segment: &Segment) {
        match segment.role {
            Role::First => self.resend_first = false,
            Role::InOrder if !self.phase.is_fast() && self.dup_acks > 0 => {
                self.limited += segment.end - segment.start;
            }
            _ => {}
        }
    }

    /// Returns the bytes in the network: each duplicate ACK means that one segment left it.
    pub(super) fn pipe(&self, at: &Outstanding) -> u64 {
        (at.nxt - at.una).saturating_sub(u64::from(self.dup_acks) * at.smss)
    }
}
