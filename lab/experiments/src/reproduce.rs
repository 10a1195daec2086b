//! The size of a reproduction, the worlds that it runs in, and its errors.

use std::fmt;

use msctp_sim::scenario::ScenarioError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::plan::{Execution, ThreadsError, execute};
use crate::world::{Simulator, World};

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
    fn the_command_has_the_options_of_the_effort() {
        let effort = Effort { quick: true, seeds: Some(3) };
        assert_eq!(effort.command("kim-koh"), "msctp reproduce kim-koh --quick --seeds 3");
        assert_eq!(Effort::default().command("afif"), "msctp reproduce afif");
        assert_eq!(effort.command_for_all(), "msctp reproduce --quick --seeds 3");
    }
}
