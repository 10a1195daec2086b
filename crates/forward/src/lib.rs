//! TCP connections over the streams of one SCTP association, sans-IO: the protocol of `msctp forward`.
//!
//! [`Mux`] is the state of one association at one end. Each TCP connection has a stream of its own in both
//! directions. The frames are messages, distinguished by their payload protocol identifiers ([`frame`]).
//! Every connection has a receive window of its own, because all streams of an association share one: an
//! unread connection must not block the others.
//!
//! [`Rules`] decides which addresses and ports a client may reach. [`proxy`] parses the requests of programs
//! that use a proxy. A SOCKS client's UDP datagrams are unordered messages on the
//! stream of a connection of their own. [`packets`] carries an association's packets over TCP where a network
//! drops UDP.

pub mod frame;
mod inbox;
mod mux;
pub mod packets;
pub mod proxy;
mod rules;
mod window;

pub use frame::{Datagram, End, Reason, Target};
pub use mux::{Class, Event, Frame, Limits, MAX_DATA, MAX_WRITE, Mux, Read, Role, Violation, WindowBudget};
pub use rules::{RuleError, Rules, Verdict, nat64};
pub use window::{INITIAL_WINDOW, MAX_WINDOW};
