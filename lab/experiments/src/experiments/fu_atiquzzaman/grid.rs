//! The runs: the paper's grid, the six scripted losses (microscope), the sweep over the number of SACK
//! blocks.

use std::fmt;
use std::ops::RangeInclusive;

use msctp_sim::random::component_seed;
use serde::Serialize;

use super::paper::{WIRED, WIRELESS};
use crate::experiments::Effort;

/// The protocol of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TCP Reno, without SACK.
    Reno,
    /// TCP with SACK and timestamps, which leave room for three blocks.
    Sack,
    /// SCTP: any number of blocks.
    Sctp,
}

impl Protocol {
    /// All protocols, in the order of the paper's tables.
    pub const ALL: [Self; 3] = [Self::Reno, Self::Sack, Self::Sctp];

    /// Returns the paper's name.
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
}

/// One run of the grid. Sorted by rates, then protocol, then seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct GridKey {
    /// Rate between correspondent and router in bit/s.
    pub wired: u32,
    /// Rate between mobile and agent in bit/s.
    pub wireless: u32,
    /// The protocol.
    pub protocol: Protocol,
    /// Seed of every random stream.
    pub seed: u64,
}

impl fmt::Display for GridKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wired, wireless, protocol, seed } = self;
        write!(
            f,
            "wired {} kbps, wireless {} kbps, {}, seed {seed}",
            kbps(*wired),
            kbps(*wireless),
            protocol.words()
        )
    }
}

/// The cells with a plotted handover of Reno: the wired and the wireless rate.
pub const PLOTTED: [(u32, u32); 2] = [(1_500_000, 2_000_000), (28_800, 384_000)];

/// Formats a rate in bit/s as in the paper, in kbps.
#[must_use]
pub fn kbps(bps: u32) -> String {
    if bps.is_multiple_of(1000) { (bps / 1000).to_string() } else { (f64::from(bps) / 1000.0).to_string() }
}

/// A run of the microscope: six scripted losses in one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MicroscopeKey {
    /// The loss set.
    pub losses: LossSet,
    /// The protocol.
    pub protocol: Protocol,
    /// Recovery algorithm of TCP SACK.
    pub sender: Sender,
    /// Seed that selects six lost segments, for [`LossSet::Same`].
    pub seed: u64,
}

impl MicroscopeKey {
    /// Returns the plotted run: the losses of the paper's figures, and the sender of current RFCs.
    #[must_use]
    pub fn drawn(losses: LossSet, protocol: Protocol) -> Self {
        Self { losses, protocol, sender: Sender::Rfc6675, seed: PAPERS }
    }

    /// Returns the lost segments, counted from the first of them.
    #[must_use]
    pub fn offsets(&self) -> [u64; 6] {
        match self.losses {
            LossSet::Same if self.seed != PAPERS => random_offsets(self.seed),
            _ => self.losses.offsets(self.protocol),
        }
    }
}

impl fmt::Display for MicroscopeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { losses, protocol, sender, seed } = self;
        write!(f, "six losses, {}, {}{}, seed {seed}", losses.words(), protocol.words(), sender.suffix())
    }
}

/// Seed with the losses of the paper's figures.
pub const PAPERS: u64 = 1;

/// Maximum distance of the last loss from the first, that of Fig. 7.
const SPAN: u64 = 12;

/// Draws six segments of one window that are not consecutive: the first, and five of the next [`SPAN`].
fn random_offsets(seed: u64) -> [u64; 6] {
    (0..)
        .map(|attempt| {
            let place = |offset: &u64| component_seed(seed, &format!("six-losses/{attempt}/{offset}"));
            let mut all: Vec<u64> = (1..=SPAN).collect();
            all.sort_by_key(place);
            let mut offsets = [0, all[0], all[1], all[2], all[3], all[4]];
            offsets.sort_unstable();
            offsets
        })
        .find(|offsets| offsets[5] > 5)
        .unwrap_or([0, 2, 6, 8, 11, 12])
}

/// Recovery algorithm of TCP SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sender {
    /// RFC 6675: computes the bytes in flight from a scoreboard. The verdicts come from it.
    Rfc6675,
    /// ns-2's SACK1 after Fall and Floyd (1996), the paper's sender: reduces the bytes in flight by one
    /// segment for each duplicate ACK.
    FallFloyd,
    /// The paper's sender with as many blocks in an ACK as fit, instead of at most three.
    FallFloydUnlimited,
}

impl Sender {
    /// All algorithms, the paper's after the RFC's.
    pub const ALL: [Self; 3] = [Self::Rfc6675, Self::FallFloyd, Self::FallFloydUnlimited];

    /// Returns the suffix after a protocol's name; empty for the first algorithm.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Rfc6675 => "",
            Self::FallFloyd => " (Fall and Floyd)",
            Self::FallFloydUnlimited => " (Fall and Floyd, unlimited blocks)",
        }
    }
}

/// The choice of the six lost segments of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossSet {
    /// The same segments for all three protocols: those of Fig. 7, which leave five blocks, and others drawn
    /// by the seed. The verdict comes from these.
    Same,
    /// Each protocol's own segments, those of its figure.
    Own,
}

impl LossSet {
    /// Both choices. The verdicts come from the first.
    pub const ALL: [Self; 2] = [Self::Same, Self::Own];

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Same => "the same losses",
            Self::Own => "each figure’s own losses",
        }
    }

    /// Returns the lost segments, counted from the first of them (Figs 6 to 8).
    #[must_use]
    pub fn offsets(self, protocol: Protocol) -> [u64; 6] {
        match (self, protocol) {
            // Fig. 6: 7, 11, 13, 14, 15, 16
            (Self::Own, Protocol::Reno) => [0, 4, 6, 7, 8, 9],
            // Fig. 7: 1, 3, 7, 9, 12, 13
            (Self::Same, _) | (Self::Own, Protocol::Sack) => [0, 2, 6, 8, 11, 12],
            // Fig. 8: 37, 40, 41, 44, 45, 47
            (Self::Own, Protocol::Sctp) => [0, 3, 4, 7, 8, 10],
        }
    }
}

/// Limit of SACK blocks in an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blocks {
    /// At most this many blocks; 0 disables selective acknowledgment.
    AtMost(u32),
    /// No limit.
    Unlimited,
}

impl Blocks {
    /// The limits to compare.
    pub const ALL: [Self; 7] = [
        Self::AtMost(0),
        Self::AtMost(1),
        Self::AtMost(2),
        Self::AtMost(3),
        Self::AtMost(4),
        Self::AtMost(8),
        Self::Unlimited,
    ];

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::AtMost(blocks) => blocks.to_string(),
            Self::Unlimited => "unlimited".to_owned(),
        }
    }
}

/// A run of the sweep over the number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BlocksKey {
    /// Protocol: TCP with SACK, or SCTP.
    pub protocol: Protocol,
    /// The limit of blocks.
    pub blocks: Blocks,
    /// Seed of the losses. Runs that differ only in other fields have the same loss process.
    pub seed: u64,
}

impl fmt::Display for BlocksKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} blocks, {}, seed {}", self.blocks.words(), self.protocol.words(), self.seed)
    }
}

/// The number of runs, given by seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of seeds for each cell of the grid and each number of blocks.
    pub seeds: u64,
    /// The first seed.
    pub first: u64,
}

impl Extent {
    /// The whole experiment.
    pub const FULL: Self = Self { seeds: 60, first: 1 };
    /// A quick run.
    pub const QUICK: Self = Self { seeds: 4, first: 1 };

    /// Returns the extent for an effort.
    #[must_use]
    pub fn of(effort: &Effort) -> Self {
        let extent = if effort.quick { Self::QUICK } else { Self::FULL };
        Self { seeds: effort.seeds.unwrap_or(extent.seeds), ..extent }
    }

    /// Returns the seeds.
    #[must_use]
    pub fn seeds(&self) -> RangeInclusive<u64> {
        self.first..=self.first + self.seeds - 1
    }

    /// Returns every run of the grid.
    #[must_use]
    pub fn grid(&self) -> Vec<GridKey> {
        let mut keys = Vec::new();
        for wired in WIRED {
            for wireless in WIRELESS {
                for protocol in Protocol::ALL {
                    keys.extend(self.seeds().map(|seed| GridKey { wired, wireless, protocol, seed }));
                }
            }
        }
        keys
    }

    /// Returns every run of the microscope.
    #[must_use]
    pub fn microscope(&self) -> Vec<MicroscopeKey> {
        let mut keys = Vec::new();
        for protocol in Protocol::ALL {
            let senders = if protocol == Protocol::Sack { &Sender::ALL[..] } else { &Sender::ALL[..1] };
            for &sender in senders {
                let same = |seed| MicroscopeKey { losses: LossSet::Same, protocol, sender, seed };
                keys.extend(self.seeds().map(same));
            }
        }
        keys.extend(Protocol::ALL.map(|protocol| MicroscopeKey::drawn(LossSet::Own, protocol)));
        keys
    }

    /// Returns every run of the sweep over the number of blocks.
    #[must_use]
    pub fn blocks(&self) -> Vec<BlocksKey> {
        let mut keys = Vec::new();
        for protocol in [Protocol::Sack, Protocol::Sctp] {
            for blocks in Blocks::ALL {
                keys.extend(self.seeds().map(|seed| BlocksKey { protocol, blocks, seed }));
            }
        }
        keys
    }

    /// Returns the number of runs.
    #[must_use]
    pub fn size(&self) -> usize {
        self.grid().len() + self.microscope().len() + self.blocks().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_the_papers() {
        let keys = Extent { seeds: 2, first: 1 }.grid();
        assert_eq!(keys.len(), 6 * 5 * 3 * 2);
        assert!(keys.is_sorted(), "the order of the grid is the order of the key");
        assert!(
            Extent { seeds: 2, first: 1 }.microscope().is_sorted()
                && Extent { seeds: 2, first: 1 }.blocks().is_sorted()
        );
        assert_eq!((kbps(28_800), kbps(1_500_000)), ("28.8".to_owned(), "1500".to_owned()));
    }

    #[test]
    fn every_loss_set_is_six_segments_of_one_window_and_not_one_row() {
        for key in (Extent { seeds: 100, first: 1 }).microscope() {
            let offsets = key.offsets();
            assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]), "{key}: {offsets:?}");
            assert!(offsets[0] == 0 && offsets[5] < 20, "{key}: {offsets:?}");
            assert!(offsets[5] > 5, "{key}: not consecutive");
        }
        let of =
            |seed| MicroscopeKey { seed, ..MicroscopeKey::drawn(LossSet::Same, Protocol::Sctp) }.offsets();
        assert_eq!(of(1), LossSet::Same.offsets(Protocol::Sack), "the first seed has the paper's");
        let different: std::collections::BTreeSet<_> = (1..=60).map(of).collect();
        assert!(different.len() > 50, "the seeds are replicates: {}", different.len());
    }
}
