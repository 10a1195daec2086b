//! Input files, and errors of the operating system in the user's words: the operation, its object, the cause,
//! the remedy.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum length of an input file in bytes, so that `/dev/zero` is rejected instead of filling the memory.
const MAX_INPUT: u64 = 64 << 20;

/// The input files of this process: canonical path, and name in errors.
static READ: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

fn inputs() -> MutexGuard<'static, BTreeMap<PathBuf, String>> {
    READ.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records a file as an input of this process. [`read`] does.
pub fn record(what: impl Display, path: &Path) {
    if let Ok(path) = fs::canonicalize(path) {
        inputs().entry(path).or_insert_with(|| what.to_string());
    }
}

/// Returns the name of the input at this canonical path.
#[must_use]
pub fn recorded(path: &Path) -> Option<String> {
    inputs().get(path).cloned()
}

/// Formats an error of the operating system without its number.
#[must_use]
pub fn os_error(error: &io::Error) -> String {
    without_number(&error.to_string())
}

/// Removes the number of an operating system's error from a message.
#[must_use]
pub fn without_number(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(" (os error ") {
        let end = after.find(')').filter(|&end| after[..end].bytes().all(|byte| byte.is_ascii_digit()));
        let Some(end) = end else { break };
        out.push_str(before);
        rest = &after[end + 1..];
    }
    out + rest
}

/// Describes a file that cannot be read. `what` is the path, after its flag if it has one.
#[must_use]
pub fn cannot_read(what: impl Display, error: &io::Error) -> String {
    let remedy = match error.kind() {
        ErrorKind::NotFound => "; want the path of a file",
        ErrorKind::PermissionDenied => "; want a file that you may read",
        ErrorKind::IsADirectory => "; want a file",
        ErrorKind::InvalidData => "; want a text file",
        _ => "",
    };
    format!("cannot read {what}: {}{remedy}", os_error(error))
}

/// Describes a file or folder that cannot be written. `what` is the path, after its flag if it has one.
#[must_use]
pub fn cannot_write(what: impl Display, error: &io::Error) -> String {
    let remedy = match error.kind() {
        ErrorKind::NotFound => "; make its folder first, or name another",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "; want a path in a folder",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "; name a place where you may write",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "; make room, or name another place"
        }
        _ => "",
    };
    format!("cannot write {what}: {}{remedy}", os_error(error))
}

/// Reads an input file; `what` names it in errors.
///
/// # Errors
/// The file cannot be read, or is longer than 64 MiB.
pub fn read(what: impl Display, path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_INPUT + 1).read_to_end(&mut bytes))
        .map_err(|error| cannot_read(&what, &error))?;
    record(&what, path);
    if bytes.len() as u64 > MAX_INPUT {
        let most = MAX_INPUT >> 20;
        return Err(format!("cannot read {what}: longer than {most} MiB; want a smaller file"));
    }
    Ok(bytes)
}

/// Reads a text file; `what` names it in errors.
///
/// # Errors
/// Same as [`read`], or the file is not UTF-8.
pub fn read_text(what: impl Display, path: &Path) -> Result<String, String> {
    let bytes = read(&what, path)?;
    String::from_utf8(bytes).map_err(|_| format!("cannot read {what}: not UTF-8; want a text file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_lose_their_number() {
        let error = io::Error::from_raw_os_error(21);
        assert_eq!(os_error(&error), "Is a directory");
        assert_eq!(os_error(&io::Error::other("no number")), "no number");
        assert_eq!(
            without_number("a: No such file or directory (os error 2); b (os error x)"),
            "a: No such file or directory; b (os error x)"
        );
    }

    #[test]
    fn errors_name_the_operation_and_the_remedy() {
        let error = io::Error::from_raw_os_error(13);
        assert_eq!(
            cannot_read("x", &error),
            "cannot read x: Permission denied; want a file that you may read"
        );
        assert_eq!(
            cannot_write("--pcap x", &error),
            "cannot write --pcap x: Permission denied; name a place where you may write"
        );
    }

    #[test]
    fn an_endless_input_is_refused() {
        let refused = read_text("--key /dev/zero", Path::new("/dev/zero")).unwrap_err();
        assert_eq!(refused, "cannot read --key /dev/zero: longer than 64 MiB; want a smaller file");
    }
}
