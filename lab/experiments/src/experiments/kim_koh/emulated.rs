//! The handovers on real stacks: both ends by the `msctp` crate, the background by the emulator.

use std::collections::BTreeMap;

use super::claims::{Measured, ledger};
use super::grid::{DURATION, Movement, RunKey, SWITCH, Scheme, WindowSet};
use super::measure::{Handover, STEP};
use super::run::{handover_in, handover_scenario};
use crate::agreement::{Agreement, Row};

use crate::experiments::{Effort, Emulated, ReproduceError, Worlds};
use crate::paper::Texts;
use crate::reproduce::{WorldResults, simulator_repetitions};

/// The experiment on real stacks, for the entry of [`EXPERIMENTS`](super::super::EXPERIMENTS).
pub(super) const EMULATED: Emulated = Emulated { plan, simulated, carry_out };

/// Background in % of the target link: the loads of the paper's curves, except the one that scatters most.
const LOADS: [u8; 2] = [0, 40];

/// Returns the loads; a quick run has the one with background alone.
fn loads(quick: bool) -> &'static [u8] {
    if quick { &LOADS[1..] } else { &LOADS }
}

fn conditions(quick: bool) -> impl Iterator<Item = (Movement, u8, Scheme)> {
    let loads = move |movement| loads(quick).iter().map(move |&load| (movement, load));
    let schemes = |(movement, load)| Scheme::ALL.map(|scheme| (movement, load, scheme));
    Movement::ALL.into_iter().flat_map(loads).flat_map(schemes)
}

fn keys(quick: bool, runs: u64) -> Vec<RunKey> {
    let windows = WindowSet::Small;
    let key = |(movement, load, scheme), seed| RunKey { windows, movement, load, scheme, seed };
    conditions(quick).flat_map(|condition| (1..=runs).map(move |seed| key(condition, seed))).collect()
}

/// Returns the duration of every real-time run, in seconds.
fn plan(effort: &Effort, repetitions: u64) -> Vec<u32> {
    keys(effort.quick, repetitions).iter().map(|_| DURATION.as_secs_f64() as u32).collect()
}

/// Returns the number of the simulator's runs.
fn simulated(effort: &Effort, repetitions: u64) -> usize {
    keys(effort.quick, simulator_repetitions(repetitions)).len()
}

fn carry_out(effort: &Effort, worlds: &Worlds<'_>) -> Result<Agreement, ReproduceError> {
    let (of_real, of_simulated) = (worlds.repetitions, simulator_repetitions(worlds.repetitions));
    let texts = Texts::read(&super::TEXTS)?;
    let plans = ["kim-koh handover", "kim-koh on real stacks"];
    let WorldResults { simulated, real, failed, skipped } =
        worlds.carry_out(plans, |runs| keys(effort.quick, runs), handover_in)?;
    let measured = |done: Vec<(RunKey, Handover)>| Measured {
        handovers: done.into_iter().collect(),
        estimations: BTreeMap::new(),
    };
    let (simulated, real) = (measured(simulated), measured(real));
    Ok(Agreement {
        paper: "kim-koh".to_owned(),
        extent: format!(
            "Three schemes, two movements, background of {} %, rwnd 65,536 B, {of_real} runs on real stacks and {of_simulated} in \
             the simulator under each condition.",
            loads(effort.quick).iter().map(u8::to_string).collect::<Vec<_>>().join(" and ")
        ),
        example: keys(effort.quick, 1)
            .first()
            .map(|key| handover_scenario(key.movement).emulation(key.seed, &key.overrides()))
            .unwrap_or_default(),
        machine: String::new(),
        rows: rows(effort.quick, &simulated, &real),
        claims: ledger(&texts, &simulated).into_iter().zip(ledger(&texts, &real)).collect(),
        reasons: REASONS.iter().map(|&(what, why)| (what.to_owned(), why.to_owned())).collect(),
        failed,
        skipped,
    })
}

type Extractor = fn(&Handover) -> Option<f64>;

/// Returns the user rate over this many seconds from the switch on, in Mbps.
fn after(run: &Handover, seconds: f64) -> Option<f64> {
    let (from, count) = ((SWITCH.as_secs_f64() / STEP).round() as usize, (seconds / STEP).round() as usize);
    let part = run.delivered.get(from..from + count)?;
    Some(part.iter().sum::<f64>() * 8e-6 / seconds)
}

/// Metrics compared between the two worlds.
const METRICS: [(&str, Extractor); 3] = [
    ("throughput in the 5 s after the switch, Mbps", |run| after(run, 5.0)),
    ("throughput in the 30 s after the switch, Mbps", |run| after(run, 30.0)),
    ("window given to the new path, kB", |run| Some(run.start_cwnd as f64 * 1e-3)),
];

fn rows(quick: bool, simulated: &Measured, real: &Measured) -> Vec<Row> {
    let mut rows = Vec::new();
    for (movement, load, scheme) in conditions(quick) {
        for (measure, figure) in METRICS {
            let of = |measured: &Measured| {
                let own = measured
                    .handovers
                    .iter()
                    .filter(|(key, _)| (key.movement, key.load, key.scheme) == (movement, load, scheme));
                own.filter_map(|(_, run)| figure(run)).collect()
            };
            let case = format!("{}, {load} %, {}", movement.words(), scheme.words());
            let (simulated, real) = (of(simulated), of(real));
            rows.push(Row { case, measure: measure.to_owned(), simulated, real });
        }
    }
    rows
}

/// Known differences and their causes.
const REASONS: &[(&str, &str)] = &[(
    "3G → WLAN, adaptive: window given to the new path",
    "The pairs that measure the link’s capacity arrive at the mobile 509 µs apart, as they should, but its answers do not leave so: \
     to the first of a pair it has to be woken up (captured: 165 to 416 µs until the answer), to the second it is awake (46 to \
     168 µs). The answers come closer together than the pairs, C is taken for 12 to 15 Mbps instead of 11, and B = C(2 − C/R) and the \
     window B·RTT_min with it falls short. The throughput hardly shows it. On 3G a pair is 15 ms apart, and nothing is seen.",
)];
