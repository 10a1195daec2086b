//! [`Error`]: why keys cannot be agreed on.

use rustls::CertificateError;

use crate::fingerprint::Fingerprint;
use crate::verify::Refused;

/// The party at fault for an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The peer, or an attacker who changed its messages.
    Peer,
    /// One end does not trust the other's identity.
    Identity,
    /// The caller.
    Caller,
    /// This crate, rustls, or the source of random numbers.
    Internal,
}

/// The reason why keys cannot be agreed on. The association must be aborted
/// (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §7).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A message does not have the format of key management messages.
    #[error("the peer's key management message is malformed: {0}")]
    Malformed(&'static str),
    /// A message arrived out of turn.
    #[error("unexpected key management message from the peer: {0}")]
    Unexpected(&'static str),
    /// The peer's handshake is too long.
    #[error("the peer's TLS handshake is longer than {limit} bytes")]
    TooLong {
        /// Maximum bytes accepted.
        limit: usize,
    },
    /// The TLS handshake failed.
    #[error("the TLS handshake failed: {0}")]
    Tls(rustls::Error),
    /// The peer ended the TLS handshake with this alert. Before the server's first flight, an attacker can
    /// send it as well.
    #[error("the peer ended the TLS handshake with the alert {0:?}")]
    Alert(rustls::AlertDescription),
    /// This end's [`CheckPeer`](crate::CheckPeer) refused the peer.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The peer presented neither a certificate nor a key. Authentication must be mutual.
    #[error("the peer presented no certificate")]
    NoCertificate,
    /// The peer's key differs from that at the set-up of the association
    /// (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §3.3).
    #[error("the peer's key changed from {old} to {new}")]
    IdentityChanged {
        /// Fingerprint of the key at the set-up.
        old: Fingerprint,
        /// Fingerprint of the present key.
        new: Fingerprint,
    },
    /// The peer used another one-time code, or an attacker is between the ends. The code is used up.
    #[error("the peer has a different code, which invalidates this one: generate a new code")]
    WrongCode,
    /// The one-time code was used before.
    #[error("the code has been used: generate a new code")]
    CodeUsed,
    /// The peer uses no one-time code.
    #[error("the peer does not use a code: want one at both ends or at neither")]
    CodeMissing,
    /// The peer uses a one-time code, and this end does not.
    #[error("the peer requires a code: want one at both ends or at neither")]
    CodeExpected,
    /// TLS negotiated a parameter that the DTLS chunk cannot use.
    #[error("TLS negotiated {0}, which the DTLS chunk does not support")]
    Unsupported(String),
    /// The peer did not answer in time.
    #[error("the peer did not complete the TLS handshake in time")]
    TimedOut,
    /// The keys have been used for too long, and could not be replaced.
    #[error("the keys could not be replaced in time")]
    Expired,
    /// The key manager failed before.
    #[error("key management of this association has failed before")]
    Failed,
}

impl Error {
    /// Returns who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Malformed(_)
            | Self::Unexpected(_)
            | Self::TooLong { .. }
            | Self::NoCertificate
            | Self::Alert(_)
            | Self::Unsupported(_)
            | Self::TimedOut
            | Self::Expired => Fault::Peer,
            Self::Refused(_)
            | Self::IdentityChanged { .. }
            | Self::WrongCode
            | Self::CodeUsed
            | Self::CodeMissing
            | Self::CodeExpected => Fault::Identity,
            Self::Failed => Fault::Caller,
            Self::Tls(error) => match error {
                rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
                    Fault::Identity
                }
                rustls::Error::General(_)
                | rustls::Error::FailedToGetRandomBytes
                | rustls::Error::FailedToGetCurrentTime => Fault::Internal,
                _ => Fault::Peer,
            },
        }
    }
}

impl From<rustls::Error> for Error {
    /// Unpacks the reason of a [`CheckPeer`](crate::CheckPeer), which passes through rustls.
    fn from(error: rustls::Error) -> Self {
        if let rustls::Error::InvalidCertificate(CertificateError::Other(other)) = &error
            && let Some(refused) = other.0.downcast_ref::<Refused>()
        {
            return Self::Refused(refused.clone());
        }
        if let rustls::Error::AlertReceived(alert) = error {
            return Self::Alert(alert);
        }
        Self::Tls(error)
    }
}
