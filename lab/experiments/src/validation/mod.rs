//! Compares the simulator, the core and the laboratory's TCP with ns-2's SCTP and TCP. The cases of
//! `validation/ns2.csv` are rebuilt as scenarios, run, and compared figure by figure. docs/validation.md has
//! the result, docs/validation-reasons.md explains the differences.
//!
//! ns-2 itself is not needed: its figures are committed.

mod case;
mod comparison;
mod document;
mod measure;
mod metric;
mod reference;
#[cfg(test)]
mod regression;
mod tcp;

use std::fmt;

pub use case::{Case, UnknownCase, Ways};
pub use comparison::{Comparison, NOTABLE_PERCENT, Ours};
pub use document::{BEGIN, END, MarkersError, replace_generated, replace_generated_by, tables};
pub use measure::Figures;
pub use metric::Metric;
pub use reference::{ReferenceError, Row};

use crate::plan::{self, Execution, ThreadsError};

/// Errors of the committed reference.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CasesError {
    /// The reference is not well formed.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The reference has a case without a scenario.
    #[error(transparent)]
    Unknown(#[from] UnknownCase),
}

/// Returns the cases of the committed reference, in its order.
///
/// # Errors
/// The reference is not well formed, or has a case without a scenario.
pub fn cases() -> Result<Vec<Case>, CasesError> {
    Ok(case::cases(reference::committed()?)?)
}

/// A run of the validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'c> {
    case: usize,
    ways: Ways,
    seed: u64,
    name: &'c str,
    parameters: &'c str,
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {}, seed {}", self.name, self.parameters, self.ways.words(), self.seed)
    }
}

fn keys(cases: &[Case]) -> Vec<Key<'_>> {
    let mut keys = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        for ways in Ways::ALL {
            let key = |seed| Key { case: number, ways, seed, name: &case.name, parameters: &case.parameters };
            keys.extend((1..=case.seeds).map(key));
        }
    }
    keys
}

/// Returns the number of runs of some cases.
#[must_use]
pub fn runs(cases: &[Case]) -> usize {
    keys(cases).len()
}

/// Errors of [`run`].
#[derive(Debug, thiserror::Error)]
pub enum ValidationError {
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// A run failed.
    #[error("{run}: {reason}")]
    Failed {
        /// The run.
        run: String,
        /// The reason.
        reason: String,
    },
    /// The validation was cancelled.
    #[error("cancelled with {left} runs to go")]
    Cancelled {
        /// Runs that were not started.
        left: usize,
    },
}

/// Runs all seeds of the cases with both behaviours, and compares them with the reference.
///
/// # Errors
/// A run failed, the validation was cancelled, or the threads could not be started.
pub fn run(
    cases: &[Case],
    execution: &Execution<'_>,
) -> Result<Vec<(Case, Vec<Comparison>)>, ValidationError> {
    let outcomes = plan::execute("validation", keys(cases), execution, |key| {
        let scenario = cases[key.case].scenario(key.ways).map_err(|e| e.to_string())?;
        measure::run(&scenario, key.seed)
    })?;
    if let Some((key, reason)) = outcomes.failed.into_iter().next() {
        return Err(ValidationError::Failed { run: key.to_string(), reason });
    }
    if !outcomes.skipped.is_empty() {
        return Err(ValidationError::Cancelled { left: outcomes.skipped.len() });
    }
    let done = &outcomes.done;
    let compared = cases.iter().enumerate().map(|(number, case)| {
        let runs = |ways| {
            let of_it = done.iter().filter(|(key, _)| key.case == number && key.ways == ways);
            of_it.map(|(_, figures)| figures).collect()
        };
        (case.clone(), comparison::compare(case, runs))
    });
    Ok(compared.collect())
}
