//! Runs a scenario and samples its series at one interval for the page's charts.

use std::collections::BTreeMap;

use msctp_lab_tcp::TraceKind as TcpKind;
use msctp_proto::{PathAddr, PathId, TraceKind};
use msctp_sim::scenario::{Scenario, TcpSpec};
use msctp_sim::series::{Bins, DeliverySeries, MessageSeries, QueueSeries, TcpTraceSeries, TraceSeries};
use msctp_sim::{Simulation, Summary};
use msctp_units::{Span, Time};
use serde::Serialize;

use crate::journeys::{Journeys, journeys, tcp_journeys};

/// Interval of the series, short enough for a delivery gap of a fast network.
const INTERVAL: Span = Span::from_millis(20);
/// Maximum number of samples of a series. Runs of more than a minute have longer intervals.
const SAMPLES: u64 = 3000;

/// A run's result.
#[derive(Serialize)]
pub(crate) struct Outcome {
    /// Length of the series' intervals in seconds.
    interval: f64,
    /// The summary of `msctp-lab sim --json`, with the hash of `--hash`.
    summary: Summary,
    delivery: Vec<Delivery>,
    traces: Vec<Trace>,
    queues: Vec<Queue>,
    journeys: Vec<Journeys>,
    messages: Vec<Messages>,
}

/// User bytes that an end of an association or TCP connection received.
#[derive(Serialize)]
struct Delivery {
    /// The association or TCP connection.
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

/// The sending state of an end of an association or TCP connection.
#[derive(Serialize)]
struct Trace {
    /// The association or TCP connection.
    association: String,
    side: &'static str,
    paths: Vec<PathTrace>,
    marks: Vec<Mark>,
}

/// The state of a path at the end of each interval; none before its first state.
#[derive(Serialize)]
struct PathTrace {
    local: String,
    remote: String,
    /// Congestion window in bytes.
    cwnd: Vec<Option<u64>>,
    /// Last round-trip time in seconds; none in intervals without a measurement.
    rtt: Vec<Option<f64>>,
}

/// An event.
#[derive(Serialize)]
struct Mark {
    at: f64,
    event: &'static str,
    /// Local address of the path that the event concerns. The next field is the remote one.
    local: String,
    remote: String,
}

impl Mark {
    fn new(at: Time, event: &'static str, path: Option<&PathAddr>) -> Self {
        let [local, remote] =
            path.map(|path| [path.local, path.remote].map(|ip| ip.to_string())).unwrap_or_default();
        Self { at: seconds(at), event, local, remote }
    }
}

/// The messages of a video application, by message number.
#[derive(Serialize)]
struct Messages {
    app: String,
    /// Seconds at which the message was generated.
    generated: Vec<f64>,
    /// Seconds from generation to delivery; none if the message was not delivered.
    took: Vec<Option<f64>>,
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
    scenario.probes.messages = true;
    let mut simulation = Simulation::new(&scenario, seed).map_err(|e| format!("{file}: {e}"))?;
    simulation.hash_trace();
    simulation.run();
    let summary = simulation.summary();
    let series = simulation.into_series();
    let count = duration.as_nanos().div_ceil(interval.as_nanos()) as usize;
    let clock = Clock { interval, count };
    // The two ends of an association follow each other.
    let end = Time::ZERO + duration;
    let ends = series.traces.chunks_exact(2);
    let of_sctp = ends.flat_map(|ends| journeys(&[&ends[0], &ends[1]], end));
    // So do those of a TCP connection, in the order of the scenario.
    let connections: Vec<_> = scenario.tcp.iter().zip(series.tcp.chunks_exact(2)).collect();
    let of_tcp = connections
        .iter()
        .flat_map(|(spec, ends)| tcp_journeys(&[&ends[0], &ends[1]], path_of(spec, "client"), end));
    let traces = series.traces.iter().map(|trace| clock.trace(trace));
    let tcp_traces = connections
        .iter()
        .flat_map(|(spec, ends)| ends.iter().map(|end| clock.tcp_trace(end, path_of(spec, end.side))));
    Ok(Outcome {
        interval: interval.as_secs_f64(),
        summary,
        delivery: series.delivery.iter().map(|series| delivery(series, &scenario.tcp)).collect(),
        traces: traces.chain(tcp_traces).collect(),
        queues: series.queues.into_iter().map(queue).collect(),
        journeys: of_sctp.chain(of_tcp).collect(),
        messages: series.messages.iter().map(messages).collect(),
    })
}

/// Returns the only path of a TCP connection, as one side sees it.
fn path_of(spec: &TcpSpec, side: &str) -> PathAddr {
    let (client, server) = (spec.client_address, spec.server_address);
    let (local, remote) = if side == "client" { (client, server) } else { (server, client) };
    PathAddr { local, remote }
}

/// Returns the deliveries of a TCP connection, whose only path delivers everything.
fn delivery(series: &DeliverySeries, connections: &[TcpSpec]) -> Delivery {
    let path = |(at, bins): &(PathAddr, Bins)| PathDelivery {
        local: at.local.to_string(),
        remote: at.remote.to_string(),
        bytes: bins.sums.clone(),
    };
    let tcp = connections.iter().find(|spec| spec.name == series.association);
    Delivery {
        association: series.association.clone(),
        side: series.side,
        bytes: series.total.sums.clone(),
        paths: match tcp {
            Some(spec) => vec![path(&(path_of(spec, series.side), series.total.clone()))],
            None => series.per_path.iter().map(path).collect(),
        },
    }
}

fn messages(series: &MessageSeries) -> Messages {
    let pairs = || series.generated.iter().zip(&series.delivered);
    Messages {
        app: series.app.clone(),
        generated: series.generated.iter().map(|&at| seconds(at)).collect(),
        took: pairs().map(|(&from, to)| to.map(|to| to.since(from).as_secs_f64())).collect(),
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
                TraceKind::T3Timeout { path, .. } => ("timeout", path),
                _ => continue,
            };
            marks.push(Mark::new(event.at, name, paths.get(&path)));
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

    fn tcp_trace(&self, series: &TcpTraceSeries, at: PathAddr) -> Trace {
        let timeouts = series.marks.iter().filter(|event| matches!(event.kind, TcpKind::Timeout { .. }));
        let mut rtt = vec![None; self.count];
        for &(at, sample, ..) in &series.rtt {
            rtt[self.number(at)] = Some(sample.as_secs_f64());
        }
        let path = PathTrace {
            local: at.local.to_string(),
            remote: at.remote.to_string(),
            cwnd: self.windows(series.window.iter().map(|&(at, cwnd, ..)| (at, cwnd))),
            rtt,
        };
        let marks = timeouts.map(|event| Mark::new(event.at, "timeout", Some(&at))).collect();
        Trace { association: series.connection.clone(), side: series.side, paths: vec![path], marks }
    }

    fn cwnd(&self, series: &TraceSeries, id: PathId) -> Vec<Option<u64>> {
        let window = &series.window;
        let own = window.path.iter().enumerate().filter(|&(_, &path)| path == id);
        self.windows(own.map(|(i, _)| (window.at[i], window.cwnd[i])))
    }

    /// Samples windows, each of which lasts until the next.
    fn windows(&self, changes: impl Iterator<Item = (Time, u64)>) -> Vec<Option<u64>> {
        let mut samples = vec![None; self.count];
        for (at, cwnd) in changes {
            samples[self.number(at)] = Some(cwnd);
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

    /// Returns the number of the interval that contains `at`. The end belongs to the last interval.
    fn number(&self, at: Time) -> usize {
        ((at.as_nanos() / self.interval.as_nanos()) as usize).min(self.count - 1)
    }
}

fn seconds(at: Time) -> f64 {
    at.since(Time::ZERO).as_secs_f64()
}
