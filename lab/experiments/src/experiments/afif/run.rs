//! Carries out one run: builds the scenario from its key, simulates it, extracts the measurements.

use msctp_link::egprs::{CodingConfig, CodingProcess};
use msctp_proto::{Direction, PathId, TraceKind};
use msctp_schemes::policies::note;
use msctp_sim::Series;
use msctp_sim::random::component_seed;
use msctp_sim::series::TraceSeries;
use msctp_units::{Rate, Span, Time};

use super::measure::{Run, STEP, Stall, Switch};
use super::plan::{AFTER_HANDOVER, Course, DURATION, RunKey, Variant};
use crate::scenario_file::{ScenarioFile, scenario_file};

/// The scenario files of the experiment.
pub const SCENARIOS: [ScenarioFile; 2] =
    [scenario_file!("afif/deterministic.toml"), scenario_file!("afif/random.toml")];

/// Time from the handover to the switch of the sender's primary path.
const SWITCH_AFTER: Span = Span::from_secs(2);
/// PMDCS at the scenario's MTU.
const PMDCS: u64 = 1468;

/// Returns the scenario of a course.
#[must_use]
pub fn scenario(course: Course) -> ScenarioFile {
    match course {
        Course::Deterministic => SCENARIOS[0],
        Course::Random => SCENARIOS[1],
    }
}

/// Returns the changes of the radio conditions, as time and new state; the last is the handover.
fn changes(course: Course, seed: u64) -> Result<Vec<(f64, String)>, String> {
    let config = match course {
        Course::Deterministic => CodingConfig::afif_table(),
        Course::Random => CodingConfig::afif_markov(),
    };
    // Use the simulator's own stream for the link's process.
    let stream = component_seed(seed, "link/cell/coding");
    let mut process = CodingProcess::new(config, stream).map_err(|error| error.to_string())?;
    let mut changes = Vec::new();
    while let Some(at) = process.next_change() {
        while let Some(change) = process.change(at) {
            let name = change.scheme.name();
            let name = if change.handover { format!("handover, {name}") } else { name.to_owned() };
            changes.push((at.as_secs_f64(), name));
        }
    }
    Ok(changes)
}

/// Returns the overrides of the scenario.
///
/// # Errors
/// The course has no handover.
pub fn overrides(key: &RunKey) -> Result<Vec<String>, String> {
    let mut sets: Vec<String> = match key.variant {
        Variant::Standard => Vec::new(),
        Variant::Extended => vec![
            "sctp.server.handover_policy=qos-measurement".to_owned(),
            "link.cell.report_quality=true".to_owned(),
        ],
        Variant::Ignorant => vec!["link.cell.report_quality=true".to_owned()],
    };
    if key.course == Course::Random {
        let handover = handover_of(&changes(key.course, key.seed)?)?;
        // Round to whole milliseconds, which a command line can repeat.
        let ms = |span: f64| format!("{}ms", (span * 1000.0).round() as u64);
        sets.push(format!("duration={}", ms(handover + AFTER_HANDOVER.as_secs_f64())));
        sets.push(format!("action.0.at={}", ms(handover + SWITCH_AFTER.as_secs_f64())));
    }
    Ok(sets)
}

fn handover_of(changes: &[(f64, String)]) -> Result<f64, String> {
    let handover = changes.iter().find(|(_, name)| name.starts_with("handover"));
    handover.map(|&(at, _)| at).ok_or_else(|| "the radio conditions end without a handover".to_owned())
}

/// Carries out the run.
///
/// # Errors
/// The scenario is invalid, or the run is not the experiment.
pub fn run(key: &RunKey) -> Result<Run, String> {
    let changes = changes(key.course, key.seed)?;
    let handover_at = handover_of(&changes)?;
    let (summary, series) = scenario(key.course).simulate(&overrides(key)?, key.seed)?;
    let sender = side(&series, "server")?;
    let mobile = side(&series, "client")?;
    let association = summary.associations.first().ok_or("the scenario has no association")?;
    let established = association.established.ok_or("the association was never up")?;
    let duration = match key.course {
        Course::Deterministic => DURATION.as_secs_f64(),
        Course::Random => handover_at + AFTER_HANDOVER.as_secs_f64(),
    };
    let steps = (duration / STEP).floor() as usize;
    let progress = Progress::of(sender);
    let (cwnd, ssthresh) = primary_window(sender, steps);
    let blocks = blocks(&series, steps)?;
    Ok(Run {
        duration,
        changes,
        handover_at,
        total_bytes: association.to_client.bytes,
        in_order: association.ended.is_none() && !errors(sender, mobile),
        reports_sent: reports(mobile, Direction::Out),
        reports_taken: reports(sender, Direction::In),
        cwnd,
        ssthresh,
        tsn: sampled(&progress.sent, steps),
        cum_tsn: sampled(&progress.acked, steps),
        block_stall: block_stall(&blocks, established),
        blocks,
        timeouts: timeouts(sender),
        switch: switch(sender, key.variant)?,
        tsn_stall: progress.stall(duration),
    })
}

fn side<'s>(series: &'s Series, side: &str) -> Result<&'s TraceSeries, String> {
    let trace = series.traces.iter().find(|trace| trace.side == side);
    trace.ok_or_else(|| format!("the {side} has no trace"))
}

/// Returns true if an ERROR chunk was sent in either direction.
fn errors(sender: &TraceSeries, mobile: &TraceSeries) -> bool {
    const ERROR: u8 = 9;
    let is_error = |kind| matches!(kind, TraceKind::Control { chunk_type: ERROR, .. });
    [sender, mobile].iter().any(|trace| trace.chunks.iter().any(|event| is_error(event.kind)))
}

fn reports(trace: &TraceSeries, way: Direction) -> u64 {
    let wanted = if way == Direction::Out { note::SENT } else { note::RECEIVED };
    let is_it = |kind| matches!(kind, TraceKind::PolicyNote { name, .. } if name == wanted);
    trace.marks.iter().filter(|mark| is_it(mark.kind)).count() as u64
}

fn timeouts(sender: &TraceSeries) -> Vec<f64> {
    let is_it = |kind| matches!(kind, TraceKind::T3Timeout { .. });
    sender.marks.iter().filter(|mark| is_it(mark.kind)).map(|mark| mark.at.as_secs_f64()).collect()
}

/// The sender's progress in chunks from the first: (time in seconds, count), by ascending time.
struct Progress {
    /// Chunks sent for the first time.
    sent: Vec<(f64, f64)>,
    /// Chunks cumulatively acknowledged.
    acked: Vec<(f64, f64)>,
}

impl Progress {
    fn of(sender: &TraceSeries) -> Self {
        let (mut sent, mut acked) = (Vec::new(), Vec::new());
        let mut first = None;
        for event in &sender.chunks {
            let at = event.at.as_secs_f64();
            match event.kind {
                TraceKind::Data { direction: Direction::Out, tsn, again: false, .. } => {
                    let first = *first.get_or_insert(tsn);
                    sent.push((at, f64::from(tsn.wrapping_sub(first)) + 1.0));
                }
                TraceKind::Sack { direction: Direction::In, cum_tsn_ack, .. } => {
                    // Ignore a SACK that is out of order.
                    let Some(first) = first else { continue };
                    let count = f64::from(cum_tsn_ack.wrapping_sub(first)) + 1.0;
                    let before = acked.last().map_or(0.0, |&(_, count)| count);
                    if count > before && count <= sent.len() as f64 {
                        acked.push((at, count));
                    }
                }
                _ => {}
            }
        }
        Self { sent, acked }
    }

    fn stall(&self, end: f64) -> Stall {
        let instants: Vec<f64> = self.sent.iter().map(|&(at, _)| at).collect();
        Stall::longest(&instants, end)
    }
}

/// Samples a step function at each step.
fn sampled(curve: &[(f64, f64)], steps: usize) -> Vec<f64> {
    let mut next = curve.iter().peekable();
    let mut value = 0.0;
    (0..steps)
        .map(|step| {
            while let Some(&(_, later)) = next.next_if(|&&(at, _)| at <= step as f64 * STEP) {
                value = later;
            }
            value
        })
        .collect()
}

/// Returns the number of blocks at each step, sampled by the simulator once a second.
fn blocks(series: &Series, steps: usize) -> Result<Vec<f64>, String> {
    let cell = series.queues.iter().find(|queue| queue.direction == "cell/forward");
    let cell = cell.ok_or("the cell's queue was not recorded")?;
    let points: Vec<(f64, f64)> =
        cell.at.iter().zip(&cell.blocks).map(|(at, &blocks)| (at.as_secs_f64(), blocks as f64)).collect();
    if points.iter().all(|&(_, blocks)| blocks == 0.0) {
        return Err("the cell sent no blocks".to_owned());
    }
    Ok(sampled(&points, steps))
}

/// Returns the longest stall from the first block after the set-up on.
fn block_stall(blocks: &[f64], established: f64) -> Stall {
    let first = (established / STEP).ceil() as usize;
    let moved = (first.max(1)..blocks.len()).filter(|&step| blocks[step] > blocks[step - 1]);
    let instants: Vec<f64> = moved.map(|step| step as f64 * STEP).collect();
    Stall::longest(&instants, blocks.len() as f64 * STEP)
}

/// Returns window and threshold of the current primary path, at each step.
fn primary_window(sender: &TraceSeries, steps: usize) -> (Vec<f64>, Vec<f64>) {
    let window = &sender.window;
    let switched = primary_switch(sender);
    let mut next = 0;
    let mut known: Vec<(PathId, u64, u64)> = Vec::new();
    (0..steps)
        .map(|step| {
            let now = Time::ZERO + Span::from_millis((step as f64 * STEP * 1000.0) as u64);
            while next < window.at.len() && window.at[next] <= now {
                let entry = (window.path[next], window.cwnd[next], window.ssthresh[next]);
                match known.iter_mut().find(|known| known.0 == entry.0) {
                    Some(known) => *known = entry,
                    None => known.push(entry),
                }
                next += 1;
            }
            let primary = match switched {
                Some((at, _, to)) if at <= now => Some(to),
                Some((_, from, _)) => Some(from),
                None => known.first().map(|known| known.0),
            };
            let entry = known.iter().find(|known| Some(known.0) == primary);
            let limited = |ssthresh: u64| if ssthresh == u64::MAX { 0.0 } else { ssthresh as f64 };
            entry.map_or((0.0, 0.0), |&(_, cwnd, ssthresh)| (cwnd as f64, limited(ssthresh)))
        })
        .unzip()
}

/// Returns the first switch by the sender's own call: time, old path, new path.
fn primary_switch(sender: &TraceSeries) -> Option<(Time, PathId, PathId)> {
    sender.marks.iter().find_map(|mark| match mark.kind {
        TraceKind::Primary { from, to, cause: msctp_proto::PrimaryCause::Local } => Some((mark.at, from, to)),
        _ => None,
    })
}

/// Returns the windows around the handover, and the formula's.
fn switch(sender: &TraceSeries, variant: Variant) -> Result<Switch, String> {
    let (at, from, to) = primary_switch(sender).ok_or("the primary path was never switched")?;
    let window = &sender.window;
    let last = |path: PathId, before: Time| {
        let index = (0..window.at.len()).rfind(|&i| window.path[i] == path && window.at[i] < before)?;
        Some((window.cwnd[index], window.ssthresh[index]))
    };
    let (old_cwnd, old_ssthresh) = last(from, at).ok_or("the old path has no window")?;
    let start = sender.marks.iter().find_map(|mark| match mark.kind {
        TraceKind::StartState { path, cwnd, ssthresh } if mark.at == at && path == to => {
            Some((cwnd, ssthresh))
        }
        _ => None,
    });
    // If the policy gives no state, the path starts with its controller's.
    let own = || {
        let index = (0..window.at.len()).find(|&i| window.path[i] == to)?;
        Some((window.cwnd[index], window.ssthresh[index]))
    };
    let (cwnd, ssthresh) = start.or_else(own).ok_or("the new path has no window")?;
    let formula = if variant == Variant::Extended { formula(sender, at, (from, to), old_cwnd) } else { None };
    Ok(Switch { at: at.as_secs_f64(), old_cwnd, old_ssthresh, cwnd, ssthresh, formula })
}

/// Computes min(rate · RTT_min, cwnd_old), at least 1 PMDCS, from the last report before `at` and the
/// measured round trips.
fn formula(sender: &TraceSeries, at: Time, (from, to): (PathId, PathId), old_cwnd: u64) -> Option<u64> {
    let rate = sender.marks.iter().rev().find_map(|mark| match mark.kind {
        TraceKind::PolicyNote { name: note::RATE, value, .. } if mark.at <= at => Some(Rate::from_bps(value)),
        _ => None,
    })?;
    let rtt = &sender.rtt;
    let least = |path: PathId| {
        (0..rtt.at.len()).filter(|&i| rtt.path[i] == path && rtt.at[i] <= at).map(|i| rtt.sample[i]).min()
    };
    let bdp = rate.bytes_in(least(to).or_else(|| least(from))?);
    Some(bdp.min(old_cwnd).max(PMDCS))
}

/// Returns the command that repeats a run.
pub(super) fn command(key: &RunKey) -> String {
    scenario(key.course).command(key.seed, &overrides(key).unwrap_or_default())
}

/// Returns the summary of a run, for the tests.
#[cfg(test)]
fn summary_of(key: &RunKey) -> msctp_sim::Summary {
    scenario(key.course).simulate(&overrides(key).unwrap(), key.seed).unwrap().0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(variant: Variant) -> RunKey {
        RunKey { course: Course::Deterministic, variant, seed: 1 }
    }

    #[test]
    fn a_run_of_each_variant_is_valid() {
        for variant in [Variant::Standard, Variant::Extended, Variant::Ignorant] {
            let run = run(&key(variant)).unwrap();
            assert_eq!((run.duration, run.handover_at, run.switch.at), (900.0, 700.0, 702.0));
            assert!(run.in_order && run.total_bytes > 1_000_000, "{variant:?}: {}", run.total_bytes);
            assert_eq!(run.reports_sent > 0, variant != Variant::Standard);
            assert_eq!(run.reports_taken > 0, variant == Variant::Extended);
            assert_eq!(run.cum_tsn.len(), 900);
            assert!(run.cum_tsn.is_sorted() && run.blocks.is_sorted() && run.tsn.is_sorted());
            assert!(run.cum_tsn.iter().zip(&run.tsn).all(|(acked, sent)| acked <= sent));
            assert!(run.cum_tsn[899] * 1452.0 <= run.total_bytes as f64 + 1452.0);
        }
    }

    #[test]
    fn the_random_course_is_predicted_before_the_run() {
        let key = RunKey { course: Course::Random, variant: Variant::Standard, seed: 3 };
        let handover = handover_of(&changes(key.course, key.seed).unwrap()).unwrap();
        let summary = summary_of(&key);
        assert!((summary.duration - handover - 200.0).abs() < 0.001, "{} {handover}", summary.duration);
    }

    #[test]
    fn curves_hold_their_value_until_the_next() {
        assert_eq!(sampled(&[(0.5, 1.0), (2.0, 5.0), (2.0, 6.0)], 4), [0.0, 1.0, 6.0, 6.0]);
        let stall = block_stall(&[0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 3.0], 1.5);
        assert_eq!(stall, Stall { from: 3.0, length: 3.0 });
    }
}
