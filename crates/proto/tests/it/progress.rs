//! Liveness: an association with a working path progresses, a closed window reopens, both roles start in slow
//! start.

use crate::support;

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use msctp_proto::{
    Association, AssociationState as State, Config, Event, OutMessage, PathId, Reliability, StreamEvent,
    StreamRequest,
};
use msctp_units::{Span, Time};
use proptest::prelude::*;
use support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, message};

const RTO_MIN: Span = Span::from_millis(400);
const RTO_MAX: Span = Span::from_secs(4);
/// Interval between checks.
const STEP: Span = Span::from_millis(50);

/// A period in which some networks are silent.
#[derive(Clone, Debug)]
struct Phase {
    lasts: Span,
    /// Dead networks; at least one of three works.
    dead: [bool; 3],
    /// Number of packets lost per thousand over working networks.
    loss: u32,
}

impl Phase {
    /// Returns a phase of `ms` milliseconds; 1 stands for a dead network.
    fn new(ms: u64, dead: [u8; 3], loss: u32) -> Self {
        Self { lasts: Span::from_millis(ms), dead: dead.map(|dead| dead == 1), loss }
    }
}

fn phase() -> impl Strategy<Value = Phase> {
    let dead = prop::array::uniform3(any::<bool>()).prop_filter("one works", |dead| dead.contains(&false));
    // Most phases end before the association detects them; some last longer than detection may take.
    let lasts = prop_oneof![7 => 200u64..15_000, 1 => 300_000u64..500_000];
    (lasts, dead, 0u32..80).prop_map(|(ms, dead, loss)| Phase { lasts: Span::from_millis(ms), dead, loss })
}

fn profile() -> impl Strategy<Value = Config> {
    prop_oneof![Just(Config::default()), Just(Config::mobile())].prop_map(patient)
}

/// Returns options with unlimited errors.
///
/// With nine paths, RFC 9260's ten consecutive errors end an association within seconds even if a path works:
/// a packet lost on the working path leads to eight dead ones. This test does not cover the end of an
/// association.
fn patient(config: Config) -> Config {
    Config { rto_min: RTO_MIN, rto_initial: RTO_MIN, rto_max: RTO_MAX, assoc_max_retrans: 200, ..config }
}

/// Returns true if a packet between these addresses needs a dead network.
fn needs_dead(flight: &Flight, dead: [bool; 3]) -> bool {
    (0..3).any(|n| {
        let (a, b) = (a_ip(n), b_ip(n));
        dead[usize::from(n)] && [flight.at.local, flight.at.remote].iter().any(|ip| *ip == a || *ip == b)
    })
}

/// Time of the last network event that the association cannot detect: networks failed or recovered, or a
/// working one lost a packet.
type Disturbed = Rc<Cell<Time>>;

/// Starts the phases now. After the last one every packet passes.
fn play(pair: &mut Pair, phases: &[Phase], seed: u64) -> Disturbed {
    let (start, phases, mut state) = (pair.now, phases.to_vec(), seed | 1);
    let disturbed = Rc::new(Cell::new(start));
    let note = Rc::clone(&disturbed);
    pair.filter = Box::new(move |flight| {
        let mut end = start;
        let now = phases.iter().find(|phase| {
            end += phase.lasts;
            flight.sent < end
        });
        let Some(phase) = now else { return Fate::Pass };
        if needs_dead(flight, phase.dead) {
            return Fate::Drop;
        }
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let lost = (state % 1000) < u64::from(phase.loss);
        if lost {
            note.set(flight.sent);
        }
        if lost { Fate::Drop } else { Fate::Pass }
    });
    disturbed
}

/// Returns the longest time without a delivery while `dead` networks of three are silent, the others lose
/// nothing, and there is always data to send. It follows from RFC 9260 for any earlier history.
///
/// Deliveries stop because a single chunk is missing, the first unacknowledged one. It is outstanding on a
/// path whose T3-rtx runs, or marked for retransmission on a path with other outstanding chunks, whose T3-rtx
/// runs (§6.3.2 R1); otherwise it is sent at once. Such a *wait* lasts RTO.Max at most, however often the
/// timeout was doubled (§6.3.1 C7, §6.3.3 E2).
///
/// 1. Waits for data sent before the period run in parallel: all end after one RTO.Max. Data sent since then
///    over a working pair arrives.
/// 2. The first SACK since then acknowledges all data that ever arrived, and happens once. It may acknowledge
///    data outstanding before the chunk on its path, which restarts that T3-rtx (R3): one more wait. If all
///    networks work, this is the bound.
/// 3. Each other wait is on a pair that does not work, and ends with one more error of it (§8.2). After
///    Path.Max.Retrans + 1 errors it is inactive, and gets neither new data nor retransmissions while an
///    active one is known (§6.4.1): together `pairs` × (Path.Max.Retrans + 1) waits. Potentially failed pairs
///    (RFC 7829 §3.2) are used after active and before inactive ones, which changes the order but not the
///    sum.
/// 4. The counter of a dead pair is cleared only by an acknowledgement of data sent over it alone (RFC 9260
///    §8.2) that arrived before the period: by the SACK of 2, once. So the sum of 3 counts twice.
/// 5. The chunk may be outstanding on the last of them when that becomes inactive: one more wait.
/// 6. Every working pair is active by then, or when its HEARTBEAT is answered: HB.interval + RTO (with the
///    jitter 1.5 RTO) after its last use (§8.3), and a round trip. That runs in parallel to 3 and 4, so the
///    longer one counts.
///
/// Add round trips for the SACK of the arrived data, which may be delayed, and for the next missing chunks.
fn patience(dead: [bool; 3], config: &Config) -> Span {
    let alive = dead.iter().filter(|&&dead| !dead).count() as u64;
    let pairs = 9 - alive * alive;
    let round_trips = config.sack_delay + Span::from_millis(40) * 4;
    if pairs == 0 {
        return RTO_MAX * 2 + round_trips;
    }
    let errors = RTO_MAX * (2 * pairs * (u64::from(config.path_max_retrans) + 1));
    let heartbeat = config.hb_interval + RTO_MAX * 3 / 2;
    RTO_MAX * 2 + errors.max(heartbeat) + RTO_MAX + round_trips
}

/// Checks that data from `from` progresses in order over three networks that fail and recover, and that the
/// association survives.
fn progresses(phases: &[Phase], config: &Config, seed: u64, from: Side) -> Result<(), TestCaseError> {
    let addresses = |ip: fn(u8) -> std::net::IpAddr| (0..3).map(ip).collect::<Vec<_>>();
    let mut pair = Pair::established_with(config.clone(), config.clone(), addresses(a_ip), addresses(b_ip));
    let whole = Phase { lasts: RTO_MAX * 3, dead: [false; 3], loss: 0 };
    let disturbed = play(&mut pair, phases, seed);
    let (mut waiting, mut numbers) = (VecDeque::new(), 0..);
    let (mut received, mut last) = (0, pair.now);
    for phase in phases.iter().chain([&whole]) {
        let (begin, bound) = (pair.now, patience(phase.dead, config));
        while pair.now < begin + phase.lasts {
            let next = (pair.now + STEP).min(begin + phase.lasts);
            while pair.step(next) {}
            // 24 bytes per millisecond keep data to deliver available.
            waiting.extend(numbers.by_ref().take(3));
            pair.feed(from, &mut waiting, 400);
            let now = pair.host(from.other()).received.len();
            if now > received {
                (received, last) = (now, pair.now);
            }
            let silent = pair.now.since(last.max(begin).max(disturbed.get()));
            prop_assert!(silent <= bound + STEP, "{silent} without a delivery in {phase:?}, not {bound}");
        }
    }
    prop_assert_eq!(pair.host(from).state(), Some(State::Established));
    let numbers = pair.host(from.other()).received.iter();
    for (n, message) in numbers.enumerate() {
        prop_assert_eq!(&message.data[..4], &(n as u32).to_be_bytes()[..]);
    }
    Ok(())
}

/// Returns the number of complete messages received on stream 0.
fn reliable(pair: &mut Pair, from: Side) -> usize {
    pair.host(from.other()).received.iter().filter(|message| message.stream == 0 && message.end).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// An association with one working path survives any silent failures of networks. No pause between
    /// deliveries exceeds [`patience`], and everything arrives in order.
    #[test]
    fn an_association_with_a_working_path_always_progresses(
        phases in prop::collection::vec(phase(), 1..8), config in profile(), seed: u64, from_a: bool,
    ) {
        progresses(&phases, &config, seed, if from_a { Side::A } else { Side::B })?;
    }

    /// A reader stops until the window is closed, and resumes. The sender learns of it regardless of lost
    /// SACKs (RFC 9260 §6.1 A).
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
        // The next window updates are lost, this many times.
        let mut left = lost_updates;
        pair.drop_if(move |flight| {
            let hit = left > 0 && flight.from == from.other() && flight.has(chunk::SACK);
            left -= usize::from(hit);
            hit
        });
        pair.host(from.other()).reading = true;
        pair.drain(from.other());
        // Each lost update costs at most one RTO.Max, and so does the probe that finds the open window. A
        // message larger than the buffer closes the window repeatedly: the bound holds for each wait.
        let bound = RTO_MAX * (lost_updates as u64 + 3);
        let mut received = 0;
        while received < 60 {
            if partial {
                // Also send messages that are abandoned while the window is closed. There may be no room for
                // them.
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

    /// All but one of up to 3 × 4 address pairs fail at once: the association survives, and everything
    /// arrives.
    ///
    /// The test uses the profile for mobile hosts. RFC 9260's Association.Max.Retrans of 10 counts the errors
    /// of all paths (§8.1), and eleven dead pairs tried in turn exceed it.
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
        // Each pair costs one timeout, RTO.Max in the worst case, before the next is tried.
        let bound = Config::mobile().rto_max * (u64::from(ours) * u64::from(theirs) + 1);
        let done = pair.run_until(bound, |pair| {
            pair.feed(from, &mut waiting, 1000);
            pair.host(from.other()).received.len() == 40
        });
        prop_assert!(done, "{} of 40 in {bound}", pair.host(from.other()).received.len());
        prop_assert_eq!(pair.host(from).state(), Some(State::Established));
    }
}

/// Networks fail in turn, so that the working one was always declared inactive or is about to be. A
/// regression: 32.1 s passed without a delivery, more than an earlier bound.
#[test]
fn networks_that_fail_in_turn() {
    let phases = [
        Phase::new(10_884, [1, 1, 0], 0),
        Phase::new(5647, [1, 0, 1], 38),
        Phase::new(10_040, [1, 1, 0], 0),
        Phase::new(200, [0, 0, 0], 0),
        Phase::new(13_747, [1, 0, 1], 18),
    ];
    progresses(&phases, &patient(Config::default()), 13_279_788_142_070_310_830, Side::A).unwrap();
}

/// The missing chunk moves to another path just before all paths recover. A SACK of chunks before it, which
/// arrived long ago, restarts its T3-rtx (RFC 9260 §6.3.2 R3): twice RTO.Max.
#[test]
fn an_old_acknowledgement_restarts_the_timeout() {
    let phases =
        [Phase::new(11_101, [0, 1, 1], 0), Phase::new(2205, [1, 0, 0], 0), Phase::new(6195, [1, 0, 0], 0)];
    progresses(&phases, &patient(Config::mobile()), 0, Side::A).unwrap();
}

/// F-RTO (RFC 5682 §2.1 (2)) had sent the last new data in place of retransmissions, and everything in flight
/// was acknowledged: nothing left, and no timer ran.
#[test]
fn retransmissions_follow_the_last_new_data() {
    let phases = [
        Phase::new(10_901, [0, 1, 1], 0),
        Phase::new(12_921, [0, 1, 1], 47),
        Phase::new(2801, [1, 0, 0], 10),
    ];
    progresses(&phases, &patient(Config::mobile()), 16_465_652_660_239_447_918, Side::A).unwrap();
}

#[test]
fn both_roles_start_in_slow_start() {
    // RFC 9260 §7.2.1: the initial ssthresh MAY be arbitrarily high, also at the accepting end.
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
fn a_recovered_link_is_used_at_once_without_waiting_for_the_timeout() {
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

/// RFC 9260 §6.3.3: the answer to a HEARTBEAT measures the path after an outage, and its RTO collapses. Data,
/// an ASCONF and a RE-CONFIG do not wait for timers that were started with the backed-off RTO.
#[test]
fn nothing_waits_for_a_backed_off_rto_after_an_answered_heartbeat() {
    type Request = fn(&mut Association, Time);
    type IsAnswered = fn(&mut Pair) -> bool;
    let requests: [(&str, Request, IsAnswered); 3] = [
        ("data", |a, now| a.send(now, message(0, vec![1])).unwrap(), |pair| pair.b.received.len() == 1),
        (
            "ASCONF",
            |a, now| a.request_peer_primary(now, a_ip(0)).unwrap(),
            |pair| pair.a.saw(|event| matches!(event, Event::AddressChange { accepted: true, .. })),
        ),
        (
            "RE-CONFIG",
            |a, now| a.reconfigure(now, StreamRequest::ResetOutgoing(vec![0])).unwrap(),
            |pair| pair.a.saw(|event| matches!(event, Event::Streams(StreamEvent::Answered { .. }))),
        ),
    ];
    for (what, request, is_answered) in requests {
        let mut pair = Pair::established(Config::default());
        let path = pair.path(Side::A, a_ip(0), b_ip(0));
        pair.drop_if(|_| true);
        pair.with(Side::A, request);
        pair.run_for(Span::from_secs(40));
        let rto = pair.with(Side::A, |a, _| a.paths().next().unwrap().rto);
        assert!(rto >= Span::from_secs(16), "{what}: {rto}");
        pair.pass_all();
        pair.with(Side::A, |a, now| a.request_heartbeat(now, path)).unwrap();
        assert!(pair.run_until(Span::from_secs(2), is_answered), "{what}");
    }
}

/// A RE-CONFIG that was last sent on a network that is gone leaves on the next one as soon as it has
/// answered, not when the timer of the old one expires.
#[test]
fn a_request_leaves_with_the_path_to_which_the_peer_moved() {
    for moves in [Config::default().moves, Config::mobile().moves] {
        let config = Config { moves, ..Config::default() };
        let mut pair = Pair::established_with(config.clone(), config, vec![a_ip(0)], vec![b_ip(0)]);
        pair.drop_if(|_| true);
        pair.with(Side::B, |b, now| b.reconfigure(now, StreamRequest::ResetOutgoing(vec![0]))).unwrap();
        pair.run_for(Span::from_secs(40));
        // The old network stays dead.
        pair.drop_if(|f| f.at.local == a_ip(0) || f.at.remote == a_ip(0));
        pair.with(Side::A, |a, now| a.move_local_address(now, a_ip(1), &[])).unwrap();
        let answered = |pair: &mut Pair| {
            pair.b.saw(|event| matches!(event, Event::Streams(StreamEvent::Answered { .. })))
        };
        assert!(pair.run_until(Span::from_secs(4), answered), "{moves:?}");
    }
}

/// As [`a_request_leaves_with_the_path_to_which_the_peer_moved`], for a message, in the mobile profile: the
/// T3-rtx of the network that is gone has backed off to RTO.Max.
#[test]
fn a_message_leaves_with_the_path_to_which_the_peer_moved() {
    let config = Config::mobile();
    let mut pair = Pair::established_with(config.clone(), config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.drop_if(|_| true);
    pair.with(Side::B, |b, now| b.send(now, message(0, vec![0; 100]))).unwrap();
    pair.run_for(Span::from_secs(40));
    // The old network stays dead.
    pair.drop_if(|f| f.at.local == a_ip(0) || f.at.remote == a_ip(0));
    pair.with(Side::A, |a, now| a.move_local_address(now, a_ip(1), &[])).unwrap();
    let begin = pair.now;
    assert!(pair.run_until(Span::from_secs(60), |pair| !pair.a.received.is_empty()));
    assert!(pair.now.since(begin) < Span::from_secs(4), "after {}", pair.now.since(begin));
}
