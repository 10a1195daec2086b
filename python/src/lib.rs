//! The Python module `msctp._native`: the simulator and the laboratory. The package `msctp` wraps it with
//! types and documentation.

#![allow(missing_docs)]

mod columns;
mod folder;
mod many;
mod run;
mod scenario;
mod schemes;
mod series;
mod signals;
mod trace;

use msctp_experiments::input::without_number;
use msctp_experiments::metrics::{METRICS, Metric};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    msctp,
    InputError,
    PyValueError,
    "An argument, a scenario or a sweep is invalid; the text says what is allowed."
);
create_exception!(msctp, RunError, PyRuntimeError, "A run, or writing its results, failed.");

/// Returns the error of invalid input.
fn input_error(message: impl ToString) -> PyErr {
    InputError::new_err(without_number(&message.to_string()))
}

/// Returns the error of a run.
fn run_error(message: impl ToString) -> PyErr {
    RunError::new_err(without_number(&message.to_string()))
}

/// Returns the registry of metrics as JSON, as `msctp-lab scenario metrics --json` prints it.
#[pyfunction]
fn metrics() -> PyResult<String> {
    let entries: Vec<_> = METRICS.iter().map(Metric::entry).collect();
    serde_json::to_string(&entries).map_err(run_error)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("RunError", module.py().get_type::<RunError>())?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<columns::Columns>()?;
    schemes::register(module)?;
    module.add_function(wrap_pyfunction!(metrics, module)?)?;
    module.add_function(wrap_pyfunction!(trace::traces, module)?)?;
    module.add_class::<many::Plan>()?;
    module.add_class::<folder::Folder>()?;
    module.add_function(wrap_pyfunction!(many::reproduce, module)?)
}
