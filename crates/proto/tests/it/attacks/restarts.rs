//! A host that receives packets at the peer's address can restart an association without shared keys (RFC
//! 9260 §5.2.4 A). The reader gets an event in order, state of the old peer is removed, and an application
//! can reject restarts.

use msctp_proto::{AuthConfig, Config, Event, OutMessage, PathState, Restarted, StreamItem};
use msctp_units::Span;
use msctp_wire::{Init, Param, VerificationTag};

use crate::attacks::stranger::{TAG, ask, data, echo, init, init_ack};
use crate::support::{Pair, Side, a_ip, b_ip, chunk, packet, text_message};

fn up(config: Config, addresses: Vec<core::net::IpAddr>) -> Pair {
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.default_delay = Span::from_millis(1);
    pair.connect(config, addresses, vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair
}

fn restart(pair: &mut Pair, params: &[Param<'_>], text: &[u8]) -> bool {
    // RFC 9260 §5.2.4: each restart has a new tag.
    let init = Init { initiate_tag: VerificationTag::new(TAG + pair.log_len() as u32), ..init(params) };
    let before = pair.log_len();
    pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, 0, &[&init]));
    let answer = pair.sent_since(Side::B, before);
    let Some(cookie) = init_ack(&answer) else { return false };
    echo(pair, Side::B, Pair::at(Side::B), &cookie, &[&data(1, text)]);
    true
}

#[test]
fn the_restart_event_is_ordered_between_the_messages() {
    let mut pair = up(Config::default(), vec![a_ip(0)]);
    pair.transfer(Side::A, 5, 100, Span::from_secs(1));
    pair.b.reading = false;
    pair.send(Side::A, text_message("before"));
    pair.run_for(Span::from_secs(1));
    assert!(restart(&mut pair, &[], b"after"));
    pair.b.reading = true;
    pair.drain(Side::B);
    assert_eq!(pair.b.restarts, [6]);
    assert_eq!([5, 6].map(|at| pair.b.received[at].data.to_vec()), [b"before".to_vec(), b"after".to_vec()]);
}

#[test]
fn restarts_do_not_accumulate_unread_messages() {
    let mut pair = up(Config::default(), vec![a_ip(0)]);
    pair.b.reading = false;
    for n in 0..50 {
        assert!(restart(&mut pair, &[], b"unread"));
        let restarted = pair.b.events.iter().filter(|event| **event == Event::Restarted).count();
        assert_eq!(restarted, (n + 1).min(2));
    }
    assert!(pair.with(Side::B, |b, _| b.unread()) <= 2);
    pair.b.reading = true;
    pair.drain(Side::B);
    assert!(restart(&mut pair, &[], b"read"));
    assert_eq!(pair.b.received.last().unwrap().data, b"read"[..]);
}

/// The peer has forgotten the stream: its reader gets what came before, then the restart until it is gone.
#[test]
fn a_restart_ends_the_streams_that_have_readers() {
    for leaves in [false, true] {
        let mut pair = up(Config::default(), vec![a_ip(0)]);
        assert!(pair.with(Side::B, |b, _| b.claim_stream(2)));
        for text in ["before", "unread"] {
            pair.send(Side::A, OutMessage { stream: 2, ..text_message(text) });
        }
        pair.run_for(Span::from_secs(1));
        assert!(restart(&mut pair, &[], b"after"));
        pair.with(Side::B, |b, now| {
            let item = b.recv_on(2).unwrap();
            assert!(matches!(item, Some(StreamItem::Message(message)) if message.data == "before"));
            assert!(!b.claim_stream(2) && b.is_stream_taken(2));
            if leaves {
                b.leave_stream(2);
            } else {
                assert!(matches!(b.recv_on(2), Ok(Some(StreamItem::Message(_)))));
                assert_eq!([b.recv_on(2), b.recv_on(2)], [Err(Restarted), Err(Restarted)]);
                assert!(b.release_stream(now, 2), "nothing more comes");
            }
            assert!(!b.is_stream_taken(2) && b.claim_stream(2));
        });
    }
}

#[test]
fn an_application_can_reject_restarts() {
    let auth = AuthConfig { accept_restarts: false, ..AuthConfig::default() };
    let mut pair = up(Config { auth, ..Config::default() }, vec![a_ip(0)]);
    pair.transfer(Side::A, 5, 100, Span::from_secs(1));
    let answer = ask(&mut pair, Side::B, Pair::at(Side::B), &[]);
    assert_eq!(answer.iter().map(|flight| flight.chunks()).collect::<Vec<_>>(), [[chunk::ABORT]]);
    assert!(!pair.b.saw(|event| *event == Event::Restarted));
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
    pair.transfer(Side::B, 20, 100, Span::from_secs(5));
}

#[test]
fn only_the_address_that_received_the_cookie_stays_confirmed() {
    let mut pair = up(Config::default(), vec![a_ip(0), a_ip(1), a_ip(2)]);
    let paths = |pair: &mut Pair| {
        pair.with(Side::B, |b, _| b.paths().map(|p| (p.at.remote, p.state, p.primary)).collect::<Vec<_>>())
    };
    let confirmed = paths(&mut pair).into_iter().filter(|(_, state, _)| *state == PathState::Active).count();
    assert_eq!(confirmed, 3);
    pair.drop_if(|_| true);
    assert!(restart(&mut pair, &[Param::from(a_ip(1))], b"me"));
    assert_eq!(
        paths(&mut pair),
        [(a_ip(0), PathState::Active, true), (a_ip(1), PathState::Unconfirmed, false)],
        "the address that was not listed is gone"
    );
    // Formerly confirmed addresses get heartbeats and no data, even if the only confirmed address is silent.
    let before = pair.log_len();
    for _ in 0..20 {
        let _ = pair.with(Side::B, |b, now| b.send(now, text_message("for the one who restarted")));
    }
    pair.run_for(Span::from_secs(60));
    let elsewhere: Vec<_> =
        pair.sent_since(Side::B, before).into_iter().filter(|flight| flight.at.remote != a_ip(0)).collect();
    assert!(elsewhere.iter().all(|flight| flight.chunks() == [chunk::HEARTBEAT]), "{elsewhere:?}");
}
