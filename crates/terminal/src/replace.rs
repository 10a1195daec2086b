//! Output files that replace existing ones only when they are complete.
//!
//! A file is written as `NAME.PID.part` in the same folder, then renamed. An error, a panic or an interrupt
//! before the rename leaves the old content unchanged.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Extension of incomplete files and folders.
const PART: &str = "part";

/// An output file. Dropping it without [`commit`](Self::commit) removes it.
#[derive(Debug)]
pub struct OutputFile {
    /// Path of the complete file.
    path: PathBuf,
    /// Path of the incomplete file; `None` if a device or a pipe is written in place.
    part: Option<PathBuf>,
    file: File,
}

impl OutputFile {
    /// Opens the file before the work, so that an error is reported early. A symbolic link is
    /// followed; a device or a pipe is written in place.
    ///
    /// # Errors
    /// `path` is a folder, or the file system fails.
    pub fn create(path: &Path) -> io::Result<Self> {
        // Replace the target of a link, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&path) {
            Ok(at) if at.is_dir() => {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder: want a file"));
            }
            Ok(at) if !at.is_file() => {
                let file = File::options().write(true).open(&path)?;
                return Ok(Self { path, part: None, file });
            }
            _ => {}
        }
        let part = beside(&path);
        let file = File::create(&part)?;
        Ok(Self { path, part: Some(part), file })
    }

    /// Returns a writer to the file. Flush it before [`commit`](Self::commit).
    ///
    /// # Errors
    /// The file system fails.
    pub fn writer(&self) -> io::Result<BufWriter<File>> {
        Ok(BufWriter::new(self.file.try_clone()?))
    }

    /// Renames the file into place and replaces an existing one.
    ///
    /// # Errors
    /// The file system fails. An existing file is then unchanged.
    pub fn commit(mut self) -> io::Result<()> {
        match self.part.take() {
            None => Ok(()),
            Some(part) => fs::rename(&part, &self.path).inspect_err(|_| {
                let _ = fs::remove_file(&part);
            }),
        }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part);
        }
    }
}

/// Replaces the content of `path` with `bytes`, or leaves it unchanged.
///
/// # Errors
/// The file system fails.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let output = OutputFile::create(path)?;
    let mut out = output.writer()?;
    out.write_all(bytes)?;
    out.flush()?;
    output.commit()
}

/// Returns the path `NAME.PID.part`, so that two runs with the same output use different files.
#[must_use]
pub fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.{PART}", std::process::id()));
    name.into()
}

/// Returns true for the name of an incomplete file.
#[must_use]
pub fn is_part(name: &Path) -> bool {
    name.extension().is_some_and(|ending| ending == PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a test's own folder.
    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("msctp-output-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_by_commit_only() {
        let dir = folder("file");
        let path = dir.join("keep.csv");
        fs::write(&path, "old").unwrap();
        let output = OutputFile::create(&path).unwrap();
        output.writer().unwrap().write_all(b"half").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old", "not before commit");
        drop(output);
        assert_eq!((fs::read(&path).unwrap(), names(&dir)), (b"old".to_vec(), vec!["keep.csv".to_owned()]));
        write_file(&path, b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(&dir)), (b"new".to_vec(), vec!["keep.csv".to_owned()]));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn create_fails_at_once_if_the_path_cannot_be_written() {
        let dir = folder("refused");
        assert!(OutputFile::create(&dir).is_err(), "a folder");
        assert!(OutputFile::create(&dir.join("nowhere/file")).is_err(), "no such folder");
        assert!(names(&dir).is_empty());
        fs::remove_dir_all(dir).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_written_in_place() {
        let dir = folder("links");
        fs::write(dir.join("target"), "old").unwrap();
        std::os::unix::fs::symlink(dir.join("target"), dir.join("link")).unwrap();
        write_file(&dir.join("link"), b"new").unwrap();
        assert_eq!(fs::read(dir.join("target")).unwrap(), b"new");
        assert!(fs::symlink_metadata(dir.join("link")).unwrap().is_symlink());
        write_file(Path::new("/dev/null"), b"nothing").unwrap();
        fs::remove_dir_all(dir).unwrap();
    }
}
