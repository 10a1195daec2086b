//! [`Limits`] of the peer, and [`OpenRate`].

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
