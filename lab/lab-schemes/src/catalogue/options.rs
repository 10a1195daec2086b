//! [`Options`]: named options of one controller or classifier.
//!
//! Each lists its own [`OptionInfo`]s in its file; scenario files and command lines find them there.

use std::collections::BTreeMap;
use std::fmt;

use msctp_units::Span;

use super::suggest;

/// One option: name, meaning, range and default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Unit of its number.
    pub kind: OptionKind,
    /// Default value.
    pub default: u64,
    /// The least allowed value.
    pub least: u64,
    /// The greatest allowed value.
    pub most: u64,
    /// Allowed values are multiples of this.
    pub step: u64,
}

/// Unit of an option, and its form in a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// 0 or 1; written `false` or `true`.
    Flag,
    /// A whole number.
    Integer,
    /// Thousandths; written as a number with a point.
    Thousandths,
    /// Nanoseconds; written as a time with its unit.
    Nanoseconds,
}

impl OptionInfo {
    /// Declares a boolean option.
    pub const fn flag(name: &'static str, default: bool, summary: &'static str) -> Self {
        Self { name, summary, kind: OptionKind::Flag, default: default as u64, least: 0, most: 1, step: 1 }
    }

    /// Declares an option whose value is an integer from `least` to `most`.
    pub const fn integer(
        name: &'static str,
        default: u64,
        (least, most): (u64, u64),
        summary: &'static str,
    ) -> Self {
        Self { name, summary, kind: OptionKind::Integer, default, least, most, step: 1 }
    }

    /// Declares an option whose value is a decimal number, in thousandths, from `least` to `most` by `step`.
    pub const fn thousandths(
        name: &'static str,
        default: u64,
        (least, most, step): (u64, u64, u64),
        summary: &'static str,
    ) -> Self {
        Self { name, summary, kind: OptionKind::Thousandths, default, least, most, step }
    }

    /// Declares an option whose value is a time from `least` to `most`.
    pub const fn span(
        name: &'static str,
        default: Span,
        (least, most): (Span, Span),
        summary: &'static str,
    ) -> Self {
        let (default, least, most) = (default.as_nanos(), least.as_nanos(), most.as_nanos());
        Self { name, summary, kind: OptionKind::Nanoseconds, default, least, most, step: 1 }
    }

    fn allows(&self, value: u64) -> bool {
        (self.least..=self.most).contains(&value) && value.is_multiple_of(self.step)
    }

    /// Formats `value` as users write this option.
    fn show(&self, value: u64) -> String {
        match self.kind {
            OptionKind::Flag => (value != 0).to_string(),
            OptionKind::Integer => value.to_string(),
            OptionKind::Thousandths => {
                let digits = format!("{}.{:03}", value / 1000, value % 1000);
                let digits = digits.trim_end_matches('0').trim_end_matches('.');
                digits.to_owned()
            }
            OptionKind::Nanoseconds => Span::from_nanos(value).to_string(),
        }
    }

    /// Describes the allowed values.
    pub fn want(&self) -> String {
        if self.kind == OptionKind::Flag {
            return "true or false".to_owned();
        }
        let steps = match self.step {
            1 => String::new(),
            step => format!(" in steps of {}", self.show(step)),
        };
        format!("{} to {}{steps}", self.show(self.least), self.show(self.most))
    }
}

/// The options that are set; the others have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<&'static str, u64>);

impl Options {
    /// Creates a set with no option set.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Sets an option.
    ///
    /// # Errors
    /// The value is out of the option's range.
    pub fn set(&mut self, info: &OptionInfo, value: u64) -> Result<(), BadOption> {
        if !info.allows(value) {
            let problem = format!("{} is out of range: want {}", info.show(value), info.want());
            return Err(BadOption { name: info.name.to_owned(), problem });
        }
        self.0.insert(info.name, value);
        Ok(())
    }

    /// Returns these options with one more set, for values known to be valid.
    ///
    /// # Panics
    /// The value is out of the option's range.
    #[must_use]
    pub fn with(mut self, info: &OptionInfo, value: u64) -> Self {
        self.set(info, value).unwrap_or_else(|error| panic!("{error}"));
        self
    }

    /// Returns the value of an option: its default unless set.
    pub fn get(&self, info: &OptionInfo) -> u64 {
        self.0.get(info.name).copied().filter(|&value| info.allows(value)).unwrap_or(info.default)
    }

    /// Returns the value of a boolean option.
    pub fn flag(&self, info: &OptionInfo) -> bool {
        self.get(info) != 0
    }

    /// Returns the value of an option that is a time.
    pub fn span(&self, info: &OptionInfo) -> Span {
        Span::from_nanos(self.get(info))
    }

    /// Checks that every set option is in `known` and in range.
    ///
    /// # Errors
    /// The first option that is not.
    pub fn check(&self, known: &[OptionInfo]) -> Result<(), BadOption> {
        for (&name, &value) in &self.0 {
            let Some(info) = known.iter().find(|info| info.name == name) else {
                let problem = format!(
                    "there is no such option here{}",
                    suggest(name, known.iter().map(|info| info.name))
                );
                return Err(BadOption { name: name.to_owned(), problem });
            };
            Self::new().set(info, value)?;
        }
        Ok(())
    }
}

/// An unknown or out-of-range option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BadOption {
    /// Its name.
    pub name: String,
    /// The fault and the allowed values.
    pub problem: String,
}

impl fmt::Display for BadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAG: OptionInfo = OptionInfo::flag("flag", true, "");
    const COUNT: OptionInfo = OptionInfo::integer("count", 2, (1, 8), "");
    const K: OptionInfo = OptionInfo::thousandths("k", 1000, (500, 3000, 500), "");
    const WAIT: OptionInfo =
        OptionInfo::span("wait", Span::from_millis(4), (Span::ZERO, Span::from_secs(1)), "");

    #[test]
    fn unset_options_have_their_default() {
        let mut options = Options::new();
        assert!(options.flag(&FLAG));
        assert_eq!((options.get(&COUNT), options.span(&WAIT)), (2, Span::from_millis(4)));
        options.set(&FLAG, 0).unwrap();
        options.set(&COUNT, 8).unwrap();
        options.set(&WAIT, 7).unwrap();
        assert!(!options.flag(&FLAG));
        assert_eq!((options.get(&COUNT), options.span(&WAIT)), (8, Span::from_nanos(7)));
        assert_eq!(options.check(&[FLAG, COUNT, WAIT]), Ok(()));
    }

    #[test]
    fn out_of_range_options_name_the_allowed_range() {
        let mut options = Options::new();
        assert_eq!(options.set(&COUNT, 9).unwrap_err().to_string(), "count: 9 is out of range: want 1 to 8");
        assert_eq!(
            options.set(&K, 1250).unwrap_err().to_string(),
            "k: 1.25 is out of range: want 0.5 to 3 in steps of 0.5"
        );
        assert_eq!(
            options.set(&WAIT, u64::MAX).unwrap_err().problem,
            "18446744073709551615ns is out of range: want 0s to 1s"
        );
        assert_eq!(options, Options::new(), "nothing was set");
    }

    #[test]
    fn an_option_of_another_controller_is_rejected() {
        let options = Options::new().with(&K, 1500);
        assert!(options.check(&[FLAG, COUNT]).unwrap_err().problem.contains("want one of flag, count"));
        assert!(options.check(&[]).unwrap_err().problem.contains("there are none"));
    }
}
