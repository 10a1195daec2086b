//! [`Endings`]: streams of ours that are over, and what the peer was told of it (RFC 6525 §5.1.2). Pure
//! bookkeeping; who asks the core is `state`.

use std::collections::{BTreeMap, BTreeSet};

use msctp_proto::ReconfigOutcome;

use crate::error::FinishError;

/// How far the end of a stream is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Messages of it still wait to be sent.
    Sending,
    /// The peer is being told.
    Asked,
    /// The peer knows, or will not.
    Over(Result<(), FinishError>),
}

/// The streams whose end was asked for.
#[derive(Debug, Default)]
pub(crate) struct Endings {
    streams: BTreeMap<u16, Step>,
    /// Those whose [`Stream`](crate::Stream) is there no more: how it comes out concerns nobody.
    released: BTreeSet<u16>,
    /// Named in the request that is under way: one at a time, of all that are ready.
    asked: Vec<u16>,
}

impl Endings {
    /// Where a stream's end stands; `None`: nobody asked for it.
    pub(crate) fn step(&self, stream: u16) -> Option<&Step> {
        self.streams.get(&stream)
    }

    /// The stream is over. Does nothing where that is known.
    pub(crate) fn begin(&mut self, stream: u16) {
        self.streams.entry(stream).or_insert(Step::Sending);
    }

    /// Nobody asks any more: it can be used anew, once its end has settled.
    pub(crate) fn release(&mut self, stream: u16) {
        match self.step(stream) {
            Some(Step::Over(_)) => drop(self.streams.remove(&stream)),
            Some(_) => drop(self.released.insert(stream)),
            None => {}
        }
    }

    fn settle(&mut self, stream: u16, result: Result<(), FinishError>) {
        if self.released.remove(&stream) {
            self.streams.remove(&stream);
        } else {
            self.streams.insert(stream, Step::Over(result));
        }
    }

    /// New data may go on the stream: its end is not under way.
    pub(crate) fn is_open(&self, stream: u16) -> bool {
        !matches!(self.step(stream), Some(Step::Sending | Step::Asked))
    }

    /// Some still wait for their turn to be told of.
    pub(crate) fn is_waiting(&self) -> bool {
        self.streams.values().any(|step| *step == Step::Sending)
    }

    /// Those that are told of next, of the ones that are `sent`: none while a request is under way.
    pub(crate) fn next(&self, sent: impl Fn(u16) -> bool) -> Vec<u16> {
        if !self.asked.is_empty() {
            return Vec::new();
        }
        let waiting =
            self.streams.iter().filter(|(_, step)| **step == Step::Sending).map(|(&stream, _)| stream);
        waiting.filter(|&stream| sent(stream)).take(msctp_proto::MAX_NAMED_STREAMS).collect()
    }

    /// These are being told of.
    pub(crate) fn on_asked(&mut self, streams: Vec<u16>) {
        for &stream in &streams {
            self.streams.insert(stream, Step::Asked);
        }
        self.asked = streams;
    }

    /// These cannot be told of.
    pub(crate) fn refuse(&mut self, streams: &[u16], error: &FinishError) {
        for &stream in streams {
            self.settle(stream, Err(error.clone()));
        }
    }

    /// A reset of ours was answered. False: not one that was asked for here.
    pub(crate) fn on_answer(&mut self, streams: &[u16], outcome: ReconfigOutcome) -> bool {
        if streams.is_empty() || self.asked != streams {
            return false;
        }
        for stream in std::mem::take(&mut self.asked) {
            match outcome {
                ReconfigOutcome::Performed => self.settle(stream, Ok(())),
                // The request was not sent, or another is in progress: repeat it. Where the association shuts
                // down, that tells the peer.
                ReconfigOutcome::GivenUp | ReconfigOutcome::Failed(IN_PROGRESS_ALREADY) => {
                    self.streams.insert(stream, Step::Sending);
                }
                outcome => self.settle(stream, Err(FinishError::Denied(outcome))),
            }
        }
        true
    }
}

/// RFC 6525 §4.4: "Error - Request already in progress".
const IN_PROGRESS_ALREADY: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_at_a_time_for_all_that_are_sent() {
        let mut endings = Endings::default();
        for stream in [7, 2, 5] {
            endings.begin(stream);
        }
        assert_eq!(endings.next(|stream| stream != 5), [2, 7]);
        endings.on_asked(vec![2, 7]);
        assert_eq!(endings.next(|_| true), Vec::<u16>::new(), "one is under way");
        assert!(!endings.is_open(5) && !endings.is_open(7) && endings.is_open(1) && endings.is_waiting());
        assert!(!endings.on_answer(&[7], ReconfigOutcome::Performed), "another's request");
        endings.release(7);
        assert!(endings.on_answer(&[2, 7], ReconfigOutcome::Performed));
        assert_eq!((endings.step(2), endings.step(7)), (Some(&Step::Over(Ok(()))), None));
        endings.release(2);
        assert!(endings.step(2).is_none() && endings.next(|_| true) == [5]);
    }

    #[test]
    fn what_was_given_up_or_came_at_a_bad_moment_is_asked_again_and_a_refusal_is_kept() {
        let mut endings = Endings::default();
        endings.begin(1);
        for outcome in [ReconfigOutcome::GivenUp, ReconfigOutcome::Failed(4)] {
            endings.on_asked(vec![1]);
            assert!(endings.on_answer(&[1], outcome));
            assert_eq!(endings.next(|_| true), [1]);
        }
        endings.on_asked(vec![1]);
        endings.on_answer(&[1], ReconfigOutcome::Denied);
        assert_eq!(endings.step(1), Some(&Step::Over(Err(FinishError::Denied(ReconfigOutcome::Denied)))));
        endings.begin(1);
        assert!(endings.is_open(1) && !endings.is_waiting(), "it stays refused until the stream is released");
    }
}
