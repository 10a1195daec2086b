//! The folder of a sweep's results: a Parquet file for each run.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use msctp_experiments::input::cannot_write;
use msctp_experiments::output::write_file;
use msctp_experiments::plan::Outcomes;
use msctp_experiments::sweep::{Key, Outcome, Sweep, Values};
use msctp_experiments::table::parquet_note;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sha2::{Digest, Sha256};

use crate::many::keyed;
use crate::{input_error, run_error};

/// Note of a partition with the digest of everything on which the sweep's runs depend, except their keys.
const SWEEP: &str = "msctp.sweep";

/// Note of a partition with the run's result, its curves and the reasons of missing values.
const RESULT: &str = "msctp.result";

/// A folder of results. Its Parquet files belong to one sweep, and each is a row of the table of runs.
#[pyclass(frozen, module = "msctp._native")]
pub(crate) struct Folder {
    sweep: Arc<Sweep>,
    keys: Arc<[Key]>,
    path: PathBuf,
    digest: String,
}

impl Folder {
    /// Opens or creates a folder. `program` identifies the program and the schemes that run the sweep.
    pub(crate) fn open(
        sweep: &Arc<Sweep>,
        keys: &Arc<[Key]>,
        path: PathBuf,
        program: &str,
    ) -> PyResult<Self> {
        let shown = path.display().to_string();
        let named = || format!("folder {shown}");
        fs::create_dir_all(&path).map_err(|error| input_error(cannot_write(named(), &error)))?;
        let sources = sweep.sources.iter().map(|source| format!("{} {}\n", source.sha256, source.path));
        let digest = hex(sources.chain([program.to_owned()]).collect::<String>().as_bytes());
        let folder = Self { sweep: Arc::clone(sweep), keys: Arc::clone(keys), path, digest };
        let entries =
            fs::read_dir(&folder.path).map_err(|error| input_error(format!("{}: {error}", named())))?;
        for entry in
            entries.flatten().filter(|entry| entry.path().extension().is_some_and(|e| e == "parquet"))
        {
            let note = fs::read(entry.path()).ok().and_then(|bytes| parquet_note(&bytes, SWEEP));
            if note.is_some_and(|of| of != folder.digest) {
                return Err(input_error(format!(
                    "{}: {} is of another sweep, of other schemes or of another build of msctp; want another folder, \
                     or none of its files",
                    named(),
                    entry.file_name().display()
                )));
            }
        }
        Ok(folder)
    }

    fn file(&self, key: &Key) -> PathBuf {
        self.path.join(format!("run-{}.parquet", &hex(key.to_string().as_bytes())[..16]))
    }

    /// Returns the partition of a run.
    fn partition(&self, key: &Key, values: &Values) -> Result<Vec<u8>, String> {
        let result = postcard::to_allocvec(values).map_err(|error| error.to_string())?;
        let result: String = result.iter().map(|byte| format!("{byte:02x}")).collect();
        let done = vec![(key.clone(), values.clone())];
        let runs = Outcomes { done, failed: Vec::new(), skipped: Vec::new() };
        let table = Outcome { sweep: &self.sweep, runs }.run_table();
        table.to_parquet(&[(SWEEP, &self.digest), (RESULT, &result)]).map_err(|error| error.to_string())
    }

    /// Loads a run's result; `None` if its partition is missing or damaged.
    pub(crate) fn load(&self, key: &Key) -> Option<Values> {
        let bytes = fs::read(self.file(key)).ok()?;
        let result = parquet_note(&bytes, RESULT)?;
        let digit = |at: usize| u8::from_str_radix(result.get(at..at + 2)?, 16).ok();
        let result: Option<Vec<u8>> = (0..result.len()).step_by(2).map(digit).collect();
        let values: Values = postcard::from_bytes(&result?).ok()?;
        // A damaged table or note is not what the result would be written as.
        let columns = self.sweep.metrics.len();
        (values.metrics.len() == columns && self.partition(key, &values).ok()? == bytes).then_some(values)
    }

    /// Writes a run's partition, and renames it into place when it is complete.
    pub(crate) fn keep(&self, key: &Key, values: &Values) -> Result<(), String> {
        let file = self.file(key);
        let bytes = self.partition(key, values)?;
        write_file(&file, &bytes).map_err(|error| cannot_write(file.display(), &error))
    }
}

#[pymethods]
impl Folder {
    /// Returns the result of a run like `Plan.run_one`; `None` if it is missing or damaged.
    #[pyo3(name = "load")]
    fn load_number<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let key = keyed(&self.keys, number)?;
        let Some(values) = py.detach(|| self.load(&key)) else { return Ok(None) };
        let bytes = postcard::to_allocvec(&Ok::<_, String>(values)).map_err(run_error)?;
        Ok(Some(PyBytes::new(py, &bytes)))
    }

    /// Writes the result of `Plan.run_one`, except that of a failed run.
    #[pyo3(name = "keep")]
    fn keep_number(&self, py: Python<'_>, number: usize, result: &[u8]) -> PyResult<()> {
        let key = keyed(&self.keys, number)?;
        let Ok(values) = postcard::from_bytes::<Result<Values, String>>(result).map_err(run_error)? else {
            return Ok(());
        };
        py.detach(|| self.keep(&key, &values)).map_err(run_error)
    }
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
