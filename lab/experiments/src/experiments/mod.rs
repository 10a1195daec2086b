//! The papers' experiments: bundled sweeps, and one in Rust. A new experiment is a file
//! `scenarios/NAME/paper.toml`, named in the bundle of sweeps, and an entry of [`EXPERIMENTS`].

pub mod fu_atiquzzaman;

use std::fmt;

use msctp_sim::scenario::ScenarioError;

use crate::again::{Ledger, Other, of_sweep, size_of_sweep};
use crate::agreement::Agreement;
use crate::plan::Execution;
use crate::report::Report;
pub use crate::reproduce::{Effort, ReproduceError, Worlds};
use crate::sweep::{Part, Sweep, bundled, bundled_part, real};

/// A paper's experiment.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Name on the command line.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Returns the number of runs.
    pub size: fn(&Effort) -> usize,
    /// Runs the experiment. The report's provenance lists failed runs, which are no error.
    pub reproduce: fn(&Effort, &Execution<'_>) -> Result<Report, ReproduceError>,
    /// Judges the claims again with other seeds or other stacks. Makes only the runs that they need.
    pub again: fn(Other, &Effort, &Execution<'_>) -> Result<Ledger, ReproduceError>,
    /// Returns the number of those runs.
    pub again_size: fn(&Effort) -> usize,
    /// The experiment on real stacks beside the simulator, if there is one.
    pub emulated: Option<Emulated>,
}

/// An experiment on real stacks.
#[derive(Clone, Copy)]
pub struct Emulated {
    /// Returns the real-time duration of every run in seconds, for a number of repetitions under each
    /// condition.
    pub plan: fn(&Effort, u64) -> Vec<u32>,
    /// Returns the number of runs in the simulator.
    pub simulated: fn(&Effort, u64) -> usize,
    /// Runs the experiment on real stacks and in the simulator. The agreement lists failed runs, which are no
    /// error.
    pub carry_out: fn(&Effort, &Worlds<'_>) -> Result<Agreement, ReproduceError>,
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Experiment").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Reads a bundled sweep, or the part that an effort needs.
fn read(file: &str, effort: &Effort) -> Result<Sweep, ScenarioError> {
    let whole = bundled(file)?;
    if !effort.claims {
        return Ok(whole);
    }
    bundled_part(file, &Part { claims: &whole.claim_ids(), overrides: &[], report: true })
}

/// Returns the entry of an experiment that is a bundled sweep, with its part on real stacks if it has one.
macro_rules! sweep {
    ($name:literal, $file:literal, $summary:literal) => {
        Experiment {
            name: $name,
            summary: $summary,
            size: |effort| read($file, effort).map_or(0, |sweep| sweep.reduced(effort).keys().len()),
            reproduce: |effort, execution| {
                let sweep = read($file, effort)?.reduced(effort);
                let done = sweep.run(execution)?;
                let mut report = done.report(&effort.command($name), env!("CARGO_PKG_VERSION"));
                // A part of the sweep cannot be read again from its file.
                if effort.claims {
                    report.record = None;
                }
                Ok(report)
            },
            again: |other, effort, execution| of_sweep($file, ($name, other), effort, execution),
            again_size: |effort| size_of_sweep($file, effort),
            emulated: None,
        }
    };
    ($name:literal, $file:literal, $summary:literal, emulated) => {
        Experiment {
            emulated: Some(Emulated {
                plan: |effort, repetitions| real::plan($file, effort, repetitions),
                simulated: |effort, repetitions| real::simulated($file, effort, repetitions),
                carry_out: |effort, worlds| real::carry_out($file, effort, worlds),
            }),
            ..sweep!($name, $file, $summary)
        }
    };
}

/// Eklund, Grinnemo, Brunstrom (2012), "Implications of using a Large Initial Congestion Window to Improve
/// mSCTP Handover Delay". Live video moves to a path with competing TCP, with four initial windows.
const EKLUND: Experiment = sweep!(
    "eklund",
    "scenarios/eklund/paper.toml",
    "A large initial congestion window after mSCTP handover (Eklund, Grinnemo and Brunstrom, 2012)",
    emulated
);

/// Kim & Koh (2009), "Adaptive Congestion Control of mSCTP for Vertical Handover": three schemes, two
/// movements, loads from 0 to 90 % and the accuracy of the estimator.
const KIM_KOH: Experiment = sweep!(
    "kim-koh",
    "scenarios/kim-koh/paper.toml",
    "Adaptive congestion control of mSCTP for vertical handover (Kim and Koh, 2009)",
    emulated
);

/// Park & Jang, "TCP Throughput Improvement over Vertical Handover between 3G LTE and WLAN": classification
/// of losses by the round-trip time and detection of spurious timeouts, for TCP and SCTP.
const PARK_JANG: Experiment = sweep!(
    "park-jang",
    "scenarios/park-jang/paper.toml",
    "TCP with loss differentiation across LTE and WLAN (Park and Jang)"
);

/// Afif, Martins, Tabbane, Godlewski, "SCTP-Cross Layer Mechanism Performance For EGPRS Data Handover in
/// Variable Radio Transmission Conditions". A download over EGPRS, with and without QoS_Measurement.
const AFIF: Experiment = sweep!(
    "afif",
    "scenarios/afif/paper.toml",
    "SCTP with QoS_Measurement over EGPRS in variable radio conditions (Afif and others)"
);

/// All experiments.
pub const EXPERIMENTS: &[Experiment] = &[KIM_KOH, fu_atiquzzaman::EXPERIMENT, AFIF, EKLUND, PARK_JANG];

/// Finds the experiment called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_less_effort_means_fewer_runs() {
        for (number, experiment) in EXPERIMENTS.iter().enumerate() {
            assert!(EXPERIMENTS[..number].iter().all(|other| other.name != experiment.name));
            assert_eq!(find(experiment.name).map(|found| found.name), Some(experiment.name));
            let size = |quick, seeds| (experiment.size)(&Effort { quick, seeds, claims: false });
            assert!(size(true, None) < size(false, None), "{}", experiment.name);
            assert!(size(true, Some(1)) < size(true, Some(3)), "{}", experiment.name);
        }
    }
}
