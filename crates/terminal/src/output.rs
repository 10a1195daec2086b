//! Output files of commands. They are opened before the work, so that a wrong path is reported at once, and
//! renamed into place after it, so that a failure leaves existing files unchanged.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::Failure;
use crate::input::{cannot_write, recorded};
use crate::replace::OutputFile;

/// The outputs of this process: resolved path, and flag with path for errors.
static OUTPUTS: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// Rejects an output that would replace an input or another output; a device or a pipe may have several.
/// Call it before the work and once for each output.
///
/// # Errors
/// The path is an input or another output of this process.
pub fn claim(what: &str, path: &Path) -> Result<(), Failure> {
    if fs::metadata(path).is_ok_and(|at| !at.is_file() && !at.is_dir()) {
        return Ok(());
    }
    let path = resolve(path);
    if let Some(input) = recorded(&path) {
        return Err(Failure::Input(format!("{what}: would replace the input {input}: want another path")));
    }
    match OUTPUTS.lock().unwrap_or_else(PoisonError::into_inner).insert(path, what.to_owned()) {
        Some(other) => Err(Failure::Input(format!("{what}: also the output of {other}: want another path"))),
        None => Ok(()),
    }
}

/// Returns the canonical path of a file that may not exist yet.
fn resolve(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let new = || Some(fs::canonicalize(parent).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(new).unwrap_or_else(|| path.to_owned())
}

/// An output file of a command.
#[derive(Debug)]
pub struct Output {
    /// Flag and path of the file, for errors.
    what: String,
    file: OutputFile,
}

impl Output {
    /// Opens the file named by `flag`. An existing file stays until [`commit`](Self::commit).
    ///
    /// # Errors
    /// The path is `-`, an input or another output, or the file system fails.
    pub fn open(flag: &str, path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Err(Failure::Input(format!(
                "{flag} -: standard output is for the summary: want a file, or a FIFO for another program"
            )));
        }
        let what = format!("{flag} {}", path.display());
        claim(&what, path)?;
        let file = OutputFile::create(path).map_err(|e| Failure::Input(cannot_write(&what, &e)))?;
        Ok(Self { what, file })
    }

    /// Opens the file of an optional flag.
    ///
    /// # Errors
    /// Same as [`open`](Self::open).
    pub fn open_optional(flag: &str, path: Option<&Path>) -> Result<Option<Self>, Failure> {
        path.map(|path| Self::open(flag, path)).transpose()
    }

    /// Returns a writer to the file.
    ///
    /// # Errors
    /// The file system fails.
    pub fn writer(&self) -> Result<BufWriter<File>, Failure> {
        self.file.writer().map_err(|e| self.failure(&e))
    }

    /// Returns the failure of a write to the file.
    #[must_use]
    pub fn failure(&self, error: &io::Error) -> Failure {
        Failure::Run(cannot_write(&self.what, error))
    }

    /// Renames the file into place.
    ///
    /// # Errors
    /// The file system fails.
    pub fn commit(self) -> Result<(), Failure> {
        let Self { what, file } = self;
        file.commit().map_err(|e| Failure::Run(cannot_write(what, &e)))
    }

    /// Writes the whole file and renames it into place.
    ///
    /// # Errors
    /// The file system fails.
    pub fn write(self, content: &[u8]) -> Result<(), Failure> {
        let mut out = self.writer()?;
        out.write_all(content).and_then(|()| out.flush()).map_err(|e| self.failure(&e))?;
        self.commit()
    }
}
