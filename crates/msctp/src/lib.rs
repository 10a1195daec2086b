//! Mobile SCTP over UDP (RFC 9260, RFC 5061, RFC 6951) for tokio: associations that keep their rate when the
//! network under them changes.
//!
//! ```
//! use msctp::security::{Identity, Pinned, Tls, provider};
//! use msctp::{Config, DEFAULT_PORT, Endpoint, EndpointOptions, Mobility};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Each end knows the other's key.
//! let (ours, theirs) = (Identity::generate(provider())?, Identity::generate(provider())?);
//! let server = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse()?]))?;
//! server.listen(DEFAULT_PORT, Tls::new(&theirs, Pinned(vec![ours.fingerprint()]))?, Config::mobile())?;
//!
//! let options = EndpointOptions::new(["[::]:0".parse()?]).mobile(Mobility::default());
//! let client = Endpoint::bind(&options)?;
//! let tls = Tls::new(&ours, Pinned(vec![theirs.fingerprint()]))?;
//! let association = client.connect(server.local_addresses()[0], tls, Config::mobile()).await?;
//! association.send_bytes(0, "hello").await?;
//!
//! let accepted = server.accept(DEFAULT_PORT).await.ok_or("nobody came")?;
//! let message = accepted.recv().await?.ok_or("closed")?;
//! assert_eq!((message.stream, &message.data[..]), (0, &b"hello"[..]));
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Moving
//!
//! With [`EndpointOptions::mobile`] the endpoint follows the host's interfaces: a new address is added to
//! every association, verified and measured while the old one carries data. With `Config::mobile` the
//! handover policy [`Anticipate`](handover::Anticipate) moves data to the network that carries more, and
//! starts there at the measured rate. No line of application code is about it; [`Association::event`] reports
//! it.
//!
//! # Security
//!
//! [`Endpoint::listen`] and [`Endpoint::connect`] take a [`Security`]: keys from TLS 1.3
//! ([`security::Tls`]: pinned or remembered keys, certificates, or a one-time code), a
//! [pre-shared key](Security::pre_shared), or clear text, which is spelled [`Security::insecure`]. Packets
//! are protected by the DTLS chunk.
//!
//! # Your own congestion control and handover policy
//!
//! `Config::controller` takes the options of a controller ([`congestion::CubicConfig`] and the like) or a
//! function that makes a [`Controller`](congestion::Controller) for each path. `Config::handover_policy`
//! takes a function that makes a [`HandoverPolicy`](handover::HandoverPolicy) for each association. Both are
//! plain state machines; `examples/own_controller.rs` has one of each.
//!
//! ```
//! use msctp::Config;
//! use msctp::congestion::{ControllerConfig, ControllerFactory, CubicConfig, Make, RenoConfig};
//! use msctp::congestion::InitialWindow;
//! use msctp::handover::{Conservative, PolicyFactory};
//!
//! let ten = |path: &ControllerConfig| {
//!     let initial_window = InitialWindow::Packets(10);
//!     ControllerConfig { initial_window, ..path.clone() }
//! };
//! let config = Config {
//!     controller: ControllerFactory::new(move |path| RenoConfig::default().make(&ten(path))),
//!     handover_policy: PolicyFactory::new(|| Box::new(Conservative)),
//!     ..Config::mobile()
//! };
//! assert_eq!(config.validate(), Ok(()));
//!
//! let cubic = Config { controller: CubicConfig::default().into(), ..Config::mobile() };
//! assert_eq!(cubic.validate(), Ok(()));
//! ```
//!
//! *When* data moves, the core decides ([`Mobility`]): a mobile endpoint moves it to the interface that
//! [`Mobility::prefer`] likes best when that comes into use, and away from one that is down. The policy, its
//! plug-in, moves it too
//! ([`SwitchPrimary`](handover::Action::SwitchPrimary)); for it to decide alone, leave `prefer` empty, which
//! makes all interfaces equal, or do not use [`EndpointOptions::mobile`].
//!
//! # Bytes
//!
//! [`Association::stream`] gives a stream as [`AsyncRead`](tokio::io::AsyncRead) and
//! [`AsyncWrite`](tokio::io::AsyncWrite):
//!
//! ```
//! # use msctp::{Config, Endpoint, EndpointOptions, Peer, Security};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let loopback = "[::1]:0".parse()?;
//! # let server = Endpoint::bind(&EndpointOptions::new([loopback]))?;
//! # server.listen(7, Security::insecure(), Config::default())?;
//! # let client = Endpoint::bind(&EndpointOptions::new([loopback]))?;
//! # let peer = Peer { port: 7, ..Peer::new(server.local_addresses()[0]) };
//! let association = client.connect(peer, Security::insecure(), Config::default()).await?;
//! let mut stream = association.stream(3)?;
//! stream.write_all(b"over stream 3").await?;
//! stream.shutdown().await?; // everything is acknowledged, and the peer knows that this is all
//!
//! let accepted = server.accept(7).await.ok_or("nobody came")?;
//! let mut text = String::new();
//! accepted.stream(3)?.read_to_string(&mut text).await?;
//! assert_eq!(text, "over stream 3");
//! # Ok(())
//! # }
//! ```
//!
//! [`Stream::into_split`] gives the two directions to two tasks, as [`SendStream`] and [`RecvStream`].
//!
//! A stream ends in each direction by itself ([`Stream::finish`], `shutdown` of
//! [`AsyncWrite`](tokio::io::AsyncWrite), or dropping it): the peer's reader sees the end of file behind the
//! last byte, and the association and the other direction go on. [`SendStream::reset`] and
//! [`RecvStream::stop`] give a direction up. [`Association::open_stream`] and
//! [`accept_stream`](Association::accept_stream) give each request a stream of its own: the example
//! `requests`.
//!
//! # Ending a program
//!
//! The endpoint's task delivers data in the background, and ends with the runtime it was bound in. A program
//! that sent something awaits [`Endpoint::close`] (or [`Association::shutdown`]) before `main` returns; `Ok`
//! means that every peer acknowledged everything. A program that must end at once awaits [`Endpoint::abort`],
//! which takes no longer than handing packets to the kernel. Without either, unsent data is lost when the
//! runtime ends; the peers then get an ABORT as the endpoint's task is dropped.
//!
//! # Cryptography
//!
//! The default feature `tls` has the cryptography of ring. The feature `aws-lc-rs` adds that of aws-lc-rs,
//! which needs a C compiler and CMake to build: `rustls::crypto::aws_lc_rs::default_provider` for the
//! handshake ([`Identity`](security::Identity)), and `protection::AwsLcRs` for packets
//! ([`Tls::provider`](security::Tls::provider)). With it and without default features there are pre-shared
//! keys by aws-lc-rs alone. Without any of the features bring a [`Provider`](protection::Provider).
//!
//! # Tracing
//!
//! With the feature `tracing` each association is a span of the crate `tracing`, with its ports and the
//! peer's address, and the set-up, path states, moves and the end are events in it. Without the feature no
//! code is compiled for it.
//!
//! # Back-pressure
//!
//! One task per endpoint, or per shard of it ([`EndpointOptions::shards`]), moves packets.
//! [`Association::send`] waits while the send buffer is full (`Config::send_buffer`); what the application
//! does not read fills the receive buffer, which closes the window and stops the peer
//! (`Config::receive_buffer`). Under protection a stream that is not read [stops only its own
//! writer](Stream#flow-control). Every wait is cancel-safe.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod association;
mod binding;
mod budget;
mod calls;
mod clock;
mod close;
mod driver;
mod endpoint;
mod error;
mod event_queue;
mod events;
mod forward;
mod history;
mod host;
#[cfg(feature = "tls")]
mod keys;
#[cfg(not(feature = "tls"))]
#[path = "keys_none.rs"]
mod keys;
mod listener;
mod log;
mod numbers;
mod options;
mod outbox;
mod panics;
mod place;
#[cfg(feature = "tls")]
mod proof;
#[cfg(not(feature = "tls"))]
#[path = "proof_none.rs"]
mod proof;
#[cfg(feature = "tls")]
mod rejections;
mod secure;
#[cfg(feature = "tls")]
mod set_ups;
mod setup;
mod shards;
mod slot;
mod sockets;
mod state;
mod stream;
mod stream_calls;
#[cfg(feature = "tls")]
mod tls;
mod unproven;
mod wakers;
mod whole;

pub use association::Association;
pub use endpoint::Endpoint;
pub use error::{
    AssociationError, BindError, CallError, CloseError, ConnectError, FinishError, ProtectionMismatch,
    Refusal, SendError, StreamError, StreamReset,
};
pub use events::Events;
pub use history::{History, Move};
pub use options::{DEFAULT_PORT, EndpointOptions, Peer, TraceSink};
pub use secure::Security;
pub use setup::{Connecting, Incoming};
pub use stream::{RecvStream, SendStream, Stream};

/// Congestion control: the [`Controller`](congestion::Controller) trait, and the options of the controllers
/// that `Config::controller` takes.
///
/// The controllers themselves are in the crate `msctp-congestion`. [`Make::make`](congestion::Make::make) of
/// their options builds one, for a controller that extends another.
pub mod congestion {
    pub use msctp_congestion::classifier::{Cause, ClassifierFactory, Evidence, LossClassifier};
    pub use msctp_congestion::estimator::{BandwidthEstimator, Estimate};
    pub use msctp_congestion::{
        Ack, BbrConfig, Controller, ControllerConfig, ControllerFactory, CoupledPaths, CubicConfig,
        DelayBoundConfig, DeliverySample, Factory, InitialWindow, IpVersion, LiaConfig, Loss, LossKind,
        LostPacket, Make, Measured, RenoConfig, Rfc9260Config, RoundTrips, StartState, Window,
    };
}

/// Handover policies: the [`HandoverPolicy`](handover::HandoverPolicy) trait that `Config::handover_policy`
/// takes, with a policy's view and actions, and [`Anticipate`](handover::Anticipate), that of
/// `Config::mobile`.
pub mod handover {
    pub use msctp_proto::handover::{
        Action, CodingScheme, Conservative, Grounds, HandoverPolicy, InvalidQuality, LinkEvent, LinkQuality,
        LinkState, MAX_PRIVATE_CHUNKS, MIN_TIMER, PathView, PolicyFactory, View, Why,
    };
    pub use msctp_schemes::Anticipate;
}

/// Packet protection by the DTLS chunk: key management and AEAD providers, for a [`Security`].
pub mod protection {
    #[cfg(feature = "aws-lc-rs")]
    pub use msctp_protection::AwsLcRs;
    #[cfg(feature = "ring")]
    pub use msctp_protection::Ring;
    pub use msctp_protection::{CipherSuite, EpochError, Hash, Provider, PskError, RecordCipher, Secret};
    pub use msctp_proto::{KeyManagement, Protection};
    pub use msctp_wire::KeyManagementId;
    pub use msctp_wire::param::DtlsRoles;
}

/// Encryption with keys from TLS 1.3: [`Tls`](security::Tls), and the identities of both ends.
#[cfg(feature = "tls")]
pub mod security {
    pub use crate::tls::{PeerProtection, Rejected, Rejection, Tls};
    /// The rustls types for configurations with certificates of a CA ([`TlsConfig::new`]).
    pub use ::msctp_security::rustls;
    pub use msctp_security::{
        AnyPeer, CheckPeer, Code, CodeError, Error, Fault, Fingerprint, FingerprintError, Identity,
        IdentityError, PeerIdentity, Pinned, Refused, Rekey, TlsConfig, TlsConfigError,
    };

    /// Returns ring's cryptography for TLS. With the feature `aws-lc-rs` there is
    /// `rustls::crypto::aws_lc_rs::default_provider` too.
    pub fn provider() -> std::sync::Arc<rustls::crypto::CryptoProvider> {
        std::sync::Arc::new(rustls::crypto::ring::default_provider())
    }
}

/// Chunk types on the wire, for the private chunks of a handover policy
/// ([`HandoverPolicy::private_chunks`](handover::HandoverPolicy::private_chunks)).
pub mod wire {
    pub use msctp_wire::{
        ChunkError, ChunkType, FramingError, Malformed, ParamType, Tsn, UnknownAction, UnknownChunk,
    };
}

/// The core's reason for rejecting a call other than `send` ([`CallError::Refused`]).
pub use msctp_proto::CallError as CallRefusal;
pub use msctp_proto::{
    Abandoned, AbandonedCount, AbortReason, AddressError, AddressRequest, Agreed, AssociationState,
    AssociationStats, AuthConfig, AuthEvent, AuthPolicy, Config, ConfigError, Cost, Direction,
    ENCAPSULATION_PORT, EcnStats, EndpointConfig, Event, FailoverConfig, HmacAlgorithm, KeyError, LossReason,
    LossRecovery, Message, Mobility, Moves, OfferConfig, OutMessage, PartialAbort, PathAddr, PathId,
    PathState, PathStats, PathUse, Pmtu, PrimaryCause, ReconfigOutcome, Reconfiguration, Reliability,
    RetransmissionPath, SendFailure, SharedKey, SpuriousTimeouts, StreamEnd, StreamEvent, StreamRequest,
    StreamsConfig, TraceEvent, TraceKind, Translation, UnknownScheduler, Verdicts,
};
pub use msctp_udp::SocketError;
pub use msctp_units::{ParseRateError, ParseSpanError, Rate, Span, Time};
