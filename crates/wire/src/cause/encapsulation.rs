//! Restart of an Association with New Encapsulation Port (draft-tuexen-tsvwg-sctp-udp-encaps-cons-03 §4.4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Cause Code = 14        |        Cause Length = 8       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Current Encapsulation Port  |     New Encapsulation Port    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::layout::layout;

/// Two UDP ports of one address of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncapsulationPorts {
    /// The port of the association.
    pub current: u16,
    /// The port from which the set-up of another one came.
    pub new: u16,
}

layout!(EncapsulationPorts { current: u16, new: u16 });

#[cfg(test)]
mod tests {
    use super::EncapsulationPorts;
    use crate::cause::Cause;
    use crate::cause::testing::{check, fault};
    use crate::error::Malformed;

    #[test]
    fn bytes_of_the_layout() {
        let ports = EncapsulationPorts { current: 0x0102, new: 0x0304 };
        check(&[0, 14, 0, 8, 1, 2, 3, 4], Cause::RestartWithNewPort(ports));
        assert_eq!(fault(&[0, 14, 0, 6, 1, 2, 0, 0]), Malformed::WrongLength { len: 2, expected: 4 });
    }
}
