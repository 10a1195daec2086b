//! The papers' experiments, which are bundled sweeps. A new experiment is a file `scenarios/NAME/paper.toml`,
//! named in the bundle of sweeps, and an entry of [`EXPERIMENTS`].

use msctp_sim::scenario::ScenarioError;

use crate::again::{Ledger, Other, of_sweep, size_of_sweep};
use crate::agreement::Agreement;
use crate::plan::Execution;
use crate::report::Report;
pub use crate::reproduce::{Effort, ReproduceError, Worlds};
use crate::sweep::{Part, Sweep, bundled, bundled_part, real};

/// A paper's experiment, which is a bundled sweep.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Name on the command line.
    pub name: &'static str,
    /// Path of the sweep.
    file: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// True if a part of the sweep runs on real stacks too.
    pub emulated: bool,
}

impl Experiment {
    /// Reads the sweep, or the part that an effort needs.
    fn sweep(&self, effort: &Effort) -> Result<Sweep, ScenarioError> {
        let whole = bundled(self.file)?;
        if !effort.claims {
            return Ok(whole.reduced(effort));
        }
        let part = Part { claims: &whole.claim_ids(), report: true, ..Part::default() };
        Ok(bundled_part(self.file, &part)?.reduced(effort))
    }

    /// Returns the number of runs.
    #[must_use]
    pub fn size(&self, effort: &Effort) -> usize {
        self.sweep(effort).map_or(0, |sweep| sweep.keys().len())
    }

    /// Runs the experiment. The report's provenance lists failed runs, which are no error.
    ///
    /// # Errors
    /// A [`ReproduceError`].
    pub fn reproduce(&self, effort: &Effort, execution: &Execution<'_>) -> Result<Report, ReproduceError> {
        let sweep = self.sweep(effort)?;
        let done = sweep.run(execution)?;
        let mut report = done.report(&effort.command(self.name), env!("CARGO_PKG_VERSION"));
        report.series = execution.store.and_then(|store| done.series(store));
        // A part of the sweep cannot be read again from its file.
        if effort.claims {
            report.record = None;
        }
        Ok(report)
    }

    /// Judges the claims again with other seeds or other stacks. Makes only the runs that they need.
    ///
    /// # Errors
    /// A [`ReproduceError`].
    pub fn again(
        &self,
        other: Other,
        effort: &Effort,
        execution: &Execution<'_>,
    ) -> Result<Ledger, ReproduceError> {
        of_sweep(self.file, (self.name, other), effort, execution)
    }

    /// Returns the number of those runs.
    #[must_use]
    pub fn again_size(&self, effort: &Effort) -> usize {
        size_of_sweep(self.file, effort)
    }

    /// Returns the real-time duration of every run on real stacks in seconds, for a number of repetitions
    /// under each condition.
    #[must_use]
    pub fn emulated_plan(&self, effort: &Effort, repetitions: u64) -> Vec<u32> {
        real::plan(self.file, effort, repetitions)
    }

    /// Returns the number of runs in the simulator beside them.
    #[must_use]
    pub fn emulated_simulated(&self, effort: &Effort, repetitions: u64) -> usize {
        real::simulated(self.file, effort, repetitions)
    }

    /// Runs the experiment on real stacks and in the simulator. The agreement lists failed runs, which are no
    /// error.
    ///
    /// # Errors
    /// A [`ReproduceError`].
    pub fn carry_out(&self, effort: &Effort, worlds: &Worlds<'_>) -> Result<Agreement, ReproduceError> {
        real::carry_out(self.file, effort, worlds)
    }
}

/// Eklund, Grinnemo, Brunstrom (2012), "Implications of using a Large Initial Congestion Window to Improve
/// mSCTP Handover Delay". Live video moves to a path with competing TCP, with four initial windows.
const EKLUND: Experiment = Experiment {
    name: "eklund",
    file: "scenarios/eklund/paper.toml",
    summary: "A large initial congestion window after mSCTP handover (Eklund, Grinnemo and Brunstrom, 2012)",
    emulated: true,
};

/// Kim & Koh (2009), "Adaptive Congestion Control of mSCTP for Vertical Handover": three schemes, two
/// movements, loads from 0 to 90 % and the accuracy of the estimator.
const KIM_KOH: Experiment = Experiment {
    name: "kim-koh",
    file: "scenarios/kim-koh/paper.toml",
    summary: "Adaptive congestion control of mSCTP for vertical handover (Kim and Koh, 2009)",
    emulated: true,
};

/// Park & Jang, "TCP Throughput Improvement over Vertical Handover between 3G LTE and WLAN": classification
/// of losses by the round-trip time and detection of spurious timeouts, for TCP and SCTP.
const PARK_JANG: Experiment = Experiment {
    name: "park-jang",
    file: "scenarios/park-jang/paper.toml",
    summary: "TCP with loss differentiation across LTE and WLAN (Park and Jang)",
    emulated: false,
};

/// Afif, Martins, Tabbane, Godlewski, "SCTP-Cross Layer Mechanism Performance For EGPRS Data Handover in
/// Variable Radio Transmission Conditions". A download over EGPRS, with and without QoS_Measurement.
const AFIF: Experiment = Experiment {
    name: "afif",
    file: "scenarios/afif/paper.toml",
    summary: "SCTP with QoS_Measurement over EGPRS in variable radio conditions (Afif and others)",
    emulated: false,
};

/// Fu & Atiquzzaman, "Improving End-to-End Throughput of Mobile IP using SCTP": SCTP, TCP Reno and TCP SACK
/// from a mobile that changes its Mobile IP agent and loses several segments of a window at each change.
const FU_ATIQUZZAMAN: Experiment = Experiment {
    name: "fu-atiquzzaman",
    file: "scenarios/fu-atiquzzaman/paper.toml",
    summary: "SCTP, TCP SACK and TCP Reno through Mobile IP handovers (Fu and Atiquzzaman)",
    emulated: false,
};

/// All experiments.
pub const EXPERIMENTS: &[Experiment] = &[KIM_KOH, FU_ATIQUZZAMAN, AFIF, EKLUND, PARK_JANG];

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
            let size = |quick, seeds| experiment.size(&Effort { quick, seeds, claims: false });
            assert!(size(true, None) < size(false, None), "{}", experiment.name);
            assert!(size(true, Some(1)) < size(true, Some(3)), "{}", experiment.name);
        }
    }
}
