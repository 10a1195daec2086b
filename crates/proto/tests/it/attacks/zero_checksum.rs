//! Packets without a checksum (RFC 9653) from hosts that did not negotiate it.

use msctp_proto::{AssociationState as State, Config, OfferConfig, PathAddr};
use msctp_units::Span;
use msctp_wire::{Abort, Causes, CookieAck, EncodeChunk, Init, Params, ShutdownAck, Tsn, VerificationTag};

use crate::support::{Pair, Side, b_ip, ip, packet};

fn config(lower_layer_protects: bool) -> Config {
    Config { offer: OfferConfig { lower_layer_protects, ..OfferConfig::default() }, ..Config::default() }
}

fn without_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[8..12].fill(0);
    bytes
}

#[test]
fn out_of_the_blue_packets_without_a_checksum_are_not_answered() {
    for protected in [false, true] {
        let mut pair = Pair::new(config(protected), vec![b_ip(0)]);
        pair.log = Some(Vec::new());
        let at = PathAddr { local: b_ip(0), remote: ip(66, 6) };
        let init = Init {
            initiate_tag: VerificationTag::new(7),
            a_rwnd: 1 << 20,
            outbound_streams: 10,
            inbound_streams: 10,
            initial_tsn: Tsn::new(1),
            params: Params::EMPTY,
        };
        let abort = Abort { tag_reflected: false, causes: Causes::EMPTY };
        let chunks: [(&dyn EncodeChunk, u32); 4] =
            [(&init, 0), (&ShutdownAck, 9), (&CookieAck, 9), (&abort, 9)];
        for (chunk, tag) in chunks {
            // RFC 9653 §5.2: an INIT has a checksum. §5.3: only the peer has negotiated zero checksums.
            pair.inject(Side::B, at, &without_checksum(packet(Side::B, tag, &[chunk])));
        }
        assert_eq!((pair.log_len(), pair.b.endpoint.len()), (0, 0), "{protected}");
    }
}

#[test]
fn damage_that_zeroes_the_checksum_affects_only_ends_with_the_option() {
    for protected in [false, true] {
        let mut pair = Pair::established(config(protected));
        pair.log = Some(Vec::new());
        pair.transfer(Side::A, 5, 100, Span::from_secs(1));
        let tag = pair.tag_of(Side::B);
        let abort = Abort { tag_reflected: false, causes: Causes::EMPTY };
        let at = Pair::at(Side::B);
        // The wrong tag, then the right one.
        pair.inject(Side::B, at, &without_checksum(packet(Side::B, tag ^ 1, &[&abort])));
        assert_eq!(pair.b.state(), Some(State::Established));
        pair.inject(Side::B, at, &without_checksum(packet(Side::B, tag, &[&abort])));
        assert_eq!(
            pair.b.state().is_some(),
            !protected,
            "the lower layer is trusted if the application configured it"
        );
    }
}
