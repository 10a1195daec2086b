//! Registration requests and replies (RFC 5944 §3.3 and §3.4), without extensions.

use std::net::Ipv4Addr;

use super::{address_at, u16_at};

const REQUEST: u8 = 1;
const REPLY: u8 = 3;

/// Codes of a reply (RFC 5944 §3.4).
pub(crate) mod code {
    /// Registration accepted.
    pub(crate) const ACCEPTED: u8 = 0;
    /// Denied by the foreign agent: requested lifetime too long.
    pub(crate) const LIFETIME_TOO_LONG: u8 = 69;
    /// Denied by the foreign agent: invalid care-of address.
    pub(crate) const INVALID_CARE_OF: u8 = 77;
    /// Denied by the home agent: registration identification mismatch.
    pub(crate) const IDENTIFICATION_MISMATCH: u8 = 133;
    /// Denied by the home agent: unknown home agent address.
    pub(crate) const UNKNOWN_HOME_AGENT: u8 = 136;
}

/// A registration request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Requested lifetime in seconds; 0: deregistration.
    pub(crate) lifetime: u16,
    pub(crate) home_address: Ipv4Addr,
    pub(crate) home_agent: Ipv4Addr,
    /// The end of the tunnel; in a deregistration at home, the home address.
    pub(crate) care_of: Ipv4Addr,
    /// A time stamp in NTP's format: seconds and 2⁻³² seconds (RFC 5944 §5.7.1).
    pub(crate) identification: u64,
}

/// A registration reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// See [`code`].
    pub(crate) code: u8,
    /// Granted lifetime in seconds; 0 if the mobile has been deregistered.
    pub(crate) lifetime: u16,
    pub(crate) home_address: Ipv4Addr,
    pub(crate) home_agent: Ipv4Addr,
    /// Identification of the request. In a mismatch, its upper half is the home agent's time.
    pub(crate) identification: u64,
}

impl Request {
    /// Encodes the UDP payload. No flag is set: no simultaneous bindings, no broadcasts, the care-of address
    /// is the agent's, IP in IP.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![REQUEST, 0];
        out.extend(self.lifetime.to_be_bytes());
        out.extend(self.home_address.octets());
        out.extend(self.home_agent.octets());
        out.extend(self.care_of.octets());
        out.extend(self.identification.to_be_bytes());
        out
    }

    /// Parses a UDP payload; `None` unless it is a request.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.first() != Some(&REQUEST) {
            return None;
        }
        Some(Self {
            lifetime: u16_at(bytes, 2)?,
            home_address: address_at(bytes, 4)?,
            home_agent: address_at(bytes, 8)?,
            care_of: address_at(bytes, 12)?,
            identification: u64::from_be_bytes(bytes.get(16..24)?.try_into().ok()?),
        })
    }

    /// Creates the reply with this code and lifetime.
    pub(crate) fn reply(&self, code: u8, lifetime: u16) -> Reply {
        Reply {
            code,
            lifetime,
            home_address: self.home_address,
            home_agent: self.home_agent,
            identification: self.identification,
        }
    }
}

impl Reply {
    /// Encodes the UDP payload.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![REPLY, self.code];
        out.extend(self.lifetime.to_be_bytes());
        out.extend(self.home_address.octets());
        out.extend(self.home_agent.octets());
        out.extend(self.identification.to_be_bytes());
        out
    }

    /// Parses a UDP payload; `None` unless it is a reply.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.first() != Some(&REPLY) {
            return None;
        }
        Some(Self {
            code: *bytes.get(1)?,
            lifetime: u16_at(bytes, 2)?,
            home_address: address_at(bytes, 4)?,
            home_agent: address_at(bytes, 8)?,
            identification: u64::from_be_bytes(bytes.get(12..20)?.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_encoding_is_the_rfcs() {
        let request = Request {
            lifetime: 60,
            home_address: [10, 0, 1, 2].into(),
            home_agent: [10, 0, 1, 1].into(),
            care_of: [10, 0, 2, 1].into(),
            identification: 0x0102_0304_0506_0708,
        };
        let bytes = request.encode();
        let want = [1, 0, 0, 60, 10, 0, 1, 2, 10, 0, 1, 1, 10, 0, 2, 1, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(bytes, want);
        assert_eq!(Request::parse(&bytes), Some(request));
        let reply = request.reply(code::IDENTIFICATION_MISMATCH, 30);
        let want = [3, 133, 0, 30, 10, 0, 1, 2, 10, 0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(reply.encode(), want);
        assert_eq!(Reply::parse(&want), Some(reply));
        assert_eq!((Request::parse(&want), Reply::parse(&bytes)), (None, None));
        assert_eq!((Request::parse(&bytes[..23]), Reply::parse(&want[..19])), (None, None));
    }

    proptest! {
        #[test]
        fn every_input_gives_a_value_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(request) = Request::parse(&bytes) {
                prop_assert_eq!(Request::parse(&request.encode()), Some(request));
            }
            if let Some(reply) = Reply::parse(&bytes) {
                prop_assert_eq!(Reply::parse(&reply.encode()), Some(reply));
            }
        }
    }
}
