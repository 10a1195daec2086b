//! Schemes from the literature and of our own for the msctp core: handover policies, a bandwidth estimator,
//! loss classifiers and congestion controllers.
//!
//! Every scheme uses the public traits of `msctp-proto` and `msctp-congestion` only, as a scheme in any other
//! crate would. A new scheme is one file and one line in its catalogue.

pub mod catalogue;
pub mod classifiers;
pub mod controllers;
pub mod policies;
pub mod quality;
pub mod wbest;
