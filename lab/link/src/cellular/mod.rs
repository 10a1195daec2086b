//! A cell of a mobile network whose users share its resource: a scheduler grants each transmission time
//! interval (TTI), users have queues of their own, and the rate of each follows its channel.
//!
//! Both directions have their own resource (frequency division). Scope, limits and validation are in
//! `docs/models/cellular.md`.

mod cell;
mod config;
mod quality;

pub use cell::CellularCell;
pub use config::{CellularConfig, PortConfig, Scheduler, TTI};
pub use quality::{Quality, Shannon, Signal};
