//! Output files and folders that replace existing ones only when they are complete.
//!
//! A folder is staged as `NAME.PID.part`, then renamed file by file. An error, a panic or an interrupt before
//! that leaves the old content unchanged.

mod folder;

pub(crate) use folder::{Former, remove_results};
pub use folder::{Kind, OutputFolder, STORE, check};
pub use msctp_terminal::replace::{OutputFile, write_file};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    /// Creates a test's own folder.
    pub(super) fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("msctp-output-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    pub(super) fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn create_fails_at_once_if_the_path_cannot_be_written() {
        let dir = folder("refused");
        fs::write(dir.join("file"), "").unwrap();
        assert!(OutputFolder::create(&dir.join("file/inside"), Kind::Run).is_err(), "below a file");
        assert_eq!(names(&dir), ["file"]);
        fs::remove_dir_all(dir).unwrap();
    }
}
