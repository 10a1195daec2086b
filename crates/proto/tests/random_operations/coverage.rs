//! Which pairs of features met in a run: real occurrences are counted, so that a test cannot cover nothing in
//! silence.
//!
//! A feature meets another one when something of the first happens at one end (a *moment*: a message was
//! abandoned, a path died, a request was asked or answered) while either end is in the middle of something of
//! the second (it is *busy*: interleaved data is under way, a path is dead, a request is not answered yet).
//! One more feature is one more line in `Feature` and its moments and its business in `host`.

use core::ops::BitOr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// Moment: a message of which something was sent is abandoned.
    PartialReliability,
    /// Busy: I-DATA is agreed on and not all is acknowledged.
    Interleaving,
    /// Moment: a request about streams is asked or answered. Busy: it is not answered.
    Reconfiguration,
    /// Moment: a path becomes inactive. Busy: one is.
    PathDeath,
    /// Moment: a request about addresses is asked or answered. Busy: it is not answered.
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

/// How often each pair met.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meetings([[u64; Feature::ALL.len()]; Feature::ALL.len()]);

impl Meetings {
    /// Something of a feature happened while others were busy.
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

    /// Each pair once, and how often it met.
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
