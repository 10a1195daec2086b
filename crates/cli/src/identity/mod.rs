//! `msctp identity`: this user's key, and the keys of known hosts.

mod key;
mod known_hosts;

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use msctp_security::{Fingerprint, Identity};
use msctp_terminal::system::{cannot_read, cannot_write};
use msctp_terminal::{Failure, print};
use tempfile::NamedTempFile;

use self::known_hosts::KnownHosts;

/// Show the fingerprint of this user's key, and the keys of known hosts.
///
/// The key is generated when it is first needed, into key.der of the folder ~/.config/msctp
/// ($XDG_CONFIG_HOME/msctp). The file known_hosts beside it has a line for each host: its name or address as
/// on the command line, and the fingerprint of its key.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  msctp identity
  msctp identity --trust files.example=SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0
  msctp identity --forget files.example

Exit codes: 0 done, 1 cannot write a file or a host has another key, 2 invalid arguments or file.")]
pub(crate) struct Args {
    /// Add a host's key to the known hosts.
    #[arg(long, value_name = "HOST=FINGERPRINT", value_parser = parse_trust, conflicts_with = "forget")]
    trust: Option<(String, Fingerprint)>,
    /// Remove a host from the known hosts.
    #[arg(long, value_name = "HOST", value_parser = parse_host)]
    forget: Option<String>,
}

/// Parses the name of a host as the file has it: lower case, without white space.
fn parse_host(text: &str) -> Result<String, String> {
    if text.is_empty() || text.starts_with('#') || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("want a name or an address".to_owned());
    }
    Ok(text.to_lowercase())
}

fn parse_trust(text: &str) -> Result<(String, Fingerprint), String> {
    let (host, fingerprint) = text.split_once('=').ok_or("want HOST=FINGERPRINT")?;
    Ok((
        parse_host(host)?,
        fingerprint.parse().map_err(|error: msctp_security::FingerprintError| error.to_string())?,
    ))
}

/// Returns the folder of the key and of the known hosts (XDG Base Directory Specification).
fn folder() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let config = config.ok_or_else(|| {
        Failure::Input("no folder for keys: set HOME or XDG_CONFIG_HOME to an absolute path".to_owned())
    })?;
    Ok(config.join("msctp"))
}

/// Creates the folder with mode 0700. Rejects a folder that others may write to: they could replace its
/// files.
fn make_private(folder: &Path) -> Result<(), Failure> {
    let what = folder.display();
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| {
        let remedy =
            "the variable XDG_CONFIG_HOME names another folder for the keys, HOME the one of .config";
        Failure::Run(format!("{}; {remedy}", cannot_write(&what, &error)))
    })?;
    let metadata = fs::metadata(folder).map_err(|error| Failure::Input(cannot_read(&what, &error)))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(Failure::Input(format!(
            "{what}: mode {mode:04o} lets others replace the key and the known hosts; want 0700: chmod 700 {what}"
        )));
    }
    Ok(())
}

/// Creates a file of mode 0600 beside `path`, to be renamed to it.
fn written_beside(path: &Path, content: &[u8]) -> Result<NamedTempFile, Failure> {
    let write = || {
        let mut file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    write().map_err(|error: io::Error| Failure::Run(cannot_write(path.display(), &error)))
}

/// The files of this user.
struct Files {
    key: PathBuf,
    known_hosts: PathBuf,
}

impl Files {
    /// Creates the folder of the user's files.
    fn new() -> Result<Self, Failure> {
        let folder = folder()?;
        make_private(&folder)?;
        Ok(Self { key: folder.join("key.der"), known_hosts: folder.join("known_hosts") })
    }
}

/// Loads this user's key; generates it if there is none.
pub(crate) fn own() -> Result<Identity, Failure> {
    key::load_or_generate(&Files::new()?.key)
}

/// Loads this user's key as [`own`] does. Returns its fingerprint and its file.
pub(crate) fn own_and_file() -> Result<(Fingerprint, PathBuf), Failure> {
    let path = Files::new()?.key;
    Ok((key::load_or_generate(&path)?.fingerprint(), path))
}

/// Reads the known hosts. Returns their number and the file.
pub(crate) fn known_hosts() -> Result<(usize, PathBuf), Failure> {
    let path = Files::new()?.known_hosts;
    Ok((KnownHosts::read(&path)?.iter().count(), path))
}

/// Compares the key that a host presents with the known one. Accepts any key of an unknown host.
pub(crate) fn check(host: &str, fingerprint: Fingerprint) -> Result<(), Failure> {
    KnownHosts::read(&Files::new()?.known_hosts)?.check(host, fingerprint).map(drop)
}

/// Adds a host to the known hosts. Returns the file if the host is new.
pub(crate) fn remember(host: &str, fingerprint: Fingerprint) -> Result<Option<PathBuf>, Failure> {
    let path = Files::new()?.known_hosts;
    if KnownHosts::read(&path)?.check(host, fingerprint)? {
        return Ok(None);
    }
    KnownHosts::edit(&path, |hosts| hosts.trust(host, fingerprint))?;
    Ok(Some(path))
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Files { key: path, known_hosts } = Files::new()?;
    if let Some((host, fingerprint)) = &args.trust {
        return KnownHosts::edit(&known_hosts, |hosts| hosts.trust(host, *fingerprint));
    }
    if let Some(host) = &args.forget {
        // Before the lock, which creates a file.
        KnownHosts::read(&known_hosts)?.lines_of(host)?;
        return KnownHosts::edit(&known_hosts, |hosts| hosts.forget(host));
    }
    let identity = key::load_or_generate(&path)?;
    print(|out| writeln!(out, "{}  {}", identity.fingerprint(), path.display()))?;
    let hosts = KnownHosts::read(&known_hosts)?;
    print(|out| {
        for (host, fingerprint) in hosts.iter() {
            writeln!(out, "{fingerprint}  {host}")?;
        }
        Ok(())
    })
}
