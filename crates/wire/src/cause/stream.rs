//! Faults of DATA chunks: Invalid Stream Identifier (RFC 9260 §3.3.10.1), No User Data (§3.3.10.9).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Cause Code = 1        |        Cause Length = 8       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |       Stream Identifier       |           (Reserved)          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Cause Code = 9        |        Cause Length = 8       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                              TSN                              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::cause::Cause;
    use crate::cause::testing::{check, fault};
    use crate::error::Malformed;
    use crate::ids::StreamId;
    use crate::serial::Tsn;
    use crate::tlv::Tlv;

    #[test]
    fn bytes_of_the_rfc_layout() {
        let cause = Cause::InvalidStreamIdentifier(StreamId::new(0x0102));
        check(&[0, 1, 0, 8, 1, 2, 0, 0], cause);
        assert_eq!(Cause::parse(&[0, 1, 0, 8, 1, 2, 0xff, 0xff]), Ok(cause), "reserved bits are ignored");
        check(&[0, 9, 0, 8, 1, 2, 3, 4], Cause::NoUserData(Tsn::new(0x0102_0304)));
    }

    #[test]
    fn sizes_are_fixed() {
        assert_eq!(fault(&[0, 1, 0, 6, 1, 2, 0, 0]), Malformed::WrongLength { len: 2, expected: 4 });
        assert_eq!(fault(&[0, 9, 0, 4]), Malformed::WrongLength { len: 0, expected: 4 });
    }
}
