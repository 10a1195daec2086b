//! Park & Jang's loss differentiation for any recovery: the responses to a loss, and how much new data LD
//! recovery lets out. Counting only; whether a loss is congestion is a
//! [classifier](msctp_congestion::classifier)'s verdict, which the sender requests.

use super::DUP_THRESH;

/// How a loss that was found is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Response {
    /// Congestion: the recovery's own fast recovery. The window is cut.
    Fast,
    /// The radio: LD recovery (Park & Jang §2.1). The segment is retransmitted, new data for each of the
    /// three duplicate ACKs, then nothing until a new ACK ends it. The window is kept.
    Ld,
    /// Not yet: new data for each of the three duplicate ACKs, while the sender waits whether the segment
    /// comes late (the scheme that Park & Jang compare with).
    Wait,
}

/// Where a recovery is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// No loss is being answered.
    #[default]
    Open,
    /// It is.
    Answering(Response),
}

impl Phase {
    /// In fast recovery?
    pub(super) fn is_fast(self) -> bool {
        self == Self::Answering(Response::Fast)
    }

    /// In a recovery that sent something again?
    pub(super) fn is_recovering(self) -> bool {
        matches!(self, Self::Answering(Response::Fast | Response::Ld))
    }

    /// In LD recovery, or waiting before it?
    pub(super) fn is_ld(self) -> bool {
        matches!(self, Self::Answering(Response::Ld | Response::Wait))
    }
}

/// Bytes of new data that LD recovery lets out in all, “one new packet per each duplicate ACK”. `sent`: what
/// was sent since the first duplicate.
pub(super) fn allowance(smss: u64, sent: u64) -> u64 {
    (u64::from(DUP_THRESH) * smss).saturating_sub(sent)
}
