//! Parts shared by radio link models with retransmission: the packets as one stream of octets that is cut
//! into blocks and put together again in order (`Sdus`, behind a `Gate`), the numbered blocks between the
//! oldest unacknowledged and the newest (`Window`), and which blocks the channel takes ([`BlockErrors`]).
//!
//! A model owns both ends of its link, so one entry holds both ends' view of a block: what the sender knows
//! and when the receiver got it. Knows no timers, no coding and no radio.

mod agenda;
mod errors;
mod gate;
mod sdus;
mod trace;
mod window;

pub(crate) use agenda::{Agenda, next_multiple};
pub use errors::BlockErrors;
pub(crate) use gate::Gate;
pub(crate) use sdus::Sdus;
pub(crate) use trace::Trace;
pub use trace::{BlockEvent, BlockEventKind};
pub(crate) use window::{AckState, Block, Part, Window};

/// The error of a radio link's parameter that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {value}, want {want}")]
pub struct InvalidRadio {
    /// The parameter.
    pub what: &'static str,
    /// The invalid value.
    pub value: u64,
    /// The allowed values.
    pub want: &'static str,
}
