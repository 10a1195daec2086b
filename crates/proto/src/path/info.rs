//! The Heartbeat Info that we put into our HEARTBEATs and recognise in the answers. Opaque to the peer (RFC 9260 §3.3.5).

use msctp_units::Time;

use crate::PathId;

/// Bytes of our heartbeat information.
pub const HEARTBEAT_INFO_LEN: usize = 28;

/// What a HEARTBEAT was sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To see whether the path works (RFC 9260 §8.3).
    Heartbeat,
    /// The bandwidth probe of this number, below `u64::MAX` − 1.
    Bandwidth(u64),
    /// To see whether a packet of its size passes (RFC 8899 §6.2.1.2).
    PathMtu,
}

impl Purpose {
    fn to_number(self) -> u64 {
        match self {
            Self::Heartbeat => 0,
            Self::Bandwidth(number) => number.saturating_add(1),
            Self::PathMtu => u64::MAX,
        }
    }

    fn from_number(number: u64) -> Self {
        match number {
            0 => Self::Heartbeat,
            u64::MAX => Self::PathMtu,
            number => Self::Bandwidth(number - 1),
        }
    }
}

/// What a HEARTBEAT carries and its ACK brings back. Only a claim until it was compared with what was sent: the peer may
/// send any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatInfo {
    /// The path it was sent on: RFC 9260 §5.4's path indicator.
    pub path: PathId,
    /// What it was sent for.
    pub purpose: Purpose,
    /// When it was sent (RFC 9260 §8.3).
    pub sent: Time,
    /// RFC 9260 §5.4: the 64-bit random nonce.
    pub nonce: u64,
}

impl HeartbeatInfo {
    /// As bytes: path, purpose (0 for a heartbeat, one more than the number of a bandwidth probe, all ones for the PMTU), sent, nonce, big-endian.
    pub fn to_bytes(self) -> [u8; HEARTBEAT_INFO_LEN] {
        let mut bytes = [0; HEARTBEAT_INFO_LEN];
        bytes[..4].copy_from_slice(&self.path.number().to_be_bytes());
        bytes[4..12].copy_from_slice(&self.purpose.to_number().to_be_bytes());
        bytes[12..20].copy_from_slice(&self.sent.as_nanos().to_be_bytes());
        bytes[20..].copy_from_slice(&self.nonce.to_be_bytes());
        bytes
    }

    /// From what a HEARTBEAT ACK brought; `None` if it has not the length of ours.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
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
    fn bytes_come_back_as_they_were_and_other_lengths_do_not() {
        let heartbeat = HeartbeatInfo {
            path: PathId::new(0x0102_0304),
            purpose: Purpose::Heartbeat,
            sent: Time::from_nanos(0x1122_3344_5566_7788),
            nonce: 0xFEDC_BA98_7654_3210,
        };
        for purpose in [Purpose::Heartbeat, Purpose::Bandwidth(0), Purpose::PathMtu] {
            let info = HeartbeatInfo { purpose, ..heartbeat };
            assert_eq!(HeartbeatInfo::from_bytes(&info.to_bytes()), Some(info));
        }
        let bytes = heartbeat.to_bytes();
        assert_eq!(HeartbeatInfo::from_bytes(&bytes[..27]), None);
        assert_eq!(HeartbeatInfo::from_bytes(&[&bytes[..], &[0]].concat()), None);
    }
}
