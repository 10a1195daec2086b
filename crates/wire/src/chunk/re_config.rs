//! RE-CONFIG (RFC 6525 §3.1).

use super::chunk;
use crate::param::Params;

/// Requests a change of streams, or answers such a request.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Type = 130   |  Chunk Flags  |      Chunk Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                  Re-configuration Parameter                   /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /             Re-configuration Parameter (optional)             /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReConfig<'a> {
    /// One or two parameters of RFC 6525 §4. The association checks their number and combination.
    pub params: Params<'a>,
}

chunk!(ReConfig<'a> = RE_CONFIG { ..params });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::testing::check;
    use crate::param::{AddStreams, Param, ReconfigResponse};
    use crate::serial::ReconfigSerial;

    #[test]
    fn bytes_of_the_rfc_layout() {
        let bytes = [
            130, 0, 0, 28, // header
            0, 17, 0, 12, 0, 0, 0, 7, 0, 3, 0, 0, // Add Outgoing Streams
            0, 16, 0, 12, 0, 0, 0, 9, 0, 0, 0, 1, // Re-configuration Response
        ];
        let params = [
            Param::AddOutgoingStreams(AddStreams { serial: ReconfigSerial::new(7), streams: 3 }),
            Param::ReconfigResponse(ReconfigResponse {
                serial: ReconfigSerial::new(9),
                result: 1,
                next_tsns: None,
            }),
        ];
        check(&bytes, Chunk::ReConfig(ReConfig { params: Params::from(&params) }));
    }
}
