//! [`Grounds`]: why a policy moves data.

use core::fmt;

use msctp_units::Rate;

/// Why a policy moves data, and the rates that it compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grounds {
    /// The reason.
    pub why: Why,
    /// Rate that the old path carried lately, if it counted.
    pub carried: Option<Rate>,
    /// Rate that the new path was measured to carry, if it counted.
    pub promised: Option<Rate>,
}

/// Rates above this are shown as this (bit/s).
const MOST: u64 = 100_000_000_000;

/// The reason of a policy for moving data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Why {
    /// The policy does not say.
    #[default]
    Unsaid,
    /// The link of the old path is down.
    LinkDown,
    /// The old path does not answer.
    Failed,
    /// The old path carries next to nothing, although more data waits.
    Standstill,
    /// The new path carries more.
    Better,
    /// The old path carries too little to spare the new one, which is a [backup](crate::Cost::backup).
    TooLittle,
    /// The old path is a backup, and the new one carries enough again.
    Back,
}

impl Why {
    /// Returns the word for traces.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unsaid => "unsaid",
            Self::LinkDown => "link-down",
            Self::Failed => "failed",
            Self::Standstill => "standstill",
            Self::Better => "better",
            Self::TooLittle => "too-little",
            Self::Back => "back",
        }
    }
}

impl From<Why> for Grounds {
    fn from(why: Why) -> Self {
        Self { why, carried: None, promised: None }
    }
}

impl fmt::Display for Grounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.why {
            Why::Unsaid => "the policy chose it",
            Why::LinkDown => "the link of the other is down",
            Why::Failed => "the other does not answer",
            Why::Standstill => "the other stands still",
            Why::Better => "it carries more",
            Why::TooLittle => "the other carries too little",
            Why::Back => "it works again, and the other is a backup",
        })?;
        // A train on an idle link of this host measures thousands of Gbit/s.
        let mbps = |rate: Rate| rate.as_bps().min(MOST) as f64 / 1e6;
        match (self.promised, self.carried) {
            (Some(promised), Some(carried)) => {
                let (promised, carried) = (mbps(promised), mbps(carried));
                write!(f, " (measured at {promised:.1} Mbit/s, the other carried {carried:.1})")
            }
            (Some(promised), None) => write!(f, " (measured at {:.1} Mbit/s)", mbps(promised)),
            (None, Some(carried)) => write!(f, " (the other carried {:.1} Mbit/s)", mbps(carried)),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_the_rates_that_counted() {
        let (slow, fast) = (Some(Rate::from_kbps(300)), Some(Rate::from_mbps(18)));
        let of = |carried, promised| Grounds { why: Why::Standstill, carried, promised }.to_string();
        assert_eq!(of(None, None), "the other stands still");
        let both = "the other stands still (measured at 18.0 Mbit/s, the other carried 0.3)";
        assert_eq!(of(slow, fast), both);
        assert_eq!(of(None, fast), "the other stands still (measured at 18.0 Mbit/s)");
        assert_eq!(Grounds::from(Why::Failed).to_string(), "the other does not answer");
    }
}
