//! SACK-based loss recovery of RFC 6675.

use crate::outstanding::{Outstanding, Role, Segment};
use crate::ranges::Ranges;

use super::ld::{self, Phase};
use super::{AckView, DUP_THRESH, Outcome, Recovery, Response};

/// The scoreboard and the variables of RFC 6675 §2. Where the RFC uses a highest sequence number, this type
/// uses that number plus one.
#[derive(Debug)]
pub(super) struct Sack {
    limited_transmit: bool,
    /// Ranges above `una` that the peer reported in SACK blocks.
    sacked: Ranges,
    dup_acks: u32,
    /// Bytes of new data sent on duplicates before recovery, which are not part of FlightSize (RFC 5681
    /// §3.2).
    limited: u64,
    /// HighRxt.
    high_rxt: u64,
    /// RescueRxt.
    rescue_rxt: u64,
    recovery_point: u64,
    phase: Phase,
    resend_first: bool,
    /// The pipe in bytes, if it is counted (`counted_pipe`) in fast recovery. Negative if there were more
    /// ACKs than segments counted in flight.
    counted: Option<i64>,
    counts: bool,
}

impl Sack {
    pub(super) fn new(limited_transmit: bool, counts: bool) -> Self {
        Self {
            limited_transmit,
            sacked: Ranges::default(),
            dup_acks: 0,
            limited: 0,
            high_rxt: 0,
            rescue_rxt: 0,
            recovery_point: 0,
            phase: Phase::Open,
            resend_first: false,
            counted: None,
            counts,
        }
    }

    /// Applies the SACK blocks of an ACK (Update()). Returns whether any of them is new.
    fn update(&mut self, at: &Outstanding, blocks: &[(u64, u64)]) -> bool {
        self.sacked.drop_below(at.una);
        let mut new = 0;
        for &(start, end) in blocks {
            let (start, end) = (start.max(at.una), end.min(at.max));
            if start < end {
                new += self.sacked.insert(start, end).1;
            }
        }
        new > 0
    }

    /// Returns the offset below which IsLost() holds for all segments not SACKed (RFC 6675 §4).
    fn lost_below(&self, at: &Outstanding) -> u64 {
        let mut bytes = 0;
        for (above, range) in self.sacked.as_slice().iter().rev().enumerate() {
            bytes += range.1 - range.0;
            if above as u32 + 1 >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * at.smss {
                return range.0;
            }
        }
        at.una
    }

    fn not_sacked(&self, start: u64, end: u64) -> u64 {
        end.saturating_sub(start) - self.sacked.covered(start, end.max(start))
    }

    /// Returns the segment at the first offset from `from` on that was not SACKed, up to the next one that
    /// was.
    fn hole(&self, at: &Outstanding, from: u64) -> (u64, u64) {
        let from = from.max(at.una);
        let start = self.sacked.containing(from).map_or(from, |range| range.1);
        let limit = self.sacked.next_from(start).map_or(at.max, |range| range.0);
        (start, at.cut(start, limit))
    }

    /// Returns the next segment to send (NextSeg(), RFC 6675 §4). `new_end` is the limit of new data.
    fn next_seg(&self, at: &Outstanding, new_end: u64) -> Option<Segment> {
        let (start, end) = self.hole(at, self.high_rxt);
        let below_sacked = self.sacked.end().is_some_and(|highest| start < highest);
        let hole = Segment { start, end, role: Role::Hole };
        // (1)
        if below_sacked && (start < self.lost_below(at) || self.counted.is_some()) {
            return Some(hole);
        }
        // (2)
        if let Some(new) = at.in_order(new_end) {
            return Some(new);
        }
        if self.counted.is_some() {
            return None;
        }
        // (3)
        if below_sacked {
            return Some(hole);
        }
        // (4)
        if at.una > self.rescue_rxt {
            let top = self.sacked.containing(at.max - 1);
            let end = top.map_or(at.max, |range| range.0);
            let start = end.saturating_sub(at.smss).max(at.una);
            let start = self.sacked.containing(start).map_or(start, |range| range.1);
            return (start < end).then_some(Segment { start, end, role: Role::Rescue });
        }
        None
    }
}

impl Recovery for Sack {
    fn on_ack(&mut self, at: &Outstanding, ack: &AckView<'_>) -> Outcome {
        let reported = self.update(at, ack.blocks);
        let mut outcome = Outcome::default();
        if let Some(pipe) = &mut self.counted {
            // ns-2 (Sack1TcpAgent::recv)
            let left = if ack.acked > 0 { 2 } else { 1 };
            *pipe -= left * at.smss as i64;
        }
        if ack.acked > 0 {
            self.dup_acks = 0;
            self.limited = 0;
            // RFC 6675 §5 (A); LD recovery ends at any new ACK (Park & Jang §2.1).
            if !self.phase.is_fast() || at.una >= self.recovery_point {
                outcome.left = self.phase.is_recovering();
                self.phase = Phase::Open;
                self.resend_first = false;
                self.counted = None;
            }
        }
        // RFC 6675 §2: a duplicate reports something new between HighACK and HighData.
        if reported && ack.acked == 0 {
            self.dup_acks += 1;
            outcome.duplicate = true;
        }
        // §5 (1), (2). After a timeout not before RecoveryPoint is reached (§5.1).
        let lost = self.dup_acks >= DUP_THRESH || self.lost_below(at) > at.una;
        outcome.lost =
            outcome.duplicate && lost && self.phase == Phase::Open && at.una >= self.recovery_point;
        outcome
    }

    fn enter(&mut self, at: &Outstanding, response: Response) -> u64 {
        if response == Response::Fast {
            // RFC 6675 §5 (4.1), (4.2)
            self.recovery_point = at.max;
            let outstanding = (at.max - at.una) as i64;
            self.counted = self.counts.then(|| outstanding - i64::from(DUP_THRESH) * at.smss as i64);
        }
        self.phase = Phase::Answering(response);
        self.resend_first = response != Response::Wait;
        (at.nxt - at.una).saturating_sub(self.limited)
    }

    fn on_timeout(&mut self, at: &Outstanding) {
        // RFC 6675 §5.1; RFC 2018 §8: what was SACKed is forgotten, the receiver may have dropped it.
        let recovery_point = at.max;
        *self = Self { recovery_point, ..Self::new(self.limited_transmit, self.counts) };
    }

    fn next(&self, at: &Outstanding, cwnd: u64) -> Option<Segment> {
        if self.resend_first {
            let limit = self.sacked.next_from(at.una).map_or(at.max, |range| range.0);
            return Some(Segment { start: at.una, end: at.cut(at.una, limit), role: Role::First });
        }
        let room = match self.counted {
            Some(pipe) => (cwnd as i64).saturating_sub(pipe).max(0) as u64,
            None => cwnd.saturating_sub(self.pipe(at)),
        };
        if self.phase.is_fast() {
            // RFC 6675 §5 (C)
            return if room >= at.smss { self.next_seg(at, at.nxt.saturating_add(room)) } else { None };
        }
        if at.nxt < at.max {
            // After a timeout: again in order, but not what has been SACKed since (RFC 6675 §5.1).
            if self.sacked.is_empty() {
                return at.in_order(at.nxt.saturating_add(room));
            }
            let (start, end) = self.hole(at, at.nxt);
            let segment = Segment { start, end, role: Role::InOrder };
            return match start < at.max {
                true => (room >= end - start || at.una == at.nxt).then_some(segment),
                false => Outstanding { nxt: at.max, ..*at }.in_order(at.max.saturating_add(room)),
            };
        }
        if self.phase.is_ld() {
            let most = room.min(ld::allowance(at.smss, self.limited));
            return at.in_order(at.nxt.saturating_add(most));
        }
        // §5 (3): without limited transmit what was SACKed makes no room.
        let window_end =
            if self.limited_transmit { at.nxt.saturating_add(room) } else { at.una.saturating_add(cwnd) };
        at.in_order(window_end)
    }

    fn on_sent(&mut self, at: &Outstanding, segment: &Segment) {
        if let Some(pipe) = &mut self.counted
            && segment.role != Role::First
        {
            *pipe += (segment.end - segment.start) as i64;
        }
        match segment.role {
            Role::First => {
                // RFC 6675 §5 (4.3)
                self.resend_first = false;
                self.high_rxt = segment.end;
                self.rescue_rxt = segment.end;
            }
            Role::Hole => self.high_rxt = segment.end,
            Role::Rescue => self.rescue_rxt = self.recovery_point,
            Role::InOrder if !self.phase.is_fast() && self.dup_acks > 0 && at.nxt == at.max => {
                self.limited += segment.end - segment.start;
            }
            Role::InOrder | Role::Probe => {}
        }
    }

    fn is_recovering(&self) -> bool {
        self.phase.is_recovering()
    }

    /// Returns the bytes in flight (SetPipe(), RFC 6675 §4).
    fn pipe(&self, at: &Outstanding) -> u64 {
        if !self.phase.is_fast() {
            return self.not_sacked(at.una, at.nxt);
        }
        if let Some(pipe) = self.counted {
            return pipe.max(0) as u64;
        }
        // (a) what is not lost, and (b) what was retransmitted
        self.not_sacked(self.lost_below(at), at.max) + self.not_sacked(at.una, self.high_rxt)
    }
}
