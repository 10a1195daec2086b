//! Measurements of a run as plain numbers: the only input of the claims and figures.

use serde::{Deserialize, Serialize};

/// Messages of the first video with recorded transfer times, from the switch on: 10 s.
pub const CURVE: usize = 300;

/// Messages from the switch on that count as start-up: 5 s. By then every window has grown beyond the video's
/// need if the link has room.
pub const START_UP: usize = 150;

/// Length of a throughput sample in seconds (the paper, §IV).
pub const SAMPLE: f64 = 5.0;

/// The measurements of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Transfer times of the first video's messages generated from the switch on, in ms; NaN: not delivered.
    pub transfer: Vec<f32>,
    /// For each video the longest transfer time of the messages of the start-up, in ms.
    pub startup_max: Vec<f32>,
    /// For each video the longest transfer time of all messages from the switch on, in ms.
    pub whole_max: Vec<f32>,
    /// Messages not delivered by the end of the run, over all videos.
    pub undelivered: u32,
    /// For each video, user bytes delivered between the switch and the end of the videos.
    pub video_bytes: Vec<u64>,
    /// For each TCP flow, user bytes delivered between the switch and the end of the videos.
    pub tcp_bytes: Vec<u64>,
    /// User bytes that all TCP flows delivered in each [`SAMPLE`] of the run.
    pub tcp_samples: Vec<u64>,
    /// Fast retransmits and timeouts of all videos on the new path during the start-up.
    pub startup_losses: u32,
    /// Fast retransmits and timeouts from the switch to the end.
    pub losses: u32,
    /// The window the first video's new path started with, in bytes.
    pub start_cwnd: u64,
    /// Round trip of the new path before the switch, smoothed, in ms.
    pub start_rtt: f32,
}

impl Run {
    /// Computes the mean transfer time of the first video's messages `from..to` (numbers from the switch on),
    /// in ms; `None` if one of them was not delivered or measured.
    #[must_use]
    pub fn mean_transfer(&self, from: usize, to: usize) -> Option<f64> {
        let part = self.transfer.get(from..to).filter(|part| !part.is_empty())?;
        let sum: f64 = part.iter().copied().map(f64::from).sum();
        sum.is_finite().then(|| sum / part.len() as f64)
    }

    /// Returns the longest transfer time of the first video's messages `from..to`, in ms; `None` as in
    /// [`mean_transfer`](Self::mean_transfer).
    #[must_use]
    pub fn max_transfer(&self, from: usize, to: usize) -> Option<f64> {
        let part = self.transfer.get(from..to).filter(|part| !part.is_empty())?;
        part.iter().all(|time| time.is_finite()).then(|| f64::from(part.iter().copied().fold(0.0, f32::max)))
    }

    /// Computes the mean throughput of all TCP flows over the samples `from..to` seconds, in bit/s; `None`
    /// without samples.
    #[must_use]
    pub fn tcp_rate(&self, from: u32, to: u32) -> Option<f64> {
        let index = |second: u32| (f64::from(second) / SAMPLE).round() as usize;
        let part = self.tcp_samples.get(index(from)..index(to)).filter(|part| !part.is_empty())?;
        Some(part.iter().sum::<u64>() as f64 * 8.0 / (part.len() as f64 * SAMPLE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_select_by_message_number_and_by_time() {
        let run = Run {
            transfer: vec![10.0, 30.0, 20.0, f32::NAN],
            tcp_samples: vec![0, 625_000, 1_250_000],
            ..Run::default()
        };
        assert_eq!(run.mean_transfer(0, 3), Some(20.0));
        assert_eq!(run.max_transfer(0, 3), Some(30.0));
        assert_eq!(run.max_transfer(0, 4), None);
        assert_eq!(run.mean_transfer(2, 2), None);
        assert_eq!(run.mean_transfer(2, 9), None);
        assert_eq!(run.tcp_rate(5, 15), Some(1.5e6));
        assert_eq!(run.tcp_rate(5, 20), None);
    }
}
