//! The results of a measurement: intervals with their paths, totals, CPU time.

use std::io;
use std::time::Duration;

use msctp::{Association, PathStats};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::net::security::Secured;

/// One end's totals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Side {
    /// User bytes acknowledged (sender) or received (receiver) in `seconds`.
    pub(super) bytes: u64,
    /// Seconds of the measurement since the first byte.
    pub(super) seconds: f64,
    /// CPU seconds of this end's process in that time, user and system.
    pub(super) cpu_seconds: f64,
    /// The longest delivery gap in seconds, at the receiver.
    pub(super) longest_gap: Option<f64>,
}

impl Side {
    fn goodput(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 * 8.0 / self.seconds } else { 0.0 }
    }

    fn cpu_per_gb(&self) -> f64 {
        if self.bytes > 0 { self.cpu_seconds / (self.bytes as f64 / 1e9) } else { 0.0 }
    }
}

/// A path at the end of an interval.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PathRow {
    local: String,
    remote: String,
    state: String,
    /// True for the primary path.
    primary: bool,
    cwnd: u64,
    flight: u64,
    srtt_ms: Option<f64>,
}

/// The results of one interval.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Interval {
    /// End of the interval, in seconds since the start.
    pub(super) at: f64,
    /// User bytes acknowledged (sender) or received (receiver) in the interval.
    bytes: u64,
    goodput_bps: f64,
    paths: Vec<PathRow>,
}

/// The result of a measurement.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) len: usize,
    pub(super) reverse: bool,
    #[serde(flatten)]
    pub(super) secured: Secured,
    #[serde(serialize_with = "with_rates")]
    pub(super) sender: Side,
    #[serde(serialize_with = "with_rates")]
    pub(super) receiver: Side,
    pub(super) intervals: Vec<Interval>,
}

fn with_rates<S: serde::Serializer>(side: &Side, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct WithRates<'a> {
        #[serde(flatten)]
        side: &'a Side,
        goodput_bps: f64,
        cpu_seconds_per_gb: f64,
    }
    WithRates { side, goodput_bps: side.goodput(), cpu_seconds_per_gb: side.cpu_per_gb() }
        .serialize(serializer)
}

impl Report {
    pub(super) fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        for (name, side) in [("sender", &self.sender), ("receiver", &self.receiver)] {
            write!(
                out,
                "{name}: {} bytes in {:.2} s, {}, {:.2} CPU s/GB",
                side.bytes,
                side.seconds,
                rate(side.goodput()),
                side.cpu_per_gb()
            )?;
            match side.longest_gap {
                Some(gap) => writeln!(out, ", longest gap {:.1} ms", gap * 1e3)?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }
}

/// Divides the measurement into intervals.
pub(super) struct Meter {
    begin: Instant,
    interval: Duration,
    next: Option<Instant>,
    last: (Instant, u64),
}

impl Meter {
    /// Starts the first interval of this length. `Duration::MAX` measures a single one.
    pub(super) fn new(interval: Duration) -> Self {
        let begin = Instant::now();
        Self { begin, interval, next: begin.checked_add(interval), last: (begin, 0) }
    }

    /// Returns the time left of the interval.
    pub(super) fn left(&self) -> Duration {
        self.next.map_or(Duration::from_secs(3600), |next| next.saturating_duration_since(Instant::now()))
    }

    /// Returns the interval if it is over. `bytes` counts from the start of the measurement.
    pub(super) fn tick(&mut self, association: &Association, bytes: u64) -> Option<Interval> {
        let (next, now) = (self.next?, Instant::now());
        if now < next {
            return None;
        }
        let (since, before) = std::mem::replace(&mut self.last, (now, bytes));
        self.next = next.checked_add(self.interval);
        let (bytes, seconds) = (bytes.saturating_sub(before), (now - since).as_secs_f64());
        Some(Interval {
            at: (now - self.begin).as_secs_f64(),
            bytes,
            goodput_bps: bytes as f64 * 8.0 / seconds.max(1e-9),
            paths: association.paths().iter().map(path_row).collect(),
        })
    }
}

fn path_row(path: &PathStats) -> PathRow {
    PathRow {
        local: path.at.local.to_string(),
        remote: path.at.remote.to_string(),
        state: path.state.to_string(),
        primary: path.primary,
        cwnd: path.cwnd,
        flight: path.flight_size,
        srtt_ms: path.srtt.map(|srtt| srtt.as_secs_f64() * 1e3),
    }
}

/// Returns the head of the table.
pub(super) fn head() -> String {
    format!(
        "{:>7}  {:>12}  paths (* carries this end's data): local address, window, in flight, round trip",
        "s", "goodput"
    )
}

/// Formats an interval as a line of the table.
pub(super) fn row(interval: &Interval) -> String {
    let paths = interval.paths.iter().map(|path| {
        let mark = if path.primary { "*" } else { "" };
        let rtt = path.srtt_ms.map_or("–".to_owned(), |ms| format!("{ms:.1} ms"));
        let state = if path.state == "active" { String::new() } else { format!(" {}", path.state) };
        format!("{mark}{}{state} {} KiB, {} KiB, {rtt}", path.local, path.cwnd >> 10, path.flight >> 10)
    });
    let paths: Vec<String> = paths.collect();
    format!("{:>7.2}  {:>12}  {}", interval.at, rate(interval.goodput_bps), paths.join("; "))
}

fn rate(bps: f64) -> String {
    match bps {
        bps if bps >= 1e9 => format!("{:.3} Gbps", bps / 1e9),
        bps if bps >= 1e6 => format!("{:.2} Mbps", bps / 1e6),
        bps => format!("{:.1} kbps", bps / 1e3),
    }
}

/// Returns the CPU time of this process in seconds, user and system; 0 if unknown.
pub(super) fn cpu_seconds() -> f64 {
    let Ok(usage) = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF) else {
        return 0.0;
    };
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}
