//! The grid of the handover runs, and each run's overrides of the scenario file.

use std::fmt;
use std::ops::RangeInclusive;

use msctp_units::{Rate, Span};
use serde::Serialize;

use crate::experiments::Effort;

/// Time of the primary switch (the paper, §4).
pub const SWITCH: Span = Span::from_secs(30);
/// Duration of a run (the paper, §4).
pub const DURATION: Span = Span::from_secs(60);
/// User bytes of a message that fills a packet of 1500 bytes (20 IP + 12 common + 16 chunk + 1452).
pub const MESSAGE_BYTES: u32 = 1452;

/// The mobile's movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Movement {
    /// From 3G to WLAN (the paper's §4.2).
    #[serde(rename = "3g-to-wlan")]
    ToWlan,
    /// From WLAN to 3G (the paper's §4.3).
    #[serde(rename = "wlan-to-3g")]
    To3g,
}

impl Movement {
    /// Both.
    pub const ALL: [Self; 2] = [Self::ToWlan, Self::To3g];

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::ToWlan => "3G → WLAN",
            Self::To3g => "WLAN → 3G",
        }
    }

    /// Returns the form used in file names.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::ToWlan => "3g-to-wlan",
            Self::To3g => "wlan-to-3g",
        }
    }

    /// Returns the rate of the link that the mobile moves to.
    #[must_use]
    pub fn target_rate(self) -> Rate {
        match self {
            Self::ToWlan => Rate::from_mbps(11),
            Self::To3g => Rate::from_kbps(384),
        }
    }
}

/// The source of the new path's congestion window at the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// 1 MTU: plain mSCTP.
    Conservative,
    /// The old path's window: C-SCTP.
    Inherit,
    /// The paper's scheme: from the estimate of the available bandwidth.
    Adaptive,
}

impl Scheme {
    /// All three, the paper's last.
    pub const ALL: [Self; 3] = [Self::Conservative, Self::Inherit, Self::Adaptive];

    /// Returns the paper's name.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Conservative => "mSCTP",
            Self::Inherit => "C-SCTP",
            Self::Adaptive => "adaptive",
        }
    }

    /// Returns the name of the handover policy, as in scenario files.
    #[must_use]
    pub fn policy(self) -> &'static str {
        match self {
            Self::Conservative => "conservative",
            Self::Inherit => "inherit",
            Self::Adaptive => "adaptive",
        }
    }
}

/// The receive window and the initial slow-start threshold, which have the same value. The paper leaves both
/// open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowSet {
    /// 65,536 bytes, ns-2's default; the verdicts are from this set.
    #[serde(rename = "64k")]
    Small,
    /// 1 MiB.
    #[serde(rename = "1m")]
    Large,
}

impl WindowSet {
    /// Both; the verdicts are from the first.
    pub const ALL: [Self; 2] = [Self::Small, Self::Large];

    /// Returns the size in bytes.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            Self::Small => 65_536,
            Self::Large => 1 << 20,
        }
    }

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Small => "rwnd 65,536 B",
            Self::Large => "rwnd 1 MiB",
        }
    }

    /// Returns the form used in file names.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Small => "64k",
            Self::Large => "1m",
        }
    }
}

/// One handover run. Sorted by conditions, then scheme, then seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RunKey {
    /// Receive window and initial threshold.
    pub windows: WindowSet,
    /// The mobile's movement.
    pub movement: Movement,
    /// Background in % of the target link's rate, 0 to 90.
    pub load: u8,
    /// The scheme.
    pub scheme: Scheme,
    /// Seed of every random stream. Runs that differ only in scheme or windows have the same background.
    pub seed: u64,
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { windows, movement, load, scheme, seed } = self;
        write!(f, "{}, {load} %, {}, {}, seed {seed}", movement.words(), scheme.words(), windows.words())
    }
}

impl RunKey {
    /// Returns the overrides of the scenario file, in the form of `msctp sim --set`.
    #[must_use]
    pub fn overrides(&self) -> Vec<String> {
        let bytes = self.windows.bytes();
        let mut overrides = vec![
            format!("sctp.cn.handover_policy={}", self.scheme.policy()),
            format!("sctp.mn.receive_buffer={bytes}"),
            format!("sctp.cn.initial_ssthresh={bytes}"),
        ];
        if self.load == 0 {
            // A source of rate zero is rejected; one that no action starts sends nothing.
            overrides.push("app.background.start=action".to_owned());
        } else {
            let rate = self.movement.target_rate().mul_ratio(u64::from(self.load), 100);
            overrides.push(format!("app.background.rate={rate}"));
        }
        overrides
    }
}

/// The number of runs, by seeds and conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Background loads in %.
    pub loads: Vec<u8>,
    /// Number of seeds, from 1.
    pub seeds: u64,
}

impl Extent {
    /// Returns the extent for an effort.
    #[must_use]
    pub fn of(effort: &Effort) -> Self {
        let mut extent = if effort.quick { Self::quick() } else { Self::full() };
        extent.seeds = effort.seeds.unwrap_or(extent.seeds);
        extent
    }

    /// Returns the paper's extent: 0 to 90 % in steps of 10, ten runs each.
    #[must_use]
    pub fn full() -> Self {
        Self { loads: (0..=90).step_by(10).collect(), seeds: 10 }
    }

    /// Returns a subset that takes under a minute: half the loads, with the 0, 40 and 80 % of the paper's
    /// curves, and fewer runs.
    #[must_use]
    pub fn quick() -> Self {
        Self { loads: (0..=80).step_by(20).collect(), seeds: 5 }
    }

    /// Returns every handover run.
    #[must_use]
    pub fn runs(&self) -> Vec<RunKey> {
        let mut runs = Vec::new();
        for windows in WindowSet::ALL {
            for movement in Movement::ALL {
                for &load in &self.loads {
                    for scheme in Scheme::ALL {
                        runs.extend(self.seeds().map(|seed| RunKey {
                            windows,
                            movement,
                            load,
                            scheme,
                            seed,
                        }));
                    }
                }
            }
        }
        runs
    }

    /// Returns the seeds.
    #[must_use]
    pub fn seeds(&self) -> RangeInclusive<u64> {
        1..=self.seeds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_grid_is_the_papers_for_both_window_sets() {
        let runs = Extent::full().runs();
        assert_eq!(runs.len(), 2 * 2 * 10 * 3 * 10);
        assert!(runs.is_sorted(), "the order of the grid is the order of the key");
    }

    #[test]
    fn a_load_is_a_share_of_the_target_link() {
        let key = |movement, load| RunKey {
            windows: WindowSet::Small,
            movement,
            load,
            scheme: Scheme::Adaptive,
            seed: 1,
        };
        let has = |key: RunKey, text: &str| key.overrides().iter().any(|set| set == text);
        assert!(has(key(Movement::ToWlan, 40), "app.background.rate=4400kbps"));
        assert!(has(key(Movement::To3g, 80), "app.background.rate=307200bps"));
        assert!(has(key(Movement::To3g, 0), "app.background.start=action"));
    }
}
