//! ERROR (Operation Error) (RFC 9260 §3.3.10).

use super::chunk;
use crate::cause::Causes;

/// Reports errors to the peer; not fatal by itself.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Type = 9   |  Chunk Flags  |             Length            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                    one or more Error Causes                   /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Error<'a> {
    /// Error causes (RFC 9260 §3.3.10 and extensions).
    pub causes: Causes<'a>,
}

chunk!(Error<'a> = ERROR { ..causes });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::check;
    use crate::{Cause, Chunk};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let bytes = [
            9, 0, 0, 17, // type, flags, length
            0, 13, 0, 5, b'x', 0, 0, 0, // Protocol Violation, padding
            0, 12, 0, 5, b'y', 0, 0, 0, // User-Initiated Abort, padding not counted
        ];
        let causes = [Cause::ProtocolViolation(b"x"), Cause::UserInitiatedAbort(b"y")];
        check(&bytes, Chunk::Error(Error { causes: Causes::from(&causes) }));
        check(&[9, 0, 0, 4], Chunk::Error(Error { causes: Causes::EMPTY }));
    }
}
