//! [`Endpoint::close`] and [`Endpoint::abort`]: the end of all associations of an endpoint.

use std::future::poll_fn;
use std::task::Poll;

use msctp_proto::AbortReason;
use msctp_units::Time;

use crate::endpoint::Endpoint;
use crate::error::CloseError;
use crate::state::State;

impl Endpoint {
    /// Shuts down every association (RFC 9260 §9.2) and closes the sockets.
    ///
    /// Waits until all associations have ended. The kernel then has their last packets, and the next `bind`
    /// gets the same UDP ports. No new association begins: [`accept`](Self::accept) returns `None`,
    /// [`connect`](Self::connect) and [`listen`](Self::listen) fail. Associations that are being set up are
    /// aborted.
    ///
    /// `Ok` means that every peer acknowledged everything sent to it, apart from messages whose lifetime
    /// ended. This takes as long as the delivery does. After
    /// [`EndpointOptions::linger`](crate::EndpointOptions::linger) the remaining associations are aborted, so
    /// that their peers are notified. Handles may still be held; their readers can read what arrived before
    /// the end. If the wait is cancelled the shutdowns go on.
    ///
    /// # Errors
    ///
    /// Some associations were lost or aborted instead, or cut off by the end of the endpoint's task, with its
    /// runtime, before; what was sent on them may not have been delivered.
    pub async fn close(&self) -> Result<(), CloseError> {
        let before = self.shards().each(|state| {
            let now = state.now();
            // The end of the task was reported for none of those that it cut off.
            let before = state.cut_off - state.cut_off_by_end;
            state.shut_down_all(now);
            before
        });
        self.gone().await;
        let after = self.shards().each(|state| state.cut_off);
        match after.iter().sum::<u64>() - before.iter().sum::<u64>() {
            0 => Ok(()),
            cut_off => Err(CloseError { cut_off }),
        }
    }

    /// Aborts every association (RFC 9260 §9.1): each peer gets an ABORT with this reason, text, bytes or a
    /// code. Ready when the kernel has the packets and the sockets are closed. Undelivered data is lost. The
    /// endpoint accepts no new associations, as after [`close`](Self::close), and a pending `close` ends.
    ///
    /// For a program that must end at once. Each peer gets one packet; a peer whose packet is lost detects
    /// the end by its idle timeout ([`EndpointOptions::idle_timeout`](crate::EndpointOptions::idle_timeout)).
    pub async fn abort(&self, reason: impl Into<AbortReason>) {
        let reason = reason.into();
        self.shards().each(|state| {
            let now = state.now();
            state.abort_all(now, &reason);
        });
        self.gone().await;
    }

    /// Waits until the endpoint's tasks have ended.
    async fn gone(&self) {
        self.wait_for(|state| state.gone).await;
    }

    /// Waits until a condition holds for all shards at the same time.
    pub(crate) async fn wait_for(&self, is_true: impl Fn(&State) -> bool) {
        poll_fn(|cx| {
            let done = self.shards().each(|state| {
                let done = is_true(state);
                if !done {
                    state.idlers.add((), cx);
                }
                done
            });
            if done.into_iter().all(|done| done) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

impl State {
    /// Shuts every association down, and aborts the remaining ones after the linger time.
    fn shut_down_all(&mut self, now: Time) {
        self.closed = true;
        self.close_listeners();
        let deadline = now + self.linger;
        for handle in self.live() {
            if self.begin_end(now, handle) {
                self.abort_at(handle, deadline);
            }
        }
        self.wake_driver();
    }

    /// Aborts every association.
    pub(crate) fn abort_all(&mut self, now: Time, reason: &AbortReason) {
        self.closed = true;
        self.close_listeners();
        self.unsettled = true;
        for handle in self.live() {
            if let Some(association) = self.core.association_mut(handle) {
                association.abort(now, reason);
            }
        }
        self.wake_driver();
    }
}
