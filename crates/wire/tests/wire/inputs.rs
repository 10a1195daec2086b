//! The inputs that lie in a folder, for the tests that replay them; of this crate and of those above it.

use std::path::{Path, PathBuf};

/// Inputs of other implementations: the folder that `MSCTP_CORPUS` names, else `../shared/corpora` beside the
/// repository, if it exists.
pub(crate) fn public_corpora() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    let named = std::env::var_os("MSCTP_CORPUS").map(PathBuf::from);
    let folder = named.or_else(|| beside.is_dir().then_some(beside));
    if folder.is_none() {
        eprintln!(
            "skipped: no public corpora (MSCTP_CORPUS names no folder, and ../shared/corpora is not there)"
        );
    }
    folder
}

/// All files below `folder`.
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
