//! Loss differentiation (Park & Jang §2.1): calls the classifier, and delays the verdict where the previous
//! scheme does. The sender acts on the verdict.

use msctp_congestion::classifier::{Cause, Evidence, LossClassifier};
use msctp_congestion::{RttEstimator, Window};
use msctp_units::Time;

use crate::config::Config;
use crate::outstanding::Outstanding;

/// State of loss differentiation.
#[derive(Debug)]
pub(super) struct Differentiation {
    /// `None`: losses are not classified.
    pub(super) classifier: Option<Box<dyn LossClassifier>>,
    /// The initial sequence number, which is that of offset 0.
    iss: u32,
    delay_response: bool,
    /// Time of the first duplicate ACK since the last new ACK.
    first_duplicate: Option<Time>,
    /// A delayed response, and the time until which it is delayed.
    held: Option<(Time, Cause)>,
}

impl Differentiation {
    pub(super) fn new(config: &Config, iss: u32) -> Self {
        Self {
            classifier: config.loss_classifier.as_ref().map(|factory| factory.make(&())),
            iss,
            delay_response: config.delay_response,
            first_duplicate: None,
            held: None,
        }
    }

    /// Handles an acknowledgment.
    pub(super) fn on_ack(&mut self, now: Time, new_data: bool, duplicate: bool) {
        if new_data {
            self.first_duplicate = None;
            self.held = None;
        }
        if duplicate {
            self.first_duplicate.get_or_insert(now);
        }
    }

    /// Returns the cause of the loss of the first segment outstanding; `None` if not classified. Slow start
    /// does not use it: “Affects the TCP sender behavior only in congestion avoidance phases” (§2).
    pub(super) fn judge(&mut self, at: &Outstanding, window: Window, rtt: &RttEstimator) -> Option<Cause> {
        let classifier = self.classifier.as_mut().filter(|_| window.cwnd >= window.ssthresh)?;
        let una = self.iss.wrapping_add(at.una as u32);
        let evidence = Evidence { sequence: una, unacknowledged: una, round_trips: rtt.round_trips() };
        Some(classifier.classify(&evidence))
    }

    /// Delays the response if the scheme requires it, until “one RTT after the first receipt of duplicate
    /// ACK” (§1, of the previous scheme). Returns true if it does.
    pub(super) fn hold(&mut self, now: Time, cause: Cause, rtt: &RttEstimator) -> bool {
        let until = self.first_duplicate.map_or(now, |first| first + rtt.srtt().unwrap_or_default());
        self.held = (self.delay_response && until > now).then_some((until, cause));
        self.held.is_some()
    }

    /// Returns when the delayed response is due.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.held.map(|(until, _)| until)
    }

    /// Returns the response that is due by `now`.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Cause> {
        self.held.take_if(|(until, _)| *until <= now).map(|(_, cause)| cause)
    }

    /// Handles an expired retransmission timer.
    pub(super) fn on_timeout(&mut self) {
        self.held = None;
        self.first_duplicate = None;
    }
}
