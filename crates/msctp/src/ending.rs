//! [`Endings`]: outbound streams that end, and the reset requests for them (RFC 6525 §5.1.2). Keeps state;
//! `state` calls the core.

use std::collections::{BTreeMap, BTreeSet};

use msctp_proto::ReconfigOutcome;

use crate::error::FinishError;

/// Progress of a stream's end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Progress {
    /// Messages of the stream are still unsent.
    Sending,
    /// The reset was requested.
    Asked,
    /// The peer has answered, or could not be notified.
    Over(Result<(), FinishError>),
}

/// Streams whose end was requested.
#[derive(Debug, Default)]
pub(crate) struct Endings {
    streams: BTreeMap<u16, Progress>,
    /// Streams whose [`Stream`](crate::Stream) was dropped: their result is discarded.
    released: BTreeSet<u16>,
    /// Streams of the outstanding request. One request at a time names all streams that are ready.
    asked: Vec<u16>,
}

impl Endings {
    /// Returns the progress of a stream's end, or `None` if no end was requested.
    pub(crate) fn progress(&self, stream: u16) -> Option<&Progress> {
        self.streams.get(&stream)
    }

    /// Requests the end of a stream. Does nothing if it was requested before.
    pub(crate) fn begin(&mut self, stream: u16) {
        self.streams.entry(stream).or_insert(Progress::Sending);
    }

    /// Discards the result, so that the number can be reused once the end has settled.
    pub(crate) fn release(&mut self, stream: u16) {
        match self.progress(stream) {
            Some(Progress::Over(_)) => drop(self.streams.remove(&stream)),
            Some(_) => drop(self.released.insert(stream)),
            None => {}
        }
    }

    fn settle(&mut self, stream: u16, result: Result<(), FinishError>) {
        if self.released.remove(&stream) {
            self.streams.remove(&stream);
        } else {
            self.streams.insert(stream, Progress::Over(result));
        }
    }

    /// Returns whether new data may be sent, because no end is in progress.
    pub(crate) fn is_open(&self, stream: u16) -> bool {
        !matches!(self.progress(stream), Some(Progress::Sending | Progress::Asked))
    }

    /// Returns whether streams wait for a request.
    pub(crate) fn is_waiting(&self) -> bool {
        self.streams.values().any(|step| *step == Progress::Sending)
    }

    /// Returns the streams of the next request, out of those that are `sent`. Returns none while a request is
    /// outstanding.
    pub(crate) fn next(&self, sent: impl Fn(u16) -> bool) -> Vec<u16> {
        if !self.asked.is_empty() {
            return Vec::new();
        }
        let waiting =
            self.streams.iter().filter(|(_, step)| **step == Progress::Sending).map(|(&stream, _)| stream);
        waiting.filter(|&stream| sent(stream)).take(msctp_proto::MAX_NAMED_STREAMS).collect()
    }

    /// Records that a request for these streams was made.
    pub(crate) fn on_asked(&mut self, streams: Vec<u16>) {
        for &stream in &streams {
            self.streams.insert(stream, Progress::Asked);
        }
        self.asked = streams;
    }

    /// Records that these streams cannot be reset.
    pub(crate) fn refuse(&mut self, streams: &[u16], error: &FinishError) {
        for &stream in streams {
            self.settle(stream, Err(error.clone()));
        }
    }

    /// Handles the answer to a reset. Returns false if this module did not request the reset.
    pub(crate) fn on_answer(&mut self, streams: &[u16], outcome: ReconfigOutcome) -> bool {
        if streams.is_empty() || self.asked != streams {
            return false;
        }
        for stream in std::mem::take(&mut self.asked) {
            match outcome {
                ReconfigOutcome::Performed => self.settle(stream, Ok(())),
                // The request was not sent, or another is in progress: repeat it. A shutdown of the
                // association ends the stream as well.
                ReconfigOutcome::GivenUp | ReconfigOutcome::Failed(IN_PROGRESS_ALREADY) => {
                    self.streams.insert(stream, Progress::Sending);
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
        assert_eq!((endings.progress(2), endings.progress(7)), (Some(&Progress::Over(Ok(()))), None));
        endings.release(2);
        assert!(endings.progress(2).is_none() && endings.next(|_| true) == [5]);
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
        assert_eq!(
            endings.progress(1),
            Some(&Progress::Over(Err(FinishError::Denied(ReconfigOutcome::Denied))))
        );
        endings.begin(1);
        assert!(endings.is_open(1) && !endings.is_waiting(), "it stays refused until the stream is released");
    }
}
