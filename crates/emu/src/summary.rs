//! What an emulation came to, as numbers: one typed struct, JSON by serde.

use msctp_sim::summary::{CbrSummary, LinkSummary};
use serde::Serialize;

pub use crate::lateness::Quantiles;

/// The result of an emulation. Times in seconds since its start, rates in bit/s, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The scenario's name.
    pub scenario: String,
    /// Version of the emulator.
    pub version: &'static str,
    /// Seed of every random stream.
    pub seed: u64,
    /// How long it ran.
    pub duration: f64,
    /// By how much packets were handed to hosts after the time their links gave them.
    pub lateness: Quantiles,
    /// Whether the pump ran with real-time priority.
    pub real_time: bool,
    /// What the hosts were given.
    pub hosts: Vec<HostSummary>,
    /// Link directions.
    pub links: Vec<LinkSummary>,
    /// Constant-rate sources.
    pub cbr: Vec<CbrSummary>,
    /// Packets of hosts that never got onto a link.
    pub strays: Strays,
}

/// Packets of hosts that never got onto a link, and packets that a host's device did not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Strays {
    /// No IP packets.
    pub malformed: u64,
    /// To addresses that no host has.
    pub no_destination: u64,
    /// Over an interface that had lost its address.
    pub no_address: u64,
    /// Not taken by the receiving host's device.
    pub not_taken: u64,
}

/// What a host was given.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostSummary {
    /// Name.
    pub name: String,
    /// Packets that carried user data.
    pub packets: u64,
    /// Bytes of user data in packets, retransmissions included.
    pub bytes: u64,
    /// When the first of them arrived; `None`: none did.
    pub first: Option<f64>,
    /// When the last arrived.
    pub last: Option<f64>,
    /// How it went around each change of links and addresses.
    pub around: Vec<AroundSummary>,
}

/// How a host's arrivals went around a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AroundSummary {
    /// When.
    pub at: f64,
    /// The action's word and what it was done to.
    pub what: String,
    /// User data in the 5 s before.
    pub before: f64,
    /// User data in the 5 s after, or until the end.
    pub after: f64,
    /// The longest time without user data, of those that touch the 5 s after. One that lasts until the end
    /// counts to there.
    pub gap: f64,
    /// When that gap began.
    pub gap_from: f64,
    /// Nothing arrived after the gap until the end.
    pub silent: bool,
}
