//! Requests and responses of ASCONF and ASCONF-ACK (RFC 5061 §4.2.1 to §4.2.5).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Type = 0xC001, 0xC002, 0xC004 |    Length = Variable          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |               ASCONF-Request Correlation ID                   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                       Address Parameter                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Type = 0xC003              |      Length = Variable        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |             ASCONF-Response Correlation ID                    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |             Error Cause(s) or Success Indication              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Type = 0xC005          |      Length = 8               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |               ASCONF-Response Correlation ID                  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use core::net::IpAddr;

use crate::cause::Causes;
use crate::ids::CorrelationId;
use crate::layout::layout;

/// Value of Add IP Address, Delete IP Address and Set Primary IP Address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRequest {
    /// Identifier of the request, which its response repeats.
    pub correlation_id: CorrelationId,
    /// The address. The wildcard (0.0.0.0 or ::, [`IpAddr::is_unspecified`]) means the packet's source
    /// address when adding or setting the primary. When deleting, it means all addresses except that one.
    pub address: IpAddr,
}

layout!(AddressRequest { correlation_id: CorrelationId, ..address });

/// Value of Error Cause Indication: the causes for which a request failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorCauseIndication<'a> {
    /// Correlation ID of the request.
    pub correlation_id: CorrelationId,
    /// The error causes.
    pub causes: Causes<'a>,
}

layout!(ErrorCauseIndication<'a> { correlation_id: CorrelationId, ..causes });

#[cfg(test)]
mod tests {
    use core::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::cause::Cause;
    use crate::error::Malformed;
    use crate::param::testing::{check, fault};
    use crate::param::{Param, ParamType};

    #[test]
    fn requests_of_the_rfc_layout() {
        let bytes = |typ| [0xc0, typ, 0, 16, 1, 2, 0x34, 0x74, 0, 5, 0, 8, 192, 0, 2, 1];
        let request = AddressRequest {
            correlation_id: CorrelationId::new(0x0102_3474),
            address: Ipv4Addr::new(192, 0, 2, 1).into(),
        };
        check(&bytes(1), Param::AddIpAddress(request));
        check(&bytes(2), Param::DeleteIpAddress(request));
        check(&bytes(4), Param::SetPrimaryAddress(request));
    }

    #[test]
    fn the_wildcard_is_an_address() {
        let request =
            AddressRequest { correlation_id: CorrelationId::new(1), address: Ipv6Addr::UNSPECIFIED.into() };
        assert!(request.address.is_unspecified());
        let mut bytes = vec![0xc0, 1, 0, 28, 0, 0, 0, 1, 0, 6, 0, 20];
        bytes.extend_from_slice(&[0; 16]);
        check(&bytes, Param::AddIpAddress(request));
    }

    #[test]
    fn responses_of_the_rfc_layout() {
        check(&[0xc0, 5, 0, 8, 1, 2, 3, 4], Param::SuccessIndication(CorrelationId::new(0x0102_0304)));
        let indication = ErrorCauseIndication {
            correlation_id: CorrelationId::new(0x0102_3476),
            causes: Causes::from(&[Cause::OutOfResource]),
        };
        check(&[0xc0, 3, 0, 12, 1, 2, 0x34, 0x76, 0, 4, 0, 4], Param::ErrorCauseIndication(indication));
    }

    #[test]
    fn a_request_needs_one_address_and_nothing_else() {
        assert_eq!(fault(&[0xc0, 1, 0, 7, 0, 0, 0, 0]), Malformed::TooShort { len: 3, min: 4 });
        let host_name = [0xc0, 1, 0, 16, 0, 0, 0, 0, 0, 11, 0, 8, b'a', b'.', b'b', 0];
        assert_eq!(fault(&host_name), Malformed::NotAnAddress { found: ParamType::HOST_NAME });
        let short = [0xc0, 1, 0, 16, 0, 0, 0, 0, 0, 5, 0, 6, 1, 2, 0, 0];
        assert_eq!(fault(&short), Malformed::BadAddress { typ: ParamType::IPV4_ADDRESS, len: 2 });
        let two = [0xc0, 1, 0, 20, 0, 0, 0, 0, 0, 5, 0, 8, 1, 2, 3, 4, 0, 5, 0, 4];
        assert_eq!(fault(&two), Malformed::WrongLength { len: 12, expected: 8 });
        assert_eq!(fault(&[0xc0, 3, 0, 4]), Malformed::TooShort { len: 0, min: 4 });
    }
}
