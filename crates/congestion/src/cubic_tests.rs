//! CUBIC against RFC 9438's closed forms, written down here a second time, in floating point.

use super::*;
use crate::{InitialWindow, IpVersion, StartState};

const MSS: u64 = 1448;

fn path() -> ControllerConfig {
    ControllerConfig {
        initial_window: InitialWindow::Packets(10),
        ..ControllerConfig::rfc9260(MSS, IpVersion::V4)
    }
}

/// Returns a controller in congestion avoidance at a window of `cwnd` packets, without an earlier loss.
fn avoiding(options: CubicConfig, cwnd: u64) -> Cubic {
    let mut controller = Cubic::with(&path(), options);
    let start = StartState { cwnd: cwnd * MSS, ssthresh: Some(cwnd * MSS), pacing_rate: None };
    controller.start(&start);
    controller
}

fn loss(kind: LossKind, flight_size: u64) -> Loss {
    Loss { now: Time::ZERO, kind, flight_size }
}

fn lose(controller: &mut Cubic, kind: LossKind) {
    let flight = controller.window().cwnd;
    controller.on_loss(&loss(kind, flight));
}

/// Returns an acknowledgement of one packet in a full window.
fn ack(controller: &Cubic, now: Time, rtt: Span) -> Ack {
    Ack {
        now,
        bytes_acked: MSS,
        duplicate_bytes: 0,
        flight_size_before: controller.window().cwnd,
        cum_tsn_advanced: true,
        in_fast_recovery: false,
        nothing_outstanding: false,
        rtt: Some(rtt),
        srtt: Some(rtt),
        answered_elsewhere: false,
    }
}

/// Acknowledges the packets of one window one by one over a round trip. Returns the time after it.
fn round(controller: &mut Cubic, start: Time, rtt: Span) -> Time {
    let packets = (controller.window().cwnd / MSS).max(1);
    for packet in 1..=packets {
        controller.on_ack(&ack(controller, start + rtt.mul_ratio(packet, packets), rtt));
    }
    start + rtt
}

fn packets(controller: &Cubic) -> f64 {
    controller.window().cwnd as f64 / MSS as f64
}

/// Computes RFC 9438 Figures 1 and 2, in packets and seconds.
fn closed_form(w_max: f64, cwnd_epoch: f64, t: f64) -> f64 {
    let k = ((w_max - cwnd_epoch) / 0.4).cbrt();
    0.4 * (t - k).powi(3) + w_max
}

#[test]
fn the_curve_is_rfc_9438s_closed_form() {
    for w_max in [3u64, 10, 100, 1_000, 50_000, 10_000_000] {
        for mss in [100u64, 1448, 9000] {
            let (mut curve, _) = CubicCurve::new(&CubicConfig::default());
            curve.w_max = Some(w_max * mss);
            let cwnd = w_max * mss * 7 / 10;
            let stage = curve.begin(Time::ZERO, Precise::new(cwnd), mss);
            let epoch = cwnd as f64 / mss as f64;
            assert!(
                curve.w_cubic(&stage, 0, mss).abs_diff(cwnd) <= 1 + cwnd / 100_000,
                "W_cubic(0) = cwnd_epoch"
            );
            for step in 0..40 {
                let t = stage.k / 20 * step;
                let expected = closed_form(w_max as f64, epoch, t as f64 / 1e6) * mss as f64;
                let got = curve.w_cubic(&stage, t, mss) as f64;
                assert!(
                    (got - expected).abs() <= 2.0 + expected * 1e-5,
                    "{w_max}·{mss} at {t}: {got}, {expected}"
                );
            }
        }
    }
}

#[test]
fn the_window_follows_the_curve_through_both_regions() {
    let rtt = Span::from_millis(100);
    let off = CubicConfig { reno_friendly: false, ..CubicConfig::default() };
    let mut controller = avoiding(off, 1000);
    lose(&mut controller, LossKind::Gap);
    assert_eq!(controller.window().cwnd, 700 * MSS);
    let mut now = Time::ZERO;
    let mut largest = 0.0_f64;
    // K = cbrt(300/0.4) = 9.09 s
    for _ in 0..180 {
        now = round(&mut controller, now, rtt);
        let t = now.as_secs_f64();
        let window = packets(&controller);
        // The target is a round trip ahead, and the window reaches it within one.
        let (behind, ahead) = (closed_form(1000.0, 700.0, t - 0.1), closed_form(1000.0, 700.0, t + 0.1));
        assert!(window > behind - 1.0 && window < ahead + 1.0, "{window} at {t}: {behind} to {ahead}");
        largest = largest.max(window);
    }
    assert!(largest > 1250.0, "well beyond W_max: {largest}");
}

#[test]
fn the_target_is_at_most_half_above_the_window() {
    let mut controller = avoiding(CubicConfig { reno_friendly: false, ..CubicConfig::default() }, 10);
    let rtt = Span::from_millis(10);
    controller.on_ack(&ack(&controller, Time::ZERO, rtt));
    let before = controller.window().cwnd;
    // An hour into the stage the curve is far above.
    controller
        .on_ack(&Ack { bytes_acked: before, ..ack(&controller, Time::ZERO + Span::from_secs(3600), rtt) });
    assert_eq!(controller.window().cwnd, before + before / 2);
}

/// RFC 9438 §4.3 Figure 4 and its switch to α = 1, round trip by round trip.
#[test]
fn the_reno_friendly_window_grows_by_alpha_per_round_trip_and_then_by_one() {
    let rtt = Span::from_millis(1);
    let mut controller = avoiding(CubicConfig::default(), 100);
    lose(&mut controller, LossKind::Gap);
    let mut now = Time::ZERO;
    let alpha = 3.0 * 0.3 / 1.7;
    let mut expected = 70.0_f64;
    for number in 0..150 {
        now = round(&mut controller, now, rtt);
        expected += if expected >= 100.0 { 1.0 } else { alpha };
        let window = packets(&controller);
        assert!((window - expected).abs() < 0.02 * expected, "{window} after {number}, expected {expected}");
    }
    assert!(expected > 150.0);
}

/// Loses every `between`-th packet for `periods` periods after a loss at a window of `from` packets. Returns
/// the mean window and that at the last loss, in packets.
fn lossy(options: CubicConfig, rtt: Span, between: u64, from: f64, periods: u32) -> (f64, f64) {
    let mut controller = avoiding(options, from as u64);
    lose(&mut controller, LossKind::Gap);
    let mut now = Time::ZERO;
    let mut rounds = Vec::new();
    let mut last = 0.0;
    for _ in 0..periods {
        let mut sent = 0;
        while sent < between {
            rounds.push(packets(&controller));
            sent += packets(&controller) as u64;
            now = round(&mut controller, now, rtt);
        }
        last = packets(&controller);
        lose(&mut controller, LossKind::Gap);
    }
    (rounds.iter().sum::<f64>() / rounds.len() as f64, last)
}

/// RFC 9438 §5.1: the mean window is ((C·(3+β))/(4·(1−β)))^(1/4) · RTT^(3/4) / p^(3/4), and the window at a
/// loss is 4/(3+β) times that. The model covers the curve alone. It is an equilibrium: a window a little
/// above it falls, and one a little below it rises. Near it the curve is flat, so that the window converges
/// slowly.
#[test]
fn the_mean_window_is_rfc_9438s_where_the_curve_rules() {
    let model = CubicConfig { reno_friendly: false, fast_convergence: false, ..CubicConfig::default() };
    for (rtt_ms, between) in [(100u32, 10_000u64), (50, 60_000), (200, 20_000)] {
        let expected = (0.4 * 3.7 / (4.0 * 0.3_f64)).powf(0.25)
            * (f64::from(rtt_ms) / 1000.0).powf(0.75)
            * (between as f64).powf(0.75);
        let at_loss = expected * 4.0 / 3.7;
        let run = |from| lossy(model, Span::from_millis(u64::from(rtt_ms)), between, from, 10);
        let what = format!("RTT {rtt_ms} ms, 1/p {between}, model {expected}");
        let mean = run(at_loss).0;
        assert!((mean / expected - 1.0).abs() < 0.05, "{what}: mean {mean}");
        let (above, below) = (at_loss * 1.1, at_loss * 0.9);
        assert!(run(above).1 < above, "{what}: {above} to {}", run(above).1);
        assert!(run(below).1 > below, "{what}: {below} to {}", run(below).1);
    }
}

/// RFC 9438 §4.3: with α = 3(1−β)/(1+β) the mean window is Reno's, sqrt(1.5/p), wherever it starts.
#[test]
fn the_mean_window_is_renos_where_that_is_larger() {
    for between in [200u64, 1_000, 5_000] {
        let expected = (1.5 * between as f64).sqrt();
        let options = CubicConfig { fast_convergence: false, ..CubicConfig::default() };
        let start = lossy(options, Span::from_millis(1), between, 10.0, 30).1;
        let got = lossy(options, Span::from_millis(1), between, start, 30).0;
        assert!((got / expected - 1.0).abs() < 0.05, "1/p {between}: {got}, model {expected}");
    }
}

#[test]
fn a_loss_leaves_beta_and_remembers_the_window() {
    let mut controller = avoiding(CubicConfig::default(), 100);
    lose(&mut controller, LossKind::Gap);
    assert_eq!(controller.window().cwnd, 70 * MSS);
    // §4.7: 70 < W_max = 100, so W_max = 70 · 1.7 / 2
    lose(&mut controller, LossKind::Gap);
    assert_eq!(controller.adjustment().w_max, Some(70 * MSS * 17 / 20));
    let mut slow = avoiding(CubicConfig { fast_convergence: false, ..CubicConfig::default() }, 100);
    lose(&mut slow, LossKind::Gap);
    lose(&mut slow, LossKind::Gap);
    assert_eq!(slow.adjustment().w_max, Some(70 * MSS));
    // §4.6: FlightSize counts
    let mut controller = avoiding(CubicConfig::default(), 100);
    controller.on_loss(&loss(LossKind::Gap, 50 * MSS));
    assert_eq!(controller.window().cwnd, 35 * MSS);
    // floors
    controller.on_loss(&loss(LossKind::Gap, MSS));
    assert_eq!((controller.window().cwnd, controller.window().ssthresh), (2 * MSS, 2 * MSS));
    controller.on_loss(&loss(LossKind::Ecn, MSS));
    assert_eq!((controller.window().cwnd, controller.window().ssthresh), (MSS, 2 * MSS), "a mark: 1 SMSS");
}

#[test]
fn after_a_timeout_the_curve_begins_at_its_plateau() {
    let mut controller = avoiding(CubicConfig::default(), 100);
    lose(&mut controller, LossKind::Gap);
    lose(&mut controller, LossKind::Timeout);
    assert_eq!((controller.window().cwnd, controller.window().ssthresh), (MSS, 49 * MSS));
    let (mut now, rtt) = (Time::ZERO, Span::from_millis(50));
    while controller.adjustment().stage.is_none() {
        now = round(&mut controller, now, rtt);
    }
    let stage = controller.adjustment().stage.unwrap();
    assert_eq!((stage.k, stage.w_max), (0, 49 * MSS), "§4.8");
}

#[test]
fn a_spurious_timeout_restores_the_curve() {
    let (rtt, mut now) = (Span::from_millis(50), Time::ZERO);
    let mut controller = avoiding(CubicConfig::default(), 100);
    lose(&mut controller, LossKind::Gap);
    for _ in 0..5 {
        now = round(&mut controller, now, rtt);
    }
    let mut undone = controller.clone();
    lose(&mut undone, LossKind::Timeout);
    undone.on_ack(&ack(&undone, now, rtt));
    undone.on_spurious_timeout(now);
    for _ in 0..50 {
        let end = round(&mut controller, now, rtt);
        round(&mut undone, now, rtt);
        now = end;
        assert_eq!(undone.window(), controller.window(), "as if it had not been");
    }
}

#[test]
fn time_without_data_is_not_part_of_t() {
    let (rtt, pause) = (Span::from_millis(50), Span::from_secs(20));
    let mut steady = avoiding(CubicConfig::default(), 100);
    lose(&mut steady, LossKind::Gap);
    let mut now = round(&mut steady, Time::ZERO, rtt);
    let (mut limited, mut drained) = (steady.clone(), steady.clone());
    // The application had little to send for 20 s, or nothing.
    let later = now + pause;
    limited.on_ack(&Ack { flight_size_before: MSS, ..ack(&limited, later, rtt) });
    drained.on_ack(&Ack { nothing_outstanding: true, ..ack(&drained, now, rtt) });
    steady.on_ack(&ack(&steady, now, rtt));
    for _ in 0..40 {
        round(&mut limited, now + pause, rtt);
        round(&mut drained, now + pause, rtt);
        now = round(&mut steady, now, rtt);
        for other in [&limited, &drained] {
            let (other, window) = (packets(other), packets(&steady));
            assert!((other - window).abs() < 0.02 * window, "{other} beside {window} without the pause");
        }
    }
}

#[test]
fn slow_start_ends_when_the_round_trip_grows() {
    let mut controller = Cubic::with(&path(), CubicConfig::default());
    let mut now = Time::ZERO;
    let mut rtt = Span::from_millis(50);
    for _ in 0..3 {
        now = round(&mut controller, now, rtt);
    }
    assert_eq!(controller.window().cwnd, 80 * MSS, "doubled each round trip");
    rtt = Span::from_millis(60);
    for _ in 0..8 {
        now = round(&mut controller, now, rtt);
    }
    let window = controller.window();
    // The first round may hold samples from before, so it is seen within two: at most 320 packets by then,
    // and at most a quarter more in each of five rounds.
    let most = 320 * 5u64.pow(5) / 4u64.pow(5) * MSS;
    assert!(window.ssthresh <= most && window.cwnd >= window.ssthresh, "{window:?}");
    assert_eq!(controller.adjustment().cwnd_prior, Some(window.ssthresh), "§4.10");
    let mut without = Cubic::with(&path(), CubicConfig { hystart: false, ..CubicConfig::default() });
    for _ in 0..11 {
        now = round(&mut without, now, rtt);
    }
    assert_eq!((without.window().cwnd, without.window().ssthresh), (20_480 * MSS, u64::MAX));
}

proptest::proptest! {
    /// No product overflows for any sizes and times.
    #[test]
    fn extreme_values_do_not_overflow(
        cwnd: u64, ssthresh: u64, pmdcs: u64, flight_size_before: u64, times in proptest::collection::vec(0u64.., 8),
        c in 1u64..=10_000, beta in 100u64..=950,
    ) {
        let options = CubicConfig { c, beta, ..CubicConfig::default() };
        let mut controller = Cubic::with(&ControllerConfig { pmdcs, ..path() }, options);
        controller.start(&StartState { cwnd, ssthresh: Some(ssthresh), pacing_rate: None });
        for (number, &time) in times.iter().enumerate() {
            let ack = ack(&controller, Time::from_nanos(time), Span::from_nanos(times[0]));
            controller.on_ack(&Ack { bytes_acked: time, flight_size_before, ..ack });
            if number % 3 == 0 {
                controller.on_loss(&loss(LossKind::Gap, flight_size_before));
            }
            proptest::prop_assert!(controller.window().cwnd >= pmdcs.max(1));
        }
    }
}
