//! The framing of packets over TCP: the packets do not depend on how the stream arrives, and memory is bounded.
#![no_main]

use msctp_forward::packets::{FramingError, HEADER, MAX_PACKET, PREFACE, Packets};

/// Returns the packets of a stream whose pieces have these lengths, in turn, and how it failed.
fn decode(mut packets: Packets, mut rest: &[u8], pieces: &[u8]) -> (Vec<Vec<u8>>, Option<FramingError>) {
    let mut got = Vec::new();
    for len in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, tail) = rest.split_at((1 + usize::from(*len)).min(rest.len()));
        rest = tail;
        packets.buffer().extend_from_slice(piece);
        loop {
            match packets.next_packet() {
                Ok(Some(packet)) => got.push(packet.to_vec()),
                Ok(None) => break,
                Err(error) => return (got, Some(error)),
            }
        }
        assert!(packets.buffer().len() < PREFACE.len().max(HEADER + MAX_PACKET));
    }
    (got, None)
}

libfuzzer_sys::fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (pieces, stream) = input;
    if pieces.is_empty() {
        return;
    }
    for decoder in [Packets::of_client, Packets::of_server] {
        let cut = decode(decoder(), &stream, &pieces);
        assert_eq!(cut, decode(decoder(), &stream, &[255]));
        let sum: usize = cut.0.iter().map(|packet| HEADER + packet.len()).sum();
        assert!(sum <= stream.len() && cut.0.iter().all(|packet| !packet.is_empty()));
    }
});
