//! COOKIE ECHO (RFC 9260 §3.3.11).

use super::chunk;

/// Returns the State Cookie. Must be the first chunk of its packet (RFC 9260 §3.2.2).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 10   |  Chunk Flags  |             Length            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// /                             Cookie                            /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieEcho<'a> {
    /// The value of the State Cookie parameter, unchanged.
    pub cookie: &'a [u8],
}

chunk!(CookieEcho<'a> = COOKIE_ECHO { ..cookie });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::testing::check;

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(
            &[10, 0, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0],
            Chunk::CookieEcho(CookieEcho { cookie: &[1, 2, 3, 4, 5] }),
        );
        check(&[10, 0, 0, 4], Chunk::CookieEcho(CookieEcho { cookie: &[] }));
    }
}
