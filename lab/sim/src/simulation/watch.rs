//! Samples levels of links, and triggers the actions that wait for one to cross a threshold.
//!
//! Sampling does not change the run: it uses no random numbers, and looks at links without polling them.

use msctp_units::{Rate, Time};

use crate::action::Trigger;
use crate::scenario::{Level, LinkDirection, SAMPLING};

use super::Simulation;

/// Number of intervals over which a rate is measured.
const INTERVALS: u64 = 10;

/// A level of a link and its threshold.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    link: usize,
    level: Level,
    below: bool,
    threshold: i64,
    /// True if the level was beyond the threshold at the last sample.
    held: bool,
    /// Bytes that the direction had delivered at the last samples, the oldest first.
    delivered: Vec<u64>,
}

impl Watch {
    pub(crate) fn new(link: usize, level: Level, below: bool, threshold: i64) -> Self {
        Self { link, level, below, threshold, held: false, delivered: Vec::new() }
    }

    /// Takes a sample. Returns true if the level crossed the threshold. `None` counts as below every
    /// threshold.
    fn crossed(&mut self, sample: Option<i64>) -> bool {
        let holds = match sample {
            None => self.below,
            Some(level) if self.below => level < self.threshold,
            Some(level) => level > self.threshold,
        };
        let crossed = holds && !self.held;
        self.held = holds;
        crossed
    }

    /// Returns the rate over the last intervals in bit/s; `None` before there are as many.
    fn rate(&mut self, delivered: u64) -> Option<i64> {
        self.delivered.push(delivered);
        if self.delivered.len() as u64 <= INTERVALS {
            return None;
        }
        let bytes = delivered - self.delivered.remove(0);
        let rate = Rate::of(bytes, SAMPLING * INTERVALS)?;
        i64::try_from(rate.as_bps()).ok()
    }
}

impl Simulation {
    /// Samples every level and triggers actions. Returns the time of the next sample; `None` if no action
    /// waits any more.
    pub(crate) fn on_watch(&mut self) -> Option<Time> {
        let now = self.now;
        let mut watches = std::mem::take(&mut self.watches);
        for (number, watch) in watches.iter_mut().enumerate() {
            let direction = |way: LinkDirection| match way {
                LinkDirection::Forward => 2 * watch.link,
                LinkDirection::Reverse => 2 * watch.link + 1,
            };
            let sample = match watch.level {
                Level::Signal => {
                    self.network.receive_power(now, direction(LinkDirection::Forward)).map(i64::from)
                }
                Level::Queue(way) => {
                    let hop = &self.network.hops[direction(way)];
                    i64::try_from(hop.queue(now, &self.network.air).0).ok()
                }
                Level::Rate(way) => {
                    let hop = &self.network.hops[direction(way)];
                    let delivered = hop.delivered_bytes(&self.network.air);
                    match watch.rate(delivered) {
                        Some(rate) => Some(rate),
                        // Too early to say.
                        None => continue,
                    }
                }
            };
            if watch.crossed(sample) {
                self.happened(Trigger::Level { watch: number });
            }
        }
        self.watches = watches;
        self.plan.is_waiting().then(|| now + SAMPLING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_crossed_once_until_the_level_returns() {
        let mut watch = Watch::new(0, Level::Signal, true, -80_000);
        let samples = [Some(-70_000), Some(-80_001), Some(-90_000), None, Some(-79_000), None];
        assert_eq!(samples.map(|sample| watch.crossed(sample)), [false, true, false, false, false, true]);
        let mut above = Watch::new(0, Level::Signal, false, -80_000);
        assert_eq!([None, Some(-70_000), Some(-60_000)].map(|s| above.crossed(s)), [false, true, false]);
    }

    #[test]
    fn a_rate_is_that_of_the_last_second() {
        let mut watch = Watch::new(0, Level::Rate(LinkDirection::Forward), true, 0);
        let rates: Vec<Option<i64>> = (0..12).map(|n| watch.rate(n * 12_500)).collect();
        assert_eq!(rates[..10], [None; 10]);
        assert_eq!(rates[10..], [Some(1_000_000); 2]);
    }
}
