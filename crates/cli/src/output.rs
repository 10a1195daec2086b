//! Output files of commands. They are opened before the work, so that a wrong path is reported at once, and
//! renamed into place after it, so that a failure leaves existing files unchanged.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use msctp_experiments::output::OutputFile;

use crate::Failure;
use crate::system::cannot_write;

/// An output file of a command.
pub(crate) struct Output {
    /// Flag and path of the file, for errors.
    what: String,
    file: OutputFile,
}

impl Output {
    /// Opens the file named by `flag`. An existing file stays until [`commit`](Self::commit).
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

    /// Opens the file of an optional flag.
    pub(crate) fn open_optional(flag: &str, path: Option<&Path>) -> Result<Option<Self>, Failure> {
        path.map(|path| Self::open(flag, path)).transpose()
    }

    /// Returns a writer to the file.
    pub(crate) fn writer(&self) -> Result<BufWriter<File>, Failure> {
        self.file.writer().map_err(|e| self.failure(&e))
    }

    /// Returns the failure of a write to the file.
    pub(crate) fn failure(&self, error: &io::Error) -> Failure {
        Failure::Run(cannot_write(&self.what, error))
    }

    /// Renames the file into place.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        let Self { what, file } = self;
        file.commit().map_err(|e| Failure::Run(cannot_write(what, &e)))
    }

    /// Writes the whole file and renames it into place.
    pub(crate) fn write(self, content: &[u8]) -> Result<(), Failure> {
        let mut out = self.writer()?;
        out.write_all(content).and_then(|()| out.flush()).map_err(|e| self.failure(&e))?;
        self.commit()
    }
}
