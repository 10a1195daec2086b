//! Calls that take part in tokio's budget: a task that always finds something ready lets others run.

use std::task::{Context, Poll, ready};

/// Polls once within the task's budget. Without budget it is pending, and the task runs again behind others.
pub(crate) fn within_budget<'a, R>(
    cx: &mut Context<'a>,
    poll: impl FnOnce(&mut Context<'a>) -> Poll<R>,
) -> Poll<R> {
    let budget = ready!(tokio::task::coop::poll_proceed(cx));
    let result = ready!(poll(cx));
    budget.made_progress();
    Poll::Ready(result)
}
