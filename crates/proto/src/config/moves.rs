//! [`Moves`]: what a change of addresses may do beyond RFC 5061.

use crate::path::AMPLIFICATION_LIMIT;

/// How an end moves to another address, and how its peer answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moves {
    /// Follows RFC 5061 and RFC 9260. The default.
    #[default]
    Standard,
    /// Moves sooner, with four deviations from the RFCs and another value of HB.Max.Burst:
    ///
    /// - The request that adds an address leaves from that address first, as RFC 5061 §5.3 F1 allows, and
    ///   from another one if it is not answered. It then does not wait in the queues of the path that is
    ///   being left.
    /// - It leaves three times at once, where RFC 5061 §5.1.1 C1 allows one packet in flight. A link often
    ///   loses the first packet after it came up. A PAD chunk (RFC 4820) fills the packet, so that the peer
    ///   may answer with as many bytes. If no other address is left, a SACK in it reports what has arrived.
    /// - Data may go to an address that was just added from itself before it is confirmed (RFC 9260 §5.4
    ///   forbids it): at most three bytes for each byte of the packet that added it, the limit of RFC 9000
    ///   §8.1.
    /// - While the new data path is in slow start or Startup, the previous path carries the data that does
    ///   not fit the new path's window, as long as it works and has the shorter round trip. RFC 9260 §6.4
    ///   sends to one path.
    /// - HB.Max.Burst is 4, not 1: a few new addresses are confirmed in one round trip (RFC 9260 §5.4).
    Fast,
}

impl Moves {
    /// Returns whether the request to add a new address leaves from that address, and whether a set-up tries
    /// several pairs of addresses at a time.
    pub(crate) fn is_fast(self) -> bool {
        self == Self::Fast
    }

    /// Returns the bytes that may go to a new address for each byte of the packet that added it.
    pub(crate) fn early_data(self) -> u32 {
        if self == Self::Fast { AMPLIFICATION_LIMIT } else { 0 }
    }

    /// Returns HB.Max.Burst: the heartbeats per RTO that confirm addresses (RFC 9260 §5.4, §16).
    pub(crate) fn hb_max_burst(self) -> u32 {
        if self == Self::Fast { 4 } else { 1 }
    }

    /// Returns the number of packets that carry one request. Together they are smaller than any initial
    /// window (RFC 9260 §7.2.1).
    pub(crate) fn copies(self) -> u32 {
        if self == Self::Fast { 3 } else { 1 }
    }
}
