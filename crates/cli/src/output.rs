//! Output files of commands: opened before the work, so that a mistake costs no time, and put in their place
//! after it, so that a failure costs no file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use msctp_lab::output::OutputFile;

use crate::Failure;
use crate::system::cannot_write;

/// A file a command writes.
pub(crate) struct Output {
    /// Its flag and path, for errors.
    what: String,
    file: OutputFile,
}

impl Output {
    /// Opens the file named by `flag`. What was there stays until [`commit`](Self::commit).
    pub(crate) fn open(flag: &str, path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Err(Failure::Input(format!(
                "{flag} -: standard output has the summary: want a file, or a FIFO for another program"
            )));
        }
        let what = format!("{flag} {}", path.display());
        let file = OutputFile::create(path).map_err(|e| Failure::Input(cannot_write(&what, &e)))?;
        Ok(Self { what, file })
    }

    /// Opens the file of a flag that may be left out.
    pub(crate) fn open_optional(flag: &str, path: Option<&Path>) -> Result<Option<Self>, Failure> {
        path.map(|path| Self::open(flag, path)).transpose()
    }

    /// A writer to the file.
    pub(crate) fn writer(&self) -> Result<BufWriter<File>, Failure> {
        self.file.writer().map_err(|e| self.failure(&e))
    }

    /// Returns the failure of a write to the file.
    pub(crate) fn failure(&self, error: &io::Error) -> Failure {
        Failure::Run(cannot_write(&self.what, error))
    }

    /// Puts the file in its place.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        let Self { what, file } = self;
        file.commit().map_err(|e| Failure::Run(cannot_write(what, &e)))
    }

    /// Writes the whole file and puts it in its place.
    pub(crate) fn write(self, content: &[u8]) -> Result<(), Failure> {
        let mut out = self.writer()?;
        out.write_all(content).and_then(|()| out.flush()).map_err(|e| self.failure(&e))?;
        self.commit()
    }
}
