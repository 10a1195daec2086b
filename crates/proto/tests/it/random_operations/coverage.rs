//! Counts how often pairs of features occurred together in a run, so that a test cannot silently cover
//! nothing.
//!
//! A pair occurs when an event of the first feature happens at one end (its *moment*: a message was
//! abandoned, a path failed, a request was sent or answered) while either end is in an operation of the
//! second (it is *busy*: interleaved data is outstanding, a path is dead, a request is unanswered). A new
//! feature is a line in `Feature`, and its moments and busy state in `host`.

use core::ops::BitOr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// Moment: a message is abandoned after partial transmission.
    PartialReliability,
    /// Busy: I-DATA is in use and some data is unacknowledged.
    Interleaving,
    /// Moment: a stream request is sent or answered. Busy: it is unanswered.
    Reconfiguration,
    /// Moment: a path becomes inactive. Busy: a path is inactive.
    PathDeath,
    /// Moment: an address request is sent or answered. Busy: it is unanswered.
    Addresses,
}

impl Feature {
    pub(crate) const ALL: [Self; 5] = [
        Self::PartialReliability,
        Self::Interleaving,
        Self::Reconfiguration,
        Self::PathDeath,
        Self::Addresses,
    ];
}

/// Features that are busy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Set(u8);

impl Set {
    pub(crate) fn put(&mut self, feature: Feature, busy: bool) {
        self.0 |= u8::from(busy) << feature as u8;
    }

    fn has(self, feature: Feature) -> bool {
        self.0 >> feature as u8 & 1 == 1
    }
}

impl BitOr for Set {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Number of occurrences of each pair.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meetings([[u64; Feature::ALL.len()]; Feature::ALL.len()]);

impl Meetings {
    /// Counts an event of a feature while others were busy.
    pub(crate) fn count(&mut self, moment: Feature, busy: Set) {
        for other in Feature::ALL.into_iter().filter(|&other| other != moment && busy.has(other)) {
            self.0[moment as usize][other as usize] += 1;
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (row, more) in self.0.iter_mut().zip(&other.0) {
            row.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
    }

    /// Iterates over each pair once, with its number of occurrences.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (Feature, Feature, u64)> {
        let all = Feature::ALL.into_iter().enumerate();
        all.flat_map(move |(i, first)| {
            Feature::ALL.into_iter().skip(i + 1).map(move |second| {
                let (a, b) = (first as usize, second as usize);
                (first, second, self.0[a][b] + self.0[b][a])
            })
        })
    }
}
