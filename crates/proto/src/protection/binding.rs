//! [`bind`]: the hash of a set-up's ports, INIT and INIT ACK, on which its keys depend.

use msctp_protection::Binding;
use msctp_wire::{ChunkType, EncodeChunk, Init, InitAck, Param, Params};

/// Bytes of an INIT or INIT ACK before its parameters: chunk header and fixed fields.
const FIXED: usize = 20;

/// Hashes INIT and INIT ACK as this end sent or received them, the INIT ACK with or without its State Cookie.
/// `ports` are those of the INIT's packet: of its sender, then of its receiver.
pub(crate) fn bind(ports: (u16, u16), init: &Init<'_>, ack: &InitAck<'_>) -> Binding {
    Binding::new(ports, &canonical(init), &canonical(ack))
}

/// Returns the chunk with every parameter padded, and an INIT ACK without State Cookies. Parameters that are
/// unknown or malformed are kept, with what follows them.
fn canonical(chunk: &impl EncodeChunk) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(chunk.padded_len());
    chunk.encode(&mut bytes);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    if chunk.chunk_type() == ChunkType::INIT_ACK {
        bytes = without_cookies(&bytes);
    }
    // A chunk is shorter than a packet.
    let len = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    bytes
}

fn without_cookies(chunk: &[u8]) -> Vec<u8> {
    let (fixed, params) = chunk.split_at(FIXED);
    let mut kept = fixed.to_vec();
    let mut params = Params::from_wire(params).iter();
    loop {
        let before = params.rest();
        match params.next() {
            None => return kept,
            Some(Ok(Param::StateCookie(_))) => {}
            Some(_) => kept.extend_from_slice(&before[..before.len() - params.rest().len()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use msctp_wire::{Chunk, List, Tsn, VerificationTag};

    use super::*;

    fn ack<'a>(params: &'a [Param<'a>]) -> InitAck<'a> {
        InitAck {
            initiate_tag: VerificationTag::new(1),
            a_rwnd: 2000,
            outbound_streams: 3,
            inbound_streams: 4,
            initial_tsn: Tsn::new(5),
            params: Params::from(params),
        }
    }

    /// The server hashes before it has a cookie, the client the INIT ACK that it received.
    #[test]
    fn cookie_and_padding_do_not_count() {
        let types = [ChunkType::ASCONF, ChunkType::ASCONF_ACK, ChunkType::FORWARD_TSN];
        let list = Param::SupportedExtensions(List::from(&types));
        let cookie = Param::StateCookie(&[7; 9]);
        let expected = canonical(&ack(&[list, Param::EcnCapable]));
        assert_eq!(&expected[..4], [2, 0, 0, 32]);
        for params in [[list, cookie, Param::EcnCapable], [list, Param::EcnCapable, cookie]] {
            let mut bytes = Vec::new();
            ack(&params).encode(&mut bytes);
            let Ok(Chunk::InitAck(received)) = Chunk::parse(&bytes) else { panic!("{bytes:?}") };
            assert_eq!(canonical(&received), expected);
        }
        assert_ne!(canonical(&ack(&[Param::EcnCapable, list])), expected, "the order counts");
        let reported = Param::UnrecognizedParameter(&[0x80, 9, 0, 4]);
        assert_ne!(canonical(&ack(&[list, Param::EcnCapable, reported])), expected, "all but the cookie");
        let short = canonical(&ack(&[list]));
        assert_eq!(short, canonical(&ack(&[list, cookie])));
        assert_eq!(short.len(), 28);
    }

    /// An unknown parameter that stops the reader, and bytes that are no parameter, count.
    #[test]
    fn what_is_not_read_counts() {
        let canonical_of = |tail: &[u8]| {
            let mut bytes =
                vec![2, 0, 0, 20 + tail.len() as u8, 0, 0, 0, 1, 0, 0, 7, 208, 0, 3, 0, 4, 0, 0, 0, 5];
            bytes.extend_from_slice(tail);
            let Ok(Chunk::InitAck(received)) = Chunk::parse(&bytes) else { panic!("{bytes:?}") };
            canonical(&received)
        };
        let stop = [0x3f, 0xff, 0, 5, 9, 0, 0, 0];
        let tails: [&[u8]; 5] = [
            &[],
            &stop,
            &[0x3f, 0xff, 0, 5, 8, 0, 0, 0],
            &[&stop[..], &[1, 2, 3, 4]].concat(),
            &[0, 9, 0, 2],
        ];
        for (i, one) in tails.iter().enumerate() {
            assert!(tails[..i].iter().all(|other| canonical_of(one) != canonical_of(other)), "{one:?}");
        }
    }
}
