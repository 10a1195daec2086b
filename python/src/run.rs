//! A run of a scenario, and its results.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use msctp_experiments::input::cannot_write;
use msctp_experiments::metrics::{METRICS, Probe, Results, Wanted, When};
use msctp_experiments::output::OutputFile;
use msctp_sim::scenario::Scenario;
use msctp_sim::{Series, Simulation, Summary};
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::series::tables;
use crate::signals::Signals;
use crate::{input_error, run_error, schemes};

/// A complete run.
#[pyclass(frozen, module = "msctp._native")]
pub(crate) struct Run {
    scenario: Scenario,
    recorded: Recorded,
    /// The same run with every chunk recorded, executed when the first metric needs it.
    chunks: Mutex<Option<(Scenario, Recorded)>>,
}

/// The results of a run.
struct Recorded {
    summary: Summary,
    series: Series,
}

impl Recorded {
    /// Runs a simulation to its end. Ctrl-C stops it.
    fn of(simulation: &mut Simulation) -> PyResult<Summary> {
        let mut signals = Signals::new();
        let mut stopped = Ok(());
        simulation.run_in_pieces(simulation.end(), |_| {
            stopped = signals.check();
            stopped.is_ok() && !schemes::has_raised()
        });
        stopped.and_then(|()| schemes::raised()).map(|()| simulation.summary())
    }
}

impl Run {
    /// Runs a scenario to its end.
    pub(crate) fn of(scenario: Scenario, seed: Option<u64>) -> PyResult<Self> {
        let recorded = record(&scenario, seed)?;
        Ok(Self { scenario, recorded, chunks: Mutex::new(None) })
    }

    /// Computes a metric. Uses a second run if the metric needs every chunk.
    fn value(&self, wanted: &Wanted) -> PyResult<Result<f64, String>> {
        self.with(wanted, |results| wanted.value(results))
    }

    fn with<T>(&self, wanted: &Wanted, compute: impl FnOnce(&Results<'_>) -> T) -> PyResult<T> {
        let Recorded { summary, series } = &self.recorded;
        if wanted.metric.probe != Probe::Chunks {
            return Ok(compute(&Results { scenario: &self.scenario, summary, series }));
        }
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        if chunks.is_none() {
            let mut scenario = self.scenario.clone();
            wanted.enable(&mut scenario);
            let recorded = record(&scenario, Some(summary.seed))?;
            *chunks = Some((scenario, recorded));
        }
        let Some((scenario, Recorded { summary, series })) = &*chunks else {
            return Err(run_error("the run with every chunk is missing"));
        };
        Ok(compute(&Results { scenario, summary, series }))
    }

    fn wanted(&self, text: &str) -> PyResult<Wanted> {
        let wanted = Wanted::parse(text).map_err(input_error)?;
        wanted.check(&self.scenario).map_err(input_error)?;
        Ok(wanted)
    }
}

/// Runs a scenario to its end with the hash of its packets.
fn record(scenario: &Scenario, seed: Option<u64>) -> PyResult<Recorded> {
    schemes::forget();
    let mut simulation = Simulation::new(scenario, seed).map_err(input_error)?;
    simulation.hash_trace();
    let summary = Recorded::of(&mut simulation)?;
    Ok(Recorded { summary, series: simulation.into_series() })
}

#[pymethods]
impl Run {
    #[getter]
    fn seed(&self) -> u64 {
        self.recorded.summary.seed
    }

    #[getter]
    fn hash(&self) -> &str {
        self.recorded.summary.trace_hash.as_deref().unwrap_or_default()
    }

    /// Returns the summary as JSON, in the form of `msctp-lab sim --hash --series DIR --json`.
    fn summary(&self) -> PyResult<String> {
        serde_json::to_string(&self.recorded.summary).map_err(run_error)
    }

    fn metric(&self, py: Python<'_>, name: &str) -> PyResult<f64> {
        let wanted = self.wanted(name)?;
        py.detach(|| self.value(&wanted)?.map_err(run_error))
    }

    /// Returns the points of a curve, by x.
    fn curve(&self, py: Python<'_>, name: &str) -> PyResult<Columns> {
        let wanted = self.wanted(name)?;
        let points = py.detach(|| self.with(&wanted, |results| wanted.curve(results)))?;
        let (x, y) = points.map_err(run_error)?.into_iter().unzip();
        Ok(Columns::new().real("x", x).real("y", y))
    }

    /// Returns every metric without a time that has a value in the run.
    fn metrics(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, f64)>> {
        py.detach(|| {
            let numbers = METRICS.iter().filter(|metric| !metric.is_curve() && metric.when != When::Instant);
            let mut values = Vec::new();
            for metric in numbers {
                let Ok(wanted) = self.wanted(metric.name) else { continue };
                if let Ok(value) = self.value(&wanted)? {
                    values.push((metric.name, value));
                }
            }
            Ok(values)
        })
    }

    fn series(&self, py: Python<'_>, name: &str) -> PyResult<Columns> {
        py.detach(|| tables(&self.recorded.series, name)).map_err(input_error)
    }

    /// Runs the scenario again and captures its links.
    fn pcap(&self, py: Python<'_>, path: PathBuf, links: Vec<String>) -> PyResult<()> {
        py.detach(|| {
            let failed = |error: &io::Error| run_error(cannot_write(path.display(), error));
            let output =
                OutputFile::create(&path).map_err(|e| input_error(cannot_write(path.display(), &e)))?;
            schemes::forget();
            let mut simulation =
                Simulation::new(&self.scenario, Some(self.recorded.summary.seed)).map_err(input_error)?;
            let writer: Box<dyn Write + Send> = Box::new(output.writer().map_err(|e| failed(&e))?);
            simulation.capture(&links, writer).map_err(|e| match e.kind() {
                io::ErrorKind::InvalidInput => input_error(format!("links: {e}")),
                _ => failed(&e),
            })?;
            Recorded::of(&mut simulation)?;
            simulation.finish().and_then(|()| output.commit()).map_err(|e| failed(&e))
        })
    }
}
