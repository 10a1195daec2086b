//! Two endpoints over a scripted network: set-up, transfer, shutdown.

mod support;

use msctp_proto::{AssociationState, Config, Event};
use msctp_units::Span;
use support::{Pair, Side, a_ip, b_ip, text_message};

#[test]
fn handshake_message_and_shutdown() {
    let mut pair = Pair::new(Config::default(), vec![b_ip(0)]);
    pair.connect(Config::default(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_millis(500));
    assert_eq!(pair.a.state(), Some(AssociationState::Established));
    assert_eq!(pair.b.state(), Some(AssociationState::Established));
    pair.send(Side::A, text_message("hello"));
    pair.send(Side::B, text_message("good day"));
    pair.run_for(Span::from_millis(500));
    assert_eq!(&pair.b.received[0].data[..], b"hello");
    assert_eq!(&pair.a.received[0].data[..], b"good day");
    pair.with(Side::A, |association, now| association.shutdown(now));
    pair.run_for(Span::from_millis(500));
    for host in [&pair.a, &pair.b] {
        assert_eq!(host.state(), None, "forgotten");
        assert_eq!(host.events.last(), Some(&Event::Closed));
    }
}

#[test]
fn bulk_both_ways() {
    let mut pair = Pair::established(Config::default());
    pair.transfer(Side::A, 2000, 1452, Span::from_secs(60));
    pair.transfer(Side::B, 2000, 1000, Span::from_secs(60));
}
