//! A scenario file with overrides.

use std::path::PathBuf;

use msctp_experiments::input::ScenarioText;
use msctp_experiments::metrics::{INTERVAL, enable_series};
use msctp_sim::Simulation;
use msctp_sim::scenario::{Scenario as Read, Schemes};
use pyo3::prelude::*;

use crate::input_error;
use crate::run::Run;
use crate::schemes::{Described, forget, raised, schemes};

/// A checked scenario file with overrides.
#[pyclass(frozen, module = "msctp._native")]
pub(crate) struct Scenario {
    text: ScenarioText,
    #[pyo3(get)]
    overrides: Vec<String>,
    scenario: Read,
    schemes: Schemes,
}

impl Scenario {
    fn checked(text: ScenarioText, overrides: Vec<String>, schemes: Schemes) -> PyResult<Self> {
        forget();
        let mut scenario = text.with_schemes(&overrides, &schemes).map_err(input_error)?;
        raised()?;
        Simulation::new(&scenario, None).map_err(|e| input_error(format!("{}: {e}", text.file)))?;
        raised()?;
        scenario.probes.throughput.get_or_insert(INTERVAL);
        Ok(Self { text, overrides, scenario, schemes })
    }
}

#[pymethods]
impl Scenario {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, own: Vec<Described>) -> PyResult<Self> {
        let schemes = schemes(own);
        py.detach(|| Self::checked(ScenarioText::read(&path).map_err(input_error)?, Vec::new(), schemes))
    }

    /// Returns the scenario with further overrides, each `KEY=VALUE`.
    fn with_overrides(&self, py: Python<'_>, more: Vec<String>) -> PyResult<Self> {
        let overrides = self.overrides.iter().cloned().chain(more).collect();
        py.detach(|| Self::checked(self.text.clone(), overrides, self.schemes.clone()))
    }

    #[getter]
    fn file(&self) -> &str {
        &self.text.file
    }

    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    #[getter]
    fn description(&self) -> &str {
        &self.scenario.description
    }

    #[getter]
    fn duration(&self) -> f64 {
        self.scenario.duration.as_secs_f64()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.scenario.seed
    }

    #[getter]
    fn unused(&self) -> Vec<String> {
        self.scenario.unused()
    }

    fn run(&self, py: Python<'_>, seed: Option<u64>) -> PyResult<Run> {
        let mut scenario = self.scenario.clone();
        enable_series(&mut scenario);
        py.detach(|| Run::of(scenario, seed))
    }
}
