//! Arrivals at hosts around changes of links and addresses: the longest gap, the rates before and after.
//! Sees lengths and times only.

use msctp_sim::series::Bins;
use msctp_units::{Span, Time};

use crate::summary::{AroundSummary, HostSummary};

/// The time before and after a change over which rates are computed, and in which gaps count.
pub(crate) const WATCH: Span = Span::from_secs(5);

/// Rates are summed over intervals of this length.
const INTERVAL: Span = Span::from_millis(100);

/// A change of links or addresses that is watched.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) at: Time,
    pub(crate) what: String,
}

#[derive(Clone, Debug)]
struct Around {
    change: Change,
    gap: Span,
    gap_from: Time,
}

/// The arrivals at one host.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    name: String,
    bins: Bins,
    packets: u64,
    bytes: u64,
    first: Option<Time>,
    last: Option<Time>,
    around: Vec<Around>,
}

impl Arrivals {
    pub(crate) fn new(name: &str, changes: &[Change]) -> Self {
        let around =
            |change: &Change| Around { change: change.clone(), gap: Span::ZERO, gap_from: change.at };
        Self {
            name: name.to_owned(),
            bins: Bins::new(INTERVAL),
            packets: 0,
            bytes: 0,
            first: None,
            last: None,
            around: changes.iter().map(around).collect(),
        }
    }

    /// Counts user data that arrived now.
    pub(crate) fn add(&mut self, now: Time, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.packets += 1;
        self.bytes += bytes as u64;
        self.bins.add(now, bytes as u64);
        if let Some(last) = self.last {
            self.watch(last, now);
        }
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// Records a gap without arrivals between `from` and `to`.
    fn watch(&mut self, from: Time, to: Time) {
        for around in &mut self.around {
            let touches = from <= around.change.at + WATCH && to >= around.change.at;
            if touches && to.since(from) > around.gap {
                (around.gap, around.gap_from) = (to.since(from), from);
            }
        }
    }

    /// Returns the mean rate over the whole intervals between `from` and `to`.
    fn rate(&self, from: Time, to: Time) -> f64 {
        let number = |at: Time| (at.as_nanos() / INTERVAL.as_nanos()) as usize;
        let (first, end) = (number(from), number(to).min(self.bins.sums.len()));
        let bytes: u64 = self.bins.sums.get(first..end).unwrap_or_default().iter().sum();
        let seconds = to.since(from).as_secs_f64();
        if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
    }

    /// Returns the summary up to `end`. Leaves out changes that came after it.
    pub(crate) fn summary(mut self, end: Time) -> HostSummary {
        self.bins.extend_to(end);
        let silent_from = self.last;
        if let Some(last) = silent_from {
            self.watch(last, end);
        }
        let made = self.around.iter().filter(|around| around.change.at <= end);
        let around = made.map(|around| {
            let at = around.change.at;
            let before = Time::from_nanos(at.as_nanos().saturating_sub(WATCH.as_nanos()));
            AroundSummary {
                at: at.as_secs_f64(),
                what: around.change.what.clone(),
                before: self.rate(before, at),
                after: self.rate(at, (at + WATCH).min(end)),
                gap: around.gap.as_secs_f64(),
                gap_from: around.gap_from.as_secs_f64(),
                silent: around.gap > Span::ZERO && silent_from == Some(around.gap_from),
            }
        });
        HostSummary {
            around: around.collect(),
            name: self.name,
            packets: self.packets,
            bytes: self.bytes,
            first: self.first.map(Time::as_secs_f64),
            last: self.last.map(Time::as_secs_f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn arrivals() -> Arrivals {
        Arrivals::new("mn", &[Change { at: at(10_000), what: "link-down wlan".into() }])
    }

    #[test]
    fn the_gap_of_a_change_is_the_longest_that_touches_the_time_after_it() {
        let mut host = arrivals();
        let mut feed = |from: u64, to: u64| (from..to).step_by(10).for_each(|ms| host.add(at(ms), 1250));
        // A longer gap long before does not count.
        feed(0, 1000);
        feed(4000, 10_000);
        feed(11_500, 20_000);
        let around = &host.summary(at(20_000)).around[0];
        assert_eq!((around.gap_from, around.gap), (9.99, 1.51));
        assert!(!around.silent);
        assert_eq!(around.before, 1e6);
        assert_eq!(around.after, 0.7e6);
    }

    #[test]
    fn silence_until_the_end_counts_to_the_end() {
        let mut host = arrivals();
        (0..1000).for_each(|n| host.add(at(10 * n), 1250));
        let around = &host.summary(at(30_000)).around[0];
        assert_eq!((around.gap_from, around.gap, around.silent), (9.99, 20.01, true));
        assert_eq!(around.after, 0.0);
    }

    #[test]
    fn packets_without_data_are_no_arrivals() {
        let mut host = arrivals();
        host.add(at(1), 0);
        let summary = host.summary(at(9_000));
        assert_eq!((summary.packets, summary.first, summary.around.len()), (0, None, 0));
    }
}
