//! The packet: common header and chunks (RFC 9260 §3).

use crate::checksum;
use crate::chunk::{ChunkType, Chunks};
use crate::error::{BundlingError, PacketError};
use crate::ids::VerificationTag;
use crate::read::{be16, be32};

/// The check of a received packet's Checksum field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Rejects the packet if the field differs from its CRC32c (RFC 9260 §6.8).
    Verify,
    /// Same as [`Verify`](Self::Verify), but accepts 0 if a lower layer protects the packet (RFC 9653 §5.3).
    /// A packet that begins with INIT or COOKIE ECHO always needs its checksum (§5.2).
    ZeroOrRight,
    /// Ignores the field: another layer has verified the packet.
    Skip,
}

/// The common header (RFC 9260 §3.1).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |      Source Port Number       |    Destination Port Number    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       Verification Tag                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                           Checksum                            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonHeader {
    /// Port of the sender, not 0.
    pub src_port: u16,
    /// Port of the receiver, not 0.
    pub dst_port: u16,
    /// Tag that the receiver chose for its side of the association; see RFC 9260 §8.5 for the exceptions.
    pub verification_tag: VerificationTag,
    /// CRC32c of the packet with this field zero.
    pub checksum: u32,
}

impl CommonHeader {
    /// Bytes of the common header.
    pub const LEN: usize = 12;

    /// Returns the header as on the wire, with a zero Checksum field.
    #[inline]
    pub(crate) fn without_checksum(src_port: u16, dst_port: u16, tag: VerificationTag) -> [u8; Self::LEN] {
        let fields = u128::from(src_port) << 112 | u128::from(dst_port) << 96 | u128::from(tag.get()) << 64;
        let bytes = fields.to_be_bytes();
        core::array::from_fn(|i| bytes[i])
    }

    #[inline]
    fn parse(bytes: &[u8]) -> Result<Self, PacketError> {
        if bytes.len() < Self::LEN {
            return Err(PacketError::TooShort { len: bytes.len() });
        }
        let (src_port, dst_port) = (be16(bytes, 0), be16(bytes, 2));
        // RFC 9260 §3.1: port number 0 MUST NOT be used.
        if src_port == 0 || dst_port == 0 {
            return Err(PacketError::ZeroPort { src_port, dst_port });
        }
        let verification_tag = VerificationTag::new(be32(bytes, 4));
        Ok(Self { src_port, dst_port, verification_tag, checksum: checksum::found(bytes) })
    }

    /// Returns whether the packet `bytes` must have a correct checksum.
    #[inline]
    fn needs_check(&self, bytes: &[u8], checksum: Checksum) -> bool {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
        //= type=exception
        //= reason=option `offer.lower_layer_protects`, off by default: RFC 9653 takes a checksum of 0 for
        //= reason=right
        //# the receiver MUST first check the CRC32c checksum as follows:
        let left_out = checksum == Checksum::ZeroOrRight && self.checksum == 0 && {
            let first = bytes.get(Self::LEN).copied().map(ChunkType);
            !matches!(first, Some(ChunkType::INIT | ChunkType::COOKIE_ECHO))
        };
        checksum != Checksum::Skip && !left_out
    }

    #[inline]
    fn check(&self, computed: u32) -> Result<(), PacketError> {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
        //# the receiver MUST first check the CRC32c checksum as follows:
        if self.checksum != computed {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
            //# the receiver MUST treat the packet as an invalid SCTP packet.
            return Err(PacketError::BadChecksum { found: self.checksum, computed });
        }
        Ok(())
    }
}

/// A received packet, as a borrowed view.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The common header.
    pub header: CommonHeader,
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Parses the common header of `bytes`, a whole packet. The chunks are parsed lazily.
    ///
    /// # Errors
    /// If the header is truncated, a port is 0, or the checksum is checked and wrong.
    pub fn parse(bytes: &'a [u8], checksum: Checksum) -> Result<Self, PacketError> {
        let header = CommonHeader::parse(bytes)?;
        if header.needs_check(bytes, checksum) {
            header.check(checksum::of_packet(bytes))?;
        }
        Ok(Self { header, bytes })
    }

    /// Parses like [`parse`](Self::parse), but faster, because it may write to the Checksum field. The bytes
    /// are unchanged afterwards.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    #[inline]
    pub fn parse_mut(bytes: &'a mut [u8], checksum: Checksum) -> Result<Self, PacketError> {
        let header = CommonHeader::parse(bytes)?;
        if header.needs_check(bytes, checksum) {
            header.check(checksum::of_packet_mut(bytes))?;
        }
        Ok(Self { header, bytes })
    }

    /// Returns the chunks in order. After a framing error the iteration ends.
    #[inline]
    pub fn chunks(&self) -> Chunks<'a> {
        Chunks::new(&self.bytes[CommonHeader::LEN..])
    }

    /// Returns the chunks in order, without a leading AUTH chunk.
    ///
    /// The first of them decides which association the packet belongs to (RFC 4895 §6.3).
    pub fn chunks_past_auth(&self) -> Chunks<'a> {
        let mut chunks = self.chunks();
        if self.first_chunk_type() == Some(ChunkType::AUTH) {
            chunks.next_raw();
        }
        chunks
    }

    /// Returns all bytes of the packet.
    #[inline]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the type of the first chunk, if it is well framed.
    ///
    /// An INIT changes how the Verification Tag is checked (RFC 9260 §8.5.1).
    pub fn first_chunk_type(&self) -> Option<ChunkType> {
        Some(self.chunks().next_raw()?.ok()?.0)
    }

    /// Checks that INIT, INIT ACK, SHUTDOWN COMPLETE and DTLS are alone in their packet (RFC 9260 §3;
    /// draft-ietf-tsvwg-sctp-dtls-chunk-04 §5.2).
    ///
    /// Reads chunk headers only, up to the first framing error.
    ///
    /// # Errors
    /// [`BundlingError`] names the first chunk that must be alone and is not.
    pub fn check_bundling(&self) -> Result<(), BundlingError> {
        let mut chunks = self.chunks();
        let mut count = 0;
        let mut alone = None;
        while let Some(Ok((typ, _))) = chunks.next_raw() {
            count += 1;
            alone = alone.or(typ.must_be_alone().then_some(typ));
            if let (Some(typ), 2..) = (alone, count) {
                return Err(BundlingError { typ });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ChunkError, FramingError};
    use crate::{Abort, Causes, Chunk, CookieAck, ShutdownComplete};

    /// Returns a packet with the given chunk bytes and the right checksum.
    fn packet(chunks: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x13, 0x88, 0x13, 0x89, 0x01, 0x02, 0x03, 0x04, 0, 0, 0, 0];
        bytes.extend_from_slice(chunks);
        let crc = checksum::crc32c(&bytes);
        bytes[8..12].copy_from_slice(&checksum::field(crc));
        bytes
    }

    #[test]
    fn bytes_of_the_rfc_layout() {
        let bytes = packet(&[11, 0, 0, 4]);
        let packet = Packet::parse(&bytes, Checksum::Verify).unwrap();
        assert_eq!((packet.header.src_port, packet.header.dst_port), (5000, 5001));
        assert_eq!(packet.header.verification_tag, VerificationTag::new(0x0102_0304));
        assert_eq!(packet.bytes(), bytes);
        assert_eq!(packet.first_chunk_type(), Some(ChunkType::COOKIE_ACK));
        assert!(packet.chunks().eq([Ok(Chunk::CookieAck(CookieAck))]));
        let header = CommonHeader::without_checksum(5000, 5001, packet.header.verification_tag);
        assert_eq!((&header[..8], &header[8..]), (&bytes[..8], &[0; 4][..]));
    }

    #[test]
    fn a_header_cut_short_and_port_zero_are_errors() {
        let bytes = packet(&[]);
        for len in 0..12 {
            assert_eq!(
                Packet::parse(&bytes[..len], Checksum::Skip).unwrap_err(),
                PacketError::TooShort { len }
            );
        }
        let mut zero = bytes.clone();
        zero[2..4].fill(0);
        let error = PacketError::ZeroPort { src_port: 5000, dst_port: 0 };
        assert_eq!(Packet::parse(&zero, Checksum::Skip).unwrap_err(), error);
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
    //= type=test
    //# the receiver MUST first check the CRC32c checksum as follows:
    #[test]
    fn every_flipped_bit_spoils_the_checksum() {
        let bytes = packet(&[6, 1, 0, 8, 0, 12, 0, 4]);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let error = Packet::parse(&flipped, Checksum::Verify).unwrap_err();
            assert!(matches!(error, PacketError::BadChecksum { .. }), "bit {bit}: {error}");
            assert!(Packet::parse(&flipped, Checksum::Skip).is_ok());
        }
    }

    #[test]
    fn parse_mut_gives_what_parse_gives_and_restores_the_packet() {
        let good = packet(&[6, 1, 0, 8, 0, 12, 0, 4]);
        let mut without = good.clone();
        without[8..12].fill(0);
        let mut wrong = good.clone();
        wrong[19] ^= 1;
        for bytes in [good, without, wrong, vec![1; 11]] {
            for checksum in [Checksum::Verify, Checksum::ZeroOrRight, Checksum::Skip] {
                let mut copy = bytes.clone();
                let header = Packet::parse_mut(&mut copy, checksum).map(|packet| packet.header);
                assert_eq!(header, Packet::parse(&bytes, checksum).map(|packet| packet.header), "{bytes:?}");
                assert_eq!(copy, bytes);
            }
        }
    }

    #[test]
    fn iteration_continues_after_a_malformed_chunk_and_ends_after_a_framing_error() {
        let bytes = packet(&[11, 0, 0, 5, 0, 0, 0, 0, 11, 0, 0, 4, 11, 0, 0, 3, 11, 0, 0, 4]);
        let packet = Packet::parse(&bytes, Checksum::Skip).unwrap();
        let items: Vec<_> = packet.chunks().collect();
        assert!(matches!(items[0], Err(ChunkError::Malformed { typ: ChunkType::COOKIE_ACK, .. })));
        assert_eq!(items[1], Ok(Chunk::CookieAck(CookieAck)));
        let framing = FramingError::LengthTooShort { typ: 11, length: 3 };
        assert_eq!(items[2], Err(ChunkError::Framing(framing)));
        assert_eq!(items.len(), 3);
    }

    #[test]
    fn rest_begins_with_the_next_chunk() {
        let bytes = packet(&[11, 0, 0, 4, 6, 0, 0, 4]);
        let mut chunks = Packet::parse(&bytes, Checksum::Skip).unwrap().chunks();
        assert_eq!(chunks.rest(), &bytes[12..]);
        chunks.next();
        assert_eq!(chunks.rest(), &bytes[16..]);
        let abort = Abort { tag_reflected: false, causes: Causes::EMPTY };
        assert_eq!(chunks.next(), Some(Ok(Chunk::Abort(abort))));
        assert_eq!((chunks.rest(), chunks.next()), (&[][..], None));
    }

    #[test]
    fn bundling() {
        let check = |chunks: &[u8]| Packet::parse(&packet(chunks), Checksum::Skip).unwrap().check_bundling();
        assert_eq!(check(&[14, 0, 0, 4]), Ok(()));
        assert_eq!(check(&[11, 0, 0, 4, 8, 0, 0, 4]), Ok(()));
        let error = BundlingError { typ: ChunkType::SHUTDOWN_COMPLETE };
        assert_eq!(check(&[14, 0, 0, 4, 11, 0, 0, 4]), Err(error));
        assert_eq!(check(&[11, 0, 0, 4, 14, 0, 0, 4]), Err(error));
        assert_eq!(check(&[]), Ok(()));
        let complete = Chunk::ShutdownComplete(ShutdownComplete::default());
        assert!(Packet::parse(&packet(&[14, 0, 0, 4]), Checksum::Skip).unwrap().chunks().eq([Ok(complete)]));
    }
}
