//! [`Wakers`]: tasks that wait for the same event.

use std::task::{Context, Waker};

/// Wakes all tasks at once; each checks its condition and waits again if it must. A dropped wait leaves its
/// waker behind, which causes one spurious wake-up.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Vec<Waker>);

/// Returns whether two wakers wake the same task.
///
/// `Waker::will_wake` compares the addresses of the tables of functions, of which a program may have several
/// copies: it is false for tokio's waker of `block_on` and its clones. Their contents are equal.
fn same_task(a: &Waker, b: &Waker) -> bool {
    a.data() == b.data() && a.vtable() == b.vtable()
}

impl Wakers {
    pub(crate) fn add(&mut self, cx: &Context<'_>) {
        if !self.0.iter().any(|waker| same_task(waker, cx.waker())) {
            if self.0.is_empty() {
                // One task as a rule: no room beside it.
                self.0.reserve_exact(1);
            }
            self.0.push(cx.waker().clone());
        }
    }

    pub(crate) fn wake(&mut self) {
        self.0.drain(..).for_each(Waker::wake);
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
            (0..100).for_each(|_| wakers.add(cx));
            Poll::Ready(())
        })
        .await;
        wakers.0.len()
    }

    /// Before, it failed in optimized builds only (`--release`), which have several copies of the table.
    #[tokio::test]
    async fn a_task_that_polls_often_is_kept_once() {
        assert_eq!(kept().await, 1, "the task of block_on");
        assert_eq!(tokio::spawn(kept()).await.unwrap(), 1);
        let mut both = Wakers::default();
        poll_fn(|cx| {
            both.add(cx);
            both.add(&Context::from_waker(Waker::noop()));
            Poll::Ready(())
        })
        .await;
        assert_eq!(both.0.len(), 2, "different tasks");
    }
}
