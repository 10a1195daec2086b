//! Nodes and links of a scenario.

use std::net::IpAddr;

use msctp_link::{LossConfig, QueueLimit};
use msctp_units::{Rate, Span};

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Unique among nodes.
    pub name: String,
    /// Host or router.
    pub kind: NodeKind,
}

/// What a node does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives; forwards nothing. Sends by source address: a packet leaves through the interface its
    /// source address belongs to.
    Host,
    /// Forwards by the shortest path (fewest links; the link declared first where two are equal).
    Router,
}

/// A point-to-point link. Each end at a host is an interface of that host, with one address.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Unique among links.
    pub name: String,
    /// Node at one end.
    pub a: String,
    /// Node at the other end.
    pub b: String,
    /// Address of the interface at `a`; needed when `a` is a host.
    pub address_a: Option<IpAddr>,
    /// Address of the interface at `b`; needed when `b` is a host.
    pub address_b: Option<IpAddr>,
    /// Largest IP packet that passes, in bytes; larger ones are dropped and counted.
    pub mtu: u32,
    /// False: the link is down until an action brings it up.
    pub up: bool,
    /// From `a` to `b`.
    pub forward: DirectionSpec,
    /// From `b` to `a`.
    pub reverse: DirectionSpec,
}

/// Which way over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDirection {
    /// From `a` to `b`.
    Forward,
    /// From `b` to `a`.
    Reverse,
}

impl LinkDirection {
    /// The word used in files and labels.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }
}

/// One direction of a link: store and forward, the queue, then the transmission of the whole packet, then
/// the propagation delay, then the loss.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionSpec {
    /// Transmission rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Room for packets that wait while another is transmitted; one that finds no room is dropped.
    pub queue: QueueLimit,
    /// Losses on the way.
    pub loss: LossConfig,
}
