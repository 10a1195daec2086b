//! Failures of the DTLS chunk's negotiation (draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.3), in ABORT only.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Cause Code = 100 to 103    |       Cause Length = 4        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::cause::Cause;
    use crate::cause::testing::{check, fault};
    use crate::error::Malformed;

    #[test]
    fn bytes_of_the_draft_layout() {
        check(&[0, 100, 0, 4], Cause::MissingDtlsSupport);
        check(&[0, 101, 0, 4], Cause::NoCommonKeyManagement);
        check(&[0, 102, 0, 4], Cause::TieBreakerCollision);
        check(&[0, 103, 0, 4], Cause::IncompatibleKeyManagementRoles);
        assert_eq!(fault(&[0, 100, 0, 5, 0, 0, 0, 0]), Malformed::WrongLength { len: 1, expected: 0 });
    }
}
