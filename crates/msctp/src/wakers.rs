//! [`Wakers`]: tasks that wait for the same event.

use std::task::{Context, Waker};

/// Wakes all tasks at once; each checks its condition and waits again if it must. A dropped wait leaves its
/// waker behind, which causes one spurious wake-up.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Vec<Waker>);

impl Wakers {
    pub(crate) fn add(&mut self, cx: &Context<'_>) {
        if !self.0.iter().any(|waker| waker.will_wake(cx.waker())) {
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
