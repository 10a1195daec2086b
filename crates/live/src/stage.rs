//! What everything that runs in the hosts shares: the clock, and to whom it is told what happens.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::mpsc::Sender;
use std::task::Poll;

use msctp_emu::Clock;
use msctp_sim::elsewhere::Told;
use msctp_units::Time;

use crate::alarm::{Alarm, Alarms};

/// What a host has to say.
#[derive(Debug)]
pub(crate) enum Note {
    /// Something happened.
    Told(Time, Told),
    /// It cannot go on.
    Failed(String),
}

/// Shared by all tasks of all hosts.
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

    /// Somebody has to wait for times of the scenario.
    pub(crate) fn alarm(&self) -> Alarm {
        Alarm::new(&self.alarms)
    }

    /// Something happened now.
    pub(crate) fn tell(&self, what: Told) {
        self.tell_at(self.clock.now(), what);
    }

    /// Something happened at `at`.
    pub(crate) fn tell_at(&self, at: Time, what: Told) {
        // Nobody listens any more: the run was cancelled.
        let _ = self.notes.send(Note::Told(at, what));
    }

    /// The run cannot go on.
    pub(crate) fn fail(&self, why: String) {
        let _ = self.notes.send(Note::Failed(why));
    }
}

/// What of two waits was over first, the first if both.
pub(crate) enum Either<A, B> {
    First(A),
    Second(B),
}

/// Waits for whichever is over first, and gives the other up.
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
