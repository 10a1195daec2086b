//! Puts chunks into a packet.

use core::ops::Range;

use crate::checksum;
use crate::chunk::{Auth, AuthToFill, EncodeChunk};
use crate::ids::{HmacId, VerificationTag};
use crate::packet::CommonHeader;
use crate::tlv;

/// The chunk does not fit into the packet; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("chunk takes {needed} bytes, {remaining} are left in the packet")]
pub struct Full {
    /// Bytes the chunk takes, with padding.
    pub needed: usize,
    /// Bytes left in the packet.
    pub remaining: usize,
}

/// Builds one packet at the end of a buffer, so that several can stand one after the other in it.
///
/// The packet is complete after [`finish`](Self::finish). Dropped before that, it is taken out of the buffer again.
#[derive(Debug)]
pub struct PacketBuilder<'o> {
    out: &'o mut Vec<u8>,
    /// Where the packet begins in `out`.
    start: usize,
    /// Where it ends at the latest.
    end: usize,
    finished: bool,
}

/// Where the HMAC of an AUTH chunk belongs, until it is known.
#[derive(Debug)]
#[must_use = "the AUTH chunk has no HMAC until `set_hmac` is called"]
pub struct AuthSlot {
    chunk: usize,
    hmac: Range<usize>,
}

impl<'o> PacketBuilder<'o> {
    /// Begins a packet of at most `max_len` bytes (common header included) at the end of `out`.
    ///
    /// No packet is longer than 65,535 bytes, so that every Length field in it has room for its value.
    #[inline]
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
        CommonHeader { src_port, dst_port, verification_tag, checksum: 0 }.encode(out);
        Self { out, start, end: start + max_len, finished: false }
    }

    /// Bytes left for chunks with their padding.
    #[inline]
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.end.saturating_sub(self.out.len())
    }

    /// Whether no chunk has been put in.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == CommonHeader::LEN
    }

    /// Bytes of the packet so far, common header included.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.out.len() - self.start
    }

    /// Appends a chunk and its padding.
    ///
    /// # Errors
    /// [`Full`] when they do not fit; the packet is as it was.
    #[inline]
    pub fn push<C: EncodeChunk + ?Sized>(&mut self, chunk: &C) -> Result<(), Full> {
        let (needed, remaining) = (chunk.padded_len(), self.remaining());
        if needed > remaining {
            return Err(Full { needed, remaining });
        }
        let chunk_start = self.out.len();
        chunk.encode(self.out);
        tlv::pad(self.out, chunk_start);
        debug_assert_eq!(self.out.len() - chunk_start, needed, "padded_len does not agree with encode");
        Ok(())
    }

    /// Appends an AUTH chunk whose HMAC of `hmac_len` bytes is zero until [`set_hmac`](Self::set_hmac) gives it.
    ///
    /// # Errors
    /// [`Full`] when it does not fit; the packet is as it was.
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

    /// What the HMAC of `slot` is computed over: the AUTH chunk with a zero HMAC, and all chunks put in after it
    /// (RFC 4895 §6.2). Ask when the packet is complete.
    #[must_use]
    pub fn auth_input(&self, slot: &AuthSlot) -> &[u8] {
        self.out.get(slot.chunk..).unwrap_or_default()
    }

    /// Puts the HMAC into its AUTH chunk. An HMAC of another length than announced is a bug of the caller; as much as
    /// there is room for is written.
    pub fn set_hmac(&mut self, slot: AuthSlot, hmac: &[u8]) {
        debug_assert_eq!(hmac.len(), slot.hmac.len(), "HMAC of another length than push_auth was told");
        if let Some(room) = self.out.get_mut(slot.hmac) {
            let len = room.len().min(hmac.len());
            room[..len].copy_from_slice(&hmac[..len]);
        }
    }

    /// Completes the packet with its CRC32c, and says how many bytes it has.
    #[inline]
    pub fn finish(mut self) -> usize {
        let packet = &mut self.out[self.start..];
        let crc = checksum::crc32c(packet);
        packet[checksum::FIELD..CommonHeader::LEN].copy_from_slice(&checksum::field(crc));
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
