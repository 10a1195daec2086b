//! [`Failures`]: limits the failures of a source that are reported one by one, so that the log does not grow
//! with them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::sources::source;

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

/// Number of sources whose failures are counted on their own. Those of further sources share one count.
const SOURCES: usize = 1024;

/// The failures of all sources, also of those whose clients were never accepted.
#[derive(Default)]
pub(super) struct FailuresBySource(Mutex<BTreeMap<IpAddr, Second>>);

impl FailuresBySource {
    /// Counts a failure of a client's source; see [`Failures::count`].
    pub(super) fn count(&self, client: IpAddr) -> (bool, u64) {
        self.count_at(client, Instant::now())
    }

    fn count_at(&self, client: IpAddr, now: Instant) -> (bool, u64) {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut of = source(client);
        if sources.len() >= SOURCES && !sources.contains_key(&of) {
            sources.retain(|_, second| !second.has_ended(now));
            if sources.len() >= SOURCES {
                of = Ipv4Addr::UNSPECIFIED.into();
            }
        }
        sources.entry(of).or_insert(Second { begin: now, count: 0 }).count(now)
    }
}

/// When a second began, and the failures since.
struct Second {
    begin: Instant,
    count: u64,
}

impl Second {
    fn count(&mut self, now: Instant) -> (bool, u64) {
        let omitted = if self.has_ended(now) { self.end(now) } else { 0 };
        self.count += 1;
        (self.count <= REPORTED, omitted)
    }

    fn has_ended(&self, now: Instant) -> bool {
        now.duration_since(self.begin) >= Duration::from_secs(1)
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
    #[test]
    fn a_source_leaves_the_others_their_reports_and_the_sources_are_bounded() {
        let (failures, begin) = (FailuresBySource::default(), Instant::now());
        let count = |client: &str, after| {
            failures.count_at(client.parse().unwrap(), begin + Duration::from_millis(after))
        };
        let reported = (0..500).filter(|_| count("2001:db8::1", 0).0).count() as u64;
        assert_eq!(reported, REPORTED);
        assert_eq!(count("2001:db8::2", 10), (false, 0), "the same /64 prefix");
        assert_eq!(count("192.0.2.1", 10), (true, 0));
        assert_eq!(count("::ffff:192.0.2.1", 1010), (true, 0));
        assert_eq!(count("2001:db8::1", 1010), (true, 501 - REPORTED));
        // Beyond the limit of sources they share a count, until the second has ended.
        for n in 0..5000_u32 {
            failures.count_at(Ipv4Addr::from(n + (10 << 24)).into(), begin + Duration::from_millis(1500));
        }
        assert!(failures.0.lock().unwrap().len() <= SOURCES + 1);
        assert!(!count("203.0.113.1", 1600).0 && count("203.0.113.1", 2600).0);
        assert!(failures.0.lock().unwrap().len() <= 2);
    }
}
