//! The experiments, one folder per paper: its plan of runs, measurements, claims and figures. A new
//! experiment is a folder and an entry of [`EXPERIMENTS`].

pub mod afif;
pub mod fu_atiquzzaman;
pub mod kim_koh;
pub mod park_jang;

use std::fmt;

use msctp_sim::scenario::ScenarioError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agreement::Agreement;
use crate::plan::{Execution, ThreadsError, execute};
use crate::report::Report;
use crate::sweep::{bundled, real};
use crate::world::{Simulator, World};

/// A paper's experiment.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Name on the command line.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Returns the number of runs.
    pub size: fn(&Effort) -> usize,
    /// Runs the experiment. A run that fails is listed in the report's provenance, not an error.
    pub reproduce: fn(&Effort, &Execution<'_>) -> Result<Report, ReproduceError>,
    /// The experiment on real stacks beside the simulator, where it exists.
    pub emulated: Option<Emulated>,
}

/// An experiment on real stacks.
#[derive(Clone, Copy)]
pub struct Emulated {
    /// Returns the duration of every run in real time, in seconds, for a number of repetitions under each
    /// condition.
    pub plan: fn(&Effort, u64) -> Vec<u32>,
    /// Returns the number of runs in the simulator.
    pub simulated: fn(&Effort, u64) -> usize,
    /// Runs the experiment in both worlds. A run that fails is listed in the agreement, not an error.
    pub carry_out: fn(&Effort, &Worlds<'_>) -> Result<Agreement, ReproduceError>,
}

/// An experiment could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// The operating system cannot start threads.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The experiment's file is faulty.
    #[error(transparent)]
    File(#[from] ScenarioError),
}

/// The two worlds, and the execution of the runs in each.
pub struct Worlds<'a> {
    /// The real stacks.
    pub world: &'a dyn World,
    /// Execution of runs on real stacks: as many in parallel as the machine sustains.
    pub real: &'a Execution<'a>,
    /// Runs on real stacks under each condition.
    pub repetitions: u64,
    /// Execution of runs in the simulator.
    pub simulator: &'a Execution<'a>,
}

/// Returns the number of simulator runs for a number of runs on real stacks, under each condition: at least
/// ten, as they are cheap.
pub(crate) fn simulator_repetitions(repetitions: u64) -> u64 {
    repetitions.max(10)
}

/// The outcomes of an experiment in both worlds.
pub(crate) struct WorldResults<K, T> {
    pub(crate) simulated: Vec<(K, T)>,
    pub(crate) real: Vec<(K, T)>,
    /// Runs that failed, by name, with the reason.
    pub(crate) failed: Vec<(String, String)>,
    /// Number of runs that were not started because the plan was cancelled.
    pub(crate) skipped: usize,
}

impl Worlds<'_> {
    /// Runs the same work in both worlds. `plans` names the plans of the simulator and of real stacks in the
    /// store; `keys` returns the runs for a number of repetitions under each condition.
    pub(crate) fn carry_out<K, T>(
        &self,
        plans: [&str; 2],
        keys: impl Fn(u64) -> Vec<K>,
        work: impl Fn(&dyn World, &K) -> Result<T, String> + Sync,
    ) -> Result<WorldResults<K, T>, ThreadsError>
    where
        K: Ord + Send + Sync + fmt::Display,
        T: Send + Serialize + DeserializeOwned,
    {
        let in_simulator = |key: &K| work(&Simulator, key);
        let simulated =
            execute(plans[0], keys(simulator_repetitions(self.repetitions)), self.simulator, in_simulator)?;
        let real = execute(plans[1], keys(self.repetitions), self.real, |key| work(self.world, key))?;
        let mut failed = simulated.failures();
        failed.extend(real.failures());
        let skipped = simulated.skipped.len() + real.skipped.len();
        Ok(WorldResults { simulated: simulated.done, real: real.done, failed, skipped })
    }
}

impl fmt::Debug for Worlds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worlds").field("real", &self.real).finish_non_exhaustive()
    }
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Experiment").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Returns the entry of an experiment that is a bundled sweep with a part on real stacks.
macro_rules! sweep {
    ($name:literal, $file:literal, $summary:literal) => {
        Experiment {
            name: $name,
            summary: $summary,
            size: |effort| bundled($file).map_or(0, |sweep| sweep.reduced(effort).keys().len()),
            reproduce: |effort, execution| {
                let sweep = bundled($file)?.reduced(effort);
                let done = sweep.run(execution)?;
                Ok(done.report(&effort.command($name), env!("CARGO_PKG_VERSION")))
            },
            emulated: Some(Emulated {
                plan: |effort, repetitions| real::plan($file, effort, repetitions),
                simulated: |effort, repetitions| real::simulated($file, effort, repetitions),
                carry_out: |effort, worlds| real::carry_out($file, effort, worlds),
            }),
        }
    };
}

/// Eklund, Grinnemo, Brunstrom (2012), "Implications of using a Large Initial Congestion Window to Improve
/// mSCTP Handover Delay": live video moves to a path with competing TCP, with four initial windows.
const EKLUND: Experiment = sweep!(
    "eklund",
    "scenarios/eklund/paper.toml",
    "A large initial congestion window after mSCTP handover (Eklund, Grinnemo and Brunstrom, 2012)"
);

/// All experiments.
pub const EXPERIMENTS: &[Experiment] =
    &[kim_koh::EXPERIMENT, fu_atiquzzaman::EXPERIMENT, afif::EXPERIMENT, EKLUND, park_jang::EXPERIMENT];

/// Finds the experiment called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

/// The size of an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Run a subset that takes under a minute.
    pub quick: bool,
    /// Seeds under each condition; `None`: the experiment's own number.
    pub seeds: Option<u64>,
}

impl Effort {
    /// Returns the command that runs the experiment with this effort. The output folder and the number of
    /// threads are not part of it.
    #[must_use]
    pub fn command(&self, experiment: &str) -> String {
        self.with(format!("msctp reproduce {experiment}"))
    }

    /// Returns the command that runs all experiments with this effort.
    #[must_use]
    pub fn command_for_all(&self) -> String {
        self.with("msctp reproduce".to_owned())
    }

    fn with(&self, mut command: String) -> String {
        if self.quick {
            command.push_str(" --quick");
        }
        if let Some(seeds) = self.seeds {
            command.push_str(&format!(" --seeds {seeds}"));
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_less_effort_means_fewer_runs() {
        for (number, experiment) in EXPERIMENTS.iter().enumerate() {
            assert!(EXPERIMENTS[..number].iter().all(|other| other.name != experiment.name));
            assert_eq!(find(experiment.name).map(|found| found.name), Some(experiment.name));
            let size = |quick, seeds| (experiment.size)(&Effort { quick, seeds });
            assert!(size(true, None) < size(false, None), "{}", experiment.name);
            assert!(size(true, Some(1)) < size(true, Some(3)), "{}", experiment.name);
        }
    }

    #[test]
    fn the_command_has_the_options_of_the_effort() {
        let effort = Effort { quick: true, seeds: Some(3) };
        assert_eq!(effort.command("kim-koh"), "msctp reproduce kim-koh --quick --seeds 3");
        assert_eq!(Effort::default().command("afif"), "msctp reproduce afif");
        assert_eq!(effort.command_for_all(), "msctp reproduce --quick --seeds 3");
    }
}
