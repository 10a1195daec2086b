//! Arrivals of application bytes: their log in a file, and the metrics computed from it.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::case::{AFTER, BEFORE, Case};

/// Width of the intervals that pictures are drawn from, in seconds.
pub const INTERVAL: f64 = 0.02;

/// Returns `CLOCK_MONOTONIC` in nanoseconds: the same for all processes of a machine.
pub fn monotonic() -> io::Result<u64> {
    Ok(Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC)?).as_nanos() as u64)
}

/// Times and sizes of the deliveries to the application.
#[derive(Debug, Default)]
pub struct Log {
    records: Vec<(u64, u32)>,
}

impl Log {
    /// Records a delivery of `bytes` now.
    pub fn add(&mut self, bytes: usize) -> io::Result<()> {
        self.records.push((monotonic()?, bytes as u32));
        Ok(())
    }

    /// Writes the log to a file.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let record = |&(at, bytes): &(u64, u32)| {
            let mut record = [0; 12];
            record[..8].copy_from_slice(&at.to_le_bytes());
            record[8..].copy_from_slice(&bytes.to_le_bytes());
            record
        };
        fs::write(path, self.records.iter().flat_map(record).collect::<Vec<u8>>())
    }

    /// Reads a log from a file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let bytes = fs::read(path)?;
        let (records, _) = bytes.as_chunks::<12>();
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let record = |record: &[u8; 12]| (number(&record[..8]), number(&record[8..]) as u32);
        Ok(Self { records: records.iter().map(record).collect() })
    }

    /// Returns the deliveries with times in seconds from the switch, which was at `switch` on the monotonic
    /// clock.
    fn from_switch(&self, switch: u64) -> impl Iterator<Item = (f64, u32)> {
        self.records.iter().map(move |&(at, bytes)| ((at as f64 - switch as f64) / 1e9, bytes))
    }
}

/// Metrics of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The longest delivery gap overlapping [switch − 0.5 s, switch + 5 s], in ms.
    pub gap_ms: f64,
    /// Its start, in seconds from the switch.
    pub gap_from: f64,
    /// Data delivered in the 5 s after the switch, as a share of the new link's capacity.
    pub share: f64,
    /// The same in the 2 s before the switch, as a share of the old link's capacity.
    pub share_before: f64,
    /// Bytes in intervals of 20 ms, from 1 s before the switch to 5 s after it.
    pub bins: Vec<u32>,
}

/// Start of the first bin, in seconds from the switch.
pub const BINS_FROM: f64 = -1.0;

impl Measured {
    /// Computes the metrics from a log; `switch`: its time on the monotonic clock.
    #[must_use]
    pub fn of(log: &Log, switch: u64, case: Case) -> Self {
        let (mut gap, mut gap_from) = (0.0, 0.0);
        let mut last = -BEFORE;
        let (mut after, mut before) = (0.0, 0.0);
        let mut bins = vec![0; ((AFTER - BINS_FROM) / INTERVAL).round() as usize];
        for (at, bytes) in log.from_switch(switch) {
            if let Some(bin) = bins.get_mut(((at - BINS_FROM) / INTERVAL).floor() as usize)
                && at >= BINS_FROM
            {
                *bin += bytes;
            }
            if (0.0..AFTER).contains(&at) {
                after += f64::from(bytes);
            }
            if (-2.0..0.0).contains(&at) {
                before += f64::from(bytes);
            }
            if at < -BEFORE {
                continue;
            }
            let end = at.min(AFTER);
            if end - last > gap {
                (gap, gap_from) = (end - last, last);
            }
            last = at;
        }
        if AFTER - last > gap {
            (gap, gap_from) = (AFTER - last, last);
        }
        let (old, new) = case.route.radios();
        Self {
            gap_ms: gap * 1e3,
            gap_from,
            share: after * 8.0 / (new.rate * AFTER),
            share_before: before * 8.0 / (old.rate * 2.0),
            bins,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Kind, Move};

    const CASE: Case = Case { route: Move::SlowUp, kind: Kind::Silent };
    const SWITCH: u64 = 10_000_000_000;

    #[test]
    fn the_gap_is_the_longest_around_the_switch_and_the_share_that_of_the_new_rate() {
        let at = |ms: i64| (SWITCH.checked_add_signed(ms * 1_000_000).unwrap(), 1000);
        let times = [-3000, -1000, -10, 300, 900, 4000, 4990, 7000];
        let log = Log { records: times.map(at).to_vec() };
        let measured = Measured::of(&log, SWITCH, CASE);
        assert!((measured.gap_ms - 3100.0).abs() < 1e-6 && (measured.gap_from - 0.9).abs() < 1e-9);
        assert!((measured.share - 4.0 * 8000.0 / 55e6).abs() < 1e-12);
        assert!((measured.share_before - 2.0 * 8000.0 / 768e3).abs() < 1e-12);
        assert_eq!(measured.bins.iter().sum::<u32>(), 6000);
    }

    #[test]
    fn silence_counts_to_the_end_of_the_watch() {
        let log = Log { records: vec![(SWITCH, 1)] };
        assert!((Measured::of(&log, SWITCH, CASE).gap_ms - 5000.0).abs() < 1e-6);
        assert!((Measured::of(&Log::default(), SWITCH, CASE).gap_ms - 5500.0).abs() < 1e-6);
    }

    #[test]
    fn a_log_is_read_as_it_was_written() {
        let log = Log { records: vec![(SWITCH, 1400), (u64::MAX, u32::MAX)] };
        let path = std::env::temp_dir().join(format!("arrivals-{}", std::process::id()));
        log.write(&path).unwrap();
        assert_eq!(Log::read(&path).unwrap().records, log.records);
        fs::remove_file(path).unwrap();
    }
}
