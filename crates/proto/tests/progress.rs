//! What must never stand still: an association with a working path, a window that was closed, the window of
//! either role.

mod support;

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use msctp_proto::{AssociationState as State, Config, OutMessage, PathId, Reliability};
use msctp_units::{Span, Time};
use proptest::prelude::*;
use support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk};

const RTO_MIN: Span = Span::from_millis(400);
const RTO_MAX: Span = Span::from_secs(4);
/// How often it is looked.
const STEP: Span = Span::from_millis(50);

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
    // Most end before the association has found out; some last longer than it may take.
    let lasts = prop_oneof![7 => 200u64..15_000, 1 => 300_000u64..500_000];
    (lasts, dead, 0u32..80).prop_map(|(ms, dead, loss)| Phase { lasts: Span::from_millis(ms), dead, loss })
}

fn profile() -> impl Strategy<Value = Config> {
    prop_oneof![Just(Config::default()), Just(Config::mobile())].prop_map(patient)
}

/// RFC 9260's ten errors in a row end an association with nine paths within seconds, whatever works: a packet
/// lost on the one that does leads to eight that do not. Giving up is not what is looked at here.
fn patient(config: Config) -> Config {
    Config { rto_min: RTO_MIN, rto_initial: RTO_MIN, rto_max: RTO_MAX, assoc_max_retrans: 200, ..config }
}

/// True if a packet between these addresses needs a network that is dead.
fn needs_dead(flight: &Flight, dead: [bool; 3]) -> bool {
    (0..3).any(|n| {
        let (a, b) = (a_ip(n), b_ip(n));
        dead[usize::from(n)] && [flight.at.local, flight.at.remote].iter().any(|ip| *ip == a || *ip == b)
    })
}

/// When something last happened to the network that an association cannot know: other networks died or came
/// back, or a packet was lost over those that work.
type Disturbed = Rc<Cell<Time>>;

/// Lets the phases begin now. After the last one everything passes.
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
        // Marsaglia's xorshift: the test's own coin.
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

/// How long nothing may be delivered while `dead` networks of three are silent, the others lose nothing, and
/// there is always something to send. It follows from RFC 9260, whatever came before.
///
/// Nothing is delivered because one chunk is missing, the first that is not acknowledged. It is outstanding
/// on a path whose T3-rtx runs, or marked for one on which others are outstanding, whose T3-rtx runs (§6.3.2
/// R1): otherwise it is sent now. Such a *wait* lasts RTO.Max at most, however far the time-out was doubled
/// (§6.3.1 C7, §6.3.3 E2).
///
/// 1. Waits for what was sent before the stretch run side by side: all are over after one RTO.Max. What has
///    been sent over a pair that works since then arrives.
/// 2. The first SACK since then acknowledges all that ever arrived, and its like does not come again. It may
///    acknowledge what was outstanding before the chunk on its path, which starts that T3-rtx over (R3): one
///    wait more. With all networks alive this is all.
/// 3. Each other wait is on a pair that does not work, and ends with one error more of it (§8.2). After
///    Path.Max.Retrans + 1 of them it is inactive, and neither new data nor retransmissions go there while an
///    active one is known (§6.4.1): together `pairs` × (Path.Max.Retrans + 1) waits. Potentially failed ones
///    (RFC 7829 §3.2) come after active and before inactive ones, which changes the order and not the sum.
/// 4. The counter of a dead pair is cleared only by an acknowledgement of what went over it alone (RFC 9260
///    §8.2), and that arrived before the stretch: by the SACK of 2, once. So twice the sum of 3.
/// 5. The chunk may be outstanding on the last of them when that becomes inactive: one wait more.
/// 6. Every pair that works is active by then, or when its HEARTBEAT is answered: HB.interval + RTO, with the
///    jitter 1.5 RTO, after it was used last (§8.3), and a round trip. That runs beside 3 and 4, so the
///    longer counts.
///
/// At the end the SACK of what arrived, which may be delayed, and the next chunks that are missing: round
/// trips.
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

/// Three networks that die and come back, from `from` always something to send: it goes on, in order, and the
/// association stays.
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
            // 24 bytes a millisecond: there is always something to deliver.
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

/// Messages of stream 0 that arrived whole.
fn reliable(pair: &mut Pair, from: Side) -> usize {
    pair.host(from.other()).received.iter().filter(|message| message.stream == 0 && message.end).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whichever networks fail in silence, as long as one works: the association stays, no pause between
    /// deliveries is longer than [`patience`], and all arrives in order.
    #[test]
    fn an_association_with_a_working_path_always_progresses(
        phases in prop::collection::vec(phase(), 1..8), config in profile(), seed: u64, from_a: bool,
    ) {
        progresses(&phases, &config, seed, if from_a { Side::A } else { Side::B })?;
    }

    /// A reader that stops until the window is closed, and goes on: whatever becomes of the SACKs that would
    /// tell, the sender finds out (RFC 9260 §6.1 A).
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
        // Each lost update costs at most one RTO.Max, and so does finding out. A message larger than the
        // buffer closes the window again and again: what is bounded is each wait.
        let bound = RTO_MAX * (lost_updates as u64 + 3);
        let mut received = 0;
        while received < 60 {
            if partial {
                // Beside them, what is abandoned while the window is closed. There may be no room for it.
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

    /// Of up to 3 × 4 pairs of addresses all die at once but one, which may be any: the association stays,
    /// and all arrives. In the profile for mobile hosts: RFC 9260's Association.Max.Retrans of 10 counts the
    /// errors of all paths (§8.1), and eleven dead pairs that are tried one after the other exceed it,
    /// whatever works.
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

/// Networks that die in turn, so that the one that works is always one that was declared inactive or is about
/// to be: 32.1 s passed without a delivery, more than was once thought there may be.
#[test]
fn networks_that_die_in_turn() {
    let phase = |ms, dead: [u8; 3], loss| Phase {
        lasts: Span::from_millis(ms),
        dead: dead.map(|dead| dead == 1),
        loss,
    };
    let phases = [
        phase(10_884, [1, 1, 0], 0),
        phase(5647, [1, 0, 1], 38),
        phase(10_040, [1, 1, 0], 0),
        phase(200, [0, 0, 0], 0),
        phase(13_747, [1, 0, 1], 18),
    ];
    progresses(&phases, &patient(Config::default()), 13_279_788_142_070_310_830, Side::A).unwrap();
}

/// The chunk that is missing goes to another path just before all work again. A SACK that tells of chunks
/// before it, which had arrived long ago, starts its T3-rtx over (RFC 9260 §6.3.2 R3): twice RTO.Max.
#[test]
fn an_old_acknowledgement_starts_the_time_out_over() {
    let phase = |ms, dead, loss| Phase { lasts: Span::from_millis(ms), dead, loss };
    let phases = [
        phase(11_101, [false, true, true], 0),
        phase(2205, [true, false, false], 0),
        phase(6195, [true, false, false], 0),
    ];
    progresses(&phases, &patient(Config::mobile()), 0, Side::A).unwrap();
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
