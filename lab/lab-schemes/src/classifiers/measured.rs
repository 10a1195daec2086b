//! [`Measured`]: a classifier whose verdicts are compared with the simulator's truth.

use std::any::Any;
use std::collections::BTreeMap;

use msctp_congestion::Make;
use msctp_congestion::classifier::{Cause, ClassifierFactory, Evidence, LossClassifier};

use super::Tally;

/// Options of [`Measured`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredConfig {
    /// The classifier to measure; `None`: the oracle.
    pub classifier: Option<ClassifierFactory>,
}

impl Make<(), dyn LossClassifier> for MeasuredConfig {
    fn make(&self, (): &()) -> Box<dyn LossClassifier> {
        Box::new(Measured {
            classifier: self.classifier.as_ref().map(|factory| factory.make(&())),
            lost: BTreeMap::new(),
            tally: Tally::default(),
        })
    }
}

/// A classifier, the true causes of losses, and a [`Tally`] of both. For measurement, not for a protocol.
///
/// A simulator reports each packet that it loses ([`report`](Self::report)). Without a classifier the verdict
/// is the truth, or congestion if that is unknown: the oracle, the upper bound for any classifier.
#[derive(Debug)]
pub struct Measured {
    classifier: Option<Box<dyn LossClassifier>>,
    /// Lengths and causes of losses, by first sequence number.
    lost: BTreeMap<u32, (u32, Cause)>,
    tally: Tally,
}

impl Measured {
    /// The name of the oracle.
    pub const ORACLE: &str = "oracle";

    /// Returns the `Measured` that `classifier` is; `None` if it is another type.
    pub fn of(classifier: &dyn LossClassifier) -> Option<&Self> {
        (classifier as &dyn Any).downcast_ref()
    }

    /// Same as [`of`](Self::of), mutable.
    pub fn of_mut(classifier: &mut dyn LossClassifier) -> Option<&mut Self> {
        (classifier as &mut dyn Any).downcast_mut()
    }

    /// Reports that the network lost `len` sequence numbers from `sequence` on (SCTP: one TSN), and why.
    pub fn report(&mut self, sequence: u32, len: u32, cause: Cause) {
        self.lost.insert(sequence, (len, cause));
    }

    /// Returns the verdicts so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Returns the true cause of a loss, and forgets the losses of data acknowledged since.
    fn truth(&mut self, evidence: &Evidence) -> Option<Cause> {
        // Serial number arithmetic, as sequence numbers wrap.
        self.lost.retain(|&start, &mut (len, _)| {
            (start.wrapping_add(len).wrapping_sub(evidence.unacknowledged) as i32) > 0
        });
        let behind = |start: u32| evidence.sequence.wrapping_sub(start);
        let covering = self.lost.iter().filter(|&(&start, &(len, _))| behind(start) < len);
        covering.min_by_key(|&(&start, _)| behind(start)).map(|(_, &(_, cause))| cause)
    }
}

impl LossClassifier for Measured {
    fn name(&self) -> &'static str {
        self.classifier.as_ref().map_or(Self::ORACLE, |classifier| classifier.name())
    }

    fn classify(&mut self, evidence: &Evidence) -> Cause {
        let truth = self.truth(evidence);
        let verdict = match &mut self.classifier {
            Some(classifier) => classifier.classify(evidence),
            None => truth.unwrap_or(Cause::Congestion),
        };
        self.tally.count(truth, verdict);
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classifiers::{ParkJang, ParkJangConfig};

    fn at(sequence: u32, unacknowledged: u32) -> Evidence {
        Evidence { sequence, unacknowledged, round_trips: None }
    }

    fn measured(config: &MeasuredConfig) -> Box<dyn LossClassifier> {
        config.make(&())
    }

    #[test]
    fn the_oracle_returns_the_truth_or_congestion() {
        let mut oracle = measured(&MeasuredConfig::default());
        let network = Measured::of_mut(&mut *oracle).unwrap();
        network.report(7, 1, Cause::Wireless);
        network.report(8, 1, Cause::Congestion);
        assert_eq!(oracle.classify(&at(7, 5)), Cause::Wireless);
        assert_eq!(oracle.classify(&at(8, 5)), Cause::Congestion);
        assert_eq!(oracle.classify(&at(9, 5)), Cause::Congestion);
        let tally = Measured::of(&*oracle).unwrap().tally();
        assert_eq!((tally.wireless_as_wireless, tally.congestion_as_congestion), (1, 1));
        assert_eq!((tally.unknown_as_congestion, tally.total()), (1, 3));
    }

    #[test]
    fn a_classifier_does_not_see_the_truth() {
        let park_jang = Some(ParkJangConfig::default().into());
        let mut classifier = measured(&MeasuredConfig { classifier: park_jang });
        Measured::of_mut(&mut *classifier).unwrap().report(7, 1, Cause::Wireless);
        assert_eq!(classifier.classify(&at(7, 7)), Cause::Congestion, "no round trip was measured");
        assert_eq!(Measured::of(&*classifier).unwrap().tally().wireless_as_congestion, 1);
        assert_eq!(classifier.name(), ParkJang::NAME);
        assert!(Measured::of(&*ClassifierFactory::from(ParkJangConfig::default()).make(&())).is_none());
    }

    #[test]
    fn a_loss_covers_its_sequence_numbers_across_the_wrap_until_they_are_acknowledged() {
        let mut oracle = measured(&MeasuredConfig::default());
        let start = 0u32.wrapping_sub(500);
        Measured::of_mut(&mut *oracle).unwrap().report(start, 1000, Cause::Wireless);
        assert_eq!(oracle.classify(&at(499, start)), Cause::Wireless);
        assert_eq!(oracle.classify(&at(500, 400)), Cause::Congestion);
        assert_eq!(oracle.classify(&at(499, 500)), Cause::Congestion, "acknowledged");
        assert!(Measured::of(&*oracle).unwrap().lost.is_empty());
    }
}
