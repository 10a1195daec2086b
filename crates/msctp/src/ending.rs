//! [`Endings`]: outbound streams that end, and the reset requests for them (RFC 6525 §5.1.2). Keeps state;
//! `state` calls the core.

use std::collections::BTreeMap;

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

/// The end of a stream.
#[derive(Debug)]
struct Ending {
    progress: Progress,
    /// The stream's [`Stream`](crate::Stream) was dropped: the result is discarded.
    released: bool,
}

/// Streams whose end was requested, by number.
#[derive(Debug, Default)]
pub(crate) struct Endings(BTreeMap<u16, Ending>);

impl Endings {
    /// Returns the progress of a stream's end, or `None` if no end was requested.
    pub(crate) fn progress(&self, stream: u16) -> Option<&Progress> {
        self.0.get(&stream).map(|ending| &ending.progress)
    }

    /// Returns the streams with this progress.
    fn at(&self, progress: &Progress) -> impl Iterator<Item = u16> {
        self.0.iter().filter(move |(_, ending)| ending.progress == *progress).map(|(&stream, _)| stream)
    }

    /// Requests the end of a stream. Does nothing if it was requested before.
    pub(crate) fn begin(&mut self, stream: u16) {
        self.0.entry(stream).or_insert(Ending { progress: Progress::Sending, released: false });
    }

    /// Discards the result, so that the number can be reused once the end has settled.
    pub(crate) fn release(&mut self, stream: u16) {
        match self.0.get_mut(&stream) {
            Some(Ending { progress: Progress::Over(_), .. }) => drop(self.0.remove(&stream)),
            Some(ending) => ending.released = true,
            None => {}
        }
    }

    fn set(&mut self, stream: u16, progress: Progress) {
        if let Some(ending) = self.0.get_mut(&stream) {
            ending.progress = progress;
        }
    }

    fn settle(&mut self, stream: u16, result: Result<(), FinishError>) {
        match self.0.get(&stream) {
            Some(ending) if ending.released => drop(self.0.remove(&stream)),
            _ => self.set(stream, Progress::Over(result)),
        }
    }

    /// Returns whether new data may be sent, because no end is in progress.
    pub(crate) fn is_open(&self, stream: u16) -> bool {
        !matches!(self.progress(stream), Some(Progress::Sending | Progress::Asked))
    }

    /// Returns whether streams wait for a request.
    pub(crate) fn is_waiting(&self) -> bool {
        self.at(&Progress::Sending).next().is_some()
    }

    /// Returns the streams of the next request, out of those that are `sent`. One request at a time names
    /// all that are ready: returns none while a request is outstanding.
    pub(crate) fn next(&self, sent: impl Fn(u16) -> bool) -> Vec<u16> {
        if self.at(&Progress::Asked).next().is_some() {
            return Vec::new();
        }
        let ready = self.at(&Progress::Sending).filter(|&stream| sent(stream));
        ready.take(msctp_proto::MAX_NAMED_STREAMS).collect()
    }

    /// Records that a request for these streams was made.
    pub(crate) fn on_asked(&mut self, streams: &[u16]) {
        for &stream in streams {
            self.set(stream, Progress::Asked);
        }
    }

    /// Records that these streams cannot be reset.
    pub(crate) fn refuse(&mut self, streams: &[u16], error: &FinishError) {
        for &stream in streams {
            self.settle(stream, Err(error.clone()));
        }
    }

    /// Handles the answer to a reset. Returns false if this module did not request the reset.
    pub(crate) fn on_answer(&mut self, streams: &[u16], outcome: ReconfigOutcome) -> bool {
        if streams.is_empty() || !self.at(&Progress::Asked).eq(streams.iter().copied()) {
            return false;
        }
        for &stream in streams {
            match outcome {
                ReconfigOutcome::Performed => self.settle(stream, Ok(())),
                // The request was not sent, or another is in progress: repeat it. A shutdown of the
                // association ends the stream as well.
                ReconfigOutcome::GivenUp | ReconfigOutcome::Failed(IN_PROGRESS_ALREADY) => {
                    self.set(stream, Progress::Sending);
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
        endings.on_asked(&[2, 7]);
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
            endings.on_asked(&[1]);
            assert!(endings.on_answer(&[1], outcome));
            assert_eq!(endings.next(|_| true), [1]);
        }
        endings.on_asked(&[1]);
        endings.on_answer(&[1], ReconfigOutcome::Denied);
        assert_eq!(
            endings.progress(1),
            Some(&Progress::Over(Err(FinishError::Denied(ReconfigOutcome::Denied))))
        );
        endings.begin(1);
        assert!(endings.is_open(1) && !endings.is_waiting(), "it stays refused until the stream is released");
    }
}
