//! The first INITs of a host with several networks, towards a name with several addresses: they race
//! (RFC 8305), and one answer decides.

use std::net::IpAddr;

use msctp_proto::{AssociationState, Config, Event, LossReason, PathAddr};
use msctp_units::Span;

use crate::attacks::changed_setup::psk;
use crate::support::{Flight, Pair, Side, a_ip, b_ip, chunk};

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

/// RFC 9260 §5.1: one INIT at a time, where quick moves are not asked for.
#[test]
fn a_plain_association_waits_for_t1() {
    let mut pair = begin(Config::default(), vec![b_ip(0)], |_| true);
    pair.run_for(Span::from_millis(900));
    assert_eq!(sent(&pair, Side::A, chunk::INIT).len(), 1);
}
