//! The phases and the model of [`Bbr`], by samples made up: one per round trip.

use msctp_units::{Rate, Span, Time};

use super::phase::{Phase, mix};
use super::{Bbr, BbrConfig};
use crate::{
    Ack, Controller, ControllerConfig, DeliverySample, IpVersion, Loss, LossKind, LostPacket, Measured,
    StartState,
};

const RTT: Span = Span::from_millis(100);
const PACKET: u64 = 1000;

struct Rounds {
    bbr: Bbr,
    now: Time,
    delivered: u64,
}

impl Rounds {
    fn new() -> Self {
        let bbr = Bbr::new(&ControllerConfig::rfc9260(PACKET, IpVersion::V4));
        Self { bbr, now: Time::ZERO, delivered: 0 }
    }

    /// Runs a round trip in which the path delivers `rate` bytes per second and loses `lost` bytes.
    fn round(&mut self, rate: u64, lost: u64) {
        self.round_in(rate, lost, Some(RTT));
    }

    fn round_in(&mut self, rate: u64, lost: u64, rtt: Option<Span>) {
        self.round_answered(rate, lost, rtt, false);
    }

    fn round_answered(&mut self, rate: u64, lost: u64, rtt: Option<Span>, answered_elsewhere: bool) {
        let prior_delivered = self.delivered;
        let delivered = crate::amount::over(rate, RTT);
        self.now += RTT;
        self.delivered += delivered;
        let in_flight = delivered.min(self.bbr.cwnd);
        if lost > 0 {
            let tx_in_flight = delivered + lost;
            let packet = LostPacket { bytes: PACKET, tx_in_flight, lost, app_limited: false };
            self.bbr.on_packet_lost(self.now, &packet);
        }
        self.bbr.on_delivery(&DeliverySample {
            now: self.now,
            total_delivered: self.delivered,
            prior_delivered,
            interval: RTT,
            tx_in_flight: delivered + lost,
            lost,
            in_flight,
            newly_acked: delivered,
            newly_lost: lost,
            app_limited: false,
        });
        self.bbr.on_ack(&Ack {
            now: self.now,
            bytes_acked: delivered,
            duplicate_bytes: 0,
            flight_size_before: self.bbr.cwnd,
            cum_tsn_advanced: true,
            in_fast_recovery: false,
            nothing_outstanding: false,
            rtt,
            srtt: rtt.or(Some(RTT)),
            answered_elsewhere,
        });
    }

    fn until(&mut self, phase: Phase, rate: u64) {
        for _ in 0..100 {
            if self.bbr.cycle.phase == phase {
                return;
            }
            self.round(rate, 0);
        }
        panic!("no {phase:?}, but {:?}", self.bbr.cycle.phase);
    }

    /// Runs a path of 1 MB/s from Startup to its first Cruise.
    fn cruising() -> Self {
        let mut rounds = Self::new();
        [125_000, 250_000, 500_000].into_iter().for_each(|rate| rounds.round(rate, 0));
        rounds.until(Phase::Cruise, 1_000_000);
        rounds
    }

    fn pacing(&self) -> u64 {
        // bit/s with headers, to bytes per second of chunks
        self.bbr.pacing_rate().unwrap().as_bps() / 8 * PACKET / (PACKET + 32)
    }
}

#[test]
fn startup_ends_when_three_rounds_bring_no_growth() {
    let mut rounds = Rounds::new();
    for rate in [100_000, 200_000, 400_000, 800_000, 1_000_000] {
        rounds.round(rate, 0);
        assert_eq!(rounds.bbr.cycle.phase, Phase::Startup);
        // §5.6.1: 2.773 times the bandwidth, less one per cent
        assert!(rounds.pacing().abs_diff(rate * 2745 / 1000) < rate / 500, "{} of {rate}", rounds.pacing());
    }
    rounds.round(1_000_000, 0);
    rounds.round(1_000_000, 0);
    assert_eq!(rounds.bbr.cycle.phase, Phase::Startup);
    rounds.round(1_000_000, 0);
    assert_eq!(rounds.bbr.cycle.phase, Phase::Cruise, "there was no queue to drain");
    assert!(rounds.pacing().abs_diff(990_000) < 2000, "{}", rounds.pacing());
}

/// Data first sent on another path measures no round-trip time. Until the path measures one, its smoothed
/// value is used.
#[test]
fn samples_without_a_round_trip_use_that_of_the_path() {
    let mut rounds = Rounds::new();
    for rate in [100_000, 200_000, 400_000, 800_000] {
        rounds.round_in(rate, 0, None);
    }
    assert_eq!(rounds.bbr.model.min_rtt(), Some(RTT));
    assert!(rounds.bbr.cwnd > 100_000, "{}", rounds.bbr.cwnd);
    rounds.round_in(800_000, 0, Some(RTT / 2));
    rounds.round_in(800_000, 0, None);
    assert_eq!(rounds.bbr.model.min_rtt(), Some(RTT / 2));
}

/// §5.3.1.3: six samples with losses in a round of more than 2 %.
#[test]
fn startup_ends_with_high_loss() {
    let mut rounds = Rounds::new();
    rounds.round(500_000, 0);
    rounds.bbr.model.loss_events = 5;
    rounds.round(1_000_000, 1_900);
    assert_eq!(rounds.bbr.cycle.phase, Phase::Startup, "below 2 %");
    rounds.bbr.model.loss_events = 5;
    rounds.round(2_000_000, 20_000);
    assert_ne!(rounds.bbr.cycle.phase, Phase::Startup);
    assert_eq!(rounds.bbr.model.inflight_long_term, 200_000);
}

#[test]
fn startup_ends_at_the_rate_that_a_policy_measured() {
    let mut rounds = Rounds::new();
    rounds.bbr.start(&StartState { cwnd: 50_000, ssthresh: Some(60_000), pacing_rate: None });
    assert_eq!(rounds.bbr.window().cwnd, 50_000);
    rounds.round(500_000, 0);
    assert_eq!(rounds.bbr.cycle.phase, Phase::Startup);
    rounds.round(600_000, 0);
    assert_ne!(rounds.bbr.cycle.phase, Phase::Startup);
}

#[test]
fn bandwidth_is_probed_every_two_to_three_seconds() {
    let mut rounds = Rounds::cruising();
    let began = rounds.now;
    rounds.until(Phase::Refill, 1_000_000);
    let waited = rounds.now.since(began).as_millis();
    assert!((1800..=3200).contains(&waited), "{waited} ms");
    assert!(rounds.pacing().abs_diff(990_000) < 2000);
    rounds.until(Phase::Up, 1_000_000);
    assert!(rounds.pacing().abs_diff(1_237_500) < 2000);
    // There is more capacity: the probe continues and the model follows.
    for rate in [1_250_000, 1_562_500, 1_953_120] {
        rounds.round(rate, 0);
        assert_eq!(rounds.bbr.cycle.phase, Phase::Up);
    }
    assert_eq!(rounds.bbr.model.bandwidth(), 1_953_120);
    rounds.until(Phase::Cruise, 1_953_120);
    // Two bandwidth-delay products (§5.6.1), and one because here a SACK brings a whole round trip (§5.5.9).
    assert_eq!(rounds.bbr.window().cwnd, 3 * 195_312);
}

/// §5.5.10.2: the bytes in flight before the loss rate of a probe exceeded 2 % bound the next cycles.
#[test]
fn a_probe_that_loses_too_much_ends_and_bounds_the_next() {
    let mut rounds = Rounds::cruising();
    rounds.until(Phase::Up, 1_000_000);
    rounds.round(1_250_000, 10_000);
    assert_eq!(rounds.bbr.cycle.phase, Phase::Down);
    let bound = rounds.bbr.model.inflight_long_term;
    // 135,000 in flight and 10,000 of them lost: the packet crossed the threshold, so it alone is taken off.
    assert_eq!(bound, 134_000);
    rounds.until(Phase::Cruise, 1_000_000);
    assert_eq!(rounds.bbr.window().cwnd, 134_000 - 20_100, "15 % headroom");
    rounds.until(Phase::Refill, 1_000_000);
    rounds.round(1_000_000, 0);
    assert!(rounds.bbr.window().cwnd > 134_000 - 20_100, "refilled up to the bound");
}

/// §5.5.10.3: losses while cruising lower the bandwidth by 30 % a round, at most to the delivery rate, until
/// the next probe.
#[test]
fn losses_while_cruising_bound_the_short_term() {
    let mut rounds = Rounds::cruising();
    rounds.round(1_000_000, 1_000);
    assert_eq!(rounds.bbr.cycle.phase, Phase::Cruise);
    assert_eq!(rounds.bbr.model.bandwidth(), 1_000_000, "as much still arrives");
    rounds.round(500_000, 1_000);
    rounds.round(500_000, 1_000);
    rounds.round(500_000, 1_000);
    assert!(rounds.bbr.model.bandwidth() < 710_000, "{}", rounds.bbr.model.bandwidth());
    assert!(rounds.bbr.model.bandwidth() >= 500_000);
    assert_eq!(rounds.bbr.model.max_bandwidth(), 1_000_000);
    rounds.until(Phase::Refill, 500_000);
    rounds.round(500_000, 0);
    assert_eq!(rounds.bbr.model.bandwidth(), 1_000_000, "forgotten for the probe");
}

/// §5.3.4: after five seconds without a lower round-trip time, ProbeRTT lasts 200 ms and a round at half of a
/// bandwidth-delay product.
#[test]
fn probe_rtt_measures_the_round_trip_without_a_queue() {
    let mut rounds = Rounds::cruising();
    let least = rounds.bbr.model.min_rtt().unwrap();
    let began = rounds.now;
    while rounds.bbr.cycle.phase != Phase::ProbeRtt {
        rounds.round_in(1_000_000, 0, Some(RTT + Span::from_millis(20)));
        assert!(rounds.now.since(began) <= Span::from_secs(6), "{:?}", rounds.bbr.cycle);
    }
    rounds.round_in(1_000_000, 0, Some(RTT + Span::from_millis(20)));
    assert_eq!(rounds.bbr.window().cwnd, 50_000);
    let entered = rounds.now;
    while rounds.bbr.cycle.phase == Phase::ProbeRtt {
        rounds.round_in(400_000, 0, Some(RTT + Span::from_millis(10)));
        assert!(rounds.now.since(entered) < Span::from_secs(1));
    }
    assert!(rounds.bbr.window().cwnd > 100_000, "the window comes back");
    assert_eq!(rounds.bbr.model.min_rtt(), Some(least), "for ten seconds the lower one counts");
    assert_eq!(rounds.bbr.model.max_bandwidth(), 1_000_000, "the pause says nothing of the bandwidth");
}

#[test]
fn a_mark_ends_startup_and_a_probe() {
    let mut rounds = Rounds::new();
    rounds.round(500_000, 0);
    let mark = Loss { now: rounds.now, kind: LossKind::Ecn, flight_size: 40_000 };
    rounds.bbr.on_loss(&mark);
    rounds.round(1_000_000, 0);
    assert_ne!(rounds.bbr.cycle.phase, Phase::Startup);
    let mut rounds = Rounds::cruising();
    rounds.until(Phase::Up, 1_000_000);
    rounds.bbr.on_loss(&Loss { now: rounds.now, kind: LossKind::Ecn, flight_size: 90_000 });
    assert_eq!((rounds.bbr.cycle.phase, rounds.bbr.model.inflight_long_term), (Phase::Down, 90_000));
}

/// §5.3.3.5.3: flows that share a path do not probe at the same time.
#[test]
fn the_waits_are_spread() {
    let mut tenths = [0u32; 10];
    for n in 0..10_000u64 {
        tenths[usize::try_from((mix(n * 1_000_003) >> 1) % 1001 / 101).unwrap()] += 1;
    }
    assert!(tenths.iter().all(|&count| (800..1200).contains(&count)), "{tenths:?}");
}

/// With the option a queue ends Startup or a probe at once. The draft waits for rounds without growth.
#[test]
fn with_hystart_a_queue_ends_startup_and_probes() {
    let begin = |hystart: bool| {
        let path = ControllerConfig::rfc9260(PACKET, IpVersion::V4);
        Rounds { bbr: Bbr::with(&path, BbrConfig { hystart }), ..Rounds::new() }
    };
    let queued = Some(RTT + Span::from_millis(16));
    let mut rounds = begin(true);
    // The rate doubles all the time: the draft sees no end of it.
    for n in 0..8 {
        assert_eq!(rounds.bbr.cycle.phase, Phase::Startup, "{n}");
        rounds.round_in(100_000 << n, 0, if n == 0 { Some(RTT) } else { queued });
    }
    assert_eq!(rounds.bbr.cycle.phase, Phase::Startup, "the first sample was without a queue");
    (0..7).for_each(|n| rounds.round_in(25_600_000 << n, 0, queued));
    assert!(rounds.pacing() > 2_000_000_000, "{}", rounds.pacing());
    rounds.round_in(25_600_000, 0, queued);
    let half = (25_600_000 << 6) / 2 * 98 / 100;
    assert!(rounds.pacing().abs_diff(half) < 1_000_000, "the queue drains, {}", rounds.pacing());
    rounds.round_in(2_000_000_000, 0, queued);
    assert_ne!(rounds.bbr.cycle.phase, Phase::Startup);
    assert_eq!(rounds.bbr.model.max_bandwidth(), 2_000_000_000, "what its last round tells counts");
    rounds.until(Phase::Refill, 2_000_000_000);
    assert!(rounds.now < Time::ZERO + Span::from_secs(3), "a probe follows at once");
    let mut rounds = begin(false);
    (0..16).for_each(|n| rounds.round_in(100_000 << n, 0, if n == 0 { Some(RTT) } else { queued }));
    assert_eq!(rounds.bbr.cycle.phase, Phase::Startup);

    // In a probe the refill before it is what counts, with whatever queue others had there.
    let probe = |before: Span, within: Span| {
        let mut rounds = begin(true);
        [125_000, 250_000, 500_000].into_iter().for_each(|rate| rounds.round(rate, 0));
        rounds.until(Phase::Refill, 1_000_000);
        rounds.round_in(1_000_000, 0, Some(before));
        rounds.until(Phase::Up, 1_000_000);
        let mut rate = 1_000_000;
        (0..15)
            .take_while(|_| {
                rate = rate * 13 / 10;
                rounds.round_in(rate, 0, Some(within));
                rounds.bbr.cycle.phase == Phase::Up
            })
            .count()
    };
    let ms = Span::from_millis;
    assert_eq!(probe(RTT, RTT + ms(16)), 7);
    assert_eq!(probe(RTT, RTT + ms(8)), 15);
    assert_eq!(probe(RTT + ms(50), RTT + ms(50)), 15);
}

#[test]
fn a_round_trip_that_went_another_way_back_holds_until_the_path_itself_answers() {
    let ms = Span::from_millis;
    let mut rounds = Rounds::new();
    rounds.round_answered(50_000, 0, Some(ms(100)), false);
    assert!(rounds.bbr.is_starting());
    rounds.round_answered(100_000, 0, Some(ms(60)), true);
    assert_eq!(
        rounds.bbr.model.min_rtt(),
        Some(ms(60)),
        "what comes back sooner is answered in less than 100 ms"
    );
    rounds.round_answered(100_000, 0, Some(ms(110)), false);
    assert_eq!(rounds.bbr.model.min_rtt(), Some(ms(110)));
    rounds.round_answered(100_000, 0, Some(ms(100)), false);
    rounds.round_answered(100_000, 0, Some(ms(120)), true);
    rounds.round_answered(100_000, 0, Some(ms(130)), false);
    assert_eq!(rounds.bbr.model.min_rtt(), Some(ms(100)), "the longer way round changes nothing");
    assert!(!Rounds::cruising().bbr.is_starting());
}

#[test]
fn startup_is_first_paced_by_the_initial_window() {
    // BBRInitPacingRate (§5.6.2): StartupPacingGain times the initial window in a round trip
    let mut rounds = Rounds::new();
    let initial = rounds.bbr.cwnd;
    rounds.round(PACKET * 10, 0);
    let least = 2773 * initial * 8 / 1000 * 10;
    let paced = rounds.bbr.pacing_rate().unwrap().as_bps();
    assert!(paced > least * 98 / 100 && paced < least * 106 / 100, "{paced} for {least} and headers");
}

#[test]
fn the_pacing_margin_applies_only_while_a_queue_stands() {
    let on_wire = |permille: u64| 8_000_000 * (PACKET + 32) / PACKET * permille / 1000;
    let mut draft = Rounds::new();
    draft.until(Phase::Cruise, 1_000_000);
    assert_eq!(draft.bbr.pacing_rate().unwrap().as_bps(), on_wire(990), "§5.6.2");
    let path = ControllerConfig::rfc9260(PACKET, IpVersion::V4);
    let mut rounds = Rounds { bbr: Bbr::with(&path, BbrConfig { hystart: true }), ..Rounds::new() };
    rounds.until(Phase::Cruise, 1_000_000);
    for (rtt_ms, permille) in [(100, 1000), (106, 1000), (107, 980), (150, 980), (101, 1000)] {
        rounds.round_in(1_000_000, 0, Some(Span::from_millis(rtt_ms)));
        assert_eq!(rounds.bbr.cycle.phase, Phase::Cruise);
        assert_eq!(rounds.bbr.pacing_rate().unwrap().as_bps(), on_wire(permille), "{rtt_ms} ms");
    }
}

#[test]
fn a_round_trip_near_the_shortest_takes_the_place_of_a_probe_for_it() {
    // §5.3.4.3: after 5 s without one as short
    let probes = |hystart: bool, rtt: Span| {
        let path = ControllerConfig::rfc9260(PACKET, IpVersion::V4);
        let mut rounds = Rounds { bbr: Bbr::with(&path, BbrConfig { hystart }), ..Rounds::new() };
        rounds.until(Phase::Cruise, 1_000_000);
        (0..200).any(|_| {
            rounds.round_in(1_000_000, 0, Some(rtt));
            rounds.bbr.cycle.phase == Phase::ProbeRtt
        })
    };
    let ms = Span::from_millis;
    assert!(probes(false, ms(103)) && !probes(true, ms(103)), "no queue");
    assert!(probes(true, ms(120)), "what is behind the queue is not known");
}

#[test]
fn probe_rtt_continues_to_send_at_half_the_rate() {
    let path = ControllerConfig::rfc9260(PACKET, IpVersion::V4);
    let mut rounds = Rounds { bbr: Bbr::with(&path, BbrConfig { hystart: true }), ..Rounds::new() };
    rounds.until(Phase::Cruise, 1_000_000);
    let before = rounds.pacing();
    for _ in 0..200 {
        rounds.round_in(1_000_000, 0, Some(Span::from_millis(120)));
        if rounds.bbr.cycle.phase == Phase::ProbeRtt {
            break;
        }
    }
    assert_eq!(rounds.bbr.cycle.phase, Phase::ProbeRtt);
    assert!(rounds.pacing().abs_diff(before / 2) < before / 20, "{} of {before}", rounds.pacing());
    // the whole bandwidth-delay product is in flight: room for a packet, which the pacer lets go when it is
    // time
    assert_eq!(rounds.bbr.cwnd, 100_000 + PACKET);
    rounds.round_in(400_000, 0, Some(Span::from_millis(110)));
    assert_eq!(rounds.bbr.cwnd, rounds.bbr.probe_rtt_cwnd(), "never less than the draft's");
}

#[test]
fn startup_losses_do_not_count_for_a_probe() {
    let queued = Some(RTT + Span::from_millis(16));
    // Returns when the first probe after Startup begins; `lost` bytes are lost while the queue drains.
    let probe = |lost: u64| {
        let path = ControllerConfig::rfc9260(PACKET, IpVersion::V4);
        let mut rounds = Rounds { bbr: Bbr::with(&path, BbrConfig { hystart: true }), ..Rounds::new() };
        rounds.round_in(50_000, 0, Some(RTT));
        // its rate doubles until a queue is seen
        let mut rate = 50_000;
        while rounds.bbr.is_starting() {
            rate *= 2;
            rounds.round_in(rate, 0, queued);
        }
        rounds.round_in(rate, lost, queued);
        rounds.until(Phase::Refill, rate);
        rounds.now
    };
    let (early, late) = (probe(0), probe(5 * PACKET));
    assert!(late.since(early) >= Span::from_secs(1), "{early:?}, with losses {late:?}");
}

/// Returns a path that resumes at 1 MB/s of chunks.
fn resumed() -> Rounds {
    let mut rounds = Rounds::new();
    let bandwidth = Rate::from_bps(1_000_000 * 8 * (PACKET + 32) / PACKET);
    rounds.bbr.resume(&Measured { bandwidth, rtt_min: RTT }, 0);
    rounds
}

#[test]
fn a_path_resumes_at_the_measured_rate_without_startup() {
    let mut rounds = resumed();
    assert!(!rounds.bbr.is_starting());
    assert_eq!(rounds.bbr.window().cwnd, 200_000, "two bandwidth-delay products");
    assert!(rounds.pacing().abs_diff(990_000) < 2000, "{}", rounds.pacing());
    rounds.round(1_000_000, 0);
    rounds.round(1_000_000, 0);
    assert_eq!(rounds.bbr.model.max_bandwidth(), 1_000_000);
    assert_eq!(rounds.bbr.cycle.phase, Phase::Up);
    rounds.round(1_200_000, 0);
    assert!(rounds.bbr.model.max_bandwidth() >= 1_200_000, "it is probed for more at once");
}

/// RFC 9959, Safe Retreat: a path that delivers less than measured discards the measurement within a round
/// trip.
#[test]
fn a_resumed_path_retreats_to_its_delivery_rate() {
    let mut slow = resumed();
    slow.round(500_000, 0);
    slow.round(500_000, 0);
    assert_eq!(slow.bbr.model.max_bandwidth(), 500_000, "a round trip has shown it");
    let mut queued = resumed();
    queued.round_in(500_000, 0, Some(RTT * 2));
    assert_eq!(queued.bbr.model.max_bandwidth(), 500_000, "a queue shows it at once");
    let mut lost = resumed();
    lost.round(800_000, 100_000);
    assert_eq!(lost.bbr.model.max_bandwidth(), 800_000, "so does a loss");
}
