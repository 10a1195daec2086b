//! [`ZeroWindowProbe`]: when a closed window may be probed (RFC 9260 §6.1 A). Knows nothing of chunks.

use msctp_units::Time;

/// Zero window probing.
///
/// The first probe waits for 1 RTO; from then on T3-rtx and its back-off make the interval grow exponentially.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
//= https://www.rfc-editor.org/rfc/rfc9260#section-6.1
//# Senders MUST support zero window probing.
pub(super) enum ZeroWindowProbe {
    /// The window is open, or there is nothing to send, or something is outstanding.
    #[default]
    Idle,
    /// The window was found closed; probe at this time.
    Waiting(Time),
    /// The probe may go now.
    Due,
    /// The probe is the only chunk outstanding. `heard`: a SACK came since it was last sent.
    Sent { heard: bool },
}

impl ZeroWindowProbe {
    pub(super) fn deadline(self) -> Option<Time> {
        match self {
            Self::Waiting(at) => Some(at),
            _ => None,
        }
    }

    /// Time has come to `now`.
    pub(super) fn tick(&mut self, now: Time) {
        if let Self::Waiting(at) = *self
            && at <= now
        {
            *self = Self::Due;
        }
    }

    /// A SACK came. `closed`: the peer still has no room for the next chunk. `acked`: everything sent is acknowledged.
    pub(super) fn on_sack(&mut self, closed: bool, acked: bool) {
        *self = match *self {
            Self::Sent { .. } if closed && !acked => Self::Sent { heard: true },
            Self::Waiting(_) | Self::Due if closed => *self,
            _ => Self::Idle,
        };
    }
}
