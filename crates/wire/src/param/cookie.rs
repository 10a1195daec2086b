//! State Cookie (RFC 9260 §3.3.3.1.1) and Cookie Preservative (§3.3.2.1.3).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 7            |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                            Cookie                             /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 9            |          Length = 8           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Suggested Cookie Life-Span Increment (msec.)          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::error::Malformed;
    use crate::param::Param;
    use crate::param::testing::{check, fault};

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&[0, 7, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0], Param::StateCookie(&[1, 2, 3, 4, 5]));
        check(&[0, 9, 0, 8, 0, 0, 0xea, 0x60], Param::CookiePreservative(60_000));
    }

    #[test]
    fn the_preservative_is_one_number() {
        let bytes = [0, 9, 0, 12, 0, 0, 0, 1, 0, 0, 0, 2];
        assert_eq!(fault(&bytes), Malformed::WrongLength { len: 8, expected: 4 });
    }
}
