//! Mobile IP's messages as bytes: agent advertisements (ICMP) and registrations (the payload of UDP port
//! 434).
//!
//! Every input parses to a value or to `None`; encoded messages parse back. No state, no time.

pub(crate) mod advertisement;
pub(crate) mod registration;

/// Reads the big-endian number at `at`.
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes)
}

/// Reads the IPv4 address at `at`.
fn address_at(bytes: &[u8], at: usize) -> Option<std::net::Ipv4Addr> {
    let octets: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(octets.into())
}

/// Converts a time to the whole seconds of messages, rounded down, at most 65535.
pub(crate) fn seconds(span: msctp_units::Span) -> u16 {
    u16::try_from(span.as_millis() / 1000).unwrap_or(u16::MAX)
}
