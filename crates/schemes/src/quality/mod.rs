//! Radio link quality in a private chunk, after Afif, Martins, Tabbane and Godlewski: when a report is sent, what is
//! believed of one received, and how far it may raise a window.
//!
//! # What a peer that lies can gain
//!
//! A report is the peer's word; without AUTH it is the word of anyone who knows the verification tag. Therefore:
//!
//! - fields out of range count as missing, reports for addresses that are not the peer's and older ones are
//!   ignored, and at most [`MAX_PARAMS`] parameters of each are read;
//! - a report may take a window *down* to 1 PMDCS: that harms only its sender, who could as well stop
//!   acknowledging;
//! - it may take a window *up* only to what the path carried per round trip since its last loss ([`Carried`],
//!   [`Limits`]). Growth beyond that is the controller's, which sees acknowledgements. A report can neither undo
//!   a loss nor an idle decay, nor exceed the peer's receive window.

mod carried;
mod chunk;
mod incoming;
mod limits;
mod outgoing;

pub use carried::Carried;
pub use chunk::{MAX_PARAMS, QOS_MEASUREMENT, Report};
pub use incoming::Incoming;
pub use limits::Limits;
pub use outgoing::{INTERVAL, Outgoing};
