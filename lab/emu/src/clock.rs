//! [`Clock`]: the one place where real time becomes [`Time`].

use std::time::{Duration, Instant};

use msctp_units::Time;

/// The monotonic clock (`CLOCK_MONOTONIC`), counted from the start of an emulation.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// Starts a clock at zero.
    #[must_use]
    pub fn start() -> Self {
        Self { origin: read() }
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn now(&self) -> Time {
        let since = read().duration_since(self.origin).as_nanos();
        Time::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
    }

    /// Returns the time until `at`; zero if that has passed.
    #[must_use]
    pub fn until(&self, at: Time) -> Duration {
        Duration::from_nanos(at.since(self.now()).as_nanos())
    }
}

#[expect(clippy::disallowed_methods, reason = "real time is this crate's business, and this its only source")]
fn read() -> Instant {
    Instant::now()
}
