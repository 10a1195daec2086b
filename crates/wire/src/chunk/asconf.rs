//! ASCONF (RFC 5061 §4.1.1).

use core::net::{IpAddr, Ipv4Addr};

use super::{ChunkType, EncodeChunk};
use crate::error::Malformed;
use crate::layout::Value;
use crate::list::Item;
use crate::param::{ParamType, Params, address};
use crate::read::{at_least, be32};
use crate::serial::AsconfSerial;
use crate::tlv;

/// Length in bytes of the fixed fields before the Address Parameter.
const FIXED: usize = 4;

/// Requests that the peer add or delete addresses of the sender, or make one the primary.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Type = 0xC1  |  Chunk Flags  |          Chunk Length         |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                        Sequence Number                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       Address Parameter                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      ASCONF Parameter #1                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                              ....                             /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      ASCONF Parameter #N                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asconf<'a> {
    /// Sequence Number, returned in the ASCONF-ACK.
    pub serial: AsconfSerial,
    /// An address of the sender that is already part of the association. With the wildcard (0.0.0.0 or ::)
    /// the receiver finds the association by other means. A Host Name Address is parsed as the wildcard.
    pub address: IpAddr,
    /// Requests: Add IP Address, Delete IP Address, Set Primary Address.
    pub requests: Params<'a>,
}

impl<'a> Asconf<'a> {
    pub(super) fn parse(_flags: u8, value: &'a [u8]) -> Result<Self, Malformed> {
        let (fixed, params) = at_least(value, FIXED)?.split_at(FIXED);
        // RFC 5061 §4.1.1: the Address Parameter "MUST be present in every ASCONF message".
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
        //# This parameter MUST be present in every ASCONF message, i.e. it is a mandatory TLV parameter.
        //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
        //# The host name address MUST NOT be sent and MUST be ignored if received in any ASCONF message.
        let named = tlv::split(params)?;
        let (address, requests) = match ParamType(named.typ()) {
            ParamType::HOST_NAME => (Ipv4Addr::UNSPECIFIED.into(), named.rest),
            _ => address::split_first(params)?,
        };
        Ok(Self { serial: AsconfSerial::new(be32(fixed, 0)), address, requests: Params::from_wire(requests) })
    }
}

impl EncodeChunk for Asconf<'_> {
    fn chunk_type(&self) -> ChunkType {
        ChunkType::ASCONF
    }

    fn value_len(&self) -> usize {
        FIXED + self.address.encoded_len() + self.requests.encoded_len()
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        self.serial.write(out);
        // Both address parameters are a multiple of 4 bytes long: no padding.
        self.address.encode(out);
        self.requests.encode(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::testing::{check, malformed};
    use crate::param::AddressRequest;
    use crate::{Chunk, ChunkError, CorrelationId, Param};

    #[test]
    fn the_examples_of_the_rfc() {
        let bytes = [
            0xc1, 0, 0, 64, // type, flags, length
            0, 0, 0, 7, // sequence number
            0, 5, 0, 8, 192, 0, 2, 9, // address parameter
            0xc0, 0x01, 0, 16, 0x01, 0x02, 0x34, 0x74, 0, 5, 0, 8, 192, 0, 2, 1, // Add IP Address
            0xc0, 0x02, 0, 16, 0x01, 0x02, 0x34, 0x76, 0, 5, 0, 8, 192, 0, 2, 1, // Delete IP Address
            0xc0, 0x04, 0, 16, 0x01, 0x02, 0x34, 0x79, 0, 5, 0, 8, 192, 0, 2,
            1, // Set Primary IP Address
        ];
        let request = |id| AddressRequest {
            correlation_id: CorrelationId::new(id),
            address: Ipv4Addr::new(192, 0, 2, 1).into(),
        };
        let requests = [
            Param::AddIpAddress(request(0x0102_3474)),
            Param::DeleteIpAddress(request(0x0102_3476)),
            Param::SetPrimaryAddress(request(0x0102_3479)),
        ];
        let asconf = Asconf {
            serial: AsconfSerial::new(7),
            address: Ipv4Addr::new(192, 0, 2, 9).into(),
            requests: Params::from(&requests),
        };
        check(&bytes, Chunk::Asconf(asconf));
    }

    //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
    //= type=test
    //# This parameter MUST be present in every ASCONF message, i.e. it is a mandatory TLV parameter.
    #[test]
    fn the_address_parameter_is_mandatory() {
        let error = |fault| ChunkError::Malformed { typ: ChunkType::ASCONF, fault };
        let cookie = [0xc1, 0, 0, 16, 0, 0, 0, 7, 0, 7, 0, 6, b'x', 0, 0, 0];
        assert_eq!(malformed(&cookie), error(Malformed::NotAnAddress { found: ParamType::STATE_COOKIE }));
        let none = [0xc1, 0, 0, 8, 0, 0, 0, 7];
        assert_eq!(malformed(&none), error(crate::FramingError::TruncatedHeader { left: 0 }.into()));
        let short = [0xc1, 0, 0, 14, 0, 0, 0, 7, 0, 6, 0, 6, 1, 2, 0, 0];
        assert_eq!(malformed(&short), error(Malformed::BadAddress { typ: ParamType::IPV6_ADDRESS, len: 2 }));
    }

    //= https://www.rfc-editor.org/rfc/rfc5061#section-4.1.1
    //= type=test
    //# The host name address MUST NOT be sent and MUST be ignored if received in any ASCONF message.
    #[test]
    fn a_host_name_is_read_as_no_address_and_the_requests_behind_it_count() {
        let bytes = [
            0xc1, 0, 0, 32, 0, 0, 0, 7, 0, 11, 0, 6, b'x', 0, 0, 0, // Host Name Address, padded
            0xc0, 2, 0, 16, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 1, // Delete IP Address
        ];
        let Ok(Chunk::Asconf(asconf)) = Chunk::parse(&bytes) else { panic!("{:?}", Chunk::parse(&bytes)) };
        assert!(asconf.address.is_unspecified());
        let address = Ipv4Addr::new(192, 0, 2, 1).into();
        let delete = AddressRequest { correlation_id: CorrelationId::new(1), address };
        assert!(asconf.requests.iter().eq([Ok(Param::DeleteIpAddress(delete))]));
    }
}
