//! A panic of one association's code, such as that of an application's controller, ends that association and
//! no other.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use msctp_proto::{Event, LossReason};

use crate::outbox::Outbox;
use crate::state::State;

/// What the peer of such an association is told.
const REASON: &[u8] = b"code of this association panicked";

/// Runs associations. If one panics, ends it, and returns `None`: the work was not completed.
pub(crate) fn contain<R>(
    state: &mut State,
    outbox: &mut Outbox,
    run: impl FnOnce(&mut State, &mut Outbox) -> R,
) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(|| run(state, outbox))) {
        Ok(result) => Some(result),
        Err(panic) => {
            state.end_panicked(panic, outbox);
            None
        }
    }
}

/// Number of characters of a panic's message that are reported.
const MOST_CHARACTERS: usize = 1000;

/// Returns the message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").chars().take(MOST_CHARACTERS).collect()
}

impl State {
    /// Ends the association that panicked, or the set-up. Continues to unwind if it was none's code.
    fn end_panicked(&mut self, panic: Box<dyn Any + Send>, outbox: &mut Outbox) {
        // A packet may have been begun.
        outbox.drop_rest();
        let now = self.now();
        let Some((handle, mut association)) = self.core.remove_panicked() else {
            let Some((at, port)) = self.core.refuse_panicked(now) else { resume_unwind(panic) };
            return port
                .into_iter()
                .for_each(|port| self.answer_refused(now, (at.remote, port).into(), outbox));
        };
        // It may panic again.
        let last_words = catch_unwind(AssertUnwindSafe(|| {
            association.abort(now, &REASON.into());
            let start = outbox.bytes.len();
            if let Some(transmit) = association.poll_transmit(now, &mut outbox.bytes)
                && let Some(port) = transmit.udp_port
            {
                outbox.push(start, &transmit, None, port);
            }
            drop(association);
        }));
        if last_words.is_err() {
            outbox.drop_rest();
        }
        let lost = Event::Lost(LossReason::Panicked { message: message(&*panic) });
        self.take_event(handle, lost);
    }
}
