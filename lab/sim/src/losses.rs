//! The true causes of packet losses, reported to the senders' loss classifiers: classifiers are measured
//! against them, and the classifier `oracle` returns them.
//!
//! A yardstick, not a protocol: no byte on any link depends on it unless a sender uses the oracle. The hop
//! that loses a packet knows the cause; the packet is kept until its cause was reported, by the sequence
//! numbers of its data. Nothing is kept when no sender of the scenario classifies losses.

use msctp_congestion::classifier::{Cause, LossClassifier};
use msctp_lab_schemes::classifiers::{Measured, Tally};
use msctp_link::{DropReason, LossReason};

use crate::packet::{PacketId, PacketPool};
use crate::scenario::Scenario;

/// Lost packets whose causes have not been reported yet.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// True if a sender classifies losses.
    on: bool,
    pub(crate) packets: Vec<(PacketId, Cause)>,
}

/// Returns the cause of a packet dropped at the entry of a link: congestion for a full queue, but not for a
/// link that is down.
pub(crate) fn dropped(reason: DropReason) -> Cause {
    match reason {
        DropReason::QueueFull => Cause::Congestion,
        DropReason::LinkDown => Cause::Wireless,
    }
}

/// Returns the cause of a packet lost inside a link. `channel` is the cause that its loss process represents.
pub(crate) fn lost(reason: LossReason, channel: Cause) -> Cause {
    match reason {
        LossReason::Channel => channel,
        LossReason::Discipline => Cause::Congestion,
        LossReason::LinkDown => Cause::Wireless,
    }
}

/// Returns the verdicts of a loss classifier.
pub(crate) fn tally(classifier: Option<&dyn LossClassifier>) -> Tally {
    classifier.and_then(Measured::of).map(Measured::tally).unwrap_or_default()
}

impl Lost {
    /// Creates the record, enabled if a sender of the scenario classifies losses.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let tcp = scenario.tcp_profiles.iter().any(|profile| profile.config.loss_classifier.is_some());
        let sctp = scenario.sctp.iter().any(|profile| profile.config.loss_classifier.is_some());
        Self { on: tcp || sctp, packets: Vec::new() }
    }

    /// Records a lost packet; `cause` is `None` if unknown.
    #[inline]
    pub(crate) fn lose(&mut self, pool: &mut PacketPool, id: PacketId, cause: Option<Cause>) {
        match cause.filter(|_| self.on) {
            Some(cause) => self.packets.push((id, cause)),
            None => pool.release(id),
        }
    }

    /// Returns whether there is nothing to report.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}
