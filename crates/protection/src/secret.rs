//! [`Secret`]: bytes that are overwritten when dropped.

use core::fmt;

use zeroize::Zeroizing;

/// Secret bytes, overwritten when dropped. `Debug` shows only their length.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Returns a secret of `len` zeros, for the caller to fill in.
    pub(crate) fn zeros(len: usize) -> Self {
        Self(Zeroizing::new(vec![0; len]))
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// Returns the secret bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for Secret {
    fn from(bytes: &[u8]) -> Self {
        Self(Zeroizing::new(bytes.to_vec()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}
