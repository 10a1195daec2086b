//! Loss classification: at the third miss indication a classifier decides whether the window is reduced.
//!
//! Off by default. An extension of RFC 9260 §7.2.4 that changes the time of transmissions only, not their
//! bytes.
//!
//! Congestion leads to RFC 9260's Fast Recovery, a wireless loss to LD recovery. In LD recovery the chunks
//! are fast retransmitted and the window stays. Until a SACK acknowledges them cumulatively, the window grows
//! as in Fast Recovery: without slow start. New data needs no rule of its own: gap blocks reduce the flight
//! size, and each packet that left the network makes room for another (§6.1 B).
//!
//! This file does not depend on packets or timers.

use msctp_congestion::classifier::{Cause, Evidence, LossClassifier};
use msctp_congestion::{RttEstimator, Window};

use super::{Outbound, OutboundConfig};
use crate::long_tsn::LongTsn;
use crate::stats::Verdicts;

/// The association's loss classifier, and the number of its verdicts.
#[derive(Debug)]
pub(super) struct Differentiation {
    classifier: Box<dyn LossClassifier>,
    verdicts: Verdicts,
}

impl Differentiation {
    /// Returns `None` without a classifier: every loss is congestion.
    pub(super) fn new(config: &OutboundConfig<'_>) -> Option<Box<Self>> {
        let classifier = config.loss_classifier?.make(&());
        Some(Box::new(Self { classifier, verdicts: Verdicts::default() }))
    }

    /// Returns the cause of the loss of `lost`; `None` in slow start, where every loss is congestion.
    pub(super) fn judge(
        &mut self,
        lost: LongTsn,
        unacknowledged: LongTsn,
        window: Window,
        rtt: &RttEstimator,
    ) -> Option<Cause> {
        if window.cwnd < window.ssthresh {
            return None;
        }
        let cause = self.classifier.classify(&Evidence {
            sequence: lost.tsn().get(),
            unacknowledged: unacknowledged.tsn().get(),
            round_trips: rtt.round_trips(),
        });
        match cause {
            Cause::Congestion => self.verdicts.congestion += 1,
            Cause::Wireless => self.verdicts.wireless += 1,
        }
        Some(cause)
    }
}

impl Outbound {
    /// Returns the loss classifier, if there is one.
    pub(crate) fn loss_classifier(&self) -> Option<&dyn LossClassifier> {
        self.losses.classifier.as_ref().map(|differentiation| &*differentiation.classifier)
    }

    /// Returns the loss classifier for changes, if there is one.
    pub(crate) fn loss_classifier_mut(&mut self) -> Option<&mut dyn LossClassifier> {
        self.losses.classifier.as_mut().map(|differentiation| &mut *differentiation.classifier)
    }

    /// Returns the number of verdicts so far.
    pub(crate) fn verdicts(&self) -> Verdicts {
        self.losses
            .classifier
            .as_ref()
            .map_or_else(Verdicts::default, |differentiation| differentiation.verdicts)
    }
}
