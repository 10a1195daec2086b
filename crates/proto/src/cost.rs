//! [`Cost`]: what packets to and from an address cost an end.

/// What packets to and from an address cost the end that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cost {
    /// The address carries data only while none without this mark works well.
    pub backup: bool,
    /// The end pays by the byte: paths are measured rarely, and not used together with others.
    pub metered: bool,
}

impl Cost {
    /// Returns what an end must consider if both have a say: neither takes back what the other wants spared.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self { backup: self.backup || other.backup, metered: self.metered || other.metered }
    }

    /// Returns whether several paths may carry data at once with this one among them.
    pub(crate) const fn may_be_shared(self) -> bool {
        !self.backup && !self.metered
    }
}
