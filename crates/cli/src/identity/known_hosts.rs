//! The file of known hosts.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use msctp_security::Fingerprint;
use msctp_terminal::Failure;
use msctp_terminal::system::{cannot_write, is_absent, os_error, read_text};

use super::written_beside;

/// The keys of known hosts, and the file that stores them.
///
/// A line has a host, white space and a fingerprint. Empty lines and those that begin with `#` are kept.
pub(super) struct KnownHosts {
    path: PathBuf,
    lines: Vec<String>,
    hosts: Vec<Host>,
}

struct Host {
    name: String,
    fingerprint: Fingerprint,
    /// Index of the host's line.
    line: usize,
}

impl KnownHosts {
    /// Reads the file, changes it and writes it, under a lock that excludes other processes.
    pub(super) fn edit(
        path: &Path,
        change: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // Until it is dropped.
        let _lock = lock(path)?;
        change(&mut Self::read(path)?)
    }

    /// Reads the file. A missing file has no hosts.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = if is_absent(path) { String::new() } else { read_text(path.display(), path)? };
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut hosts = Vec::new();
        for (line, text) in lines.iter().enumerate() {
            let words: Vec<&str> = text.split_whitespace().collect();
            let at = || format!("{}:{}", path.display(), line + 1);
            match words[..] {
                [] => {}
                [first, ..] if first.starts_with('#') => {}
                [name, fingerprint] => {
                    let fingerprint =
                        fingerprint.parse().map_err(|error| Failure::Input(format!("{}: {error}", at())))?;
                    hosts.push(Host { name: name.to_lowercase(), fingerprint, line });
                }
                _ => {
                    return Err(Failure::Input(format!(
                        "{}: {} words; want two, a host and a fingerprint",
                        at(),
                        words.len()
                    )));
                }
            }
        }
        Ok(Self { path: path.to_owned(), lines, hosts })
    }

    /// Returns the hosts with their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Fingerprint)> {
        self.hosts.iter().map(|host| (&*host.name, host.fingerprint))
    }

    /// Compares the key that a host presents with the known one. Returns whether the host is known.
    pub(super) fn check(&self, name: &str, fingerprint: Fingerprint) -> Result<bool, Failure> {
        let known = || self.hosts.iter().filter(|host| host.name == name);
        if known().any(|host| host.fingerprint == fingerprint) {
            return Ok(true);
        }
        let Some(Host { fingerprint: old, line, .. }) = known().next() else { return Ok(false) };
        let (path, line) = (self.path.display(), line + 1);
        Err(Failure::Run(format!(
            "the key of {name} has changed: {path}:{line} has {old}, the new key is {fingerprint}; an attacker \
             may be between you and it. If its key was replaced, run `msctp identity --forget {name}`"
        )))
    }

    /// Adds a host, unless it is known. Rejects a host that is known with another key.
    pub(super) fn trust(&mut self, name: &str, fingerprint: Fingerprint) -> Result<(), Failure> {
        if self.check(name, fingerprint)? {
            return Ok(());
        }
        self.lines.push(format!("{name} {fingerprint}"));
        self.hosts.push(Host { name: name.to_owned(), fingerprint, line: self.lines.len() - 1 });
        self.write()
    }

    /// Returns the lines of a host, at least one.
    pub(super) fn lines_of(&self, name: &str) -> Result<Vec<usize>, Failure> {
        let lines: Vec<usize> =
            self.hosts.iter().filter(|host| host.name == name).map(|host| host.line).collect();
        if lines.is_empty() {
            return Err(Failure::Input(format!(
                "--forget {name}: {} has no such host; `msctp identity` lists them",
                self.path.display()
            )));
        }
        Ok(lines)
    }

    /// Removes all keys of a host.
    pub(super) fn forget(&mut self, name: &str) -> Result<(), Failure> {
        let gone = self.lines_of(name)?;
        let lines = std::mem::take(&mut self.lines).into_iter().enumerate();
        self.lines = lines.filter(|(line, _)| !gone.contains(line)).map(|(_, text)| text).collect();
        self.write()
    }

    /// Replaces the file atomically: a reader sees the old or the new content.
    fn write(&self) -> Result<(), Failure> {
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        let replaced = written_beside(&self.path, text.as_bytes())?.persist(&self.path);
        replaced.map(drop).map_err(|error| Failure::Run(cannot_write(self.path.display(), &error.error)))
    }
}

/// Locks the file for changes. The lock is a file beside it, since the file itself is replaced.
fn lock(path: &Path) -> Result<File, Failure> {
    let path = path.with_extension("lock");
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.map_err(|error| Failure::Run(cannot_write(path.display(), &error)))?;
    let locked = file.lock();
    locked.map_err(|error| Failure::Run(format!("cannot lock {}: {}", path.display(), os_error(&error))))?;
    Ok(file)
}
