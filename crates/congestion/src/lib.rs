//! Congestion control without packets: window controllers, RTT and RTO, bandwidth estimators.
//!
//! Per path: how much may be in flight (a [`Controller`]), the path's bandwidth (an [`estimator`]), and the
//! cause of a loss (a [`classifier`]). All take times and byte counts; none sees a packet, a socket or a
//! clock. A handover policy in `msctp-proto` chooses the window at a path change and passes it as a
//! [`StartState`].
//!
//! All windows are in bytes of DATA chunks as RFC 9260 §7.2 counts them: chunk header, user data and padding,
//! no packet header. All arithmetic is integer.

mod amount;
mod bbr;
mod careful_resume;
pub mod classifier;
mod composed;
mod controller;
mod coupled;
mod cubic;
mod delay_bound;
mod delivery;
pub mod estimator;
mod factory;
mod hystart;
mod lia;
mod pacer;
mod precise;
mod prr;
mod reno;
mod rfc9260;
mod rtt;
pub mod slow_start;

pub use bbr::{Bbr, BbrConfig};
pub use composed::Composed;
pub use controller::{
    Ack, Controller, ControllerConfig, InitialWindow, IpVersion, Loss, LossKind, Measured, StartState, Window,
};
pub use coupled::CoupledPaths;
pub use cubic::{Cubic, CubicConfig, CubicCurve};
pub use delay_bound::{DelayBound, DelayBoundConfig};
pub use delivery::{DeliveryRate, DeliverySample, LostPacket};
pub use factory::{ControllerFactory, Factory, Make};
pub use lia::{Lia, LiaConfig, LinkedIncreases};
pub use pacer::Pacer;
pub use prr::{Prr, PrrAck};
pub use reno::{AdditiveIncrease, Reno, RenoConfig};
pub use rfc9260::{Rfc9260, Rfc9260Config};
pub use rtt::{RoundTrips, RtoConfig, RttEstimator};
