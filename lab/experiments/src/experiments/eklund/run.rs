//! Carries out one run: builds the scenario from its key, simulates it, extracts the measurements.

use msctp_proto::{PathId, TraceKind};
use msctp_sim::series::{Bins, MessageSeries, TraceSeries};
use msctp_sim::{Series, Summary};
use msctp_units::{Span, Time};

use super::grid::{Network, RunKey};
use super::measure::{CURVE, Run, SAMPLE, START_UP};
use crate::scenario_file::{ScenarioFile, scenario_file};
use crate::world::{Simulator, World};

/// All scenario files of the experiment.
pub const SCENARIOS: [ScenarioFile; 2] = [scenario_file!("eklund/lc.toml"), scenario_file!("eklund/hc.toml")];

/// Returns the scenario of a network's runs.
#[must_use]
pub fn scenario(network: Network) -> ScenarioFile {
    match network {
        Network::Low => SCENARIOS[0],
        Network::High => SCENARIOS[1],
    }
}

/// The sender: the correspondent node, which accepts the mobile's association.
const SENDER: &str = "server";
/// The receiver: the mobile.
const RECEIVER: &str = "client";

/// Runs once.
///
/// # Errors
/// The scenario is invalid, or the run is not the experiment: an action was rejected, an
/// association ended, or the primary path was not switched on time.
pub fn run(key: &RunKey) -> Result<Run, String> {
    run_in(&Simulator, key)
}

/// Runs once in any world.
///
/// # Errors
/// As [`run`], and those of the world.
pub fn run_in(world: &dyn World, key: &RunKey) -> Result<Run, String> {
    let (summary, series) = scenario(key.mix.network).carry_out(world, &key.overrides(), key.seed)?;
    let (switch, end, _) = key.mix.network.times();
    let at = |second: u32| Time::ZERO + Span::from_secs(u64::from(second));
    let mut run = Run::default();
    for number in 1..=key.mix.videos {
        let name = format!("session-{number}");
        check_up(&summary, &name)?;
        let trace = series.traces.iter().find(|trace| trace.association == name && trace.side == SENDER);
        let trace = trace.ok_or_else(|| format!("{name} has no trace"))?;
        let to = new_path(trace, at(switch))?;
        if number == 1 {
            run.start_cwnd = start_cwnd(trace, to)?;
            run.start_rtt = start_rtt(trace, to, at(switch));
        }
        let startup = at(switch) + super::grid::INTERVAL * START_UP as u64;
        run.startup_losses += losses(trace, to, at(switch), startup);
        run.losses += losses(trace, to, at(switch), at(end));
        let messages = messages(&series, &format!("video-{number}"))?;
        add_transfers(&mut run, messages, at(switch), number == 1);
        run.video_bytes.push(delivered(&series, &name, switch, end)?);
    }
    let samples = key.mix.network.times().2 / SAMPLE as u32;
    run.tcp_samples = vec![0; samples as usize];
    for number in 1..=key.mix.tcps {
        let name = format!("flow-{number}");
        run.tcp_bytes.push(delivered(&series, &name, switch, end)?);
        for (sum, own) in run.tcp_samples.iter_mut().zip(&bins(&series, &name, "server")?.sums) {
            *sum += own;
        }
    }
    Ok(run)
}

fn check_up(summary: &Summary, name: &str) -> Result<(), String> {
    let association = summary.associations.iter().find(|association| association.name == name);
    let association = association.ok_or_else(|| format!("the scenario has no association {name}"))?;
    match &association.ended {
        Some(reason) => Err(format!("{name} ended: {reason}")),
        None if association.established.is_none() => Err(format!("{name} was never up")),
        None => Ok(()),
    }
}

/// Largest delay of a real host's action.
const LATE: Span = Span::from_millis(20);

/// Returns the path that became the sender's primary at the switch.
fn new_path(trace: &TraceSeries, switch: Time) -> Result<PathId, String> {
    let changed = trace.marks.iter().find_map(|mark| match mark.kind {
        TraceKind::Primary { to, .. } => Some((mark.at, to)),
        _ => None,
    });
    match changed {
        Some((at, to)) if at >= switch && at <= switch + LATE => Ok(to),
        Some((at, _)) => Err(format!("the primary path was switched at {at}: want {switch}")),
        None => Err("the primary path was never switched".to_owned()),
    }
}

fn start_cwnd(trace: &TraceSeries, path: PathId) -> Result<u64, String> {
    let start = trace.marks.iter().find_map(|mark| match mark.kind {
        TraceKind::StartState { path: of, cwnd, .. } if of == path => Some(cwnd),
        _ => None,
    });
    start.ok_or_else(|| "the handover policy gave the new path no starting state".to_owned())
}

/// Returns the last smoothed round trip of a path before the switch, in ms; NaN without one.
fn start_rtt(trace: &TraceSeries, path: PathId, switch: Time) -> f32 {
    let rtt = &trace.rtt;
    let before = (0..rtt.at.len()).rfind(|&i| rtt.path[i] == path && rtt.at[i] <= switch);
    before.map_or(f32::NAN, |i| (rtt.srtt[i].as_secs_f64() * 1000.0) as f32)
}

/// Counts fast retransmits and timeouts on a path in `from..to`.
fn losses(trace: &TraceSeries, on: PathId, from: Time, to: Time) -> u32 {
    let is_one = |kind| matches!(kind, TraceKind::FastRetransmit { path, .. } | TraceKind::T3Timeout { path, .. } if path == on);
    trace.marks.iter().filter(|mark| mark.at >= from && mark.at < to && is_one(mark.kind)).count() as u32
}

fn messages<'s>(series: &'s Series, app: &str) -> Result<&'s MessageSeries, String> {
    let found = series.messages.iter().find(|messages| messages.app == app);
    found.ok_or_else(|| format!("{app} has no messages"))
}

/// Adds the transfer times of a video's messages, those generated from the switch on.
fn add_transfers(run: &mut Run, messages: &MessageSeries, switch: Time, first: bool) {
    let after = messages.generated.iter().zip(&messages.delivered).skip_while(|(at, _)| **at < switch);
    let times: Vec<f32> = after
        .map(|(generated, delivered)| {
            delivered.map_or(f32::NAN, |at| (at.since(*generated).as_secs_f64() * 1000.0) as f32)
        })
        .collect();
    let most = |part: &[f32]| part.iter().copied().fold(0.0, f32::max);
    run.startup_max.push(most(&times[..times.len().min(START_UP)]));
    run.whole_max.push(most(&times));
    run.undelivered += times.iter().filter(|time| time.is_nan()).count() as u32;
    if first {
        run.transfer = times.into_iter().take(CURVE).collect();
    }
}

fn bins<'s>(series: &'s Series, name: &str, side: &str) -> Result<&'s Bins, String> {
    let found = series.delivery.iter().find(|d| d.association == name && d.side == side);
    let bins = &found.ok_or_else(|| format!("deliveries of {name} were not recorded"))?.total;
    let interval = bins.interval.as_secs_f64();
    if (interval - SAMPLE).abs() > 1e-9 {
        return Err(format!("probes.throughput is {interval} s: want {SAMPLE} s"));
    }
    Ok(bins)
}

/// Returns the user bytes delivered to the receiver between two seconds at sample boundaries.
fn delivered(series: &Series, name: &str, from: u32, to: u32) -> Result<u64, String> {
    let side = if name.starts_with("flow") { "server" } else { RECEIVER };
    let bins = bins(series, name, side)?;
    let index = |second: u32| second as usize / SAMPLE as usize;
    Ok(bins.sums.iter().skip(index(from)).take(index(to) - index(from)).sum())
}

#[cfg(test)]
mod tests {
    use super::super::grid::{Mix, Tcp, Window};
    use super::*;

    fn key(mix: Mix, window: Window) -> RunKey {
        RunKey { tcp: Tcp::NewReno, mix, paced: false, window, seed: 1 }
    }

    #[test]
    fn a_run_has_the_window_and_flows_of_its_key() {
        let mix = Mix::new(Network::Low, 1, 1);
        let three = run(&key(mix, Window::Three)).unwrap();
        let nr = run(&key(mix, Window::Nr)).unwrap();
        assert_eq!((three.start_cwnd, nr.start_cwnd), (3 * 1468, 50_000));
        assert_eq!((three.transfer.len(), three.startup_max.len()), (CURVE, 1));
        assert_eq!((three.video_bytes.len(), three.tcp_bytes.len(), three.tcp_samples.len()), (1, 1, 28));
        assert!(three.start_rtt > 300.0, "{}", three.start_rtt);
        // Until the switch the two runs are identical.
        assert_eq!(three.tcp_samples[..12], nr.tcp_samples[..12]);
        assert_ne!(three.transfer, nr.transfer);
        // No transfer time is below the propagation delay.
        assert!(three.transfer.iter().all(|&time| time > 150.0));
    }

    #[test]
    fn flows_outside_the_mix_send_nothing() {
        let mix = Mix::new(Network::High, 2, 5);
        let done = run(&key(mix, Window::Ten)).unwrap();
        assert_eq!((done.video_bytes.len(), done.tcp_bytes.len()), (2, 5));
        assert!(done.tcp_bytes.iter().chain(&done.video_bytes).all(|&bytes| bytes > 1_000_000));
        let (_, series) = scenario(mix.network).simulate(&key(mix, Window::Ten).overrides(), 1).unwrap();
        assert_eq!(series.messages[4].generated.len(), 0);
    }
}
