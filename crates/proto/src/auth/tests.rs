//! Both ends of RFC 4895, without an association around them.

use msctp_wire::{Asconf, AsconfSerial, Chunk, PacketBuilder, Params, ShutdownComplete, VerificationTag};

use super::*;

fn config() -> AuthConfig {
    AuthConfig::default()
}

/// Returns two ends with each other's parameters of INIT and INIT ACK.
fn pair(a: &AuthConfig, b: &AuthConfig) -> [Authentication; 2] {
    let (mut one, mut other) = (Authentication::new(a, [1; 32]), Authentication::new(b, [2; 32]));
    let (of_one, of_other) = (one.ours(a), other.ours(b));
    one.agree(a, of_other.as_ref());
    other.agree(b, of_one.as_ref());
    [one, other]
}

/// Returns a packet with an ASCONF, as `from` sends it.
fn asconf_packet(from: &mut Authentication) -> Vec<u8> {
    let mut out = Vec::new();
    let mut builder = PacketBuilder::new(&mut out, 1, 2, VerificationTag::new(3), 1500);
    builder.plan_auth(*from.plan().unwrap());
    // Never signed, so that AUTH follows it.
    builder.push(&ShutdownComplete { tag_reflected: false }).unwrap();
    let address = core::net::Ipv4Addr::LOCALHOST.into();
    builder.push(&Asconf { serial: AsconfSerial::new(1), address, requests: Params::EMPTY }).unwrap();
    assert!(builder.has_auth());
    from.sign_packet(&mut builder);
    builder.finish();
    out
}

/// Returns the verdict of `to` on such a packet, from the AUTH chunk on.
fn judge(to: &mut Authentication, packet: &[u8]) -> Verdict {
    judge_under(&config(), to, packet)
}

/// Returns the verdict of an end with these options.
fn judge_under(config: &AuthConfig, to: &mut Authentication, packet: &[u8]) -> Verdict {
    let from_auth = &packet[16..];
    let Ok(Chunk::Auth(auth)) = Chunk::parse(from_auth) else { panic!("no AUTH: {from_auth:?}") };
    to.verify(config, &auth, from_auth)
}

const VALID: Verdict = Verdict::Valid { new_key: None };

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# The receiver MUST use the HMAC algorithm indicated in the HMAC Identifier field.
#[test]
fn a_signature_verifies_and_no_changed_bit_does() {
    let only_sha1 = AuthConfig { algorithms: vec![HmacAlgorithm::Sha1], ..config() };
    for (a, b, len) in
        [(config(), config(), 40), (config(), only_sha1.clone(), 28), (only_sha1, config(), 40)]
    {
        let [mut one, mut other] = pair(&a, &b);
        let mut packet = asconf_packet(&mut one);
        assert_eq!(usize::from(packet[19]), len, "the algorithm that the receiver prefers (§6.1)");
        assert_eq!(judge_under(&b, &mut other, &packet), VALID);
        for bit in 16 * 8..packet.len() * 8 {
            packet[bit / 8] ^= 1 << (bit % 8);
            // Flags of the AUTH chunk "MUST be ignored on receipt", but they are signed.
            let believed = matches!(
                Chunk::parse(&packet[16..]),
                Ok(Chunk::Auth(auth)) if matches!(other.verify(&b, &auth, &packet[16..]), Verdict::Valid { .. })
            );
            assert!(!believed, "bit {bit}");
            packet[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(judge_under(&b, &mut other, &packet), VALID, "and it is as before");
    }
}

/// Computes §6.1 and §6.2 by hand for an ASCONF from the end with the larger vector, under a shared key.
//= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
//= type=test
//# If endpoint pair shared keys are used, one of them MUST be selected for authentication.
//= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
//= type=test
//# The sender MUST calculate the Message Authentication Code (MAC)
#[test]
fn the_key_and_the_message_are_those_of_the_rfc() {
    use ::hmac::{Hmac, KeyInit, Mac};
    let keyed = AuthConfig { keys: vec![SharedKey { id: 9, secret: b"secret".to_vec() }], ..config() };
    let [_, mut other] = pair(&keyed, &keyed);
    let packet = asconf_packet(&mut other);
    let vector = |random: u8| {
        let mut bytes = vec![0x80, 0x02, 0, 36];
        bytes.extend([random; 32]);
        bytes.extend([0x80, 0x03, 0, 22]);
        bytes.extend([0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 64, 0x80, 130, 192, 0xc1, 194]);
        bytes.extend([0x80, 0x04, 0, 8, 0, 3, 0, 1]);
        bytes
    };
    let key = [b"secret".to_vec(), vector(1), vector(2)].concat();
    let mut message = packet[16..].to_vec();
    assert_eq!(message[..8], [0x0f, 0, 0, 40, 0, 9, 0, 3]);
    let sent = message[8..40].to_vec();
    message[8..40].fill(0);
    let mac =
        Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap().chain_update(&message).finalize().into_bytes();
    assert_eq!(sent, mac[..]);
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# If an endpoint with no shared key receives a Shared Key Identifier other than 0, it MUST silently discard
//# all authenticated chunks.
//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# If no endpoint pair shared key has been configured for that Shared Key Identifier, all authenticated
//# chunks MUST be silently discarded.
#[test]
fn another_key_no_key_and_an_algorithm_that_was_not_listed_are_refused() {
    let keyed = |id, secret: &[u8]| {
        let keys = vec![SharedKey { id, secret: secret.to_vec() }];
        AuthConfig { keys, ..config() }
    };
    let [mut one, mut other] = pair(&keyed(1, b"a"), &keyed(1, b"b"));
    assert_eq!(judge(&mut other, &asconf_packet(&mut one)), Verdict::Invalid, "another secret");
    let [mut one, mut other] = pair(&keyed(1, b"a"), &keyed(2, b"a"));
    assert_eq!(judge(&mut other, &asconf_packet(&mut one)), Verdict::Invalid, "another identifier");
    let [mut one, mut other] = pair(&config(), &keyed(1, b"a"));
    assert_eq!(
        judge(&mut other, &asconf_packet(&mut one)),
        Verdict::Invalid,
        "the null key where there is a key"
    );
    let only_sha1 = AuthConfig { algorithms: vec![HmacAlgorithm::Sha1], ..config() };
    let [mut one, mut other] = pair(&config(), &only_sha1);
    let mut packet = asconf_packet(&mut one);
    for id in [0, 2, 3, 4, 0xffff] {
        packet[22..24].copy_from_slice(&u16::to_be_bytes(id));
        assert_eq!(
            judge_under(&only_sha1, &mut other, &packet),
            Verdict::Unsupported(HmacId::new(id)),
            "§6.3"
        );
    }
}

#[test]
fn auth_is_off_unless_both_ends_support_it() {
    let [mut one, mut other] = pair(&config(), &AuthConfig::without());
    assert!(one.plan().is_none() && other.plan().is_none());
    let auth = AuthChunk { shared_key_id: 0, hmac_id: HmacId::SHA1, hmac: &[0; 20] };
    assert_eq!(one.verify(&config(), &auth, &[0; 28]), Verdict::NotSpoken, "before there are keys");
    assert_eq!(other.verify(&config(), &auth, &[0; 28]), Verdict::NotSpoken);
    assert!(one.lacks(ChunkType::ASCONF, false), "and what needs it is not taken");
    assert!(!one.lacks(ChunkType::ASCONF, true) && !one.lacks(ChunkType::DATA, false));
    assert!(!other.lacks(ChunkType::ASCONF, false));
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
//= type=test
//# it MUST use the key specified by the Shared Key Identifier
#[test]
fn keys_change_while_packets_are_under_way() {
    let [mut one, mut other] = pair(&config(), &config());
    for end in [&mut one, &mut other] {
        end.keys.set(SharedKey { id: 7, secret: b"seven".to_vec() }).unwrap();
    }
    let before = asconf_packet(&mut one);
    one.activate_key(7).unwrap();
    let after = asconf_packet(&mut one);
    assert_eq!(judge(&mut other, &after), Verdict::Valid { new_key: Some(7) });
    assert_eq!(judge(&mut other, &before), Verdict::Valid { new_key: Some(0) }, "reordered");
    assert_eq!(judge(&mut other, &after), Verdict::Valid { new_key: Some(7) });
    assert_eq!(judge(&mut other, &after), VALID, "told once");
    other.activate_key(7).unwrap();
    other.keys.deactivate(0).unwrap();
    assert_eq!(judge(&mut other, &before), Verdict::Valid { new_key: Some(0) });
    other.keys.delete(0).unwrap();
    assert_eq!(judge(&mut other, &before), Verdict::Invalid);
}

#[test]
fn a_peer_that_demands_data_has_all_packets_signed() {
    let demanding = AuthConfig { chunks: vec![ChunkType::DATA.0], ..config() };
    let [one, other] = pair(&config(), &demanding);
    assert_eq!((one.packet_overhead(), other.packet_overhead()), (40, 0));
    assert!(one.signed().has(ChunkType::DATA) && !other.signed().has(ChunkType::DATA));
}
