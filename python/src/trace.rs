//! Traces of links: the schedules that links of type "trace" follow.

use std::path::PathBuf;

use msctp_experiments::input::read_text;
use msctp_link::trace::Schedule;
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::input_error;

/// A trace: its column, its transmission opportunities, the period in seconds and the mean rate in bit/s.
type Trace = (Option<String>, Columns, f64, u64);

/// Reads every trace of a file: one in Mahimahi's format, or each column of a table of rates.
#[pyfunction]
pub(crate) fn traces(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Trace>> {
    py.detach(|| {
        let file = path.display().to_string();
        let text = read_text(&file, &path).map_err(input_error)?;
        let uncommented = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
        let header = text.lines().map(uncommented).find(|line| !line.is_empty()).unwrap_or_default();
        let mut columns = header.split(',').map(|name| Some(name.trim().to_owned()));
        let columns: Vec<_> =
            if columns.next() == Some(Some("time".to_owned())) { columns.collect() } else { vec![None] };
        if columns.is_empty() {
            let line = 1 + text.lines().take_while(|line| uncommented(line).is_empty()).count();
            return Err(input_error(format!(
                "{file}:{line}: the table has no networks; want time and their names, such as time,wifi,cellular"
            )));
        }
        let read = |column: Option<String>| {
            let schedule = match &column {
                Some(column) => Schedule::from_rates(&text, column),
                None => Schedule::from_mahimahi(&text, None),
            };
            let schedule = schedule.map_err(|error| input_error(format!("{file}:{error}")))?;
            let seconds = |nanos: u64| nanos as f64 / 1e9;
            let times = schedule.instants().iter().map(|at| seconds(at.as_nanos())).collect();
            let period = seconds(schedule.period().as_nanos());
            Ok((column, Columns::new().real("time_s", times), period, schedule.mean_rate().as_bps()))
        };
        columns.into_iter().map(read).collect()
    })
}
