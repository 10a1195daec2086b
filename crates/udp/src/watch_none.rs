//! [`InterfaceWatch`] for systems without netlink: always an error.

use std::convert::Infallible;
use std::io;
use std::task::{Context, Poll};

use crate::change::{Change, LocalAddress};

/// Watches the addresses of this host; only Linux is supported.
#[derive(Debug)]
pub struct InterfaceWatch(Infallible);

impl InterfaceWatch {
    /// Fails: address changes are only reported on Linux.
    ///
    /// # Errors
    ///
    /// Always [`io::ErrorKind::Unsupported`].
    pub fn new() -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "interfaces are followed on Linux only"))
    }

    /// Returns the usable addresses.
    pub fn usable(&self) -> Vec<LocalAddress> {
        match self.0 {}
    }

    /// Returns the next change.
    ///
    /// # Errors
    ///
    /// None.
    pub fn poll_change(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<Change>> {
        match self.0 {}
    }
}
