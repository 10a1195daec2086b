//! Forged answers to bandwidth probes: they yield no estimate, and open no window beyond the old path's.

use msctp_lab_schemes::policies::{PolicyConfig, policy};
use msctp_proto::{Config, PathId};
use msctp_units::Span;
use msctp_wire::{Checksum, Chunk, EncodeChunk, HeartbeatAck, Packet, Param, Params};

use crate::support::{Fate, Pair, Side, a_ip, b_ip, chunk, message, packet};

/// Returns a pair whose B probes each new path of A's (Kim & Koh) and has sent data.
fn probing() -> Pair {
    let config = Config {
        handover_policy: policy("adaptive", &PolicyConfig::default()).unwrap(),
        ..Config::default()
    };
    let mut pair = Pair::established_with(Config::default(), config, vec![a_ip(0)], vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.transfer(Side::A, 1, 10, Span::from_secs(1));
    pair.transfer(Side::B, 20, 1000, Span::from_secs(5));
    pair
}

/// Returns the information of every HEARTBEAT that B sent since then.
fn heartbeats(pair: &Pair, since: usize) -> Vec<Vec<u8>> {
    let mut infos = Vec::new();
    for flight in pair.sent_since(Side::B, since) {
        let packet = Packet::parse(&flight.bytes, Checksum::Verify).unwrap();
        for chunk in packet.chunks().flatten() {
            let Chunk::Heartbeat(heartbeat) = chunk else { continue };
            let info = heartbeat.params.iter().flatten().find_map(|param| match param {
                Param::HeartbeatInfo(info) => Some(info.to_vec()),
                _ => None,
            });
            infos.extend(info);
        }
    }
    infos
}

fn answer(pair: &mut Pair, tag: u32, infos: &[Vec<u8>]) {
    for some in infos.chunks(20) {
        let params: Vec<[Param<'_>; 1]> = some.iter().map(|info| [Param::HeartbeatInfo(info)]).collect();
        let acks: Vec<HeartbeatAck<'_>> =
            params.iter().map(|params| HeartbeatAck { params: Params::from(params) }).collect();
        let chunks: Vec<&dyn EncodeChunk> = acks.iter().map(|ack| ack as &dyn EncodeChunk).collect();
        let bytes = packet(Side::B, tag, &chunks);
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
    }
}

#[test]
fn forged_and_replayed_answers_to_probes_are_not_measurements() {
    let mut pair = probing();
    let tag = pair.tag_of(Side::B);
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    let log = pair.log_len();
    pair.run_for(Span::from_millis(300));
    // From now on only the attacker answers.
    pair.filter = Box::new(|flight| {
        if flight.from == Side::A && flight.has(chunk::HEARTBEAT_ACK) { Fate::Drop } else { Fate::Pass }
    });
    let view = |pair: &mut Pair| {
        pair.with(Side::B, |b, _| {
            b.paths().map(|path| (path.id, path.state, path.cwnd, path.available)).collect::<Vec<_>>()
        })
    };
    pair.run_for(Span::from_millis(700));
    let before = view(&mut pair);
    let seen = heartbeats(&pair, log);
    assert!(seen.len() > 10, "{} probes", seen.len());
    for byte in 0..seen[0].len() {
        let wrong = seen.iter().map(|info| {
            let mut info = info.clone();
            info[byte] ^= 0x55;
            info
        });
        answer(&mut pair, tag, &wrong.collect::<Vec<_>>());
    }
    assert_eq!(view(&mut pair), before);
}

#[test]
fn immediate_answers_open_no_window_beyond_the_old_one() {
    let mut pair = probing();
    let tag = pair.tag_of(Side::B);
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_millis(200));
    let mut log = pair.log_len();
    for _ in 0..4_000 {
        pair.run_for(Span::from_micros(500));
        let probes = heartbeats(&pair, log);
        log = pair.log_len();
        answer(&mut pair, tag, &probes);
    }
    let old = pair.with(Side::B, |b, _| b.paths().map(|path| path.cwnd).max().unwrap());
    pair.with(Side::A, |a, now| a.request_peer_primary(now, a_ip(1))).unwrap();
    pair.run_for(Span::from_secs(1));
    let paths: Vec<_> = pair.with(Side::B, |b, _| b.paths().collect());
    let primary = paths.iter().find(|path| path.primary).unwrap();
    assert_ne!(primary.id, PathId::new(0), "it moved");
    assert!(primary.cwnd <= old.max(4 * 1468), "{} after {old}", primary.cwnd);
    pair.send(Side::B, message(0, vec![1; 1000]));
}
