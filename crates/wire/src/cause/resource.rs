//! Out of Resource (RFC 9260 §3.3.10.4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Cause Code = 4        |        Cause Length = 4       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::cause::Cause;
    use crate::cause::testing::{check, fault};
    use crate::error::Malformed;

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&[0, 4, 0, 4], Cause::OutOfResource);
        assert_eq!(fault(&[0, 4, 0, 5, 0, 0, 0, 0]), Malformed::WrongLength { len: 1, expected: 0 });
    }
}
