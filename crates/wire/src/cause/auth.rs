//! Unsupported HMAC Identifier (RFC 4895 §4.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |      Cause Code = 0x0105      |        Cause Length = 6       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        HMAC Identifier        |            Padding            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::cause::Cause;
    use crate::cause::testing::{check, fault};
    use crate::error::Malformed;
    use crate::ids::HmacId;

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&[1, 5, 0, 6, 0, 3, 0, 0], Cause::UnsupportedHmac(HmacId::SHA256));
        assert_eq!(fault(&[1, 5, 0, 8, 0, 3, 0, 0]), Malformed::WrongLength { len: 4, expected: 2 });
    }
}
