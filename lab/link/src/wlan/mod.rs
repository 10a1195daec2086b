//! An 802.11-like wireless hop: stations that share the airtime of a cell, stop-and-wait retransmission,
//! losses that depend on receive power.
//!
//! A [`Cell`] is the medium: all stations of it, in both directions, take turns on it. Each radio link
//! between two stations is a pair of its ports. [`WlanLink`] is a cell with one port, for a hop that shares
//! its airtime with no other, as a [`LinkModel`](crate::LinkModel). Scope, limits and validation are in
//! `docs/models/wlan.md`.
//!
//! Knows neither the packets nor where a station is: the caller passes a distance as a function of time.

mod adaptation;
mod cell;
mod channel;
mod fades;
mod link;
mod mac;
mod medium;
mod radio;

pub use crate::medium::PortId;
pub use adaptation::Adaptation;
pub use cell::{Cell, CellStats, RadioLinkConfig, StationId};
pub use channel::{Channel, Distance, Fixed};
pub use fades::ParetoFades;
pub use link::WlanLink;
pub use mac::{Backoff, MacConfig};
pub use radio::{MilliDb, Radio};
