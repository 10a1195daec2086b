//! Carries out one run: builds the scenario from its key, simulates it, extracts the measurements.

use msctp_proto::{PathId, TraceKind};
use msctp_sim::series::TraceSeries;
use msctp_sim::{Series, Summary};
use msctp_units::Time;

use super::estimation::{Estimation, EstimationKey, Point};
use super::grid::{DURATION, Movement, RunKey, SWITCH};
use super::measure::{Fall, Handover, LastEstimate, STEP};
use crate::scenario_file::{ScenarioFile, scenario_file};
use crate::world::{Simulator, World};

/// All scenario files of the experiment.
pub const SCENARIOS: [ScenarioFile; 4] = [
    scenario_file!("kim-koh/3g-to-wlan.toml"),
    scenario_file!("kim-koh/wlan-to-3g.toml"),
    scenario_file!("kim-koh/estimation-wlan.toml"),
    scenario_file!("kim-koh/estimation-3g.toml"),
];

/// Returns the scenario of the handover runs.
#[must_use]
pub fn handover_scenario(movement: Movement) -> ScenarioFile {
    match movement {
        Movement::ToWlan => SCENARIOS[0],
        Movement::To3g => SCENARIOS[1],
    }
}

/// Returns the scenario of the estimation runs.
#[must_use]
pub fn estimation_scenario(movement: Movement) -> ScenarioFile {
    match movement {
        Movement::ToWlan => SCENARIOS[2],
        Movement::To3g => SCENARIOS[3],
    }
}

/// The sender: the correspondent node, which accepts the mobile's association.
const SENDER: &str = "server";
/// The receiver: the mobile.
const RECEIVER: &str = "client";

/// Runs one handover.
///
/// # Errors
/// The scenario is invalid, or the run is not the experiment: an action was rejected, an
/// association ended, or the primary path was not switched on time.
pub fn handover(key: &RunKey) -> Result<Handover, String> {
    handover_in(&Simulator, key)
}

/// Runs one handover in any world.
///
/// # Errors
/// As [`handover`], and those of the world.
pub fn handover_in(world: &dyn World, key: &RunKey) -> Result<Handover, String> {
    let (summary, series) = carry_out(world, handover_scenario(key.movement), &key.overrides(), key.seed)?;
    let trace = sender(&series)?;
    let switch = switch(trace)?;
    let cwnd = primary_window(trace);
    let delivered = delivered(&series)?;
    let target = match key.movement {
        Movement::ToWlan => "wlan/forward",
        Movement::To3g => "3g/forward",
    };
    let after = (SWITCH.as_secs_f64() / STEP).round() as usize;
    let flow = &summary.associations[0].to_client;
    Ok(Handover {
        total_bytes: flow.bytes,
        after_bytes: delivered.iter().skip(after).sum(),
        switch_at: switch.at.as_secs_f64(),
        start_cwnd: switch.cwnd,
        start_ssthresh: switch.ssthresh,
        estimate: estimate_before(trace, &switch),
        cwnd,
        delivered: delivered.iter().map(|&bytes| bytes as f64).collect(),
        timeouts: marks(
            trace,
            &switch,
            |kind| matches!(kind, TraceKind::T3Timeout { path, .. } if path == switch.to),
        ),
        fast_retransmits: marks(
            trace,
            &switch,
            |kind| matches!(kind, TraceKind::FastRetransmit { path, .. } if path == switch.to),
        ),
        first_fall: first_fall(trace, &switch),
        retransmitted: flow.retransmitted,
        queue_drops: summary.links.iter().find(|link| link.name == target).map_or(0, |link| link.queue_drops),
    })
}

/// Runs the estimator with changing background traffic.
///
/// # Errors
/// As [`handover`], or a run without an estimate.
pub fn estimation(key: &EstimationKey) -> Result<Estimation, String> {
    let (_, series) = carry_out(&Simulator, estimation_scenario(key.movement), &[], key.seed)?;
    let estimates = &sender(&series)?.estimate;
    let points: Vec<Point> = (0..estimates.at.len())
        .map(|i| Point {
            at: estimates.at[i].as_secs_f64(),
            capacity: estimates.capacity[i].as_bps() as f64,
            available: estimates.available[i].as_bps() as f64,
            loss: f64::from(estimates.loss_ppm[i]) / 1e6,
        })
        .collect();
    if points.is_empty() {
        Err("the estimator gave no estimate".to_owned())
    } else {
        Ok(Estimation { points })
    }
}

/// Runs a scenario whose association must be up at the end.
fn carry_out(
    world: &dyn World,
    file: ScenarioFile,
    overrides: &[String],
    seed: u64,
) -> Result<(Summary, Series), String> {
    let (summary, series) = file.carry_out(world, overrides, seed)?;
    match summary.associations.first() {
        None => Err("the scenario has no association".to_owned()),
        Some(association) => match &association.ended {
            Some(reason) => Err(format!("the association ended: {reason}")),
            None if association.established.is_none() => Err("the association was never up".to_owned()),
            None => Ok((summary, series)),
        },
    }
}

fn sender(series: &Series) -> Result<&TraceSeries, String> {
    series
        .traces
        .iter()
        .find(|trace| trace.side == SENDER)
        .ok_or_else(|| "the sender has no trace".to_owned())
}

/// Returns the user bytes delivered in each step.
fn delivered(series: &Series) -> Result<Vec<u64>, String> {
    let delivery = series
        .delivery
        .iter()
        .find(|delivery| delivery.side == RECEIVER)
        .ok_or_else(|| "deliveries were not recorded".to_owned())?;
    let interval = delivery.total.interval.as_secs_f64();
    if (interval - STEP).abs() > 1e-9 {
        return Err(format!("probes.throughput is {interval} s: want {STEP} s"));
    }
    let steps = (DURATION.as_secs_f64() / STEP).round() as usize;
    let mut sums = delivery.total.sums.clone();
    sums.resize(steps, 0);
    Ok(sums)
}

/// The sender's switch of the primary path.
struct Switch {
    at: Time,
    to: PathId,
    cwnd: u64,
    ssthresh: u64,
}

fn switch(trace: &TraceSeries) -> Result<Switch, String> {
    let (at, to) = trace
        .marks
        .iter()
        .find_map(|mark| match mark.kind {
            TraceKind::Primary { to, .. } => Some((mark.at, to)),
            _ => None,
        })
        .ok_or_else(|| "the primary path was never switched".to_owned())?;
    // The request crosses a loaded path: it can be late by the duration of that path's full queue.
    let (early, late) = (Time::ZERO + SWITCH, Time::ZERO + SWITCH + SWITCH / 6);
    if at < early || at > late {
        return Err(format!("the primary path was switched at {at}: want {early} to {late}"));
    }
    let (cwnd, ssthresh) = trace
        .marks
        .iter()
        .find_map(|mark| match mark.kind {
            TraceKind::StartState { path, cwnd, ssthresh } if mark.at == at && path == to => {
                Some((cwnd, ssthresh))
            }
            _ => None,
        })
        .ok_or_else(|| "the handover policy gave the new path no starting state".to_owned())?;
    Ok(Switch { at, to, cwnd, ssthresh })
}

/// Returns the congestion window of the current primary path at each step; 0 before the association is up.
fn primary_window(trace: &TraceSeries) -> Vec<f64> {
    let columns = &trace.window;
    let mut changes: Vec<(Time, PathId, u64)> =
        (0..columns.at.len()).map(|i| (columns.at[i], columns.path[i], columns.cwnd[i])).collect();
    changes.extend(trace.marks.iter().filter_map(|mark| match mark.kind {
        TraceKind::StartState { path, cwnd, .. } => Some((mark.at, path, cwnd)),
        _ => None,
    }));
    changes.sort_by_key(|&(at, path, _)| (at, path));
    let primaries: Vec<(Time, PathId, PathId)> = trace
        .marks
        .iter()
        .filter_map(|mark| match mark.kind {
            TraceKind::Primary { from, to, .. } => Some((mark.at, from, to)),
            _ => None,
        })
        .collect();
    let first =
        primaries.first().map(|&(_, from, _)| from).or_else(|| changes.first().map(|&(_, path, _)| path));

    let steps = (DURATION.as_secs_f64() / STEP).round() as u64;
    let step = DURATION.mul_ratio(1, steps);
    let mut windows: Vec<(PathId, u64)> = Vec::new();
    let mut next = changes.into_iter().peekable();
    (0..steps)
        .map(|number| {
            let now = Time::ZERO + step * number;
            while let Some((_, path, cwnd)) = next.next_if(|&(at, _, _)| at <= now) {
                match windows.iter_mut().find(|(known, _)| *known == path) {
                    Some((_, window)) => *window = cwnd,
                    None => windows.push((path, cwnd)),
                }
            }
            let primary = primaries.iter().rfind(|(at, _, _)| *at <= now).map(|&(_, _, to)| to).or(first);
            windows.iter().find(|(path, _)| Some(*path) == primary).map_or(0.0, |&(_, cwnd)| cwnd as f64)
        })
        .collect()
}

/// Returns the times of matching events from the switch on, in seconds.
fn marks(trace: &TraceSeries, switch: &Switch, what: impl Fn(TraceKind) -> bool) -> Vec<f64> {
    let after = trace.marks.iter().filter(|mark| mark.at >= switch.at && what(mark.kind));
    after.map(|mark| mark.at.as_secs_f64()).collect()
}

fn estimate_before(trace: &TraceSeries, switch: &Switch) -> Option<LastEstimate> {
    let estimates = &trace.estimate;
    let last =
        (0..estimates.at.len()).rfind(|&i| estimates.at[i] <= switch.at && estimates.path[i] == switch.to)?;
    Some(LastEstimate {
        capacity: estimates.capacity[last].as_bps() as f64,
        available: estimates.available[last].as_bps() as f64,
        min_rtt: estimates.min_rtt[last].as_secs_f64(),
    })
}

/// Returns the first fall of the new path's window to less than three quarters of its highest value.
fn first_fall(trace: &TraceSeries, switch: &Switch) -> Option<Fall> {
    let window = &trace.window;
    let mut highest = switch.cwnd;
    for i in 0..window.at.len() {
        if window.at[i] < switch.at || window.path[i] != switch.to {
            continue;
        }
        if window.cwnd[i] * 4 < highest * 3 {
            let at = window.at[i];
            let by_timeout = trace.marks.iter().any(|mark| {
                mark.at == at && matches!(mark.kind, TraceKind::T3Timeout { path, .. } if path == switch.to)
            });
            return Some(Fall { at: at.as_secs_f64(), by_timeout });
        }
        highest = highest.max(window.cwnd[i]);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::grid::{Scheme, WindowSet};
    use super::*;

    fn key(movement: Movement, load: u8, scheme: Scheme) -> RunKey {
        RunKey { windows: WindowSet::Small, movement, load, scheme, seed: 3 }
    }

    #[test]
    fn the_same_key_gives_the_same_result() {
        let key = key(Movement::ToWlan, 40, Scheme::Adaptive);
        assert_eq!(handover(&key).unwrap(), handover(&key).unwrap());
    }

    #[test]
    fn the_schemes_differ_only_from_the_window_at_the_switch_on() {
        for movement in Movement::ALL {
            let [conservative, inherit, adaptive] =
                Scheme::ALL.map(|scheme| handover(&key(movement, 40, scheme)).unwrap());
            let estimate = adaptive.estimate.unwrap();
            assert_eq!(inherit.estimate, Some(estimate), "all probe alike");
            assert_eq!(inherit.start_ssthresh, adaptive.start_ssthresh);
            assert_eq!(inherit.start_ssthresh, (estimate.available * estimate.min_rtt / 16.0) as u64);
            assert_eq!(conservative.start_cwnd, 1468, "1 MTU, as DATA chunks count");
            assert_eq!(inherit.start_cwnd as f64, inherit.cwnd[299], "the old path's window");
            // Eq. 3, to the byte except for rounding.
            let bdp = estimate.capacity * estimate.min_rtt / 8.0;
            let want = bdp.min(adaptive.cwnd[299]) * estimate.available / estimate.capacity;
            assert!((adaptive.start_cwnd as f64 - want).abs() < 2.0, "{} for {want}", adaptive.start_cwnd);
            for other in [&inherit, &adaptive] {
                assert_eq!(other.cwnd[..300], conservative.cwnd[..300]);
                assert_eq!(other.delivered[..300], conservative.delivered[..300]);
            }
        }
    }

    #[test]
    fn curves_and_totals_agree() {
        let run = handover(&key(Movement::To3g, 80, Scheme::Inherit)).unwrap();
        assert_eq!(run.cwnd.len(), 600);
        assert_eq!(run.delivered.iter().sum::<f64>() as u64, run.total_bytes);
        assert_eq!(run.delivered[300..].iter().sum::<f64>() as u64, run.after_bytes);
        let fall = run.first_fall.unwrap();
        assert!(fall.at > run.switch_at);
        let instants = if fall.by_timeout { &run.timeouts } else { &run.fast_retransmits };
        assert!(instants.contains(&fall.at), "a window falls at a loss");
    }

    #[test]
    fn the_estimator_runs_from_the_new_address_to_the_end() {
        for movement in Movement::ALL {
            let run = estimation(&EstimationKey { movement, seed: 1 }).unwrap();
            assert!(run.points[0].at < 5.0 && run.points.last().unwrap().at > 145.0);
            assert!(run.points.is_sorted_by(|a, b| a.at < b.at));
        }
    }
}
