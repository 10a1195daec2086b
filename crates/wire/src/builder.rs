//! [`PacketBuilder`]: encodes chunks into a packet.

use crate::checksum;
use crate::chunk::{Auth, AuthToFill, ChunkSet, ChunkType, EncodeChunk};
use crate::ids::{HmacId, VerificationTag};
use crate::packet::CommonHeader;
use crate::tlv;
use core::ops::Range;

/// The error of a chunk that does not fit into the packet, to which nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("chunk takes {needed} bytes, {remaining} are left in the packet")]
pub struct Full {
    /// Length of the chunk in bytes, with padding.
    pub needed: usize,
    /// Bytes left in the packet.
    pub remaining: usize,
}

/// Builds one packet at the end of a buffer; a buffer can hold several packets.
///
/// The packet is complete after [`finish`](Self::finish). Dropping the builder before
/// that removes the packet from the buffer.
#[derive(Debug)]
pub struct PacketBuilder<'o> {
    out: &'o mut Vec<u8>,
    /// Offset of the packet in `out`.
    start: usize,
    /// Offset of the first chunk.
    chunks: usize,
    /// Limit of the end of the chunks.
    end: usize,
    finished: bool,
    plan: Option<AuthPlan>,
    slot: Option<AuthSlot>,
    without_checksum: bool,
}

/// The chunk types that need an AUTH chunk before them, and its fields (RFC 4895 §6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthPlan {
    /// Types of the chunks to authenticate.
    pub types: ChunkSet,
    /// The Shared Key Identifier.
    pub shared_key_id: u16,
    /// The HMAC algorithm.
    pub hmac_id: HmacId,
    /// Length of the HMAC in bytes.
    pub hmac_len: u16,
}

impl AuthPlan {
    /// Returns the length in bytes of the AUTH chunk in a packet, with padding.
    #[must_use]
    pub fn chunk_len(&self) -> usize {
        AuthToFill { shared_key_id: self.shared_key_id, hmac_id: self.hmac_id, hmac_len: self.hmac_len }
            .padded_len()
    }
}

/// Position of an HMAC that is not computed yet.
#[derive(Debug)]
#[must_use = "the AUTH chunk has no HMAC until `set_hmac` is called"]
pub struct AuthSlot {
    chunk: usize,
    hmac: Range<usize>,
}

impl<'o> PacketBuilder<'o> {
    /// Begins a packet of at most `max_len` bytes (common header included) at the end of `out`.
    ///
    /// No packet is longer than 65,535 bytes, so every Length field fits its value.
    #[inline(always)]
    #[must_use]
    pub fn new(
        out: &'o mut Vec<u8>,
        src_port: u16,
        dst_port: u16,
        verification_tag: VerificationTag,
        max_len: usize,
    ) -> Self {
        let (start, max_len) = (out.len(), max_len.min(usize::from(u16::MAX)));
        out.reserve(max_len.max(CommonHeader::LEN));
        out.extend_from_slice(&CommonHeader::without_checksum(src_port, dst_port, verification_tag));
        Self {
            out,
            start,
            chunks: start + CommonHeader::LEN,
            end: start + max_len,
            finished: false,
            plan: None,
            slot: None,
            without_checksum: false,
        }
    }

    /// Begins a packet like [`new`](Self::new), with space around its chunks that
    /// [`enclosed_mut`](Self::enclosed_mut) returns: `before` bytes after the common header, `after` bytes at
    /// the end. `max_len` includes both.
    #[must_use]
    pub fn enclosed(
        out: &'o mut Vec<u8>,
        src_port: u16,
        dst_port: u16,
        verification_tag: VerificationTag,
        max_len: usize,
        (before, after): (usize, usize),
    ) -> Self {
        let mut builder = Self::new(out, src_port, dst_port, verification_tag, max_len);
        builder.out.resize(builder.chunks + before, 0);
        builder.chunks += before;
        builder.end = builder.end.saturating_sub(after);
        builder
    }

    /// Returns the bytes left for chunks with their padding.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.end.saturating_sub(self.out.len())
    }

    /// Returns whether the packet has no chunk, or only an AUTH chunk without a following one.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let begun = match &self.slot {
            Some(slot) if slot.chunk == self.chunks => (slot.hmac.end - slot.chunk).next_multiple_of(4),
            _ => 0,
        };
        self.out.len() == self.chunks + begun
    }

    /// Returns the length in bytes of the packet so far, common header included.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.out.len() - self.start
    }

    /// Appends a chunk and its padding.
    ///
    /// # Errors
    /// [`Full`] when they do not fit; the packet is unchanged.
    #[inline]
    pub fn push<C: EncodeChunk + ?Sized>(&mut self, chunk: &C) -> Result<(), Full> {
        let (needed, remaining) = (chunk.padded_len(), self.remaining());
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
        //# The total size of the resultant SCTP packet MUST be less that or equal to the current PMTU.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
        //# Partial chunks MUST NOT be placed in an SCTP packet.
        if needed > remaining {
            return Err(Full { needed, remaining });
        }
        if self.plan.is_some() {
            self.authenticate(chunk.chunk_type(), needed)?;
        }
        let chunk_start = self.out.len();
        chunk.encode(self.out);
        tlv::pad(self.out, chunk_start);
        debug_assert_eq!(self.out.len() - chunk_start, needed, "padded_len does not agree with encode");
        Ok(())
    }

    /// Inserts a chunk and its padding before the chunks that were pushed since the packet had `at` bytes.
    ///
    /// Control chunks precede DATA (RFC 9260 §6.10), also one whose content depends on that DATA. The packet
    /// must not have a planned AUTH chunk that is yet to be pushed for this type.
    ///
    /// # Errors
    /// [`Full`] when it does not fit; the packet is unchanged.
    pub fn push_before<C: EncodeChunk + ?Sized>(&mut self, at: usize, chunk: &C) -> Result<(), Full> {
        debug_assert!(
            self.plan.is_none_or(|plan| !plan.types.has(chunk.chunk_type())),
            "the AUTH chunk would follow what it does not cover"
        );
        let end = self.out.len();
        self.push(chunk)?;
        let added = self.out.len() - end;
        if let Some(moved) = self.out.get_mut(self.start + at..) {
            moved.rotate_right(added);
        }
        Ok(())
    }

    /// Leaves the Checksum field 0, for a peer that accepts it (RFC 9653 §5.2).
    ///
    /// A lower layer must protect the packet. The method also serves an endpoint that leaves the checksum to
    /// a device ([`write_checksum`](crate::write_checksum)).
    #[inline]
    pub fn leave_out_checksum(&mut self) {
        self.without_checksum = true;
    }

    /// Returns whether [`finish`](Self::finish) leaves the Checksum field 0.
    #[inline]
    #[must_use]
    pub fn leaves_out_checksum(&self) -> bool {
        self.without_checksum
    }

    /// Authenticates the chunk types that `plan` lists.
    ///
    /// The AUTH chunk is pushed before the first of them; [`take_auth`](Self::take_auth) returns the slot of
    /// its HMAC.
    pub fn plan_auth(&mut self, plan: AuthPlan) {
        self.plan = Some(plan);
    }

    /// Pushes the planned AUTH chunk now, for a packet whose size is computed before it is filled.
    ///
    /// # Errors
    /// [`Full`] when it does not fit; the packet is unchanged.
    pub fn begin_auth(&mut self) -> Result<(), Full> {
        // RFC 4895 §5.1: not more than once in a packet
        let Some(plan) = self.plan else { return Ok(()) };
        self.slot = Some(self.push_auth(plan.shared_key_id, plan.hmac_id, plan.hmac_len)?);
        self.plan = None;
        Ok(())
    }

    /// Pushes the planned AUTH chunk first if a chunk of type `typ` requires it.
    #[cold]
    fn authenticate(&mut self, typ: ChunkType, needed: usize) -> Result<(), Full> {
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
        //# To send chunks in an authenticated way, the sender MUST include these chunks after an AUTH chunk.
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
        //# This means that a sender MUST bundle chunks in order to authenticate them.
        let Some(plan) = self.plan.as_ref().filter(|plan| plan.types.has(typ)) else { return Ok(()) };
        let (needed, remaining) = (needed + plan.chunk_len(), self.remaining());
        if needed > remaining {
            return Err(Full { needed, remaining });
        }
        self.begin_auth()
    }

    /// Returns whether the planned AUTH chunk is in the packet and has no HMAC yet.
    #[inline]
    #[must_use]
    pub fn has_auth(&self) -> bool {
        self.slot.is_some()
    }

    /// Takes the slot of the planned AUTH chunk, if it was pushed. Set its HMAC when the packet is complete.
    pub fn take_auth(&mut self) -> Option<AuthSlot> {
        self.slot.take()
    }

    /// Appends an AUTH chunk with `hmac_len` zero bytes until [`set_hmac`](Self::set_hmac) fills them.
    ///
    /// # Errors
    /// [`Full`] when it does not fit; the packet is unchanged.
    pub fn push_auth(
        &mut self,
        shared_key_id: u16,
        hmac_id: HmacId,
        hmac_len: u16,
    ) -> Result<AuthSlot, Full> {
        let chunk = self.out.len();
        self.push(&AuthToFill { shared_key_id, hmac_id, hmac_len })?;
        let hmac_start = chunk + Auth::HMAC_OFFSET;
        Ok(AuthSlot { chunk, hmac: hmac_start..hmac_start + usize::from(hmac_len) })
    }

    /// Returns the bytes that the HMAC of `slot` covers: the AUTH chunk with a zero HMAC, and all later
    /// chunks (RFC 4895 §6.2). Call it when the packet is complete.
    #[must_use]
    pub fn auth_input(&self, slot: &AuthSlot) -> &[u8] {
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
        //# The padding of all chunks being authenticated MUST be included in the HMAC computation.
        self.out.get(slot.chunk..).unwrap_or_default()
    }

    /// Writes the HMAC into its AUTH chunk. Its length must be the announced one, and excess bytes are
    /// dropped.
    pub fn set_hmac(&mut self, slot: AuthSlot, hmac: &[u8]) {
        debug_assert_eq!(hmac.len(), slot.hmac.len(), "HMAC length differs from the one given to push_auth");
        if let Some(room) = self.out.get_mut(slot.hmac) {
            let len = room.len().min(hmac.len());
            room[..len].copy_from_slice(&hmac[..len]);
        }
    }

    /// Returns whether the packet has space around its chunks.
    #[inline]
    #[must_use]
    pub fn is_enclosed(&self) -> bool {
        self.chunks != self.start + CommonHeader::LEN
    }

    /// Appends the space of `after` bytes, which completes the packet. Returns everything after the common
    /// header: the space before the chunks, the chunks, the space after them.
    pub fn enclosed_mut(&mut self, after: usize) -> &mut [u8] {
        self.out.resize(self.out.len() + after, 0);
        &mut self.out[self.start + CommonHeader::LEN..]
    }

    /// Completes the packet and returns its length in bytes. Writes the CRC32c unless it is left out.
    #[inline(always)]
    pub fn finish(mut self) -> usize {
        if !self.without_checksum {
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
            //# the endpoint MUST strengthen the data integrity of the transmission by including the CRC32c
            //# checksum value calculated on the packet
            //= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
            //# After the packet is constructed (containing the SCTP common header and one or more control or
            //# DATA chunks), the transmitter MUST:
            let packet = &mut self.out[self.start..];
            let crc = checksum::crc32c(packet);
            packet[checksum::FIELD..CommonHeader::LEN].copy_from_slice(&checksum::field(crc));
        }
        self.finished = true;
        self.len()
    }
}

impl Drop for PacketBuilder<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.finished {
            self.out.truncate(self.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Checksum, Chunk, ChunkType, CookieAck, CookieEcho, Data, DataFlags, Packet, Pad, Ppid, Ssn, StreamId,
        Tsn,
    };

    const TAG: VerificationTag = VerificationTag::new(0x0102_0304);

    fn data(payload: &[u8]) -> Data<'_> {
        Data {
            tsn: Tsn::new(1),
            stream: StreamId::new(2),
            ssn: Ssn::new(3),
            ppid: Ppid::new(4),
            flags: DataFlags::UNFRAGMENTED,
            payload,
        }
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
    //= type=test
    //# the endpoint MUST strengthen the data integrity of the transmission by including the CRC32c checksum
    //# value calculated on the packet
    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.8
    //= type=test
    //# After the packet is constructed (containing the SCTP common header and one or more control or DATA
    //# chunks), the transmitter MUST:
    #[test]
    fn a_packet_byte_for_byte() {
        let mut out = vec![0xee];
        let mut packet = PacketBuilder::new(&mut out, 5000, 5001, TAG, 100);
        assert!(packet.is_empty());
        assert_eq!((packet.len(), packet.remaining()), (12, 88));
        packet.push(&CookieEcho { cookie: &[9] }).unwrap();
        packet.push(&Chunk::Data(data(b"x"))).unwrap();
        assert!(!packet.is_empty());
        assert_eq!(packet.remaining(), 60);
        assert_eq!(packet.finish(), 40);
        let mut expected = vec![
            0x13, 0x88, 0x13, 0x89, 1, 2, 3, 4, 0, 0, 0, 0, // common header
            10, 0, 0, 5, 9, 0, 0, 0, // COOKIE ECHO
            0, 3, 0, 17, 0, 0, 0, 1, 0, 2, 0, 3, 0, 0, 0, 4, b'x', 0, 0, 0, // DATA
        ];
        let crc = checksum::crc32c(&expected);
        expected[8..12].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(out[0], 0xee, "what was in the buffer stays");
        assert_eq!(out[1..], expected);
        assert!(Packet::parse(&out[1..], Checksum::Verify).is_ok());
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.10
    //= type=test
    //# Partial chunks MUST NOT be placed in an SCTP packet.
    #[test]
    fn a_chunk_that_does_not_fit_leaves_the_packet_unchanged() {
        let mut out = Vec::new();
        let mut packet = PacketBuilder::new(&mut out, 1, 2, TAG, 12 + 20);
        assert_eq!(packet.push(&data(b"12345")), Err(Full { needed: 24, remaining: 20 }));
        assert!(packet.is_empty());
        packet.push(&data(b"1234")).unwrap();
        assert_eq!(packet.remaining(), 0);
        assert_eq!(packet.push(&CookieAck), Err(Full { needed: 4, remaining: 0 }));
        assert_eq!(packet.finish(), 32);
    }

    #[test]
    fn a_chunk_is_inserted_before_those_pushed_since() {
        let mut out = vec![0xee];
        let mut packet = PacketBuilder::new(&mut out, 1, 2, TAG, 12 + 4 + 8 + 20);
        packet.push(&CookieAck).unwrap();
        let at = packet.len();
        packet.push(&data(b"1")).unwrap();
        assert_eq!(
            packet.push_before(at, &CookieEcho { cookie: b"12345" }),
            Err(Full { needed: 12, remaining: 8 })
        );
        packet.push_before(at, &CookieEcho { cookie: b"123" }).unwrap();
        packet.finish();
        let packet = Packet::parse(&out[1..], Checksum::Verify).unwrap();
        assert!(packet.chunks().eq([
            Ok(Chunk::CookieAck(CookieAck)),
            Ok(Chunk::CookieEcho(CookieEcho { cookie: b"123" })),
            Ok(Chunk::Data(data(b"1"))),
        ]));
    }

    #[test]
    fn a_limit_that_is_no_multiple_of_four_counts_the_padding() {
        let mut out = Vec::new();
        let mut packet = PacketBuilder::new(&mut out, 1, 2, TAG, 12 + 18);
        assert_eq!(packet.push(&data(b"12")), Err(Full { needed: 20, remaining: 18 }));
        assert!(packet.push(&Pad::filling(16).unwrap()).is_ok());
    }

    #[test]
    fn a_limit_below_the_header_holds_no_chunk() {
        let mut out = Vec::new();
        let mut packet = PacketBuilder::new(&mut out, 1, 2, TAG, 3);
        assert_eq!(packet.remaining(), 0);
        assert!(packet.push(&CookieAck).is_err());
    }

    #[test]
    fn no_length_field_overflows_however_large_the_limit() {
        let payload = vec![7; 70_000];
        let mut out = Vec::new();
        let mut packet = PacketBuilder::new(&mut out, 1, 2, TAG, usize::MAX);
        assert!(packet.push(&data(&payload)).is_err());
        assert!(packet.push(&data(&payload[..65_535 - 12 - 16 + 1])).is_err());
        packet.push(&data(&payload[..65_535 - 12 - 16 - 3])).unwrap();
        let len = packet.finish();
        assert!(len <= 65_535);
        let packet = Packet::parse(&out, Checksum::Verify).unwrap();
        assert!(packet.chunks().eq([Ok(Chunk::Data(data(&payload[..65_504])))]));
    }

    #[test]
    fn several_packets_in_one_buffer_and_a_dropped_one_leaves_no_trace() {
        let mut out = Vec::new();
        let mut lens = Vec::new();
        for tag in 1..4 {
            let mut packet = PacketBuilder::new(&mut out, 1, 2, VerificationTag::new(tag), 1500);
            packet.push(&data(&[tag as u8; 33])).unwrap();
            lens.push(packet.finish());
            let mut dropped = PacketBuilder::new(&mut out, 1, 2, TAG, 1500);
            dropped.push(&CookieAck).unwrap();
        }
        assert_eq!(out.len(), lens.iter().sum::<usize>());
        let mut rest = &out[..];
        for (tag, len) in (1..4).zip(lens) {
            let (packet, after) = rest.split_at(len);
            let packet = Packet::parse(packet, Checksum::Verify).unwrap();
            assert_eq!(packet.header.verification_tag, VerificationTag::new(tag));
            rest = after;
        }
    }

    //= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
    //= type=test
    //# The padding of all chunks being authenticated MUST be included in the HMAC computation.
    #[test]
    fn sender_and_receiver_of_an_auth_chunk_see_the_same_input() {
        let mut out = vec![0xee; 5];
        let mut packet = PacketBuilder::new(&mut out, 1, 2, TAG, 1500);
        packet.push(&CookieAck).unwrap();
        let slot = packet.push_auth(0, HmacId::SHA256, 6).unwrap();
        packet.push(&data(b"secret")).unwrap();
        let signed = packet.auth_input(&slot).to_vec();
        packet.set_hmac(slot, &[1, 2, 3, 4, 5, 6]);
        packet.finish();

        let packet = Packet::parse(&out[5..], Checksum::Verify).unwrap();
        let mut chunks = packet.chunks();
        assert_eq!(chunks.next(), Some(Ok(Chunk::CookieAck(CookieAck))));
        let from_auth = chunks.rest();
        let Some(Ok(Chunk::Auth(auth))) = chunks.next() else { panic!("no AUTH") };
        assert_eq!((auth.hmac_id, auth.hmac), (HmacId::SHA256, &[1, 2, 3, 4, 5, 6][..]));
        let (head, zeros, tail) = auth.hmac_input(from_auth).unwrap();
        assert_eq!([head, &vec![0; zeros], tail].concat(), signed);
        // The AUTH chunk with its padding, and everything after it (RFC 4895 §6.2).
        assert_eq!(signed.len(), 16 + 24);
        assert_eq!(signed[0], ChunkType::AUTH.0);
    }

    //= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
    //= type=test
    //# To send chunks in an authenticated way, the sender MUST include these chunks after an AUTH chunk.
    //= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
    //= type=test
    //# This means that a sender MUST bundle chunks in order to authenticate them.
    #[test]
    fn a_planned_auth_chunk_precedes_the_first_chunk_that_needs_it_once() {
        let plan = AuthPlan {
            types: [ChunkType::DATA, ChunkType::COOKIE_ECHO].into_iter().collect(),
            shared_key_id: 7,
            hmac_id: HmacId::SHA1,
            hmac_len: 20,
        };
        assert_eq!(plan.chunk_len(), 28);
        let build = |room: usize, chunks: &[Chunk<'_>]| {
            let mut out = Vec::new();
            let mut packet = PacketBuilder::new(&mut out, 1, 2, TAG, room);
            packet.plan_auth(plan);
            let results: Vec<_> = chunks.iter().map(|chunk| packet.push(chunk)).collect();
            let slot = packet.take_auth().is_some();
            packet.finish();
            let packet = Packet::parse(&out, Checksum::Verify).unwrap();
            let types: Vec<u8> = packet.chunks().map(|chunk| chunk.unwrap().chunk_type().0).collect();
            (types, slot, results)
        };
        let (ack, some) = (Chunk::CookieAck(CookieAck), Chunk::Data(data(b"abcd")));
        assert_eq!(build(200, &[ack, some, some]).0, [11, 15, 0, 0]);
        assert_eq!(build(200, &[ack]), (vec![11], false, vec![Ok(())]));
        let mut out = Vec::new();
        let mut begun = PacketBuilder::new(&mut out, 1, 2, TAG, 200);
        begun.plan_auth(plan);
        begun.begin_auth().unwrap();
        assert!(begun.is_empty() && begun.len() == 12 + 28);
        begun.push(&data(b"abcd")).unwrap();
        assert!(!begun.is_empty() && begun.len() == 12 + 28 + 20);
        drop(begun);
        let full = Err(Full { needed: 48, remaining: 47 });
        assert_eq!(build(12 + 47, &[some, ack]), (vec![11], false, vec![full, Ok(())]));
        assert_eq!(build(12 + 48, &[some]).0, [15, 0]);
    }

    #[test]
    fn a_packet_with_space_around_its_chunks_keeps_its_limit() {
        let mut out = vec![0xee];
        let mut packet = PacketBuilder::enclosed(&mut out, 1, 2, TAG, 12 + 8 + 20 + 20, (8, 20));
        assert!(packet.is_empty() && packet.is_enclosed());
        assert_eq!(packet.push(&data(b"12345")), Err(Full { needed: 24, remaining: 20 }));
        packet.push(&data(b"1234")).unwrap();
        assert!(!packet.is_empty());
        let bytes = packet.enclosed_mut(20);
        assert_eq!((bytes.len(), bytes[8]), (48, ChunkType::DATA.0));
        bytes[..8].fill(1);
        bytes[28..].fill(2);
        assert_eq!(packet.finish(), 60);
        assert_eq!((&out[13..21], &out[41..]), (&[1; 8][..], &[2; 20][..]));
        assert!(Packet::parse(&out[1..], Checksum::Verify).is_ok());
        assert!(!PacketBuilder::new(&mut out, 1, 2, TAG, 100).is_enclosed());
        let small = PacketBuilder::enclosed(&mut out, 1, 2, TAG, 12, (8, 20));
        assert_eq!(small.remaining(), 0);
    }

    #[test]
    fn an_auth_chunk_that_does_not_fit_is_not_written() {
        let mut out = Vec::new();
        let mut packet = PacketBuilder::new(&mut out, 1, 2, TAG, 12 + 39);
        let error = packet.push_auth(0, HmacId::SHA256, 32).unwrap_err();
        assert_eq!(error, Full { needed: 40, remaining: 39 });
        assert!(packet.is_empty());
    }

    #[test]
    fn a_chunk_that_needs_auth_is_rejected_if_the_auth_chunk_does_not_fit() {
        let mut out = Vec::new();
        let mut packet = PacketBuilder::new(&mut out, 1, 2, TAG, 12 + 39);
        let types = [ChunkType::COOKIE_ACK].into_iter().collect();
        packet.plan_auth(AuthPlan { types, shared_key_id: 0, hmac_id: HmacId::SHA256, hmac_len: 32 });
        packet.begin_auth().unwrap_err();
        packet.push(&CookieAck).unwrap_err();
        assert!(packet.is_empty());
    }
}
