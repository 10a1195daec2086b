//! The SCTP association as a sans-IO state machine: RFC 9260 with dynamic addresses (RFC 5061) and handover
//! policies.
//!
//! Nothing here reads a clock, opens a socket, starts a thread or draws from a global generator. Time is an
//! argument ([`msctp_units::Time`]), randomness a 32-byte seed, packets are byte slices.
//!
//! # The order of calls
//!
//! [`Association`] and [`Endpoint`] have four kinds of method:
//!
//! 1. **input** — `handle_datagram(now, at, bytes)`, `handle_timeout(now)`;
//! 2. **application calls** — `send`, `recv`, `add_local_address`, `set_primary`, `shutdown`, …;
//! 3. **output** — `poll_transmit(now, out)`, `poll_event()`, `poll_trace()`;
//! 4. **time** — `poll_timeout()`.
//!
//! *Mutate, then drain*: after any call of kind 1 or 2, call `poll_transmit` until it returns `None`, and
//! take the events. The one remaining deadline is `poll_timeout`: call `handle_timeout` at or after it. An
//! early call has no effect. `now` must not decrease. `poll_transmit` appends whole SCTP packets (common
//! header, chunks, CRC32c) to `out` and returns their addresses. The caller adds IP and UDP headers.
//!
//! Input never fails: a peer's fault is answered on the wire, counted in [`AssociationStats`], or reported as
//! an [`Event`]. The caller's fault is an error that names the allowed values ([`ConfigError`],
//! [`SendError`], [`CallError`]).

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod grounds;
pub mod handover;

/// Congestion control, and the factories that [`Config::controller`] takes.
pub use msctp_congestion as congestion;
/// Integer time, spans and rates.
pub use msctp_units as units;
/// Packets, chunks and parameters.
pub use msctp_wire as wire;

mod abort_reason;
mod addr;
mod asconf;
mod association;
mod auth;
mod call_error;
mod config;
mod cookie;
mod cost;
mod credit;
mod endpoint;
mod error;
mod event;
mod extensions;
mod inbound;
mod long_tsn;
mod message;
mod mobility;
mod outbound;
mod path;
mod protection;
mod rare;
mod rate;
mod reconfig;
mod remote_ports;
mod rng;
mod stats;
mod stream_table;
mod streams;
mod tags;
mod timer_table;
mod trace;

pub use abort_reason::AbortReason;
pub use addr::{LocalAddrs, PathAddr, PathId, RemoteAddrs};
pub use asconf::AddressRequest;
pub use association::Association;
pub use auth::{AuthConfig, AuthEvent, AuthPolicy, HmacAlgorithm, KeyError, MAX_KEYS, SharedKey};
pub use call_error::CallError;
pub use config::{Config, EndpointConfig, Moves, PathUse};
pub use cost::Cost;
pub use endpoint::{DatagramOutcome, Endpoint, Handle, IgnoreReason, RefusalReason, RefusedSetUp};
pub use error::{ConfigError, Restarted, SendError};
pub use event::{Event, LossReason};
pub use extensions::{Agreed, OfferConfig};
pub use inbound::{PartialAbort, StreamEnd, StreamItem};
pub use message::{Message, OutMessage, Reliability, SendFailure, Transmit};
pub use mobility::{LinkChange, LinkKind, Mobility, SocketOrder, Translation};
pub use msctp_wire::param::StreamCode;
pub use outbound::scheduler::{SchedulerInfo, UnknownScheduler, schedulers};
pub use outbound::{LossRecovery, RetransmissionPath, SpuriousTimeouts};
pub use path::pairing::{MAX_ADDRESSES, can_pair, is_endpoint};
pub use path::{AddressError, FailoverConfig, HostAddrs, MAX_PMTU, MIN_PMTU, Pmtu, Scope};
pub use protection::{KeyAgreement, KeyManagement, Protection};
pub use reconfig::{
    MAX_NAMED_STREAMS, MAX_RESET_CODES, NAMES_PER_CODE, ReconfigOutcome, Reconfiguration, StreamEvent,
    StreamRequest,
};
pub use remote_ports::ENCAPSULATION_PORT;
pub use stats::{
    Abandoned, AbandonedCount, AssociationState, AssociationStats, EcnStats, PathState, PathStats, Verdicts,
};
pub use streams::StreamsConfig;
pub use trace::{Direction, PrimaryCause, TraceEvent, TraceKind};

/// Entry points of the fuzz targets, for parts that are not public.
#[cfg(fuzzing)]
pub mod fuzzing {
    /// Plays a script of bytes on the receiving half of an association.
    ///
    /// # Panics
    ///
    /// The receiving half has a bug.
    pub fn reassembly(script: &[u8]) {
        crate::inbound::testing::play(script);
    }
}
