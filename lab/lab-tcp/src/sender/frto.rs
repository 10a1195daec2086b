//! F-RTO: detects spurious timeouts by acknowledgments alone (RFC 5682 §2.1, the basic algorithm).

/// State of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The first segment was retransmitted: step (2) waits for an ACK.
    Resent,
    /// New segments were sent instead of more retransmissions: step (3) waits for an ACK.
    Probing {
        /// Number of segments that may still be sent.
        quota: u32,
    },
}

/// State of F-RTO after one timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frto {
    step: Step,
    /// Limit of the offsets sent when the timer expired.
    recover: u64,
}

/// Result of an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Undecided: send new data, at most two segments.
    Probe,
    /// The timeout was genuine: continue as after any timeout.
    Genuine,
    /// The timeout was spurious.
    Spurious,
}

impl Frto {
    /// Begins F-RTO after the timer expired (step 1).
    pub(super) fn begin(recover: u64) -> Self {
        Self { step: Step::Resent, recover }
    }

    /// Handles an acknowledgment up to `una`. `acked` is the number of newly acknowledged bytes. `can_probe`
    /// says whether there is new data to send and a window for it. Returns `None` if the acknowledgment
    /// decides nothing.
    pub(super) fn on_ack(
        &mut self,
        una: u64,
        acked: u64,
        duplicate: bool,
        can_probe: bool,
    ) -> Option<Verdict> {
        if acked == 0 && !duplicate {
            return None;
        }
        Some(match self.step {
            // (2a): a duplicate, or everything: undecided
            Step::Resent if acked == 0 || una >= self.recover || !can_probe => Verdict::Genuine,
            // (2b)
            Step::Resent => {
                self.step = Step::Probing { quota: 2 };
                Verdict::Probe
            }
            // (3a)
            Step::Probing { .. } if acked == 0 => Verdict::Genuine,
            // (3b): data that was not retransmitted was acknowledged
            Step::Probing { .. } => Verdict::Spurious,
        })
    }

    /// Returns one past the highest offset sent when the timer expired.
    pub(super) fn recover(&self) -> u64 {
        self.recover
    }

    /// Returns whether a new segment may be sent regardless of the window.
    pub(super) fn may_probe(&self) -> Option<bool> {
        match self.step {
            Step::Resent => None,
            Step::Probing { quota } => Some(quota > 0),
        }
    }

    pub(super) fn sent(&mut self) {
        if let Step::Probing { quota } = &mut self.step {
            *quota = quota.saturating_sub(1);
        }
    }
}
