//! ECNE (type reserved by RFC 9260 §3.2; layout of RFC 4960 Appendix A).

use super::chunk;
use crate::serial::Tsn;

/// Explicit congestion notification echo: a packet arrived marked Congestion Experienced.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 12   |  Chunk Flags  |           Length = 8          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       Lowest TSN Number                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
///
/// RFC 9260 §3.2 reserves the type without a layout; this is RFC 4960 Appendix A's. Some stacks add a counter
/// after it, which is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecne {
    /// Lowest TSN of the packet that was marked.
    pub lowest_tsn: Tsn,
}

chunk!(Ecne = ECNE { lowest_tsn: Tsn, .. });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::ChunkType;
    use crate::chunk::testing::{check, malformed};
    use crate::error::Malformed;
    use crate::{Chunk, ChunkError};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let chunk = Ecne { lowest_tsn: Tsn::new(0x0102_0304) };
        check(&[12, 0, 0, 8, 1, 2, 3, 4], Chunk::Ecne(chunk));
    }

    #[test]
    fn longer_is_accepted_shorter_is_not() {
        let chunk = Ecne { lowest_tsn: Tsn::new(0x0102_0304) };
        let bytes = [12, 0, 0, 12, 1, 2, 3, 4, 0, 0, 0, 1];
        assert_eq!(Chunk::parse(&bytes), Ok(Chunk::Ecne(chunk)));
        let fault = Malformed::TooShort { len: 3, min: 4 };
        let error = ChunkError::Malformed { typ: ChunkType::ECNE, fault };
        assert_eq!(malformed(&[12, 0, 0, 7, 1, 2, 3, 0]), error);
    }
}
