//! The idle timeout: a silent peer is declared lost in bounded time, and an idle association stays up. ICMP
//! "port unreachable" during set-up.

use crate::support;

use msctp_proto::{AssociationState, CallError, Config, Event, LossReason};
use msctp_units::Span;
use support::{Pair, Side, a_ip, b_ip};

const LIMIT: Span = Span::from_secs(30);

fn config() -> Config {
    Config { idle_timeout: Some(LIMIT), ..Config::default() }
}

fn end_of(pair: &mut Pair, side: Side) -> Option<Event> {
    pair.host(side).events.iter().find(|event| matches!(event, Event::Lost(_) | Event::Closed)).cloned()
}

#[test]
fn a_reader_detects_a_dead_peer_at_the_idle_timeout() {
    let mut pair = Pair::established(config());
    pair.run_for(Span::from_secs(100));
    pair.drop_if(|_| true);
    // The last keep-alive was answered at most a third of the timeout ago.
    pair.run_for(LIMIT - Span::from_secs(12));
    assert_eq!(end_of(&mut pair, Side::B), None);
    pair.run_for(Span::from_secs(13));
    for side in [Side::A, Side::B] {
        assert_eq!(end_of(&mut pair, side), Some(Event::Lost(LossReason::IdleTimeout { after: LIMIT })));
    }
}

#[test]
fn a_sender_detects_a_dead_peer_at_the_idle_timeout() {
    let profile = Config { idle_timeout: Some(LIMIT), ..Config::mobile() };
    let mut pair = Pair::established(profile);
    pair.drop_if(|_| true);
    pair.send(Side::A, support::text_message("anybody?"));
    pair.run_for(LIMIT + Span::from_secs(1));
    assert_eq!(end_of(&mut pair, Side::A), Some(Event::Lost(LossReason::IdleTimeout { after: LIMIT })));
}

#[test]
fn an_idle_association_survives_the_loss_of_a_third_of_the_packets() {
    let without_heartbeats = Config { hb_interval: Span::ZERO, assoc_max_retrans: 1000, ..config() };
    let mut pair = Pair::established(without_heartbeats);
    let mut count: u32 = 0;
    pair.drop_if(move |_| {
        count = count.wrapping_add(1);
        (count.wrapping_mul(2_654_435_761) >> 16).is_multiple_of(3)
    });
    pair.run_for(Span::from_secs(3600));
    assert_eq!((end_of(&mut pair, Side::A), end_of(&mut pair, Side::B)), (None, None));
    pair.pass_all();
    pair.transfer(Side::B, 10, 1000, Span::from_secs(60));
}

#[test]
fn the_idle_timeout_sends_an_abort() {
    let quick = Config { idle_timeout: Some(Span::from_secs(3)), ..Config::default() };
    let mut pair = Pair::established_with(quick, Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    // A receives nothing; B receives A's packets.
    pair.drop_if(|flight| flight.from == Side::B);
    pair.run_for(Span::from_secs(4));
    assert!(matches!(end_of(&mut pair, Side::B), Some(Event::Lost(LossReason::PeerAborted { .. }))));
}

#[test]
fn without_an_idle_timeout_the_limits_of_rfc_9260_apply() {
    let mut pair = Pair::established(Config::default());
    pair.drop_if(|_| true);
    pair.run_for(Span::from_secs(200));
    assert_eq!(end_of(&mut pair, Side::A), None);
    let wrong = Config { idle_timeout: Some(Span::from_millis(99)), ..Config::default() };
    let error = wrong.validate().unwrap_err().to_string();
    assert_eq!(error, "idle_timeout = 99ms: want at least 100ms, or none");
}

/// Returns a pair whose A has sent an INIT that was lost, and the packet.
fn init(remotes: usize) -> (Pair, Vec<u8>) {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.drop_if(|_| true);
    pair.connect(Config::default(), vec![a_ip(0)], (0..remotes as u8).map(b_ip).collect());
    pair.run_for(Span::from_millis(10));
    let init = pair.sent_since(Side::A, 0)[0].bytes.clone();
    (pair, init)
}

fn port_unreachable(pair: &mut Pair, network: u8, quoted: &[u8]) -> Result<(), CallError> {
    let result = pair.with(Side::A, |a, now| a.port_unreachable(now, b_ip(network), quoted));
    pair.drain(Side::A);
    result
}

#[test]
fn port_unreachable_that_quotes_the_init_ends_the_set_up() {
    let (mut pair, init) = init(1);
    assert_eq!(port_unreachable(&mut pair, 0, &init[..20]), Ok(()));
    let lost = LossReason::PortUnreachable { address: b_ip(0) };
    assert_eq!(end_of(&mut pair, Side::A), Some(Event::Lost(lost)));
}

#[test]
fn rfc9260_10_port_unreachable_that_quotes_no_init_of_ours_is_ignored() {
    let (mut pair, init) = init(1);
    for place in [0, 2, 4, 12, 16, 19] {
        let mut forged = init.clone();
        forged[place] ^= 1;
        assert_eq!(port_unreachable(&mut pair, 0, &forged), Err(CallError::NotQuoted), "{place}");
    }
    // Eight bytes, as in RFC 792, prove nothing.
    assert_eq!(port_unreachable(&mut pair, 0, &init[..8]), Err(CallError::NotQuoted));
    assert_eq!(port_unreachable(&mut pair, 0, &[]), Err(CallError::NotQuoted));
    assert_eq!(pair.a.state(), Some(AssociationState::CookieWait));

    let mut up = Pair::new(Config::default(), vec![b_ip(0)]);
    up.log = Some(Vec::new());
    up.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    up.run_for(Span::from_secs(1));
    let init = up.sent_since(Side::A, 0)[0].bytes.clone();
    assert_eq!(port_unreachable(&mut up, 0, &init), Err(CallError::NotQuoted), "it is up");
    assert_eq!(up.a.state(), Some(AssociationState::Established));
}

#[test]
fn every_address_of_the_peer_is_tried_before_the_set_up_fails() {
    let (mut pair, init) = init(2);
    let before = pair.log_len();
    assert_eq!(port_unreachable(&mut pair, 0, &init), Ok(()));
    let next = pair.sent_since(Side::A, before);
    assert_eq!(next.iter().map(|flight| flight.at.remote).collect::<Vec<_>>(), [b_ip(1)], "at once");
    assert_eq!(end_of(&mut pair, Side::A), None);
    assert_eq!(port_unreachable(&mut pair, 1, &init), Ok(()));
    assert!(matches!(end_of(&mut pair, Side::A), Some(Event::Lost(LossReason::PortUnreachable { .. }))));
}
