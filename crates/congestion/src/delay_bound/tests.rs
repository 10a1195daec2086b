//! The mechanisms of [`DelayBound`], by samples made up: one per round trip, or many in a round.

use msctp_units::{Rate, Span, Time};

use super::allowance::{Allowance, LossRound};
use super::channel::{Channel, Counts};
use super::{DelayBound, DelayBoundConfig};
use crate::amount::{over, per_second};
use crate::{
    Ack, Controller, ControllerConfig, ControllerFactory, DeliverySample, IpVersion, Loss, LossKind,
    LostPacket, Measured, StartState,
};

const BASE: Span = Span::from_millis(100);
const PACKET: u64 = 1000;
/// 20 Mbit/s, at which the target is 15 ms.
const RATE: u64 = 2_500_000;
const TARGET: u64 = 37_500;

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// Returns the lost packet of this number, from 1, sent with `tx_in_flight` bytes in flight.
fn lost_packet(number: u64, tx_in_flight: u64) -> LostPacket {
    LostPacket { bytes: PACKET, tx_in_flight, lost: number * PACKET, app_limited: false }
}

struct Rounds {
    controller: DelayBound,
    now: Time,
    delivered: u64,
}

impl Rounds {
    fn new() -> Self {
        let controller = DelayBound::new(&ControllerConfig::rfc9260(PACKET, IpVersion::V4));
        Self { controller, now: Time::ZERO, delivered: 0 }
    }

    /// Returns a controller whose window fills the path and the target, without a loss.
    fn running() -> Self {
        let mut rounds = Self::new();
        while rounds.cwnd() < over(RATE, BASE) {
            rounds.round(rounds.cwnd() * 10, ms(0));
        }
        rounds.round(RATE, ms(20));
        assert_eq!(rounds.cwnd(), over(RATE, BASE) + TARGET);
        rounds
    }

    fn cwnd(&self) -> u64 {
        self.controller.window().cwnd
    }

    /// Runs a round trip with a queue of `queued`, in which the path delivers `rate` bytes per second.
    fn round(&mut self, rate: u64, queued: Span) {
        self.answered(rate, BASE + queued, 0, false);
    }

    fn answered(&mut self, rate: u64, rtt: Span, lost: u64, elsewhere: bool) {
        self.acknowledged(rate, rtt, lost, elsewhere, Some(rtt));
    }

    /// Runs a round trip in which only retransmissions were acknowledged.
    fn unmeasured(&mut self, rate: u64) {
        self.acknowledged(rate, BASE, 0, false, None);
    }

    /// Runs round trips over a link that loses `permille` of the packets, and all that exceed a queue of
    /// `buffer` bytes.
    fn lossy(&mut self, count: usize, permille: u64, buffer: u64) {
        let holds = over(RATE, BASE);
        for _ in 0..count {
            let flight = self.cwnd();
            let passed = flight.min(holds + buffer);
            let delivered = passed - passed * permille / 1000;
            let rtt = BASE + Span::from_nanos(passed.saturating_sub(holds) * 1_000_000_000 / RATE);
            self.answered(per_second(delivered, rtt), rtt, (flight - delivered) / PACKET, false);
        }
    }

    fn acknowledged(&mut self, rate: u64, rtt: Span, lost: u64, elsewhere: bool, measured: Option<Span>) {
        let prior_delivered = self.delivered;
        let delivered = over(rate, rtt);
        self.now += rtt;
        self.delivered += delivered;
        for packet in 1..=lost {
            self.controller.on_packet_lost(self.now, &lost_packet(packet, delivered));
        }
        let flight_size_before = self.cwnd();
        self.controller.on_delivery(&DeliverySample {
            now: self.now,
            total_delivered: self.delivered,
            prior_delivered,
            interval: rtt,
            tx_in_flight: flight_size_before,
            lost: lost * PACKET,
            in_flight: flight_size_before.min(over(rate, rtt)),
            newly_acked: delivered,
            newly_lost: lost * PACKET,
            app_limited: false,
        });
        self.controller.on_ack(&Ack {
            now: self.now,
            bytes_acked: delivered,
            duplicate_bytes: 0,
            flight_size_before,
            cum_tsn_advanced: true,
            in_fast_recovery: false,
            nothing_outstanding: false,
            rtt: measured,
            srtt: Some(rtt),
            answered_elsewhere: elsewhere,
        });
    }
}

#[test]
fn the_start_doubles_until_the_first_queue() {
    let mut rounds = Rounds::new();
    let mut window = rounds.cwnd();
    for _ in 0..5 {
        rounds.round(window * 10, ms(0));
        window *= 2;
        assert_eq!(rounds.cwnd(), window);
        assert!(rounds.controller.is_starting());
    }
    rounds.round(RATE, ms(40));
    assert!(!rounds.controller.is_starting());
}

#[test]
fn above_the_target_the_window_is_the_path_and_the_target() {
    for queued in [16, 50, 400] {
        let mut rounds = Rounds::running();
        rounds.round(RATE, ms(queued));
        assert_eq!(rounds.cwnd(), over(RATE, BASE) + TARGET, "{queued} ms");
        // A tenth of the rate: the target is √10 times as long, 47.4 ms.
        rounds.round(RATE / 10, ms(900));
        assert_eq!(rounds.cwnd(), over(RATE / 10, BASE) + 11_858);
    }
}

#[test]
fn below_half_the_target_the_window_grows_by_half_then_after_two_empty_rounds_doubles() {
    let mut rounds = Rounds::running();
    let before = rounds.cwnd();
    rounds.round(RATE, ms(8));
    let slowly = before + PACKET * over(RATE, BASE + ms(8)) / before;
    assert_eq!(rounds.cwnd(), slowly, "a packet per round trip between the two");
    let before = rounds.cwnd();
    let rate = RATE * 11 / 10;
    rounds.round(rate, ms(5));
    let delivered = over(rate, BASE + ms(5));
    assert_eq!(rounds.cwnd(), before + delivered / 2);
    let rate = RATE * 16 / 10;
    rounds.round(rate, ms(0));
    assert_eq!(rounds.cwnd(), before + delivered / 2 + over(rate, BASE) / 2);
    // The round that ends with this sample was empty too.
    let before = rounds.cwnd();
    rounds.round(5 * RATE, ms(0));
    assert_eq!(rounds.cwnd(), before + over(5 * RATE, BASE));
}

/// The window stays within a factor of the measured rate, because a queue shows one round trip late.
#[test]
fn the_window_is_at_most_twice_the_bdp_at_the_start_and_half_as_much_again_later() {
    let mut starting = Rounds::new();
    starting.round(100_000, ms(0));
    for _ in 0..4 {
        starting.round(100_000, ms(0));
    }
    assert_eq!(starting.cwnd(), 2 * over(100_000, BASE) + 4 * PACKET);
    let mut running = Rounds::running();
    running.round(RATE, ms(20));
    running.round(RATE, ms(5));
    assert_eq!(running.cwnd(), over(RATE, BASE) * 3 / 2 + TARGET);
    for _ in 0..10 {
        running.round(RATE, ms(0));
    }
    assert_eq!(running.cwnd(), 2 * over(RATE, BASE) + TARGET, "after two rounds without a queue");
}

/// Data first sent on another path measures a rate, but no round-trip time (Karn).
#[test]
fn retransmissions_open_the_window_by_their_rate() {
    let mut rounds = Rounds::new();
    rounds.answered(200_000, BASE, 0, false);
    let mut last = rounds.cwnd();
    for _ in 0..3 {
        rounds.unmeasured(last * 10);
        assert_eq!(rounds.cwnd(), last * 2);
        last = rounds.cwnd();
    }
    assert!(rounds.controller.is_starting());
}

/// RFC 9959: the first window follows the measurement. A queue that it builds ends it within a round.
#[test]
fn a_resumed_path_begins_at_the_measured_rate_and_keeps_its_round_trip() {
    let mut rounds = Rounds::new();
    let bandwidth = Rate::from_bps(RATE * 8 * (PACKET + 32) / PACKET);
    rounds.controller.resume(&Measured { bandwidth, rtt_min: BASE }, 0);
    assert_eq!(rounds.cwnd(), over(RATE, BASE) + TARGET);
    assert_eq!(rounds.controller.pacing_rate(), Some(bandwidth));
    assert!(!rounds.controller.is_starting());
    // The path carries a quarter, so the first round trip already has a queue.
    rounds.round(RATE / 4, ms(345));
    assert_eq!(rounds.cwnd(), over(RATE / 4, BASE) + 18_750);
}

/// A measured round-trip time that another path answered must not stop growth for long.
#[test]
fn a_round_trip_that_a_path_resumed_at_counts_for_four_rounds() {
    let mut rounds = Rounds::new();
    let bandwidth = Rate::from_bps(RATE * 8);
    rounds.controller.resume(&Measured { bandwidth, rtt_min: BASE - ms(30) }, 0);
    for _ in 0..4 {
        assert_eq!(rounds.controller.path.base(), Some(BASE - ms(30)));
        rounds.round(RATE, ms(0));
    }
    assert_eq!(rounds.controller.path.base(), Some(BASE));
}

/// After a silent failure only retransmissions are acknowledged at first. The peer may have answered the
/// path's HEARTBEATs over a shorter path.
#[test]
fn a_round_trip_of_heartbeats_counts_only_until_data_measures_one() {
    let mut rounds = Rounds::new();
    rounds.acknowledged(RATE, BASE - ms(20), 0, false, None);
    assert_eq!(rounds.controller.path.base(), Some(BASE - ms(20)));
    rounds.round(RATE, ms(0));
    assert_eq!(rounds.controller.path.base(), Some(BASE));
}

/// The rate of a limited application shows nothing about the path.
#[test]
fn an_unused_window_stays() {
    let mut rounds = Rounds::running();
    let before = rounds.cwnd();
    let sample = |now, total_delivered, rtt: Span| DeliverySample {
        now,
        total_delivered,
        prior_delivered: total_delivered - 5000,
        interval: rtt,
        tx_in_flight: 5000,
        lost: 0,
        in_flight: 0,
        newly_acked: 5000,
        newly_lost: 0,
        app_limited: true,
    };
    for rtt in [BASE, BASE + ms(300)] {
        rounds.delivered += 5000;
        let sample = sample(rounds.now, rounds.delivered, rtt);
        rounds.controller.take_sample(&sample, Some(rtt), false);
        assert_eq!(rounds.cwnd(), before, "{rtt}");
    }
}

/// Swift's flow scaling (SIGCOMM 2020, §3.5): a flow with a quarter of the rate aims at twice the delay.
#[test]
fn the_target_falls_with_the_square_root_of_the_rate() {
    let target = |rate| Allowance::default().target(rate, PACKET);
    assert_eq!([target(RATE / 4), target(RATE), target(4 * RATE)], [18_750, TARGET, 75_000]);
    assert_eq!(target(1000), 4 * PACKET, "four packets always");
}

#[test]
fn an_overflow_bounds_the_queue_below_the_buffer() {
    let (mut allowance, mut channel) = (Allowance::default(), Channel::default());
    let mut round = |longest, delivered: u64, lost: u64| {
        allowance.on_queue(longest, over_time(longest));
        allowance.on_delivered(delivered * PACKET);
        (1..=lost).for_each(|number| allowance.on_lost(&lost_packet(number, 100_000)));
        let ended = allowance.end_round(Time::ZERO, (RATE, 0), PACKET, &mut channel);
        let overflowed = matches!(ended, LossRound::FirstOverflow | LossRound::Overflow);
        (overflowed, allowance.target(100 * RATE, PACKET), allowance.limit(1000, 100_000))
    };
    let free = over(10 * RATE, ms(15));
    assert_eq!(round(20_000, 990, 10), (false, free, 1000), "1 % is the channel's");
    assert_eq!(round(20_000, 97, 2), (false, free, 1000), "two packets are too few to tell");
    assert_eq!(round(20_000, 97, 1), (false, free, 1000), "and three of 197 are below 2 %");
    assert_eq!(round(20_000, 97, 3), (true, 14_000, 140), "0.7 of what stood; growth as much at most");
    assert_eq!(round(0, 150, 0), (false, 15_000, 150), "a packet more per clean round");
    assert_eq!(round(0, 97, 9), (true, 4000, 40), "four packets always");
}

fn over_time(bytes: u64) -> Span {
    Span::from_nanos(bytes * 1_000_000_000 / RATE)
}

/// A single packet lost: from a queue as long as at the overflow it is CUBIC's loss too, otherwise chance.
#[test]
fn a_loss_from_a_shared_full_queue_costs_as_much_as_cubics() {
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let after = |overflowed, queued: u64, rate, timeout: Option<u64>| {
        let (mut allowance, mut channel) = (Allowance::default(), Channel::default());
        let mut round = |allowance: &mut Allowance, now, queue, rate, lost| {
            allowance.on_queue(queue, over_time(queue));
            allowance.on_delivered(97 * PACKET);
            (1..=lost).for_each(|number| allowance.on_lost(&lost_packet(number, 100_000)));
            allowance.end_round(now, (rate, 50_000), PACKET, &mut channel)
        };
        round(&mut allowance, at(0), overflowed, RATE, 3);
        (0..4).for_each(|_| _ = round(&mut allowance, at(2000), 0, RATE, 0));
        timeout.into_iter().for_each(|ms| allowance.on_timeout(at(ms)));
        let says = round(&mut allowance, at(3000), queued, rate, 1);
        (says, allowance.most(at(7216)), allowance.most(at(7217)))
    };
    let full = (LossRound::Overflow, 70_000, u64::MAX);
    let chance = (LossRound::Quiet, u64::MAX, u64::MAX);
    let less = RATE * 97 / 100;
    assert_eq!(after(20_000, 17_000, less, None), full, "0.7 of what was in flight, for K = cbrt(75) s");
    assert_eq!(after(20_000, 16_900, less, None), chance, "a shorter queue");
    assert_eq!(after(0, 0, less, None), chance, "no queue at all: a policer");
    assert_eq!(after(20_000, 17_000, RATE * 98 / 100, None), chance, "the whole link: alone");
    assert_eq!(after(20_000, 17_000, less, Some(1001)), chance, "soon after a timeout: a stall");
}

/// BBR's headroom (draft-ietf-ccwg-bbr §5.3.3.6) applies for its minimum time to the next probe.
#[test]
fn a_buffer_that_overflows_leaves_room_for_others_for_two_seconds() {
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let after = |path| {
        let mut allowance = Allowance::default();
        allowance.on_delivered(97 * PACKET);
        for (number, in_flight) in [(1, 120_000), (2, 100_000), (3, 110_000)] {
            allowance.on_lost(&lost_packet(number, in_flight));
        }
        allowance.end_round(at(0), (RATE, path), PACKET, &mut Channel::default());
        [allowance.most(at(1999)), allowance.most(at(2000))]
    };
    assert_eq!(after(50_000), [85_000, u64::MAX], "0.85 of the least that was in flight");
    assert_eq!(after(95_000), [95_000, u64::MAX], "and what the path holds without a queue");
}

#[test]
fn losses_that_a_lower_rate_does_not_lessen_cost_no_rate() {
    for permille in [50, 100, 150] {
        let mut rounds = Rounds::running();
        rounds.lossy(60, permille, 200 * PACKET);
        let mut windows = 0;
        for _ in 0..60 {
            rounds.lossy(1, permille, 200 * PACKET);
            windows += rounds.cwnd();
        }
        // A drain and a trial take a few of them.
        assert!(windows / 60 >= over(RATE, BASE) * 95 / 100, "{permille}: {}", windows / 60);
    }
}

/// A policer has no queue: what exceeds its rate is lost. A trial at a lower rate loses nothing.
#[test]
fn losses_that_a_lower_rate_ends_are_an_overflow() {
    let mut rounds = Rounds::running();
    rounds.lossy(20, 0, 0);
    for round in 0..200 {
        rounds.lossy(1, 0, 0);
        assert!(rounds.cwnd() <= over(RATE, BASE) * 3 / 2, "round {round}: {}", rounds.cwnd());
        let channel = &rounds.controller.channel;
        assert_eq!(channel.with_losses(1_000_000), 1_000_000, "round {round}: {channel:?}");
    }
}

/// A channel of 10 %: only more than that, and more than chance explains, is an overflow.
#[test]
fn a_channels_losses_are_measured_in_a_trial_and_forgotten_when_they_end() {
    let counts = |packets: u64, packets_lost: u64| Counts {
        sent: packets * PACKET,
        lost: packets_lost * PACKET,
        packets_lost,
    };
    let mut channel = Channel::default();
    assert!(channel.on_overflow(false), "the first of a series");
    channel.try_if_due(&counts(100, 10), 100 * PACKET, 4 * PACKET);
    assert_eq!(channel.window(), None, "these packets left before the rate fell");
    (0..3).for_each(|_| channel.on_round());
    assert!(!channel.on_overflow(true));
    channel.try_if_due(&counts(100, 10), 100 * PACKET, 4 * PACKET);
    assert_eq!(channel.window(), Some(75 * PACKET));
    for _ in 0..2 {
        assert_eq!(channel.end_trial_round(&counts(80, 40), PACKET), None, "the flight falls");
    }
    assert_eq!(channel.end_trial_round(&counts(60, 6), PACKET), None, "too few to tell");
    assert_eq!(channel.end_trial_round(&counts(40, 4), PACKET), Some(false));
    assert_eq!((channel.window(), channel.with_losses(90_000)), (None, 100_000));
    let overflowed = |lost| channel.overflowed(&counts(100, lost), PACKET);
    assert_eq!([overflowed(21), overflowed(22)], [false, true], "10 + 2 + 3 · √10");
    (0..60).for_each(|_| channel.on_compared(&counts(100, 0)));
    assert_eq!(channel.with_losses(90_000), 90_000);
    assert!(channel.overflowed(&counts(100, 3), PACKET));
}

/// Otherwise an overflow that grows slowly would become the channel's.
#[test]
fn comparisons_raise_a_channels_loss_rate_by_half_at_most() {
    let mut channel = Channel::default();
    channel.on_overflow(false);
    (0..3).for_each(|_| channel.on_round());
    let lost = Counts { sent: 100_000, lost: 10_000, packets_lost: 10 };
    channel.try_if_due(&lost, 100_000, 4 * PACKET);
    (0..3).for_each(|_| _ = channel.end_trial_round(&lost, PACKET));
    let more = Counts { lost: 20_000, ..lost };
    (0..100).for_each(|_| channel.on_compared(&more));
    assert_eq!(channel.with_losses(85_000), 100_000);
}

#[test]
fn a_loss_of_the_channel_changes_nothing() {
    let mut rounds = Rounds::running();
    let before = rounds.cwnd();
    for _ in 0..20 {
        rounds.answered(RATE, BASE + ms(10), 2, false);
        rounds.controller.on_loss(&Loss { now: rounds.now, kind: LossKind::Gap, flight_size: before });
    }
    assert!((before..before + 20 * PACKET).contains(&rounds.cwnd()), "{before} to {}", rounds.cwnd());
}

/// Copa (NSDI 2018) §4: a flow that shares a queue with a buffer-filling flow never finds it empty.
#[test]
fn a_queue_that_a_drain_leaves_standing_is_a_rivals() {
    let mut rounds = Rounds::running();
    let mut drained = false;
    for _ in 0..12 {
        // The rival keeps 80 ms, whatever is in flight here.
        let rate = u64::try_from(u128::from(rounds.cwnd()) * 1_000_000_000 / 180_000_000).unwrap();
        rounds.round(rate.min(RATE), ms(80));
        drained |= rounds.controller.contest.window().is_some() && !rounds.controller.contest.has_rival();
    }
    assert!(drained && rounds.controller.contest.has_rival());
    let won = rounds.cwnd();
    assert!(won >= over(RATE / 2, ms(180)) * 9 / 10, "half of the rate before: {won}");
    let flight_size = won;
    rounds.controller.on_loss(&Loss { now: rounds.now, kind: LossKind::Gap, flight_size });
    rounds.round(RATE / 2, ms(80));
    let yielded = rounds.cwnd();
    assert!((won * 7 / 10..won * 75 / 100).contains(&yielded), "CUBIC's 0.7: {won} to {yielded}");
    // He goes, and the next drain shows it.
    let gone = rounds.now;
    while rounds.controller.contest.has_rival() {
        rounds.round(RATE, ms(5));
        assert!(rounds.now.since(gone) < Span::from_secs(15));
    }
}

#[test]
fn a_self_made_queue_drains_and_the_window_returns() {
    let mut rounds = Rounds::running();
    let began = rounds.now;
    while rounds.controller.contest.window().is_none() {
        rounds.round(RATE, ms(10));
        assert!(rounds.now.since(began) < Span::from_secs(6), "5 s without a round trip near the least");
    }
    assert_eq!(rounds.cwnd(), over(RATE, BASE) * 3 / 4);
    let mut round_trips = 0;
    while rounds.controller.contest.window().is_some() {
        rounds.round(RATE * 3 / 4, ms(0));
        round_trips += 1;
        assert!(round_trips < 6);
    }
    assert!(rounds.cwnd() >= over(RATE, BASE) + TARGET, "{}", rounds.cwnd());
    assert!(!rounds.controller.contest.has_rival());
}

/// A path of a mobile may begin when the association is old.
#[test]
fn a_path_that_begins_late_is_not_drained_at_once() {
    let mut rounds = Rounds::new();
    rounds.now = Time::ZERO + Span::from_secs(60);
    for _ in 0..5 {
        rounds.round(rounds.cwnd() * 10, ms(0));
        assert_eq!(rounds.controller.contest.window(), None);
    }
}

#[test]
fn a_drain_leaves_four_packets_and_ends() {
    let mut rounds = Rounds::new();
    let slow = 20 * PACKET;
    rounds.round(slow, ms(0));
    let mut drains = 0;
    for _ in 0..60 {
        rounds.round(slow, ms(150));
        if rounds.controller.contest.window().is_some() {
            drains += 1;
            assert_eq!(rounds.cwnd(), 4 * PACKET);
        }
    }
    assert!((3..20).contains(&drains), "{drains}");
}

#[test]
fn the_least_round_trip_is_forgotten_after_two_windows() {
    let mut rounds = Rounds::running();
    let began = rounds.now;
    while rounds.controller.path.base() == Some(BASE) {
        rounds.answered(RATE, BASE + ms(40), 0, false);
    }
    let took = rounds.now.since(began).as_millis();
    assert!((8_000..=20_000).contains(&took), "{took} ms");
    assert_eq!(rounds.controller.path.base(), Some(BASE + ms(40)));
}

#[test]
fn a_round_trip_that_went_another_way_back_is_compared_with_its_like() {
    let mut rounds = Rounds::new();
    rounds.answered(RATE / 10, ms(60), 0, true);
    assert_eq!(rounds.controller.path.base(), Some(ms(60)));
    rounds.answered(RATE / 10, ms(100), 0, false);
    assert_eq!(rounds.controller.path.base(), Some(ms(100)));
    let mut rounds = Rounds::running();
    rounds.answered(RATE, ms(300), 0, true);
    let before = rounds.cwnd();
    rounds.answered(2 * RATE, ms(305), 0, true);
    assert!(rounds.cwnd() > before, "5 ms of queue");
    rounds.answered(RATE, ms(400), 0, true);
    assert_eq!(rounds.cwnd(), over(RATE, BASE) + TARGET, "100 ms of queue");
}

#[test]
fn a_mark_takes_15_percent_and_ends_the_start() {
    let mut rounds = Rounds::new();
    rounds.round(300_000, ms(0));
    let before = rounds.cwnd();
    rounds.controller.on_loss(&Loss { now: rounds.now, kind: LossKind::Ecn, flight_size: before });
    assert_eq!(rounds.cwnd(), before * 850 / 1000);
    assert!(!rounds.controller.is_starting());
}

#[test]
fn a_timeout_starts_again_from_one_packet() {
    let mut rounds = Rounds::running();
    rounds.controller.on_loss(&Loss { now: rounds.now, kind: LossKind::Timeout, flight_size: 9000 });
    assert_eq!(rounds.cwnd(), PACKET);
    assert!(rounds.controller.one_packet_in_flight() && rounds.controller.is_starting());
    rounds.round(100_000, ms(0));
    assert_eq!(rounds.cwnd(), 11 * PACKET);
}

#[test]
fn a_policys_start_holds_until_its_threshold() {
    let mut rounds = Rounds::running();
    let start = StartState { cwnd: 50_000, ssthresh: Some(90_000), pacing_rate: None };
    rounds.controller.start(&start);
    assert_eq!(rounds.cwnd(), 50_000);
    assert!(rounds.controller.is_starting());
    rounds.round(500_000, ms(0));
    assert!(rounds.cwnd() == 100_000 && !rounds.controller.is_starting());
}

#[test]
fn it_is_paced_at_five_quarters_of_the_window_per_round_trip() {
    let rounds = Rounds::running();
    let bytes = rounds.cwnd() * 1_000 / 120 * 5 / 4;
    let paced = rounds.controller.pacing_rate().unwrap().as_bps() / 8 * PACKET / (PACKET + 32);
    assert!(paced.abs_diff(bytes) < bytes / 100, "{paced} for {bytes}");
    assert_eq!(ControllerFactory::from(DelayBoundConfig), DelayBoundConfig.into());
}

#[test]
fn a_path_whose_acknowledgements_come_over_another_one_recovers_from_a_collapse() {
    let mut rounds = Rounds::new();
    // All round trips of its own are of a time with hardly any rate.
    for _ in 0..10 {
        rounds.answered(5 * PACKET, ms(1100), 0, false);
    }
    assert!(rounds.cwnd() < 20 * PACKET, "{}", rounds.cwnd());
    for _ in 0..100 {
        rounds.answered(RATE.min(rounds.cwnd() * 10), BASE, 0, true);
    }
    assert!(rounds.cwnd() > over(RATE, BASE) / 2, "{}", rounds.cwnd());
}
