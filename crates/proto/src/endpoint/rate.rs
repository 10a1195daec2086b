//! [`RateLimit`]: how many answers without an association leave in a second.

use msctp_units::{Span, Time};

/// A token bucket that holds one second's worth, kept as the time at which it is full again.
#[derive(Debug)]
pub(super) struct RateLimit {
    full_at: Time,
    each: Span,
}

impl RateLimit {
    /// So many in a second, at least 1.
    pub(super) fn new(per_second: u32) -> Self {
        Self { full_at: Time::ZERO, each: Span::from_nanos(1_000_000_000 / u64::from(per_second.max(1))) }
    }

    /// One more now; false when there were too many.
    pub(super) fn take(&mut self, now: Time) -> bool {
        let full_at = self.full_at.max(now) + self.each;
        let allowed = full_at <= now + Span::from_secs(1);
        if allowed {
            self.full_at = full_at;
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_so_many_and_no_more() {
        let mut limit = RateLimit::new(100);
        let count = |limit: &mut RateLimit, from: u64, to: u64| {
            (from..to).filter(|ms| limit.take(Time::ZERO + Span::from_millis(*ms))).count()
        };
        let start = Time::ZERO;
        assert_eq!((0..1000).filter(|_| limit.take(start)).count(), 100, "at once");
        assert_eq!(count(&mut limit, 0, 1000), 99);
        assert_eq!(count(&mut limit, 1000, 3000), 200);
        let mut one = RateLimit::new(0);
        assert!(one.take(start) && !one.take(start));
    }
}
