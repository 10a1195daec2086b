//! Input files, whose errors are failures of the command.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;

use crate::Failure;
use crate::input;
pub use crate::input::{cannot_read, cannot_write, os_error, without_number};

/// Returns whether the file does not exist. An unreadable file and a dangling link count as present: reading
/// them gives an error.
#[must_use]
pub fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Reads an input file; `what` names it in errors.
///
/// # Errors
/// Same as [`input::read`].
pub fn read(what: impl Display, path: &Path) -> Result<Vec<u8>, Failure> {
    input::read(what, path).map_err(Failure::Input)
}

/// Reads a text file; `what` names it in errors.
///
/// # Errors
/// Same as [`input::read_text`].
pub fn read_text(what: impl Display, path: &Path) -> Result<String, Failure> {
    input::read_text(what, path).map_err(Failure::Input)
}
