//! An attacker repeats packets to keep a timer from expiring. What the timer brings about happens all the
//! same, and as soon.

use msctp_proto::{AssociationState as State, Config, Event, LossReason};
use msctp_units::Span;
use msctp_wire::{Cause, Causes, Error, Init, Param, Params, Tsn, VerificationTag};

use crate::attacks::changed_setup::psk;
use crate::support::{Pair, Side, a_ip, b_ip, chunk, packet};

/// Runs until A or B has lost the association; returns the time. Calls `repeat` every 100 ms.
fn time_to_loss(pair: &mut Pair, side: Side, mut repeat: impl FnMut(&mut Pair)) -> Span {
    let began = pair.now;
    while !pair.host(side).saw(|event| matches!(event, Event::Lost(_))) {
        pair.run_for(Span::from_millis(100));
        repeat(pair);
        assert!(pair.now.since(began) < Span::from_secs(2000), "no timeout");
    }
    pair.now.since(began)
}

/// T1-cookie (RFC 9260 §5.1): the peer is gone, and packets in clear with A's tag make A repeat the COOKIE
/// ECHO.
#[test]
fn repeated_packets_do_not_prolong_a_set_up() {
    for config in [psk(), Config::default()] {
        let [alone, repeated] = [false, true].map(|repeats| {
            let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
            pair.log = Some(Vec::new());
            pair.drop_if(|flight| flight.from == Side::A && !flight.has(chunk::INIT));
            pair.connect(config.clone(), vec![a_ip(0)], vec![b_ip(0)]);
            assert!(pair.run_until(Span::from_secs(1), |pair| pair.a.state() == Some(State::CookieEchoed)));
            let causes = [Cause::OutOfResource];
            let bytes = packet(Side::A, pair.tag_of(Side::A), &[&Error { causes: Causes::from(&causes) }]);
            let sent = pair.log_len();
            let took = time_to_loss(&mut pair, Side::A, |pair| {
                if repeats {
                    pair.inject(Side::A, Pair::at(Side::A), &bytes);
                }
            });
            assert!(
                pair.a.saw(|event| *event == Event::Lost(LossReason::SetupTimeout)),
                "{:?}",
                pair.a.events
            );
            // Once per RTO.Initial at most, beside those of T1.
            let echoes = pair.sent_since(Side::A, sent).len() as u64;
            let most = took.as_millis() / config.rto_initial.as_millis() + 10;
            assert!(echoes <= most, "{echoes} in {took}, at most {most}");
            took
        });
        assert_eq!(repeated, alone);
    }
}

/// T2-shutdown (RFC 9260 §9.2): the SHUTDOWN COMPLETE does not arrive, and INITs in clear make B repeat the
/// SHUTDOWN ACK.
#[test]
fn repeated_inits_do_not_prolong_a_shutdown() {
    for config in [psk(), Config::default()] {
        let [alone, repeated] = [false, true].map(|repeats| {
            let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
            pair.log = Some(Vec::new());
            pair.connect(config.clone(), vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
            pair.run_for(Span::from_secs(2));
            pair.transfer(Side::A, 5, 100, Span::from_secs(1));
            pair.run_for(Span::from_secs(1));
            pair.with(Side::A, |a, now| a.shutdown(now));
            pair.drop_if(|_| true);
            assert!(
                pair.run_until(Span::from_secs(1), |pair| pair.b.state() == Some(State::ShutdownAckSent))
            );
            let init = Init {
                initiate_tag: VerificationTag::new(7),
                a_rwnd: 100_000,
                outbound_streams: 1,
                inbound_streams: 1,
                initial_tsn: Tsn::new(1),
                params: Params::EMPTY,
            };
            let bytes = packet(Side::B, 0, &[&init]);
            let sent = pair.log_len();
            let took = time_to_loss(&mut pair, Side::B, |pair| {
                if repeats {
                    pair.inject(Side::B, Pair::at(Side::B), &bytes);
                }
            });
            let others =
                pair.sent_since(Side::B, sent).iter().filter(|flight| flight.at.remote == a_ip(1)).count();
            assert!(others >= 2, "{others} SHUTDOWN ACKs to the other address");
            took
        });
        assert_eq!(repeated, alone);
    }
}

/// An ABORT in clear that seems to come from a host without the association makes A send HEARTBEATs. They
/// leave faster than they are answered on this path, whose round-trip time has grown: answers still count.
#[test]
fn heartbeats_that_an_attacker_causes_hide_no_answer() {
    let mut pair = Pair::new(psk(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(psk(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(5));
    pair.transfer(Side::A, 20, 100, Span::from_secs(5));
    pair.default_delay = Span::from_millis(400);
    let forged = msctp_wire::Abort { tag_reflected: true, causes: Causes::EMPTY };
    let bytes = packet(Side::A, pair.tag_of(Side::B), &[&forged]);
    let mut errors = 0;
    for _ in 0..3000 {
        pair.inject(Side::A, Pair::at(Side::A), &bytes);
        pair.run_for(Span::from_millis(20));
        errors = errors.max(pair.with(Side::A, |a, _| a.paths().next().unwrap().error_count));
    }
    // The first one is late by the RTO of the shorter path.
    assert!(errors <= 1, "{errors} errors");
    pair.transfer(Side::A, 20, 100, Span::from_secs(10));
}

/// A forged HEARTBEAT ACK with a wrong nonce does not use up the right one.
#[test]
fn a_forged_heartbeat_ack_uses_up_no_nonce() {
    let mut pair = Pair::established(Config::default());
    pair.log = Some(Vec::new());
    pair.transfer(Side::B, 1, 100, Span::from_secs(1));
    pair.run_for(Span::from_secs(1));
    let tag = pair.tag_of(Side::A);
    let path = pair.path(Side::A, a_ip(0), b_ip(0));
    pair.with(Side::A, |a, now| a.request_heartbeat(now, path)).unwrap();
    let beat = pair.sent_since(Side::A, 0).pop().unwrap();
    assert_eq!(beat.chunks(), [chunk::HEARTBEAT]);
    let len = usize::from(u16::from_be_bytes([beat.bytes[18], beat.bytes[19]])) - 4;
    for byte in 0..len {
        let mut info = beat.bytes[20..20 + len].to_vec();
        info[byte] ^= 1;
        let params = [Param::HeartbeatInfo(&info)];
        let answer = msctp_wire::HeartbeatAck { params: Params::from(&params) };
        pair.inject(Side::A, Pair::at(Side::A), &packet(Side::A, tag, &[&answer]));
    }
    pair.run_for(Span::from_secs(2));
    let stats = pair.with(Side::A, |a, _| a.paths().next().unwrap());
    assert_eq!(stats.error_count, 0, "{stats:?}");
}
