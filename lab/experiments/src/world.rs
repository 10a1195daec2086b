//! [`World`] runs scenarios, in the simulator or on real stacks. The laboratory measures both alike.

use std::sync::atomic::{AtomicBool, Ordering};

use msctp_sim::scenario::Scenario;
use msctp_sim::{Series, Simulation, Summary};

/// Runs scenarios.
pub trait World: Sync {
    /// Runs a scenario to its end, with the random streams of `seed`.
    ///
    /// # Errors
    /// The scenario or the run failed. The error is the reason.
    fn carry_out(&self, scenario: &Scenario, seed: u64) -> Result<(Summary, Series), String>;
}

/// Runs a scenario whose actions must all be accepted.
///
/// # Errors
/// Same as [`World::carry_out`], or an action was refused, so that the run is not the experiment.
pub fn carry_out(world: &dyn World, scenario: &Scenario, seed: u64) -> Result<(Summary, Series), String> {
    let (summary, series) = world.carry_out(scenario, seed)?;
    refused(&summary).map_or(Ok((summary, series)), Err)
}

/// Returns the reason why the first refused action of a run was refused; `None` if there is none.
#[must_use]
pub fn refused(summary: &Summary) -> Option<String> {
    summary.actions.iter().find_map(|action| {
        let reason = action.refused.as_ref()?;
        Some(format!("{} {} was refused: {reason}", action.action, action.subject))
    })
}

/// The simulator with runs that always complete.
#[derive(Clone, Copy, Debug)]
pub struct Simulator;

impl World for Simulator {
    fn carry_out(&self, scenario: &Scenario, seed: u64) -> Result<(Summary, Series), String> {
        let mut simulation = Simulation::new(scenario, Some(seed)).map_err(|error| error.to_string())?;
        simulation.run();
        Ok((simulation.summary(), simulation.into_series()))
    }
}

/// The simulator with runs that stop when the flag becomes true, within a thousandth of a run.
#[derive(Clone, Copy, Debug)]
pub struct Cancellable<'c>(pub &'c AtomicBool);

impl World for Cancellable<'_> {
    fn carry_out(&self, scenario: &Scenario, seed: u64) -> Result<(Summary, Series), String> {
        let mut simulation = Simulation::new(scenario, Some(seed)).map_err(|error| error.to_string())?;
        if !simulation.run_in_pieces(simulation.end(), |_| !self.0.load(Ordering::Relaxed)) {
            return Err("cancelled".to_owned());
        }
        Ok((simulation.summary(), simulation.into_series()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(duration: &str) -> Scenario {
        let text = include_str!("../../../scenarios/bulk-wlan.toml");
        Scenario::from_toml(text, "bulk-wlan.toml", &[format!("duration={duration}")]).unwrap()
    }

    #[test]
    fn a_run_stops_when_it_is_cancelled() {
        // More than a day of computation.
        let cancelled = Cancellable(&AtomicBool::new(true)).carry_out(&bulk("100000000s"), 1);
        assert_eq!(cancelled.map(drop), Err("cancelled".to_owned()));
    }

    #[test]
    fn a_run_that_is_not_cancelled_is_the_simulators() {
        let bytes = |world: &dyn World| {
            let (summary, _) = world.carry_out(&bulk("1s"), 1).unwrap();
            summary.associations[0].to_server.bytes
        };
        assert_eq!(bytes(&Cancellable(&AtomicBool::new(false))), bytes(&Simulator));
        assert!(bytes(&Simulator) > 0);
    }
}
