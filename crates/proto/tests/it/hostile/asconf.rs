//! Byte scripts as ASCONFs of a malicious peer. The peer has the keys, so AUTH would accept them; here
//! neither end demands it. Shared by the tests here and the fuzz target `asconf`.

use msctp_proto::{AuthConfig, Config, PathAddr};
use msctp_units::Span;
use msctp_wire::{Asconf, AsconfAck, AsconfSerial, EncodeChunk, Params};

use crate::support::{Pair, Side, a_ip, b_ip, chunk, packet};

/// Largest number of chunks in a run.
const MAX_CHUNKS: usize = 32;

/// Plays bytes as ASCONFs and ASCONF-ACKs from A to B after the handshake. Each has a byte for type and
/// serial number, one for the length, then the parameters. Afterwards the association still works, or has
/// ended with an ABORT that gives the reason.
///
/// # Panics
/// An end panics, answers without bound, or keeps more addresses than allowed.
pub(crate) fn play(mut bytes: &[u8]) {
    let config = Config { auth: AuthConfig::without(), ..Config::default() };
    let mut pair = Pair::new(config.clone(), vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    pair.connect(config, vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    pair.run_for(Span::from_secs(2));
    pair.with(Side::A, |a, now| a.add_local_address(now, a_ip(2))).expect("an association that is up");
    pair.run_for(Span::from_secs(2));
    let log = pair.log.as_ref().expect("the log is on");
    let sent = log.iter().find(|flight| flight.has(chunk::ASCONF)).expect("it was asked for");
    let mut serial = u32::from_be_bytes(sent.bytes[16..20].try_into().expect("four bytes"));
    let tag = pair.tag_of(Side::B);
    for _ in 0..MAX_CHUNKS {
        let [choice, len, rest @ ..] = bytes else { break };
        let (params, rest) = rest.split_at(usize::from(*len).min(rest.len()));
        bytes = rest;
        serial = match choice & 3 {
            0 | 1 => serial.wrapping_add(1),
            2 => serial,
            _ => serial.wrapping_sub(u32::from(choice >> 4)),
        };
        let remote = [a_ip(0), a_ip(1), a_ip(2), "198.51.100.7".parse().expect("an address")]
            [usize::from(choice >> 2 & 3)];
        let at = PathAddr { local: if choice & 0x10 == 0 { b_ip(0) } else { b_ip(1) }, remote };
        let (requests, number) = (Params::from_wire(params), AsconfSerial::new(serial));
        let asconf = Asconf { serial: number, address: remote, requests };
        let ack = AsconfAck { serial: number, responses: requests };
        let chunks: &[&dyn EncodeChunk] = match choice >> 6 {
            0 | 1 => &[&asconf],
            2 => &[&asconf, &asconf],
            _ => &[&ack],
        };
        let before = pair.log_len();
        pair.inject(Side::B, at, &packet(Side::B, tag, chunks));
        let answers = pair.log_len() - before;
        assert!(answers <= 64, "{answers} packets in answer to one");
        if pair.b.state().is_none() {
            // RFC 5061 §5.3 F0: an unexpected ASCONF-ACK aborts the association.
            assert!(choice >> 6 == 3, "an ASCONF ended the association");
            return;
        }
        let remotes = pair.with(Side::B, |b, _| b.paths().count());
        assert!((1..=64).contains(&remotes), "{remotes} paths");
    }
    pair.run_for(Span::from_secs(3));
}
