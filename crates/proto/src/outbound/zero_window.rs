//! [`ZeroWindowProbe`]: when to probe a closed window (RFC 9260 §6.1 A). Does not depend on chunks.

use msctp_units::Time;

/// State of zero window probing.
///
/// The first zero window probe waits for 1 RTO. T3-rtx and its back-off then make the interval grow
/// exponentially.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//# Senders MUST support zero window probing.
pub(super) enum ZeroWindowProbe {
    /// The window is open, the send queue is empty, or a chunk is outstanding.
    #[default]
    Idle,
    /// The window is closed: send the zero window probe at this time.
    Waiting(Time),
    /// The zero window probe may be sent now.
    Due,
    /// The zero window probe is the only outstanding chunk. `sack_received`: the peer has sent a SACK since.
    Sent { sack_received: bool },
}

impl ZeroWindowProbe {
    pub(super) fn deadline(self) -> Option<Time> {
        match self {
            Self::Waiting(at) => Some(at),
            _ => None,
        }
    }

    /// Makes the zero window probe due once its time has come.
    pub(super) fn tick(&mut self, now: Time) {
        if let Self::Waiting(at) = *self
            && at <= now
        {
            *self = Self::Due;
        }
    }

    /// Updates the state after a SACK.
    ///
    /// `closed`: the peer still has no room for the next chunk. `acked`: all sent chunks are acknowledged.
    pub(super) fn on_sack(&mut self, closed: bool, acked: bool) {
        *self = match *self {
            Self::Sent { .. } if closed && !acked => Self::Sent { sack_received: true },
            Self::Waiting(_) | Self::Due if closed => *self,
            _ => Self::Idle,
        };
    }
}
