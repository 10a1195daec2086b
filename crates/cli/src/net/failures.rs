//! [`Failures`]: limits the failures of a source that are reported one by one, so that the log does not grow
//! with them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Number of failures of a source that are reported one by one in each second: one client may open 500
/// connections per second.
const REPORTED: u64 = 20;

/// The failures of one source.
pub(super) struct Failures(Mutex<Second>);

impl Default for Failures {
    fn default() -> Self {
        Self(Mutex::new(Second { begin: Instant::now(), count: 0 }))
    }
}

impl Failures {
    /// Counts a failure. Returns whether to report it, and the number of failures of an earlier second that
    /// were not reported.
    pub(super) fn count(&self) -> (bool, u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).count(Instant::now())
    }
}

/// When a second began, and the failures since.
struct Second {
    begin: Instant,
    count: u64,
}

impl Second {
    fn count(&mut self, now: Instant) -> (bool, u64) {
        let ended = now.duration_since(self.begin) >= Duration::from_secs(1);
        let omitted = if ended { self.end(now) } else { 0 };
        self.count += 1;
        (self.count <= REPORTED, omitted)
    }

    /// Begins another second. Returns the number of failures that were not reported.
    fn end(&mut self, now: Instant) -> u64 {
        self.begin = now;
        std::mem::take(&mut self.count).saturating_sub(REPORTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failures_of_a_second_are_counted_after_the_first() {
        let begin = Instant::now();
        let mut second = Second { begin, count: 0 };
        let reported = (0..500).filter(|_| second.count(begin).0).count() as u64;
        assert_eq!(reported, REPORTED);
        assert_eq!(second.count(begin + Duration::from_secs(1)), (true, 500 - REPORTED));
        assert_eq!(second.count(begin + Duration::from_secs(3)), (true, 0));
        assert_eq!(second.end(begin), 0);
    }
}
