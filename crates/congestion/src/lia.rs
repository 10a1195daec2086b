//! [`Lia`]: the linked increases of RFC 6356, for several paths at once.
//!
//! At a bottleneck that the paths share they take together what one TCP flow would take there. Without a
//! common bottleneck the association gets at least what it would get on its best path.

use crate::composed::{Composed, WindowAdjustment};
use crate::controller::{Ack, Controller, ControllerConfig, Loss};
use crate::coupled::CoupledPaths;
use crate::factory::Make;
use crate::precise::Precise;
use crate::slow_start::SlowStart;

/// The controller of RFC 6356: TCP Reno with coupled congestion avoidance over all paths of the association.
///
/// One path alone grows as [`Reno`](crate::Reno) does.
pub type Lia = Composed<LinkedIncreases>;

/// Makes [`Lia`], which has no options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiaConfig;

impl Make<ControllerConfig, dyn Controller> for LiaConfig {
    fn make(&self, path: &ControllerConfig) -> Box<dyn Controller> {
        Box::new(Lia::new(path))
    }
}

/// The increase of RFC 6356 §3, and half of the flight after a loss.
#[derive(Clone, Debug, Default)]
pub struct LinkedIncreases {
    /// The other paths that carry data.
    others: CoupledPaths,
}

impl WindowAdjustment for LinkedIncreases {
    type Options = ();
    const NAME: &'static str = "lia";
    const COUPLED: bool = true;

    fn new((): &()) -> (Self, SlowStart) {
        (Self::default(), SlowStart::by_bytes(None, false))
    }

    fn on_other_paths(&mut self, others: CoupledPaths) {
        self.others = others;
    }

    fn grow(&mut self, ack: &Ack, cwnd: &mut Precise, pmdcs: u64) {
        let before = *cwnd;
        // RFC 6356 §3: a path never grows faster than TCP would: bytes_acked · MSS / cwnd
        let mut alone = before;
        alone.add_ratio(ack.bytes_acked, pmdcs, before);
        let Some(srtt) = ack.srtt.filter(|_| self.others != CoupledPaths::default()) else {
            *cwnd = alone;
            return;
        };
        // §3: alpha · bytes_acked · MSS / cwnd_total; cwnd_total cancels out of alpha (§4.1)
        let all = self.others.with(before.bytes(), srtt);
        let shared = all.shared_window();
        let mut linked = before;
        linked.add_ratio(ack.bytes_acked, pmdcs, Precise::new(shared));
        *cwnd = linked.min(alone);
    }

    fn reduce(&mut self, _loss: &Loss, flight: u64, _cwnd: u64) -> u64 {
        // RFC 6356 §3: the decrease is TCP's (RFC 5681 §3.1 eq. (4))
        flight / 2
    }
}

#[cfg(test)]
mod tests {
    use msctp_units::{Span, Time};

    use super::*;
    use crate::{IpVersion, LossKind, StartState, Window};

    const MSS: u64 = 1000;
    const CWND: u64 = 100_000;
    const RTT: Span = Span::from_millis(100);

    fn avoiding(cwnd: u64) -> Lia {
        let mut controller = Lia::new(&ControllerConfig::rfc9260(MSS, IpVersion::V4));
        controller.start(&StartState { cwnd, ssthresh: Some(cwnd), pacing_rate: None });
        controller
    }

    /// Returns the growth of the window while one window of data is acknowledged, packet by packet, in bytes.
    fn growth(controller: &mut Lia, others: CoupledPaths) -> u64 {
        let Window { cwnd, .. } = controller.window();
        for _ in 0..cwnd / MSS {
            controller.on_other_paths(others);
            controller.on_ack(&Ack {
                now: Time::ZERO,
                bytes_acked: MSS,
                duplicate_bytes: 0,
                flight_size_before: controller.window().cwnd,
                cum_tsn_advanced: true,
                in_fast_recovery: false,
                nothing_outstanding: false,
                rtt: Some(RTT),
                srtt: Some(RTT),
                answered_elsewhere: false,
            });
        }
        controller.window().cwnd - cwnd
    }

    fn near(value: u64, expected: u64) {
        assert!(value.abs_diff(expected) * 50 <= expected, "{value}, expected {expected}");
    }

    #[test]
    fn one_path_grows_as_tcp_does() {
        assert!(Lia::new(&ControllerConfig::rfc9260(MSS, IpVersion::V4)).is_coupled());
        near(growth(&mut avoiding(CWND), CoupledPaths::default()), MSS);
    }

    /// RFC 6356 §3: alpha is 1/2 for two equal paths, so each grows by a quarter of a packet a round trip.
    #[test]
    fn two_equal_paths_grow_by_a_quarter_each() {
        near(growth(&mut avoiding(CWND), CoupledPaths::default().with(CWND, RTT)), MSS / 4);
    }

    /// RFC 6356 §3 with numbers: windows of 100,000 and 50,000 bytes, round-trip times of 100 and 400 ms. The
    /// maximum is 10⁷ bytes/s², and the sum is 1.125 · 10⁶ bytes/s. One window of data grows the window by
    /// 1000 · 10⁵ · 10⁷ / 1.125² / 10¹² bytes.
    #[test]
    fn unequal_round_trips_weigh_by_their_rates() {
        let other = CoupledPaths::default().with(50_000, Span::from_millis(400));
        near(growth(&mut avoiding(CWND), other), 790);
    }

    /// RFC 6356 §3: the increase is the minimum of the linked increase and TCP's.
    #[test]
    fn no_path_grows_faster_than_tcp() {
        // 1000 · 10⁵ · 10¹⁰ / (1.01 · 10⁸)²
        let steep = CoupledPaths::default().with(1_000_000, Span::from_millis(10));
        near(growth(&mut avoiding(CWND), steep), 98);
        // alpha is far above 1 if the other path is short and slow
        let short = CoupledPaths::default().with(2_000, Span::from_millis(1));
        near(growth(&mut avoiding(CWND), short), MSS);
    }

    #[test]
    fn a_loss_halves_the_flight_of_this_path_only() {
        let mut controller = avoiding(CWND);
        controller.on_other_paths(CoupledPaths::default().with(1_000_000, RTT));
        controller.on_loss(&Loss { now: Time::ZERO, kind: LossKind::Gap, flight_size: 80_000 });
        assert_eq!(controller.window().cwnd, 40_000);
    }

    #[test]
    fn extreme_paths_neither_overflow_nor_stop_growth() {
        let extreme = CoupledPaths::default().with(u64::MAX, Span::ZERO).with(u64::MAX, Span::ZERO);
        assert!(growth(&mut avoiding(CWND), CoupledPaths::default().with(0, Span::MAX)) > 0);
        assert_eq!(growth(&mut avoiding(CWND), extreme), 0);
    }
}
