//! The checks, in the order of the table.

mod authentication;
mod basic;
mod interleaving;
mod multihoming;
mod partial;
mod readdressing;
mod streams;

use msctp_proto::Config;

use crate::frames::Frames;
use crate::world::{Stop, World};

/// One row of the table.
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// The exchange and its assertions, for readers.
    pub what: &'static str,
    /// Runs with every peer; else only with usrsctp, which alone supports several addresses, ASCONF and AUTH.
    pub for_all: bool,
    /// Runs over IPv6.
    pub v6: bool,
    /// Our options.
    pub config: fn(&mut Config),
    /// The exchange.
    pub run: fn(&mut World) -> Result<(), Stop>,
    /// The assertions on the capture.
    pub frames: fn(&Frames) -> Result<(), String>,
}

impl Check {
    /// Creates a check over IPv4, with our default options and no assertions on the capture.
    const fn new(name: &'static str, what: &'static str, run: fn(&mut World) -> Result<(), Stop>) -> Self {
        Self { name, what, for_all: false, v6: false, config: |_| {}, run, frames: |_| Ok(()) }
    }

    const fn for_all(self) -> Self {
        Self { for_all: true, ..self }
    }

    const fn over_v6(self) -> Self {
        Self { v6: true, ..self }
    }

    const fn config(self, config: fn(&mut Config)) -> Self {
        Self { config, ..self }
    }

    const fn frames(self, frames: fn(&Frames) -> Result<(), String>) -> Self {
        Self { frames, ..self }
    }
}

/// Returns all checks.
pub fn all() -> impl Iterator<Item = &'static Check> {
    [
        basic::CHECKS,
        multihoming::CHECKS,
        authentication::CHECKS,
        readdressing::CHECKS,
        partial::CHECKS,
        interleaving::CHECKS,
        streams::CHECKS,
    ]
    .into_iter()
    .flatten()
}
