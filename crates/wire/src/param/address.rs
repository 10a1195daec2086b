//! Address parameters: IPv4 Address, IPv6 Address, Host Name Address (deprecated), Supported Address Types
//! (RFC 9260 §3.3.2.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 5            |          Length = 8           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                         IPv4 Address                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 6            |          Length = 20          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                         IPv6 Address                          |
//! |                          (16 bytes)                           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Type = 12           |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Address Type #1        |        Address Type #2        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                            ......                             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-++-+-+-+-+-+-+-+-+-+-+-+-+-+-++-+-+-+
//! ```

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Param, ParamType};
use crate::error::Malformed;
use crate::layout::Value;
use crate::read::exactly;
use crate::tlv::{self, Tlv};

/// An address parameter, with its header.
impl<'a> Value<'a> for IpAddr {
    fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        let (address, rest) = split_first(value)?;
        exactly(rest, 0)
            .map_err(|_| Malformed::WrongLength { len: value.len(), expected: address.encoded_len() })?;
        Ok(address)
    }
    fn encoded_len(&self) -> usize {
        Param::from(*self).encoded_len()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        Param::from(*self).encode(out);
    }
}

/// Parses the address parameter at the front of `bytes`. Returns it with the bytes after it.
pub(crate) fn split_first(bytes: &[u8]) -> Result<(IpAddr, &[u8]), Malformed> {
    let frame = tlv::split(bytes)?;
    let (typ, value) = (ParamType(frame.typ()), frame.value());
    let address = match typ {
        ParamType::IPV4_ADDRESS => Ipv4Addr::parse(value).map(IpAddr::from),
        ParamType::IPV6_ADDRESS => Ipv6Addr::parse(value).map(IpAddr::from),
        found => return Err(Malformed::NotAnAddress { found }),
    };
    let address = address.map_err(|_| Malformed::BadAddress { typ, len: value.len() })?;
    Ok((address, frame.rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::List;
    use crate::param::testing::{check, fault};

    #[test]
    fn bytes_of_the_rfc_layout() {
        let v4 = Ipv4Addr::new(192, 0, 2, 1);
        check(&[0, 5, 0, 8, 192, 0, 2, 1], Param::Ipv4Address(v4));
        let v6: Ipv6Addr = "2001:db8::1".parse().unwrap();
        let bytes = [0, 6, 0, 20, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        check(&bytes, Param::Ipv6Address(v6));
        assert_eq!(Param::from(IpAddr::from(v6)).address(), Some(v6.into()));
        assert_eq!(Param::from(IpAddr::from(v4)).address(), Some(v4.into()));
        assert_eq!(Param::EcnCapable.address(), None);
        check(&[0, 11, 0, 8, b'a', b'.', b'b', 0], Param::HostName(b"a.b\0"));
        let types = [ParamType::IPV4_ADDRESS, ParamType::IPV6_ADDRESS, ParamType(99)];
        check(&[0, 12, 0, 10, 0, 5, 0, 6, 0, 99, 0, 0], Param::SupportedAddressTypes(List::from(&types)));
    }

    #[test]
    fn sizes_are_fixed() {
        assert_eq!(fault(&[0, 5, 0, 7, 1, 2, 3, 0]), Malformed::WrongLength { len: 3, expected: 4 });
        assert_eq!(fault(&[0, 6, 0, 8, 1, 2, 3, 4]), Malformed::WrongLength { len: 4, expected: 16 });
        assert_eq!(fault(&[0, 12, 0, 7, 0, 5, 0, 0]), Malformed::NotWhole { len: 3, unit: 2 });
    }
}
