//! Stores results of runs on disk during an experiment, so that an interrupted experiment can resume.
//!
//! A result is valid only for the program that computed it: the folder's name is a fingerprint of the
//! program, and results of other programs are not read. Each result is one file, renamed into place when it
//! is complete; a damaged result is computed anew. The store is removed when the report has been written.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use msctp_terminal::replace::is_part;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::input::os_error;
use crate::output::write_file;

/// A folder of results.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    dir: PathBuf,
    /// Names of the results of an earlier run of the program.
    earlier: BTreeSet<OsString>,
    /// Number of results of an earlier run that were reused.
    reused: AtomicUsize,
}

impl Store {
    /// Opens the store in the folder `root`, and creates the folder if it does not exist. `program` is the
    /// content of the running program. Removes results of other programs from `root`.
    ///
    /// # Errors
    /// The file system fails.
    pub fn open(root: &Path, program: &[u8]) -> io::Result<Self> {
        let fingerprint = hex(program);
        let dir = root.join(&fingerprint);
        fs::create_dir_all(&dir)?;
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            if entry.file_name() != fingerprint.as_str() && entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            }
        }
        let earlier = fs::read_dir(&dir)?.flatten().map(|entry| entry.file_name()).collect();
        Ok(Self { root: root.to_owned(), dir, earlier, reused: AtomicUsize::new(0) })
    }

    /// Returns the number of results.
    #[must_use]
    pub fn len(&self) -> usize {
        let whole = |entry: &fs::DirEntry| !is_part(Path::new(&entry.file_name()));
        fs::read_dir(&self.dir).map_or(0, |entries| entries.flatten().filter(whole).count())
    }

    /// Returns true if there are no results.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn path(&self, key: &str) -> PathBuf {
        self.dir.join(hex(key.as_bytes()))
    }

    /// Loads the result of `key`; `None` if it does not exist or cannot be read.
    #[must_use]
    pub fn load<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let path = self.path(key);
        let file = fs::read(&path).ok()?;
        let (_, result) = contents(key, &file)?;
        let result = postcard::from_bytes(result).ok()?;
        if path.file_name().is_some_and(|name| self.earlier.contains(name)) {
            self.reused.fetch_add(1, Ordering::Relaxed);
        }
        Some(result)
    }

    /// Returns the number of results loaded that were stored before the store was opened. Two cells with the
    /// same scenario share the results of this run.
    #[must_use]
    pub fn reused(&self) -> usize {
        self.reused.load(Ordering::Relaxed)
    }

    /// Returns the attachment of `key`, to be read later.
    #[must_use]
    pub fn attachment(&self, key: &str) -> Attachment {
        Attachment { path: self.path(key), key: key.to_owned() }
    }

    /// Stores the result of `key` with an attachment, which may be empty.
    ///
    /// # Errors
    /// The file system fails.
    pub fn keep(&self, key: &str, result: &impl Serialize, attachment: &[u8]) -> io::Result<()> {
        let mut bytes = postcard::to_allocvec(&attachment.len()).map_err(io::Error::other)?;
        bytes.extend(attachment);
        bytes.extend(postcard::to_allocvec(result).map_err(io::Error::other)?);
        bytes.extend(checksum(key, &bytes));
        write_file(&self.path(key), &bytes)
    }

    /// Removes the store after the report is written.
    ///
    /// # Errors
    /// The file system fails.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(self.root)
    }
}

/// Bytes that are stored with a result and are not loaded with it.
#[derive(Clone, Debug)]
pub struct Attachment {
    path: PathBuf,
    key: String,
}

impl Attachment {
    /// Reads the bytes.
    ///
    /// # Errors
    /// The file is missing or damaged.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let bytes = fs::read(&self.path).and_then(|file| match contents(&self.key, &file) {
            Some((attachment, _)) => Ok(attachment.to_vec()),
            None => Err(io::Error::other("damaged")),
        });
        bytes.map_err(|error| {
            let (path, why) = (self.path.display(), os_error(&error));
            io::Error::other(format!("cannot read {path}: {why}; run the same command again"))
        })
    }
}

/// Returns the attachment and the result in a file; `None` if it is damaged.
fn contents<'f>(key: &str, file: &'f [u8]) -> Option<(&'f [u8], &'f [u8])> {
    let (bytes, sum) = file.split_last_chunk()?;
    (*sum == checksum(key, bytes)).then(|| postcard::take_from_bytes(bytes).ok())?
}

/// Returns the end of a file with this result: a changed digit would be read as another value.
fn checksum(key: &str, bytes: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(key).chain_update(bytes).finalize().into()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("msctp-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn a_result_is_restored_bit_by_bit_for_its_own_program_only() {
        let root = folder("back");
        let value = (0.1_f64 + 0.2, f64::NAN.to_bits(), vec![Some("x".to_owned()), None]);
        let store = Store::open(&root, b"program").unwrap();
        assert!(store.is_empty());
        store.keep("a run, seed 1", &value, b"attached").unwrap();
        assert_eq!(store.load("a run, seed 1"), Some(value.clone()));
        assert_eq!(store.attachment("a run, seed 1").read().unwrap(), b"attached");
        assert_eq!(store.reused(), 0, "the result is of this run");
        drop(store);
        let again = Store::open(&root, b"program").unwrap();
        assert_eq!(again.reused(), 0);
        assert_eq!(again.load("a run, seed 1"), Some(value));
        assert_eq!(again.load::<u64>("a run, seed 2"), None);
        assert_eq!(again.reused(), 1);
        let other = Store::open(&root, b"another program").unwrap();
        assert!(other.is_empty());
        assert_eq!(other.load::<(f64, u64, Vec<Option<String>>)>("a run, seed 1"), None);
        assert_eq!(again.len(), 0, "removed");
        other.remove().unwrap();
        assert!(!root.exists());
    }

    #[test]
    fn a_damaged_result_is_ignored() {
        let root = folder("damaged");
        let store = Store::open(&root, b"p").unwrap();
        store.keep("k", &vec![1_u64, 2, 3], &[]).unwrap();
        let path = store.path("k");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(store.load::<Vec<u64>>("k"), None);
        let mut changed = bytes;
        changed[2] ^= 1;
        fs::write(&path, &changed).unwrap();
        assert_eq!(store.load::<Vec<u64>>("k"), None, "another number");
        let error = store.attachment("k").read().unwrap_err().to_string();
        assert!(error.ends_with(": damaged; run the same command again"), "{error}");
        store.remove().unwrap();
    }
}
