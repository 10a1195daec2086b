//! [`Listener`]: a port that accepts associations, and [`Arrivals`]: those that wait for the application.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use msctp_proto::{Config, Handle};

use crate::place::Place;
use crate::wakers::Wakers;

#[cfg(feature = "tls")]
use {
    crate::rejections::Rejections,
    crate::tls::{Rejected, Rejection},
    msctp_units::{Span, Time},
    std::net::SocketAddr,
};

/// Minimum interval between reports of set-ups whose source is not verified.
#[cfg(feature = "tls")]
const REFUSED_INTERVAL: Span = Span::from_secs(1);

/// A port of a shard that accepts associations.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) config: Config,
    /// The arrivals at the port, shared by all shards.
    pub(crate) arrivals: Arc<Arrivals>,
}

/// Arrivals at a port of an endpoint, from all shards, that wait for the application. Its lock is taken after
/// that of a shard's state, never before.
#[derive(Debug, Default)]
pub(crate) struct Arrivals(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    queue: VecDeque<(Place, Handle)>,
    /// Set-ups that key management rejected.
    #[cfg(feature = "tls")]
    rejected: Rejections,
    /// Time of the last report of a set-up that the core refused.
    #[cfg(feature = "tls")]
    refused_at: Option<Time>,
    /// True if nothing more arrives and nothing can be taken.
    closed: bool,
    wakers: Wakers,
}

impl Arrivals {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an association. Returns false if `most` already wait.
    pub(crate) fn offer(&self, association: (Place, Handle), most: usize) -> bool {
        let mut waiting = self.lock();
        let fits = waiting.queue.len() < most;
        if fits {
            waiting.queue.push_back(association);
            waiting.wakers.wake_all();
        }
        fits
    }

    /// Takes the next association. Returns `None` after the end.
    pub(crate) fn poll_next(&self, cx: &Context<'_>) -> Poll<Option<(Place, Handle)>> {
        self.poll(cx, |waiting| waiting.queue.pop_front())
    }

    fn poll<T>(&self, cx: &Context<'_>, take: impl FnOnce(&mut Waiting) -> Option<T>) -> Poll<Option<T>> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Poll::Ready(None);
        }
        let taken = take(&mut waiting);
        if taken.is_none() {
            waiting.wakers.add((), cx);
            return Poll::Pending;
        }
        Poll::Ready(taken)
    }

    /// Ends the port. Returns the unaccepted associations of one shard.
    pub(crate) fn close(&self, shard: Place) -> Vec<Handle> {
        self.end();
        let mut waiting = self.lock();
        let (own, others) = waiting.queue.drain(..).partition(|(place, _)| *place == shard);
        waiting.queue = others;
        let own: VecDeque<(Place, Handle)> = own;
        own.into_iter().map(|(_, handle)| handle).collect()
    }

    /// Ends all waits for arrivals.
    pub(crate) fn end(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        waiting.wakers.wake_all();
    }
}

#[cfg(feature = "tls")]
impl Arrivals {
    /// Queues a failed set-up for [`Endpoint::rejected`](crate::Endpoint::rejected).
    pub(crate) fn reject(&self, remote: SocketAddr, error: Rejection) {
        crate::log::rejected(remote, &error);
        let mut waiting = self.lock();
        waiting.rejected.push(remote, error);
        waiting.wakers.wake_all();
    }

    /// Returns whether a set-up that the core refused may be reported: at most one per second.
    pub(crate) fn may_report_refused(&self, now: Time) -> bool {
        let mut waiting = self.lock();
        let may = waiting.refused_at.is_none_or(|at| now >= at + REFUSED_INTERVAL);
        if may {
            waiting.refused_at = Some(now);
        }
        may
    }

    /// Takes the next rejected set-up. Returns `None` after the end.
    pub(crate) fn poll_rejected(&self, cx: &Context<'_>) -> Poll<Option<Rejected>> {
        self.poll(cx, |waiting| waiting.rejected.pop())
    }
}
