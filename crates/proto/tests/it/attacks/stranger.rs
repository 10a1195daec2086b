//! A stranger: sends its own INITs and COOKIE ECHOs from any address, and reads the answers.

use core::net::IpAddr;

use hmac::{Hmac, KeyInit, Mac};
use msctp_proto::{AuthConfig, DatagramOutcome, PathAddr, SharedKey};
use msctp_wire::{
    Abort, Auth, Causes, Checksum, Chunk, CookieEcho, Data, DataFlags, EncodeChunk, HmacId, Init, Packet,
    Param, Params, Ppid, Ssn, StreamId, Tlv, Tsn, VerificationTag,
};
use sha1::Sha1;

use crate::support::{Flight, Pair, Side, chunk, packet, reseal};

/// The tag that the stranger chooses.
pub(crate) const TAG: u32 = 0x6666;

pub(crate) fn init<'a>(params: &'a [Param<'a>]) -> Init<'a> {
    Init {
        initiate_tag: VerificationTag::new(TAG),
        a_rwnd: 1 << 20,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn::new(1),
        params: Params::from(params),
    }
}

pub(crate) const ABORT: Abort<'static> = Abort { tag_reflected: false, causes: Causes::EMPTY };

pub(crate) fn data(tsn: u32, payload: &[u8]) -> Data<'_> {
    Data {
        tsn: Tsn::new(tsn),
        stream: StreamId::new(0),
        ssn: Ssn::new(0),
        ppid: Ppid::new(0),
        flags: DataFlags::UNFRAGMENTED,
        payload,
    }
}

/// Returns options with a key that both ends have.
pub(crate) fn keyed() -> AuthConfig {
    AuthConfig {
        keys: vec![SharedKey { id: 1, secret: b"both ends know 16".to_vec() }],
        ..AuthConfig::default()
    }
}

/// Returns addresses to `to`, from an address that may be another host's.
pub(crate) fn from(to: Side, remote: IpAddr) -> PathAddr {
    PathAddr { remote, ..Pair::at(to) }
}

/// Injects an INIT with these parameters into `to`; returns its answers.
pub(crate) fn ask(pair: &mut Pair, to: Side, at: PathAddr, params: &[Param<'_>]) -> Vec<Flight> {
    let before = pair.log_len();
    pair.inject(to, at, &packet(to, 0, &[&init(params)]));
    pair.sent_since(to, before)
}

/// Returns tag and cookie of an INIT ACK.
pub(crate) fn init_ack(flights: &[Flight]) -> Option<(u32, Vec<u8>)> {
    let flight = flights.iter().find(|flight| flight.has(chunk::INIT_ACK))?;
    let packet = Packet::parse(&flight.bytes, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::InitAck(ack))) = packet.chunks().next() else { panic!("{flight:?}") };
    let cookie = ack.params.iter().flatten().find_map(|param| match param {
        Param::StateCookie(cookie) => Some(cookie.to_vec()),
        _ => None,
    });
    Some((ack.initiate_tag.get(), cookie.unwrap()))
}

/// Injects a COOKIE ECHO with more chunks after it.
pub(crate) fn echo(
    pair: &mut Pair,
    to: Side,
    at: PathAddr,
    (tag, cookie): &(u32, Vec<u8>),
    more: &[&dyn EncodeChunk],
) -> DatagramOutcome {
    let echo = CookieEcho { cookie };
    let chunks: Vec<&dyn EncodeChunk> =
        [&echo as &dyn EncodeChunk].into_iter().chain(more.iter().copied()).collect();
    pair.inject(to, at, &packet(to, *tag, &chunks))
}

/// Builds a packet to `to`, signed with HMAC-SHA1 under this key.
pub(crate) fn signed(to: Side, tag: u32, id: u16, key: &[u8], chunks: &[&dyn EncodeChunk]) -> Vec<u8> {
    let auth = Auth { shared_key_id: id, hmac_id: HmacId::SHA1, hmac: &[0; 20] };
    let all: Vec<&dyn EncodeChunk> =
        [&auth as &dyn EncodeChunk].into_iter().chain(chunks.iter().copied()).collect();
    let mut bytes = packet(to, tag, &all);
    let mac = Hmac::<Sha1>::new_from_slice(key).unwrap().chain_update(&bytes[12..]).finalize().into_bytes();
    bytes[20..40].copy_from_slice(&mac);
    reseal(&mut bytes);
    bytes
}

/// Returns the AUTH parameters in an INIT or INIT ACK, in the form used for keys (RFC 4895 §6.1).
pub(crate) fn vector(bytes: &[u8]) -> Vec<u8> {
    let packet = Packet::parse(bytes, Checksum::Verify).unwrap();
    let params = match packet.chunks().next() {
        Some(Ok(Chunk::Init(init))) => init.params,
        Some(Ok(Chunk::InitAck(ack))) => ack.params,
        other => panic!("{other:?}"),
    };
    let mut vector = Vec::new();
    for param in params.iter().flatten().filter(|param| (0x8002..=0x8004).contains(&param.typ().0)) {
        param.encode(&mut vector);
    }
    vector
}
