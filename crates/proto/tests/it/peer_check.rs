//! Detection of a peer that lost its keys. It answers protected packets with an ABORT in clear and is
//! detected in seconds; a forged ABORT ends no association.

use crate::support;

use std::sync::Arc;

use msctp_protection::{CipherSuite, Ring, Secret};
use msctp_proto::{
    AssociationState, Config, Endpoint, EndpointConfig, Event, KeyManagement, LocalAddrs, LossReason,
    PathAddr, Protection,
};
use msctp_units::Span;
use msctp_wire::{Abort, Causes};
use support::{PORT_B, Pair, Side, a_ip, b_ip, ip, packet, text_message};

const ABORT: Abort<'static> = Abort { tag_reflected: true, causes: Causes::EMPTY };

fn config() -> Config {
    let key = Secret::from(&[7; 32][..]);
    let keys = KeyManagement::pre_shared(Arc::new(Ring), CipherSuite::Aes128GcmSha256, key).unwrap();
    Config { protection: Protection::Required(Arc::new(keys)), ..Config::mobile() }
}

fn up(delay: Span) -> Pair {
    let mut pair = Pair::new(config(), vec![b_ip(0)]);
    pair.default_delay = delay;
    pair.log = Some(Vec::new());
    pair.connect(config(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::A, 20, 100, Span::from_secs(10));
    // With the HEARTBEAT after data that stops coming.
    pair.run_for(Span::from_secs(2));
    pair
}

/// Kills B and restarts it at the same addresses.
fn restart(pair: &mut Pair) {
    pair.b.endpoint = Endpoint::new(EndpointConfig::default(), [9; 32]).unwrap();
    pair.b.endpoint.listen(LocalAddrs { port: PORT_B, addresses: vec![b_ip(0)] }, config()).unwrap();
    pair.b.handle = None;
}

fn is_lost(event: &Event) -> bool {
    *event == Event::Lost(LossReason::PeerLostKeys)
}

#[test]
fn a_restarted_peer_is_detected_in_seconds() {
    for (delay, most) in [(1, 3), (20, 3), (60, 3), (200, 4)] {
        let mut pair = up(Span::from_millis(delay));
        restart(&mut pair);
        pair.send(Side::A, text_message("is anybody there?"));
        let begun = pair.now;
        assert!(pair.run_until(Span::from_secs(20), |pair| pair.a.saw(is_lost)), "{delay} ms");
        let took = pair.now.since(begun);
        assert!(took < Span::from_secs(most), "{delay} ms: {took}");
        assert!(took >= Span::from_secs(2), "{delay} ms: {took}");
        assert!(pair.a.saw(|event| matches!(event, Event::SendFailed(_))), "the message is reported");
    }
}

#[test]
fn a_peer_without_keys_is_detected_in_spite_of_losses() {
    let mut pair = up(Span::from_millis(20));
    pair.drop_if(|_| true);
    pair.with(Side::B, |b, now| b.abort(now, &msctp_proto::AbortReason::default()));
    let mut number: u32 = 0;
    pair.drop_if(move |_| {
        number += 1;
        number.is_multiple_of(5)
    });
    pair.send(Side::A, text_message("is anybody there?"));
    assert!(pair.run_until(Span::from_secs(4), |pair| pair.a.saw(is_lost)));
}

/// An observer injects the ABORT every 5 ms into both ends of an idle association that loses packets.
#[test]
fn forged_aborts_end_no_association_and_cost_few_packets() {
    for loss in [0, 10, 4] {
        let mut pair = up(Span::from_millis(20));
        let tags = [pair.tag_of(Side::A), pair.tag_of(Side::B)];
        let mut number: u32 = 0;
        pair.drop_if(move |_| {
            number = number.wrapping_add(1);
            loss > 0 && (number.wrapping_mul(2_654_435_761) >> 16).is_multiple_of(loss)
        });
        let sent = pair.log_len();
        for _ in 0..12_000 {
            // The tag that each end sends.
            pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tags[1], &[&ABORT]));
            pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, tags[0], &[&ABORT]));
            pair.run_for(Span::from_millis(5));
        }
        assert_eq!(pair.a.state(), Some(AssociationState::Established), "{loss}");
        assert_eq!(pair.b.state(), Some(AssociationState::Established), "{loss}");
        // The end that connected sends eight probes a second; its peer answers each.
        let sent = pair.log_len() - sent;
        assert!((480..=2 * 8 * 60 + 20).contains(&sent), "{sent}");
        pair.pass_all();
        pair.transfer(Side::A, 20, 1000, Span::from_secs(20));
    }
}

#[test]
fn one_forged_abort_costs_one_probe_and_eight_if_the_peer_is_silent() {
    for silent in [false, true] {
        let mut pair = up(Span::from_millis(20));
        let tag = pair.tag_of(Side::B);
        let sent = pair.log_len();
        pair.drop_if(move |_| silent);
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&ABORT]));
        pair.run_for(Span::from_secs(2));
        let sent = pair.sent_since(Side::A, sent).len();
        // With the HEARTBEATs of a path that is potentially failed (RFC 7829).
        assert!(if silent { (8..=10).contains(&sent) } else { sent == 1 }, "{sent}");
        pair.pass_all();
        pair.transfer(Side::A, 20, 1000, Span::from_secs(20));
    }
}

#[test]
fn only_the_abort_of_a_host_without_the_association_counts() {
    let mut pair = up(Span::from_millis(20));
    let (own, peers) = (pair.tag_of(Side::A), pair.tag_of(Side::B));
    let sent = pair.log_len();
    let signed = Abort { tag_reflected: false, causes: Causes::EMPTY };
    let elsewhere = PathAddr { remote: ip(66, 6), ..Pair::at(Side::A) };
    for (tag, chunk, at) in [
        (own, &ABORT, Pair::at(Side::A)),
        (own, &signed, Pair::at(Side::A)),
        (peers, &signed, Pair::at(Side::A)),
        (peers ^ 1, &ABORT, Pair::at(Side::A)),
        (peers, &ABORT, elsewhere),
    ] {
        pair.inject(Side::A, at, &packet(Side::A, tag, &[chunk]));
    }
    assert_eq!(pair.sent_since(Side::A, sent).len(), 0);
    pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, peers, &[&ABORT]));
    assert_eq!(pair.sent_since(Side::A, sent).len(), 1);
}

/// The ABORT is answered over another path than the one on which it arrived.
#[test]
fn every_path_may_prove_the_peer_alive() {
    let mut pair = Pair::established_with(config(), config(), vec![a_ip(0), a_ip(1)], vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    pair.transfer(Side::A, 20, 100, Span::from_secs(10));
    let tag = pair.tag_of(Side::B);
    pair.drop_if(|flight| [flight.at.local, flight.at.remote].contains(&b_ip(0)));
    for _ in 0..1000 {
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&ABORT]));
        pair.run_for(Span::from_millis(10));
    }
    assert_eq!(pair.a.state(), Some(AssociationState::Established));
    pair.transfer(Side::A, 20, 1000, Span::from_secs(20));
}

/// An observer of the network that the client left injects the ABORT into the server during the outage.
#[test]
fn forged_aborts_during_an_outage_do_not_end_the_association_at_the_server() {
    let mut pair = up(Span::from_millis(20));
    let tag = pair.tag_of(Side::A);
    pair.drop_if(|_| true);
    for _ in 0..1000 {
        pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, tag, &[&ABORT]));
        pair.run_for(Span::from_millis(10));
    }
    assert_eq!(pair.b.state(), Some(AssociationState::Established));
    pair.pass_all();
    pair.transfer(Side::A, 20, 1000, Span::from_secs(30));
}
