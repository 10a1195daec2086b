//! [`CarefulResume`]: the jump of a window controller to a measured bandwidth, and Safe Retreat (RFC 9959).
//!
//! A part of window controllers, not a controller. Two things differ from the RFC:
//!
//! - The measurement that a handover policy made on the path stands for Observing and Reconnaissance: the
//!   path answered it moments ago, with this round trip.
//! - Packets have no numbers here. The unvalidated ones are those in flight at the end of the Unvalidated
//!   Phase, and they count as acknowledged when that many bytes are, or when fast recovery ends.

use msctp_units::Rate;

use crate::controller::{Ack, Measured, StartState};

/// The phases of Careful Resume from the jump to the Normal Phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CarefulResume {
    phase: Phase,
    /// PipeSize: the bytes that the path is known to have delivered.
    pipe_size: u64,
    /// The window of a path without a measurement.
    initial_cwnd: u64,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The jump is being sent. `earlier`: bytes in flight before it that are not acknowledged yet.
    Unvalidated { earlier: u64 },
    /// The jump was sent. `left`: bytes of it that are not acknowledged yet.
    Validating { left: u64 },
    /// The path lost a part of the jump.
    SafeRetreat { left: u64 },
}

/// The effect of an acknowledgement on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumed {
    /// The window stays.
    Hold,
    /// Set the window to this many bytes, and end pacing.
    Set(u64),
    /// The controller's rules apply.
    Grow,
    /// End Safe Retreat: ssthresh follows from PipeSize, in bytes.
    Retreated(u64),
}

impl CarefulResume {
    /// Returns the jump and the state to start with. `flight_size`: bytes in flight on the path.
    ///
    /// Returns `None` if the jump would not exceed the initial window, in bytes.
    pub(crate) fn jump(
        measured: &Measured,
        flight_size: u64,
        initial_cwnd: u64,
    ) -> (Option<Self>, StartState) {
        let saved_cwnd = measured.bandwidth.bytes_in(measured.rtt_min);
        let ssthresh = Some(saved_cwnd.max(initial_cwnd));
        // RFC 9959: "the jump_cwnd MUST be no more than half of the saved_cwnd"
        let jump_cwnd = saved_cwnd / 2;
        if jump_cwnd <= initial_cwnd {
            return (None, StartState { cwnd: initial_cwnd, ssthresh, pacing_rate: None });
        }
        // RFC 9959: PipeSize is initialised to the flight size on entry to the Unvalidated Phase
        let phase = Phase::Unvalidated { earlier: flight_size };
        let new = Self { phase, pipe_size: flight_size, initial_cwnd };
        // RFC 9959: packets of the Unvalidated Phase are paced over the current round trip
        let pacing_rate = Rate::of(jump_cwnd, measured.rtt_min);
        (Some(new), StartState { cwnd: jump_cwnd, ssthresh, pacing_rate })
    }

    /// Handles a SACK that newly acknowledged data, and returns its effect on the window.
    ///
    /// `resume` becomes `None` in the Normal Phase.
    pub(crate) fn on_ack(resume: &mut Option<Self>, ack: &Ack) -> Resumed {
        let Some(this) = resume else { return Resumed::Grow };
        match &mut this.phase {
            // Data from before the jump validates nothing, and its flight is in PipeSize already.
            Phase::Unvalidated { earlier } if ack.bytes_acked <= *earlier => {
                *earlier -= ack.bytes_acked;
                Resumed::Hold
            }
            Phase::Unvalidated { earlier } => {
                let acked = ack.bytes_acked - *earlier;
                this.pipe_size = this.pipe_size.saturating_add(acked);
                // RFC 9959: "On entry to the Validating Phase, the CWND is set to the flight size". An
                // application that sent less than a jump has validated nothing beyond it.
                if ack.flight_size_before > this.pipe_size.max(this.initial_cwnd) {
                    let left = ack.flight_size_before.saturating_sub(ack.bytes_acked);
                    this.phase = Phase::Validating { left };
                    return Resumed::Set(ack.flight_size_before);
                }
                let cwnd = this.pipe_size.max(this.initial_cwnd);
                *resume = None;
                Resumed::Set(cwnd)
            }
            Phase::Validating { left } => {
                this.pipe_size = this.pipe_size.saturating_add(ack.bytes_acked);
                *left = left.saturating_sub(ack.bytes_acked);
                if *left == 0 || ack.nothing_outstanding {
                    // RFC 9959: all unvalidated packets are acknowledged
                    *resume = None;
                }
                Resumed::Grow
            }
            Phase::SafeRetreat { left } => {
                this.pipe_size = this.pipe_size.saturating_add(ack.bytes_acked);
                *left = left.saturating_sub(ack.bytes_acked);
                if *left > 0 && !ack.nothing_outstanding {
                    return Resumed::Hold;
                }
                let pipe_size = this.pipe_size;
                *resume = None;
                Resumed::Retreated(pipe_size)
            }
        }
    }

    /// Handles a loss or a mark with `flight_size` bytes in flight; returns the window of Safe Retreat.
    pub(crate) fn on_congestion(&mut self, flight_size: u64) -> u64 {
        self.phase = match self.phase {
            Phase::Unvalidated { .. } => Phase::SafeRetreat { left: flight_size },
            Phase::Validating { left } | Phase::SafeRetreat { left } => Phase::SafeRetreat { left },
        };
        // RFC 9959: "the CWND MUST be reduced to no more than the (PipeSize/2)"
        self.pipe_size / 2
    }

    /// Ends the phases when fast recovery is over; returns PipeSize if they were in Safe Retreat.
    pub(crate) fn on_recovery_exit(resume: &mut Option<Self>) -> Option<u64> {
        // A recovery that began before the jump says nothing about it.
        resume.take_if(|this| matches!(this.phase, Phase::SafeRetreat { .. })).map(|this| this.pipe_size)
    }

    /// Returns PipeSize in bytes.
    pub(crate) fn pipe_size(&self) -> u64 {
        self.pipe_size
    }
}

#[cfg(test)]
#[path = "careful_resume_tests.rs"]
mod tests;
