//! Measurements of the runs as plain numbers: the only input of the claims and figures. Times are in seconds
//! since the start of the run, segments counted from 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::grid::{BlocksKey, GridKey, MicroscopeKey};

/// User bytes of a segment (the paper's Table IV).
pub const SEGMENT_BYTES: u32 = 948;

/// All measurements of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The grid.
    pub grid: BTreeMap<GridKey, GridRun>,
    /// The microscope.
    pub microscope: BTreeMap<MicroscopeKey, Microscope>,
    /// Numbers of segments delivered, by the number of blocks.
    pub blocks: BTreeMap<BlocksKey, u64>,
}

/// A run of the grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GridRun {
    /// Segments delivered to the correspondent's application.
    pub delivered: u64,
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// The mobile's handovers, two if it completes both.
    pub handovers: Vec<Handover>,
    /// Transmission times of segments that did not arrive.
    pub losses: Vec<f64>,
    /// The sender's segments and timers; only in plotted runs.
    pub plot: Option<Microscope>,
}

/// A handover of the mobile, as its sender experienced it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Handover {
    /// Time of the old agent's last advertisement.
    pub from: f64,
    /// Time of the first acknowledgment of new data after the registration with the new agent.
    pub to: f64,
    /// Duration of the handover from `from` to the registration, regardless of the sender.
    pub outage: f64,
    /// The sender's retransmission timeout at the start of the handover.
    pub rto: f64,
    /// Segments lost during the handover.
    pub lost: u64,
    /// Number of expirations of the retransmission timer until the end of the handover.
    pub timeouts: u64,
    /// Fast retransmits until the lost segments were acknowledged.
    pub fast_retransmits: u64,
    /// Window directly after the first timeout, in segments; `None` without a timeout.
    pub window_after_timeout: Option<f64>,
}

/// A run of the microscope: all actions of the sender of the six lost segments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Microscope {
    /// The segments whose first transmission was lost.
    pub lost: Vec<u64>,
    /// Segments sent, by time.
    pub sent: Vec<Sent>,
    /// Acknowledgments that reached the sender: time in s, and the first segment not yet acknowledged.
    pub acknowledged: Vec<(f64, u64)>,
    /// Times of retransmission timer expirations, in s.
    pub timeouts: Vec<f64>,
    /// Times at which fast retransmits began, in s.
    pub fast_retransmits: Vec<f64>,
    /// Largest number of blocks in an acknowledgment.
    pub most_blocks: u32,
}

/// A segment sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Time in s.
    pub at: f64,
    /// Number of the segment.
    pub segment: u64,
    /// True for a retransmission.
    pub retransmission: bool,
}

/// The repair of the six lost segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repair {
    /// Time of the first retransmission of one of the segments.
    pub first: f64,
    /// Time at which the last of the segments was first retransmitted.
    pub last: f64,
    /// Time at which all of the segments were acknowledged.
    pub done: f64,
    /// Expirations of the retransmission timer between the first loss and `done`.
    pub timeouts: usize,
}

impl Repair {
    /// Returns the paper's measure: the time from the first retransmission to the last.
    #[must_use]
    pub fn span(&self) -> f64 {
        self.last - self.first
    }
}

impl Microscope {
    /// Returns the time of each lost segment's first retransmission, in the order of the segments.
    #[must_use]
    pub fn retransmissions(&self) -> Vec<(u64, f64)> {
        let retransmitted =
            |segment| self.sent.iter().find(|sent| sent.segment == segment && sent.retransmission);
        self.lost.iter().filter_map(|&segment| Some((segment, retransmitted(segment)?.at))).collect()
    }

    /// Returns the time of the first transmission of the first lost segment.
    #[must_use]
    pub fn begins(&self) -> Option<f64> {
        let first = self.lost.first()?;
        self.sent.iter().find(|sent| sent.segment == *first).map(|sent| sent.at)
    }

    /// Returns the repair of the lost segments; `None` if some were not repaired.
    #[must_use]
    pub fn repair(&self) -> Option<Repair> {
        let times: Vec<f64> = self.retransmissions().iter().map(|&(_, at)| at).collect();
        let (begins, highest) = (self.begins()?, *self.lost.iter().max()?);
        let done = self.acknowledged.iter().find(|&&(_, next)| next > highest)?.0;
        if times.len() < self.lost.len() {
            return None;
        }
        let first = times.iter().copied().reduce(f64::min)?;
        let last = times.iter().copied().reduce(f64::max)?;
        let timeouts = self.timeouts.iter().filter(|&&at| at >= begins && at <= done).count();
        Some(Repair { first, last, done, timeouts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repair_spans_the_first_to_the_last_first_retransmission() {
        let sent = |at, segment, retransmission| Sent { at, segment, retransmission };
        let mut run = Microscope {
            lost: vec![3, 5],
            sent: vec![
                sent(1.0, 3, false),
                sent(1.1, 4, false),
                sent(1.2, 5, false),
                sent(2.0, 3, true),
                sent(2.5, 5, true),
                sent(9.0, 3, true),
            ],
            acknowledged: vec![(1.5, 3), (2.8, 5), (3.0, 6)],
            timeouts: vec![0.5, 2.4, 9.0],
            ..Microscope::default()
        };
        let repair = run.repair().unwrap();
        assert_eq!(repair, Repair { first: 2.0, last: 2.5, done: 3.0, timeouts: 1 });
        assert_eq!(repair.span(), 0.5);
        run.acknowledged.pop();
        assert_eq!(run.repair(), None, "not acknowledged");
        run.acknowledged.push((3.0, 6));
        run.sent.remove(4);
        assert_eq!(run.repair(), None, "never retransmitted");
    }
}
