//! The Heartbeat Info of our HEARTBEATs. Opaque to the peer (RFC 9260 §3.3.5).

use msctp_units::Time;

use crate::addr::PathId;

/// Length of this end's Heartbeat Info in bytes.
pub(crate) const HEARTBEAT_INFO_LEN: usize = 28;

/// The numbers of the purposes [`Purpose::Port`], the last for port 0.
const LAST_PORT: u64 = u64::MAX - 1;
const FIRST_PORT: u64 = LAST_PORT - u16::MAX as u64;

/// The number of [`Purpose::Address`].
const ADDRESS: u64 = FIRST_PORT - 1;

/// The purpose of a HEARTBEAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Tests whether the path works (RFC 9260 §8.3).
    Heartbeat,
    /// Tests whether the peer receives at this UDP port (RFC 6951 §5.4).
    Port(u16),
    /// Tests whether the peer receives at an address that it did not add.
    Address,
    /// The bandwidth probe with this number, below `u64::MAX` − 65,538.
    Bandwidth(u64),
    /// Tests whether a packet of the probe's size passes (RFC 8899 §6.2.1.2).
    PathMtu,
}

impl Purpose {
    fn to_number(self) -> u64 {
        match self {
            Self::Heartbeat => 0,
            Self::Bandwidth(number) => number.saturating_add(1),
            Self::Port(port) => LAST_PORT - u64::from(port),
            Self::Address => ADDRESS,
            Self::PathMtu => u64::MAX,
        }
    }

    fn from_number(number: u64) -> Self {
        match number {
            0 => Self::Heartbeat,
            u64::MAX => Self::PathMtu,
            FIRST_PORT..=LAST_PORT => Self::Port((LAST_PORT - number) as u16),
            ADDRESS => Self::Address,
            number => Self::Bandwidth(number - 1),
        }
    }
}

/// The information that a HEARTBEAT carries and its ACK returns.
///
/// Untrusted until compared with the HEARTBEAT sent: the peer may send any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeartbeatInfo {
    /// The path of the HEARTBEAT: RFC 9260 §5.4's path indicator.
    pub path: PathId,
    /// Purpose of the HEARTBEAT.
    pub purpose: Purpose,
    /// Time at which the HEARTBEAT was sent (RFC 9260 §8.3).
    pub sent: Time,
    /// Random nonce of 64 bits (RFC 9260 §5.4).
    pub nonce: u64,
}

impl HeartbeatInfo {
    /// Encodes the information in big-endian order: path, purpose, sent, nonce.
    ///
    /// The purpose is 0 for a heartbeat, the number plus 1 for a bandwidth probe, all ones for a PMTU probe,
    /// and the largest other numbers for UDP ports and a new address.
    pub(crate) fn to_bytes(self) -> [u8; HEARTBEAT_INFO_LEN] {
        let mut bytes = [0; HEARTBEAT_INFO_LEN];
        bytes[..4].copy_from_slice(&self.path.number().to_be_bytes());
        bytes[4..12].copy_from_slice(&self.purpose.to_number().to_be_bytes());
        bytes[12..20].copy_from_slice(&self.sent.as_nanos().to_be_bytes());
        bytes[20..].copy_from_slice(&self.nonce.to_be_bytes());
        bytes
    }

    /// Decodes the information of a HEARTBEAT ACK. Returns `None` if its length is not
    /// [`HEARTBEAT_INFO_LEN`].
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEARTBEAT_INFO_LEN] = bytes.try_into().ok()?;
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
        Some(Self {
            path: PathId::new(word(0)),
            purpose: Purpose::from_number(long(4)),
            sent: Time::from_nanos(long(12)),
            nonce: long(20),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_information_round_trips_and_other_lengths_are_rejected() {
        let heartbeat = HeartbeatInfo {
            path: PathId::new(0x0102_0304),
            purpose: Purpose::Heartbeat,
            sent: Time::from_nanos(0x1122_3344_5566_7788),
            nonce: 0xFEDC_BA98_7654_3210,
        };
        for purpose in [
            Purpose::Heartbeat,
            Purpose::Bandwidth(0),
            Purpose::Port(0),
            Purpose::Port(u16::MAX),
            Purpose::Address,
            Purpose::PathMtu,
        ] {
            let info = HeartbeatInfo { purpose, ..heartbeat };
            assert_eq!(HeartbeatInfo::from_bytes(&info.to_bytes()), Some(info));
        }
        let bytes = heartbeat.to_bytes();
        assert_eq!(HeartbeatInfo::from_bytes(&bytes[..27]), None);
        assert_eq!(HeartbeatInfo::from_bytes(&[&bytes[..], &[0]].concat()), None);
    }
}
