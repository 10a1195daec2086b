//! The conditions of the runs: cells of the paper's Fig. 3, senders and schemes, and the keys that order them.

use std::fmt;

use msctp_units::{Rate, Span};
use serde::Serialize;

use crate::experiments::Effort;

/// How long a transfer is (the paper, §4).
pub const DURATION: Span = Span::from_secs(200);
/// User bytes of a segment: what fills a packet of 1500 bytes behind 40 bytes of headers.
pub const SEGMENT_BYTES: u32 = 1460;

/// The wireless network the mobile is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// 10 Mbps, 20 ms.
    Wlan,
    /// 1 Mbps, 200 ms.
    Lte,
}

impl Network {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Wlan, Self::Lte];

    /// As read by people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Wlan => "WLAN",
            Self::Lte => "LTE",
        }
    }

    /// As in names of files, nodes and links.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Wlan => "wlan",
            Self::Lte => "lte",
        }
    }

    /// Rate of the wireless link.
    #[must_use]
    pub fn rate(self) -> Rate {
        match self {
            Self::Wlan => Rate::from_mbps(10),
            Self::Lte => Rate::from_mbps(1),
        }
    }

    /// Propagation delay of the wireless link, one way.
    #[must_use]
    pub fn delay(self) -> Span {
        match self {
            Self::Wlan => Span::from_millis(20),
            Self::Lte => Span::from_millis(200),
        }
    }
}

/// Where packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Losses {
    /// 1 % on the wired part.
    Congestion,
    /// 1 % on WLAN, 5 % on LTE.
    Wireless,
    /// 1 % in all, a fifth of it on the wireless link.
    Mixed,
}

impl Losses {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Congestion, Self::Wireless, Self::Mixed];

    /// As read by people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Congestion => "congestion",
            Self::Wireless => "wireless",
            Self::Mixed => "mixed",
        }
    }
}

/// A group of bars of Fig. 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Cell {
    /// The network.
    pub network: Network,
    /// Where packets are lost.
    pub losses: Losses,
}

impl Cell {
    /// All six, in the paper's order.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let cell = |network| Losses::ALL.map(|losses| Self { network, losses });
        Network::ALL.into_iter().flat_map(cell).collect()
    }

    /// As read by people.
    #[must_use]
    pub fn words(self) -> String {
        format!("{} {}", self.network.words(), self.losses.words())
    }

    /// As in names of files.
    #[must_use]
    pub fn slug(self) -> String {
        format!("{}-{}", self.network.slug(), self.losses.words())
    }
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP Reno.
    Reno,
    /// TCP SACK.
    Sack,
    /// SCTP, ours beside the paper's.
    Sctp,
}

impl Transport {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Reno, Self::Sack, Self::Sctp];
    /// The paper's.
    pub const TCP: [Self; 2] = [Self::Reno, Self::Sack];

    /// As read by people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Reno => "TCP Reno",
            Self::Sack => "TCP SACK",
            Self::Sctp => "SCTP",
        }
    }

    /// As in names of files.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Sack => "sack",
            Self::Sctp => "sctp",
        }
    }

    /// The schemes it is run with.
    #[must_use]
    pub fn schemes(self) -> &'static [Scheme] {
        match self {
            Self::Reno | Self::Sack => &Scheme::ALL,
            Self::Sctp => &[Scheme::Standard, Scheme::Proposed],
        }
    }
}

/// What the sender does at a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Every loss is congestion: RFC 5681, RFC 6675, RFC 9260.
    Standard,
    /// Losses are told apart; what is lost is sent again one round trip after the first duplicate ACK.
    Previous,
    /// The paper's: losses are told apart; what is lost is sent again at the third duplicate ACK.
    Proposed,
}

impl Scheme {
    /// All three, the paper's last.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Previous, Self::Proposed];

    /// As read by people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Previous => "previous LD",
            Self::Proposed => "proposed LD",
        }
    }

    /// As in names of files and profiles.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Previous => "previous",
            Self::Proposed => "proposed",
        }
    }
}

/// What a wireless loss is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Air {
    /// The paper's simulation: a packet lost on the air is lost to the transport.
    Plain,
    /// The paper's text: the link layer sends again what the air has lost, and delivers in order.
    Recovering,
}

impl Air {
    /// Both, the one that decides first.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Recovering];

    /// As read by people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Plain => "losses on the air reach the transport",
            Self::Recovering => "the link layer recovers",
        }
    }

    /// As in names of files.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Recovering => "recovering",
        }
    }
}

/// One transfer of Fig. 3. Sorted by conditions, then sender, then seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TransferKey {
    /// What a wireless loss is.
    pub air: Air,
    /// The cell.
    pub cell: Cell,
    /// Who sends.
    pub transport: Transport,
    /// What it does at a loss.
    pub scheme: Scheme,
    /// Seed of every random stream.
    pub seed: u64,
}

impl fmt::Display for TransferKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { air, cell, transport, scheme, seed } = self;
        let (cell, transport, scheme) = (cell.words(), transport.words(), scheme.words());
        write!(f, "{cell}, {transport}, {scheme}, {}, seed {seed}", air.words())
    }
}

/// One look through the microscope (the paper's Fig. 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MicroscopeKey {
    /// Who sends.
    pub transport: Transport,
    /// What it does at a loss.
    pub scheme: Scheme,
}

impl fmt::Display for MicroscopeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "microscope, {}, {}", self.transport.words(), self.scheme.words())
    }
}

/// A transfer over an LTE link layer that recovers what the air loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RecoveryKey {
    /// Who sends.
    pub transport: Transport,
    /// The air loses something.
    pub errors: bool,
    /// Seed of every random stream.
    pub seed: u64,
}

impl fmt::Display for RecoveryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let air = if self.errors { "errors on the air" } else { "no errors" };
        write!(f, "recovery by the link layer, {}, {air}, seed {}", self.transport.words(), self.seed)
    }
}

/// A transfer during which the mobile changes its network once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HandoverKey {
    /// The network it leaves.
    pub from: Network,
    /// Who sends.
    pub transport: Transport,
    /// F-RTO is on.
    pub frto: bool,
    /// Seed of every random stream.
    pub seed: u64,
}

impl HandoverKey {
    /// The network it comes to.
    #[must_use]
    pub fn to(&self) -> Network {
        match self.from {
            Network::Wlan => Network::Lte,
            Network::Lte => Network::Wlan,
        }
    }
}

impl fmt::Display for HandoverKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frto = if self.frto { "F-RTO" } else { "no F-RTO" };
        let (from, to) = (self.from.words(), self.to().words());
        write!(f, "handover {from} → {to}, {}, {frto}, seed {}", self.transport.words(), self.seed)
    }
}

/// How much is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Seeds 1 to this.
    pub seeds: u64,
    /// Part of the sweeps' points that are run: every so many-th.
    pub every: usize,
}

impl Extent {
    /// What an effort comes to.
    #[must_use]
    pub fn of(effort: &Effort) -> Self {
        let mut extent =
            if effort.quick { Self { seeds: 3, every: 2 } } else { Self { seeds: 10, every: 1 } };
        extent.seeds = effort.seeds.unwrap_or(extent.seeds);
        extent
    }
}
