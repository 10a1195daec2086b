//! Compares all handover policies on the papers' handovers, under the same seeds: throughput after the
//! switch, the longest gap, losses of other traffic, and the regret against an oracle that knows the free
//! capacity of the new path.
//!
//! The policies are those of `msctp-schemes`; the cases are in [`case`].

pub mod case;
mod measure;
mod show;

use std::fmt;

use msctp_schemes::policies::{Oracle, policies};
use serde::Serialize;

use self::case::{CASES, Case};
pub use self::measure::Run;
use crate::plan::{Execution, Outcomes, ThreadsError, execute};
use crate::stats::{Mean, paired_difference};

/// One run of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index of the case.
    pub case: usize,
    /// Index of the policy in the registry.
    pub policy: usize,
    /// Seed of every random stream; the same for all policies.
    pub seed: u64,
}

impl Key {
    fn case(&self) -> &'static Case {
        &CASES[self.case]
    }

    fn policy(&self) -> &'static str {
        policies()[self.policy].name
    }

    /// Returns the command that repeats the run.
    #[must_use]
    pub fn command(&self) -> String {
        self.case().file.command(self.seed, &self.case().overrides(self.policy()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}, seed {}", self.case().paper, self.case().name, self.policy(), self.seed)
    }
}

/// Returns the runs of a comparison with seeds 1 to `seeds`.
#[must_use]
pub fn keys(seeds: u64) -> Vec<Key> {
    let pairs = (0..CASES.len()).flat_map(|case| (0..policies().len()).map(move |policy| (case, policy)));
    pairs.flat_map(|(case, policy)| (1..=seeds).map(move |seed| Key { case, policy, seed })).collect()
}

/// The results of a policy in a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The policy.
    pub policy: &'static str,
    /// User throughput in the 5 s after the switch, bit/s.
    pub after: Mean,
    /// User throughput over the whole run, bit/s.
    pub whole: Mean,
    /// Longest gap around the switch, s.
    pub gap: Mean,
    /// Share of the other traffic that was lost; `None` without other traffic.
    pub cross_loss: Option<Mean>,
    /// How far `after` stays below the oracle's under the same seeds, as a share of the oracle's. A negative
    /// value is better than the oracle. `None` without an oracle's run to compare with.
    pub regret: Option<Mean>,
}

/// The results of all policies in a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The case.
    pub case: &'static str,
    /// The paper whose scenario it is.
    pub paper: &'static str,
    /// The conditions in words.
    pub words: &'static str,
    /// One for each policy, in the registry's order.
    pub cells: Vec<Cell>,
}

/// The whole matrix.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// One for each case.
    pub rows: Vec<Row>,
    /// The outcome of each run.
    pub outcomes: Outcomes<Key, Run>,
}

impl Comparison {
    /// Returns the runs that failed, with the reason.
    #[must_use]
    pub fn failed(&self) -> Vec<(String, String)> {
        self.outcomes.failures()
    }
}

/// Runs the comparison.
///
/// # Errors
/// [`ThreadsError`]. Runs that fail are in [`Comparison::outcomes`].
pub fn compare(seeds: u64, execution: &Execution<'_>) -> Result<Comparison, ThreadsError> {
    let outcomes = execute("compare", keys(seeds), execution, |key| {
        let (summary, _) = key.case().file.simulate(&key.case().overrides(key.policy()), key.seed)?;
        measure::run(&summary)
    })?;
    let rows = CASES.iter().enumerate().map(|(number, case)| row(number, case, &outcomes.done)).collect();
    Ok(Comparison { rows, outcomes })
}

fn row(number: usize, case: &Case, done: &[(Key, Run)]) -> Row {
    let oracle = policies().iter().position(|policy| policy.name == Oracle::NAME);
    let runs = |policy: usize| -> Vec<(u64, Run)> {
        let of = |key: &Key| key.case == number && key.policy == policy;
        done.iter().filter(|(key, _)| of(key)).map(|&(key, run)| (key.seed, run)).collect()
    };
    let best = oracle.map(runs).unwrap_or_default();
    let cells =
        (0..policies().len()).filter_map(|policy| cell(policies()[policy].name, &runs(policy), &best));
    Row { case: case.name, paper: case.paper, words: case.words, cells: cells.collect() }
}

fn cell(policy: &'static str, runs: &[(u64, Run)], best: &[(u64, Run)]) -> Option<Cell> {
    let all = |value: fn(&Run) -> f64| Mean::of(&runs.iter().map(|(_, run)| value(run)).collect::<Vec<_>>());
    let lost: Vec<f64> = runs.iter().filter_map(|(_, run)| run.cross_loss).collect();
    // Pair runs of the same seed, as shares, so that fast and slow runs have equal weight.
    let (shares, ones): (Vec<f64>, Vec<f64>) = runs
        .iter()
        .filter_map(|(seed, run)| {
            let (_, best) = best.iter().find(|(other, _)| other == seed)?;
            (best.after > 0.0).then(|| (run.after / best.after, 1.0))
        })
        .unzip();
    Some(Cell {
        policy,
        after: all(|run| run.after)?,
        whole: all(|run| run.whole)?,
        gap: all(|run| run.gap)?,
        cross_loss: Mean::of(&lost),
        regret: paired_difference(&ones, &shares),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(after: f64) -> Run {
        Run { after, whole: after, gap: 0.1, cross_loss: None }
    }

    #[test]
    fn regret_is_the_shortfall_from_the_oracle_seed_by_seed() {
        let best = [(1, run(100.0)), (2, run(1000.0))];
        let cell = cell("x", &[(1, run(90.0)), (2, run(900.0))], &best).unwrap();
        let regret = cell.regret.unwrap();
        assert!((regret.mean - 0.1).abs() < 1e-12 && regret.half_width < 1e-9, "{regret:?}");
        assert_eq!(cell.cross_loss, None);
        let own = super::cell("oracle", &best, &best).unwrap().regret.unwrap();
        assert!(own.mean.abs() < 1e-12);
        assert!(super::cell("x", &[(1, run(90.0))], &[]).unwrap().regret.is_none());
        assert!(super::cell("x", &[], &best).is_none());
    }

    #[test]
    fn every_policy_runs_in_every_case_and_names_are_unique() {
        assert_eq!(keys(3).len(), 3 * CASES.len() * policies().len());
        assert!(keys(3).is_sorted());
        for (number, case) in CASES.iter().enumerate() {
            assert!(CASES[..number].iter().all(|other| other.name != case.name), "{}", case.name);
        }
    }

    #[test]
    fn every_paper_has_a_handover() {
        for experiment in crate::experiments::EXPERIMENTS {
            assert!(CASES.iter().any(|case| case.paper == experiment.name), "{}", experiment.name);
        }
    }

    #[test]
    fn the_command_repeats_a_run_with_the_policy_and_the_true_capacity() {
        let command = Key { case: 1, policy: 0, seed: 4 }.command();
        assert!(command.starts_with("msctp sim scenarios/kim-koh/3g-to-wlan.toml --seed 4"), "{command}");
        assert!(command.contains("--set sctp.cn.handover_policy=conservative"), "{command}");
        assert!(command.contains("available = \"6600kbps\""), "{command}");
    }
}
