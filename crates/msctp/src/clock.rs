//! [`Clock`]: the only place that reads the time. The core takes it as an argument.

use msctp_units::Time;
use tokio::time::{Duration, Instant};

/// Time since an endpoint began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(self) -> Time {
        Time::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    /// Converts a time for the runtime's timers.
    pub(crate) fn instant(self, time: Time) -> Instant {
        self.start + Duration::from_nanos(time.as_nanos())
    }
}
