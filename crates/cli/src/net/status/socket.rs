//! The status socket of a process: a Unix socket that answers each connection with one JSON document.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use msctp_terminal::Failure;
use msctp_terminal::system::os_error;
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixSocket};

use super::monitor::Monitor;
use crate::net::listen;

/// Time for a reader to receive the document.
const WRITE: Duration = Duration::from_secs(5);

/// Maximum number of readers at a time.
const READERS: usize = 16;

/// The folder of services, and of processes without `$XDG_RUNTIME_DIR`.
const SYSTEM: &str = "/run/msctp";

/// Returns the folder of this process's socket: `$RUNTIME_DIRECTORY` of a systemd service,
/// `$XDG_RUNTIME_DIR/msctp`, else [`SYSTEM`].
fn folder() -> PathBuf {
    absolute("RUNTIME_DIRECTORY").or_else(of_user).unwrap_or_else(|| PathBuf::from(SYSTEM))
}

fn of_user() -> Option<PathBuf> {
    absolute("XDG_RUNTIME_DIR").map(|runtime| runtime.join("msctp"))
}

fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the sockets of all processes that this user may see, and the folders that were searched. These are
/// this user's folder and those of services, with a subfolder for each instance.
pub(super) fn find() -> (Vec<PathBuf>, Vec<PathBuf>) {
    let mut folders: Vec<_> = of_user().into_iter().chain([PathBuf::from(SYSTEM)]).collect();
    let searched = folders.clone();
    for entry in fs::read_dir(SYSTEM).into_iter().flatten().flatten() {
        folders.push(entry.path());
    }
    (folders.iter().flat_map(|folder| sockets(folder)).collect(), searched)
}

/// A Unix socket in the file system, removed when dropped.
pub(super) struct Socket {
    listener: UnixListener,
    _file: File,
}

/// The socket's file.
struct File {
    path: PathBuf,
    /// Device and inode of the file, since another process may have replaced it.
    inode: (u64, u64),
}

impl Drop for File {
    fn drop(&mut self) {
        if inode(&self.path).is_ok_and(|now| now == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

impl Socket {
    /// Opens the socket at the path of `--status`.
    ///
    /// # Errors
    ///
    /// It cannot be created, or another process answers there.
    pub(super) fn open_at(path: &Path) -> Result<Self, Failure> {
        let named = |why: String| Failure::Run(format!("--status {}: {why}", path.display()));
        replace_stale(path).map_err(named)?;
        Self::bind(path).map_err(|error| named(os_error(&error)))
    }

    /// Opens a socket in [`folder`]; `None` if this user may not. Removes the sockets of killed processes.
    pub(super) fn open(command: &str) -> Option<Self> {
        let folder = folder();
        let opened = Self::open_in(&folder, command);
        // Most users may not write to the system's folder.
        let named = folder != Path::new(SYSTEM);
        if let (Err(why), true) = (&opened, named) {
            eprintln!("no socket for `msctp status`: {why}");
        }
        opened.ok()
    }

    fn open_in(folder: &Path, command: &str) -> Result<Self, String> {
        let failed = |path: &Path, error: &io::Error| format!("{}: {}", path.display(), os_error(error));
        // Services of other users have folders in it, and the sockets are their owner's (mode 0600).
        let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
        made.map_err(|error| failed(folder, &error))?;
        for path in sockets(folder) {
            let _ = replace_stale(&path);
        }
        let path = folder.join(format!("{command}-{}.sock", std::process::id()));
        Self::bind(&path).map_err(|error| failed(&path, &error))
    }

    fn bind(path: &Path) -> io::Result<Self> {
        let socket = UnixSocket::new_stream()?;
        socket.bind(path)?;
        let file = File { path: path.to_owned(), inode: inode(path)? };
        // Nobody can connect before `listen`.
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Self { listener: socket.listen(64)?, _file: file })
    }

    /// Answers readers until the future is dropped.
    pub(super) async fn serve(self, monitor: Monitor) {
        let serve = |mut stream: tokio::net::UnixStream| {
            let monitor = monitor.clone();
            async move {
                let Ok(text) = serde_json::to_vec(&monitor.document().await) else { return };
                // A reader that is gone or does not read is ignored.
                let _ = tokio::time::timeout(WRITE, stream.write_all(&text)).await;
            }
        };
        listen::serve_each(READERS, || self.listener.accept(), serve).await;
    }
}

/// Returns the sockets in a folder, sorted.
fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "sock")).collect();
    found.sort();
    found
}

/// Removes the socket of a process that was killed.
///
/// # Errors
///
/// Another process answers there, or the file is no socket.
fn replace_stale(path: &Path) -> Result<(), String> {
    match fs::symlink_metadata(path) {
        Err(_) => return Ok(()),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err("the file exists and is not a socket; want another path".to_owned());
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Ok(_) => Err("another process answers there; want another path".to_owned()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|error| os_error(&error))
        }
        // It is gone meanwhile, or another user's.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(os_error(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn others_may_search_the_folder_and_the_socket_is_its_owners() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run/msctp");
        let _socket = Socket::open_in(&folder, "serve").ok().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        // The umask decides, too.
        let usual = parent.path().join("usual");
        fs::create_dir(&usual).unwrap();
        assert_eq!(mode(&folder), mode(&usual) & 0o755);
        assert_eq!(mode(&sockets(&folder)[0]), 0o600);
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Socket::open_in(&file.join("msctp"), "serve").err().unwrap();
        assert!(error.starts_with(&format!("{}/msctp: Not a directory", file.display())), "{error}");
    }
}
