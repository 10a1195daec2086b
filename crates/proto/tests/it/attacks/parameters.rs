//! RANDOM, CHUNKS and HMAC-ALGO parameters that would overflow a fixed buffer (CVE-2020-6831 and similar),
//! and odd ones.

use msctp_proto::AuthConfig;
use msctp_wire::{
    Checksum, Chunk, ChunkType, HmacId, Init, List, Packet, Param, Params, Tsn, VerificationTag,
};

use crate::attacks::victim::config;
use crate::support::{Pair, Side, b_ip, packet};

/// Returns B's answer to an INIT with these parameters.
fn answer(params: &[Param<'_>]) -> Vec<u8> {
    let mut pair = Pair::new(config(AuthConfig::default()), vec![b_ip(0)]);
    pair.log = Some(Vec::new());
    let init = Init {
        initiate_tag: VerificationTag::new(7),
        a_rwnd: 65_536,
        outbound_streams: 3,
        inbound_streams: 4,
        initial_tsn: Tsn::new(1),
        params: Params::from(params),
    };
    pair.inject(Side::B, Pair::at(Side::B), &packet(Side::B, 0, &[&init]));
    pair.log.unwrap().pop().expect("an answer").bytes
}

//= https://www.rfc-editor.org/rfc/rfc4895#section-6.1
//= type=test
//# If the Random Number is not 32 bytes, the association MUST be aborted.
#[test]
fn oversized_auth_parameters_are_rejected_and_odd_ones_disable_auth() {
    // CVE-2020-6831 and similar: lengths that would overflow a fixed buffer.
    let (sha1, extensions) = ([HmacId::SHA1], [ChunkType::AUTH]);
    let (good, many) = ([3; 32], vec![ChunkType(5); 257]);
    let hmac = Param::HmacAlgo(List::from(&sha1));
    let refused = |params: &[Param<'_>]| {
        let bytes = answer(params);
        let packet = Packet::parse(&bytes, Checksum::Verify).unwrap();
        matches!(packet.chunks().next(), Some(Ok(Chunk::Abort(_))))
    };
    for len in [0, 1, 31, 33, 256, 40_000] {
        assert!(refused(&[Param::Random(&vec![1; len]), hmac]), "RANDOM of {len} bytes (§6.1)");
    }
    assert!(refused(&[Param::Random(&good), Param::ChunkList(List::from(&many[..])), hmac]));
    let ids = vec![HmacId::SHA1; 10_000];
    assert!(refused(&[Param::Random(&good), Param::HmacAlgo(List::from(&ids[..]))]));
    // The largest allowed parameters are accepted, and the answer fits a packet.
    let params = [
        Param::Random(&good),
        Param::ChunkList(List::from(&many[..256])),
        Param::HmacAlgo(List::from(&ids[..16])),
    ];
    assert!(!refused(&params) && answer(&params).len() + 20 <= 1500);
    // Without RANDOM, without HMAC-ALGO, or without a known algorithm: AUTH is off, without an ABORT.
    let unknown = [HmacId::new(2)];
    for params in [
        &[hmac, Param::SupportedExtensions(List::from(&extensions))][..],
        &[Param::Random(&good)],
        &[Param::Random(&good), Param::HmacAlgo(List::from(&unknown))],
        &[Param::Random(&good), Param::HmacAlgo(List::EMPTY)],
    ] {
        assert!(!refused(params));
    }
}
