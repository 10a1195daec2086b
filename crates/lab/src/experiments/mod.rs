//! The experiments, one folder per paper: its plan of runs, what is measured in a run, its claims, its
//! figures. A new one is a folder and a line in [`EXPERIMENTS`].

pub mod afif;
pub mod eklund;
pub mod fu_atiquzzaman;
pub mod kim_koh;
pub mod park_jang;

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agreement::Agreement;
use crate::plan::{Execution, ThreadsError, execute};
use crate::report::Report;
use crate::world::{Simulator, World};

/// A paper's experiment.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is about, in a line.
    pub summary: &'static str,
    /// How many runs it takes.
    pub size: fn(&Effort) -> usize,
    /// Carries it out. A run that fails is in the report's provenance, not an error.
    pub reproduce: fn(&Effort, &Execution<'_>) -> Result<Report, ThreadsError>,
    /// The same on real stacks beside the simulator, where that is planned.
    pub emulated: Option<Emulated>,
}

/// An experiment on real stacks.
#[derive(Clone, Copy)]
pub struct Emulated {
    /// How long every run takes in real time, in seconds; the number is that of repetitions under each
    /// condition.
    pub plan: fn(&Effort, u64) -> Vec<u32>,
    /// How many runs of the simulator stand beside them.
    pub simulated: fn(&Effort, u64) -> usize,
    /// Carries it out in both worlds. A run that fails is in the agreement, not an error.
    pub carry_out: fn(&Effort, &Worlds<'_>) -> Result<Agreement, ThreadsError>,
}

/// Real stacks beside the simulator, and how runs of each are carried out.
pub struct Worlds<'a> {
    /// The real stacks.
    pub world: &'a dyn World,
    /// How their runs are carried out: as many at a time as the machine bears.
    pub real: &'a Execution<'a>,
    /// How often they run under each condition.
    pub repetitions: u64,
    /// How the simulator's are.
    pub simulator: &'a Execution<'a>,
}

/// Runs of the simulator that stand beside so many on real stacks, under each condition: they are cheap.
pub(crate) fn beside(repetitions: u64) -> u64 {
    repetitions.max(10)
}

/// What the runs of an experiment came to in both worlds.
pub(crate) struct Both<K, T> {
    pub(crate) simulated: Vec<(K, T)>,
    pub(crate) real: Vec<(K, T)>,
    /// Runs that failed, by name, with the reason.
    pub(crate) failed: Vec<(String, String)>,
    /// Runs that were not begun because the plan was cancelled.
    pub(crate) skipped: usize,
}

impl Worlds<'_> {
    /// Carries out the same work in both worlds. `plans`: what sets the results of the simulator and of real
    /// stacks apart from those of other plans in the store; `keys`: of so many runs under each condition.
    pub(crate) fn carry_out<K, T>(
        &self,
        plans: [&str; 2],
        keys: impl Fn(u64) -> Vec<K>,
        work: impl Fn(&dyn World, &K) -> Result<T, String> + Sync,
    ) -> Result<Both<K, T>, ThreadsError>
    where
        K: Ord + Send + Sync + fmt::Display,
        T: Send + Serialize + DeserializeOwned,
    {
        let in_simulator = |key: &K| work(&Simulator, key);
        let simulated = execute(plans[0], keys(beside(self.repetitions)), self.simulator, in_simulator)?;
        let real = execute(plans[1], keys(self.repetitions), self.real, |key| work(self.world, key))?;
        let mut failed = simulated.failures();
        failed.extend(real.failures());
        let skipped = simulated.skipped.len() + real.skipped.len();
        Ok(Both { simulated: simulated.done, real: real.done, failed, skipped })
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

/// All experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    kim_koh::EXPERIMENT,
    fu_atiquzzaman::EXPERIMENT,
    afif::EXPERIMENT,
    eklund::EXPERIMENT,
    park_jang::EXPERIMENT,
];

/// The experiment called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

/// How much of an experiment is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// A look in under a minute instead of the whole.
    pub quick: bool,
    /// Seeds under each condition; `None`: as many as the experiment has by itself.
    pub seeds: Option<u64>,
}

impl Effort {
    /// The command that carries the experiment out with this effort. Where the report goes and how many
    /// threads there are is not part of it.
    #[must_use]
    pub fn command(&self, experiment: &str) -> String {
        self.with(format!("msctp reproduce {experiment}"))
    }

    /// The command that carries all experiments out with this effort.
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
    fn names_differ_and_less_effort_is_less_work() {
        for (number, experiment) in EXPERIMENTS.iter().enumerate() {
            assert!(EXPERIMENTS[..number].iter().all(|other| other.name != experiment.name));
            assert_eq!(find(experiment.name).map(|found| found.name), Some(experiment.name));
            let size = |quick, seeds| (experiment.size)(&Effort { quick, seeds });
            assert!(size(true, None) < size(false, None), "{}", experiment.name);
            assert!(size(true, Some(1)) < size(true, Some(3)), "{}", experiment.name);
        }
    }

    #[test]
    fn the_command_says_what_was_asked_for() {
        let effort = Effort { quick: true, seeds: Some(3) };
        assert_eq!(effort.command("kim-koh"), "msctp reproduce kim-koh --quick --seeds 3");
        assert_eq!(Effort::default().command("afif"), "msctp reproduce afif");
        assert_eq!(effort.command_for_all(), "msctp reproduce --quick --seeds 3");
    }
}
