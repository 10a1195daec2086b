//! The repository's files, for the tests that read them.

#![allow(dead_code, reason = "each test uses some of these")]

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository").to_path_buf()
}

/// Returns the folders of the workspace's crates, those of the library and of the laboratory.
pub(crate) fn crate_folders() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["crates", "lab"]
        .iter()
        .flat_map(|folder| fs::read_dir(root().join(folder)).expect("a folder"))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    found.sort();
    found
}

/// Returns the sources of all crates, in order.
pub(crate) fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in crate_folders() {
        files(&folder, "rs", &mut found);
    }
    found
}

/// Appends the files below `folder` with this `extension`, in order, without build folders.
pub(crate) fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                files(&path, extension, found);
            }
        } else if path.extension().is_some_and(|is| is == extension) {
            found.push(path);
        }
    }
}
