//! Whatever comes in, parsing gives values or typed errors, and no more of them than one per 4 bytes.

use proptest::prelude::*;

use crate::wire::support;

/// Generates chunk headers with plausible types and lengths, so that random bytes pass the framing.
fn plausible_chunks() -> impl Strategy<Value = Vec<u8>> {
    let typ = prop_oneof![
        0u8..16,
        Just(0x40),
        Just(0x80),
        Just(0x82),
        Just(0x84),
        Just(0xbe),
        0xc0u8..0xc3,
        any::<u8>()
    ];
    let inner = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        // Parameters and causes: known types and codes, lengths mostly right.
        prop::collection::vec(
            (
                prop_oneof![0u16..20, 0x8000u16..0x8009, 0xbe00u16..0xbe09, 0xc000u16..0xc007, 0xa0u16..0xa6],
                0u8..24
            ),
            0..6
        )
        .prop_map(|items| {
            let mut bytes = vec![0; 16];
            for (typ, len) in items {
                bytes.extend_from_slice(&typ.to_be_bytes());
                bytes.extend_from_slice(&[0, 4 + len]);
                bytes.extend((0..len.next_multiple_of(4)).map(|i| i % 6));
            }
            bytes
        }),
    ];
    let chunk = (typ, any::<u8>(), inner, prop_oneof![9 => Just(0i16), 1 => -8i16..9]);
    prop::collection::vec(chunk, 0..8).prop_map(|chunks| {
        let mut bytes = Vec::new();
        for (typ, flags, value, error) in chunks {
            let length = (4 + value.len() as i16 + error).max(0) as u16;
            bytes.extend_from_slice(&[typ, flags]);
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(&value);
            bytes.resize(bytes.len().next_multiple_of(4), 0xff);
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        support::read_packet(&bytes);
        support::round_trip(&bytes);
    }

    #[test]
    fn plausible_chunks_are_read_and_round_trip(bytes in plausible_chunks()) {
        support::read_chunks(&bytes);
        support::round_trip(&bytes);
    }

    #[test]
    fn truncated_plausible_chunks_are_read_without_a_panic(bytes in plausible_chunks(), cut in any::<prop::sample::Index>()) {
        support::read_chunks(&bytes[..cut.index(bytes.len() + 1)]);
    }
}

#[test]
fn the_longest_packet_of_the_shortest_chunks_is_read_once_through() {
    let bytes = [11, 0, 0, 4].repeat(65_535 / 4);
    support::read_chunks(&bytes);
    // Parameters nested as deep as they go are read level by level, never recursively.
    let depth = 65_535 / 4;
    let mut nested = vec![9, 0, 0xff, 0xfc];
    for level in (1..depth).rev() {
        nested.extend_from_slice(&[0, 8]);
        nested.extend_from_slice(&((level * 4) as u16).to_be_bytes());
    }
    support::read_chunks(&nested);
    nested[0] = 1;
    support::read_chunks(&nested);
    let printed = format!("{:?}", msctp_wire::Chunk::parse(&nested));
    assert!(printed.contains("UnrecognizedParameter"), "{}", &printed[..200]);
}
