//! Agent advertisements: an ICMP router advertisement (RFC 1256) with the mobility agent advertisement
//! extension (RFC 5944 §2.1.1).
//!
//! ```text
//!  Type 9 | Code 0 | Checksum | Num Addrs | Entry Size 2 | Lifetime | Router Address | Preference | …
//!  Type 16 | Length 6 + 4·N | Sequence Number | Registration Lifetime | R B H F M G r T U X I … |
//!  Care-of Addresses
//! ```

use std::net::Ipv4Addr;

use super::{address_at, u16_at};

const ROUTER_ADVERTISEMENT: u8 = 9;
/// Code 0: the agent also routes ordinary traffic (RFC 5944 §2.1).
const CODE: u8 = 0;
const EXTENSION: u8 = 16;
/// The one-byte padding extension (RFC 5944 §2.1.3).
const PADDING: u8 = 0;

const HOME: u8 = 0x20;
const FOREIGN: u8 = 0x10;

/// An agent advertisement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Advertisement {
    /// The agent's own address.
    pub(crate) router: Ipv4Addr,
    /// Lifetime in seconds.
    pub(crate) lifetime: u16,
    /// Sequence number; see [`next_sequence`].
    pub(crate) sequence: u16,
    /// Maximum registration lifetime that the agent accepts, in seconds.
    pub(crate) registration_lifetime: u16,
    /// True for a home agent on this link.
    pub(crate) home: bool,
    /// Care-of addresses of a foreign agent; empty for other agents.
    pub(crate) care_of: Vec<Ipv4Addr>,
}

/// Returns the next sequence number. After 0xffff comes 256, so that a number below it reveals a restart
/// (RFC 5944 §2.1.1 and §2.3.2).
pub(crate) fn next_sequence(sequence: u16) -> u16 {
    sequence.checked_add(1).unwrap_or(256)
}

impl Advertisement {
    /// Encodes the ICMP message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![ROUTER_ADVERTISEMENT, CODE, 0, 0, 1, 2];
        out.extend(self.lifetime.to_be_bytes());
        out.extend(self.router.octets());
        // Preference level 0: the default (RFC 1256 §3.1).
        out.extend(0u32.to_be_bytes());
        out.push(EXTENSION);
        out.push(6 + 4 * self.care_of.len() as u8);
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.registration_lifetime.to_be_bytes());
        let foreign = !self.care_of.is_empty();
        out.push(if self.home { HOME } else { 0 } | if foreign { FOREIGN } else { 0 });
        out.push(0);
        for address in &self.care_of {
            out.extend(address.octets());
        }
        let sum = checksum(&out);
        out[2..4].copy_from_slice(&sum.to_be_bytes());
        out
    }

    /// Parses an ICMP message; `None` unless it is an agent advertisement.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.first() != Some(&ROUTER_ADVERTISEMENT) || checksum(bytes) != 0 {
            return None;
        }
        let (count, entry) = (usize::from(*bytes.get(4)?), usize::from(*bytes.get(5)?));
        // Each entry has at least an address and a preference.
        if count == 0 || entry < 2 {
            return None;
        }
        let lifetime = u16_at(bytes, 6)?;
        let router = address_at(bytes, 8)?;
        let mut at = 8 + 4 * entry * count;
        loop {
            let kind = *bytes.get(at)?;
            if kind == PADDING {
                at += 1;
                continue;
            }
            let len = usize::from(*bytes.get(at + 1)?);
            let body = bytes.get(at + 2..at + 2 + len)?;
            if kind != EXTENSION {
                at += 2 + len;
                continue;
            }
            let flags = *body.get(4)?;
            body.get(5)?;
            let care_of = (6..len).step_by(4).map_while(|at| address_at(body, at));
            let care_of: Vec<Ipv4Addr> = if flags & FOREIGN != 0 { care_of.collect() } else { Vec::new() };
            return Some(Self {
                router,
                lifetime,
                sequence: u16_at(body, 0)?,
                registration_lifetime: u16_at(body, 2)?,
                home: flags & HOME != 0,
                care_of,
            });
        }
    }
}

/// Computes the Internet checksum (RFC 1071) with the checksum field zero. Over a valid message it is 0.
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn foreign() -> Advertisement {
        Advertisement {
            router: [10, 0, 2, 1].into(),
            lifetime: 3,
            sequence: 7,
            registration_lifetime: 60,
            home: false,
            care_of: vec![[10, 0, 2, 1].into()],
        }
    }

    #[test]
    fn the_encoding_is_the_rfcs() {
        let bytes = foreign().encode();
        assert_eq!(bytes.len(), 16 + 12);
        assert_eq!(bytes[..2], [9, 0]);
        assert_eq!(bytes[4..16], [1, 2, 0, 3, 10, 0, 2, 1, 0, 0, 0, 0]);
        // Flag F.
        assert_eq!(bytes[16..], [16, 10, 0, 7, 0, 60, 0x10, 0, 10, 0, 2, 1]);
        let home = Advertisement { home: true, care_of: Vec::new(), ..foreign() };
        assert_eq!(home.encode()[16..], [16, 6, 0, 7, 0, 60, 0x20, 0]);
        assert_eq!(Advertisement::parse(&home.encode()), Some(home));
    }

    #[test]
    fn the_sequence_number_wraps_to_256() {
        assert_eq!(next_sequence(0), 1);
        assert_eq!(next_sequence(0xffff), 256);
    }

    proptest! {
        #[test]
        fn encoded_advertisements_parse_back(
            lifetime: u16, sequence: u16, registration_lifetime: u16, home: bool,
            care_of in prop::collection::vec(any::<[u8; 4]>(), 0..5),
            flip in prop::option::of((0..48usize, 0..8u8)),
        ) {
            let care_of = care_of.into_iter().map(Ipv4Addr::from).collect();
            let it = Advertisement { lifetime, sequence, registration_lifetime, home, care_of, ..foreign() };
            let mut bytes = it.encode();
            prop_assert_eq!(Advertisement::parse(&bytes), Some(it));
            if let Some((at, bit)) = flip && at < bytes.len() {
                bytes[at] ^= 1 << bit;
                prop_assert_eq!(Advertisement::parse(&bytes), None, "a flipped bit is found");
            }
        }

        #[test]
        fn every_input_gives_a_value_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Advertisement::parse(&bytes);
        }
    }
}
