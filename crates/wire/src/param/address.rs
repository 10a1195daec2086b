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

use super::ParamType;
use crate::error::Malformed;
use crate::read::exactly;
use crate::tlv::{self, HEADER};
use crate::value::Value;

impl Value<'_> for Ipv4Addr {
    fn parse(value: &[u8]) -> Result<Self, Malformed> {
        let octets = <[u8; 4]>::try_from(value);
        octets.map(Self::from).map_err(|_| Malformed::WrongLength { len: value.len(), expected: 4 })
    }
    fn encoded_len(&self) -> usize {
        4
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.octets());
    }
}

impl Value<'_> for Ipv6Addr {
    fn parse(value: &[u8]) -> Result<Self, Malformed> {
        let octets = <[u8; 16]>::try_from(value);
        octets.map(Self::from).map_err(|_| Malformed::WrongLength { len: value.len(), expected: 16 })
    }
    fn encoded_len(&self) -> usize {
        16
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.octets());
    }
}

/// Bytes of the address parameter for `address`, a multiple of 4.
pub(crate) fn tlv_len(address: IpAddr) -> usize {
    HEADER
        + match address {
            IpAddr::V4(address) => address.encoded_len(),
            IpAddr::V6(address) => address.encoded_len(),
        }
}

/// Appends the address parameter for `address`.
pub(crate) fn encode(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(address) => {
            tlv::write_header(out, ParamType::IPV4_ADDRESS.0, address.encoded_len());
            address.encode(out);
        }
        IpAddr::V6(address) => {
            tlv::write_header(out, ParamType::IPV6_ADDRESS.0, address.encoded_len());
            address.encode(out);
        }
    }
}

/// Reads the address parameter that `bytes` begin with, and what follows it.
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

/// Reads an address parameter that is all of `bytes`.
pub(crate) fn parse_only(bytes: &[u8]) -> Result<IpAddr, Malformed> {
    let (address, rest) = split_first(bytes)?;
    exactly(rest, 0).map_err(|_| Malformed::WrongLength { len: bytes.len(), expected: tlv_len(address) })?;
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::List;
    use crate::param::Param;
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
