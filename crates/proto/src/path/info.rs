//! The Heartbeat Info that we put into our HEARTBEATs and recognise in the answers. Opaque to the peer (RFC 9260 §3.3.5).

use msctp_units::Time;

use crate::PathId;

/// Bytes of our heartbeat information.
pub const HEARTBEAT_INFO_LEN: usize = 28;

/// What a HEARTBEAT carries and its ACK brings back. Only a claim until it was compared with what was sent: the peer may
/// send any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatInfo {
    /// The path it was sent on: RFC 9260 §5.4's path indicator.
    pub path: PathId,
    /// The number of the bandwidth probe it is, below `u64::MAX`; `None` for a heartbeat.
    pub probe: Option<u64>,
    /// When it was sent (RFC 9260 §8.3).
    pub sent: Time,
    /// RFC 9260 §5.4: the 64-bit random nonce.
    pub nonce: u64,
}

impl HeartbeatInfo {
    /// As bytes: path, probe (0 for a heartbeat, else one more than its number), sent, nonce, big-endian.
    pub fn to_bytes(self) -> [u8; HEARTBEAT_INFO_LEN] {
        let mut bytes = [0; HEARTBEAT_INFO_LEN];
        bytes[..4].copy_from_slice(&self.path.number().to_be_bytes());
        bytes[4..12].copy_from_slice(&self.probe.map_or(0, |id| id.saturating_add(1)).to_be_bytes());
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
            probe: long(4).checked_sub(1),
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
            probe: None,
            sent: Time::from_nanos(0x1122_3344_5566_7788),
            nonce: 0xFEDC_BA98_7654_3210,
        };
        for info in [heartbeat, HeartbeatInfo { probe: Some(0), ..heartbeat }] {
            assert_eq!(HeartbeatInfo::from_bytes(&info.to_bytes()), Some(info));
        }
        let bytes = heartbeat.to_bytes();
        assert_eq!(HeartbeatInfo::from_bytes(&bytes[..27]), None);
        assert_eq!(HeartbeatInfo::from_bytes(&[&bytes[..], &[0]].concat()), None);
    }
}
