//! Every delivery of a run, so that the bytes of any time are known exactly.

use msctp_units::{Span, Time};

/// The deliveries to the application at one end of an association or TCP connection.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    /// Association or connection.
    pub association: String,
    /// The receiving end: `client` or `server`.
    pub side: &'static str,
    /// Times of the deliveries, ascending.
    at: Vec<Time>,
    /// User bytes delivered up to and with each.
    total: Vec<u64>,
}

impl Deliveries {
    pub(crate) fn new(association: &str, side: &'static str) -> Self {
        Self { association: association.to_owned(), side, ..Self::default() }
    }

    /// Adds a delivery at `now`, which must not decrease.
    pub(crate) fn add(&mut self, now: Time, bytes: u64) {
        let total = self.total.last().copied().unwrap_or_default() + bytes;
        if self.at.last() == Some(&now) {
            self.total.pop();
        } else {
            self.at.push(now);
        }
        self.total.push(total);
    }

    /// Returns the user bytes delivered from `from` on and before `to`.
    #[must_use]
    pub fn between(&self, from: Time, to: Time) -> u64 {
        let until = |end: Time| match self.at.partition_point(|&at| at < end) {
            0 => 0,
            n => self.total[n - 1],
        };
        until(to).saturating_sub(until(from))
    }

    /// Returns the user bytes delivered in `window` from `from` on; `None` if the run, which ends at `end`,
    /// does not cover it. A delivery at the end of the run belongs to the window that ends there.
    #[must_use]
    pub fn within(&self, from: Time, window: Span, end: Time) -> Option<u64> {
        let to = from + window;
        let until = if to == end { to + Span::from_nanos(1) } else { to };
        (to <= end).then(|| self.between(from, until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_between_two_instants_are_exact() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut deliveries = Deliveries::new("a", "client");
        for (ms, bytes) in [(10, 100), (10, 20), (15, 3), (40, 1000)] {
            deliveries.add(at(ms), bytes);
        }
        let between = |from, to| deliveries.between(at(from), at(to));
        assert_eq!([between(0, 10), between(10, 15), between(10, 16), between(11, 100)], [0, 120, 123, 1003]);
        assert_eq!([between(40, 41), between(41, 90), between(30, 20)], [1000, 0, 0]);
        let window = Span::from_millis(8);
        assert_eq!(deliveries.within(at(8), window, at(16)), Some(123));
        assert_eq!(deliveries.within(at(8), window, at(15)), None, "the run ends before the window");
        assert_eq!(deliveries.within(at(32), window, at(41)), Some(0));
        assert_eq!(deliveries.within(at(32), window, at(40)), Some(1000), "a delivery at the end of the run");
    }
}
