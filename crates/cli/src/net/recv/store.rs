//! [`Store`]: the folder of received files, their incomplete parts, and the hashes of existing files. Files
//! are hashed on a thread of their own, so that no other transfer waits.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use msctp::security::Fingerprint;
use nix::libc;
use tokio::sync::Semaphore;

use crate::net::transfer::Hash;

/// Number of cached hashes of existing files.
const REMEMBERED: usize = 256;

/// The folder of received files.
#[derive(Clone)]
pub(super) struct Store {
    folder: PathBuf,
    known: Arc<Mutex<BTreeMap<PathBuf, (Stamp, String)>>>,
    /// Allows one hash computation at a time: twenty offers of one name read the file once.
    hashing: Arc<Semaphore>,
}

/// Length and modification time of a hashed file, which identify its version.
type Stamp = (u64, Option<SystemTime>);

/// The file under an offered name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum There {
    Nothing,
    /// A file with the offered hash.
    Same,
    Other,
}

impl Store {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), known: Arc::default(), hashing: Arc::new(Semaphore::new(1)) }
    }

    /// Checks that files can be created in the folder.
    pub(super) fn check_writable(&self) -> io::Result<()> {
        // Others who may write here cannot guess the name, and a link of theirs would not be followed.
        let file = self.folder.join(format!(".msctp-{:016x}", RandomState::new().build_hasher().finish()));
        File::create_new(&file)?;
        std::fs::remove_file(file)
    }

    /// Returns the path of a file with this name.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the path of the incomplete file with this hash, from the sender with this key if it has one.
    /// No other sender can spoil it.
    pub(super) fn part(&self, sha256: &str, key: Option<Fingerprint>) -> PathBuf {
        let key = key.map(|key| format!(".{}", key.to_string().replace("SHA256:", "").replace('/', "_")));
        self.folder.join(format!(".{sha256}{}.part", key.unwrap_or_default()))
    }

    /// Returns true if a file of the offered length exists, so that the comparison needs its hash.
    pub(super) fn must_hash(&self, file: &Path, size: u64) -> bool {
        std::fs::metadata(file).is_ok_and(|there| is_alike(&there, size))
    }

    /// Compares the existing file with the offered one.
    pub(super) async fn compare(&self, file: &Path, size: u64, sha256: &str) -> There {
        match std::fs::symlink_metadata(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return There::Nothing,
            _ => {}
        }
        // A file of another length is not read.
        match std::fs::metadata(file) {
            Ok(there) if is_alike(&there, size) => {}
            _ => return There::Other,
        }
        match self.hash(file).await {
            Ok(hash) if hash == sha256 => There::Same,
            _ => There::Other,
        }
    }

    async fn hash(&self, file: &Path) -> io::Result<String> {
        let _one = self.hashing.acquire().await.map_err(io::Error::other)?;
        let there = std::fs::metadata(file)?;
        let stamp = (there.len(), there.modified().ok());
        if let Some((before, hash)) = self.known().get(file)
            && *before == stamp
        {
            return Ok(hash.clone());
        }
        let path = file.to_owned();
        let read = tokio::task::spawn_blocking(move || Hash::of_file(&path, || ()));
        let hash = read.await.map_err(io::Error::other)??.0.text();
        let mut known = self.known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(file.to_owned(), (stamp, hash.clone()));
        Ok(hash)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<PathBuf, (Stamp, String)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a complete part to the disk and renames it, without replacing an existing file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if the name is taken; the part is kept.
    pub(super) fn publish(&self, part: &Path, file: &Path) -> io::Result<()> {
        File::open(part)?.sync_all()?;
        rename_new(part, file)?;
        self.sync_folder()
    }

    /// Writes a file of the folder to the disk. It may be of another program, or of a receiver that was
    /// killed before it had written the folder.
    pub(super) fn sync(&self, file: &Path) -> io::Result<()> {
        File::open(file)?.sync_all()?;
        self.sync_folder()
    }

    fn sync_folder(&self) -> io::Result<()> {
        match File::open(&self.folder)?.sync_all() {
            // A file system that cannot do that for a folder.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
            result => result,
        }
    }
}

/// Renames a part without replacing an existing file.
fn rename_new(part: &Path, file: &Path) -> io::Result<()> {
    // One step: a process killed between two would leave the part as another link of the file.
    #[cfg(target_os = "linux")]
    match rustix::fs::renameat_with(
        rustix::fs::CWD,
        part,
        rustix::fs::CWD,
        file,
        rustix::fs::RenameFlags::NOREPLACE,
    ) {
        Ok(()) => return Ok(()),
        Err(rustix::io::Errno::EXIST) => return Err(ErrorKind::AlreadyExists.into()),
        // A file system without it (NFS).
        Err(_) => {}
    }
    match std::fs::hard_link(part, file) {
        Ok(()) => std::fs::remove_file(part),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // A file system without hard links (FAT): create an empty file first, then replace that.
        Err(_) => {
            File::create_new(file)?;
            std::fs::rename(part, file)
        }
    }
}

/// Checks that a part is a file that this process or an earlier one of this user made. Another user who may
/// write to the folder could have put a link or a file of theirs there.
fn check_own(part: &Metadata) -> io::Result<()> {
    let wrong = if !part.is_file() {
        "it is not a regular file"
    } else if part.nlink() > 1 {
        "it has another hard link"
    } else if part.uid() != nix::unistd::geteuid().as_raw() {
        "it belongs to another user"
    } else {
        return Ok(());
    };
    Err(io::Error::other(format!("{wrong}: delete it")))
}

fn is_alike(there: &Metadata, size: u64) -> bool {
    there.is_file() && there.len() == size
}

/// An incomplete file, locked by this process.
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) hash: Hash,
    pub(super) len: u64,
}

impl Part {
    /// Opens or creates the part and hashes its content. Truncates a part that is longer than `size`.
    ///
    /// # Errors
    ///
    /// The part cannot be opened, another process writes it, or it is a file that another user may have put
    /// there.
    pub(super) fn open(path: PathBuf, size: u64, progress: impl FnMut()) -> io::Result<Self> {
        // O_NONBLOCK: opening a named pipe must not block.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut options = OpenOptions::new();
        options.read(true).append(true).custom_flags(flags);
        let file = match options.clone().create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let file = options.open(&path).map_err(|error| match error.raw_os_error() {
                    Some(libc::ELOOP) => io::Error::other("it is a symbolic link: delete it"),
                    _ => error,
                })?;
                check_own(&file.metadata()?)?;
                file
            }
            created => created?,
        };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(ErrorKind::WouldBlock, "another `msctp recv` is writing it"));
            }
            // Without file locks, the hash detects two processes that write the same part.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let there = file.metadata()?.len();
        let (hash, len) = match there {
            0 => Default::default(),
            _ if there <= size => Hash::of(&file, progress)?,
            _ => {
                file.set_len(0)?;
                Default::default()
            }
        };
        Ok(Self { path, file, hash, len })
    }

    /// Drops the content, which is not the beginning of the offered file.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        (self.hash, self.len) = Default::default();
        Ok(())
    }

    /// Removes the part if it is empty.
    pub(super) fn remove_if_empty(&self) {
        if self.len == 0 {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let (file, part) = (store.file("x"), folder.path().join("part"));
        std::fs::write(&part, "first").unwrap();
        store.publish(&part, &file).unwrap();
        assert!(!part.exists());
        std::fs::write(&part, "second").unwrap();
        assert_eq!(store.publish(&part, &file).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&file).unwrap(), b"first");
    }

    #[test]
    fn a_part_is_named_by_all_digits_and_the_key_of_the_sender() {
        let store = Store::new(Path::new("out"));
        let (sha256, key) = ("0123456789abcdef".repeat(4), format!("SHA256:{}A", "/".repeat(42)));
        let name = |key| store.part(&sha256, key).display().to_string();
        assert_eq!(name(None), format!("out/.{sha256}.part"));
        assert_eq!(name(Some(key.parse().unwrap())), format!("out/.{sha256}.{}A.part", "_".repeat(42)));
    }

    #[test]
    fn a_part_belongs_to_one_process_and_is_cut_when_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part");
        std::fs::write(&path, "abc").unwrap();
        let part = Part::open(path.clone(), 3, || ()).unwrap();
        assert_eq!((part.len, &part.hash.text()[..8]), (3, "ba7816bf"));
        assert_eq!(Part::open(path.clone(), 3, || ()).err().unwrap().kind(), ErrorKind::WouldBlock);
        drop(part);
        assert_eq!(Part::open(path, 2, || ()).unwrap().len, 0);
    }

    #[test]
    fn a_part_that_another_user_may_have_put_there_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (outside, path) = (folder.path().join("outside"), folder.path().join("part"));
        std::fs::write(&outside, "abc").unwrap();
        let refused = || Part::open(path.clone(), 9, || ()).err().map(|error| error.to_string());
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        assert_eq!(refused().as_deref(), Some("it is a symbolic link: delete it"));
        std::fs::remove_file(&path).unwrap();
        std::fs::hard_link(&outside, &path).unwrap();
        assert_eq!(refused().as_deref(), Some("it has another hard link: delete it"));
        std::fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert_eq!(refused().as_deref(), Some("it is not a regular file: delete it"));
        assert_eq!(std::fs::read(&outside).unwrap(), b"abc");
    }

    #[test]
    fn the_check_of_the_folder_writes_to_no_file_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        std::fs::write(&outside, "abc").unwrap();
        let planted = folder.path().join(format!(".msctp-{}", std::process::id()));
        std::os::unix::fs::symlink(&outside, planted).unwrap();
        Store::new(folder.path()).check_writable().unwrap();
        assert_eq!(std::fs::read(&outside).unwrap(), b"abc");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing stays");
    }

    #[test]
    fn an_offer_of_another_length_is_detected_without_reading() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let (file, abc) = (store.file("x"), Hash::of_file(Path::new("/dev/null"), || ()).unwrap().0.text());
        let compare = |size| runtime.block_on(store.compare(&file, size, &abc));
        assert_eq!(compare(0), There::Nothing);
        std::fs::write(&file, "").unwrap();
        assert_eq!((compare(1), store.known().len()), (There::Other, 0));
        assert_eq!((compare(0), store.known().len()), (There::Same, 1));
    }
}
