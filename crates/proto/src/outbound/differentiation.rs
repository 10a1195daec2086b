//! Losses told apart: at the third miss indication a classifier is asked before the window is cut (Park & Jang §2.1 on an
//! SCTP path). Off by default; an extension of RFC 9260 §7.2.4, no byte on the wire differs but for when it is sent.
//!
//! Congestion: RFC 9260's Fast Recovery. Wireless: LD recovery. The chunks are sent again, as a fast retransmit is, and the
//! window stays; until a SACK acknowledges them cumulatively it grows as it may in Fast Recovery: not by slow start. New data on the SACKs meanwhile needs no rule:
//! what gap blocks acknowledge leaves the flight, and for each packet that has left the network another may go (§6.1 B).
//!
//! Knows no packets and no timers.

use std::collections::BTreeMap;

use msctp_congestion::Window;
use msctp_congestion::classifier::{self, Cause, Evidence, LossClassifier, Tally};
use msctp_congestion::{Options, RttEstimator};
use msctp_wire::Tsn;

use super::Outbound;
use crate::long_tsn::LongTsn;
use crate::{Config, PathId};

/// What an association needs to tell losses apart.
#[derive(Debug)]
pub(super) struct Differentiation {
    /// The classifier's name and options.
    chosen: (String, Options),
    /// One for each path on which a loss was seen.
    classifiers: Vec<(PathId, Box<dyn LossClassifier>)>,
    /// Why chunks were lost, as the simulator told.
    lost: BTreeMap<LongTsn, Cause>,
    pub(super) tally: Tally,
}

/// A verdict on a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) cause: Cause,
    /// What the simulator knows.
    pub(super) truth: Option<Cause>,
}

impl Differentiation {
    /// `None`: nothing is told apart.
    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        (config.loss_classifier != classifier::None::NAME).then(|| {
            Box::new(Self {
                chosen: (config.loss_classifier.clone(), config.loss_classifier_options.clone()),
                classifiers: Vec::new(),
                lost: BTreeMap::new(),
                tally: Tally::default(),
            })
        })
    }

    /// What the loss of a chunk was due to; `None`: not asked. “Affects the TCP sender behavior only in congestion avoidance
    /// phases” (Park & Jang §2): in slow start nobody is asked.
    pub(super) fn judge(
        &mut self,
        path: PathId,
        tsn: LongTsn,
        window: Window,
        rtt: &RttEstimator,
    ) -> Option<Verdict> {
        if window.cwnd < window.ssthresh {
            return None;
        }
        let (name, options) = &self.chosen;
        let known = self.classifiers.iter().position(|(id, _)| *id == path);
        let index = match known {
            Some(index) => index,
            None => {
                self.classifiers.push((path, classifier::create(name, options).ok()?));
                self.classifiers.len() - 1
            }
        };
        let truth = self.lost.get(&tsn).copied();
        let cause = self.classifiers[index].1.classify(&Evidence { round_trips: rtt.round_trips(), truth });
        self.tally.count(truth, cause);
        Some(Verdict { cause, truth })
    }

    /// Everything up to here is acknowledged.
    pub(super) fn acknowledged(&mut self, cum_tsn_ack: LongTsn) {
        while self.lost.first_key_value().is_some_and(|(&tsn, _)| tsn <= cum_tsn_ack) {
            self.lost.pop_first();
        }
    }
}

impl Outbound {
    /// The simulator lost a packet with this chunk of ours: why. A yardstick for classifiers, not a part of the protocol.
    pub fn tell_loss(&mut self, tsn: Tsn, cause: Cause) {
        let tsn = self.sent.first().nearest(tsn);
        if let Some(differentiation) = &mut self.differentiation
            && self.sent.at(tsn).is_some()
        {
            differentiation.lost.insert(tsn, cause);
        }
    }

    /// What the classifier said of losses so far.
    pub fn verdicts(&self) -> Tally {
        self.differentiation.as_ref().map_or_else(Tally::default, |differentiation| differentiation.tally)
    }
}
