//! The plan of runs.

use std::fmt;

use msctp_units::Span;
use serde::{Deserialize, Serialize};

use crate::experiments::Effort;

/// The course of the radio conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// The paper's table 1.
    Deterministic,
    /// The paper's figure 2: a Markov chain, different for each seed.
    Random,
}

impl Course {
    /// Returns the text for readers and file names.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Deterministic => "deterministic",
            Self::Random => "random",
        }
    }
}

/// The sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Standard SCTP; the mobile does not report.
    Standard,
    /// SCTP with QoS_Measurement.
    Extended,
    /// Standard SCTP that does not know the chunk, with a mobile that reports.
    Ignorant,
}

impl Variant {
    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Standard => "standard SCTP",
            Self::Extended => "with QoS_Measurement",
            Self::Ignorant => "standard SCTP, reported to",
        }
    }

    /// Returns the form used in file names.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Extended => "extended",
            Self::Ignorant => "ignorant",
        }
    }
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    /// The course of the radio conditions.
    pub course: Course,
    /// The sender.
    pub variant: Variant,
    /// Seed of all random streams: the same seed has the same conditions and losses under each variant.
    pub seed: u64,
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, seed {}", self.course.words(), self.variant.words(), self.seed)
    }
}

/// Times of the changes in table 1, in seconds: to CS3, CS2, CS1, and the handover.
pub const CHANGES: [f64; 4] = [200.0, 400.0, 600.0, 700.0];
/// Time at which the coding scheme falls from CS2 to CS1 (AF1), in seconds.
pub const TO_CS1: f64 = 600.0;
/// Duration of the deterministic run. The paper does not state how long it lasts after the handover at 700 s.
pub const DURATION: Span = Span::from_secs(900);
/// Duration of a random run after its handover, as in the deterministic run.
pub const AFTER_HANDOVER: Span = Span::from_secs(200);

/// The number of runs, by seeds and conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Seeds of the deterministic course.
    pub deterministic: u64,
    /// Seeds of the random course.
    pub random: u64,
}

impl Extent {
    /// The whole experiment.
    pub const FULL: Self = Self { deterministic: 20, random: 100 };

    /// Returns the extent for an effort.
    #[must_use]
    pub fn of(effort: &Effort) -> Self {
        let whole = if effort.quick { Self { deterministic: 4, random: 6 } } else { Self::FULL };
        match effort.seeds {
            Some(seeds) => Self { deterministic: seeds, random: seeds },
            None => whole,
        }
    }

    /// Returns every run.
    #[must_use]
    pub fn runs(&self) -> Vec<RunKey> {
        let of = |course, variant, seeds| (1..=seeds).map(move |seed| RunKey { course, variant, seed });
        let both = [Variant::Standard, Variant::Extended];
        both.into_iter()
            .chain([Variant::Ignorant])
            .flat_map(|variant| of(Course::Deterministic, variant, self.deterministic))
            .chain(both.into_iter().flat_map(|variant| of(Course::Random, variant, self.random)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_and_the_quick_extent() {
        assert_eq!(Extent::FULL.runs().len(), 3 * 20 + 2 * 100);
        let quick = Extent::of(&Effort { quick: true, seeds: None });
        assert!(quick.runs().len() < 30);
        assert_eq!(Extent::of(&Effort { quick: false, seeds: Some(2) }).runs().len(), 10);
    }
}
