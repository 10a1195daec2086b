//! The inputs that lie in a folder, for the tests that replay them; of this crate and of those above it.

use std::path::{Path, PathBuf};

/// Returns inputs of other implementations, from the folder that `MSCTP_CORPUS` names.
pub(crate) fn public_corpora() -> Option<PathBuf> {
    let folder = std::env::var_os("MSCTP_CORPUS").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: MSCTP_CORPUS names no folder of other implementations' inputs");
    }
    folder
}

/// Returns all files below `folder`.
///
/// # Panics
/// The folder or a file cannot be read.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("directory entry").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}
