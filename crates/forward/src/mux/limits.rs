//! [`Limits`] of the peer, [`WindowBudget`] and [`OpenRate`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use msctp_units::{Span, Time};

/// Limits on a peer's resource use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of connections.
    pub connections: usize,
    /// Maximum number of connections that wait for acceptance.
    pub pending: usize,
    /// Connections opened per second; twice as many may be opened at once.
    pub opens_per_second: u32,
    /// Bytes of receive windows beyond the [initial](crate::INITIAL_WINDOW) ones.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 1024, pending: 128, opens_per_second: 500, memory: 32 << 20 }
    }
}

/// Bytes of receive windows that the connections of several associations share. Clones share them.
#[derive(Clone, Debug)]
pub struct WindowBudget(Arc<Budget>);

#[derive(Debug)]
struct Budget {
    bytes: u64,
    used: AtomicU64,
}

impl WindowBudget {
    /// Creates a budget of `bytes`.
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(Budget { bytes, used: AtomicU64::new(0) }))
    }

    /// Returns the bytes that are left.
    pub fn left(&self) -> u64 {
        self.0.bytes.saturating_sub(self.0.used.load(Ordering::Relaxed))
    }
}

/// The bytes that one association holds of its budgets.
#[derive(Debug, Default)]
pub(super) struct Held {
    budgets: Vec<WindowBudget>,
    bytes: u64,
}

impl Held {
    pub(super) fn new(budgets: Vec<WindowBudget>) -> Self {
        Self { budgets, bytes: 0 }
    }

    /// Returns the bytes that are left in every budget.
    pub(super) fn left(&self) -> u64 {
        self.budgets.iter().map(WindowBudget::left).min().unwrap_or(u64::MAX)
    }

    /// Takes bytes of every budget. Between [`left`](Self::left) and this call another thread may take some:
    /// a budget can be exceeded by one window for each thread.
    pub(super) fn take(&mut self, bytes: u64) {
        self.bytes += bytes;
        for budget in &self.budgets {
            budget.0.used.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn give_back(&mut self, bytes: u64) {
        self.bytes -= bytes;
        for budget in &self.budgets {
            budget.0.used.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

/// A token bucket for the rate of opens. A token is the time between two opens.
#[derive(Debug)]
pub(super) struct OpenRate {
    interval: Span,
    burst: Span,
    /// Time until which all tokens are spent.
    used: Time,
}

impl OpenRate {
    pub(super) fn new(limits: &Limits) -> Self {
        let interval = Span::from_secs(1) / u64::from(limits.opens_per_second.max(1));
        Self { interval, burst: Span::from_secs(2), used: Time::ZERO }
    }

    /// Takes a token for one open. Returns false if the rate is exceeded.
    pub(super) fn take(&mut self, now: Time) -> bool {
        let used = self.used.max(now) + self.interval;
        let within = used.since(now) <= self.burst;
        if within {
            self.used = used;
        }
        within
    }
}
