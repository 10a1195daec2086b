//! Radio link quality told to the peer by QoS_Measurement chunks (Afif et al.): what a report is, when one is sent, what
//! is believed of one received, and what it may do to a window. May not touch paths, controllers or packets: it keeps
//! books and computes; the association acts.
//!
//! # What a peer that lies can gain
//!
//! A report is the word of the peer, and until AUTH exists of anyone who knows the verification tag. So:
//!
//! - fields out of range count as not told ([`LinkQuality::sane`]); reports for addresses that are not the peer's are
//!   ignored, and so are older ones; at most [`MAX_PER_PACKET`] of a packet and [`MAX_PARAMS`] parameters of each are read;
//! - a report may take a window *down* to 1 PMDCS: that harms only its sender, who could as well stop acknowledging;
//! - it may take a window *up* only to what the path has carried since its last loss ([`Limits`]), so that it gives back what
//!   an earlier report took and nothing else. Growth beyond that, and all after a loss, is the controller's, who
//!   sees acknowledgements. It can neither undo a loss nor an idle decay, nor exceed the peer's own receive window.
//!
//! Hence the window under any sequence of reports is at most the largest that was in use, and acknowledged, since the last
//! loss: a report that is absurd or that swings gains nothing. `Config::quality_growth` above 100 % relaxes the second rule for
//! closed networks, by that factor.

mod incoming;
mod limits;
mod outgoing;
mod report;

pub use incoming::Incoming;
pub use limits::Limits;
pub use outgoing::{Outgoing, Sending};
pub use report::{InvalidQuality, LinkQuality, Received};

pub use msctp_wire::param::CodingScheme;

/// Reports of one packet that are taken; more are ignored. A sender needs one for each of its addresses.
pub const MAX_PER_PACKET: u32 = 4;

/// Parameters of one report that are read; more are ignored. Those defined are eight.
pub const MAX_PARAMS: usize = 32;
