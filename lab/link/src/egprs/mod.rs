//! EGPRS: the radio interface of GPRS and EDGE, as far as a packet notices it: radio blocks of a
//! [`CodingScheme`], retransmitted until they arrive. Scope, limits and validation are in
//! `docs/models/egprs.md`.

mod coding;
mod config;
mod link;

pub use coding::{CodingChange, CodingConfig, CodingProcess, CodingState, CodingStep, InvalidCoding};
pub use config::{EgprsConfig, EgprsStats};
pub use link::EgprsLink;

pub use crate::coding_scheme::{Again, BLOCK_PERIOD, CodingScheme, ParseCodingSchemeError};
