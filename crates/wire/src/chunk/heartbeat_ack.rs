//! HEARTBEAT ACK (RFC 9260 §3.3.6).

use super::chunk;
use crate::param::{Param, Params};

/// Answers a HEARTBEAT with the same parameters.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Type = 5   |  Chunk Flags  |      Heartbeat Ack Length     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /          Heartbeat Information TLV (Variable-Length)          /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeartbeatAck<'a> {
    /// The mandatory Heartbeat Info parameter, and any others that the sender added.
    pub params: Params<'a>,
}

chunk!(HeartbeatAck<'a> = HEARTBEAT_ACK { ..params });

impl<'a> HeartbeatAck<'a> {
    /// Returns the Sender-Specific Heartbeat Info, if there is any before a framing error.
    pub fn info(&self) -> Option<&'a [u8]> {
        self.params.find(|param| match param {
            Param::HeartbeatInfo(info) => Some(info),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::testing::check;

    #[test]
    fn bytes_of_the_rfc_layout() {
        let params = [Param::HeartbeatInfo(&[1, 2, 3, 4, 5, 6])];
        let chunk = HeartbeatAck { params: Params::from(&params) };
        check(&[5, 0, 0, 14, 0, 1, 0, 10, 1, 2, 3, 4, 5, 6, 0, 0], Chunk::HeartbeatAck(chunk));
        assert_eq!(chunk.info(), Some(&[1, 2, 3, 4, 5, 6][..]));
    }

    #[test]
    fn without_the_mandatory_parameter_there_is_no_info() {
        let Ok(Chunk::HeartbeatAck(chunk)) = Chunk::parse(&[5, 0, 0, 4]) else { panic!("not parsed") };
        assert_eq!(chunk.info(), None);
    }
}
