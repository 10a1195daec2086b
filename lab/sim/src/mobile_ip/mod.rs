//! Mobile IP for IPv4 (RFC 5944): home agents, foreign agents, mobiles, and the tunnel between agents.
//!
//! The state machines ([`home_agent`], [`foreign_agent`], [`mobile`]) see only messages and times;
//! `crate::nodes` carries messages and timers between them and the network. Scope and limits are in
//! `docs/models/mobile-ip.md`.

mod advertiser;
pub(crate) mod foreign_agent;
pub(crate) mod home_agent;
pub(crate) mod message;
pub(crate) mod mobile;

use std::net::Ipv4Addr;

use msctp_units::Span;

/// UDP port of registrations (RFC 5944 §3.3).
pub(crate) const PORT: u16 = 434;

/// An agent's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentOptions {
    /// Time between two advertisements.
    pub interval: Span,
    /// Time from the agent's start to the first advertisement.
    pub offset: Span,
    /// Lifetime of an advertisement. A mobile without a newer one loses the agent.
    pub lifetime: Span,
    /// Maximum registration lifetime that the agent accepts.
    pub registration_lifetime: Span,
}

impl Default for AgentOptions {
    /// Returns an advertisement a second, valid for three intervals (RFC 5944 §2.3), and registrations for up
    /// to 300 s.
    fn default() -> Self {
        Self {
            interval: Span::from_secs(1),
            offset: Span::ZERO,
            lifetime: Span::from_secs(3),
            registration_lifetime: Span::from_secs(300),
        }
    }
}

/// Algorithm for selecting the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switching {
    /// Lazy cell switching, the default: changes the agent when the lifetime of its advertisement has expired
    /// (RFC 5944 §2.4.2.1).
    #[default]
    Lazy,
    /// Eager cell switching: changes to each new agent at its first advertisement.
    Eager,
}

/// A mobile's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MobileOptions {
    /// Algorithm for selecting the agent.
    pub switching: Switching,
    /// Requested registration lifetime.
    pub lifetime: Span,
    /// Retransmission timeout of the first request, doubled for each later one (RFC 5944 §3.6.3).
    pub retry: Span,
    /// Interval between checks of the cells in which the mobile is.
    pub scan: Span,
}

impl Default for MobileOptions {
    /// Returns lazy switching, 60 s, 1 s and 100 ms.
    fn default() -> Self {
        Self {
            switching: Switching::Lazy,
            lifetime: Span::from_secs(60),
            retry: Span::from_secs(1),
            scan: Span::from_millis(100),
        }
    }
}

/// A registration message in transit: the payload of a UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Datagram {
    pub(crate) source: Ipv4Addr,
    pub(crate) source_port: u16,
    pub(crate) destination: Ipv4Addr,
    pub(crate) destination_port: u16,
    pub(crate) payload: Vec<u8>,
}
