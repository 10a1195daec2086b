//! A peer with AUTH but without a shared key: any observer of the set-up can sign (RFC 4895 §6.1).

use hmac::{Hmac, KeyInit, Mac};
use msctp_wire::{Auth, Checksum, Chunk, EncodeChunk, HmacId, Packet, Tlv};
use sha1::Sha1;

use crate::support::{Flight, Pair, Side, chunk, packet, reseal};

/// Returns the key of an association whose set-up is in the log: both ends' parameters, the smaller first
/// (RFC 4895 §6.1).
pub(crate) fn material(log: &[Flight]) -> Vec<u8> {
    let parameters = |chunk_type: u8| {
        let flight = log.iter().find(|flight| flight.has(chunk_type)).expect("the set-up is in the log");
        let packet = Packet::parse(&flight.bytes, Checksum::Verify).unwrap();
        let params = match packet.chunks().next() {
            Some(Ok(Chunk::Init(init))) => init.params,
            Some(Ok(Chunk::InitAck(ack))) => ack.params,
            other => panic!("{other:?}"),
        };
        let mut bytes = Vec::new();
        for param in params.iter().flatten().filter(|param| (0x8002..=0x8004).contains(&param.typ().0)) {
            Tlv::encode(&param, &mut bytes);
        }
        bytes
    };
    let mut both = [parameters(chunk::INIT), parameters(chunk::INIT_ACK)];
    both.sort_by(|a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
    both.concat()
}

/// Builds a packet to B, signed with HMAC-SHA1, the shortest HMAC.
pub(crate) fn signed(pair: &Pair, chunks: &[&dyn EncodeChunk]) -> Vec<u8> {
    let auth = Auth { shared_key_id: 0, hmac_id: HmacId::SHA1, hmac: &[0; 20] };
    let all: Vec<&dyn EncodeChunk> =
        core::iter::once(&auth as &dyn EncodeChunk).chain(chunks.iter().copied()).collect();
    let mut bytes = packet(Side::B, pair.tag_of(Side::B), &all);
    let key = material(pair.log.as_ref().expect("the log is on"));
    let mac = Hmac::<Sha1>::new_from_slice(&key).unwrap().chain_update(&bytes[12..]).finalize().into_bytes();
    bytes[20..40].copy_from_slice(&mac);
    reseal(&mut bytes);
    bytes
}
