//! LTE: the radio bearer between a mobile and its base station, as far as a packet notices it: transport
//! blocks with hybrid ARQ under RLC in acknowledged mode. Scope, limits and validation are in
//! `docs/models/lte-rlc-am.md`.

mod config;
mod harq;
mod link;
mod receiver;

pub use config::{LteConfig, LteStats, MAX_ATTEMPTS, TTI};
pub use link::LteLink;
