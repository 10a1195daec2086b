//! ABORTs of an attacker at an address of the peer to which nothing was sent: such an ABORT answers no packet
//! (RFC 9260 §8.4 rule 8).

use msctp_proto::{AssociationState as State, Config, Event, PathAddr, PathState};
use msctp_units::Span;
use msctp_wire::{Abort, Causes};

use crate::attacks::changed_setup::psk;
use crate::support::{Fate, Pair, Side, a_ip, b_ip, chunk, packet, text_message};

const REFLECTED: Abort<'static> = Abort { tag_reflected: true, causes: Causes::EMPTY };
const ABORT: Abort<'static> = Abort { tag_reflected: false, causes: Causes::EMPTY };

/// Returns a pair whose A waits for the COOKIE ACK and has sent nothing to B's second address, which the
/// application has `named` or B lists.
fn cookie_echoed(config: &Config, named: bool) -> (Pair, PathAddr) {
    let mut pair = Pair::new(config.clone(), vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    pair.filter = Box::new(|flight| {
        if flight.has(chunk::COOKIE_ECHO) { Fate::Late(Span::from_millis(100)) } else { Fate::Pass }
    });
    pair.connect(config.clone(), vec![a_ip(0)], b_ips(named));
    pair.send(Side::A, text_message("early"));
    assert!(pair.run_until(Span::from_secs(1), |pair| pair.a.state() == Some(State::CookieEchoed)));
    let at = PathAddr { local: a_ip(0), remote: b_ip(1) };
    assert!(pair.sent_since(Side::A, 0).iter().all(|flight| flight.at != at));
    (pair, at)
}

fn b_ips(both: bool) -> Vec<core::net::IpAddr> {
    if both { vec![b_ip(0), b_ip(1)] } else { vec![b_ip(0)] }
}

#[test]
fn an_abort_from_where_nothing_was_sent_ends_no_set_up() {
    for (config, own_tag) in [(psk(), true), (psk(), false), (Config::default(), false)] {
        for named in [true, false] {
            let (mut pair, at) = cookie_echoed(&config, named);
            let forged = match own_tag {
                true => packet(Side::A, pair.tag_of(Side::A), &[&ABORT]),
                false => packet(Side::A, pair.tag_of(Side::B), &[&REFLECTED]),
            };
            pair.inject(Side::A, at, &forged);
            pair.run_for(Span::from_secs(1));
            assert!(!pair.a.saw(|event| matches!(event, Event::Lost(_))), "{own_tag} {named}");
            assert_eq!(pair.b.received.len(), 1, "{own_tag} {named}");
        }
    }
}

/// Such an ABORT would have the address verified half a minute later.
#[test]
fn an_abort_from_where_nothing_was_sent_delays_no_verification() {
    for config in [psk(), Config::default()] {
        let (mut pair, at) = cookie_echoed(&config, false);
        let forged = packet(Side::A, pair.tag_of(Side::B), &[&REFLECTED]);
        pair.inject(Side::A, at, &forged);
        pair.run_for(Span::from_secs(2));
        let state = pair.with(Side::A, |a, _| a.paths().find(|path| path.at == at).unwrap().state);
        assert_eq!(state, PathState::Active);
    }
}

/// Later an ABORT answers something, but the peer may do so as well: its answer to a HEARTBEAT is awaited.
#[test]
fn a_forged_abort_delays_no_verification_under_protection() {
    let mut pair = Pair::new(psk(), vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    let at = PathAddr { local: a_ip(0), remote: b_ip(1) };
    let mut lost = 0;
    // The first HEARTBEAT is lost.
    pair.filter = Box::new(move |flight| {
        let first = flight.at.remote == b_ip(1) && lost == 0;
        lost += u32::from(first);
        if first { Fate::Drop } else { Fate::Pass }
    });
    pair.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
    let asked = |pair: &mut Pair| pair.sent_since(Side::A, 0).iter().any(|flight| flight.at == at);
    assert!(pair.run_until(Span::from_secs(5), asked));
    let forged = packet(Side::A, pair.tag_of(Side::B), &[&REFLECTED]);
    pair.inject(Side::A, at, &forged);
    pair.run_for(Span::from_secs(5));
    let state = pair.with(Side::A, |a, _| a.paths().find(|path| path.at == at).unwrap().state);
    assert_eq!(state, PathState::Active);
}
