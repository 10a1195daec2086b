//! [`Limits`]: what a policy that follows reports may set the window of a running path to.

use msctp_congestion::Window;

/// Limits of a window from this end's own measurements, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The window now.
    pub window: Window,
    /// Maximum bytes acknowledged in a round trip since the last loss ([`Carried`](super::Carried)).
    pub carried: u64,
    /// Bytes that the peer's receive window allows in flight on the path.
    pub receivable: u64,
    /// The path's PMDCS.
    pub pmdcs: u64,
}

impl Limits {
    /// Returns the window to set when a report asks for `cwnd` and `ssthresh`. It lies between 1 PMDCS and
    /// these limits, in the requested phase (slow start is cwnd ≤ ssthresh, RFC 9260 §7.2.1).
    pub fn admit(&self, cwnd: u64, ssthresh: u64) -> (u64, u64) {
        let raised = self.carried.min(self.receivable);
        let most = raised.max(self.window.cwnd).max(self.pmdcs);
        let admitted = cwnd.clamp(self.pmdcs, most);
        let slow_start = cwnd <= ssthresh;
        let threshold =
            if slow_start { ssthresh.max(admitted) } else { ssthresh.min(admitted.saturating_sub(1)) };
        (admitted, threshold)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits(cwnd: u64, carried: u64) -> Limits {
        let window = Window { cwnd, ssthresh: 0, partial_bytes_acked: 0 };
        Limits { window, carried, receivable: 1 << 20, pmdcs: 1468 }
    }

    #[test]
    fn the_window_stays_between_one_chunk_and_the_carried_maximum() {
        assert_eq!(limits(20_000, 20_000).admit(1, 0), (1468, 0), "below 1 PMDCS");
        assert_eq!(limits(5_000, 20_000).admit(15_000, 0), (15_000, 0));
        assert_eq!(limits(5_000, 20_000).admit(u64::MAX, 0), (20_000, 0));
        assert_eq!(limits(5_000, 0).admit(u64::MAX, 0), (5_000, 0), "after a loss");
        assert_eq!(limits(5_000, 20_000).admit(3_000, u64::MAX), (3_000, u64::MAX));
        let closed = Limits { receivable: 7_000, ..limits(5_000, 20_000) };
        assert_eq!(closed.admit(u64::MAX, 0), (7_000, 0), "the peer's rwnd");
    }

    #[test]
    fn a_limited_window_keeps_the_requested_phase() {
        assert_eq!(limits(5_000, 20_000).admit(100_000, 50_000), (20_000, 19_999), "avoidance");
        assert_eq!(limits(5_000, 0).admit(1_000, 1_000), (1468, 1468), "slow start");
    }

    proptest! {
        #[test]
        fn bounds_and_phase_hold(cwnd: u64, ssthresh: u64, now in 1468u64..1 << 40, carried: u64, receivable: u64) {
            let limits = Limits { receivable, ..limits(now, carried) };
            let (admitted, threshold) = limits.admit(cwnd, ssthresh);
            prop_assert!(admitted >= 1468);
            prop_assert!(admitted <= now.max(carried.min(receivable)));
            prop_assert_eq!(admitted <= threshold, cwnd <= ssthresh);
        }
    }
}
