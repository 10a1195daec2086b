//! The fit of the free parameters: a deterministic pattern search that minimizes the error of the 30 Reno
//! cells.
//!
//! Reads the paper's Table V and runs of TCP Reno only: the other two tables are private to the verdicts.

use std::collections::BTreeMap;

use super::grid::{GridKey, Protocol};
use super::paper::{RENO, WIRED, WIRELESS, cell};
use super::parameters::{FitRecord, Frozen, Parameters};
use super::run;
use crate::plan::{Execution, ThreadsError, execute};
use crate::stats::median;
use crate::world::Cancellable;

/// The budget of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Largest number of parameter sets.
    pub evaluations: usize,
    /// Number of seeds of each cell, from 1.
    pub seeds: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { evaluations: 100, seeds: 3 }
    }
}

impl Budget {
    /// Returns the largest number of simulator runs.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.evaluations as u64 * self.seeds * (WIRED.len() * WIRELESS.len()) as u64
    }

    /// Returns the command that fits with this budget.
    #[must_use]
    pub fn command(&self) -> String {
        format!("msctp fit fu-atiquzzaman --evaluations {} --seeds {}", self.evaluations, self.seeds)
    }
}

/// Errors of [`fit`].
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// A run failed.
    #[error("{0}")]
    Run(String),
    /// The fit was interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// An axis of the search, the grid of a parameter's values.
#[derive(Clone, Copy, Debug)]
struct SearchAxis {
    least: f64,
    /// The function from one value to the next.
    step: Step,
    /// Number of values.
    values: i32,
    /// Index of the first value tried.
    start: i32,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Plus(f64),
    Times(f64),
}

impl SearchAxis {
    fn value(&self, position: i32) -> f64 {
        let value = match self.step {
            Step::Plus(step) => self.least + step * f64::from(position),
            Step::Times(step) => self.least * libm::pow(step, f64::from(position)),
        };
        // Round to two digits, the precision of the file.
        (value * 100.0).round() / 100.0
    }
}

/// Axes of the search: slope of the fading 2 to 32 dB, shortest bad period 0.5 to 128 ms, Pareto's shape 1.05
/// to 3.05, advertisements valid for 3 to 9 s (RFC 5944 §2.3: at least three intervals of a second). The
/// search starts at the scenario file's values.
const AXES: [SearchAxis; 4] = [
    SearchAxis { least: 2.0, step: Step::Plus(0.5), values: 61, start: 16 },
    SearchAxis { least: 0.5, step: Step::Times(1.189_207_115), values: 33, start: 13 },
    SearchAxis { least: 1.05, step: Step::Plus(0.05), values: 41, start: 9 },
    SearchAxis { least: 3.0, step: Step::Plus(1.0), values: 7, start: 0 },
];

/// Further starts after the first minimum, with lighter and heavier fading than in the scenario file.
const OTHER_STARTS: [Position; 2] = [[6, 26, 24, 3], [8, 5, 40, 0]];

/// Strides of the search along each parameter, one per round.
const STRIDES: [i32; 4] = [8, 4, 2, 1];

type Position = [i32; 4];

fn parameters(position: &Position) -> Parameters {
    let value = |axis: usize| AXES[axis].value(position[axis]);
    Parameters {
        fading_slope_db: value(0),
        shortest_fade_ms: value(1),
        fade_shape: value(2),
        advertisement_lifetime_s: value(3) as u32,
    }
}

/// Minimizes `error` from several starts, until they are done or the budget of positions is used up.
/// Evaluates no position twice.
fn search<E>(
    evaluations: usize,
    error: impl FnMut(&Position) -> Result<f64, E>,
) -> Result<(Position, usize), E> {
    let mut search = Search { evaluations, error, known: BTreeMap::new() };
    let starts = std::iter::once(AXES.map(|axis| axis.start)).chain(OTHER_STARTS);
    let mut best: Option<(Position, f64)> = None;
    for start in starts {
        let found = search.descend(start)?;
        if let Some(found) = found
            && best.is_none_or(|(_, least)| found.1 < least)
        {
            best = Some(found);
        }
    }
    Ok((best.map_or(AXES.map(|axis| axis.start), |(position, _)| position), search.known.len()))
}

struct Search<F> {
    evaluations: usize,
    error: F,
    known: BTreeMap<Position, f64>,
}

impl<E, F: FnMut(&Position) -> Result<f64, E>> Search<F> {
    /// Evaluates the error at a new position. Returns `None` if it was evaluated before, or the budget is
    /// used up.
    fn try_at(&mut self, position: Position) -> Result<Option<f64>, E> {
        if self.known.contains_key(&position) || self.known.len() >= self.evaluations {
            return Ok(None);
        }
        let found = (self.error)(&position)?;
        self.known.insert(position, found);
        Ok(Some(found))
    }

    /// Descends from `start` along each parameter in turn. Strides shorten when none of them reduces the
    /// error. The descent ends when the shortest does not.
    fn descend(&mut self, start: Position) -> Result<Option<(Position, f64)>, E> {
        let Some(mut least) = self.try_at(start)? else { return Ok(None) };
        let mut best = start;
        for stride in STRIDES {
            let mut moved = true;
            while moved {
                moved = false;
                for (axis, direction) in (0..AXES.len()).flat_map(|axis| [(axis, stride), (axis, -stride)]) {
                    // Continue in a direction as long as it helps.
                    loop {
                        let mut next = best;
                        next[axis] = (best[axis] + direction).clamp(0, AXES[axis].values - 1);
                        match self.try_at(next)? {
                            Some(found) if found < least => (best, least, moved) = (next, found, true),
                            _ => break,
                        }
                    }
                }
            }
        }
        Ok(Some((best, least)))
    }
}

/// Computes the mean over the cells of |ln(measured / paper)|, and the median of the absolute relative error.
fn errors(means: &BTreeMap<(u32, u32), f64>) -> Option<(f64, f64)> {
    let ratios: Option<Vec<f64>> = means
        .iter()
        .map(|(&(wired, wireless), &mean)| Some(mean / f64::from(cell(&RENO, wired, wireless)?)))
        .collect();
    let ratios = ratios?;
    // A cell that delivers nothing counts as one with a single segment.
    let logs: f64 = ratios.iter().map(|ratio| libm::log(ratio.max(1e-3)).abs()).sum();
    let sizes: Vec<f64> = ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect();
    Some((logs / ratios.len() as f64, median(&sizes)?))
}

/// Runs the 30 cells of TCP Reno with these parameters and returns the mean segments of each.
fn table(
    parameters: &Parameters,
    seeds: u64,
    execution: &Execution<'_>,
) -> Result<BTreeMap<(u32, u32), f64>, FitError> {
    let mut keys = Vec::new();
    for wired in WIRED {
        for wireless in WIRELESS {
            keys.extend((1..=seeds).map(|seed| GridKey { wired, wireless, protocol: Protocol::Reno, seed }));
        }
    }
    let plan = format!("fu-atiquzzaman fit {parameters:?}");
    let outcomes = execute(&plan, keys, execution, |key| {
        run::delivered(&Cancellable(execution.cancel), key, parameters)
    })?;
    if let Some((key, reason)) = outcomes.failed.first() {
        return Err(FitError::Run(format!("{key} with {parameters:?}: {reason}")));
    }
    if !outcomes.skipped.is_empty() {
        return Err(FitError::Interrupted);
    }
    let mut means = BTreeMap::new();
    for (key, delivered) in outcomes.done {
        *means.entry((key.wired, key.wireless)).or_insert(0.0) += delivered as f64 / seeds as f64;
    }
    Ok(means)
}

/// Fits the parameters. The progress advances by one per run, up to [`Budget::runs`].
///
/// # Errors
/// The fit fails with a [`FitError`].
pub fn fit(budget: Budget, execution: &Execution<'_>) -> Result<Frozen, FitError> {
    let errors_at = |position: &Position| {
        let means = table(&parameters(position), budget.seeds, execution)?;
        errors(&means).ok_or_else(|| FitError::Run("no cell was run".to_owned()))
    };
    let mut least = f64::INFINITY;
    let (best, evaluations) = search(budget.evaluations, |position| {
        let (error, _) = errors_at(position)?;
        if error < least {
            least = error;
            execution.progress.println(format!("{error:.4} {:?}", parameters(position)));
        }
        Ok::<f64, FitError>(error)
    })?;
    let (mean_log_error, median_relative_error) = errors_at(&best)?;
    let rounded = |error: f64| (error * 1e4).round() / 1e4;
    Ok(Frozen {
        parameters: parameters(&best),
        fit: FitRecord {
            command: budget.command(),
            table: "Table V (TCP Reno)".to_owned(),
            evaluations,
            seeds: budget.seeds,
            mean_log_error: rounded(mean_log_error),
            median_relative_error: rounded(median_relative_error),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error of a bowl whose minimum is not at the start.
    fn bowl(position: &Position) -> Result<f64, ()> {
        let target = [5, 30, 20, 5];
        Ok(position.iter().zip(target).map(|(&a, b)| f64::from(a - b).powi(2)).sum())
    }

    #[test]
    fn the_search_finds_the_minimum_within_its_budget() {
        assert_eq!(search(10_000, bowl).unwrap().0, [5, 30, 20, 5]);
        let mut count = 0;
        let (_, evaluations) = search(17, |position| {
            count += 1;
            bowl(position)
        })
        .unwrap();
        assert_eq!((evaluations, count), (17, 17));
        let mut tried = Vec::new();
        let inside = |position: &Position| {
            assert!(
                position.iter().zip(AXES).all(|(&at, axis)| (0..axis.values).contains(&at)),
                "{position:?}"
            );
            assert!(!tried.contains(position), "{position:?} is tried twice");
            tried.push(*position);
            Ok::<f64, ()>(-f64::from(position.iter().sum::<i32>()))
        };
        assert_eq!(search(10_000, inside).unwrap().0, AXES.map(|axis| axis.values - 1));
    }

    #[test]
    fn the_error_is_zero_for_the_papers_table_and_the_factor_for_a_scaled_one() {
        let scaled = |factor: f64| {
            let cells = WIRED.into_iter().flat_map(|w| WIRELESS.map(|r| (w, r)));
            cells.map(|(w, r)| ((w, r), f64::from(cell(&RENO, w, r).unwrap()) * factor)).collect()
        };
        assert_eq!(errors(&scaled(1.0)), Some((0.0, 0.0)));
        let (log, relative) = errors(&scaled(1.25)).unwrap();
        assert!((log - 0.2231).abs() < 1e-4 && (relative - 0.25).abs() < 1e-9);
    }

    #[test]
    fn the_fit_reads_table_v_only() {
        let source = include_str!("fit.rs");
        let code = source.split("#[cfg(test)]").next().unwrap();
        for forbidden in ["judging", "predicted", "Sack", "Sctp", "Protocol::ALL"] {
            assert!(!code.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn the_search_starts_at_the_scenario_files_values() {
        let text = run::MOBILE_IP.text;
        let start = parameters(&AXES.map(|axis| axis.start));
        assert_eq!((start.fading_slope_db, start.fade_shape, start.advertisement_lifetime_s), (10.0, 1.5, 3));
        assert!(
            text.contains("slope = 10,")
                && text.contains("shape = 1.5")
                && text.contains("lifetime = \"3s\"")
        );
        assert!((start.shortest_fade_ms - 5.0).abs() < 0.3, "{start:?}");
    }
}
