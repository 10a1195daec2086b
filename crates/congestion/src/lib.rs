//! Congestion control without packets: window controllers, RTT and RTO, bandwidth estimators.
//!
//! Per path: how much may be in flight (a [`Controller`]), the path's bandwidth (an [`estimator`]), and the
//! cause of a loss (a [`classifier`]). All take times and byte counts; none sees a packet, a socket or a
//! clock. A handover policy in `msctp-proto` chooses the window at a path change and passes it as a
//! [`StartState`].
//!
//! All windows are in bytes of DATA chunks as RFC 9260 §7.2 counts them: chunk header, user data and padding,
//! no packet header. All arithmetic is integer.

pub mod bbr;
mod choice;
pub mod classifier;
mod composed;
mod controller;
pub mod cubic;
mod delivery;
pub mod estimator;
mod hystart;
mod options;
mod pacer;
mod precise;
mod prr;
mod registry;
pub mod reno;
mod rfc4960;
pub mod rfc9260;
mod rtt;
pub mod slow_start;

pub use bbr::Bbr;
pub use choice::{Choice, ControllerChoice, Entry, Maker, Own};
pub use composed::Composed;
pub use controller::{
    Ack, Controller, ControllerConfig, InitialWindow, IpVersion, Loss, LossKind, StartState, Window,
};
pub use cubic::Cubic;
pub use delivery::{DeliveryRate, DeliverySample, LostPacket};
pub use options::{BadOption, OptionInfo, OptionKind, Options};
pub use pacer::Pacer;
pub use prr::{Prr, PrrAck};
pub use registry::{
    ControllerInfo, Registered, UnknownName, controllers, create, find, nearest_name, window_controllers,
};
pub use reno::Reno;
pub use rfc4960::Rfc4960;
pub use rfc9260::Rfc9260;
pub use rtt::{RoundTrips, RtoConfig, RttEstimator};
