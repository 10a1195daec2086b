//! Heartbeat Info (RFC 9260 §3.3.5): opaque to all but its sender.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Heartbeat Info Type = 1    |        HB Info Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                Sender-Specific Heartbeat Info                 /
//! \                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

#[cfg(test)]
mod tests {
    use crate::param::Param;
    use crate::param::testing::check;

    #[test]
    fn bytes_of_the_rfc_layout() {
        check(&[0, 1, 0, 6, 0xab, 0xcd, 0, 0], Param::HeartbeatInfo(&[0xab, 0xcd]));
        check(&[0, 1, 0, 4], Param::HeartbeatInfo(&[]));
    }
}
