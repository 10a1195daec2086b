use msctp_units::{Rate, Span, Time};

use crate::{
    Ack, Controller, ControllerConfig, Cubic, IpVersion, Loss, LossKind, Measured, Reno, Rfc9260, Window,
};

const PMDCS: u64 = 1000;
/// 8 Mbps and 100 ms: a window of a hundred packets.
const MEASURED: Measured = Measured { bandwidth: Rate::from_mbps(8), rtt_min: Span::from_millis(100) };
const SAVED: u64 = 100_000;

/// A controller and the bytes in flight.
struct Path {
    controller: Box<dyn Controller>,
    flight: u64,
    /// Minimum window of the controller after a loss, and Beta in thousandths.
    least: u64,
    beta: u64,
}

impl Path {
    fn cwnd(&self) -> u64 {
        self.controller.window().cwnd
    }

    /// Sends until the window is full.
    fn fill(&mut self) {
        self.flight = self.flight.max(self.cwnd() / PMDCS * PMDCS);
    }

    fn ack(&mut self, bytes_acked: u64) {
        let flight_size_before = self.flight;
        self.flight -= bytes_acked;
        self.controller.on_ack(&Ack {
            now: Time::ZERO,
            bytes_acked,
            duplicate_bytes: 0,
            flight_size_before,
            cum_tsn_advanced: true,
            in_fast_recovery: false,
            nothing_outstanding: self.flight == 0,
            rtt: None,
            srtt: Some(MEASURED.rtt_min),
            answered_elsewhere: false,
        });
    }

    fn lose(&mut self, kind: LossKind) {
        self.controller.on_loss(&Loss { now: Time::ZERO, kind, flight_size: self.flight });
    }
}

/// Returns a path for each window controller that jumps with `earlier` bytes in flight.
fn jumped(measured: Measured, earlier: u64) -> [Path; 3] {
    let config = ControllerConfig::rfc9260(PMDCS, IpVersion::V4);
    let path = |controller: Box<dyn Controller>, least, beta| {
        let mut path = Path { controller, flight: earlier, least: least * PMDCS, beta };
        path.controller.resume(&measured, earlier);
        path
    };
    [
        path(Box::new(Rfc9260::new(&config)), 4, 500),
        path(Box::new(Reno::new(&config)), 2, 500),
        path(Box::new(Cubic::new(&config)), 2, 700),
    ]
}

#[test]
fn the_jump_is_half_of_the_measurement_paced_over_a_round_trip() {
    for path in jumped(MEASURED, 0) {
        let window = Window { cwnd: SAVED / 2, ssthresh: SAVED, partial_bytes_acked: 0 };
        assert_eq!(path.controller.window(), window);
        assert_eq!(path.controller.pacing_rate(), Some(Rate::from_mbps(4)));
    }
}

#[test]
fn a_jump_below_the_initial_window_is_none() {
    for mut path in jumped(Measured { bandwidth: Rate::from_kbps(300), ..MEASURED }, 0) {
        let name = path.controller.name();
        assert_eq!(path.cwnd(), 4_000, "the initial window, {name}");
        assert_eq!(path.controller.pacing_rate(), None, "{name}");
        path.fill();
        path.lose(LossKind::Gap);
        assert!(path.cwnd() >= path.least, "a loss as any other: {name}");
    }
}

#[test]
fn data_from_before_the_jump_validates_nothing() {
    for mut path in jumped(MEASURED, 10_000) {
        path.fill();
        for _ in 0..5 {
            path.ack(2_000);
            path.fill();
        }
        let name = path.controller.name();
        assert_eq!(path.cwnd(), SAVED / 2, "the window stays: {name}");
        assert!(path.controller.pacing_rate().is_some(), "still paced: {name}");
        path.ack(1_000);
        assert_eq!(path.controller.pacing_rate(), None, "{name}");
    }
}

#[test]
fn validating_begins_with_the_flight_size_and_grows_in_slow_start_to_the_measurement() {
    for mut path in jumped(MEASURED, 0) {
        let name = path.controller.name();
        path.flight = 30_000;
        path.ack(1_000);
        assert_eq!(path.cwnd(), 30_000, "what was sent, not what was allowed: {name}");
        for _ in 0..200 {
            path.fill();
            path.ack(1_000);
        }
        let cwnd = path.cwnd();
        assert!((SAVED..SAVED + 10 * PMDCS).contains(&cwnd), "{cwnd}, {name}");
    }
}

#[test]
fn a_flight_below_the_initial_window_ends_the_jump() {
    for mut path in jumped(MEASURED, 0) {
        let name = path.controller.name();
        path.flight = 3_000;
        path.ack(1_000);
        assert_eq!(path.cwnd(), 4_000, "{name}");
        path.fill();
        path.lose(LossKind::Gap);
        assert!(path.cwnd() >= path.least, "Normal Phase: {name}");
    }
}

#[test]
fn a_loss_or_mark_retreats_to_half_of_what_was_delivered() {
    for kind in [LossKind::Gap, LossKind::Ecn] {
        for mut path in jumped(Measured { bandwidth: Rate::from_mbps(22_000), ..MEASURED }, 0) {
            let name = path.controller.name();
            path.fill();
            for _ in 0..60 {
                path.ack(1_000);
            }
            assert!(path.cwnd() > 100_000_000, "{name}");
            path.lose(kind);
            assert_eq!(path.cwnd(), 30_000, "half of 60 packets: {name}");
            // The rest of the jump arrives a packet at a time: PipeSize grows, the window does not.
            for _ in 0..40 {
                path.ack(1_000);
                assert_eq!(path.cwnd(), 30_000, "{name}");
            }
            path.controller.on_recovery_exit(Time::ZERO);
            let window = path.controller.window();
            assert_eq!(window.ssthresh, 100_000 * path.beta / 1000, "PipeSize times Beta: {name}");
            assert_eq!(window.cwnd, 30_000, "{name}");
            path.flight = 30_000;
            path.ack(1_000);
            assert_eq!(path.cwnd(), 31_000, "the Normal Phase, in slow start: {name}");
        }
    }
}

#[test]
fn safe_retreat_ends_when_the_jump_is_acknowledged() {
    for mut path in jumped(MEASURED, 0) {
        let name = path.controller.name();
        path.fill();
        path.ack(10_000);
        path.lose(LossKind::Ecn);
        assert_eq!(path.cwnd(), 5_000, "{name}");
        path.ack(39_000);
        assert_eq!(path.controller.window().ssthresh, 5_000, "a packet is missing: {name}");
        path.flight = 5_000;
        path.ack(1_000);
        assert_eq!(path.controller.window().ssthresh, 50_000 * path.beta / 1000, "{name}");
    }
}

#[test]
fn after_a_timeout_ssthresh_is_what_was_delivered_and_the_jump_is_not_restored() {
    for mut path in jumped(MEASURED, 0) {
        let name = path.controller.name();
        path.fill();
        path.ack(20_000);
        path.lose(LossKind::Timeout);
        let expected = Window { cwnd: PMDCS, ssthresh: 20_000 * path.beta / 1000, partial_bytes_acked: 0 };
        assert_eq!(path.controller.window(), expected, "{name}");
        assert!(path.controller.one_packet_in_flight(), "{name}");
        path.controller.on_spurious_timeout(Time::ZERO);
        assert_eq!(path.controller.window(), expected, "{name}");
    }
}

#[test]
fn after_the_last_unvalidated_packet_a_loss_is_an_ordinary_one() {
    for mut path in jumped(MEASURED, 0) {
        let name = path.controller.name();
        path.fill();
        for _ in 0..50 {
            path.ack(1_000);
            path.fill();
        }
        let before = path.cwnd();
        path.lose(LossKind::Gap);
        assert_eq!(path.cwnd(), before * path.beta / 1000, "{name}");
    }
}

#[test]
fn idle_time_a_start_and_an_adjustment_end_the_jump() {
    for end in 0..3 {
        for mut path in jumped(MEASURED, 0) {
            let name = path.controller.name();
            match end {
                0 => path.controller.on_idle(1),
                1 => path.controller.start(&crate::StartState {
                    cwnd: 40_000,
                    ssthresh: Some(30_000),
                    pacing_rate: None,
                }),
                _ => path.controller.adjust(40_000, 30_000),
            }
            path.fill();
            let before = path.cwnd();
            path.ack(1_000);
            path.lose(LossKind::Gap);
            assert!(path.cwnd() >= before * 45 / 100, "{} of {before}: {name}", path.cwnd());
        }
    }
}
