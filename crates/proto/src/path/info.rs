//! The Heartbeat Info that we put into our HEARTBEATs and recognise in the answers. Opaque to the peer (RFC 9260 §3.3.5).

use msctp_units::Time;

use crate::PathId;

/// Bytes of our heartbeat information.
pub const HEARTBEAT_INFO_LEN: usize = 24;

/// What a HEARTBEAT carries and its ACK brings back. Only a claim until it was compared with what was sent: the peer may
/// send any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatInfo {
    /// The path it was sent on: RFC 9260 §5.4's path indicator.
    pub path: PathId,
    /// 0 for a heartbeat, else the number of a bandwidth probe.
    pub probe: u32,
    /// When it was sent (RFC 9260 §8.3).
    pub sent: Time,
    /// RFC 9260 §5.4: the 64-bit random nonce.
    pub nonce: u64,
}

impl HeartbeatInfo {
    /// As bytes: path, probe, sent, nonce, big-endian.
    pub fn to_bytes(self) -> [u8; HEARTBEAT_INFO_LEN] {
        let mut bytes = [0; HEARTBEAT_INFO_LEN];
        bytes[..4].copy_from_slice(&self.path.number().to_be_bytes());
        bytes[4..8].copy_from_slice(&self.probe.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.sent.as_nanos().to_be_bytes());
        bytes[16..].copy_from_slice(&self.nonce.to_be_bytes());
        bytes
    }

    /// From what a HEARTBEAT ACK brought; `None` if it has not the length of ours.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEARTBEAT_INFO_LEN] = bytes.try_into().ok()?;
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
        Some(Self {
            path: PathId::new(word(0)),
            probe: word(4),
            sent: Time::from_nanos(long(8)),
            nonce: long(16),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were_and_other_lengths_do_not() {
        let info = HeartbeatInfo {
            path: PathId::new(0x0102_0304),
            probe: 7,
            sent: Time::from_nanos(0x1122_3344_5566_7788),
            nonce: 0xFEDC_BA98_7654_3210,
        };
        let bytes = info.to_bytes();
        assert_eq!(HeartbeatInfo::from_bytes(&bytes), Some(info));
        assert_eq!(HeartbeatInfo::from_bytes(&bytes[..23]), None);
        assert_eq!(HeartbeatInfo::from_bytes(&[&bytes[..], &[0]].concat()), None);
    }
}
