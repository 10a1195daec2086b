//! The silence detector (`FailoverConfig::silence`) against a peer that feigns failures, and one that only
//! appears alive.

use msctp_proto::{AssociationState as State, AuthConfig, Config};
use msctp_units::{Rate, Span};
use msctp_wire::{CookieEcho, EncodeChunk, Heartbeat, Param, Params};

use crate::attacks::stranger::keyed;
use crate::support::{Fate, Pair, Side, a_ip, b_ip, message, packet};

/// Returns a pair whose B sends to A over two networks of 20 Mbit/s.
fn download() -> Pair {
    download_with(AuthConfig::default())
}

fn download_with(auth: AuthConfig) -> Pair {
    let networks = vec![a_ip(0), a_ip(1)];
    let config = Config { auth, ..Config::mobile() };
    let mut pair = Pair::established_with(config.clone(), config, networks, vec![b_ip(0), b_ip(1)]);
    pair.rate = Some(Rate::from_mbps(20));
    pair
}

/// Keeps B's buffer full for this long. Returns the chunks sent and retransmitted.
fn feed(pair: &mut Pair, span: Span) -> (u64, u64) {
    let end = pair.now + span;
    while pair.now < end && pair.b.state().is_some() {
        while pair.with(Side::B, |b, now| b.send(now, message(0, vec![1; 1100]))).is_ok() {}
        pair.a.received.clear();
        pair.run_for(Span::from_millis(20));
    }
    let stats = pair.with(Side::B, |b, _| b.stats());
    (stats.data_chunks_sent, stats.data_chunks_retransmitted)
}

#[test]
fn a_peer_that_feigns_failures_causes_few_retransmissions() {
    let mut pair = download();
    let begin = pair.now;
    // Packets to its first address are dropped for 150 ms of every second.
    pair.filter = Box::new(move |flight| {
        let dead = flight.sent.since(begin).as_millis() % 1000 < 150;
        let first = flight.at.remote == a_ip(0) || flight.at.local == a_ip(0);
        if dead && first { Fate::Drop } else { Fate::Pass }
    });
    let (new, again) = feed(&mut pair, Span::from_secs(60));
    assert_eq!(pair.b.state(), Some(State::Established));
    assert!(new > 10_000, "{new} chunks");
    // Up to 15 % are lost; further retransmissions are caused by declared silence.
    assert!(again < new / 4, "{again} of {new} chunks again");
}

#[test]
fn a_path_with_packets_but_no_acknowledgements_is_left_by_t3_rtx() {
    let mut pair = download();
    feed(&mut pair, Span::from_secs(5));
    // Its first address still sends packets; packets to it are lost.
    pair.filter = Box::new(|flight| {
        let lost = flight.from == Side::B && flight.at.remote == a_ip(0);
        if lost { Fate::Drop } else { Fate::Pass }
    });
    let before = pair.with(Side::B, |b, _| b.stats().bytes_acked);
    let end = pair.now + Span::from_secs(5);
    while pair.now < end {
        // A sends data over the path that drops B's.
        let _ = pair.with(Side::A, |a, now| a.send(now, message(0, vec![1; 100])));
        feed(&mut pair, Span::from_millis(20));
    }
    let acked = pair.with(Side::B, |b, _| b.stats().bytes_acked) - before;
    assert!(acked > 2_000_000, "{acked} bytes over the other path");
}

/// Returns the bytes that A acknowledges in the first second after its first network failed. `forged` arrives
/// from the dead address every 10 ms, with the right verification tag if `known_tag` is true.
fn acked_after_death(auth: AuthConfig, forged: Option<&dyn EncodeChunk>, known_tag: bool) -> u64 {
    let mut pair = download_with(auth);
    pair.log = Some(Vec::new());
    feed(&mut pair, Span::from_secs(5));
    let tag = if known_tag { pair.tag_of(Side::B) } else { 7 };
    pair.log = None;
    pair.drop_if(|flight| flight.at.remote == a_ip(0) || flight.at.local == a_ip(0));
    let before = pair.with(Side::B, |b, _| b.stats().bytes_acked);
    for _ in 0..50 {
        for _ in 0..2 {
            if let Some(chunk) = forged {
                pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, tag, &[chunk]));
            }
            pair.run_for(Span::from_millis(10));
        }
        feed(&mut pair, Span::ZERO + Span::from_nanos(1));
    }
    pair.with(Side::B, |b, _| b.stats().bytes_acked) - before
}

#[test]
fn a_forged_packet_does_not_keep_a_dead_path_alive() {
    let params = [Param::HeartbeatInfo(b"I am here")];
    let heartbeat = Heartbeat { params: Params::from(&params) };
    let echo = CookieEcho { cookie: &[7; 100] };
    // An observer without the key, and an attacker without the verification tag.
    let attacks: [(AuthConfig, &dyn EncodeChunk, bool); 2] =
        [(keyed(), &heartbeat, true), (AuthConfig::default(), &echo, false)];
    for (auth, forged, known_tag) in attacks {
        let alone = acked_after_death(auth.clone(), None, known_tag);
        let attacked = acked_after_death(auth, Some(forged), known_tag);
        assert!(alone > 500_000, "{alone} bytes over the other path");
        assert!(attacked >= alone * 9 / 10, "{attacked} of {alone} bytes while packets are forged");
    }
}
