//! Which runs there are, and how each is told to the simulator.

use std::fmt;

use msctp_units::Span;
use serde::{Deserialize, Serialize};

use crate::experiments::Effort;

/// How the radio conditions change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// The paper's table 1.
    Deterministic,
    /// The paper's figure 2: a Markov chain, another for each seed.
    Random,
}

impl Course {
    /// As read by people and in names of files.
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
    /// With QoS_Measurement.
    Extended,
    /// The mobile reports, to a standard SCTP that does not know the chunk.
    Ignorant,
}

impl Variant {
    /// As read by people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Standard => "standard SCTP",
            Self::Extended => "with QoS_Measurement",
            Self::Ignorant => "standard SCTP, reported to",
        }
    }

    /// As in names of files.
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
    /// Of the radio conditions.
    pub course: Course,
    /// The sender.
    pub variant: Variant,
    /// Of all random streams: the same seed has the same conditions and the same losses under each variant.
    pub seed: u64,
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, seed {}", self.course.words(), self.variant.words(), self.seed)
    }
}

/// When table 1 changes the conditions, in seconds: to CS3, CS2, CS1, and the handover.
pub const CHANGES: [f64; 4] = [200.0, 400.0, 600.0, 700.0];
/// When the coding scheme falls from CS2 to CS1 (AF1), in seconds.
pub const TO_CS1: f64 = 600.0;
/// The deterministic run; the paper does not say how long it goes on after the handover at 700 s.
pub const DURATION: Span = Span::from_secs(900);
/// How long a random run goes on after its handover, as the deterministic one does.
pub const AFTER_HANDOVER: Span = Span::from_secs(200);

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Seeds of the deterministic course.
    pub deterministic: u64,
    /// Seeds of the random course.
    pub random: u64,
}

impl Extent {
    /// All of it.
    pub const FULL: Self = Self { deterministic: 20, random: 100 };

    /// What an effort amounts to.
    #[must_use]
    pub fn of(effort: &Effort) -> Self {
        let whole = if effort.quick { Self { deterministic: 4, random: 6 } } else { Self::FULL };
        match effort.seeds {
            Some(seeds) => Self { deterministic: seeds, random: seeds },
            None => whole,
        }
    }

    /// Every run.
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
    fn the_whole_and_a_look() {
        assert_eq!(Extent::FULL.runs().len(), 3 * 20 + 2 * 100);
        let quick = Extent::of(&Effort { quick: true, seeds: None });
        assert!(quick.runs().len() < 30);
        assert_eq!(Extent::of(&Effort { quick: false, seeds: Some(2) }).runs().len(), 10);
    }
}
