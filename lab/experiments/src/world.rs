//! [`World`] runs scenarios, in the simulator or on real stacks. The laboratory measures both alike.

use msctp_sim::scenario::Scenario;
use msctp_sim::{Series, Simulation, Summary};

/// Runs scenarios.
pub trait World: Sync {
    /// Runs a scenario to its end, with the random streams of `seed`.
    ///
    /// # Errors
    /// The scenario, or the run, failed; the text says why.
    fn carry_out(&self, scenario: &Scenario, seed: u64) -> Result<(Summary, Series), String>;
}

/// The simulator.
#[derive(Clone, Copy, Debug)]
pub struct Simulator;

impl World for Simulator {
    fn carry_out(&self, scenario: &Scenario, seed: u64) -> Result<(Summary, Series), String> {
        let mut simulation = Simulation::new(scenario, Some(seed)).map_err(|error| error.to_string())?;
        simulation.run();
        Ok((simulation.summary(), simulation.into_series()))
    }
}
