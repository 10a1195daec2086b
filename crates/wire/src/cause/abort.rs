//! Reasons of an ABORT: User-Initiated Abort (RFC 9260 §3.3.10.12), Protocol Violation (§3.3.10.13).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 12        |          Cause Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                    Upper Layer Abort Reason                   /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 13        |          Cause Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                     Additional Information                    /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::cause::Cause;
    use crate::cause::testing::check;
    use crate::cause::{CauseCode, UnknownCause};

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&[0, 12, 0, 7, b'b', b'y', b'e', 0], Cause::UserInitiatedAbort(b"bye"));
        check(&[0, 13, 0, 4], Cause::ProtocolViolation(b""));
    }

    #[test]
    fn an_unknown_cause_is_kept() {
        let bytes = [0x12, 0x34, 0, 6, 1, 2, 0, 0];
        let unknown = UnknownCause::new(&bytes).unwrap();
        check(&bytes, Cause::Unknown(unknown));
        assert_eq!((unknown.typ(), unknown.value()), (CauseCode(0x1234), &[1, 2][..]));
        assert_eq!(unknown.bytes(), &bytes[..6]);
        assert_eq!(unknown.typ().to_string(), "cause 0x1234");
    }
}
