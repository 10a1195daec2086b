//! A peer with forged source addresses: an unconfirmed address gets at most three times the bytes received
//! from it, whatever chunk answers (RFC 9260 §5.4 does not define the factor; RFC 9000 §8.1 has three).

use core::net::IpAddr;

use msctp_proto::{Config, PathAddr};
use msctp_units::Span;
use msctp_wire::param::AddressRequest as Request;
use msctp_wire::{
    Asconf, AsconfSerial, CookieAck, CorrelationId, EncodeChunk, Heartbeat, Pad, Param, Params,
};

use crate::attacks::null_key::signed;
use crate::support::{Flight, Pair, Side, a_ip, b_ip, chunk, ip, message, packet, reseal};

const LIMIT: usize = 3;
/// Bytes of an IPv4 header.
const IP: usize = 20;

fn up(config: &Config) -> Pair {
    let mut pair = Pair::new(config.clone(), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    pair.connect(config.clone(), vec![a_ip(0)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(3));
    pair
}

/// Returns the serial number of A's first ASCONF: its initial TSN (RFC 5061 §5.1 A2).
fn first_serial(pair: &Pair) -> AsconfSerial {
    let log = pair.log.as_ref().unwrap();
    let init = &log.iter().find(|flight| flight.has(chunk::INIT)).unwrap().bytes;
    AsconfSerial::new(u32::from_be_bytes(init[28..32].try_into().unwrap()))
}

fn request(id: u32, address: IpAddr) -> Request {
    Request { correlation_id: CorrelationId::new(id), address }
}

/// Returns the bytes of IP packets sent to an address since then, and the packets.
fn sent_to(pair: &Pair, since: usize, victim: impl Fn(&IpAddr) -> bool) -> (usize, Vec<Flight>) {
    let mut sent = pair.sent_since(Side::B, since);
    sent.retain(|flight| victim(&flight.at.remote));
    (sent.iter().map(|flight| flight.bytes.len() + IP).sum(), sent)
}

#[test]
fn a_cached_asconf_ack_is_no_amplifier() {
    for config in [Config::default(), Config::mobile()] {
        let mut pair = up(&config);
        let serial = first_serial(&pair);
        // Failed requests are quoted: the answer is large, and is cached for retransmissions (RFC 5061 §5.2
        // E2).
        let requests: Vec<Param<'_>> =
            (0..60).map(|n| Param::SetPrimaryAddress(request(n, ip(99, n as u8)))).collect();
        let large = Asconf { serial, address: a_ip(0), requests: Params::from(&requests[..]) };
        let before = pair.log_len();
        let bytes = signed(&pair, &[&large]);
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
        let answer = pair.sent_since(Side::B, before);
        assert!(
            answer.iter().any(|flight| flight.has(chunk::ASCONF_ACK)),
            "the peer's own address is answered"
        );
        let small = Asconf { serial, address: a_ip(0), requests: Params::EMPTY };
        let bytes = signed(&pair, &[&small]);
        for victim in (1..=250).map(|n| ip(77, n)) {
            let before = pair.log_len();
            pair.inject(Side::B, PathAddr { local: b_ip(0), remote: victim }, &bytes);
            let (sent, _) = sent_to(&pair, before, |to| *to == victim);
            assert!(sent <= LIMIT * (bytes.len() + IP), "{sent} bytes for {}", bytes.len() + IP);
        }
        // The genuine sender still gets complete answers.
        let before = pair.log_len();
        let bytes = signed(&pair, &[&small]);
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
        assert_eq!(pair.sent_since(Side::B, before)[0].bytes.len(), answer[0].bytes.len());
    }
}

#[test]
fn heartbeats_and_unknown_chunks_from_a_forged_address_are_amplified_at_most_threefold() {
    let mut pair = up(&Config::default());
    let tag = pair.tag_of(Side::B);
    let victim = ip(77, 1);
    let at = PathAddr { local: b_ip(0), remote: victim };
    let info = [7; 40];
    let params = [Param::HeartbeatInfo(&info)];
    let heartbeat = Heartbeat { params: Params::from(&params) };
    let heartbeats = vec![&heartbeat as &dyn EncodeChunk; 28];
    let mut packets = vec![packet(Side::B, tag, &heartbeats)];
    // Each is to be reported (RFC 9260 §3.2); the report is three times as long.
    for count in [1, 2, 10, 340] {
        let mut bytes = packet(Side::B, tag, &[&CookieAck]);
        bytes.truncate(12);
        bytes.extend([0xfe, 0, 0, 4].repeat(count));
        reseal(&mut bytes);
        packets.push(bytes);
    }
    for bytes in packets {
        let before = pair.log_len();
        pair.inject(Side::B, at, &bytes);
        let (sent, answers) = sent_to(&pair, before, |to| *to == victim);
        assert!(sent <= LIMIT * (bytes.len() + IP), "{sent} bytes for {}", bytes.len() + IP);
        assert!(
            bytes.len() != 28 * 48 + 12 || answers[0].chunks() == [chunk::HEARTBEAT_ACK; 28],
            "RFC 9260 §8.3"
        );
    }
}

#[test]
fn early_data_replies_and_heartbeats_together_keep_the_limit() {
    for pad in [None, Pad::filling(1300)] {
        let mut pair = up(&Config::mobile());
        let serial = first_serial(&pair);
        let victim = ip(77, 7);
        while pair.with(Side::B, |b, now| b.send(now, message(0, vec![1; 1400]))).is_ok() {}
        pair.drop_if(|_| true);
        let before = pair.log_len();
        let params = [
            Param::AddIpAddress(request(1, victim)),
            Param::SetPrimaryAddress(request(2, victim)),
            Param::DeleteIpAddress(request(3, a_ip(0))),
        ];
        let asconf = Asconf { serial, address: victim, requests: Params::from(&params) };
        let (info, mut forged) = ([7; 200], 0);
        let of_heartbeat = [Param::HeartbeatInfo(&info)];
        let heartbeat = Heartbeat { params: Params::from(&of_heartbeat) };
        for _ in 0..100 {
            let mut chunks: Vec<&dyn EncodeChunk> = vec![&asconf, &heartbeat];
            chunks.extend(pad.iter().map(|pad| pad as &dyn EncodeChunk));
            let bytes = signed(&pair, &chunks);
            pair.inject(Side::B, PathAddr { local: b_ip(0), remote: victim }, &bytes);
            forged += bytes.len() + IP;
            pair.run_for(Span::from_millis(100));
        }
        let (sent, _) = sent_to(&pair, before, |to| *to == victim);
        assert!(sent > 0 && sent <= LIMIT * forged, "{sent} bytes for {forged}");
    }
}
