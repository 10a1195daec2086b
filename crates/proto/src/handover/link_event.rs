//! [`LinkEvent`]: what the application knows about the links below this end's addresses.

use core::net::IpAddr;

use msctp_units::Span;

use super::LinkQuality;

/// The link below a local address changed.
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
    /// It carries packets.
    Up,
    /// It carries packets, and is getting worse.
    Degrading,
    /// It carries nothing.
    Down,
    /// It will go down.
    PredictedDown {
        /// In how long, at the latest.
        within: Span,
    },
    /// It carries packets, with this quality.
    Quality(LinkQuality),
}
