//! [`UsedCookies`]: each cookie sets up at most one association (RFC 9260 §5.1.3 leaves replays within its
//! life open).

use std::collections::BTreeSet;

use msctp_units::{Span, Time};

use super::Cookie;

/// Maximum number of stored cookies: 1.5 MB.
const MOST: usize = 65_536;

/// Used cookies that have not expired, by creation time and tag, which is unique.
#[derive(Debug)]
pub(super) struct UsedCookies {
    used: BTreeSet<(Time, u32)>,
    /// Cookies created up to this time are presumed used, because some of them are no longer stored.
    all_until: Option<Time>,
    /// Longest lifetime of a cookie.
    longest_life: Span,
    most: usize,
}

impl UsedCookies {
    pub(super) fn new(longest_life: Span) -> Self {
        Self { used: BTreeSet::new(), all_until: None, longest_life, most: MOST }
    }

    /// Returns whether the cookie was used, or is presumed used.
    pub(super) fn has(&self, cookie: &Cookie) -> bool {
        self.presumes(cookie) || self.remembers(cookie)
    }

    /// Returns whether the cookie is presumed used but not stored.
    pub(super) fn presumes(&self, cookie: &Cookie) -> bool {
        self.all_until.is_some_and(|until| cookie.created <= until) && !self.remembers(cookie)
    }

    fn remembers(&self, cookie: &Cookie) -> bool {
        self.used.contains(&(cookie.created, cookie.tags.local_tag))
    }

    #[cfg(test)]
    pub(super) fn remember_at_most(&mut self, most: usize) {
        self.most = most;
    }

    pub(super) fn insert(&mut self, now: Time, cookie: &Cookie) {
        while let Some(&(created, _)) = self.used.first()
            && created + self.longest_life < now
        {
            self.used.pop_first();
        }
        self.used.insert((cookie.created, cookie.tags.local_tag));
        if self.used.len() > self.most {
            // RFC 9260 §5.2.6: an honest peer with such an old cookie gets Stale Cookie and sends an INIT.
            self.all_until = self.used.pop_first().map(|(created, _)| created).max(self.all_until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cookie::testing::cookie;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn tagged(created: Time, local_tag: u32) -> Cookie {
        let mut cookie = cookie(created);
        cookie.tags.local_tag = local_tag;
        cookie
    }

    #[test]
    fn a_used_cookie_is_remembered_until_it_expires() {
        let mut used = UsedCookies::new(Span::from_secs(70));
        used.insert(at(5), &tagged(at(5), 1));
        assert!(used.has(&tagged(at(5), 1)));
        assert!(!used.has(&tagged(at(5), 2)) && !used.has(&tagged(at(6), 1)));
        used.insert(at(70_005), &tagged(at(70_005), 2));
        assert_eq!(used.used.len(), 2);
        used.insert(at(70_006), &tagged(at(70_006), 3));
        assert_eq!(used.used.len(), 2, "the first has expired");
    }

    #[test]
    fn forgotten_cookies_count_as_used() {
        let mut used = UsedCookies { most: 3, ..UsedCookies::new(Span::from_secs(70)) };
        for tag in 1..=5 {
            used.insert(at(10), &tagged(at(u64::from(tag)), tag));
        }
        assert_eq!(used.used.len(), 3);
        assert!((1..=5).all(|tag| used.has(&tagged(at(u64::from(tag)), tag))));
        assert!(used.has(&tagged(at(2), 77)), "as old as one that was forgotten");
        assert!(used.presumes(&tagged(at(2), 77)) && !used.presumes(&tagged(at(4), 4)));
        assert!(!used.has(&tagged(at(4), 77)) && !used.has(&tagged(at(6), 6)));
    }
}
