//! [`Carried`]: what the primary path has carried per round trip since its last loss.

use msctp_congestion::Window;
use msctp_proto::handover::PathView;
use msctp_units::{Span, Time};

/// The maximum data acknowledged in one round trip since the last loss (pipeACK of RFC 7661 §4.1), bounded
/// by the window. It moves with the primary path.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    most: u64,
    last: Option<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Time,
    bytes_acked: u64,
    window: Window,
}

impl Carried {
    /// Returns the most bytes acknowledged in a round trip since the last loss.
    pub fn bytes(&self) -> u64 {
        self.most
    }

    /// Checks for a loss on the path between two round trips. A window below the last one was reduced after a
    /// loss or while idle: earlier measurements no longer count.
    pub fn look(&mut self, path: &PathView) {
        let Some(last) = &mut self.last else { return };
        let (old, new) = (core::mem::replace(&mut last.window, path.window), path.window);
        if new.cwnd < old.cwnd || new.ssthresh < old.ssthresh {
            self.most = 0;
            self.last = None;
        }
    }

    /// Processes a measured round trip of the path.
    pub fn on_round_trip(&mut self, now: Time, round_trip: Span, path: &PathView) {
        self.look(path);
        let sample = Sample { at: now, bytes_acked: path.bytes_acked, window: path.window };
        if let Some(last) = self.last.replace(sample) {
            let acked = path.bytes_acked.saturating_sub(last.bytes_acked);
            let elapsed = now.since(last.at).max(round_trip).as_nanos().max(1);
            let in_one = u128::from(acked) * u128::from(round_trip.as_nanos()) / u128::from(elapsed);
            let in_one = u64::try_from(in_one).unwrap_or(u64::MAX);
            self.most = self.most.max(in_one.min(path.window.cwnd));
        }
    }

    /// Records a window that the policy itself set, which indicates no loss.
    pub fn on_adjusted(&mut self, cwnd: u64, ssthresh: u64) {
        if let Some(last) = &mut self.last {
            (last.window.cwnd, last.window.ssthresh) = (cwnd, ssthresh);
        }
    }

    /// Discards the last sample, because another path became primary.
    pub fn on_primary_switch(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::testing::path;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn with(cwnd: u64, ssthresh: u64, bytes_acked: u64) -> PathView {
        PathView { window: Window { cwnd, ssthresh, partial_bytes_acked: 0 }, bytes_acked, ..path(0) }
    }

    #[test]
    fn the_maximum_acknowledged_in_a_round_trip_holds_until_a_loss() {
        let (mut carried, rtt) = (Carried::default(), Span::from_millis(100));
        carried.on_round_trip(at(0), rtt, &with(20_000, 5_000, 0));
        carried.on_round_trip(at(100), rtt, &with(20_000, 5_000, 12_000));
        assert_eq!(carried.bytes(), 12_000);
        carried.on_round_trip(at(300), rtt, &with(21_000, 5_000, 30_000));
        assert_eq!(carried.bytes(), 12_000, "18,000 in two round trips");
        carried.on_round_trip(at(400), rtt, &with(21_000, 5_000, 60_000));
        assert_eq!(carried.bytes(), 21_000, "at most the window");
        carried.on_adjusted(3_000, 2_000);
        carried.look(&with(3_000, 2_000, 60_000));
        assert_eq!(carried.bytes(), 21_000, "the policy's own cut is no loss");
        carried.look(&with(2_000, 2_000, 60_000));
        assert_eq!(carried.bytes(), 0);
    }
}
