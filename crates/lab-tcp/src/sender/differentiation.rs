//! Loss differentiation (Park & Jang §2.1): calls the classifier, keeps the simulator's loss reasons, and
//! delays the verdict where the previous scheme does. The sender acts on the verdict.

use std::collections::BTreeMap;

use msctp_congestion::classifier::{self, Cause, Evidence, LossClassifier, Tally};
use msctp_congestion::{RttEstimator, Window};
use msctp_units::Time;

use crate::config::Config;
use crate::outstanding::Outstanding;

/// A verdict on a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) cause: Cause,
    /// The simulator's truth.
    pub(super) truth: Option<Cause>,
}

/// State that loss differentiation needs.
#[derive(Debug)]
pub(super) struct Differentiation {
    /// `None`: losses are not classified.
    classifier: Option<Box<dyn LossClassifier>>,
    delay_response: bool,
    /// When the first of the duplicates since the last new ACK came.
    first_duplicate: Option<Time>,
    /// An answer that is held back, and until when.
    held: Option<(Time, Cause)>,
    /// The simulator's loss reasons, by the segments' first offset and one past their last.
    lost: BTreeMap<u64, (u64, Cause)>,
    pub(super) tally: Tally,
}

impl Differentiation {
    pub(super) fn new(config: &Config) -> Self {
        let wanted = config.loss_classifier != classifier::None::NAME;
        let made = classifier::create(&config.loss_classifier, &config.loss_classifier_options);
        Self {
            classifier: made.ok().filter(|_| wanted),
            delay_response: config.delay_response,
            first_duplicate: None,
            held: None,
            lost: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    /// Records the simulator's reason for a loss of ours.
    pub(super) fn tell(&mut self, start: u64, end: u64, cause: Cause) {
        if self.classifier.is_some() {
            self.lost.insert(start, (end, cause));
        }
    }

    /// Handles an acknowledgment.
    pub(super) fn on_ack(&mut self, now: Time, at: &Outstanding, new_data: bool, duplicate: bool) {
        if new_data {
            self.first_duplicate = None;
            self.held = None;
            while self.lost.first_key_value().is_some_and(|(_, &(end, _))| end <= at.una) {
                self.lost.pop_first();
            }
        }
        if duplicate {
            self.first_duplicate.get_or_insert(now);
        }
    }

    /// Returns the cause of the loss of the first segment outstanding; `None`: not classified. “Affects the
    /// TCP sender behavior only in congestion avoidance phases” (§2): in slow start it is not used.
    pub(super) fn judge(&mut self, at: &Outstanding, window: Window, rtt: &RttEstimator) -> Option<Verdict> {
        let classifier = self.classifier.as_mut().filter(|_| window.cwnd >= window.ssthresh)?;
        let known = self.lost.range(..=at.una).next_back();
        let truth = known.filter(|&(_, &(end, _))| end > at.una).map(|(_, &(_, cause))| cause);
        let cause = classifier.classify(&Evidence { round_trips: rtt.round_trips(), truth });
        self.tally.count(truth, cause);
        Some(Verdict { cause, truth })
    }

    /// Delays the response if the scheme requires it: until “one RTT after the first receipt of duplicate
    /// ACK” (§1, of the previous scheme). True when it does.
    pub(super) fn hold(&mut self, now: Time, cause: Cause, rtt: &RttEstimator) -> bool {
        let until = self.first_duplicate.map_or(now, |first| first + rtt.srtt().unwrap_or_default());
        self.held = (self.delay_response && until > now).then_some((until, cause));
        self.held.is_some()
    }

    /// Returns when the answer that is held back is due.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.held.map(|(until, _)| until)
    }

    /// Returns the answer that is due by `now`.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Cause> {
        self.held.take_if(|(until, _)| *until <= now).map(|(_, cause)| cause)
    }

    /// Handles an expired retransmission timer.
    pub(super) fn on_timeout(&mut self) {
        self.held = None;
        self.first_duplicate = None;
    }
}
