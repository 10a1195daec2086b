//! Claims of a paper or a sweep, and their verdicts from our measurements.
//!
//! A claim's predicate consists of [`Check`]s, each with its requirement, its figures and its result. Each
//! experiment has its predicates; this module has their shared functions ([`judge`], the comparisons) and the
//! ledger.

use std::borrow::Cow;

use serde::Serialize;

use crate::stats::{Mean, paired_difference};

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every check of its predicate held.
    Reproduced,
    /// At least one check did not hold.
    NotReproduced,
    /// The runs, or the data of the paper, do not suffice.
    OutOfReach,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 3] = [Self::Reproduced, Self::NotReproduced, Self::OutOfReach];

    /// Returns the text for readers: of a claim of a paper, or of a sweep's own.
    #[must_use]
    pub fn words(self, paper: &str) -> &'static str {
        match (self, paper.is_empty()) {
            (Self::Reproduced, false) => "reproduced",
            (Self::NotReproduced, false) => "not reproduced",
            (Self::OutOfReach, false) => "out of reach",
            (Self::Reproduced, true) => "holds",
            (Self::NotReproduced, true) => "does not hold",
            (Self::OutOfReach, true) => "not judged",
        }
    }
}

/// One part of a claim's predicate, evaluated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The requirement, with its tolerance.
    pub want: String,
    /// The measurement.
    pub measured: String,
    /// Whether it held; `None` without the measurements.
    pub holds: Option<bool>,
}

impl Check {
    /// Creates a check with measurements.
    pub fn new(want: impl Into<String>, measured: impl Into<String>, holds: bool) -> Self {
        Self { want: want.into(), measured: measured.into(), holds: Some(holds) }
    }

    /// Creates a check without measurements, and names those that are missing.
    pub fn missing(want: impl Into<String>, what: impl Into<String>) -> Self {
        Self { want: want.into(), measured: what.into(), holds: None }
    }
}

/// The checks of one claim under one set of conditions, and the verdict that follows from them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The conditions, as `rwnd 65,536 B`.
    pub conditions: String,
    /// The figures of all checks as one text.
    pub measured: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The checks.
    pub checks: Vec<Check>,
}

/// Returns the verdict of the checks. It is not reproduced if a check fails, else out of reach if a check
/// lacks measurements or there are no checks, else reproduced.
#[must_use]
pub fn judge(conditions: &str, checks: Vec<Check>) -> Judgement {
    let verdict = if checks.iter().any(|check| check.holds == Some(false)) {
        Verdict::NotReproduced
    } else if checks.is_empty() || checks.iter().any(|check| check.holds.is_none()) {
        Verdict::OutOfReach
    } else {
        Verdict::Reproduced
    };
    let measured = checks.iter().map(|check| check.measured.as_str()).collect::<Vec<_>>().join("; ");
    Judgement { conditions: conditions.to_owned(), measured, verdict, checks }
}

/// A claim in the ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// As `KK1`.
    pub id: Cow<'static, str>,
    /// As `kim-koh`; empty: a sweep's own claim.
    pub paper: Cow<'static, str>,
    /// The paper's figure the claim is about, as `Fig. 5`; empty: of none.
    pub figure: Cow<'static, str>,
    /// The claim in short.
    pub statement: Cow<'static, str>,
    /// The figures under the primary conditions.
    pub measured: String,
    /// The verdict under the primary conditions.
    pub verdict: Verdict,
    /// Each set of conditions with its own checks and verdict, the primary one first.
    pub judgements: Vec<Judgement>,
}

impl Claim {
    /// Creates a claim judged under one or more sets of conditions, the primary one first.
    #[must_use]
    pub fn new(
        id: impl Into<Cow<'static, str>>,
        paper: impl Into<Cow<'static, str>>,
        figure: impl Into<Cow<'static, str>>,
        statement: impl Into<Cow<'static, str>>,
        judgements: Vec<Judgement>,
    ) -> Self {
        let (measured, verdict) = judgements
            .first()
            .map_or((String::new(), Verdict::OutOfReach), |first| (first.measured.clone(), first.verdict));
        let (id, statement) = (id.into(), statement.into());
        let (paper, figure) = (paper.into(), figure.into());
        Self { id, paper, figure, statement, measured, verdict, judgements }
    }
}

/// The result of a comparison of two treatments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The first is above the second: the interval of the paired difference lies above zero.
    Above,
    /// The interval contains zero, or the difference is below the resolution of the measurement.
    Level,
    /// The first is below the second.
    Below,
}

/// Two treatments of the same seeds compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Mean and interval of `a − b`, per seed.
    pub difference: Mean,
    /// Mean of `b`.
    pub base: f64,
    /// The result.
    pub order: Order,
}

impl Comparison {
    /// Compares `a` with `b`, value by value. `grain` is the resolution of the measurement: two treatments
    /// whose means differ by less are level, however small the spread. `None` as in [`paired_difference`].
    #[must_use]
    pub fn of(a: &[f64], b: &[f64], grain: f64) -> Option<Self> {
        let difference = paired_difference(a, b)?;
        let base = Mean::of(b)?.mean;
        let order = if difference.mean.abs() < grain {
            Order::Level
        } else if difference.low() > 0.0 {
            Order::Above
        } else if difference.high() < 0.0 {
            Order::Below
        } else {
            Order::Level
        };
        Some(Self { difference, base, order })
    }

    /// Returns the mean difference relative to `b`'s mean; zero if both are zero.
    #[must_use]
    pub fn relative(&self) -> f64 {
        if self.difference.mean == 0.0 { 0.0 } else { self.difference.mean / self.base }
    }

    /// Returns true if the means differ by at most `margin` of `b`'s mean.
    #[must_use]
    pub fn within(&self, margin: f64) -> bool {
        self.relative().abs() <= margin
    }
}

/// Formats the ledger for a terminal of `width` columns: a block per claim, a line per verdict, and its
/// figures below.
#[must_use]
pub fn render(ledger: &[Claim], width: usize) -> String {
    let mut text = String::new();
    for claim in ledger {
        let head = [&claim.id, &claim.figure].into_iter().filter(|part| !part.is_empty());
        let head = head.map(|part| &**part).collect::<Vec<_>>().join("  ");
        text.push_str(&wrapped(&format!("{head} "), &claim.statement, width));
        for (number, judgement) in claim.judgements.iter().enumerate() {
            let decides = if number == 0 && claim.judgements.len() > 1 { ", decides" } else { "" };
            let verdict = judgement.verdict.words(&claim.paper).to_uppercase();
            text.push_str(&format!("     {verdict} ({}{decides})\n", judgement.conditions));
            for check in &judgement.checks {
                let mark = match check.holds {
                    Some(true) => "+",
                    Some(false) => "-",
                    None => "?",
                };
                text.push_str(&wrapped(&format!("       {mark} "), &check.measured, width));
            }
        }
        text.push('\n');
    }
    let paper = ledger.first().map_or("", |claim| &*claim.paper);
    let verdicts = Verdict::ALL.map(|verdict| {
        let count = ledger.iter().filter(|claim| claim.verdict == verdict).count();
        let words = match (verdict, paper.is_empty()) {
            (Verdict::Reproduced, true) => "hold",
            (Verdict::NotReproduced, true) => "do not hold",
            _ => verdict.words(paper),
        };
        format!("{count} {words}")
    });
    text.push_str(&format!("{} claims: {}\n", ledger.len(), verdicts.join(", ")));
    text
}

/// Wraps `text` after `head` into lines of at most `width` characters. Further lines are indented to the end
/// of the head.
fn wrapped(head: &str, text: &str, width: usize) -> String {
    let indent = head.chars().count();
    let mut lines = vec![head.to_owned()];
    let mut column = indent;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            lines.push(" ".repeat(indent));
            column = indent;
        }
        if let Some(line) = lines.last_mut() {
            if column > indent {
                line.push(' ');
                column += 1;
            }
            line.push_str(word);
        }
        column += length;
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(holds: Option<bool>) -> Check {
        Check { want: "x".into(), measured: "y".into(), holds }
    }

    #[test]
    fn one_failed_check_fails_the_claim_and_a_missing_one_leaves_it_open() {
        let verdict = |checks: &[Option<bool>]| judge("", checks.iter().map(|&c| check(c)).collect()).verdict;
        assert_eq!(verdict(&[Some(true), Some(true)]), Verdict::Reproduced);
        assert_eq!(verdict(&[Some(true), Some(false), None]), Verdict::NotReproduced);
        assert_eq!(verdict(&[Some(true), None]), Verdict::OutOfReach);
        assert_eq!(verdict(&[]), Verdict::OutOfReach);
    }

    #[test]
    fn above_needs_an_interval_without_zero_and_more_than_the_grain() {
        let order = |a: &[f64], b: &[f64]| Comparison::of(a, b, 1.0).unwrap().order;
        assert_eq!(order(&[12.0, 13.0, 12.5], &[10.0, 11.0, 10.5]), Order::Above);
        assert_eq!(order(&[10.0, 11.0, 10.5], &[12.0, 13.0, 12.5]), Order::Below);
        assert_eq!(order(&[12.0, 9.0, 13.0], &[10.0, 11.0, 10.5]), Order::Level, "zero lies in the interval");
        assert_eq!(order(&[10.5, 11.5, 11.0], &[10.0, 11.0, 10.5]), Order::Level, "below the grain");
    }

    #[test]
    fn a_relative_margin_refers_to_the_second_mean() {
        let comparison = Comparison::of(&[104.0, 104.0], &[100.0, 100.0], 0.0).unwrap();
        assert!(comparison.within(0.05) && !comparison.within(0.03));
        assert!(Comparison::of(&[0.0, 0.0], &[0.0, 0.0], 0.0).unwrap().within(0.01));
    }

    #[test]
    fn the_ledger_is_wrapped_for_a_terminal() {
        let judgements =
            vec![judge("rwnd 64 KiB", vec![check(Some(true)), check(Some(false))]), judge("1 MiB", vec![])];
        let claim = Claim::new(
            "KK0",
            "kim-koh",
            "Fig. 0",
            "eleven words that do not fit on a line of thirty",
            judgements,
        );
        let text = render(&[claim], 30);
        assert!(text.lines().take(3).all(|line| line.chars().count() <= 30), "{text}");
        assert!(text.contains("NOT REPRODUCED (rwnd 64 KiB, decides)\n       + y\n       - y\n"), "{text}");
        assert!(text.contains("OUT OF REACH (1 MiB)"), "{text}");
        assert!(text.ends_with("1 claims: 0 reproduced, 1 not reproduced, 0 out of reach\n"), "{text}");
        assert_eq!(wrapped("a: ", "bb cc dd", 8), "a: bb cc\n   dd\n");
    }

    #[test]
    fn the_ledger_has_its_documented_keys() {
        let claim = Claim::new("KK0", "kim-koh", "Fig. 0", "s", vec![judge("c", vec![check(Some(true))])]);
        let json = serde_json::to_value([claim]).unwrap();
        for (key, value) in [
            ("id", "KK0"),
            ("paper", "kim-koh"),
            ("statement", "s"),
            ("measured", "y"),
            ("verdict", "reproduced"),
        ] {
            assert_eq!(json[0][key], value);
        }
    }
}
