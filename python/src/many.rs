//! Sweeps and reproductions: many runs on all cores.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;
use msctp_experiments::experiments::{self, EXPERIMENTS, Effort};
use msctp_experiments::input::read_text;
use msctp_experiments::plan::{Execution, Outcomes, execute};
use msctp_experiments::sweep::{Key, Outcome, Sweep, Values};
use msctp_lab_schemes::catalogue::suggest;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::columns::Columns;
use crate::folder::Folder;
use crate::schemes::{Described, WithSchemes, forget, raised, schemes};
use crate::{input_error, run_error};

/// Time between two checks for signals.
const BETWEEN: Duration = Duration::from_millis(20);

/// Progress of the work, which the waiting thread reads, and the flag with which that thread cancels it.
struct Watch<'w> {
    cancel: &'w AtomicBool,
    progress: &'w ProgressBar,
}

/// Runs the work on another thread, while this one checks for signals and calls `progress` with the number of
/// finished runs. Ctrl-C, or an exception of `progress`, cancels the work.
fn interruptible<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watch<'_>) -> PyResult<T> + Send,
) -> PyResult<T> {
    let (cancel, bar) = (AtomicBool::new(false), ProgressBar::hidden());
    py.detach(|| {
        thread::scope(|scope| {
            let caller = thread::current();
            let (cancel, bar) = (&cancel, &bar);
            let working = scope.spawn(move || {
                let done = work(&Watch { cancel, progress: bar });
                caller.unpark();
                done
            });
            let mut stopped = Ok(());
            let mut shown = 0;
            let mut check = |stopped: &mut PyResult<()>| {
                let done = bar.position();
                if stopped.is_ok() {
                    *stopped = Python::attach(|py| {
                        py.check_signals()?;
                        let Some(progress) = progress.filter(|_| done > shown) else { return Ok(()) };
                        progress.call1(py, (done,)).map(drop)
                    });
                    shown = done;
                    cancel.store(stopped.is_err(), Ordering::Relaxed);
                }
            };
            while !working.is_finished() {
                thread::park_timeout(BETWEEN);
                check(&mut stopped);
            }
            check(&mut stopped);
            let done = working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            stopped.and(done)
        })
    })
}

/// Returns a run of a sweep.
pub(crate) fn keyed(keys: &[Key], number: usize) -> PyResult<Key> {
    keys.get(number)
        .cloned()
        .ok_or_else(|| run_error(format!("there is no run {number}; want a number below {}", keys.len())))
}

/// Results of a sweep: runs and cells as columns, claims as JSON, and failed runs with the reason.
type Swept = (Columns, Columns, String, Vec<(String, String)>);

/// Returns the results of a sweep.
fn swept(done: &Outcome<'_>) -> PyResult<Swept> {
    let claims = serde_json::to_string(&done.ledger()).map_err(run_error)?;
    Ok((done.run_table().into(), done.cell_table().into(), claims, done.runs.failures()))
}

/// A checked sweep file, whose runs may be executed one by one and on other machines.
#[pyclass(frozen, module = "msctp._native")]
pub(crate) struct Plan {
    sweep: Arc<Sweep>,
    /// The sweep's keys in order, stored because listing them takes time proportional to their number.
    keys: Arc<[Key]>,
}

#[pymethods]
impl Plan {
    /// Reads a sweep file. `files` are texts by path, which are not read from the disk.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        files: BTreeMap<String, String>,
        own: Vec<Described>,
        quick: bool,
        seeds: Option<u64>,
    ) -> PyResult<Self> {
        let schemes = schemes(own);
        py.detach(|| {
            let open = |path: &str| {
                files.get(path).map_or_else(|| read_text(path, Path::new(path)), |text| Ok(text.clone()))
            };
            let file = path.display().to_string();
            let text = open(&file).map_err(input_error)?;
            forget();
            let sweep = Sweep::with_schemes(&text, &file, &open, schemes);
            raised()?;
            let sweep = sweep.map_err(input_error)?.reduced(&Effort { quick, seeds, claims: false });
            Ok(Self { keys: sweep.keys().into(), sweep: Arc::new(sweep) })
        })
    }

    /// Returns the texts of the files on which the runs depend, by path.
    fn files(&self) -> BTreeMap<String, String> {
        self.sweep.sources.iter().map(|source| (source.path.clone(), source.text.clone())).collect()
    }

    fn __len__(&self) -> usize {
        self.keys.len()
    }

    /// Opens a folder of results.
    fn folder(&self, py: Python<'_>, path: PathBuf, program: &str) -> PyResult<Folder> {
        py.detach(|| Folder::open(&self.sweep, &self.keys, path, program))
    }

    /// Executes all runs on this machine, except those whose results are in the folder.
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<NonZeroUsize>,
        folder: Option<&Folder>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Swept> {
        interruptible(py, progress.as_ref(), |&Watch { cancel, progress }| {
            let execution = Execution { threads, cancel, progress, store: None };
            let world = WithSchemes(cancel);
            let Some(folder) = folder else {
                return swept(&self.sweep.run_in(&world, self.keys.to_vec(), &execution).map_err(run_error)?);
            };
            let unwritten = Mutex::new(None);
            let runs = execute("sweep", self.keys.to_vec(), &execution, |key| {
                if let Some(values) = folder.load(key) {
                    return Ok(values);
                }
                let values = self.sweep.values(&world, key)?;
                folder.keep(key, &values).inspect_err(|error| {
                    *unwritten.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
                    cancel.store(true, Ordering::Relaxed);
                })?;
                Ok(values)
            });
            match unwritten.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Some(error) => Err(run_error(error)),
                None => swept(&Outcome { sweep: &self.sweep, runs: runs.map_err(run_error)? }),
            }
        })
    }

    /// Executes one run, and returns its result for `collect`.
    fn run_one<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = interruptible(py, None, |&Watch { cancel, progress }| {
            let execution = Execution { threads: NonZeroUsize::new(1), cancel, progress, store: None };
            let key = keyed(&self.keys, number)?;
            let done = self.sweep.run_in(&WithSchemes(cancel), vec![key], &execution).map_err(run_error)?;
            let Outcomes { mut done, mut failed, .. } = done.runs;
            let result = match (done.pop(), failed.pop()) {
                (Some((_, values)), _) => Ok(values),
                (None, Some((_, reason))) => Err(reason),
                (None, None) => return Err(run_error("the run was cancelled")),
            };
            postcard::to_allocvec(&result).map_err(run_error)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the results of the sweep, from those of all runs in order.
    fn collect(&self, py: Python<'_>, results: Vec<Vec<u8>>) -> PyResult<Swept> {
        py.detach(|| {
            let mut runs = Outcomes { done: Vec::new(), failed: Vec::new(), skipped: Vec::new() };
            for (key, bytes) in self.keys.iter().cloned().zip(results) {
                match postcard::from_bytes::<Result<Values, String>>(&bytes).map_err(run_error)? {
                    Ok(values) => runs.done.push((key, values)),
                    Err(reason) => runs.failed.push((key, reason)),
                }
            }
            swept(&Outcome { sweep: &self.sweep, runs })
        })
    }
}

/// Results of a reproduction: a paper's claims as JSON, its title, the number of runs, and failed ones with
/// their reasons.
type Reproduced = (String, String, usize, Vec<(String, String)>);

/// Reproduces a paper.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    paper: &str,
    quick: bool,
    seeds: Option<u64>,
    threads: Option<NonZeroUsize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Reproduced> {
    let experiment = experiments::find(paper).ok_or_else(|| {
        let names: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
        let remedy = suggest(paper, names.iter().copied());
        input_error(format!("there is no paper \"{paper}\"{remedy}; want one of {}", names.join(", ")))
    })?;
    interruptible(py, progress.as_ref(), |&Watch { cancel, progress }| {
        let execution = Execution { threads, cancel, progress, store: None };
        let report =
            experiment.reproduce(&Effort { quick, seeds, claims: false }, &execution).map_err(run_error)?;
        let claims = serde_json::to_string(&report.ledger).map_err(run_error)?;
        Ok((claims, report.title, report.provenance.runs, report.provenance.failed))
    })
}
