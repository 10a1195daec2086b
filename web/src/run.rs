//! Runs a scenario and samples its series at one interval for the page's charts.

use std::collections::BTreeMap;

use msctp_proto::{PathAddr, PathId, TraceKind};
use msctp_sim::scenario::Scenario;
use msctp_sim::series::{DeliverySeries, QueueSeries, TraceSeries};
use msctp_sim::{Simulation, Summary};
use msctp_units::{Span, Time};
use serde::Serialize;

use crate::journeys::{Journeys, journeys};

/// The series' interval: fine enough for a delivery gap of a fast network.
const INTERVAL: Span = Span::from_millis(20);
/// Runs of more than a minute have longer intervals, so that no series has more samples.
const SAMPLES: u64 = 3000;

/// A run's result.
#[derive(Serialize)]
pub(crate) struct Outcome {
    /// Length of the series' intervals in seconds.
    interval: f64,
    /// The summary of `msctp sim --json`, with the hash of `--hash`.
    summary: Summary,
    delivery: Vec<Delivery>,
    traces: Vec<Trace>,
    queues: Vec<Queue>,
    journeys: Vec<Journeys>,
}

/// User bytes that an end of an association received.
#[derive(Serialize)]
struct Delivery {
    association: String,
    side: &'static str,
    /// Bytes per interval.
    bytes: Vec<u64>,
    paths: Vec<PathDelivery>,
}

#[derive(Serialize)]
struct PathDelivery {
    local: String,
    remote: String,
    bytes: Vec<u64>,
}

/// What an end of an association sends by.
#[derive(Serialize)]
struct Trace {
    association: String,
    side: &'static str,
    paths: Vec<PathTrace>,
    marks: Vec<Mark>,
}

/// The state of a path at the end of each interval; none before its first.
#[derive(Serialize)]
struct PathTrace {
    local: String,
    remote: String,
    /// Congestion window in bytes.
    cwnd: Vec<Option<u64>>,
    /// Last round trip in seconds; none in intervals without.
    rtt: Vec<Option<f64>>,
}

/// An event.
#[derive(Serialize)]
struct Mark {
    at: f64,
    event: &'static str,
    /// The peer's address of the path concerned.
    to: String,
}

/// Queued packets of a link direction at the start of each interval.
#[derive(Serialize)]
struct Queue {
    direction: String,
    packets: Vec<u64>,
}

/// Runs a scenario with all probes and its hash. The probes do not affect the run.
pub(crate) fn run(
    text: &str,
    file: &str,
    files: &BTreeMap<String, String>,
    seed: Option<u64>,
) -> Result<Outcome, String> {
    let open = |name: &str| files.get(name).cloned().ok_or_else(|| "the page has no such file".to_owned());
    let mut scenario = Scenario::from_toml_and_files(text, file, &[], &open).map_err(|e| e.to_string())?;
    let duration = scenario.duration;
    let interval = INTERVAL.max(duration.mul_ratio(1, SAMPLES));
    scenario.probes.throughput = Some(interval);
    scenario.probes.queues = Some(interval);
    scenario.probes.trace = true;
    scenario.probes.chunks = true;
    let mut simulation = Simulation::new(&scenario, seed).map_err(|e| format!("{file}: {e}"))?;
    simulation.hash_trace();
    simulation.run();
    let summary = simulation.summary();
    let series = simulation.into_series();
    let count = duration.as_nanos().div_ceil(interval.as_nanos()) as usize;
    let clock = Clock { interval, count };
    // The two ends of an association follow each other.
    let ends = series.traces.chunks_exact(2);
    let journeys = ends.flat_map(|ends| journeys(&[&ends[0], &ends[1]], Time::ZERO + duration)).collect();
    Ok(Outcome {
        interval: interval.as_secs_f64(),
        summary,
        delivery: series.delivery.iter().map(delivery).collect(),
        traces: series.traces.iter().map(|trace| clock.trace(trace)).collect(),
        queues: series.queues.into_iter().map(queue).collect(),
        journeys,
    })
}

fn delivery(series: &DeliverySeries) -> Delivery {
    let path = |(at, bins): &(PathAddr, msctp_sim::series::Bins)| PathDelivery {
        local: at.local.to_string(),
        remote: at.remote.to_string(),
        bytes: bins.sums.clone(),
    };
    Delivery {
        association: series.association.clone(),
        side: series.side,
        bytes: series.total.sums.clone(),
        paths: series.per_path.iter().map(path).collect(),
    }
}

fn queue(series: QueueSeries) -> Queue {
    Queue { direction: series.direction, packets: series.packets }
}

/// The intervals of a run.
struct Clock {
    interval: Span,
    count: usize,
}

impl Clock {
    fn trace(&self, series: &TraceSeries) -> Trace {
        let mut paths: BTreeMap<PathId, PathAddr> = BTreeMap::new();
        let mut marks = Vec::new();
        for event in &series.marks {
            let (name, path) = match event.kind {
                TraceKind::PathAdded { path, at } => {
                    paths.insert(path, at);
                    ("path-added", path)
                }
                TraceKind::PathRemoved { path } => ("path-removed", path),
                TraceKind::Primary { to, .. } => ("primary", to),
                TraceKind::T3Timeout { path, .. } => ("t3-timeout", path),
                _ => continue,
            };
            let to = paths.get(&path).map(|at| at.remote.to_string()).unwrap_or_default();
            marks.push(Mark { at: seconds(event.at), event: name, to });
        }
        let path = |(&id, at): (&PathId, &PathAddr)| PathTrace {
            local: at.local.to_string(),
            remote: at.remote.to_string(),
            cwnd: self.cwnd(series, id),
            rtt: self.rtt(series, id),
        };
        let paths = paths.iter().map(path).collect();
        Trace { association: series.association.clone(), side: series.side, paths, marks }
    }

    /// Samples a path's window; it lasts until it changes.
    fn cwnd(&self, series: &TraceSeries, id: PathId) -> Vec<Option<u64>> {
        let window = &series.window;
        let mut samples = vec![None; self.count];
        for (i, _) in window.path.iter().enumerate().filter(|&(_, &path)| path == id) {
            samples[self.number(window.at[i])] = Some(window.cwnd[i]);
        }
        let mut last = None;
        for sample in &mut samples {
            last = sample.or(last);
            *sample = last;
        }
        samples
    }

    fn rtt(&self, series: &TraceSeries, id: PathId) -> Vec<Option<f64>> {
        let rtt = &series.rtt;
        let mut samples = vec![None; self.count];
        for (i, _) in rtt.path.iter().enumerate().filter(|&(_, &path)| path == id) {
            samples[self.number(rtt.at[i])] = Some(rtt.sample[i].as_secs_f64());
        }
        samples
    }

    /// Returns the number of the interval that `at` is in; the end is in the last.
    fn number(&self, at: Time) -> usize {
        ((at.as_nanos() / self.interval.as_nanos()) as usize).min(self.count - 1)
    }
}

fn seconds(at: Time) -> f64 {
    at.since(Time::ZERO).as_secs_f64()
}
