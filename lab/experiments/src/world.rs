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

/// Runs a scenario whose actions must all be accepted.
///
/// # Errors
/// As [`World::carry_out`], or an action was refused, so that the run is not the experiment.
pub fn carry_out(world: &dyn World, scenario: &Scenario, seed: u64) -> Result<(Summary, Series), String> {
    let (summary, series) = world.carry_out(scenario, seed)?;
    for action in &summary.actions {
        if let Some(reason) = &action.refused {
            return Err(format!("{} {} was refused: {reason}", action.action, action.subject));
        }
    }
    Ok((summary, series))
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
