//! The first INITs of a host with several networks, towards a name with several addresses: they race
//! (RFC 8305), and one answer decides.

use std::net::IpAddr;

use msctp_proto::{AssociationState, AuthConfig, Config, Event, HostAddrs, LossReason, PathAddr};
use msctp_units::{Span, Time};
use msctp_wire::{Abort, Causes};

use crate::attacks::changed_setup::psk;
use crate::support::{Fate, Flight, Pair, Side, a_ip, b_ip, chunk, packet};

fn v6(host: u16) -> IpAddr {
    IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host])
}

/// A host with three networks begins towards two addresses of one server; `dead` packets are lost.
fn begin(config: Config, to: Vec<IpAddr>, mut dead: impl FnMut(&Flight) -> bool + 'static) -> Pair {
    let mut pair = Pair::new(config.clone(), vec![b_ip(0), v6(2)]);
    pair.log = Some(Vec::new());
    pair.drop_if(move |flight| dead(flight));
    pair.connect(config, vec![a_ip(0), a_ip(1), v6(1)], to);
    pair
}

fn is_up(pair: &Pair) -> bool {
    pair.a.state() == Some(AssociationState::Established)
        && pair.b.state() == Some(AssociationState::Established)
}

/// Refuses the INIT, as a host where nobody listens does.
fn refuse(pair: &mut Pair, at: PathAddr) {
    let abort = Abort { tag_reflected: false, causes: Causes::EMPTY };
    let init = &sent(pair, Side::A, chunk::INIT)[0];
    let tag = u32::from_be_bytes(init.bytes[16..20].try_into().unwrap());
    pair.inject(Side::A, at, &packet(Side::A, tag, &[&abort]));
}

/// Returns what was sent with this chunk.
fn sent(pair: &Pair, from: Side, chunk_type: u8) -> Vec<Flight> {
    let log = pair.log.as_ref().unwrap().iter();
    log.filter(|flight| flight.from == from && flight.has(chunk_type)).cloned().collect()
}

#[test]
fn a_network_that_leads_nowhere_costs_a_quarter_of_a_second() {
    for config in [Config::mobile(), psk()] {
        let mut pair =
            begin(config, vec![b_ip(0)], |flight| [flight.at.local, flight.at.remote].contains(&a_ip(0)));
        let began = pair.now;
        assert!(pair.run_until(Span::from_secs(5), |pair| is_up(pair)));
        let took = pair.now.since(began);
        assert!(took <= Span::from_millis(250 + 80), "{took}");
        let inits = sent(&pair, Side::A, chunk::INIT);
        let networks: Vec<IpAddr> = inits.iter().map(|init| init.at.local).collect();
        assert_eq!(networks, [a_ip(0), a_ip(1)]);
        assert!(inits.iter().all(|init| init.bytes == inits[0].bytes), "one tag, identical bytes");
        let echoes = sent(&pair, Side::A, chunk::COOKIE_ECHO);
        assert!(echoes.iter().all(|echo| echo.at.local == a_ip(1)), "one winner");
    }
}

#[test]
fn a_dead_address_of_a_name_costs_a_quarter_of_a_second_whatever_its_family() {
    for (first, second) in [(v6(2), b_ip(0)), (b_ip(0), v6(2))] {
        let mut pair = begin(psk(), vec![first, second], move |flight| flight.at.remote == first);
        let began = pair.now;
        assert!(pair.run_until(Span::from_secs(5), |pair| is_up(pair)));
        let took = pair.now.since(began);
        // Two networks reach an IPv4 address.
        assert!(took <= Span::from_millis(2 * 250 + 80), "{took}");
    }
}

#[test]
fn an_answer_within_the_delay_ends_the_race() {
    let mut pair = begin(Config::mobile(), vec![b_ip(0), v6(2)], |_| false);
    pair.run_for(Span::from_secs(5));
    assert!(is_up(&pair));
    assert_eq!(sent(&pair, Side::A, chunk::INIT).len(), 1);
}

/// The first network is slow: both answer, and the second answer changes nothing.
#[test]
fn the_first_answer_decides() {
    for config in [psk(), Config::mobile()] {
        // The first INIT arrives just before the second, or when the association is up.
        for delay in [265, 400, 1000] {
            let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
            pair.log = Some(Vec::new());
            pair.delays.insert(a_ip(0), Span::from_millis(delay));
            pair.connect(config.clone(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
            pair.run_for(Span::from_secs(5));
            assert!(is_up(&pair));
            assert!(delay > 265 || sent(&pair, Side::B, chunk::INIT_ACK).len() == 2);
            let echoes = sent(&pair, Side::A, chunk::COOKIE_ECHO);
            assert!(echoes.iter().all(|echo| echo.at.local == a_ip(1)), "one winner");
            pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
            pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
            let restarted = |event: &Event| matches!(event, Event::Restarted | Event::Lost(_));
            assert!(!pair.a.saw(restarted) && !pair.b.saw(restarted));
        }
    }
}

/// A host calls over IPv6, and over IPv4 behind a NAT, whose address its INIT does not name. The second INIT
/// arrives when the first has set up an association: the server must not refuse it as a restart, because an
/// ABORT with its tag ends that association.
#[test]
fn a_late_init_from_an_address_that_it_does_not_name_ends_nothing() {
    let (v4, public) = (IpAddr::from([203, 0, 113, 5]), IpAddr::from([198, 51, 100, 1]));
    for config in [Config::mobile(), psk()] {
        let mut pair = Pair::new(config.clone(), vec![v6(2), v4]);
        pair.log = Some(Vec::new());
        let own = vec![v6(1), a_ip(0)];
        pair.a.endpoint.set_host_addresses(HostAddrs { all: own.clone(), unnamed: own.clone() });
        pair.translate = Some((a_ip(0), public));
        pair.delays.insert(v6(1), Span::from_millis(140));
        pair.delays.insert(v4, Span::from_millis(250));
        pair.connect(config.clone(), own, vec![v6(2), v4]);
        pair.run_for(Span::from_secs(5));
        assert_eq!(sent(&pair, Side::A, chunk::INIT).len(), 2);
        // Other stacks do refuse it.
        let abort = Abort { tag_reflected: false, causes: Causes::EMPTY };
        let at = PathAddr { local: a_ip(0), remote: v4 };
        pair.inject(Side::A, at, &packet(Side::A, pair.tag_of(Side::A), &[&abort]));
        assert!(is_up(&pair), "{:?} {:?}", pair.a.events, pair.b.events);
        pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
        pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
    }
}

/// The network delivers a copy of the INIT to a server that accepts no restarts.
#[test]
fn a_late_copy_of_the_init_is_no_restart() {
    let auth = AuthConfig { accept_restarts: false, ..AuthConfig::default() };
    for config in [Config { auth, ..Config::mobile() }, psk()] {
        for late in [45, 60, 100, 3000] {
            let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
            pair.filter = Box::new(move |flight: &mut Flight| {
                if flight.has(chunk::INIT) { Fate::Twice(Span::from_millis(late)) } else { Fate::Pass }
            });
            pair.connect(config.clone(), vec![a_ip(0)], vec![b_ip(0)]);
            pair.run_for(Span::from_secs(5));
            assert!(is_up(&pair), "{late}: {:?} {:?}", pair.a.events, pair.b.events);
        }
    }
}

/// No route, or ICMP: the next one is tried at once.
#[test]
fn an_error_moves_the_race_on_at_once() {
    let mut pair = begin(Config::mobile(), vec![b_ip(0)], |flight| {
        [flight.at.local, flight.at.remote].contains(&a_ip(0))
    });
    let began = pair.now;
    let at = PathAddr { local: a_ip(0), remote: b_ip(0) };
    assert!(pair.with(Side::A, |a, now| a.path_unreachable(now, at)));
    assert!(!pair.with(Side::A, |a, now| a.path_unreachable(now, at)), "once");
    assert!(pair.run_until(Span::from_secs(5), |pair| is_up(pair)));
    assert!(pair.now.since(began) <= Span::from_millis(80), "{}", pair.now.since(began));
}

/// The hosts of a name: some refuse, some are dead, one answers.
#[test]
fn an_abort_from_one_address_ends_that_attempt_only() {
    for config in [Config::mobile(), psk()] {
        for to in [[b_ip(0), v6(2)], [v6(2), b_ip(0)]] {
            let refusing = to[0];
            let mut pair = begin(config.clone(), to.to_vec(), move |flight| {
                [flight.at.local, flight.at.remote].contains(&refusing)
            });
            let local = if refusing.is_ipv4() { a_ip(0) } else { v6(1) };
            let at = PathAddr { local, remote: refusing };
            let began = pair.now;
            refuse(&mut pair, at);
            assert!(pair.run_until(Span::from_secs(5), |pair| is_up(pair)), "{:?}", pair.a.events);
            // The other address is tried at once, over at most two networks.
            assert!(pair.now.since(began) <= Span::from_millis(250 + 80), "{}", pair.now.since(began));
            pair.transfer(Side::A, 20, 1000, Span::from_secs(5));
        }
    }
}

#[test]
fn a_refusal_is_reported_when_the_other_addresses_do_not_answer() {
    let mut pair = begin(Config::mobile(), vec![b_ip(0), v6(2)], |_| true);
    refuse(&mut pair, PathAddr { local: a_ip(0), remote: b_ip(0) });
    assert!(!pair.a.saw(|event| matches!(event, Event::Lost(_))), "the other address is asked");
    pair.run_for(Span::from_secs(4));
    assert!(pair.a.saw(|event| *event == Event::Lost(LossReason::NoListener)), "{:?}", pair.a.events);
    // Both refuse: at once.
    let mut pair = begin(Config::mobile(), vec![b_ip(0), v6(2)], |_| true);
    refuse(&mut pair, PathAddr { local: a_ip(0), remote: b_ip(0) });
    pair.run_for(Span::from_millis(10));
    refuse(&mut pair, PathAddr { local: v6(1), remote: v6(2) });
    assert!(pair.a.saw(|event| *event == Event::Lost(LossReason::NoListener)), "{:?}", pair.a.events);
    // RFC 9260 §9.1, where quick moves are not asked for.
    let mut pair = begin(Config::default(), vec![b_ip(0), v6(2)], |_| true);
    refuse(&mut pair, PathAddr { local: a_ip(0), remote: b_ip(0) });
    assert!(pair.a.saw(|event| *event == Event::Lost(LossReason::NoListener)), "{:?}", pair.a.events);
}

/// Without an answer, INITs go on until Max.Init.Retransmits, over every network.
#[test]
fn without_an_answer_every_network_is_tried_again_and_again() {
    let mut pair = begin(Config::mobile(), vec![b_ip(0), v6(2)], |_| true);
    pair.run_for(Span::from_secs(200));
    assert!(pair.a.saw(|event| *event == Event::Lost(LossReason::SetupTimeout)));
    let inits = sent(&pair, Side::A, chunk::INIT);
    for at in [(a_ip(0), b_ip(0)), (a_ip(1), b_ip(0)), (v6(1), v6(2))] {
        let at = PathAddr { local: at.0, remote: at.1 };
        assert!(inits.iter().filter(|init| init.at == at).count() >= 5, "{at}");
    }
    assert!(inits.len() <= 3 * 9, "{}", inits.len());
}

/// RFC 9260 §6.3.3 E2: T1-init backs off, however many pairs of addresses the INITs go over. Every pair has
/// its INIT as soon as before.
#[test]
fn more_networks_and_addresses_do_not_shorten_the_set_up() {
    for (networks, addresses) in [(1, 1), (2, 1), (3, 2), (2, 8)] {
        let mut pair = Pair::new(Config::mobile(), vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        pair.drop_if(|_| true);
        let began = pair.now;
        let (from, to) = ((0..networks).map(a_ip).collect(), (0..addresses).map(b_ip).collect());
        pair.connect(Config::mobile(), from, to);
        let is_over = |pair: &mut Pair| pair.a.saw(|event| *event == Event::Lost(LossReason::SetupTimeout));
        assert!(pair.run_until(Span::from_secs(200), is_over));
        // RTO.Initial, doubled with each of Max.Init.Retransmits up to RTO.Max.
        let took = pair.now.since(began);
        assert_eq!(took.as_millis(), 500 + 1000 + 2000 + 4000 + 8000 + 4 * 10_000, "{networks}, {addresses}");
        let mut first: Vec<(PathAddr, Time)> = Vec::new();
        for init in sent(&pair, Side::A, chunk::INIT) {
            if first.iter().all(|(at, _)| *at != init.at) {
                first.push((init.at, init.sent));
            }
        }
        assert_eq!(first.len(), usize::from(networks) * usize::from(addresses));
        for (place, (at, time)) in first.iter().enumerate() {
            let after = time.since(began);
            assert!(after <= Span::from_millis(250 * place as u64), "{at} after {after}");
        }
    }
}

/// RFC 9260 §5.1: one INIT at a time, where quick moves are not asked for.
#[test]
fn a_plain_association_waits_for_t1() {
    let mut pair = begin(Config::default(), vec![b_ip(0)], |_| true);
    pair.run_for(Span::from_millis(900));
    assert_eq!(sent(&pair, Side::A, chunk::INIT).len(), 1);
}

/// RFC 6951 §5.7: behind a NAT the INIT names no address. The answer decides which one the association has.
#[test]
fn addresses_that_the_init_does_not_name_race_too() {
    for base in [Config::mobile(), psk()] {
        let mut config = base.clone();
        config.offer.list_addresses = false;
        let mut pair = Pair::new(base, vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        pair.drop_if(|flight| [flight.at.local, flight.at.remote].contains(&a_ip(0)));
        pair.connect(config, vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
        pair.run_for(Span::from_secs(5));
        assert!(is_up(&pair));
        for init in sent(&pair, Side::A, chunk::INIT) {
            let named = |address: IpAddr| match address {
                IpAddr::V4(address) => init.bytes.windows(4).any(|bytes| bytes == address.octets()),
                IpAddr::V6(_) => false,
            };
            assert!(!named(a_ip(0)) && !named(a_ip(1)));
        }
        let paths = |pair: &mut Pair, side| {
            pair.with(side, |end, _| end.paths().map(|path| path.at).collect::<Vec<_>>())
        };
        assert_eq!(paths(&mut pair, Side::A), [PathAddr { local: a_ip(1), remote: b_ip(0) }]);
        assert_eq!(paths(&mut pair, Side::B), [PathAddr { local: b_ip(0), remote: a_ip(1) }]);
        pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(2))).unwrap();
        pair.run_for(Span::from_secs(2));
        assert_eq!(paths(&mut pair, Side::B).len(), 2);
    }
}
