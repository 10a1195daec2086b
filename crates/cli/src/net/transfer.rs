//! The protocol of `msctp send` and `msctp recv`: control messages
//! ([`Service::Files`](super::service::Service)), and the file's bytes on [`DATA`](super::service::DATA).
//! Both ends read all the time, because either may fail at any moment.
//!
//! The sender offers a file, the receiver answers with an offset, the sender sends the bytes from there, and
//! the receiver confirms the hash. The receiver stores an incomplete file under the file's hash and the
//! sender's key, so that neither a different file nor another sender resumes it. If a resumed file has the
//! wrong hash, the receiver requests all bytes once.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Bytes read and sent at a time.
pub(crate) const PIECE: usize = 64 << 10;

/// The longest file name of Linux and most file systems, in bytes.
const MAX_NAME: usize = 255;

/// A control message about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Control {
    /// The sender offers a file.
    Offer {
        /// Name of the file, without folders.
        name: String,
        /// Length of the file in bytes.
        size: u64,
        /// SHA-256 in hexadecimal digits.
        sha256: String,
    },
    /// The receiver answers later: it hashes its part, or another sender is sending the same bytes.
    Wait {
        /// The reason.
        why: String,
    },
    /// The receiver requests the bytes from an offset.
    From {
        /// Bytes that the receiver already has.
        offset: u64,
    },
    /// The receiver has the whole file, and the hash matches.
    Done,
    /// The receiver refuses the file.
    Refused {
        /// The reason.
        why: String,
    },
}

/// An incremental SHA-256 hash.
#[derive(Default)]
pub(crate) struct Hash(Sha256);

impl Hash {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash in hexadecimal digits.
    pub(crate) fn text(&self) -> String {
        self.0.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Hashes a file, and also returns its length. Calls `progress` after each mebibyte.
    pub(crate) fn of_file(path: &Path, progress: impl FnMut()) -> io::Result<(Self, u64)> {
        Self::of(File::open(path)?, progress)
    }

    /// Same as [`of_file`](Self::of_file) for a file that was opened.
    pub(crate) fn of(mut file: impl Read, mut progress: impl FnMut()) -> io::Result<(Self, u64)> {
        let (mut hash, mut len) = (Self::default(), 0);
        let mut buffer = vec![0; 1 << 20];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok((hash, len));
            }
            hash.update(&buffer[..read]);
            len += read as u64;
            progress();
        }
    }
}

/// Checks that a receiver may create a file of this name. Both ends call it.
///
/// # Errors
/// The name is not allowed; the text gives the reason.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let wrong = if name.starts_with('.') {
        "the name begins with a dot, and `msctp recv` takes no hidden files"
    } else if name.is_empty() || name.contains(['/', '\\', '\0']) {
        "not a plain file name"
    } else if name.len() > MAX_NAME {
        return Err(format!("the name has {} bytes, more than {MAX_NAME}: rename it", name.len()));
    } else {
        return Ok(());
    };
    Err(format!("{wrong}: rename it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_folder() {
        for bad in ["", ".", "..", "../x", "/etc/passwd", "a/b", ".bashrc", "a\\b", "x/"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        assert_eq!(check_name("a file.tar.gz"), Ok(()));
        let (longest, longer) = ("x".repeat(255), "x".repeat(256));
        assert!(check_name(&longest).is_ok() && check_name(&longer).is_err());
        let hidden = check_name(".bashrc").unwrap_err();
        assert_eq!(hidden, "the name begins with a dot, and `msctp recv` takes no hidden files: rename it");
    }

    #[test]
    fn control_messages_are_strict_json() {
        let offer = Control::Offer { name: "x".to_owned(), size: 3, sha256: "00".to_owned() };
        let text = serde_json::to_string(&offer).unwrap();
        assert_eq!(text, r#"{"kind":"offer","name":"x","size":3,"sha256":"00"}"#);
        assert_eq!(serde_json::from_str::<Control>(&text).unwrap(), offer);
        assert!(serde_json::from_str::<Control>(r#"{"kind":"from","offset":-1}"#).is_err());
    }

    #[test]
    fn the_hash_is_sha_256() {
        let mut hash = Hash::default();
        hash.update(b"abc");
        assert_eq!(hash.text(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
