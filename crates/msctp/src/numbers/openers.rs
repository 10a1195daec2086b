//! [`Openers`]: tasks that wait for a free number, first come, first served.

use std::collections::BTreeMap;
use std::task::{Context, Waker};

/// Tasks that wait for a free number. One is woken at a time: the first, which takes a number or passes its
/// turn on by [`leave`](Openers::leave).
#[derive(Debug, Default)]
pub(crate) struct Openers {
    next: u64,
    /// By their tickets; `None`: woken, and not polled since.
    waiting: BTreeMap<u64, Option<Waker>>,
}

impl Openers {
    /// Returns whether nobody waits before the holder of this ticket, or of none.
    pub(crate) fn is_first(&self, ticket: Option<u64>) -> bool {
        self.waiting.first_key_value().is_none_or(|(&first, _)| ticket == Some(first))
    }

    /// Keeps the waker of the holder of this ticket, who gets one if he has none.
    pub(crate) fn wait(&mut self, ticket: &mut Option<u64>, cx: &Context<'_>) {
        let ticket = *ticket.get_or_insert_with(|| {
            self.next += 1;
            self.next
        });
        self.waiting.insert(ticket, Some(cx.waker().clone()));
    }

    /// Gives a ticket back. The next may take a number that is left.
    pub(crate) fn leave(&mut self, ticket: u64) {
        self.waiting.remove(&ticket);
        self.wake_first();
    }

    /// Wakes the first: a number may be free.
    pub(crate) fn wake_first(&mut self) {
        if let Some(mut first) = self.waiting.first_entry()
            && let Some(waker) = first.get_mut().take()
        {
            waker.wake();
        }
    }

    /// Wakes all: the association has ended.
    pub(crate) fn wake_all(&mut self) {
        self.waiting.values_mut().filter_map(Option::take).for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn one_task_is_woken_at_a_time_in_the_order_of_arrival() {
        let tasks: [Arc<Woken>; 3] = Default::default();
        let (mut openers, mut tickets) = (Openers::default(), [None; 3]);
        let poll = |openers: &mut Openers, tickets: &mut [Option<u64>; 3], task: usize| {
            let waker = Waker::from(Arc::clone(&tasks[task]));
            openers.wait(&mut tickets[task], &Context::from_waker(&waker));
        };
        assert!(openers.is_first(None));
        (0..3).for_each(|task| poll(&mut openers, &mut tickets, task));
        let woken = || [0, 1, 2].map(|task: usize| tasks[task].0.load(Ordering::Relaxed));
        openers.wake_first();
        openers.wake_first();
        assert_eq!(woken(), [1, 0, 0], "once until it is polled");
        poll(&mut openers, &mut tickets, 0);
        let first = tickets.map(|ticket| openers.is_first(ticket));
        assert_eq!((first, openers.is_first(None)), ([true, false, false], false));
        openers.leave(tickets[1].unwrap());
        openers.leave(tickets[0].unwrap());
        assert_eq!((woken(), openers.is_first(tickets[2])), ([2, 0, 1], true), "the turn is passed on");
        openers.wake_all();
        assert_eq!(woken(), [2, 0, 1], "it was woken");
    }
}
