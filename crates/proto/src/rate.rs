//! [`RateLimit`]: limits the replies without an association per second.

use core::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use msctp_units::{Span, Time};

use crate::addr::peer_of;

/// Groups of sources. An attacker can starve one group of them.
const GROUPS: usize = 64;

/// Limits replies by token buckets: one of one second's replies, and one of half of that for each group of
/// sources. An attacker with one address, or one IPv6 prefix of 64 bits, can use up only half. Clones share
/// the buckets.
#[derive(Clone, Debug)]
pub(super) struct RateLimit(Arc<Mutex<Buckets>>);

/// The buckets, each stored as the time at which it is full again.
#[derive(Debug)]
struct Buckets {
    full_at: Time,
    each: Span,
    groups: Box<[Time; GROUPS]>,
    each_of_group: Span,
    /// Secret key of the hash, so that an attacker cannot choose sources of one group or of all.
    key: (u64, u64),
}

impl RateLimit {
    /// Creates a limit of `per_second` replies, at least 1.
    pub(super) fn new(per_second: u32, hash_key: [u8; 32]) -> Self {
        let each = Span::from_nanos(1_000_000_000 / u64::from(per_second.max(1)));
        let word = |at: usize| hash_key[at..at + 8].iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Self(Arc::new(Mutex::new(Buckets {
            full_at: Time::ZERO,
            each,
            groups: Box::new([Time::ZERO; GROUPS]),
            each_of_group: (each * 2).min(Span::from_secs(1)),
            key: (word(0), word(8) | 1),
        })))
    }

    /// Counts one reply to this source. Returns false if that is too many.
    pub(super) fn take(&self, now: Time, source: IpAddr) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(now, source)
    }
}

impl Buckets {
    fn take(&mut self, now: Time, source: IpAddr) -> bool {
        let group = self.group(source);
        let full_at = self.full_at.max(now) + self.each;
        let group_full_at = self.groups[group].max(now) + self.each_of_group;
        let allowed = full_at.max(group_full_at) <= now + Span::from_secs(1);
        if allowed {
            (self.full_at, self.groups[group]) = (full_at, group_full_at);
        }
        allowed
    }

    fn group(&self, source: IpAddr) -> usize {
        let bits = match peer_of(source) {
            IpAddr::V4(v4) => u64::from(v4.to_bits()),
            IpAddr::V6(v6) => (v6.to_bits() >> 64) as u64,
        };
        // Multiplicative hashing mixes its upper bits best
        let hash = (bits ^ self.key.0).wrapping_mul(self.key.1);
        (hash >> (u64::BITS - GROUPS.ilog2())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(n: u32) -> IpAddr {
        IpAddr::from((0x0b00_0000 + n).to_be_bytes())
    }

    #[test]
    fn the_limit_holds_for_every_second() {
        let limit = RateLimit::new(100, [7; 32]);
        let count = |from: u64, to: u64| {
            let allowed = |ms: &u64| limit.take(Time::ZERO + Span::from_millis(*ms), source(*ms as u32));
            (from..to).filter(allowed).count()
        };
        let start = Time::ZERO;
        assert_eq!((0..1000).filter(|n| limit.take(start, source(*n))).count(), 100, "at once");
        assert_eq!(count(0, 1000), 99);
        assert_eq!(count(1000, 3000), 200);
        let one = RateLimit::new(0, [7; 32]);
        assert!(one.take(start, source(1)) && !one.take(start, source(1)));
    }

    #[test]
    fn one_source_gets_at_most_half_of_the_limit() {
        let limit = RateLimit::new(100, [7; 32]);
        let group = |source| limit.0.lock().unwrap().group(source);
        let taken = |source| (0..1000).filter(|_| limit.clone().take(Time::ZERO, source)).count();
        assert_eq!(taken(source(1)), 50);
        let prefix = |n: u16| IpAddr::from([0x2001, 0xdb8, 0, 7, 0, 0, 0, n]);
        let other = (2..).map(source).find(|other| group(*other) != group(source(1)));
        assert_eq!(taken(other.unwrap()), 50);
        assert_eq!(group(prefix(1)), group(prefix(2)), "of one host");
        let groups: std::collections::BTreeSet<usize> = (0..1000).map(|n| group(source(n))).collect();
        assert!(groups.len() > GROUPS / 2, "{} groups", groups.len());
    }
}
