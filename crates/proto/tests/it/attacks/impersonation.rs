//! An off-path stranger who knows addresses and ports sends an INIT to a client that is calling a server. The
//! INIT ACK would reveal the verification tag, and its cookie would make the stranger the server (RFC 9260
//! §5.2.1).

use msctp_proto::{AssociationState as State, Config, DatagramOutcome, Event, LocalAddrs, RemoteAddrs};
use msctp_units::Span;
use msctp_wire::Param;

use crate::attacks::stranger::{ABORT, TAG, ask, echo, from, init_ack, keyed};
use crate::support::{PORT_A, PORT_B, Pair, Side, a_ip, b_ip, chunk, ip, packet, text_message};

fn configs() -> [Config; 3] {
    [Config::default(), Config::mobile(), Config { auth: keyed(), ..Config::mobile() }]
}

fn calling(config: &Config) -> Pair {
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config.clone(), vec![a_ip(0)], vec![b_ip(0)]);
    pair
}

//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
//= type=test
//# The packet containing the INIT ACK chunk MUST only be sent to an address passed by the upper layer in the
//# request to initialize the association.
//= https://www.rfc-editor.org/rfc/rfc9260#section-5.2.1
//= type=test
//# The packet containing the INIT ACK chunk MUST only be sent to an address reported in the incoming INIT
//# chunk.
#[test]
fn an_init_from_an_address_that_was_not_called_is_not_answered() {
    for config in configs() {
        let mut pair = calling(&config);
        let at = from(Side::A, ip(66, 6));
        for params in [vec![], vec![Param::from(ip(66, 6))], vec![Param::from(a_ip(0))]] {
            // Out of the blue: an ABORT with the stranger's own tag (§8.4 rule 3).
            let answer = ask(&mut pair, Side::A, at, &params);
            assert!(answer.iter().all(|f| f.chunks() == [chunk::ABORT] && f.tag() == TAG), "{answer:?}");
        }
        assert_eq!(pair.a.state(), Some(State::CookieWait));
        // An INIT that lists the server is answered to the server, which has no such association.
        let answer = ask(&mut pair, Side::A, at, &[Param::from(b_ip(0))]);
        assert!(answer.iter().all(|flight| flight.at.remote == b_ip(0)), "{answer:?}");
        pair.run_for(Span::from_secs(5));
        assert_eq!((pair.a.state(), pair.b.state()), (Some(State::Established), Some(State::Established)));
        pair.transfer(Side::A, 20, 100, Span::from_secs(5));
        pair.transfer(Side::B, 20, 100, Span::from_secs(5));
    }
}

#[test]
fn nobody_can_impersonate_a_server_that_is_down() {
    for config in [Config::default(), Config::mobile()] {
        let mut pair = calling(&config);
        pair.drop_if(|_| true);
        for _ in 0..100 {
            let answer = ask(&mut pair, Side::A, from(Side::A, ip(66, 6)), &[Param::from(b_ip(0))]);
            assert!(answer.iter().all(|flight| flight.at.remote == b_ip(0)));
            pair.run_for(Span::from_millis(200));
        }
        assert!(!pair.a.saw(|event| matches!(event, Event::Connected { .. })));
    }
}

#[test]
fn without_the_tag_no_abort_ends_the_association_and_no_cookie_changes_the_peers_tag() {
    for config in configs() {
        let mut pair = calling(&config);
        let at = from(Side::A, ip(66, 6));
        let answer = ask(&mut pair, Side::A, at, &[Param::from(b_ip(0))]);
        // The stranger's next step, had it obtained a tag and a cookie.
        let got = init_ack(&answer).filter(|_| answer[0].at.remote == ip(66, 6));
        assert_eq!(got, None);
        pair.run_for(Span::from_secs(5));
        pair.transfer(Side::A, 20, 100, Span::from_secs(5));
        let wrong = pair.tag_of(Side::A) ^ 1;
        pair.inject(Side::A, at, &packet(Side::A, wrong, &[&ABORT]));
        assert_eq!(pair.a.state(), Some(State::Established));
    }
}

#[test]
fn a_cookie_for_another_host_does_not_replace_the_peers_tag() {
    // The application names two addresses, but the server has only the first. A cookie sent to the second,
    // which may be another host's, arrives late.
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0), ip(66, 6)]);
    let at = from(Side::A, ip(66, 6));
    let cookie = init_ack(&ask(&mut pair, Side::A, at, &[])).expect("it was named");
    pair.run_for(Span::from_secs(5));
    assert_eq!(pair.a.state(), Some(State::Established));
    echo(&mut pair, Side::A, at, &cookie, &[]);
    pair.run_for(Span::from_secs(1));
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
    pair.transfer(Side::B, 20, 100, Span::from_secs(5));
    let sent = pair.sent_since(Side::A, 0);
    assert!(sent.iter().all(|flight| flight.tag() != TAG || flight.has(chunk::INIT_ACK)));
}

#[test]
fn a_collision_from_the_servers_other_address_still_completes() {
    // The collision that §5.2.1 is for: the server's INIT has its other address as source, and lists the
    // address called.
    let mut pair = Pair::new(Config::default(), vec![b_ip(0), ip(0, 3)]);
    pair.log = Some(Vec::new());
    pair.drop_first(Side::A, chunk::INIT, 1);
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    let local = LocalAddrs { port: PORT_B, addresses: vec![ip(0, 3), b_ip(0)] };
    let remote = RemoteAddrs { port: PORT_A, addresses: vec![a_ip(0)] };
    pair.b.handle = Some(pair.b.endpoint.connect(pair.now, Config::default(), local, remote).unwrap());
    pair.drain(Side::B);
    pair.run_for(Span::from_millis(500));
    let up = Some(State::Established);
    assert_eq!((pair.a.state(), pair.b.state()), (up, up));
    pair.send(Side::A, text_message("hello"));
    pair.run_for(Span::from_secs(1));
    assert_eq!(pair.b.received.len(), 1);
    assert!(!matches!(pair.inject(Side::B, Pair::at(Side::B), b""), DatagramOutcome::Accepted(_)));
}
