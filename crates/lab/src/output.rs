//! Output files and folders that replace what was there only when they are complete.
//!
//! A file is written beside its place, as `NAME.PID.part`, and renamed into it. A folder is staged the same
//! way, file by file. An error, a panic or an interrupt before the rename leaves the old content as it was.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The ending of files and folders that are being written.
const PART: &str = "part";

/// A file that is being written. Dropped without [`commit`](Self::commit), it leaves nothing.
#[derive(Debug)]
pub struct OutputFile {
    /// Where the file will be.
    path: PathBuf,
    /// Where it is written; `None`: in place, because the target is a device or a pipe.
    part: Option<PathBuf>,
    file: File,
}

impl OutputFile {
    /// Opens the file, so that one that cannot be written is known before the work. A symbolic link is
    /// followed; a device or a pipe is written in place.
    ///
    /// # Errors
    /// Those of the file system; `path` is a folder.
    pub fn create(path: &Path) -> io::Result<Self> {
        // What a link leads to is replaced, not the link.
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

    /// A writer to the file. Flush it before [`commit`](Self::commit).
    ///
    /// # Errors
    /// Those of the file system.
    pub fn writer(&self) -> io::Result<BufWriter<File>> {
        Ok(BufWriter::new(self.file.try_clone()?))
    }

    /// Puts the file in its place, instead of what was there.
    ///
    /// # Errors
    /// Those of the file system; what was there is unchanged then.
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

/// Replaces the content of `path` by `bytes`, or leaves it as it is.
///
/// # Errors
/// Those of the file system.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let output = OutputFile::create(path)?;
    let mut out = output.writer()?;
    out.write_all(bytes)?;
    out.flush()?;
    output.commit()
}

/// A folder whose files are being written. Dropped without [`commit`](Self::commit), it leaves nothing.
#[derive(Debug)]
pub struct OutputFolder {
    dir: PathBuf,
    stage: PathBuf,
}

impl OutputFolder {
    /// A stage for the files of `dir`, which is made if need be.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let stage = beside(&dir.join("stage"));
        fs::create_dir_all(&stage)?;
        Ok(Self { dir: dir.to_owned(), stage })
    }

    /// The folder to write the files into.
    #[must_use]
    pub fn stage(&self) -> &Path {
        &self.stage
    }

    /// Moves every file into its place. Pages (`index.html`) come after what they link to; files of the
    /// folder that are not on the stage stay.
    ///
    /// # Errors
    /// The first file that could not be moved.
    pub fn commit(self) -> io::Result<()> {
        let mut files = Vec::new();
        collect(&self.stage, &mut files)?;
        files.sort();
        let (pages, others): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.file_name().is_some_and(|name| name == "index.html"));
        // The folder's own page is the last of all.
        for file in others.iter().chain(pages.iter().rev()) {
            let inside = file.strip_prefix(&self.stage).map_err(io::Error::other)?;
            let target = self.dir.join(inside);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::rename(file, target)?;
        }
        Ok(())
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.stage);
    }
}

/// All files below a folder.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => collect(&entry.path(), files)?,
            false => files.push(entry.path()),
        }
    }
    Ok(())
}

/// `NAME.PID.part`: two runs with the same output do not write into each other.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.{PART}", std::process::id()));
    name.into()
}

/// Whether a name is that of a file that is being written.
pub(crate) fn is_part(name: &Path) -> bool {
    name.extension().is_some_and(|ending| ending == PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own for a test.
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
    fn what_cannot_be_written_is_known_at_once() {
        let dir = folder("refused");
        assert!(OutputFile::create(&dir).is_err(), "a folder");
        assert!(OutputFile::create(&dir.join("nowhere/file")).is_err(), "no such folder");
        fs::write(dir.join("file"), "").unwrap();
        assert!(OutputFolder::create(&dir.join("file/inside")).is_err(), "below a file");
        assert_eq!(names(&dir), ["file"]);
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

    #[test]
    fn a_folder_is_replaced_file_by_file_and_keeps_the_others() {
        let dir = folder("folder");
        let out = dir.join("report");
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join("index.html"), "old").unwrap();
        fs::write(out.join("note"), "mine").unwrap();
        let output = OutputFolder::create(&out).unwrap();
        fs::create_dir_all(output.stage().join("data")).unwrap();
        fs::write(output.stage().join("data/runs.csv"), "new").unwrap();
        fs::write(output.stage().join("index.html"), "new").unwrap();
        assert_eq!(fs::read(out.join("index.html")).unwrap(), b"old");
        output.commit().unwrap();
        assert_eq!(names(&out), ["data", "index.html", "note"]);
        assert_eq!(fs::read(out.join("index.html")).unwrap(), b"new");
        let dropped = OutputFolder::create(&out).unwrap();
        fs::write(dropped.stage().join("index.html"), "half").unwrap();
        drop(dropped);
        assert_eq!(names(&out), ["data", "index.html", "note"]);
        assert_eq!(fs::read(out.join("index.html")).unwrap(), b"new");
        fs::remove_dir_all(dir).unwrap();
    }
}
