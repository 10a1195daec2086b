//! The size of a reproduction, the worlds that it runs in, and its errors.

use std::fmt;

use msctp_sim::scenario::ScenarioError;

use crate::plan::{Execution, ThreadsError};
use crate::world::World;

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

/// The simulator and the real stacks, and the execution of the runs in each.
pub struct Worlds<'a> {
    /// The real stacks.
    pub world: &'a dyn World,
    /// Execution of runs on real stacks, as many in parallel as the machine sustains.
    pub real: &'a Execution<'a>,
    /// Number of runs on real stacks under each condition.
    pub repetitions: u64,
    /// Execution of runs in the simulator.
    pub simulator: &'a Execution<'a>,
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
    /// Number of seeds under each condition; `None` for the experiment's own number.
    pub seeds: Option<u64>,
    /// Make only the runs that the claims and the findings need.
    pub claims: bool,
}

impl Effort {
    /// Returns the command that runs the experiment with this effort, without the output folder and the
    /// number of threads.
    #[must_use]
    pub fn command(&self, experiment: &str) -> String {
        self.with(format!("msctp-lab reproduce {experiment}"))
    }

    /// Returns the command that runs all experiments with this effort.
    #[must_use]
    pub fn command_for_all(&self) -> String {
        self.with("msctp-lab reproduce".to_owned())
    }

    fn with(&self, mut command: String) -> String {
        if self.quick {
            command.push_str(" --quick");
        }
        if let Some(seeds) = self.seeds {
            command.push_str(&format!(" --seeds {seeds}"));
        }
        if self.claims {
            command.push_str(" --claims");
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_the_options_of_the_effort() {
        let effort = Effort { quick: true, seeds: Some(3), claims: false };
        assert_eq!(effort.command("kim-koh"), "msctp-lab reproduce kim-koh --quick --seeds 3");
        assert_eq!(Effort::default().command("afif"), "msctp-lab reproduce afif");
        assert_eq!(effort.command_for_all(), "msctp-lab reproduce --quick --seeds 3");
    }
}
