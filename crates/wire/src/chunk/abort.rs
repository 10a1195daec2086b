//! ABORT (RFC 9260 §3.3.7).

use super::{ChunkType, EncodeChunk, T_BIT};
use crate::cause::Causes;
use crate::error::{CauseError, Malformed};

/// Closes the association at once.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Type = 6   |  Reserved   |T|             Length            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                   zero or more Error Causes                   /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Abort<'a> {
    /// T bit: the Verification Tag is that of the packet being answered, not the one that the peer expects.
    pub tag_reflected: bool,
    /// Why (RFC 9260 §3.3.10 and extensions).
    pub causes: Causes<'a>,
}

impl<'a> Abort<'a> {
    pub(super) fn parse(flags: u8, value: &'a [u8]) -> Result<Self, Malformed> {
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.7
        //# If an endpoint receives an ABORT chunk with a format error or no
        //# TCB is found, it MUST silently discard it.
        let causes = Causes::from_wire(value);
        match causes.iter().find_map(Result::err) {
            Some(CauseError::Malformed { fault, .. }) => Err(fault),
            Some(CauseError::Framing(_)) => Err(Malformed::TooShort { len: value.len(), min: 4 }),
            None => Ok(Self { tag_reflected: flags & T_BIT != 0, causes }),
        }
    }
}

impl EncodeChunk for Abort<'_> {
    fn chunk_type(&self) -> ChunkType {
        ChunkType::ABORT
    }

    fn flags(&self) -> u8 {
        u8::from(self.tag_reflected) * T_BIT
    }

    fn value_len(&self) -> usize {
        self.causes.encoded_len()
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        self.causes.encode(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::check;
    use crate::{Cause, Chunk};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let bytes = [
            6, 1, 0, 17, // type, flags, length
            0, 13, 0, 5, b'x', 0, 0, 0, // Protocol Violation, padding
            0, 12, 0, 5, b'y', 0, 0, 0, // User-Initiated Abort, padding not counted
        ];
        let causes = [Cause::ProtocolViolation(b"x"), Cause::UserInitiatedAbort(b"y")];
        check(&bytes, Chunk::Abort(Abort { tag_reflected: true, causes: Causes::from(&causes) }));
        check(&[6, 0, 0, 4], Chunk::Abort(Abort { tag_reflected: false, causes: Causes::EMPTY }));
    }
}
