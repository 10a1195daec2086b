//! [`Wakers`]: tasks that wait for the same thing.

use std::task::{Context, Waker};

/// Woken all at once; each looks for itself and waits again if it must. A dropped wait leaves a
/// waker behind, which then wakes in vain once.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Vec<Waker>);

impl Wakers {
    pub(crate) fn add(&mut self, cx: &Context<'_>) {
        if !self.0.iter().any(|waker| waker.will_wake(cx.waker())) {
            self.0.push(cx.waker().clone());
        }
    }

    pub(crate) fn wake(&mut self) {
        self.0.drain(..).for_each(Waker::wake);
    }
}
