//! Mobile IP's messages as bytes: agent advertisements (ICMP) and registrations (the payload of UDP port
//! 434).
//!
//! Every input gives a value or nothing; what is written parses back. No state, no time.

pub(crate) mod advertisement;
pub(crate) mod registration;

/// The big-endian number at `at`.
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes)
}

/// The IPv4 address at `at`.
fn address_at(bytes: &[u8], at: usize) -> Option<std::net::Ipv4Addr> {
    let octets: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(octets.into())
}

/// A time in whole seconds, as the messages carry it: rounded down, 65535 for longer.
pub(crate) fn seconds(span: msctp_units::Span) -> u16 {
    u16::try_from(span.as_millis() / 1000).unwrap_or(u16::MAX)
}
