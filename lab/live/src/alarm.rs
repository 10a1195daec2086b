//! [`Alarm`]: waits exactly until a time of the scenario. One thread sleeps for all tasks, because the
//! runtime's own timers count whole milliseconds, which a message's transfer time would show.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::task::{Context, Poll};
use std::{io, thread};

use msctp_emu::{Clock, take_priority};
use msctp_units::Time;
use tokio::sync::oneshot;

/// Real-time priority of the hosts' threads, above ordinary programs and below the emulator's pump (10).
/// Otherwise a wait for a processor would count as the transport's delay.
pub(crate) const PRIORITY: u8 = 5;

/// A request to be woken.
#[derive(Debug)]
struct Wish {
    at: Time,
    bell: oneshot::Sender<()>,
}

/// A timer thread. It ends when the last sender of requests is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Alarms {
    wishes: Sender<Wish>,
    clock: Clock,
}

impl Alarms {
    pub(crate) fn start(clock: Clock) -> io::Result<Self> {
        let (wishes, heard) = channel();
        thread::Builder::new().name("alarms".to_owned()).spawn(move || sleep(clock, &heard))?;
        Ok(Self { wishes, clock })
    }
}

fn sleep(clock: Clock, wishes: &Receiver<Wish>) {
    let _ = take_priority(PRIORITY);
    let mut order = 0_u64;
    let mut waiting: BinaryHeap<Reverse<Entry>> = BinaryHeap::new();
    loop {
        while let Some(Reverse(entry)) = waiting.peek() {
            if entry.at > clock.now() {
                break;
            }
            // A cancelled wait has no receiver.
            let _ = waiting.pop().map(|Reverse(entry)| entry.bell.send(()));
        }
        let heard = match waiting.peek() {
            Some(Reverse(entry)) => wishes.recv_timeout(clock.until(entry.at)),
            None => wishes.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match heard {
            Ok(Wish { at, bell }) => {
                order += 1;
                waiting.push(Reverse(Entry { at, order, bell }));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// A request in the queue, ordered by time, then by age.
#[derive(Debug)]
struct Entry {
    at: Time,
    order: u64,
    bell: oneshot::Sender<()>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// Timer that waits for one time after another.
#[derive(Debug)]
pub(crate) struct Alarm {
    alarms: Alarms,
    /// The last time that was waited for, since the same wait may continue.
    set: Option<(Time, oneshot::Receiver<()>)>,
}

impl Alarm {
    pub(crate) fn new(alarms: &Alarms) -> Self {
        Self { alarms: alarms.clone(), set: None }
    }

    /// Waits until `at`; returns at once if that has passed. Cancel-safe.
    pub(crate) fn until(&mut self, at: Time) -> Until<'_> {
        Until { alarm: self, at }
    }
}

/// A wait of an [`Alarm`].
#[derive(Debug)]
pub(crate) struct Until<'a> {
    alarm: &'a mut Alarm,
    at: Time,
}

impl Future for Until<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { alarm, at } = self.get_mut();
        let Alarm { alarms, set } = alarm;
        loop {
            if alarms.clock.now() >= *at {
                *set = None;
                return Poll::Ready(());
            }
            if set.as_ref().is_none_or(|(asked, _)| asked != at) {
                let (bell, rings) = oneshot::channel();
                // The thread lives as long as this sender.
                let _ = alarms.wishes.send(Wish { at: *at, bell });
                *set = Some((*at, rings));
            }
            let Some((_, rings)) = set else { continue };
            match Pin::new(rings).poll(cx) {
                Poll::Ready(_) => *set = None,
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::{Either, either};
    use msctp_units::Span;

    #[test]
    fn alarms_fire_in_order_and_a_cancelled_wait_can_restart() {
        let clock = Clock::start();
        let alarms = Alarms::start(clock).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut early, mut late) = (Alarm::new(&alarms), Alarm::new(&alarms));
            let at = |ms| Time::ZERO + Span::from_millis(ms);
            let start = clock.now().as_nanos() / 1_000_000;
            for _ in 0..3 {
                // The later wait is cancelled each time and begun anew.
                let first = either(late.until(at(start + 30)), early.until(at(start + 10))).await;
                assert!(matches!(first, Either::Second(())));
                assert!(clock.now() >= at(start + 10));
            }
            assert!(clock.now() < at(start + 30), "the machine is too busy to tell");
            late.until(at(start + 30)).await;
            assert!(clock.now() >= at(start + 30));
            late.until(at(start)).await;
        });
    }
}
