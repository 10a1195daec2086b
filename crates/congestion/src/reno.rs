//! [`Reno`]: the window of TCP Reno and its descendants (RFC 5681 §3.1), counting bytes (RFC 3465) or
//! acknowledgements.
//!
//! Loss recovery (NewReno, SACK) is the sender's part and not here.

use crate::composed::{Composed, WindowAdjustment};
use crate::controller::{Ack, Controller, ControllerConfig, Loss};
use crate::factory::Make;
use crate::precise::Precise;
use crate::slow_start::SlowStart;

/// The controller of RFC 5681: slow start, additive increase, multiplicative decrease. With
/// [`RenoConfig::count_acks`] it counts as ns-2's TCP does.
pub type Reno = Composed<AdditiveIncrease>;

/// Options of [`Reno`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenoConfig {
    /// L: maximum growth of the window by one acknowledgement in slow start, in packets, at least 1 (RFC 3465
    /// §2.2). `None`: 8 with HyStart++ (RFC 9406 §4.2), otherwise 1 (RFC 5681 §3.1).
    pub slow_start_limit: Option<u64>,
    /// Leave the first slow start when the round-trip time grows: HyStart++ (RFC 9406). Default: false.
    pub hystart: bool,
    /// Count acknowledgements instead of bytes, as ns-2's TCP does: the window opens by one packet per ACK in
    /// slow start and by 1/cwnd packet above. `slow_start_limit` then has no effect. Default: false.
    pub count_acks: bool,
    /// Open the window even if it is not fully used: RFC 5681 allows it, ns-2 does it. Default: false.
    pub grow_unused: bool,
}

impl Make<ControllerConfig, dyn Controller> for RenoConfig {
    fn make(&self, path: &ControllerConfig) -> Box<dyn Controller> {
        Box::new(Reno::with(path, *self))
    }
}

/// Additive increase by a packet per window of data (RFC 5681 §3.1), and half of the flight after a loss.
#[derive(Clone, Debug)]
pub struct AdditiveIncrease {
    count_acks: bool,
    grow_unused: bool,
    partial_bytes_acked: u64,
}

impl WindowAdjustment for AdditiveIncrease {
    type Options = RenoConfig;
    const NAME: &'static str = "reno";

    fn new(options: &RenoConfig) -> (Self, SlowStart) {
        let &RenoConfig { slow_start_limit, hystart, count_acks, grow_unused } = options;
        let slow_start = match count_acks {
            true => SlowStart::by_acks(hystart),
            false => SlowStart::by_bytes(slow_start_limit, hystart),
        };
        (Self { count_acks, grow_unused, partial_bytes_acked: 0 }, slow_start)
    }

    fn grow(&mut self, ack: &Ack, cwnd: &mut Precise, pmdcs: u64) {
        if self.count_acks {
            // ns-2 (TcpAgent::opencwnd): cwnd += 1 / cwnd, in packets
            if ack.cum_tsn_advanced {
                cwnd.add_ratio(pmdcs, pmdcs, *cwnd);
            }
            return;
        }
        // RFC 3465 §2.1: cwnd bytes acknowledged open the window by one packet
        self.partial_bytes_acked = self.partial_bytes_acked.saturating_add(ack.bytes_acked);
        let whole = cwnd.bytes();
        if self.partial_bytes_acked >= whole {
            self.partial_bytes_acked -= whole;
            *cwnd = Precise::new(whole.saturating_add(pmdcs));
        }
    }

    fn grows_unused(&self) -> bool {
        self.grow_unused
    }

    fn reduce(&mut self, _loss: &Loss, flight: u64, _cwnd: u64) -> u64 {
        self.partial_bytes_acked = 0;
        // RFC 5681 §3.1 eq. (4)
        flight / 2
    }

    fn restart(&mut self) {
        self.partial_bytes_acked = 0;
    }

    fn partial_bytes_acked(&self) -> u64 {
        self.partial_bytes_acked
    }
}

#[cfg(test)]
mod tests {
    use msctp_units::Time;

    use super::*;
    use crate::{InitialWindow, IpVersion, LossKind, StartState, Window};

    const MSS: u64 = 1000;

    fn with(options: RenoConfig) -> Reno {
        let path = ControllerConfig {
            initial_window: InitialWindow::Packets(2),
            ..ControllerConfig::rfc9260(MSS, IpVersion::V4)
        };
        Reno::with(&path, options)
    }

    fn limited(l: u64) -> RenoConfig {
        RenoConfig { slow_start_limit: Some(l), ..RenoConfig::default() }
    }

    fn started(options: RenoConfig, cwnd: u64, ssthresh: u64) -> Reno {
        let mut controller = with(options);
        controller.start(&StartState { cwnd, ssthresh: Some(ssthresh), pacing_rate: None });
        controller
    }

    fn full(controller: &Reno, bytes_acked: u64) -> Ack {
        Ack {
            now: Time::ZERO,
            bytes_acked,
            duplicate_bytes: 0,
            flight_size_before: controller.window().cwnd,
            cum_tsn_advanced: true,
            in_fast_recovery: false,
            nothing_outstanding: false,
            rtt: None,
            srtt: None,
            answered_elsewhere: false,
        }
    }

    fn loss(kind: LossKind, flight_size: u64) -> Loss {
        Loss { now: Time::ZERO, kind, flight_size }
    }

    #[test]
    fn slow_start_adds_what_was_acked_up_to_l_packets() {
        for (l, expected) in [(1, 3000), (2, 4000), (3, 4500)] {
            let mut controller = with(limited(l));
            controller.on_ack(&full(&controller, 2500));
            assert_eq!(controller.window().cwnd, expected, "L = {l}");
        }
        // RFC 3465 §2.3: L = 1 after a timeout
        let mut controller = with(limited(2));
        controller.on_loss(&loss(LossKind::Timeout, 60_000));
        controller.on_ack(&full(&controller, 2500));
        assert_eq!(controller.window().cwnd, 2000);
    }

    #[test]
    fn slow_start_by_bytes_stops_at_the_threshold() {
        let mut controller = started(RenoConfig::default(), 9_500, 10_000);
        controller.on_ack(&full(&controller, 2000));
        assert_eq!(controller.window().cwnd, 10_000);
        controller.on_ack(&full(&controller, 2000));
        assert_eq!(controller.window().partial_bytes_acked, 2000, "from there bytes are counted");
    }

    #[test]
    fn avoidance_opens_by_one_packet_per_window() {
        let mut controller = started(RenoConfig::default(), 10_000, 5_000);
        for _ in 0..5 {
            assert_eq!(controller.window().cwnd, 10_000);
            controller.on_ack(&full(&controller, 2000));
        }
        assert_eq!(controller.window(), Window { cwnd: 11_000, ssthresh: 5_000, partial_bytes_acked: 0 });
    }

    #[test]
    fn counting_acks_opens_the_window_as_ns_2_does() {
        let mut controller = started(RenoConfig { count_acks: true, ..RenoConfig::default() }, 2_000, 4_000);
        for expected in [3_000, 4_000] {
            controller.on_ack(&full(&controller, 10));
            assert_eq!(controller.window().cwnd, expected, "one packet for any ACK");
        }
        // cwnd_ += 1 / cwnd_ in packets, written down with more digits than needed
        let mut packets = 4.0_f64;
        for _ in 0..1000 {
            controller.on_ack(&full(&controller, 2000));
            packets += 1.0 / packets;
            let difference = controller.window().cwnd as f64 - packets * 1000.0;
            assert!(difference.abs() <= 1.0, "{} for {packets}", controller.window().cwnd);
        }
        let before = controller.window();
        controller.on_ack(&Ack { cum_tsn_advanced: false, ..full(&controller, 1000) });
        assert_eq!(controller.window(), before, "a duplicate ACK opens nothing");
    }

    #[test]
    fn an_unused_window_grows_only_by_option() {
        for (cwnd, ssthresh) in [(10_000, 20_000), (10_000, 5_000)] {
            for grow_unused in [false, true] {
                let options = RenoConfig { grow_unused, count_acks: true, ..RenoConfig::default() };
                let mut controller = started(options, cwnd, ssthresh);
                controller.on_ack(&Ack { flight_size_before: 9_000, ..full(&controller, 1000) });
                assert_eq!(controller.window().cwnd > cwnd, grow_unused);
                let before = controller.window().cwnd;
                controller.on_ack(&Ack { flight_size_before: before - 999, ..full(&controller, 1000) });
                assert!(controller.window().cwnd > before, "no full packet would have fitted");
            }
        }
    }

    #[test]
    fn nothing_grows_in_fast_recovery() {
        let mut controller = started(RenoConfig::default(), 10_000, 20_000);
        controller.on_ack(&Ack { in_fast_recovery: true, ..full(&controller, 5_000) });
        assert_eq!(controller.window().cwnd, 10_000);
    }

    #[test]
    fn a_loss_halves_the_flight_and_a_timeout_starts_from_one_packet() {
        for kind in [LossKind::Gap, LossKind::Ecn] {
            let mut controller = started(RenoConfig::default(), 20_000, 5_000);
            controller.on_loss(&loss(kind, 16_000));
            let after = controller.window();
            assert_eq!((after.cwnd, after.ssthresh), (8_000, 8_000), "FlightSize, not cwnd");
            controller.on_loss(&loss(kind, 1_000));
            assert_eq!(controller.window().cwnd, 2_000, "not less than two packets");
            controller.on_loss(&loss(kind, u64::MAX));
            assert_eq!(controller.window().cwnd, 2_000, "what was sent beyond the window does not count");
        }
        let mut controller = started(RenoConfig::default(), 20_000, 5_000);
        controller.on_loss(&loss(LossKind::Timeout, 16_000));
        assert_eq!((controller.window().cwnd, controller.window().ssthresh), (1_000, 8_000));
        assert!(controller.one_packet_in_flight());
        controller.on_loss(&loss(LossKind::Timeout, 1_000));
        assert_eq!(controller.window().ssthresh, 8_000, "held constant for the same data");
        controller.on_ack(&full(&controller, 1_000));
        assert!(!controller.one_packet_in_flight());
        assert_eq!(controller.window().cwnd, 2_000);
        controller.on_loss(&loss(LossKind::Timeout, 2_000));
        assert_eq!(controller.window().ssthresh, 2_000, "a new timeout");
    }

    #[test]
    fn idle_time_restarts_from_the_initial_window() {
        let mut controller = started(RenoConfig::default(), 20_000, 5_000);
        controller.on_idle(0);
        assert_eq!(controller.window().cwnd, 20_000);
        controller.on_idle(1);
        assert_eq!((controller.window().cwnd, controller.window().ssthresh), (2_000, 5_000));
        controller.on_loss(&loss(LossKind::Timeout, 2_000));
        controller.on_idle(7);
        assert_eq!(controller.window().cwnd, 1_000, "never raised");
    }

    #[test]
    fn a_spurious_timeout_restores_window_threshold_and_count() {
        let mut controller = started(RenoConfig::default(), 20_000, 5_000);
        controller.on_ack(&full(&controller, 700));
        let before = controller.window();
        controller.on_loss(&loss(LossKind::Timeout, 20_000));
        controller.on_loss(&loss(LossKind::Timeout, 1_000));
        controller.on_ack(&full(&controller, 1_000));
        controller.on_spurious_timeout(Time::ZERO);
        assert_eq!(controller.window(), before);
        assert!(!controller.one_packet_in_flight());
        controller.on_spurious_timeout(Time::ZERO);
        assert_eq!(controller.window(), before, "once");
    }
}
