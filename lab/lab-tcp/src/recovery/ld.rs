//! Park & Jang's loss differentiation for any recovery: the responses to a loss, and the amount of new data
//! that LD recovery sends. It only counts; a [classifier](msctp_congestion::classifier) decides whether a
//! loss is congestion.

use super::DUP_THRESH;

/// Response to a detected loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// Congestion: run the algorithm's own fast recovery, and reduce the window.
    Fast,
    /// Wireless loss: run LD recovery (Park & Jang §2.1), and keep the window. The segment is retransmitted,
    /// and each of the three duplicate ACKs releases new data. Nothing more is sent until a new ACK ends LD
    /// recovery.
    Ld,
    /// Undecided: each of the three duplicate ACKs releases new data, while the sender waits whether the
    /// segment is only late. This is the scheme with which Park & Jang compare.
    Wait,
}

/// Phase of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// No recovery is in progress.
    #[default]
    Open,
    /// The recovery responds to the loss.
    Answering(Response),
}

impl Phase {
    /// Returns whether fast recovery is in progress.
    pub(super) fn is_fast(self) -> bool {
        self == Self::Answering(Response::Fast)
    }

    /// Returns whether a recovery with a retransmission is in progress.
    pub(super) fn is_recovering(self) -> bool {
        matches!(self, Self::Answering(Response::Fast | Response::Ld))
    }

    /// Returns whether LD recovery, or the wait before it, is in progress.
    pub(super) fn is_ld(self) -> bool {
        matches!(self, Self::Answering(Response::Ld | Response::Wait))
    }
}

/// Returns the total number of bytes of new data that LD recovery releases, “one new packet per each
/// duplicate ACK”. `sent` is the number of bytes sent since the first duplicate.
pub(super) fn allowance(smss: u64, sent: u64) -> u64 {
    (u64::from(DUP_THRESH) * smss).saturating_sub(sent)
}
