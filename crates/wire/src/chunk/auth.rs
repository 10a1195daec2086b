//! AUTH (RFC 4895 §5.1).

use super::{ChunkType, EncodeChunk, chunk};
use crate::ids::HmacId;
use crate::tlv::HEADER;

/// Authenticates itself and all chunks after it in the packet.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Type = 0x0F  |    Flags=0    |             Length            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     Shared Key Identifier     |        HMAC Identifier        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                              HMAC                             /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auth<'a> {
    /// Shared Key Identifier: the endpoint pair shared key in use.
    pub shared_key_id: u16,
    /// HMAC Identifier: the message digest in use.
    pub hmac_id: HmacId,
    /// The HMAC.
    pub hmac: &'a [u8],
}

chunk!(Auth<'a> = AUTH { shared_key_id: u16, hmac_id: HmacId, ..hmac });

impl<'a> Auth<'a> {
    /// Bytes of the chunk before the HMAC.
    pub const HMAC_OFFSET: usize = HEADER + 4;

    /// Returns the bytes that the HMAC covers, in three parts: a slice, a number of zeros, a slice.
    ///
    /// These are the start of the AUTH chunk, zeros in place of the HMAC, and the rest of the packet
    /// (RFC 4895 §6.2).
    ///
    /// `from_auth` is the packet from the AUTH chunk on: [`Chunks::rest`](super::Chunks::rest) before parsing
    /// it. Returns `None` if it is too short for this chunk.
    pub fn hmac_input<'p>(&self, from_auth: &'p [u8]) -> Option<(&'p [u8], usize, &'p [u8])> {
        let (head, tail) = from_auth.split_at_checked(Self::HMAC_OFFSET)?;
        Some((head, self.hmac.len(), tail.get(self.hmac.len()..)?))
    }
}

/// An AUTH chunk whose HMAC is zero while the HMAC is computed (RFC 4895 §6.2).
pub(crate) struct AuthToFill {
    pub(crate) shared_key_id: u16,
    pub(crate) hmac_id: HmacId,
    pub(crate) hmac_len: u16,
}

impl EncodeChunk for AuthToFill {
    fn chunk_type(&self) -> ChunkType {
        ChunkType::AUTH
    }

    fn value_len(&self) -> usize {
        Auth::HMAC_OFFSET - HEADER + usize::from(self.hmac_len)
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        Auth { shared_key_id: self.shared_key_id, hmac_id: self.hmac_id, hmac: &[] }.encode_value(out);
        out.resize(out.len() + usize::from(self.hmac_len), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::{check, malformed};
    use crate::error::Malformed;
    use crate::{Chunk, ChunkError};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let bytes = [0x0f, 0, 0, 11, 0x12, 0x34, 0, 3, 0xaa, 0xbb, 0xcc, 0];
        let auth = Auth { shared_key_id: 0x1234, hmac_id: HmacId::SHA256, hmac: &[0xaa, 0xbb, 0xcc] };
        check(&bytes, Chunk::Auth(auth));
        assert_eq!(auth.hmac_input(&bytes), Some((&bytes[..8], 3, &bytes[11..])));
        assert_eq!(auth.hmac_input(&bytes[..10]), None);
    }

    #[test]
    fn fixed_fields_must_fit() {
        let fault = Malformed::TooShort { len: 3, min: 4 };
        assert_eq!(malformed(&[15, 0, 0, 7, 0, 0, 0]), ChunkError::Malformed { typ: ChunkType::AUTH, fault });
    }
}
