//! What can go wrong, by what the caller can do about it.

use std::io;
use std::net::SocketAddr;

use msctp_proto::{ConfigError, LossReason, ReconfigOutcome};

/// An endpoint cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// A local address cannot be used.
    #[error(transparent)]
    Socket(#[from] msctp_udp::SocketError),
    /// No address to bind to was named, or this host has none of that family.
    #[error("no local address to use: name one of this host's")]
    NoAddress,
    /// Called outside a tokio runtime, which the endpoint's task needs.
    #[error("no tokio runtime here: create the endpoint within one")]
    NoRuntime,
    /// An option of the endpoint cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The host does not tell of its interfaces, or has no random numbers.
    #[error("{what}: {source}")]
    System {
        /// What was asked of it.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
}

/// An association did not come about.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// An option or address cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No socket of this endpoint can reach the peer's family of addresses.
    #[error("no local address reaches {0}: bind one of its family")]
    NoLocalAddress(SocketAddr),
    /// The peer's address is missing.
    #[error("no address of the peer: name at least one")]
    NoRemoteAddress,
    /// Nobody answered.
    #[error("the peer does not answer")]
    Timeout,
    /// The peer refused: nobody listens at that SCTP port, or it aborted.
    #[error("the peer refused the association{}", detail(.0))]
    Refused(String),
    /// It was lost while it was set up.
    #[error(transparent)]
    Lost(AssociationError),
    /// [`Endpoint::close`](crate::Endpoint::close) or [`Endpoint::abort`](crate::Endpoint::abort) was called before, or the
    /// runtime that the endpoint was bound in has ended.
    #[error("the endpoint is closed: bind another one")]
    EndpointClosed,
}

/// [`Endpoint::close`](crate::Endpoint::close) could not shut every association down in good order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cut_off} associations were lost or aborted before everything was delivered")]
#[non_exhaustive]
pub struct CloseError {
    /// Associations that were up and ended otherwise than by a shutdown.
    pub cut_off: u64,
}

fn detail(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// An association is over, not in good order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssociationError {
    /// Why, as the core says it.
    #[error("{}", words(.0))]
    Lost(LossReason),
    /// The peer restarted (RFC 9260 §5.2.4 A): what is read from here on belongs to a new association.
    /// Without shared keys anyone who receives packets at the peer's address can do that. This one is not
    /// over: reading may go on.
    #[error("the peer restarted the association: close it, or read on what the new one brings")]
    Restarted,
    /// Its endpoint is gone: the runtime ended, or a socket broke.
    #[error("the endpoint is gone")]
    EndpointGone,
}

impl From<AssociationError> for io::Error {
    fn from(error: AssociationError) -> Self {
        let kind = match &error {
            AssociationError::Lost(LossReason::SetupTimeout | LossReason::PeerUnreachable) => {
                io::ErrorKind::TimedOut
            }
            AssociationError::Lost(LossReason::PeerAborted { .. }) => io::ErrorKind::ConnectionReset,
            AssociationError::Restarted => io::ErrorKind::ConnectionReset,
            AssociationError::Lost(_) => io::ErrorKind::ConnectionAborted,
            AssociationError::EndpointGone => io::ErrorKind::NotConnected,
        };
        Self::new(kind, error)
    }
}

/// A message was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The message cannot be sent on this association, or the association is closing.
    #[error(transparent)]
    Refused(#[from] msctp_proto::SendError),
    /// The association is over.
    #[error(transparent)]
    Association(#[from] AssociationError),
}

impl From<SendError> for io::Error {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Association(error) => error.into(),
            SendError::Refused(msctp_proto::SendError::Closed) => Self::new(io::ErrorKind::BrokenPipe, error),
            SendError::Refused(_) => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

/// The peer could not be told that a stream is over. What was written was delivered all the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FinishError {
    /// The peer does not know stream reconfiguration (RFC 6525), or one end turned it off: only the end of the association ends a
    /// stream there.
    #[error(
        "the peer cannot be told that a stream is over: stream reconfiguration (RFC 6525) was not agreed on"
    )]
    NotAgreedOn,
    /// It was told, and does not want it.
    #[error("the peer did not take the end of the stream: {0:?}")]
    Denied(ReconfigOutcome),
    /// By the core: there is no such stream.
    #[error(transparent)]
    Refused(#[from] msctp_proto::CallError),
    /// The association was lost; not everything may have been delivered.
    #[error(transparent)]
    Association(#[from] AssociationError),
}

impl From<FinishError> for io::Error {
    fn from(error: FinishError) -> Self {
        match error {
            FinishError::Association(error) => error.into(),
            FinishError::NotAgreedOn => Self::new(io::ErrorKind::Unsupported, error),
            FinishError::Denied(_) => Self::new(io::ErrorKind::PermissionDenied, error),
            FinishError::Refused(_) => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

/// A call other than `send` was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// By the core.
    #[error(transparent)]
    Refused(#[from] msctp_proto::CallError),
    /// The association is over.
    #[error(transparent)]
    Association(#[from] AssociationError),
}

/// A loss in words for people.
fn words(reason: &LossReason) -> String {
    match reason {
        LossReason::SetupTimeout => "the peer did not answer the set-up".to_owned(),
        LossReason::PeerUnreachable => {
            "the peer is unreachable: nothing was acknowledged for too long".to_owned()
        }
        LossReason::ShutdownTimeout => "the peer did not answer the shutdown".to_owned(),
        LossReason::PeerAborted { cause, reason } => {
            let cause = cause.map_or(String::new(), |cause| format!(" (cause {cause})"));
            format!("the peer aborted the association{cause}{}", detail(&String::from_utf8_lossy(reason)))
        }
        LossReason::Aborted => "aborted by this end".to_owned(),
        LossReason::ProtocolViolation { what, .. } => format!("the peer broke the protocol: {what}"),
        other => format!("lost: {other:?}"),
    }
}

impl ConnectError {
    pub(crate) fn of(error: AssociationError) -> Self {
        match error {
            AssociationError::Lost(LossReason::SetupTimeout) => Self::Timeout,
            AssociationError::Lost(LossReason::PeerAborted { reason, .. }) => {
                Self::Refused(String::from_utf8_lossy(&reason).into_owned())
            }
            other => Self::Lost(other),
        }
    }
}
