//! Carries out one run: builds the scenario from its key, simulates it, extracts the measurements.

use msctp_lab_tcp::{TraceEvent, TraceKind};
use msctp_proto::TraceKind as SctpKind;
use msctp_sim::series::{TcpTraceSeries, TraceSeries};
use msctp_sim::summary::{LinkSummary, TcpFlowSummary, VerdictSummary};
use msctp_sim::{Series, Summary};
use msctp_units::{Span, Time};

use super::grid::{
    Air, Cell, HandoverKey, LossTest, Losses, MicroscopeKey, Network, RecoveryKey, SEGMENT_BYTES, Scheme,
    Subject, SweepKey, TransferKey, Transport,
};
use super::measure::{Confusion, Event, EventKind, Handover, Microscope, Recovery, Reset, Transfer};
use crate::scenario_file::{ScenarioFile, scenario_file};

/// All scenario files of the experiment.
pub const SCENARIOS: [ScenarioFile; 5] = [
    scenario_file!("park-jang/plain.toml"),
    scenario_file!("park-jang/recovering-wlan.toml"),
    scenario_file!("park-jang/recovering-lte.toml"),
    scenario_file!("park-jang/microscope.toml"),
    scenario_file!("park-jang/handover.toml"),
];

/// User bytes of a TCP segment.
const SEGMENT: u64 = SEGMENT_BYTES as u64;

/// The scenario, overrides and seed of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSpec {
    /// The scenario.
    pub file: ScenarioFile,
    /// Overrides of the scenario.
    pub overrides: Vec<String>,
    /// Seed of every random stream.
    pub seed: u64,
}

impl RunSpec {
    /// Returns the command that repeats the run.
    #[must_use]
    pub fn command(&self) -> String {
        self.file.command(self.seed, &self.overrides)
    }

    fn simulate(&self) -> Result<(Summary, Series), String> {
        self.file.simulate(&self.overrides, self.seed)
    }
}

/// Returns the overrides that enable a loss classifier.
fn classifier_overrides(profile: &str, classifier: &str) -> Vec<String> {
    vec![
        format!("{profile}.loss_classifier={classifier}"),
        format!("{profile}.frto=true"),
        format!("{profile}.restart_rtt_after_spurious=true"),
    ]
}

/// Returns the sender's profile and its overrides. `end` is the end of the run, at which unused transfers
/// start.
fn sender(transport: Transport, end: &str) -> (&'static str, Vec<String>) {
    match transport {
        Transport::Reno | Transport::Sack => {
            ("tcp-profile.sender", vec![format!("tcp-profile.sender.recovery={}", transport.slug())])
        }
        Transport::Sctp => (
            "sctp.sender",
            vec![format!("tcp.transfer.start={end}"), "association.sctp-transfer.start=0s".to_owned()],
        ),
    }
}

fn of_scheme(transport: Transport, scheme: Scheme, end: &str) -> Vec<String> {
    let (profile, mut overrides) = sender(transport, end);
    if scheme != Scheme::Standard {
        overrides.extend(classifier_overrides(profile, "park-jang"));
    }
    if scheme == Scheme::Previous {
        overrides.push(format!("{profile}.delay_response=true"));
    }
    overrides
}

/// Returns the scenario of a cell, and the overrides of its losses.
fn of_cell(air: Air, cell: Cell) -> (ScenarioFile, Vec<String>) {
    let (wire, radio) = match (cell.losses, cell.network) {
        (Losses::Congestion, _) => (0.01, 0.0),
        (Losses::Wireless, Network::Wlan) => (0.0, 0.01),
        (Losses::Wireless, Network::Lte) => (0.0, 0.05),
        // A fifth of 1 % is wireless.
        (Losses::Mixed, _) => (0.008, 0.002),
    };
    let wire = format!("link.wire.forward.loss={wire:?}");
    match (air, cell.network) {
        (Air::Plain, network) => (
            SCENARIOS[0],
            vec![
                format!("link.radio.rate={}", network.rate()),
                format!("link.radio.delay={}", network.delay()),
                wire,
                format!("link.radio.forward.loss={radio:?}"),
            ],
        ),
        (Air::Recovering, Network::Wlan) => (SCENARIOS[1], vec![wire, format!("link.radio.loss={radio:?}")]),
        (Air::Recovering, Network::Lte) => (SCENARIOS[2], vec![wire, format!("link.radio.bler={radio:?}")]),
    }
}

/// Returns a transfer of Fig. 3.
#[must_use]
pub fn transfer_spec(key: &TransferKey) -> RunSpec {
    let (file, mut overrides) = of_cell(key.air, key.cell);
    overrides.extend(of_scheme(key.transport, key.scheme, "200s"));
    RunSpec { file, overrides, seed: key.seed }
}

/// Returns a run of the microscope.
#[must_use]
pub fn microscope_spec(key: &MicroscopeKey) -> RunSpec {
    RunSpec { file: SCENARIOS[3], overrides: of_scheme(key.transport, key.scheme, "10s"), seed: 1 }
}

/// Returns a transfer over an LTE link layer that retransmits. The receive window fits the queue, so that
/// packets are lost nowhere else.
#[must_use]
pub fn recovery_spec(key: &RecoveryKey) -> RunSpec {
    let mut overrides = vec!["tcp-profile.receiver.receive_buffer=65536".to_owned()];
    if !key.errors {
        overrides.push("link.radio.bler=0.0".to_owned());
    }
    overrides.extend(of_scheme(key.transport, Scheme::Standard, "200s"));
    RunSpec { file: SCENARIOS[2], overrides, seed: key.seed }
}

/// Returns a transfer with a handover. The seed gives its time and the link's silence: half a second to three
/// seconds.
#[must_use]
pub fn handover_spec(key: &HandoverKey) -> RunSpec {
    let at = 30_000 + 137 * key.seed;
    let silent = 500 * (1 + (key.seed - 1) % 6);
    let (profile, mut overrides) = sender(key.transport, "60s");
    overrides.extend([
        format!("link.radio.rate={}", key.from.rate()),
        format!("link.radio.delay={}", key.from.delay()),
        format!("action.0.at={at}ms"),
        format!("action.1.at={}ms", at + silent),
        format!("action.1.rate={}", key.to().rate()),
        format!("action.1.delay={}", key.to().delay()),
    ]);
    if key.frto {
        overrides
            .extend([format!("{profile}.frto=true"), format!("{profile}.restart_rtt_after_spurious=true")]);
    }
    RunSpec { file: SCENARIOS[4], overrides, seed: key.seed }
}

/// Returns a run of a sweep.
#[must_use]
pub fn sweep_spec(key: &SweepKey) -> RunSpec {
    let (profile, who) = sender(key.transport, "200s");
    let (file, mut overrides) = match key.subject {
        Subject::K { cell, .. } | Subject::Beside { cell } => of_cell(Air::Plain, cell),
        // WLAN with queue losses only.
        Subject::Buffer { packets } => {
            let queue = |link| format!("link.{link}.queue={{ packets = {packets} }}");
            (SCENARIOS[0], ["wire", "radio"].map(queue).to_vec())
        }
        Subject::Queue { network } => (
            SCENARIOS[0],
            vec![
                format!("link.radio.rate={}", network.rate()),
                format!("link.radio.delay={}", network.delay()),
                "link.radio.forward.loss=0.0".to_owned(),
            ],
        ),
        Subject::Loss { ppm } => {
            (SCENARIOS[0], vec![format!("link.radio.forward.loss={:?}", f64::from(ppm) / 1e6)])
        }
    };
    overrides.extend(who);
    match key.loss_test {
        LossTest::Standard => {}
        LossTest::ParkJang => overrides.extend(classifier_overrides(profile, "park-jang")),
        LossTest::Stamped => {
            overrides.extend(classifier_overrides(profile, "park-jang"));
            let stamped = |end| format!("tcp-profile.{end}.timestamps=true");
            overrides.extend(["sender", "receiver"].map(stamped));
        }
        LossTest::Oracle => overrides.extend(classifier_overrides(profile, "oracle")),
    }
    match key.subject {
        Subject::K { halves, .. } if key.loss_test == LossTest::ParkJang => {
            let k = f64::from(halves) / 2.0;
            overrides.push(format!("{profile}.loss_classifier_options={{ k = {k:?} }}"));
        }
        // Start at a different phase of the other flow with each seed.
        Subject::Beside { .. } | Subject::Queue { .. } => {
            overrides.push(format!("tcp.competitor.start={}ms", 137 * key.seed));
        }
        _ => {}
    }
    RunSpec { file, overrides, seed: key.seed }
}

/// Runs one transfer of Fig. 3.
///
/// # Errors
/// The scenario is invalid, or the transfer was not established.
pub fn transfer(key: &TransferKey) -> Result<Transfer, String> {
    let (summary, _) = transfer_spec(key).simulate()?;
    of_summary(&summary, key.transport)
}

/// Runs one run of a sweep.
///
/// # Errors
/// As [`transfer`].
pub fn sweep(key: &SweepKey) -> Result<Transfer, String> {
    let (summary, _) = sweep_spec(key).simulate()?;
    of_summary(&summary, key.transport)
}

/// Extracts the measurements of a transfer from the summary of its run.
fn of_summary(summary: &Summary, transport: Transport) -> Result<Transfer, String> {
    let queue_drops = data_links(summary).map(|link| link.queue_drops).sum();
    let transfer = match transport {
        Transport::Reno | Transport::Sack => {
            let flow = tcp_flow(summary, "transfer")?;
            Transfer {
                delivered: flow.bytes,
                gap_losses: flow.fast_retransmits + flow.verdicts.map_or(0, wireless),
                confusion: flow.verdicts.map(confusion).unwrap_or_default(),
                timeouts: flow.timeouts,
                spurious: flow.spurious_timeouts,
                retransmitted: flow.retransmitted,
                queue_drops,
                competitor: None,
            }
        }
        Transport::Sctp => {
            let line = summary.associations.first().ok_or("the scenario has no association")?;
            if let Some(reason) = &line.ended {
                return Err(format!("the association ended: {reason}"));
            }
            let flow = &line.to_client;
            Transfer {
                delivered: flow.bytes,
                gap_losses: flow.fast_retransmits,
                confusion: flow.verdicts.map(confusion).unwrap_or_default(),
                timeouts: flow.timeouts,
                spurious: flow.spurious_timeouts,
                retransmitted: flow.retransmitted,
                queue_drops,
                competitor: None,
            }
        }
    };
    let competitor = summary.tcp.iter().find(|tcp| tcp.name == "competitor");
    let competitor = competitor.map(|tcp| tcp.to_client.bytes).filter(|&bytes| bytes > 0);
    Ok(Transfer { competitor, ..transfer })
}

fn data_links(summary: &Summary) -> impl Iterator<Item = &LinkSummary> {
    summary.links.iter().filter(|link| link.name.ends_with("/forward"))
}

/// Returns the mobile's received data of a connection, which must have lasted.
fn tcp_flow<'s>(summary: &'s Summary, name: &str) -> Result<&'s TcpFlowSummary, String> {
    let tcp = summary.tcp.iter().find(|tcp| tcp.name == name);
    let tcp = tcp.ok_or_else(|| format!("the scenario has no connection {name}"))?;
    match &tcp.ended {
        Some(reason) => Err(format!("the connection {name} ended: {reason}")),
        None if tcp.established.is_none() => Err(format!("the connection {name} was never up")),
        None => Ok(&tcp.to_client),
    }
}

fn wireless(verdicts: VerdictSummary) -> u64 {
    verdicts.wireless_as_wireless + verdicts.congestion_as_wireless + verdicts.unknown_as_wireless
}

fn confusion(verdicts: VerdictSummary) -> Confusion {
    Confusion {
        wireless_as_wireless: verdicts.wireless_as_wireless,
        wireless_as_congestion: verdicts.wireless_as_congestion,
        congestion_as_wireless: verdicts.congestion_as_wireless,
        congestion_as_congestion: verdicts.congestion_as_congestion,
        not_lost: verdicts.unknown_as_wireless + verdicts.unknown_as_congestion,
    }
}

/// Runs the microscope: one scripted loss.
///
/// # Errors
/// As [`transfer`], or the loss did not have the form of the paper's.
pub fn microscope(key: &MicroscopeKey) -> Result<Microscope, String> {
    let (summary, series) = microscope_spec(key).simulate()?;
    tcp_flow(&summary, "transfer")?;
    around_the_loss(tcp_trace(&series)?)
}

/// Returns the trace of the TCP sender.
fn tcp_trace(series: &Series) -> Result<&TcpTraceSeries, String> {
    let is_it = |trace: &&TcpTraceSeries| trace.connection == "transfer" && trace.side == "server";
    series.tcp.iter().find(is_it).ok_or_else(|| "the sender has no trace".to_owned())
}

fn around_the_loss(trace: &TcpTraceSeries) -> Result<Microscope, String> {
    let duplicates: Vec<f64> = trace
        .segments
        .iter()
        .filter(|event| matches!(event.kind, TraceKind::AckReceived { duplicate: true, .. }))
        .map(|event| event.at.as_secs_f64())
        .collect();
    let (Some(&first), Some(&third)) = (duplicates.first(), duplicates.get(2)) else {
        return Err(format!("{} duplicate ACKs: want at least 3", duplicates.len()));
    };
    let again = trace
        .segments
        .iter()
        .find(|event| matches!(event.kind, TraceKind::Sent { retransmission: true, .. }))
        .ok_or("nothing was retransmitted")?;
    let before = trace.rtt.iter().rfind(|(at, ..)| at.as_secs_f64() <= first);
    let rtt = before.ok_or("no round trip was measured")?.1.as_secs_f64();
    let (from, to) = (first - 1.5 * rtt, first + 2.5 * rtt);
    let inside = |event: &&TraceEvent| (from..to).contains(&event.at.as_secs_f64());
    Ok(Microscope {
        slot: (third - first) / 2.0,
        rtt,
        first_duplicate: first,
        third_duplicate: third,
        retransmission: again.at.as_secs_f64(),
        events: trace.segments.iter().filter(inside).filter_map(event).collect(),
    })
}

/// Converts a trace event to one with the number of its segment.
fn event(event: &TraceEvent) -> Option<Event> {
    let number = |offset: u64| (offset - 1) / SEGMENT + 1;
    let (number, kind) = match event.kind {
        TraceKind::Sent { offset, retransmission: false, .. } => (number(offset), EventKind::Sent),
        TraceKind::Sent { offset, retransmission: true, .. } => (number(offset), EventKind::Retransmitted),
        TraceKind::AckReceived { ack, .. } => (number(ack), EventKind::Acked),
        _ => return None,
    };
    Some(Event { at: event.at.as_secs_f64(), number, kind })
}

/// Runs one transfer over a link layer that retransmits.
///
/// # Errors
/// As [`transfer`].
pub fn recovery(key: &RecoveryKey) -> Result<Recovery, String> {
    let (summary, series) = recovery_spec(key).simulate()?;
    let flow = tcp_flow(&summary, "transfer")?;
    let trace = tcp_trace(&series)?;
    Ok(Recovery {
        retransmitted_blocks: data_links(&summary).map(|link| link.resent).sum(),
        lost: lost(&summary),
        duplicate_acks: flow.duplicate_acks,
        gap_losses: flow.fast_retransmits,
        longest_rtt: trace.rtt.iter().map(|(_, sample, ..)| sample.as_secs_f64()).fold(0.0, f64::max),
    })
}

/// Counts packets lost in either direction, at any place and for any reason.
fn lost(summary: &Summary) -> u64 {
    summary.links.iter().map(|link| link.queue_drops + link.losses + link.down_drops + link.too_big).sum()
}

/// Runs one transfer with a handover.
///
/// # Errors
/// As [`transfer`], or a timeout before the handover.
pub fn handover(key: &HandoverKey) -> Result<Handover, String> {
    let (summary, series) = handover_spec(key).simulate()?;
    let transfer = of_summary(&summary, key.transport)?;
    let found = match key.transport {
        Transport::Reno | Transport::Sack => timeouts_of_tcp(tcp_trace(&series)?),
        Transport::Sctp => {
            let trace = series.traces.iter().find(|trace| trace.side == "server");
            timeouts_of_sctp(trace.ok_or("the sender has no trace")?)
        }
    };
    let from = Time::ZERO + Span::from_secs(30);
    if let Some(&early) = found.timeouts.iter().find(|&&at| at < from) {
        return Err(format!("a timeout at {early}, before the handover"));
    }
    let first = found.timeouts.first().copied();
    let window = |at: Option<Time>, before: bool| {
        let until = |&&(t, _): &&(Time, u64)| at.is_some_and(|at| if before { t < at } else { t <= at });
        found.windows.iter().rfind(until).map_or(0, |&(_, cwnd)| cwnd)
    };
    Ok(Handover {
        lost: lost(&summary),
        timeouts: found.timeouts.len() as u64,
        recognised: found.spurious.len() as u64,
        window_before: window(first, true),
        window_after: window(found.spurious.last().or(found.timeouts.last()).copied(), false),
        slow_start: found.timeouts.len() > found.spurious.len(),
        reset: found.reset,
        delivered: transfer.delivered,
    })
}

/// Timeouts and windows in a sender's trace.
#[derive(Default)]
struct TimeoutTrace {
    timeouts: Vec<Time>,
    spurious: Vec<Time>,
    reset: Option<Reset>,
    /// Times and values of the congestion window.
    windows: Vec<(Time, u64)>,
}

fn reset(sample: Span, times: &msctp_congestion::RoundTrips) -> Reset {
    Reset {
        rtt: sample.as_secs_f64(),
        min: times.least.as_secs_f64(),
        avg: times.average.as_secs_f64(),
        dev: times.deviation.as_secs_f64(),
    }
}

fn timeouts_of_tcp(trace: &TcpTraceSeries) -> TimeoutTrace {
    let windows = trace.window.iter().map(|&(at, cwnd, ..)| (at, cwnd)).collect();
    let mut found = TimeoutTrace { windows, ..TimeoutTrace::default() };
    for mark in &trace.marks {
        match &mark.kind {
            TraceKind::Timeout { .. } => found.timeouts.push(mark.at),
            TraceKind::SpuriousTimeout => found.spurious.push(mark.at),
            TraceKind::RttStartedOver { sample, times } => found.reset = Some(reset(*sample, times)),
            _ => {}
        }
    }
    found
}

fn timeouts_of_sctp(trace: &TraceSeries) -> TimeoutTrace {
    let window = &trace.window;
    let windows = window.at.iter().copied().zip(window.cwnd.iter().copied()).collect();
    let mut found = TimeoutTrace { windows, ..TimeoutTrace::default() };
    for mark in &trace.marks {
        match &mark.kind {
            SctpKind::T3Timeout { .. } => found.timeouts.push(mark.at),
            SctpKind::SpuriousTimeout { .. } => found.spurious.push(mark.at),
            SctpKind::RttStartedOver { sample, times, .. } => found.reset = Some(reset(*sample, times)),
            _ => {}
        }
    }
    found
}
