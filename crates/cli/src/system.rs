//! Errors of the operating system in the user's words, as failures of the command.

use std::fmt::Display;
#[cfg(feature = "net")]
use std::io::ErrorKind;
use std::path::Path;

use msctp_experiments::input;
pub(crate) use msctp_experiments::input::{cannot_read, cannot_write, os_error, without_number};

use crate::Failure;

/// Returns whether the file does not exist. An unreadable file and a dangling link count as present: reading
/// them gives an error.
#[cfg(feature = "net")]
pub(crate) fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Reads an input file; `what` names it in errors.
pub(crate) fn read(what: impl Display, path: &Path) -> Result<Vec<u8>, Failure> {
    input::read(what, path).map_err(Failure::Input)
}

/// Reads a text file; `what` names it in errors.
pub(crate) fn read_text(what: impl Display, path: &Path) -> Result<String, Failure> {
    input::read_text(what, path).map_err(Failure::Input)
}
