//! AUTH with a wrong key: another association's, none (CVE-2026-23125: the null key dereferenced), one for an
//! identifier that was never set, an algorithm that was not offered.

use hmac::{Hmac, KeyInit, Mac};
use msctp_proto::{AuthConfig, HmacAlgorithm};
use msctp_wire::{Auth, Cause, Chunk, HmacId, Packet};
use sha1::Sha1;
use sha2::Sha256;

use crate::attacks::victim::{forged, keyed, sources, unmoved, victims};
use crate::support::{Pair, Side, ip, reseal};

/// Builds the forged ASCONF after AUTH, signed with `key`. Everything else may be right.
fn signed(pair: &Pair, key_id: u16, id: HmacId, key: &[u8]) -> Vec<u8> {
    let hmac = vec![0; if id == HmacId::SHA1 { 20 } else { 32 }];
    let mut bytes = forged(pair, ip(66, 6), &[&Auth { shared_key_id: key_id, hmac_id: id, hmac: &hmac }]);
    let mac = match id {
        HmacId::SHA1 => Hmac::<Sha1>::new_from_slice(key)
            .unwrap()
            .chain_update(&bytes[12..])
            .finalize()
            .into_bytes()
            .to_vec(),
        _ => Hmac::<Sha256>::new_from_slice(key)
            .unwrap()
            .chain_update(&bytes[12..])
            .finalize()
            .into_bytes()
            .to_vec(),
    };
    bytes[20..20 + mac.len()].copy_from_slice(&mac);
    reseal(&mut bytes);
    bytes
}

/// Returns keys that an attacker can guess: none, the secret without the Random Numbers, and the observed
/// Random Numbers without the secret. The last is the null key.
fn guesses(pair: &Pair) -> Vec<Vec<u8>> {
    let log = pair.log.as_ref().expect("on");
    let vector = |index: usize| {
        let mut vector = Vec::new();
        let (skip, params) = (12 + 20, &log[index].bytes);
        let Ok(packet) = Packet::parse(params, msctp_wire::Checksum::Verify) else { panic!("no packet") };
        let list = match packet.chunks().next() {
            Some(Ok(Chunk::Init(init))) => init.params,
            Some(Ok(Chunk::InitAck(ack))) => ack.params,
            other => panic!("{other:?}, {skip}"),
        };
        for param in list.iter().flatten().filter(|param| (0x8002..=0x8004).contains(&param.typ().0)) {
            msctp_wire::Tlv::encode(&param, &mut vector);
        }
        vector
    };
    let (init, init_ack) = (vector(0), vector(1));
    vec![
        Vec::new(),
        b"another secret".to_vec(),
        b"both ends know".to_vec(),
        [&init[..], &init_ack].concat(),
        [&init_ack[..], &init].concat(),
        [b"another secret", &init[..], &init_ack].concat(),
        [b"another secret", &init_ack[..], &init].concat(),
    ]
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# If an association is found, it MUST process the AUTH chunk using the STCB from the existing association as
//# described earlier.
#[test]
fn no_guessed_key_or_identifier_is_accepted() {
    let mut pair = victims(keyed());
    unmoved(&mut pair, |pair| {
        let mut tried = 0;
        for key in guesses(pair) {
            for key_id in [0, 1, 2, 0xffff] {
                for id in [HmacId::SHA256, HmacId::SHA1] {
                    for at in sources(ip(66, 6)) {
                        let (sent, bytes) = (pair.log_len(), signed(pair, key_id, id, &key));
                        pair.inject(Side::B, at, &bytes);
                        assert_eq!(pair.log_len(), sent, "silently (RFC 4895 §6.3)");
                        tried += 1;
                    }
                }
            }
        }
        assert_eq!(pair.with(Side::B, |b, _| b.stats().unauthenticated_chunks), tried);
    });
}

#[test]
fn only_an_observer_of_the_handshake_has_the_null_key() {
    // RFC 5061 §6: without pre-shared keys the first two packets reveal the key.
    let mut pair = victims(AuthConfig::default());
    let right = guesses(&pair)[3..5].to_vec();
    let before = pair.with(Side::B, |b, _| b.paths().count());
    for key in right {
        let bytes = signed(&pair, 0, HmacId::SHA256, &key);
        pair.inject(Side::B, Pair::at(Side::B), &bytes);
    }
    assert_ne!(
        pair.with(Side::B, |b, _| b.paths().count()),
        before,
        "so that the tests above test something"
    );
    let mut pair = victims(AuthConfig::default());
    unmoved(&mut pair, |pair| {
        for key in &guesses(pair)[..3] {
            let bytes = signed(pair, 0, HmacId::SHA256, key);
            pair.inject(Side::B, Pair::at(Side::B), &bytes);
        }
    });
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# the AUTH chunk and all the chunks after it MUST be discarded
#[test]
fn an_algorithm_that_was_not_offered_is_rejected_by_name() {
    let mut pair = victims(AuthConfig { algorithms: vec![HmacAlgorithm::Sha1], ..keyed() });
    unmoved(&mut pair, |pair| {
        for id in [0, 2, 3, 0xffff] {
            let bytes = signed(pair, 1, HmacId::new(id), b"any");
            pair.inject(Side::B, Pair::at(Side::B), &bytes);
            let answer = pair.log.as_ref().unwrap().last().unwrap().clone();
            let packet = Packet::parse(&answer.bytes, msctp_wire::Checksum::Verify).unwrap();
            // The packet is signed, as all packets are with a shared key.
            let Some(Ok(Chunk::Error(error))) = packet.chunks_past_auth().next() else {
                panic!("no ERROR: {:?}", answer.chunks())
            };
            assert_eq!(
                error.causes.iter().next(),
                Some(Ok(Cause::UnsupportedHmac(HmacId::new(id)))),
                "RFC 4895 §4.1"
            );
        }
    });
}
