//! Faults of cookies: Stale Cookie (RFC 9260 §3.3.10.3), Cookie Received While Shutting Down (§3.3.10.10).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Cause Code = 3        |        Cause Length = 8       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                  Measure of Staleness (usec.)                 |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 10        |        Cause Length = 4       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::cause::Cause;
    use crate::cause::testing::{check, fault};
    use crate::error::Malformed;

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&[0, 3, 0, 8, 0, 0x0f, 0x42, 0x40], Cause::StaleCookie(1_000_000));
        check(&[0, 10, 0, 4], Cause::CookieReceivedWhileShuttingDown);
    }

    #[test]
    fn sizes_are_fixed() {
        assert_eq!(fault(&[0, 3, 0, 4]), Malformed::WrongLength { len: 0, expected: 4 });
    }
}
