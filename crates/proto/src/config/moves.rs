//! [`MovesConfig`]: what a change of addresses may do beyond RFC 5061.

use super::check;
use crate::ConfigError;

/// Bytes to an address that is not confirmed, for each that came from it: what RFC 9000 §8.1 allows.
const MOST_EARLY_DATA: u32 = 3;

/// How an end that moves asks, and how one that is asked answers; by default as RFC 5061 and RFC 9260 have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

impl MovesConfig {
    pub(super) fn validate(self) -> Result<(), ConfigError> {
        let allowed = self.early_data <= MOST_EARLY_DATA;
        check(allowed, "early_data", self.early_data, format_args!("0 to {MOST_EARLY_DATA}"))
    }
}
