//! [`LinkEvent`]: what the application knows about the links below this end's addresses.

use core::net::IpAddr;

use msctp_units::Span;

use super::LinkQuality;

/// A change of the link below a local address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEvent {
    /// The address.
    pub local: IpAddr,
    /// The new state of the link.
    pub state: LinkState,
}

/// State of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// The link carries packets.
    Up,
    /// The link carries packets, but its quality falls.
    Degrading,
    /// The link carries no packets.
    Down,
    /// The link will go down.
    PredictedDown {
        /// Maximum time until the link goes down.
        within: Span,
    },
    /// The link carries packets with this quality.
    Quality(LinkQuality),
}
