//! [`MovesConfig`]: what a change of addresses may do beyond RFC 5061.

use super::check;
use crate::ConfigError;
use crate::association::AMPLIFICATION_LIMIT;

/// Packets of a request: with what they carry beside it less than any initial window (RFC 9260 §7.2.1).
const MOST_COPIES: u32 = 3;

/// How an end that moves asks, and how one that is asked answers; by default as RFC 5061 and RFC 9260 have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovesConfig {
    /// The request that adds an address leaves from that address first, as RFC 5061 §5.3 F1 allows, and from another when it is
    /// not answered. It then does not wait in the queues of the path that is being left, and the answer shows that the new one
    /// works. False: over the path that carries data, as long as that works.
    pub ask_from_new: bool,
    /// Data may go to an address that was just added from itself before it is confirmed (RFC 9260 §5.4 forbids it): at most so
    /// many bytes for each byte of the packet that added it, 0 to 3, the limit that RFC 9000 §8.1 sets against flooding third
    /// parties. This end fills its own packets that add addresses with a PAD chunk (RFC 4820), so that a peer may answer with as much,
    /// and says in them what has arrived (a SACK) when no other address is left.
    /// 0: none.
    pub early_data: u32,
    /// What adds an address from itself leaves so many times at once, 1 to 3. RFC 5061 §5.1.1 C1 has one packet on its way, and T4-rto
    /// for the lost; but a link often loses the first packet after it came, and a peer that may answer with early data may answer
    /// with more.
    pub copies: u32,
    /// While the path to which data has just moved is still looking for its rate (slow start, Startup), what it does not take
    /// goes over the path that was left, as long as that one works and has the shorter round trip: what goes there is there no
    /// later. RFC 9260 §6.4 sends to one path.
    pub overlap: bool,
}

impl Default for MovesConfig {
    fn default() -> Self {
        Self { ask_from_new: false, early_data: 0, copies: 1, overlap: false }
    }
}

impl MovesConfig {
    pub(super) fn validate(self) -> Result<(), ConfigError> {
        let allowed = self.early_data <= AMPLIFICATION_LIMIT;
        check(allowed, "early_data", self.early_data, format_args!("0 to {AMPLIFICATION_LIMIT}"))?;
        check(
            (1..=MOST_COPIES).contains(&self.copies),
            "copies",
            self.copies,
            format_args!("1 to {MOST_COPIES}"),
        )
    }
}
