//! One-time codes: SPAKE2, bound to the TLS connection.

#[cfg(feature = "code")]
mod spake;
#[cfg(feature = "code")]
pub(crate) use spake::Exchange;
#[cfg(feature = "code")]
pub use spake::{Code, CodeError};

#[cfg(not(feature = "code"))]
mod absent;
#[cfg(not(feature = "code"))]
pub(crate) use absent::Exchange;
