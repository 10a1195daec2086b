//! [`InterfaceWatch`] where there is no netlink: there is none, and it says so.

use std::convert::Infallible;
use std::io;
use std::task::{Context, Poll};

use crate::change::{Change, LocalAddress};

/// Follows the addresses of this host; Linux only so far.
#[derive(Debug)]
pub struct InterfaceWatch(Infallible);

impl InterfaceWatch {
    /// Fails: only Linux reports address changes here.
    ///
    /// # Errors
    ///
    /// Always [`io::ErrorKind::Unsupported`].
    pub fn new() -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "interfaces are followed on Linux only"))
    }

    /// The addresses that can be sent from now.
    pub fn usable(&self) -> Vec<LocalAddress> {
        match self.0 {}
    }

    /// The next change.
    ///
    /// # Errors
    ///
    /// None.
    pub fn poll_change(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<Change>> {
        match self.0 {}
    }
}
