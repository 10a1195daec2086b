//! Potentially failed paths (RFC 7829): when data leaves them, how they are monitored, and where data goes if
//! no path works.

use crate::support;

use msctp_proto::{Config, Event, FailoverConfig, PathId, PathState, PrimaryCause};
use msctp_units::{Span, Time};
use support::{Flight, Pair, Side, a_ip, b_ip, chunk};

fn config(failover: FailoverConfig) -> Config {
    let fast = Span::from_millis(200);
    // Nine paths that fail at once cause more errors than RFC 9260's ten.
    Config {
        failover,
        trace: true,
        assoc_max_retrans: 100,
        rto_min: fast,
        rto_initial: fast,
        ..Config::default()
    }
}

const QUICK: FailoverConfig = FailoverConfig {
    potentially_failed_threshold: Some(0),
    primary_switchover_threshold: None,
    silence: None,
};

fn networks(failover: FailoverConfig, count: u8) -> Pair {
    let (a, b) = (0..count).map(|n| (a_ip(n), b_ip(n))).unzip();
    let mut pair = Pair::established_with(config(failover), config(failover), a, b);
    pair.log = Some(Vec::new());
    pair
}

/// Matches packets that need this network at either end.
fn over(network: u8) -> impl Fn(&Flight) -> bool {
    move |flight| {
        [flight.at.local, flight.at.remote].iter().any(|ip| *ip == a_ip(network) || *ip == b_ip(network))
    }
}

fn state(pair: &mut Pair, path: PathId) -> PathState {
    pair.with(Side::B, |b, _| b.paths().find(|p| p.id == path).unwrap().state)
}

fn primary(pair: &mut Pair) -> PathId {
    pair.with(Side::B, |b, _| b.paths().find(|p| p.primary).unwrap().id)
}

/// Makes B send endlessly and cuts `network` 0 in the middle; returns the time of the cut.
fn die_in_the_middle(pair: &mut Pair) -> Time {
    let mut waiting = (0..4000).collect();
    pair.feed(Side::B, &mut waiting, 1000);
    assert!(pair.run_until(Span::from_secs(5), |p| p.a.received.len() > 300));
    pair.drop_if(over(0));
    pair.now
}

#[test]
fn the_first_timeout_moves_all_data_and_the_first_answer_moves_it_back() {
    let mut pair = networks(QUICK, 2);
    let old = primary(&mut pair);
    let died = die_in_the_middle(&mut pair);
    let left = |e: &Event| *e == Event::PathState { path: old, state: PathState::PotentiallyFailed };
    assert!(pair.run_until(Span::from_secs(3), |p| p.b.saw(left)));
    let noticed = pair.now;
    assert!(noticed.since(died) <= Span::from_secs(1), "one RTO, not seven: {}", noticed.since(died));
    let log = pair.log_len();
    assert!(pair.run_until(Span::from_secs(60), |p| p.a.received.len() > 1500));
    let data = pair.sent_since(Side::B, log);
    assert_eq!(data.iter().filter(|f| f.has(chunk::DATA) && over(0)(f)).count(), 0, "RFC 7829 §3.2");
    assert_eq!(primary(&mut pair), old);
    pair.pass_all();
    assert!(pair.run_until(Span::from_secs(10), |p| state(p, old) == PathState::Active));
    let back = Event::PrimaryChanged { path: old, cause: PrimaryCause::Failover };
    assert_eq!(pair.b.events.iter().filter(|e| **e == back).count(), 1);
}

#[test]
fn a_potentially_failed_path_gets_a_heartbeat_every_rto_until_it_is_inactive() {
    let mut pair = networks(QUICK, 2);
    let old = primary(&mut pair);
    let at = pair.with(Side::B, |b, _| b.paths().find(|p| p.id == old).unwrap().at);
    die_in_the_middle(&mut pair);
    let log = pair.log_len();
    let inactive = |e: &Event| *e == Event::PathState { path: old, state: PathState::Inactive };
    assert!(pair.run_until(Span::from_secs(60), |p| p.b.saw(inactive)));
    let beats: Vec<Time> = pair
        .sent_since(Side::B, log)
        .iter()
        .filter(|f| f.at == at && f.has(chunk::HEARTBEAT))
        .map(|f| f.sent)
        .collect();
    // The timeout of the data is the first of six errors; each of the others is a heartbeat's
    // (Path.Max.Retrans is 5).
    assert_eq!(beats.len(), 5, "{beats:?}");
    let gaps: Vec<Span> = beats.windows(2).map(|two| two[1].since(two[0])).collect();
    for two in gaps.windows(2) {
        assert_eq!(two[1], two[0] * 2, "RFC 9260 §8.3: the RTO backs off: {gaps:?}");
    }
    let quiet = pair.log_len();
    pair.run_for(Span::from_secs(25));
    let after = pair.sent_since(Side::B, quiet);
    assert!(
        after.iter().filter(|f| f.at == at && f.has(chunk::HEARTBEAT)).count() <= 1,
        "at HB.interval again"
    );
}

#[test]
fn the_potentially_failed_path_with_the_fewest_errors_is_used() {
    let mut pair = networks(QUICK, 3);
    die_in_the_middle(&mut pair);
    pair.drop_if(|flight| over(0)(flight) || over(1)(flight) || over(2)(flight));
    pair.run_for(Span::from_secs(2));
    let alive =
        |p: &mut Pair| p.with(Side::B, |b, _| b.paths().filter(|p| p.state == PathState::Active).count());
    assert_eq!(alive(&mut pair), 0);
    // The third network works again: heartbeats find it, whatever path the data uses first.
    pair.drop_if(|flight| over(0)(flight) || over(1)(flight));
    let received = pair.a.received.len();
    assert!(pair.run_until(Span::from_secs(5), |p| p.a.received.len() > received + 100));
}

#[test]
fn a_primary_beyond_the_switchover_threshold_does_not_return() {
    // RFC 7829 §5.
    let failover = FailoverConfig { primary_switchover_threshold: Some(2), ..QUICK };
    let mut pair = networks(failover, 2);
    let old = primary(&mut pair);
    die_in_the_middle(&mut pair);
    let switched = |e: &Event| matches!(e, Event::PrimaryChanged { path, cause: PrimaryCause::Switchover } if *path != old);
    assert!(pair.run_until(Span::from_secs(10), |p| p.b.saw(switched)));
    assert_eq!(state(&mut pair, old), PathState::PotentiallyFailed, "three errors, six make it inactive");
    let new = primary(&mut pair);
    assert_ne!(new, old);
    pair.pass_all();
    assert!(pair.run_until(Span::from_secs(10), |p| state(p, old) == PathState::Active));
    pair.run_for(Span::from_secs(10));
    assert_eq!(primary(&mut pair), new);
    assert_eq!(pair.b.events.iter().filter(|e| switched(e)).count(), 1);
}
