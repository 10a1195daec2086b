//! The summary of an emulation, serializable as JSON.

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
    /// Duration of the run.
    pub duration: f64,
    /// Delay of packets at hosts beyond the time that their links computed.
    pub lateness: Quantiles,
    /// Whether the pump ran with real-time priority.
    pub real_time: bool,
    /// Arrivals at the hosts.
    pub hosts: Vec<HostSummary>,
    /// Link directions.
    pub links: Vec<LinkSummary>,
    /// Constant-rate sources.
    pub cbr: Vec<CbrSummary>,
    /// Packets of hosts that never got onto a link.
    pub strays: Strays,
}

/// Packets of hosts that reached no link, and packets that a host's device rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Strays {
    /// Not IP packets.
    pub malformed: u64,
    /// To addresses that no host has.
    pub no_destination: u64,
    /// Over an interface that had lost its address.
    pub no_address: u64,
    /// Packets that the receiving host's device rejected.
    pub not_taken: u64,
}

/// Arrivals at a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostSummary {
    /// Name.
    pub name: String,
    /// Packets that carried user data.
    pub packets: u64,
    /// Bytes of user data in packets, retransmissions included.
    pub bytes: u64,
    /// Arrival time of the first; `None` without arrivals.
    pub first: Option<f64>,
    /// Arrival time of the last.
    pub last: Option<f64>,
    /// Rates and gaps around each change of links and addresses.
    pub around: Vec<AroundSummary>,
}

/// A host's arrivals around a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AroundSummary {
    /// Time of the change.
    pub at: f64,
    /// The action and its subject.
    pub what: String,
    /// Goodput in the 5 s before the change, in bit/s.
    pub before: f64,
    /// Goodput in the 5 s after the change, or until the end, in bit/s.
    pub after: f64,
    /// The longest delivery gap that overlaps the 5 s after the change, in seconds. A gap that lasts until
    /// the end of the run ends there.
    pub gap: f64,
    /// Start of that gap, in seconds.
    pub gap_from: f64,
    /// True if nothing arrived after the gap until the end.
    pub silent: bool,
}
