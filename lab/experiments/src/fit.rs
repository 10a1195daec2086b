//! The fit of the parameters that Fu and Atiquzzaman leave open: a deterministic pattern search that
//! minimizes the error of the 30 cells of TCP Reno.
//!
//! The error is an estimate of their sweep (`fit_error`), over runs and published values of TCP Reno only.
//! The other two tables are predicted.

use std::collections::BTreeMap;

use msctp_sim::scenario::ScenarioError;
use serde::{Deserialize, Serialize};

use crate::plan::{Execution, ThreadsError};
use crate::scenario_file::{ScenarioFile, scenario_file};
use crate::sweep::{Part, bundled_part};

/// The sweep of the paper.
const PAPER: &str = "scenarios/fu-atiquzzaman/paper.toml";

/// The compiled-in file of the parameters, which `msctp-lab reproduce fit fu-atiquzzaman` writes and the
/// sweep reads.
pub const FILE: ScenarioFile = scenario_file!("fu-atiquzzaman/parameters.toml");

/// Number of cells of the paper's table.
const CELLS: u64 = 30;

/// The fitted parameters. The rest of the scenario follows the paper or, where the paper gives no value, the
/// scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Increase of the receive power margin in dB that reduces the radio's share of bad time to a tenth.
    pub fading_slope_db: f64,
    /// Shortest bad period of the radio in milliseconds.
    pub shortest_fade_ms: f64,
    /// Pareto shape of the bad periods' lengths.
    pub fade_shape: f64,
    /// Lifetime of an agent's advertisement in seconds, after which a mobile looks for another agent.
    pub advertisement_lifetime_s: u32,
}

impl Parameters {
    /// Returns the texts for `{name}` in the sweep.
    fn texts(&self) -> Vec<(String, String)> {
        let text = |name: &str, value: f64| (name.to_owned(), format!("{value:?}"));
        vec![
            text("fading_slope_db", self.fading_slope_db),
            text("shortest_fade_ms", self.shortest_fade_ms),
            text("fade_shape", self.fade_shape),
            ("advertisement_lifetime_s".to_owned(), self.advertisement_lifetime_s.to_string()),
        ]
    }
}

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    /// The parameters.
    pub parameters: Parameters,
    /// Record of the fit that found the parameters.
    pub fit: FitRecord,
}

/// The record of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitRecord {
    /// The command that repeats the fit.
    pub command: String,
    /// The table used.
    pub table: String,
    /// Number of parameter sets that were tried.
    pub evaluations: usize,
    /// Seeds of each cell.
    pub seeds: u64,
    /// The minimized error: mean over the 30 cells of |ln(measured / paper)|.
    pub mean_log_error: f64,
    /// Median over the 30 cells of the absolute relative error.
    pub median_relative_error: f64,
}

impl Frozen {
    /// Formats the content of the file.
    ///
    /// # Errors
    /// TOML cannot express a value.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let head = "# The free parameters of the Fu & Atiquzzaman experiment, fitted to the paper's Table V (TCP Reno) alone and frozen:\n\
                    # the runs of all three protocols read them from here. Written by the command below; do not edit.\n\n";
        Ok(format!("{head}{}", toml::to_string(self)?))
    }
}

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
        self.evaluations as u64 * self.seeds * CELLS
    }

    /// Returns the command that fits with this budget.
    #[must_use]
    pub fn command(&self) -> String {
        format!(
            "msctp-lab reproduce fit fu-atiquzzaman --evaluations {} --seeds {}",
            self.evaluations, self.seeds
        )
    }
}

/// Errors of [`fit`].
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The sweep is invalid, which a test excludes.
    #[error(transparent)]
    File(#[from] ScenarioError),
    /// A run failed.
    #[error("{0}")]
    Run(String),
    /// The sweep does not give the error of the 30 cells, which a test excludes.
    #[error("{paper}: {0}", paper = PAPER)]
    Estimate(String),
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

/// Runs the 30 cells of TCP Reno with these parameters. Returns the mean over the cells of |ln(measured /
/// paper)|, and the median of the absolute relative error. The error of parameters with which a cell delivers
/// nothing is infinite.
fn errors(parameters: &Parameters, seeds: u64, execution: &Execution<'_>) -> Result<(f64, f64), FitError> {
    // FA2 is about the cells of the grid.
    let part = Part { claims: &["FA2".to_owned()], with: &parameters.texts(), ..Part::default() };
    let sweep = bundled_part(PAPER, &part)?.restricted("protocol = reno", (1..=seeds).collect());
    let sweep = sweep.map_err(FitError::Estimate)?;
    let outcome = sweep.run(execution)?;
    if let Some((key, reason)) = outcome.runs.failed.first() {
        return Err(FitError::Run(format!("{key} with {parameters:?}: {reason}")));
    }
    if !outcome.complete() {
        return Err(FitError::Interrupted);
    }
    let value = |name| or_infinite(outcome.estimate(name));
    Ok((value("fit_error")?, value("fit_median")?))
}

/// Returns the error of an estimate's value, which is infinite where the estimate is not finite.
fn or_infinite(estimate: Result<Option<f64>, String>) -> Result<f64, FitError> {
    Ok(estimate.map_err(FitError::Estimate)?.unwrap_or(f64::INFINITY))
}

/// Fits the parameters. The progress advances by one per run, up to [`Budget::runs`].
///
/// # Errors
/// The fit fails with a [`FitError`].
pub fn fit(budget: Budget, execution: &Execution<'_>) -> Result<Frozen, FitError> {
    let errors_at = |position: &Position| errors(&parameters(position), budget.seeds, execution);
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
    fn an_error_is_infinite_only_if_its_estimate_is_not_finite() {
        let found = [Ok(Some(0.5)), Ok(None)].map(|estimate| or_infinite(estimate).unwrap());
        assert_eq!(found.to_vec(), [0.5, f64::INFINITY]);
        let error = or_infinite(Err("fit_error: not every cell was run".to_owned())).unwrap_err().to_string();
        assert_eq!(error, "scenarios/fu-atiquzzaman/paper.toml: fit_error: not every cell was run");
    }

    #[test]
    fn the_committed_file_has_the_form_written_by_a_fit() {
        let frozen: Frozen = toml::from_str(FILE.text).unwrap();
        assert_eq!(frozen.to_toml().unwrap(), FILE.text);
        assert!(frozen.fit.median_relative_error > 0.0 && frozen.fit.evaluations > 0);
    }

    #[test]
    fn the_fit_reads_table_v_only() {
        let text = scenario_file!("fu-atiquzzaman/paper.toml").text;
        for name in ["fit_error", "fit_median"] {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            let operands = line.split('{').skip(2).map(|operand| operand.split('}').next().unwrap());
            for operand in operands {
                assert!(operand.contains("protocol = reno,"), "{operand}");
                assert!(operand.starts_with("delivered,") || operand.starts_with("published,"), "{operand}");
            }
        }
    }

    #[test]
    fn the_search_starts_at_the_scenario_files_values() {
        let text = scenario_file!("fu-atiquzzaman/mobile-ip.toml").text;
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
