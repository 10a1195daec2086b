//! The file with this user's private key.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use msctp_security::Identity;
use msctp_security::rustls::crypto::ring::default_provider;
use msctp_terminal::Failure;
use msctp_terminal::system::{cannot_read, cannot_write, is_absent, read};

use super::written_beside;

/// Loads the key; generates it if there is none. The file has mode 0600.
pub(super) fn load_or_generate(path: &Path) -> Result<Identity, Failure> {
    if is_absent(path) {
        generate(path)?;
    }
    let what = path.display();
    let mode =
        fs::metadata(path).map_err(|error| Failure::Input(cannot_read(&what, &error)))?.permissions().mode();
    if mode & 0o077 != 0 {
        let mode = mode & 0o777;
        return Err(Failure::Input(format!(
            "{what}: mode {mode:04o} lets others use the key; want 0600: chmod 600 {what}"
        )));
    }
    let key = zeroize::Zeroizing::new(read(&what, path)?);
    Identity::self_signed(Arc::new(default_provider()), &key).map_err(|_| {
        Failure::Input(format!(
            "{what}: not an Ed25519 key in PKCS #8; want the file that msctp generated, or none"
        ))
    })
}

/// Generates the key. If another process does so at once, the first one's stays.
fn generate(path: &Path) -> Result<(), Failure> {
    let key = Identity::generate_key().map_err(|error| Failure::Run(error.to_string()))?;
    match written_beside(path, &key)?.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Failure::Run(cannot_write(path.display(), &error.error))),
    }
}
