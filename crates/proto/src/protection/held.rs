//! [`HeldPackets`]: sealed packets that arrived before the keys that open them, as with False Start.

use msctp_units::Ecn;

use crate::addr::PathAddr;

/// Maximum number of packets held, more than an initial congestion window (RFC 6928: ten).
const MAX_PACKETS: usize = 16;
/// Maximum bytes of packets held. Anyone who answers an INIT ACK can occupy them.
const MAX_BYTES: usize = 16 << 10;

/// A sealed packet, its common header included.
#[derive(Debug)]
pub(crate) struct HeldPacket {
    pub(crate) at: PathAddr,
    pub(crate) ecn: Ecn,
    pub(crate) bytes: Vec<u8>,
}

/// The first protected packets of a set-up, held until there are keys. Later ones are dropped: the peer
/// retransmits their content.
#[derive(Debug, Default)]
pub(crate) struct HeldPackets(Vec<HeldPacket>);

impl HeldPackets {
    /// Stores a copy of a packet, if there is room.
    pub(crate) fn push(&mut self, at: PathAddr, ecn: Ecn, bytes: &[u8]) {
        let held: usize = self.0.iter().map(|packet| packet.bytes.len()).sum();
        if self.0.len() < MAX_PACKETS && held + bytes.len() <= MAX_BYTES {
            self.0.push(HeldPacket { at, ecn, bytes: bytes.to_vec() });
        }
    }

    /// Takes all packets, in the order of arrival.
    pub(crate) fn take(&mut self) -> Vec<HeldPacket> {
        core::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_beyond_the_limits_are_dropped() {
        let at = PathAddr { local: [127, 0, 0, 1].into(), remote: [127, 0, 0, 2].into() };
        let hold = |len: usize, count: usize| {
            let mut held = HeldPackets::default();
            for _ in 0..count {
                held.push(at, Ecn::NotEct, &vec![7; len]);
            }
            let taken = held.take();
            assert!(held.take().is_empty());
            taken.len()
        };
        assert_eq!([hold(100, 20), hold(1400, 20), hold(20_000, 1), hold(1400, 3)], [16, 11, 0, 3]);
    }
}
