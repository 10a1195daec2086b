//! The conditions of the runs: cells of the paper's Fig. 3, senders and schemes, and the keys that order
//! them.

use std::fmt;

use msctp_units::{Rate, Span};
use serde::Serialize;

use crate::experiments::Effort;

/// Duration of a transfer (the paper, §4).
pub const DURATION: Span = Span::from_secs(200);
/// User bytes of a segment that fills a packet of 1500 bytes with 40 bytes of headers.
pub const SEGMENT_BYTES: u32 = 1460;

/// The wireless network of the mobile.
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

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Wlan => "WLAN",
            Self::Lte => "LTE",
        }
    }

    /// Returns the form used in names of files, nodes and links.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Wlan => "wlan",
            Self::Lte => "lte",
        }
    }

    /// Returns the rate of the wireless link.
    #[must_use]
    pub fn rate(self) -> Rate {
        match self {
            Self::Wlan => Rate::from_mbps(10),
            Self::Lte => Rate::from_mbps(1),
        }
    }

    /// Returns the propagation delay of the wireless link, one way.
    #[must_use]
    pub fn delay(self) -> Span {
        match self {
            Self::Wlan => Span::from_millis(20),
            Self::Lte => Span::from_millis(200),
        }
    }
}

/// The place of losses.
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

    /// Returns the text for readers.
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
    /// The place of losses.
    pub losses: Losses,
}

impl Cell {
    /// Returns all six, in the paper's order.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let cell = |network| Losses::ALL.map(|losses| Self { network, losses });
        Network::ALL.into_iter().flat_map(cell).collect()
    }

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> String {
        format!("{} {}", self.network.words(), self.losses.words())
    }

    /// Returns the form used in file names.
    #[must_use]
    pub fn slug(self) -> String {
        format!("{}-{}", self.network.slug(), self.losses.words())
    }
}

/// The sending transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP Reno.
    Reno,
    /// TCP SACK.
    Sack,
    /// SCTP, which the paper does not have.
    Sctp,
}

impl Transport {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Reno, Self::Sack, Self::Sctp];
    /// The paper's.
    pub const TCP: [Self; 2] = [Self::Reno, Self::Sack];

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Reno => "TCP Reno",
            Self::Sack => "TCP SACK",
            Self::Sctp => "SCTP",
        }
    }

    /// Returns the form used in file names.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Sack => "sack",
            Self::Sctp => "sctp",
        }
    }

    /// Returns the schemes that the transport runs with.
    #[must_use]
    pub fn schemes(self) -> &'static [Scheme] {
        match self {
            Self::Reno | Self::Sack => &Scheme::ALL,
            Self::Sctp => &[Scheme::Standard, Scheme::Proposed],
        }
    }
}

/// The sender's reaction to a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Treats every loss as congestion: RFC 5681, RFC 6675, RFC 9260.
    Standard,
    /// Distinguishes losses; retransmits a lost packet one round trip after the first duplicate ACK.
    Previous,
    /// The paper's scheme: distinguishes losses; retransmits a lost packet at the third duplicate ACK.
    Proposed,
}

impl Scheme {
    /// All three, the paper's last.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Previous, Self::Proposed];

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Previous => "previous LD",
            Self::Proposed => "proposed LD",
        }
    }

    /// Returns the form used in names of files and profiles.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Previous => "previous",
            Self::Proposed => "proposed",
        }
    }
}

/// The model of wireless losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Air {
    /// The paper's simulation: a packet lost on the wireless link is lost to the transport.
    Plain,
    /// The paper's text: the link layer retransmits wireless losses and delivers in order.
    Recovering,
}

impl Air {
    /// Both; the verdicts are from the first.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Recovering];

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Plain => "losses on the air reach the transport",
            Self::Recovering => "the link layer recovers",
        }
    }

    /// Returns the form used in file names.
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
    /// The model of wireless losses.
    pub air: Air,
    /// The cell.
    pub cell: Cell,
    /// The transport.
    pub transport: Transport,
    /// The reaction to a loss.
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

/// One run of the microscope: a single scripted loss (the paper's Fig. 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MicroscopeKey {
    /// The transport.
    pub transport: Transport,
    /// The reaction to a loss.
    pub scheme: Scheme,
}

impl fmt::Display for MicroscopeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "microscope, {}, {}", self.transport.words(), self.scheme.words())
    }
}

/// A transfer over an LTE link layer that retransmits wireless losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RecoveryKey {
    /// The transport.
    pub transport: Transport,
    /// True if the wireless link loses packets.
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

/// A transfer with one change of network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HandoverKey {
    /// The old network.
    pub from: Network,
    /// The transport.
    pub transport: Transport,
    /// True if F-RTO is on.
    pub frto: bool,
    /// Seed of every random stream.
    pub seed: u64,
}

impl HandoverKey {
    /// Returns the new network.
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

/// The loss classifier of a run in a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossTest {
    /// None: every loss is congestion.
    Standard,
    /// The paper's inequality (1), in the proposed scheme.
    ParkJang,
    /// The inequality with TCP timestamps: a round trip with every ACK, not one at a time.
    Stamped,
    /// The simulator's truth, in the proposed scheme: the best that any classifier could reach.
    Oracle,
}

impl LossTest {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Standard, Self::ParkJang, Self::Stamped, Self::Oracle];

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::ParkJang => "proposed LD",
            Self::Stamped => "with timestamps",
            Self::Oracle => "oracle",
        }
    }
}

/// The varied parameter of a sweep, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The exponent k in a cell of Fig. 3.
    K {
        /// The cell.
        cell: Cell,
        /// 2·k.
        halves: u8,
    },
    /// The queues before the wire and the WLAN link, with 1 % wireless losses and none on the wire.
    Buffer {
        /// Packets.
        packets: u16,
    },
    /// The share lost on the WLAN link, with no losses on the wire.
    Loss {
        /// Parts per million.
        ppm: u32,
    },
    /// A network with queue losses only, shared with a TCP SACK that does not distinguish losses.
    Queue {
        /// The network.
        network: Network,
    },
    /// A cell of Fig. 3, shared with a TCP SACK that does not distinguish losses.
    Beside {
        /// The cell.
        cell: Cell,
    },
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::K { cell, halves } => write!(f, "{}, k = {}", cell.words(), f64::from(*halves) / 2.0),
            Self::Buffer { packets } => write!(f, "queue of {packets} packets"),
            Self::Loss { ppm } => write!(f, "{} % lost on the air", f64::from(*ppm) / 1e4),
            Self::Queue { network } => {
                write!(f, "{}, beside another flow, no random losses", network.words())
            }
            Self::Beside { cell } => write!(f, "{}, beside another flow", cell.words()),
        }
    }
}

/// One run of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SweepKey {
    /// The varied parameter and its value.
    pub subject: Subject,
    /// The transport.
    pub transport: Transport,
    /// The loss classifier.
    pub loss_test: LossTest,
    /// Seed of every random stream.
    pub seed: u64,
}

impl fmt::Display for SweepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, transport, loss_test, seed } = self;
        write!(f, "sweep, {subject}, {}, {}, seed {seed}", transport.words(), loss_test.words())
    }
}

/// Values of 2·k in the sweep of k: k from 0.5 to 3.
pub const HALVES: [u8; 5] = [1, 2, 3, 4, 6];
/// Queues in the sweep of buffers, in packets: from a seventh of the path's bandwidth-delay product to four
/// times it.
pub const BUFFERS: [u16; 5] = [7, 15, 50, 100, 200];
/// Loss rates in their sweep, in parts per million: 0.01 to 5 %.
pub const LOSSES: [u32; 6] = [100, 1_000, 3_000, 10_000, 30_000, 50_000];

/// The number of runs, by seeds and conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of seeds, from 1.
    pub seeds: u64,
    /// Number of seeds of the sweeps, from 1.
    pub sweep_seeds: u64,
}

impl Extent {
    /// Returns the extent for an effort.
    #[must_use]
    pub fn of(effort: &Effort) -> Self {
        let (seeds, sweep_seeds) = if effort.quick { (3, 2) } else { (10, 5) };
        Self { seeds: effort.seeds.unwrap_or(seeds), sweep_seeds: effort.seeds.unwrap_or(sweep_seeds) }
    }

    /// Returns every transfer of Fig. 3.
    #[must_use]
    pub fn transfers(&self) -> Vec<TransferKey> {
        let mut keys = Vec::new();
        for air in Air::ALL {
            for cell in Cell::all() {
                for transport in Transport::ALL {
                    for &scheme in transport.schemes() {
                        keys.extend((1..=self.seeds).map(|seed| TransferKey {
                            air,
                            cell,
                            transport,
                            scheme,
                            seed,
                        }));
                    }
                }
            }
        }
        keys
    }

    /// Returns every run of the microscope.
    #[must_use]
    pub fn microscope(&self) -> Vec<MicroscopeKey> {
        let of = |transport| Scheme::ALL.map(|scheme| MicroscopeKey { transport, scheme });
        Transport::TCP.into_iter().flat_map(of).collect()
    }

    /// Returns every transfer over a link layer that retransmits.
    #[must_use]
    pub fn recoveries(&self) -> Vec<RecoveryKey> {
        let mut keys = Vec::new();
        for transport in Transport::TCP {
            for errors in [false, true] {
                keys.extend((1..=self.seeds).map(|seed| RecoveryKey { transport, errors, seed }));
            }
        }
        keys
    }

    /// Returns every handover.
    #[must_use]
    pub fn handovers(&self) -> Vec<HandoverKey> {
        let mut keys = Vec::new();
        for from in Network::ALL {
            for transport in Transport::ALL {
                for frto in [false, true] {
                    keys.extend((1..=self.seeds).map(|seed| HandoverKey { from, transport, frto, seed }));
                }
            }
        }
        keys
    }

    /// Returns every run of a sweep.
    #[must_use]
    pub fn sweeps(&self) -> Vec<SweepKey> {
        let mut points: Vec<(Subject, Transport, LossTest)> = Vec::new();
        for cell in Cell::all() {
            for transport in [Transport::Sack, Transport::Sctp] {
                // Without inequality (1) k has no effect: one run.
                let k = |halves| Subject::K { cell, halves };
                points.extend(HALVES.map(|halves| (k(halves), transport, LossTest::ParkJang)));
                points.extend(
                    [LossTest::Standard, LossTest::Oracle].map(|loss_test| (k(2), transport, loss_test)),
                );
                let beside = Subject::Beside { cell };
                points.extend(
                    [LossTest::Standard, LossTest::ParkJang].map(|loss_test| (beside, transport, loss_test)),
                );
            }
        }
        for loss_test in LossTest::ALL {
            points.extend(BUFFERS.map(|packets| (Subject::Buffer { packets }, Transport::Sack, loss_test)));
            points.extend(LOSSES.map(|ppm| (Subject::Loss { ppm }, Transport::Sack, loss_test)));
        }
        for network in Network::ALL {
            for transport in [Transport::Sack, Transport::Sctp] {
                let queue = Subject::Queue { network };
                points.extend(
                    [LossTest::Standard, LossTest::ParkJang].map(|loss_test| (queue, transport, loss_test)),
                );
            }
        }
        let seeds = |(subject, transport, loss_test)| {
            // Two flows on one link scatter more than one.
            let beside = matches!(subject, Subject::Beside { .. } | Subject::Queue { .. });
            let seeds = if beside { self.seeds } else { self.sweep_seeds };
            (1..=seeds).map(move |seed| SweepKey { subject, transport, loss_test, seed })
        };
        points.into_iter().flat_map(seeds).collect()
    }

    /// Returns the number of runs.
    #[must_use]
    pub fn size(&self) -> usize {
        self.transfers().len()
            + self.microscope().len()
            + self.recoveries().len()
            + self.handovers().len()
            + self.sweeps().len()
    }
}
