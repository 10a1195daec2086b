//! The laboratory's TCP: SCTP's competitor in experiments. Correct, but not for production.
//!
//! A [`Connection`] is sans-IO and has the four kinds of method of the SCTP core: input
//! ([`handle_segment`](Connection::handle_segment), [`handle_timeout`](Connection::handle_timeout)),
//! application calls ([`write`](Connection::write), [`close`](Connection::close), …), output
//! ([`poll_transmit`](Connection::poll_transmit), [`poll_event`](Connection::poll_event),
//! [`poll_trace`](Connection::poll_trace)) and time ([`poll_timeout`](Connection::poll_timeout)). The order
//! is *mutate, then drain*: after each call of the first two kinds call `poll_transmit` until it returns
//! `None`. Then one deadline remains.
//!
//! User data is virtual: zeros, represented by their length. A segment has real header bytes ([`header`]) and
//! a payload length, so that lengths on the wire are real. The checksum field is zero, because the connection
//! does not know the addresses; the caller that writes packets fills it in.
//!
//! Positions in the stream are 64-bit *offsets* inside: 0 is the SYN, 1 the first byte of data, the FIN
//! follows the last. Only the header codec's callers deal with sequence numbers that wrap.
//!
//! Uses no clock, socket, random number or simulator.

mod config;
mod connection;
mod event;
pub mod header;
mod outstanding;
mod ranges;
mod receiver;
mod recovery;
mod sender;
mod stats;
mod trace;

pub use config::{Algorithm, Config, ConfigError, SackLimit};
pub use connection::{Connection, Ports, State};
pub use event::{Event, Failure};
pub use stats::Stats;
pub use trace::{TraceEvent, TraceKind};
