//! What must never stand still: an association with a working path, a window that was closed, the window of either role.

mod support;

use std::collections::VecDeque;

use msctp_proto::{AssociationState as State, Config, OutMessage, PathId, Reliability};
use msctp_units::{Span, Time};
use proptest::prelude::*;
use support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk};

const RTO_MIN: Span = Span::from_millis(400);
const RTO_MAX: Span = Span::from_secs(4);

/// A time during which some networks are silent.
#[derive(Clone, Debug)]
struct Phase {
    lasts: Span,
    /// Of three networks; one at least is not.
    dead: [bool; 3],
    /// Of a thousand packets over those that work.
    loss: u32,
}

fn phase() -> impl Strategy<Value = Phase> {
    let dead = prop::array::uniform3(any::<bool>()).prop_filter("one works", |dead| dead.contains(&false));
    (200u64..15_000, dead, 0u32..80).prop_map(|(ms, dead, loss)| Phase {
        lasts: Span::from_millis(ms),
        dead,
        loss,
    })
}

fn profile() -> impl Strategy<Value = Config> {
    prop_oneof![Just(Config::default()), Just(Config::mobile())] // RFC 9260's ten errors in a row end an association with nine paths within seconds, whatever works: a packet lost on the
        // one that does leads to eight that do not. Giving up is not what is looked at here.
        .prop_map(|config| Config {
            rto_min: RTO_MIN,
            rto_initial: RTO_MIN,
            rto_max: RTO_MAX,
            assoc_max_retrans: 200,
            ..config
        })
}

/// True if a packet between these addresses needs a network that is dead.
fn needs_dead(flight: &Flight, dead: [bool; 3]) -> bool {
    (0..3).any(|n| {
        let (a, b) = (a_ip(n), b_ip(n));
        dead[usize::from(n)] && [flight.at.local, flight.at.remote].iter().any(|ip| *ip == a || *ip == b)
    })
}

/// Lets the phases begin now. After the last one everything passes.
fn play(pair: &mut Pair, phases: &[Phase], seed: u64) {
    let (start, phases, mut state) = (pair.now, phases.to_vec(), seed | 1);
    pair.filter = Box::new(move |flight| {
        let mut end = start;
        let now = phases.iter().find(|phase| {
            end += phase.lasts;
            flight.sent < end
        });
        let Some(phase) = now else { return Fate::Pass };
        // Marsaglia's xorshift: the test's own coin.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let lost = (state % 1000) < u64::from(phase.loss);
        if lost || needs_dead(flight, phase.dead) { Fate::Drop } else { Fate::Pass }
    });
}

/// Messages of stream 0 that arrived whole.
fn reliable(pair: &mut Pair, from: Side) -> usize {
    pair.host(from.other()).received.iter().filter(|message| message.stream == 0 && message.end).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whichever networks fail in silence, as long as one works: the association stays, no pause between deliveries is longer
    /// than a few RTO.Max, and all arrives in order.
    #[test]
    fn an_association_with_a_working_path_always_progresses(
        phases in prop::collection::vec(phase(), 1..8), config in profile(), seed: u64, from_a: bool,
    ) {
        let addresses = |ip: fn(u8) -> std::net::IpAddr| (0..3).map(ip).collect::<Vec<_>>();
        let mut pair = Pair::established_with(config.clone(), config, addresses(a_ip), addresses(b_ip));
        let from = if from_a { Side::A } else { Side::B };
        play(&mut pair, &phases, seed);
        let end = phases.iter().fold(pair.now, |at, phase| at + phase.lasts);
        let mut waiting = VecDeque::new();
        let mut numbers = 0..;
        let (mut received, mut last) = (0, pair.now);
        let mut longest = Span::ZERO;
        // Path.Max.Retrans and one time-outs on a path that is not left, each at most RTO.Max; at least one retransmission
        // of two goes elsewhere (RFC 9260 §6.4.1), to one of eight other pairs in the worst case.
        let bound = RTO_MAX * 8;
        while pair.now < end + bound {
            let next = pair.now + Span::from_millis(50);
            while pair.step(next) {}
            // 80 bytes a millisecond: there is always something to deliver.
            waiting.extend(numbers.by_ref().take(10));
            pair.feed(from, &mut waiting, 400);
            let now = pair.host(from.other()).received.len();
            if now > received {
                (received, last) = (now, pair.now);
            }
            longest = longest.max(pair.now.since(last));
        }
        prop_assert!(longest <= bound, "{longest} without a delivery");
        prop_assert_eq!(pair.host(from).state(), Some(State::Established));
        let numbers = pair.host(from.other()).received.iter();
        for (n, message) in numbers.enumerate() {
            prop_assert_eq!(&message.data[..4], &(n as u32).to_be_bytes()[..]);
        }
    }

    /// A reader that stops until the window is closed, and goes on: whatever becomes of the SACKs that would tell, the sender
    /// finds out (RFC 9260 §6.1 A).
    #[test]
    fn a_zero_window_always_reopens(
        asleep in 1u64..40, lost_updates in 0usize..6, buffer in 1500u32..20_000, len in 1usize..3000, from_a: bool,
        interleaving: bool, partial: bool,
    ) {
        let mut config = Config {
            receive_buffer: buffer, rto_min: RTO_MIN, rto_initial: RTO_MIN, rto_max: RTO_MAX, ..Config::default()
        };
        config.streams.interleaving = interleaving;
        let mut pair = Pair::established(config);
        let from = if from_a { Side::A } else { Side::B };
        pair.host(from.other()).reading = false;
        let mut waiting: VecDeque<u32> = (0..60).collect();
        pair.feed(from, &mut waiting, len);
        pair.run_for(Span::from_secs(asleep));
        // What it sends about its window from now on is lost so many times.
        let mut left = lost_updates;
        pair.drop_if(move |flight| {
            let hit = left > 0 && flight.from == from.other() && flight.has(chunk::SACK);
            left -= usize::from(hit);
            hit
        });
        pair.host(from.other()).reading = true;
        pair.drain(from.other());
        // Each lost update costs at most one RTO.Max, and so does finding out. A message larger than the buffer closes the
        // window again and again: what is bounded is each wait.
        let bound = RTO_MAX * (lost_updates as u64 + 3);
        let mut received = 0;
        while received < 60 {
            if partial {
                // Beside them, what is given up while the window is closed. There may be no room for it.
                let short_lived = OutMessage {
                    stream: 1,
                    data: vec![0; len].into(),
                    reliability: Reliability::Lifetime(Span::from_millis(300)),
                    ..OutMessage::default()
                };
                let _ = pair.with(from, |association, now| association.send(now, short_lived));
            }
            let more = pair.run_until(bound, |pair| {
                pair.feed(from, &mut waiting, len);
                reliable(pair, from) > received
            });
            prop_assert!(more, "{received} of 60, and no more in {bound}");
            received = reliable(&mut pair, from);
        }
    }

    /// Of up to 3 × 4 pairs of addresses all die at once but one, which may be any: the association stays, and all arrives.
    /// In the profile for mobile hosts: RFC 9260's Association.Max.Retrans of 10 counts the errors of all paths (§8.1), and
    /// eleven dead pairs that are tried one after the other exceed it, whatever works.
    #[test]
    fn one_pair_that_works_is_enough(
        ours in 1u8..=3, theirs in 1u8..=4, living in any::<prop::sample::Index>(), from_a: bool,
    ) {
        let (a, b) = ((0..ours).map(a_ip).collect::<Vec<_>>(), (0..theirs).map(b_ip).collect::<Vec<_>>());
        let index = living.index(a.len() * b.len());
        let (alive_a, alive_b) = (a[index % a.len()], b[index / a.len()]);
        let mut pair = Pair::established_with(Config::mobile(), Config::mobile(), a, b);
        pair.drop_if(move |flight| {
            let ends = [flight.at.local, flight.at.remote];
            !(ends.contains(&alive_a) && ends.contains(&alive_b))
        });
        let from = if from_a { Side::A } else { Side::B };
        let mut waiting: VecDeque<u32> = (0..40).collect();
        // Each pair costs one time-out, of RTO.Max in the worst case, before the next is tried.
        let bound = Config::mobile().rto_max * (u64::from(ours) * u64::from(theirs) + 1);
        let done = pair.run_until(bound, |pair| {
            pair.feed(from, &mut waiting, 1000);
            pair.host(from.other()).received.len() == 40
        });
        prop_assert!(done, "{} of 40 in {bound}", pair.host(from.other()).received.len());
        prop_assert_eq!(pair.host(from).state(), Some(State::Established));
    }
}

#[test]
fn both_roles_begin_in_slow_start() {
    // RFC 9260 §7.2.1: the initial ssthresh MAY be arbitrarily high; the answerer has one too.
    for from in [Side::A, Side::B] {
        let mut pair = Pair::established(Config::default());
        let window = |pair: &mut Pair| {
            let path = pair.with(from, |association, _| association.paths().next().unwrap());
            (path.cwnd, path.ssthresh)
        };
        let (initial, ssthresh) = window(&mut pair);
        assert_eq!(ssthresh, u64::MAX, "{from:?}");
        let begun: Time = pair.now;
        pair.transfer(from, 300, 1400, Span::from_secs(5));
        let round_trips = pair.now.since(begun).as_millis() / 40;
        let (grown, ssthresh) = window(&mut pair);
        assert_eq!(ssthresh, u64::MAX, "{from:?}: nothing was lost");
        assert!(grown >= 8 * initial, "{from:?}: {initial} grew to {grown}");
        assert!(round_trips <= 12, "{from:?}: 300 packets from a window of 3 that doubles: {round_trips}");
    }
}

#[test]
fn a_link_that_comes_back_is_tried_at_once_and_not_when_the_time_out_says() {
    let mut pair = Pair::established(Config { rto_max: Span::from_secs(60), ..Config::default() });
    let mut waiting: VecDeque<u32> = (0..100).collect();
    pair.filter = Box::new(|_| Fate::Drop);
    pair.feed(Side::A, &mut waiting, 1000);
    pair.run_for(Span::from_secs(20));
    let rto = pair.with(Side::A, |a, _| a.paths().next().unwrap().rto);
    assert!(rto >= Span::from_secs(8), "backed off: {rto}");
    let link = |state| msctp_proto::handover::LinkEvent { local: a_ip(0), state };
    pair.with(Side::A, |a, now| a.link_event(now, link(msctp_proto::handover::LinkState::Down))).unwrap();
    pair.run_for(Span::from_millis(300));
    pair.pass_all();
    let errors = pair.with(Side::A, |a, _| a.paths().next().unwrap().error_count);
    pair.with(Side::A, |a, now| a.link_event(now, link(msctp_proto::handover::LinkState::Up))).unwrap();
    let after = pair.with(Side::A, |a, _| a.paths().next().unwrap().error_count);
    assert_eq!(after, errors, "it is no error of the path");
    assert!(pair.run_until(Span::from_millis(200), |pair| !pair.b.received.is_empty()), "one round trip");
    let path = PathId::new(0);
    assert!(pair.with(Side::A, |a, _| a.paths().find(|p| p.id == path).unwrap().rto) <= Span::from_secs(2));
}
