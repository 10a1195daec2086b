//! [`Stage`]: the clock and the report channel that all tasks in hosts share.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::mpsc::Sender;
use std::task::Poll;

use msctp_emu::Clock;
use msctp_sim::real_stacks::StackEvent;
use msctp_units::Time;

use crate::alarm::{Alarm, Alarms};

/// A report of a host.
#[derive(Debug)]
pub(crate) enum Note {
    /// An event, with its time.
    StackEvent(Time, StackEvent),
    /// The host failed.
    Failed(String),
}

/// State shared by all tasks of all hosts.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) clock: Clock,
    pub(crate) end: Time,
    alarms: Alarms,
    notes: Sender<Note>,
}

impl Stage {
    pub(crate) fn new(clock: Clock, end: Time, notes: Sender<Note>) -> io::Result<Self> {
        Ok(Self { clock, end, alarms: Alarms::start(clock)?, notes })
    }

    /// Returns an alarm for times of the scenario.
    pub(crate) fn alarm(&self) -> Alarm {
        Alarm::new(&self.alarms)
    }

    /// Reports an event with the current time.
    pub(crate) fn record(&self, what: StackEvent) {
        self.record_at(self.clock.now(), what);
    }

    /// Reports an event with the time `at`.
    pub(crate) fn record_at(&self, at: Time, what: StackEvent) {
        // The receiver is dropped if the run was cancelled.
        let _ = self.notes.send(Note::StackEvent(at, what));
    }

    /// Reports a failure that ends the run.
    pub(crate) fn fail(&self, why: String) {
        let _ = self.notes.send(Note::Failed(why));
    }
}

/// The future that completed first; the first one if both did.
pub(crate) enum Either<A, B> {
    First(A),
    Second(B),
}

/// Waits for the first of two futures and drops the other.
pub(crate) async fn either<A, B>(
    first: impl Future<Output = A>,
    second: impl Future<Output = B>,
) -> Either<A, B> {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(|cx| {
        if let Poll::Ready(done) = first.as_mut().poll(cx) {
            return Poll::Ready(Either::First(done));
        }
        second.as_mut().poll(cx).map(Either::Second)
    })
    .await
}
