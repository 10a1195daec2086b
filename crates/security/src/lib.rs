//! Key management for the SCTP DTLS chunk by TLS 1.3 (draft-porfiri-tsvwg-sctp-dtls-handshake-01).
//!
//! A [`KeyManager`] is one end's key management of one association. It runs rustls's TLS over user messages
//! ([`PPID`], stream 0, ordered and reliable), exports key material for [`msctp_protection`], and replaces it
//! before it expires. It is sans-IO: messages and the time go in, [`Output`]s come out. The `CryptoProvider`
//! of the rustls configurations provides the random numbers; their `TimeProvider` provides the date by which
//! certificates and tickets expire.
//!
//! Both ends prove who they are. [`TlsConfig::new`] takes rustls's own configurations (certificates of a CA);
//! [`Identity`] makes them for keys without a CA, whose [`Fingerprint`]s a [`CheckPeer`] accepts or refuses.
//! A one-time `Code` (feature `code`) authenticates two ends that do not know each other's keys.
//!
//! # Round trips
//!
//! Set-up takes three round trips before the client's data and two and a half before the server's, if the
//! first message travels with the COOKIE ECHO: INIT; COOKIE ECHO and ClientHello; Certificate to Finished,
//! which the server answers by *Protection Established*. With [`METHOD_FALSE_START`] the client's data leaves
//! behind its Finished, after two. Rekeying takes two and delays no data.

mod code;
mod config;
mod connection;
mod error;
mod fingerprint;
mod identity;
mod manager;
mod message;
mod verify;

#[cfg(feature = "code")]
pub use code::{Code, CodeError};
pub use config::{Rekey, TlsConfig, TlsConfigError};
pub use connection::{EXPORTER_LABEL, PeerIdentity};
pub use error::{Error, Fault};
pub use fingerprint::{Fingerprint, FingerprintError};
pub use identity::{Identity, IdentityError};
pub use manager::{Agreed, KeyManager, Output};
pub use message::{MAX_HANDSHAKE_BYTES, METHOD, METHOD_FALSE_START, PPID};
pub use rustls;
pub use verify::{AnyPeer, CheckPeer, Pinned, Refused};
