//! Window controllers that start at a measurement, right or wrong (RFC 9959).

use msctp_congestion::{ControllerConfig, IpVersion, Measured};
use msctp_lab_schemes::catalogue::{Options, controllers};
use msctp_units::{Rate, Span, Time};

use super::path::{Link, PMDCS, Path};

const RTT: Span = Span::from_millis(60);
/// Packets that the path holds without its queue: 10 Mbps times 60 ms.
const BDP: u64 = 51;
const QUEUE: u64 = 50;

/// Paths with each window controller, resumed at `bandwidth`.
fn resumed(bandwidth: Rate) -> impl Iterator<Item = Path> {
    controllers().iter().filter(|info| ["rfc9260", "rfc4960", "reno", "cubic"].contains(&info.name)).map(
        move |info| {
            let path = ControllerConfig::rfc9260(PMDCS, IpVersion::V4);
            let mut controller = (info.make)(&Options::new()).make(&path);
            controller.resume(&Measured { bandwidth, rtt_min: RTT }, 0);
            Path::new(controller, Link { rate: Rate::from_mbps(10), rtt: RTT, queue: QUEUE })
        },
    )
}

#[test]
fn a_right_measurement_uses_the_path_from_the_third_round_trip_and_loses_nothing() {
    assert_eq!(resumed(Rate::from_mbps(10)).count(), 4);
    for mut path in resumed(Rate::from_mbps(10)) {
        let name = path.controller.name();
        path.run_until(Time::ZERO + RTT * 3);
        let before = path.delivered;
        path.run_until(Time::ZERO + RTT * 13);
        let share = (path.delivered - before) as f64 / (10 * BDP) as f64;
        assert!(share > 0.9, "{share}, {name}");
        assert_eq!(path.overflows, 0, "{name}");
    }
}

#[test]
fn a_measurement_of_a_thousand_times_the_rate_costs_one_round_trip_of_overflow() {
    for mut path in resumed(Rate::from_mbps(22_000)) {
        let name = path.controller.name();
        path.run_until(Time::ZERO + RTT * 4);
        let (cwnd, overflows) = (path.controller.window().cwnd / PMDCS, path.overflows);
        assert!(cwnd <= (BDP + QUEUE) / 2 + 1, "{cwnd} packets, {name}");
        path.run_until(Time::ZERO + RTT * 10);
        assert!(path.overflows - overflows < QUEUE, "no second flood: {name}");
        let ssthresh = path.controller.window().ssthresh / PMDCS;
        assert!(ssthresh <= BDP + QUEUE, "{ssthresh} packets, {name}");
        path.run_until(Time::ZERO + RTT * 20);
        let before = path.delivered;
        path.run_until(Time::ZERO + RTT * 120);
        let share = (path.delivered - before) as f64 / (100 * BDP) as f64;
        assert!(share > 0.7, "{share}, {name}");
    }
}
