//! Middleboxes: nodes that translate or drop what passes between an inside and an outside. Each kind is one
//! file with its options and its table.
//!
//! They see headers and times, no links, bytes or random numbers. `crate::nodes` carries packets to them.

mod captive_portal;
mod firewall;
mod nat;

use std::fmt;

use msctp_units::Time;

use captive_portal::CaptivePortal;
use firewall::Firewall;
use nat::Nat;

pub use captive_portal::PortalOptions;
pub use firewall::FirewallOptions;
pub use nat::{Dependence, NatOptions};

/// A transport protocol; each has its own ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Protocol {
    Tcp,
    Udp,
}

/// A transport address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    /// The caller's number of the address.
    pub(crate) address: u32,
    pub(crate) port: u16,
}

/// The header fields that a middlebox reads and rewrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) protocol: Protocol,
    pub(crate) source: End,
    pub(crate) destination: End,
}

/// An action of the scenario on a middlebox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Removes every mapping, so that later packets get new ports.
    Rebind,
    /// Lets everything pass.
    Open,
    /// Lets nothing pass.
    Close,
}

/// A middlebox. Packets must come in the order of their times.
pub(crate) trait Middlebox: fmt::Debug + Send {
    /// Handles a packet from the inside to the outside, and may translate its source. Returns false if it is
    /// dropped.
    fn outward(&mut self, now: Time, flow: &mut Flow) -> bool;

    /// Handles a packet from the outside, and may translate its destination. Returns false if it is dropped.
    fn inward(&mut self, now: Time, flow: &mut Flow) -> bool;

    /// Executes an action that its options support.
    fn change(&mut self, change: Change) {
        let _ = change;
    }

    /// Returns the mappings or states created so far.
    fn created(&self) -> u64 {
        0
    }
}

/// The options of a middlebox, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MiddleboxOptions {
    /// Translates addresses and ports.
    Nat(NatOptions),
    /// A firewall, which drops packets from outside that do not belong to a flow from inside.
    Firewall(FirewallOptions),
    /// A captive portal, which passes nothing until a user signs in.
    CaptivePortal(PortalOptions),
}

impl MiddleboxOptions {
    /// Returns the word of the key `kind`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Nat(_) => "nat",
            Self::Firewall(_) => "firewall",
            Self::CaptivePortal(_) => "captive-portal",
        }
    }

    /// Returns the key of its table in a node.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Nat(_) => "nat",
            Self::Firewall(_) => "firewall",
            Self::CaptivePortal(_) => "portal",
        }
    }

    /// Returns whether the middlebox can execute an action.
    pub(crate) fn supports(&self, change: Change) -> bool {
        match self {
            Self::Nat(_) => change == Change::Rebind,
            Self::Firewall(_) => false,
            Self::CaptivePortal(_) => change != Change::Rebind,
        }
    }

    /// Creates the middlebox. `public` is the number of its address outside, if it has one.
    pub(crate) fn build(&self, public: u32) -> Box<dyn Middlebox> {
        match *self {
            Self::Nat(options) => Box::new(Nat::new(options, public)),
            Self::Firewall(options) => Box::new(Firewall::new(options)),
            Self::CaptivePortal(options) => Box::new(CaptivePortal::new(options)),
        }
    }
}
