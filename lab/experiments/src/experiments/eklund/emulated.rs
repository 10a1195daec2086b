//! The experiment on real stacks: videos by the `msctp` crate, competing TCP by the kernel (Reno, as in the
//! runs that decide).

use super::claims::{Measured, ledger, mmtt, startup_mean};
use super::grid::{Mix, Network, RunKey, Tcp, Window};
use super::measure::Run;
use super::run::{run_in, scenario};
use crate::agreement::{Agreement, Row};
use crate::experiments::{Effort, Emulated, WorldResults, Worlds, simulator_repetitions};
use crate::plan::ThreadsError;

/// The experiment on real stacks, for the entry of [`EXPERIMENTS`](super::super::EXPERIMENTS).
pub(super) const EMULATED: Emulated = Emulated { plan, simulated, carry_out };

/// The combinations for which the paper has figures and claims.
const MIXES: [Mix; 5] = [
    Mix::new(Network::Low, 1, 1),
    Mix::new(Network::Low, 2, 1),
    Mix::new(Network::High, 1, 2),
    Mix::new(Network::High, 5, 2),
    Mix::new(Network::High, 5, 10),
];

/// The combinations of a quick run: one on each network.
const QUICK_MIXES: [Mix; 2] = [Mix::new(Network::Low, 1, 1), Mix::new(Network::High, 1, 2)];

fn mixes(quick: bool) -> &'static [Mix] {
    if quick { &QUICK_MIXES } else { &MIXES }
}

fn conditions(quick: bool) -> impl Iterator<Item = (Mix, Window)> {
    mixes(quick).iter().flat_map(|&mix| Window::ALL.map(|window| (mix, window)))
}

fn keys(quick: bool, runs: u64) -> Vec<RunKey> {
    let key = |(mix, window), seed| RunKey { tcp: Tcp::NewReno, mix, paced: false, window, seed };
    conditions(quick).flat_map(|condition| (1..=runs).map(move |seed| key(condition, seed))).collect()
}

/// Returns the duration of every real-time run, in seconds.
fn plan(effort: &Effort, repetitions: u64) -> Vec<u32> {
    keys(effort.quick, repetitions).iter().map(|key| key.mix.network.times().2).collect()
}

/// Returns the number of the simulator's runs.
fn simulated(effort: &Effort, repetitions: u64) -> usize {
    keys(effort.quick, simulator_repetitions(repetitions)).len()
}

fn carry_out(effort: &Effort, worlds: &Worlds<'_>) -> Result<Agreement, ThreadsError> {
    let (of_real, of_simulated) = (worlds.repetitions, simulator_repetitions(worlds.repetitions));
    let plans = ["eklund", "eklund on real stacks"];
    let WorldResults { simulated, real, failed, skipped } =
        worlds.carry_out(plans, |runs| keys(effort.quick, runs), run_in)?;
    let (simulated, real): (Measured, Measured) =
        (simulated.into_iter().collect(), real.into_iter().collect());
    Ok(Agreement {
        paper: "eklund",
        extent: format!(
            "{} combinations of network, videos and TCP flows, four initial windows, {of_real} runs on real stacks and \
             {of_simulated} in the simulator under each condition.",
            mixes(effort.quick).len()
        ),
        example: keys(effort.quick, 1)
            .first()
            .map(|key| scenario(key.mix.network).emulation(key.seed, &key.overrides()))
            .unwrap_or_default(),
        machine: String::new(),
        rows: rows(effort.quick, &simulated, &real),
        claims: ledger(&simulated).into_iter().zip(ledger(&real)).collect(),
        reasons: REASONS,
        failed,
        skipped,
    })
}

type Extractor = fn(&RunKey, &Run) -> Option<f64>;

/// Metrics compared between the two worlds.
const METRICS: [(&str, Extractor); 3] = [
    ("MMTT of the start-up, ms", |_, run| mmtt(run)),
    ("mean MTT of the start-up, ms", |_, run| startup_mean(run)),
    ("TCP while the video is on, Mbps", |key, run| {
        let (switch, end, _) = key.mix.network.times();
        run.tcp_rate(switch, end).map(|rate| rate * 1e-6)
    }),
];

fn rows(quick: bool, simulated: &Measured, real: &Measured) -> Vec<Row> {
    let mut rows = Vec::new();
    for (mix, window) in conditions(quick) {
        for (measure, figure) in METRICS {
            let of = |measured: &Measured| {
                let own = measured.iter().filter(|(key, _)| (key.mix, key.window) == (mix, window));
                own.filter_map(|(key, run)| figure(key, run)).collect()
            };
            let case = format!("{mix}, {}", window.words());
            let (simulated, real) = (of(simulated), of(real));
            rows.push(Row { case, measure, simulated, real });
        }
    }
    rows
}

/// Known differences and their causes.
const REASONS: &[(&str, &str)] = &[
    (
        "hc: MMTT",
        "It is either 60 ms (a full queue) or 130 to 200 ms (one packet lost, those behind it wait for its fast retransmit), so that \
         its mean is the share of runs in which one of the first video’s packets is lost within 5 s. TCP sends as many segments again at \
         each overflow, and as often, in both worlds (captured); whose packet is dropped differs, and it hangs on timing finer than \
         a packet (phase effects of a drop-tail queue): 200 kbps of 64-byte packets at random intervals beside the TCP, each \
         way, bring the simulator’s share from 62 to 35 of 160 runs (1 video, 2 TCP, NR).",
    ),
    (
        "lc: MMTT",
        "It scatters by a factor of three from seed to seed in both worlds: what the video finds is a point of TCP’s saw-tooth, which \
         climbs for a minute and more (150 packets, one a round trip of 0.3 to 0.6 s). The interval of the ratio is as wide.",
    ),
];
