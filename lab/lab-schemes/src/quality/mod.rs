//! Radio link quality in a private chunk, after Afif, Martins, Tabbane and Godlewski: when to send a report,
//! which received ones to accept, and how far one may raise a window.
//!
//! # Lying peers
//!
//! Anyone who knows the verification tag can forge a report unless AUTH protects it. Therefore:
//!
//! - fields out of range count as missing, reports for addresses that are not the peer's and older ones are
//!   ignored, and at most [`MAX_PARAMS`] parameters of each are read;
//! - a report may lower a window to 1 PMDCS: that harms only its sender, who could as well stop
//!   acknowledging;
//! - a report may raise a window only to the bytes acknowledged per round trip since its last loss
//!   ([`Carried`], [`Limits`]). The controller, which sees acknowledgements, grows it further. A report can
//!   undo neither a loss nor an idle decay, and cannot exceed the peer's receive window.

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
