//! The crate's errors, grouped by the operation that fails.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use msctp_proto::{ConfigError, LossReason, ReconfigOutcome, UnknownScheduler};

/// Errors of [`Endpoint::bind`](crate::Endpoint::bind), [`add_address`](crate::Endpoint::add_address) and
/// [`add_socket`](crate::Endpoint::add_socket).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// A local address cannot be used.
    #[error(transparent)]
    Socket(#[from] msctp_udp::SocketError),
    /// No address to bind to was named, or this host has none of that family and nothing would report one.
    #[error("no local address to use: name one of this host's")]
    NoAddress,
    /// Called outside a tokio runtime, which the endpoint's task needs, or within one whose I/O or time
    /// driver is off.
    #[error("no tokio runtime with I/O and time here: bind within one, built with Builder::enable_all")]
    NoRuntime,
    /// An option of the endpoint cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The host reports no interfaces or provides no random numbers.
    #[error("{what}: {error}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

/// Errors of [`Endpoint::connect`](crate::Endpoint::connect).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// An option or address cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No socket of this endpoint has an address of the peer's family, or only loopback addresses and the
    /// peer is elsewhere, or none and the peer is at this host.
    #[error("no local address reaches {0}: bind one of its family, {at}", at = where_to_bind(.0.ip()))]
    NoLocalAddress(SocketAddr),
    /// An address of the peer is a multicast, broadcast or unspecified one, or an IPv4-mapped IPv6 address.
    #[error("{0} cannot be the address of a peer: want {want}", want = unicast(*.0))]
    NotUnicast(IpAddr),
    /// The endpoint has no socket at the addresses that [`Peer::from`](crate::Peer) names; this is the first.
    #[error(
        "no socket at {0} (Peer::from): name addresses of Endpoint::local_addresses, or bind the endpoint to it"
    )]
    NoSocket(IpAddr),
    /// There is no network now: every interface that the endpoint may use is down or has no address, or the
    /// kernel has no route to the peer. A mobile endpoint, or one with a wildcard address, uses new addresses
    /// as they appear; try again later.
    #[error("no local address now: every interface is down or has none; try again when there is a network")]
    NoNetwork,
    /// The peer's UDP port is 0, which cannot be reached.
    #[error("UDP port 0 of the peer: want 1 to 65535")]
    NoUdpPort,
    /// No program listens at the peer's UDP port (ICMP "port unreachable").
    #[error("nobody listens at {0}: the host answered with ICMP port unreachable")]
    PortUnreachable(SocketAddr),
    /// The peer's address is missing.
    #[error("no address of the peer: name at least one")]
    NoRemoteAddress,
    /// The peer did not answer, or the set-up took longer than
    /// [`EndpointOptions::connect_timeout`](crate::EndpointOptions::connect_timeout).
    #[error("the peer does not answer: it is not there, or the set-up is dropped or changed on the way")]
    Timeout,
    /// The peer answered the set-up with an ABORT.
    #[error("the peer refused the association: {0}")]
    Refused(Refusal),
    /// The ends cannot agree on protection of packets ([`Security`](crate::Security)), which one of them
    /// requires.
    #[error("the ends cannot agree on encryption: {0}")]
    NoCommonProtection(ProtectionMismatch),
    /// The pre-shared keys of both ends differ, or the set-up was changed on the way.
    #[error("the pre-shared keys of both ends differ, or the set-up was changed on the way")]
    KeysDiffer,
    /// The first keys of both ends differ: INIT, INIT ACK or the messages that agree on keys were changed on
    /// the way.
    #[error("the set-up was changed on the way: the first keys of both ends differ")]
    SetUpChanged,
    /// TLS gave no keys: this end refused the peer's key or code, or the handshake failed.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Security(std::sync::Arc<msctp_security::Error>),
    /// The association was lost during the set-up.
    #[error(transparent)]
    Lost(AssociationError),
    /// [`Endpoint::close`](crate::Endpoint::close) or [`Endpoint::abort`](crate::Endpoint::abort) was called
    /// before, or the runtime that the endpoint was bound in has ended.
    #[error("the endpoint is closed: bind another one")]
    EndpointClosed,
}

/// Some associations were not shut down gracefully by [`Endpoint::close`](crate::Endpoint::close).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cut_off} associations were lost or aborted before everything was delivered")]
#[non_exhaustive]
pub struct CloseError {
    /// Associations that were established and then lost or aborted.
    pub cut_off: u64,
}

/// The reason why two ends cannot agree on protection of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtectionMismatch {
    /// The peer requires protection, and this end offers none.
    #[error("the peer requires it, and this end offers none")]
    PeerRequires,
    /// The peer offers none, or somebody on the way removed the offer of an end: it is in clear.
    #[error("this end requires it, and the peer offers none, or an offer was removed on the way")]
    PeerLacks,
    /// One end has a pre-shared key, and the other has keys of TLS or another kind. An earlier version of
    /// msctp refuses this one in the same way.
    #[error(
        "the peer has keys of another kind: a pre-shared key against TLS, the other way round, or those of an \
         earlier version of msctp; or an offer was changed on the way"
    )]
    OtherMethod,
    /// The peer has an earlier version of msctp, whose keys depend only on a part of the set-up.
    #[error("{}", msctp_protection::NegotiationError::EarlierVersion)]
    EarlierVersion,
    /// Both ends support only the same role, as when both are TLS clients.
    #[error("both ends want the same role, as when each connects to the other at once")]
    Roles,
}

impl ProtectionMismatch {
    /// Returns the meaning of an error cause (draft-ietf-tsvwg-sctp-dtls-chunk-04 §4.3) to an end that offers
    /// protection or not.
    fn of(cause: u16, offers: bool) -> Option<Self> {
        Some(match cause {
            100 if offers => Self::PeerLacks,
            100 => Self::PeerRequires,
            101 => Self::OtherMethod,
            102 | 103 => Self::Roles,
            _ => return None,
        })
    }
}

/// Error cause of the ABORT by which a peer refused an association.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// No listener at the peer's SCTP port: an ABORT without a cause answered the INIT (RFC 9260 §8.4).
    NoListener,
    /// An ABORT without a cause after the peer had answered: the peer no longer knows the set-up, or somebody
    /// on the way sent the ABORT, which is possible until there are keys.
    NoCause,
    /// The peer has no room for another association (Out of Resource, RFC 9260 §3.3.10.4).
    OutOfResource,
    /// The application or listener refused the association (RFC 9260 §3.3.10.12).
    Application {
        /// The application's code, if it gave one ([`AbortReason`](crate::AbortReason)).
        code: Option<u32>,
        /// The reason, which may be empty.
        reason: String,
    },
    /// Another association of the peer has this end's address and SCTP port
    /// ([`Peer::local_port`](crate::Peer)): that of another host behind the same NAT, or of this one before
    /// it was started again at another UDP port (draft-tuexen-tsvwg-sctp-udp-encaps-cons-03 §4.4). From a
    /// random port, the default, a set-up chooses another one instead.
    PortTaken,
    /// The peer does not accept this end's key or certificate, in its words.
    Key(String),
    /// The peer does not accept the one-time code, or wants one or none, in its words.
    Code(String),
    /// Any other error cause, by its code (RFC 9260 §3.3.10).
    Cause(u16),
}

/// The reasons of an ABORT by which an end refuses its peer's key or certificate.
pub(crate) mod key_reasons {
    pub(crate) const REFUSED: &str = "your key is not accepted here";
    pub(crate) const CHANGED: &str = "your key has changed";
    pub(crate) const CERTIFICATE: &str = "your certificate is not accepted here";
    pub(crate) const NO_CERTIFICATE: &str = "a certificate is required here";
    pub(super) const ALL: [&str; 4] = [REFUSED, CHANGED, CERTIFICATE, NO_CERTIFICATE];
}

/// The reasons of an ABORT by which an end refuses its peer's one-time code.
pub(crate) mod code_reasons {
    pub(crate) const WRONG: &str = "wrong code: it is used up";
    pub(crate) const USED: &str = "the code is used up";
    pub(crate) const MISSING: &str = "a code is required here";
    pub(crate) const UNEXPECTED: &str = "no code is expected here, or it is used up: connect without one";
    pub(super) const ALL: [&str; 4] = [WRONG, USED, MISSING, UNEXPECTED];
}

/// What an ABORT without a cause in answer to an INIT means.
const NO_LISTENER: &str = "nobody listens at that SCTP port";

impl Refusal {
    fn of(cause: Option<u16>, code: Option<u32>, reason: &[u8]) -> Self {
        match cause {
            None => Self::NoCause,
            Some(4) => Self::OutOfResource,
            Some(14) => Self::PortTaken,
            Some(12) => {
                let reason = String::from_utf8_lossy(reason).into_owned();
                match &*reason {
                    text if key_reasons::ALL.contains(&text) => Self::Key(reason),
                    text if code_reasons::ALL.contains(&text) => Self::Code(reason),
                    _ => Self::Application { code, reason },
                }
            }
            Some(cause) => Self::Cause(cause),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoListener => f.write_str(NO_LISTENER),
            Self::NoCause => f.write_str(
                "it names no cause: it no longer knows the set-up, or somebody on the way broke it off",
            ),
            Self::OutOfResource => f.write_str("it has no room for another one (cause 4)"),
            Self::PortTaken => f.write_str(
                "it has an association with this address and SCTP port, perhaps that of another host behind the \
                 same NAT: take another local port",
            ),
            Self::Application { code: Some(code), reason } if reason.is_empty() => {
                write!(f, "its application gives the code {code}")
            }
            Self::Application { reason, .. } if reason.is_empty() => {
                f.write_str("its application gives no reason")
            }
            Self::Application { code, reason } => write!(f, "{reason}{}", code_text(*code)),
            Self::Key(reason) | Self::Code(reason) => f.write_str(reason),
            Self::Cause(cause) => write!(f, "error cause {cause} (RFC 9260 §3.3.10)"),
        }
    }
}

fn detail(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// An association ended without a shutdown, or the peer restarted it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AssociationError {
    /// The association was lost, for this reason.
    #[error("{}", words(.0))]
    Lost(LossReason),
    /// The peer restarted (RFC 9260 §5.2.4 A): it lost its state and set the association up again from the
    /// same addresses and ports. Returned by [`flush`](crate::Association::flush) and
    /// [`shutdown`](crate::Association::shutdown) if sent messages were discarded, once by each handle, and
    /// by every [`Stream`](crate::Stream) from before the restart.
    ///
    /// The association continues with the restarted peer, every stream from its beginning. Messages that were
    /// not acknowledged were reported as [`Event::SendFailed`](crate::Event::SendFailed).
    /// [`recv`](crate::Association::recv) continues, and [`restarts`](crate::Association::restarts) says what
    /// came after the restart. If the application's protocol cannot begin anew, call
    /// [`abort`](crate::Association::abort); the peer then connects again.
    ///
    /// A peer restarts an association if it connects from the same SCTP port
    /// ([`Peer::local_port`](crate::Peer)) and UDP port. From a random port, the default, its new association
    /// comes through [`accept`](crate::Endpoint::accept), and the old one is lost by its idle timeout.
    #[error(
        "the peer restarted the association: what it had not acknowledged is lost, and its streams have ended"
    )]
    Restarted,
    /// A message on this stream is larger than `Association::MAX_MESSAGE`, alone or
    /// together with others that have arrived in part. Returned once by [`recv`](crate::Association::recv)
    /// for each such message, which is discarded; the association continues.
    #[error(
        "a message on stream {stream} is larger than {} bytes: receive it in parts, with recv_part",
        crate::whole::MAX_MESSAGE
    )]
    MessageTooLarge {
        /// The stream of the message.
        stream: u16,
    },
    /// TLS gave no keys, or none to replace those in use.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Security(std::sync::Arc<msctp_security::Error>),
    /// The endpoint's task ended, with its runtime or by [`Endpoint::close`](crate::Endpoint::close).
    #[error("the endpoint has ended")]
    EndpointGone,
}

impl From<AssociationError> for io::Error {
    fn from(error: AssociationError) -> Self {
        let kind = match &error {
            AssociationError::Lost(
                LossReason::SetupTimeout
                | LossReason::PeerUnreachable
                | LossReason::DataUnacknowledged { .. }
                | LossReason::IdleTimeout { .. },
            ) => io::ErrorKind::TimedOut,
            AssociationError::Lost(LossReason::PortUnreachable { .. } | LossReason::NoListener) => {
                io::ErrorKind::ConnectionRefused
            }
            AssociationError::Lost(LossReason::PeerAborted { .. } | LossReason::PeerLostKeys) => {
                io::ErrorKind::ConnectionReset
            }
            AssociationError::Restarted => io::ErrorKind::ConnectionReset,
            AssociationError::MessageTooLarge { .. } => io::ErrorKind::InvalidData,
            AssociationError::Lost(_) => io::ErrorKind::ConnectionAborted,
            #[cfg(feature = "tls")]
            AssociationError::Security(_) => io::ErrorKind::ConnectionAborted,
            AssociationError::EndpointGone => io::ErrorKind::NotConnected,
        };
        Self::new(kind, error)
    }
}

/// Errors of [`Association::send`](crate::Association::send).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no such stream.
    #[error("{}", msctp_proto::SendError::InvalidStream { stream: *.stream, streams: *.streams })]
    InvalidStream {
        /// The stream requested.
        stream: u16,
        /// Negotiated number of outbound streams.
        streams: u16,
    },
    /// The message is empty: DATA carries at least one byte (RFC 9260 §3.3.1).
    #[error("{}", msctp_proto::SendError::Empty)]
    Empty,
    /// The message is larger than the send buffer.
    #[error("{}", msctp_proto::SendError::TooLarge { len: *.len, max: *.max })]
    TooLarge {
        /// Length of the message in bytes.
        len: usize,
        /// Maximum length of a message in bytes (`Config::send_buffer`).
        max: usize,
    },
    /// Only from [`try_send`](crate::Association::try_send): the send buffer is full, or the peer's
    /// application has not read what was sent on the stream. [`send`](crate::Association::send) waits for
    /// room.
    #[error("{}", msctp_proto::SendError::BufferFull { len: *.len, free: *.free })]
    BufferFull {
        /// Length of the message in bytes.
        len: usize,
        /// Number of free bytes; 0 also if many small messages fill the buffer (`Config::send_buffer`).
        free: usize,
    },
    /// An ordered message on stream 0 has the payload protocol identifier of key management, 4242.
    #[error("{}", msctp_proto::SendError::KeyManagement)]
    KeyManagement,
    /// There are no keys yet, so that the message would leave in clear.
    #[error("{}", msctp_proto::SendError::NoKeys)]
    NoKeys,
    /// The association is shutting down or closed.
    #[error("{}", msctp_proto::SendError::Closed)]
    Closed,
    /// The association has ended.
    #[error(transparent)]
    Association(#[from] AssociationError),
}

impl SendError {
    pub(crate) fn of(error: &msctp_proto::SendError) -> Self {
        use msctp_proto::SendError as Core;
        match *error {
            Core::InvalidStream { stream, streams } => Self::InvalidStream { stream, streams },
            Core::Empty => Self::Empty,
            Core::TooLarge { len, max } => Self::TooLarge { len, max },
            Core::BufferFull { len, free } => Self::BufferFull { len, free },
            Core::KeyManagement => Self::KeyManagement,
            Core::NoKeys => Self::NoKeys,
            Core::Closed => Self::Closed,
        }
    }
}

impl From<SendError> for io::Error {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Association(error) => error.into(),
            SendError::Closed => Self::new(io::ErrorKind::BrokenPipe, error),
            SendError::BufferFull { .. } => Self::new(io::ErrorKind::WouldBlock, error),
            _ => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

/// A stream did not end as this end wanted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FinishError {
    /// The peer does not support stream reconfiguration (RFC 6525), or one end disabled it. The written data
    /// was delivered, and the stream ends with the association.
    #[error(
        "the peer cannot be notified that a stream ended: stream reconfiguration (RFC 6525) was not negotiated"
    )]
    NotAgreedOn,
    /// The peer rejected the request.
    #[error("the peer rejected the end of the stream: {0:?}")]
    Denied(ReconfigOutcome),
    /// The peer does not want to read the rest ([`RecvStream::stop`](crate::RecvStream::stop)), for which it
    /// gave this code. Data may be undelivered.
    #[error("the peer stopped reading the stream{}", code_text(*.0))]
    Stopped(Option<u32>),
    /// The core rejected the request: there is no such stream.
    #[error(transparent)]
    Refused(#[from] msctp_proto::CallError),
    /// The association was lost; data may be undelivered.
    #[error(transparent)]
    Association(#[from] AssociationError),
}

impl From<FinishError> for io::Error {
    fn from(error: FinishError) -> Self {
        match error {
            FinishError::Association(error) => error.into(),
            FinishError::Stopped(_) => Self::new(io::ErrorKind::BrokenPipe, error),
            FinishError::NotAgreedOn => Self::new(io::ErrorKind::Unsupported, error),
            FinishError::Denied(_) => Self::new(io::ErrorKind::PermissionDenied, error),
            FinishError::Refused(_) => Self::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

fn code_text(code: Option<u32>) -> String {
    code.map_or(String::new(), |code| format!(" (code {code})"))
}

/// The peer gave a stream up ([`SendStream::reset`](crate::SendStream::reset)): not all of it may have
/// arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer gave the stream up (code {code})")]
pub struct StreamReset {
    /// The application's code.
    pub code: u32,
}

impl From<StreamReset> for io::Error {
    fn from(error: StreamReset) -> Self {
        Self::new(io::ErrorKind::ConnectionReset, error)
    }
}

/// Errors of opening or accepting a [`Stream`](crate::Stream).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// There is no such stream in either direction.
    #[error(
        "stream {stream}: this association has {outbound} outbound and {inbound} inbound streams, counted from 0"
    )]
    Unknown {
        /// The requested number.
        stream: u16,
        /// Streams that this end may send on.
        outbound: u16,
        /// Streams that the peer may send on.
        inbound: u16,
    },
    /// The stream is taken, or its last use has not ended at both ends.
    #[error(
        "stream {0} is taken: drop the other Stream of this number, and wait until both ends have ended it"
    )]
    Taken(u16),
    /// Every stream that this end may open is taken.
    #[error(
        "no free stream: each end opens half of the {0} streams in both directions; drop one, or ask for more \
         (outbound_streams)"
    )]
    NoneFree(u16),
    /// The association was shut down.
    #[error("the association was shut down: there are no streams any more")]
    ShutDown,
    /// The association was lost.
    #[error(transparent)]
    Association(#[from] AssociationError),
}

/// An error of a call other than `send`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The endpoint has no socket at this local address, so no packet can leave from it.
    #[error(
        "no socket at {0}: bind the endpoint to it (EndpointOptions::bind), or follow the host's interfaces \
         (EndpointOptions::mobile)"
    )]
    NoSocket(IpAddr),
    /// There is no stream scheduler of this name.
    #[error(transparent)]
    Scheduler(#[from] UnknownScheduler),
    /// The core rejected the call.
    #[error(transparent)]
    Refused(#[from] msctp_proto::CallError),
    /// The association has ended.
    #[error(transparent)]
    Association(#[from] AssociationError),
}

/// Completes "bind an address of the peer's family": where that is.
fn where_to_bind(peer: IpAddr) -> &'static str {
    if peer.is_loopback() { "on loopback" } else { "on a network" }
}

/// Completes "want": the addresses that peers can have.
fn unicast(not: IpAddr) -> String {
    match not.to_canonical() {
        IpAddr::V4(ip) if not.is_ipv6() => format!("{ip}, without the prefix of IPv6"),
        _ => "a unicast address".to_owned(),
    }
}

/// Describes a loss in words.
fn words(reason: &LossReason) -> String {
    match reason {
        LossReason::SetupTimeout => {
            "the peer did not answer the set-up, or it was dropped or changed on the way".to_owned()
        }
        LossReason::PeerUnreachable => {
            "the peer is unreachable: nothing was acknowledged for too long".to_owned()
        }
        LossReason::DataUnacknowledged { after } => format!(
            "the peer acknowledged no data for {after}, although it answers: a network on the way may drop \
             larger packets"
        ),
        LossReason::NoListener => NO_LISTENER.to_owned(),
        LossReason::IdleTimeout { after } => {
            format!("nothing was received from the peer for {after} (idle timeout)")
        }
        LossReason::PortUnreachable { address } => {
            format!("nobody listens at {address}: the host answered with ICMP port unreachable")
        }
        LossReason::PeerLostKeys => {
            "the peer no longer has the association: it restarted, or its idle timeout passed".to_owned()
        }
        LossReason::KeysDiffer => {
            "the pre-shared keys of both ends differ, or the set-up was changed on the way".to_owned()
        }
        LossReason::SetUpChanged => {
            "the set-up was changed on the way: the first keys of both ends differ".to_owned()
        }
        LossReason::EarlierVersion => ProtectionMismatch::EarlierVersion.to_string(),
        LossReason::ShutdownTimeout => "the peer did not answer the shutdown".to_owned(),
        LossReason::PeerAborted { cause, code, reason } => {
            let why = match (code, cause) {
                (None, Some(cause)) => format!(" (cause {cause})"),
                (code, _) => code_text(*code),
            };
            format!("the peer aborted the association{why}{}", detail(&String::from_utf8_lossy(reason)))
        }
        LossReason::Aborted => "aborted by this end".to_owned(),
        LossReason::Panicked { message } => format!("code of this end panicked: {message}"),
        LossReason::ProtocolViolation { what, .. } => format!("the peer violated the protocol: {what}"),
        other => format!("lost: {other:?}"),
    }
}

impl ConnectError {
    pub(crate) fn of(error: AssociationError, udp_port: u16, offers_protection: bool) -> Self {
        if let AssociationError::Lost(
            LossReason::ProtocolViolation { cause, .. } | LossReason::PeerAborted { cause: Some(cause), .. },
        ) = &error
            && let Some(mismatch) = ProtectionMismatch::of(*cause, offers_protection)
        {
            return Self::NoCommonProtection(mismatch);
        }
        match error {
            AssociationError::Lost(LossReason::SetupTimeout) => Self::Timeout,
            AssociationError::Lost(LossReason::KeysDiffer) => Self::KeysDiffer,
            AssociationError::Lost(LossReason::SetUpChanged) => Self::SetUpChanged,
            AssociationError::Lost(LossReason::EarlierVersion) => {
                Self::NoCommonProtection(ProtectionMismatch::EarlierVersion)
            }
            #[cfg(feature = "tls")]
            AssociationError::Security(error) => Self::Security(error),
            AssociationError::Lost(LossReason::NoListener) => Self::Refused(Refusal::NoListener),
            AssociationError::Lost(LossReason::PeerAborted { cause, code, reason }) => {
                Self::Refused(Refusal::of(cause, code, &reason))
            }
            AssociationError::Lost(LossReason::PortUnreachable { address }) => {
                Self::PortUnreachable(SocketAddr::new(address, udp_port))
            }
            AssociationError::EndpointGone => Self::EndpointClosed,
            other => Self::Lost(other),
        }
    }
}
