//! [`InterfaceWatch`] for systems without netlink: always an error.

use std::convert::Infallible;
use std::io;
use std::task::{Context, Poll};

use crate::change::{Interface, LocalAddress};

/// Watches the interfaces of this host; only Linux is supported.
#[derive(Debug)]
pub struct InterfaceWatch(Infallible);

impl InterfaceWatch {
    /// Fails: interfaces are only reported on Linux.
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

    /// Returns the next interface whose state changed.
    ///
    /// # Errors
    ///
    /// None.
    pub fn poll_change(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<Interface>> {
        match self.0 {}
    }
}
