//! Output files of commands: opened before the work, so that a mistake costs no time, and put in their place
//! after it, so that a failure costs no file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use msctp_lab::output::OutputFile;

use crate::Failure;

/// A file a command writes.
pub(crate) struct Output {
    path: PathBuf,
    file: OutputFile,
}

fn failure(path: &Path, e: impl std::fmt::Display) -> Failure {
    Failure::Run(format!("{}: {e}", path.display()))
}

impl Output {
    /// Opens the file named by `flag`. What was there stays until [`commit`](Self::commit).
    pub(crate) fn open(flag: &str, path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Err(Failure::Input(format!(
                "{flag} -: standard output has the summary: want a file, or a FIFO for another program"
            )));
        }
        let file = OutputFile::create(path).map_err(|e| failure(path, e))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Opens the file of a flag that may be left out.
    pub(crate) fn open_optional(flag: &str, path: Option<&Path>) -> Result<Option<Self>, Failure> {
        path.map(|path| Self::open(flag, path)).transpose()
    }

    /// A writer to the file.
    pub(crate) fn writer(&self) -> Result<BufWriter<File>, Failure> {
        self.file.writer().map_err(|e| failure(&self.path, e))
    }

    /// The failure of writing it.
    pub(crate) fn failure(&self, e: impl std::fmt::Display) -> Failure {
        failure(&self.path, e)
    }

    /// Puts the file in its place.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        let Self { path, file } = self;
        file.commit().map_err(|e| failure(&path, e))
    }

    /// Writes the whole file and puts it in its place.
    pub(crate) fn write(self, content: &[u8]) -> Result<(), Failure> {
        let mut out = self.writer()?;
        out.write_all(content).and_then(|()| out.flush()).map_err(|e| self.failure(e))?;
        self.commit()
    }
}
