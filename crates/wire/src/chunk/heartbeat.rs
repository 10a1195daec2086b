//! HEARTBEAT (RFC 9260 §3.3.5).

use super::chunk;
use crate::param::{Param, Params};

/// Probes whether a peer address is reachable.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Type = 4   |  Chunk Flags  |        Heartbeat Length       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /          Heartbeat Information TLV (Variable-Length)          /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
///
/// The answer is `HeartbeatAck { params: heartbeat.params }`, which returns the parameters unchanged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heartbeat<'a> {
    /// The mandatory Heartbeat Info parameter, and any others that the sender added.
    pub params: Params<'a>,
}

chunk!(Heartbeat<'a> = HEARTBEAT { ..params });

impl<'a> Heartbeat<'a> {
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
    use crate::chunk::EncodeChunk;
    use crate::chunk::testing::check;

    #[test]
    fn bytes_of_the_rfc_layout() {
        let params = [Param::HeartbeatInfo(&[1, 2, 3, 4, 5, 6])];
        let chunk = Heartbeat { params: Params::from(&params) };
        check(&[4, 0, 0, 14, 0, 1, 0, 10, 1, 2, 3, 4, 5, 6, 0, 0], Chunk::Heartbeat(chunk));
        assert_eq!(chunk.info(), Some(&[1, 2, 3, 4, 5, 6][..]));
    }

    #[test]
    fn without_the_mandatory_parameter_there_is_no_info() {
        let Ok(Chunk::Heartbeat(chunk)) = Chunk::parse(&[4, 0, 0, 4]) else { panic!("not parsed") };
        assert_eq!(chunk.info(), None);
    }

    #[test]
    fn an_ack_returns_every_parameter_unchanged() {
        // RFC 9260 §8.3: "together with any other received TLVs, copied unchanged".
        let request = [4, 0, 0, 17, 0, 1, 0, 5, 7, 1, 2, 3, 0xff, 0xfe, 0, 5, 9, 0, 0, 0];
        let Ok(Chunk::Heartbeat(heartbeat)) = Chunk::parse(&request) else { panic!("not a HEARTBEAT") };
        let mut answer = Vec::new();
        crate::HeartbeatAck { params: heartbeat.params }.encode(&mut answer);
        assert_eq!(answer[0], 5);
        assert_eq!(answer[1..], request[1..17]);
    }
}
