//! [`Wakers`]: tasks that wait for the same event.

use std::task::{Context, Waker};

/// Wakes all tasks at once; each checks its condition and waits again if it must. A dropped wait leaves its
/// waker behind, which causes one spurious wake-up.
///
/// `K` is what a task waits for.
#[derive(Debug)]
pub(crate) struct Wakers<K = ()>(Vec<(K, Waker)>);

/// What a task waits for at an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Messages of streams without handles.
    Read,
    /// Room in the send buffer.
    Write,
    /// The peer's reader of this stream: others may write meanwhile.
    Credit(u16),
    /// An event, the set-up or the end of the association.
    Event,
    /// The acknowledgement of all data.
    Flush,
}

impl<K> Default for Wakers<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Returns whether two wakers wake the same task.
///
/// `Waker::will_wake` compares the addresses of the tables of functions, of which a program may have several
/// copies: it is false for tokio's waker of `block_on` and its clones. Their contents are equal.
fn same_task(a: &Waker, b: &Waker) -> bool {
    a.data() == b.data() && a.vtable() == b.vtable()
}

impl<K: Copy + PartialEq> Wakers<K> {
    pub(crate) fn add(&mut self, wait: K, cx: &Context<'_>) {
        if !self.0.iter().any(|(other, waker)| *other == wait && same_task(waker, cx.waker())) {
            if self.0.is_empty() {
                // One task as a rule: no room beside it.
                self.0.reserve_exact(1);
            }
            self.0.push((wait, cx.waker().clone()));
        }
    }

    /// Wakes the tasks that wait for this.
    pub(crate) fn wake(&mut self, wait: K) {
        self.0.extract_if(.., |(other, _)| *other == wait).for_each(|(_, waker)| waker.wake());
    }

    /// Wakes the first `most` of the tasks that wait for this, in the order in which they began to wait.
    /// Returns how many there were.
    pub(crate) fn wake_first(&mut self, wait: K, most: usize) -> usize {
        let first = self.0.extract_if(.., |(other, _)| *other == wait).take(most);
        first.map(|(_, waker)| waker.wake()).count()
    }

    /// Wakes every task.
    pub(crate) fn wake_all(&mut self) {
        self.0.drain(..).for_each(|(_, waker)| waker.wake());
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    /// Adds the waker of the current task often, and returns how many are kept.
    async fn kept() -> usize {
        let mut wakers = Wakers::default();
        poll_fn(|cx| {
            (0..100).for_each(|_| wakers.add((), cx));
            Poll::Ready(())
        })
        .await;
        wakers.0.len()
    }

    #[tokio::test]
    async fn only_the_tasks_that_wait_for_it_are_woken() {
        let mut wakers = Wakers::default();
        poll_fn(|cx| {
            [Wait::Read, Wait::Write, Wait::Read].into_iter().for_each(|wait| wakers.add(wait, cx));
            Poll::Ready(())
        })
        .await;
        assert_eq!(wakers.0.len(), 2, "a task may wait for several");
        wakers.wake(Wait::Event);
        assert_eq!(wakers.0.len(), 2);
        wakers.wake(Wait::Read);
        assert!(matches!(wakers.0[..], [(Wait::Write, _)]));
        wakers.wake_all();
        assert!(wakers.0.is_empty());
    }

    #[tokio::test]
    async fn the_first_that_wait_are_woken_first() {
        use std::sync::{Arc, Mutex};
        use std::task::Wake;

        struct Named(usize, Arc<Mutex<Vec<usize>>>);
        impl Wake for Named {
            fn wake(self: Arc<Self>) {
                self.1.lock().unwrap().push(self.0);
            }
        }
        let woken = Arc::new(Mutex::new(Vec::new()));
        let mut wakers = Wakers::default();
        for name in 0..5 {
            let waker = Waker::from(Arc::new(Named(name, Arc::clone(&woken))));
            wakers.add(if name == 1 { Wait::Read } else { Wait::Write }, &Context::from_waker(&waker));
        }
        assert_eq!(wakers.wake_first(Wait::Write, 2), 2);
        assert_eq!(*woken.lock().unwrap(), [0, 2]);
        assert_eq!(wakers.wake_first(Wait::Write, 9), 2);
        assert_eq!(*woken.lock().unwrap(), [0, 2, 3, 4]);
        assert_eq!(wakers.0.len(), 1);
    }

    /// Before, it failed in optimized builds only (`--release`), which have several copies of the table.
    #[tokio::test]
    async fn a_task_that_polls_often_is_kept_once() {
        assert_eq!(kept().await, 1, "the task of block_on");
        assert_eq!(tokio::spawn(kept()).await.unwrap(), 1);
        let mut both = Wakers::default();
        poll_fn(|cx| {
            both.add((), cx);
            both.add((), &Context::from_waker(Waker::noop()));
            Poll::Ready(())
        })
        .await;
        assert_eq!(both.0.len(), 2, "different tasks");
    }
}
