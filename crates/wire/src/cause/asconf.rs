//! Why an ASCONF request failed (RFC 5061 §4.3).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | 0x00A0, 0x00A1, 0x00A2, 0x00A4|     Cause Length=Variable     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                     TLV-Copied-From-ASCONF                    /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |       Cause Code=0x00A3       |         Cause Length=4        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::cause::Cause;
    use crate::cause::testing::{check, fault};
    use crate::error::Malformed;

    #[test]
    fn bytes_of_the_rfc_layout() {
        let request = [0xc0, 0x02, 0, 16, 0x01, 0x02, 0x34, 0x76, 0, 5, 0, 8, 192, 0, 2, 1];
        let bytes = |code| {
            let mut bytes = vec![0, code, 0, 20];
            bytes.extend_from_slice(&request);
            bytes
        };
        check(&bytes(0xa0), Cause::DeleteLastAddress(&request));
        check(&bytes(0xa1), Cause::ResourceShortage(&request));
        check(&bytes(0xa2), Cause::DeleteSourceAddress(&request));
        check(&bytes(0xa4), Cause::NoAuthorization(&request));
        check(&[0, 0xa3, 0, 4], Cause::IllegalAsconfAck);
        assert_eq!(fault(&bytes(0xa3)), Malformed::WrongLength { len: 16, expected: 0 });
    }
}
