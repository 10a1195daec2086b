//! Time series as plain columns: one `Vec` per quantity, all of equal length.
//!
//! The simulation fills them if the scenario requests it, and never reads them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use msctp_proto::{PathAddr, PathId, TraceEvent, TraceKind};
use msctp_units::{Rate, Span, Time};

mod deliveries;
mod tcp;

pub use deliveries::Deliveries;
pub use tcp::TcpTraceSeries;

/// Sums per interval, from the start of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    /// Length of an interval.
    pub interval: Span,
    /// One sum per interval. The last may be incomplete.
    pub sums: Vec<u64>,
    /// End of the last interval in `sums`.
    end: Time,
}

impl Bins {
    /// Creates a series without intervals.
    #[must_use]
    pub fn new(interval: Span) -> Self {
        Self { interval, sums: Vec::new(), end: Time::ZERO }
    }

    /// Adds `amount` at `now`, which must not decrease.
    pub fn add(&mut self, now: Time, amount: u64) {
        self.extend_to(now);
        if let Some(last) = self.sums.last_mut() {
            *last += amount;
        }
    }

    /// Adds intervals up to that of `now`.
    pub fn extend_to(&mut self, now: Time) {
        while now >= self.end {
            self.sums.push(0);
            self.end += self.interval;
        }
    }

    /// Ends the recording at `end`, an instant that belongs to the last interval and not to a new one.
    fn finish(&mut self, end: Time) {
        self.extend_to(end - Span::from_nanos(1));
        if self.sums.len() > 1 && self.end - self.interval >= end {
            let at_the_end = self.sums.pop().unwrap_or_default();
            self.end = self.end - self.interval;
            if let Some(last) = self.sums.last_mut() {
                *last += at_the_end;
            }
        }
    }

    /// Returns the rates in bit/s, one per interval, for sums of bytes.
    pub fn rates(&self) -> impl Iterator<Item = Rate> + '_ {
        self.sums.iter().map(|&bytes| Rate::of(bytes, self.interval).unwrap_or_default())
    }
}

/// Bytes delivered to the application at one end of an association or TCP connection.
#[derive(Clone, Debug)]
pub struct DeliverySeries {
    /// Association.
    pub association: String,
    /// The receiving end: `client` or `server`.
    pub side: &'static str,
    /// User bytes delivered per interval.
    pub total: Bins,
    /// Bytes by the path of the packet that completed the delivery, in the order of appearance. Addresses are
    /// as the receiver sees them.
    pub per_path: Vec<(PathAddr, Bins)>,
}

impl DeliverySeries {
    pub(crate) fn add(&mut self, now: Time, bytes: u64, path: Option<PathAddr>) {
        self.total.add(now, bytes);
        let Some(path) = path else { return };
        let at = self.per_path.iter().position(|(known, _)| *known == path).unwrap_or_else(|| {
            self.per_path.push((path, Bins::new(self.total.interval)));
            self.per_path.len() - 1
        });
        self.per_path[at].1.add(now, bytes);
    }

    pub(crate) fn finish(&mut self, end: Time) {
        self.total.finish(end);
        for (_, bins) in &mut self.per_path {
            bins.finish(end);
        }
    }
}

/// Windows over time.
#[derive(Clone, Debug, Default)]
pub struct WindowColumns {
    /// Times.
    pub at: Vec<Time>,
    /// Path of each sample.
    pub path: Vec<PathId>,
    /// Congestion window in bytes.
    pub cwnd: Vec<u64>,
    /// Slow-start threshold in bytes.
    pub ssthresh: Vec<u64>,
    /// Bytes outstanding.
    pub flight_size: Vec<u64>,
}

/// Round-trip times over time.
#[derive(Clone, Debug, Default)]
pub struct RttColumns {
    /// Times.
    pub at: Vec<Time>,
    /// Path of each sample.
    pub path: Vec<PathId>,
    /// Measured round-trip time.
    pub sample: Vec<Span>,
    /// Smoothed round-trip time.
    pub srtt: Vec<Span>,
    /// Retransmission timeout.
    pub rto: Vec<Span>,
}

/// Bandwidth estimates over time.
#[derive(Clone, Debug, Default)]
pub struct EstimateColumns {
    /// Times.
    pub at: Vec<Time>,
    /// Path of each sample.
    pub path: Vec<PathId>,
    /// Capacity.
    pub capacity: Vec<Rate>,
    /// Available bandwidth.
    pub available: Vec<Rate>,
    /// Minimum round-trip time.
    pub min_rtt: Vec<Span>,
    /// Share of probes lost in the round, in parts per million.
    pub loss_ppm: Vec<u32>,
}

/// The names of an end's paths, such as `10.0.0.1→10.0.2.2`: local and remote address as the end sees them.
#[derive(Clone, Debug, Default)]
pub struct PathNames(BTreeMap<PathId, String>);

impl PathNames {
    /// Returns the name of a path; empty if the trace does not have it.
    #[must_use]
    pub fn of(&self, path: PathId) -> &str {
        self.0.get(&path).map_or("", String::as_str)
    }
}

/// The trace of one end of an association.
#[derive(Clone, Debug)]
pub struct TraceSeries {
    /// Association.
    pub association: String,
    /// `client` or `server`.
    pub side: &'static str,
    /// Windows.
    pub window: WindowColumns,
    /// Round-trip times.
    pub rtt: RttColumns,
    /// Bandwidth estimates.
    pub estimate: EstimateColumns,
    /// Rare events: states, paths, primaries, timeouts, fast retransmits, decisions of the policy.
    pub marks: Vec<TraceEvent>,
    /// Every chunk, if requested.
    pub chunks: Vec<TraceEvent>,
}

impl TraceSeries {
    pub(crate) fn new(association: &str, side: &'static str) -> Self {
        Self {
            association: association.to_owned(),
            side,
            window: WindowColumns::default(),
            rtt: RttColumns::default(),
            estimate: EstimateColumns::default(),
            marks: Vec::new(),
            chunks: Vec::new(),
        }
    }

    /// Returns the names of the paths: local and remote address as this end sees them.
    #[must_use]
    pub fn paths(&self) -> PathNames {
        let added = |event: &TraceEvent| match event.kind {
            TraceKind::PathAdded { path, at } => Some((path, at.to_string())),
            _ => None,
        };
        PathNames(self.marks.iter().filter_map(added).collect())
    }

    pub(crate) fn add(&mut self, event: TraceEvent, chunks: bool) {
        match event.kind {
            TraceKind::Window { path, cwnd, ssthresh, flight_size, .. } => {
                self.window.at.push(event.at);
                self.window.path.push(path);
                self.window.cwnd.push(cwnd);
                self.window.ssthresh.push(ssthresh);
                self.window.flight_size.push(flight_size);
            }
            TraceKind::Rtt { path, sample, srtt, rto } => {
                self.rtt.at.push(event.at);
                self.rtt.path.push(path);
                self.rtt.sample.push(sample);
                self.rtt.srtt.push(srtt);
                self.rtt.rto.push(rto);
            }
            TraceKind::Estimate { path, capacity, available, min_rtt, loss_ppm } => {
                self.estimate.at.push(event.at);
                self.estimate.path.push(path);
                self.estimate.capacity.push(capacity);
                self.estimate.available.push(available);
                self.estimate.min_rtt.push(min_rtt);
                self.estimate.loss_ppm.push(loss_ppm);
            }
            TraceKind::Data { .. } | TraceKind::Sack { .. } | TraceKind::Control { .. } => {
                if chunks {
                    self.chunks.push(event);
                }
            }
            _ => self.marks.push(event),
        }
    }
}

/// Queue lengths of one link direction, sampled.
#[derive(Clone, Debug, Default)]
pub struct QueueSeries {
    /// Name of the direction, such as `wlan/forward`.
    pub direction: String,
    /// Times.
    pub at: Vec<Time>,
    /// Numbers of queued packets, without the one in transmission.
    pub packets: Vec<u64>,
    /// Bytes of the queued packets.
    pub bytes: Vec<u64>,
    /// Numbers of radio data blocks sent for the first time; empty for links without blocks.
    pub blocks: Vec<u64>,
    /// Bytes delivered since the start.
    pub delivered_bytes: Vec<u64>,
    /// Numbers of packets dropped or lost since the start, for any reason.
    pub dropped: Vec<u64>,
}

/// Times of a video application's messages, by message number from 0.
#[derive(Clone, Debug, Default)]
pub struct MessageSeries {
    /// Application.
    pub app: String,
    /// Times of generation.
    pub generated: Vec<Time>,
    /// Times of delivery; `None` if not delivered by the end of the run.
    pub delivered: Vec<Option<Time>>,
}

/// Everything recorded in a run.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Delivered bytes, for each end of each association.
    pub delivery: Vec<DeliverySeries>,
    /// Every delivery, for each end of each association and TCP connection.
    pub deliveries: Vec<Deliveries>,
    /// Traces, for each end of each association.
    pub traces: Vec<TraceSeries>,
    /// Traces, for each end of each TCP connection.
    pub tcp: Vec<TcpTraceSeries>,
    /// Queue lengths, for each link direction.
    pub queues: Vec<QueueSeries>,
    /// Messages, for each video application.
    pub messages: Vec<MessageSeries>,
}

impl Series {
    /// Writes the delivered bytes as CSV: interval start in s, association, end, path, bit/s. The path has
    /// the receiving end's local and remote address; `all` is the sum.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write_throughput_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "time_s,association,side,path,bit_per_s")?;
        for series in &self.delivery {
            let all = [("all".to_owned(), &series.total)];
            let paths = series.per_path.iter().map(|(path, bins)| (path.to_string(), bins));
            for (path, bins) in all.into_iter().chain(paths) {
                for (number, rate) in bins.rates().enumerate() {
                    let at = Time::ZERO + bins.interval * number as u64;
                    let (association, side) = (&series.association, series.side);
                    writeln!(out, "{at},{association},{side},{path},{}", rate.as_bps())?;
                }
            }
        }
        Ok(())
    }

    /// Writes the windows as CSV: time in s, association, end, path, cwnd, ssthresh, flight size in bytes. An
    /// unlimited ssthresh is left empty.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write_window_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "time_s,association,side,path,cwnd,ssthresh,flight_size")?;
        for series in &self.traces {
            let (w, paths) = (&series.window, series.paths());
            for i in 0..w.at.len() {
                let ssthresh =
                    if w.ssthresh[i] == u64::MAX { String::new() } else { w.ssthresh[i].to_string() };
                writeln!(
                    out,
                    "{},{},{},{},{},{ssthresh},{}",
                    w.at[i],
                    series.association,
                    series.side,
                    paths.of(w.path[i]),
                    w.cwnd[i],
                    w.flight_size[i]
                )?;
            }
        }
        self.tcp.iter().try_for_each(|series| series.write_window(out))
    }

    /// Writes the round-trip times as CSV, times in s.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write_rtt_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "time_s,association,side,path,sample_s,srtt_s,rto_s")?;
        for series in &self.traces {
            let (r, paths) = (&series.rtt, series.paths());
            for i in 0..r.at.len() {
                writeln!(
                    out,
                    "{},{},{},{},{},{},{}",
                    r.at[i],
                    series.association,
                    series.side,
                    paths.of(r.path[i]),
                    Time::ZERO + r.sample[i],
                    Time::ZERO + r.srtt[i],
                    Time::ZERO + r.rto[i]
                )?;
            }
        }
        self.tcp.iter().try_for_each(|series| series.write_rtt(out))
    }

    /// Writes the bandwidth estimates as CSV.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write_estimate_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "time_s,association,side,path,capacity_bit_per_s,available_bit_per_s,min_rtt_s,loss_ppm"
        )?;
        for series in &self.traces {
            let (e, paths) = (&series.estimate, series.paths());
            for i in 0..e.at.len() {
                writeln!(
                    out,
                    "{},{},{},{},{},{},{},{}",
                    e.at[i],
                    series.association,
                    series.side,
                    paths.of(e.path[i]),
                    e.capacity[i].as_bps(),
                    e.available[i].as_bps(),
                    Time::ZERO + e.min_rtt[i],
                    e.loss_ppm[i]
                )?;
            }
        }
        Ok(())
    }

    /// Writes the messages of video applications as CSV. The delivery time of an undelivered one is empty.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write_message_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "app,number,generated_s,delivered_s")?;
        for series in &self.messages {
            for (number, (generated, delivered)) in series.generated.iter().zip(&series.delivered).enumerate()
            {
                let delivered = delivered.map(|at| at.to_string()).unwrap_or_default();
                writeln!(out, "{},{number},{generated},{delivered}", series.app)?;
            }
        }
        Ok(())
    }

    /// Writes the queue lengths as CSV.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write_queue_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "time_s,direction,packets,bytes")?;
        for series in &self.queues {
            for i in 0..series.at.len() {
                writeln!(
                    out,
                    "{},{},{},{}",
                    series.at[i], series.direction, series.packets[i], series.bytes[i]
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_sum_by_interval_and_show_silence_as_zero() {
        let mut bins = Bins::new(Span::from_millis(100));
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        bins.add(at(0), 100);
        bins.add(at(99), 25);
        bins.add(at(100), 7);
        bins.add(at(350), 1);
        assert_eq!(bins.sums, [125, 7, 0, 1]);
        assert_eq!(bins.rates().next(), Some(Rate::from_bps(10_000)));
    }

    #[test]
    fn the_end_of_the_run_starts_no_empty_interval() {
        let mut series = DeliverySeries {
            association: "a".into(),
            side: "client",
            total: Bins::new(Span::from_millis(100)),
            per_path: Vec::new(),
        };
        series.finish(Time::ZERO + Span::from_millis(300));
        assert_eq!(series.total.sums, [0, 0, 0]);
    }

    #[test]
    fn a_delivery_at_the_end_counts_in_the_last_interval() {
        let mut bins = Bins::new(Span::from_millis(100));
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        bins.add(at(250), 1);
        bins.add(at(300), 7);
        bins.finish(at(300));
        assert_eq!(bins.sums, [0, 0, 8]);
        let mut cut_off = Bins::new(Span::from_millis(100));
        cut_off.add(at(250), 5);
        cut_off.finish(at(250));
        assert_eq!(cut_off.sums, [0, 0, 5], "the last interval is not over");
    }
}
