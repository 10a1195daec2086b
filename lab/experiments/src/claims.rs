//! Claims of a paper or a sweep, and their grades from our measurements.
//!
//! A claim's predicate consists of [`Check`]s, each with its requirement, its figures and its grade. Each
//! experiment has its predicates; this module has their shared functions ([`judge`], the comparisons, the
//! tests of effects) and the ledger.

mod grade;
mod power;
mod region;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use grade::{Effect, Grade, LEVEL, Share, Test};
pub use power::Power;
pub use region::{Boxed, Deciding, Rule, RulePart};

use crate::stats::{Mean, paired_difference};
use crate::words::counted;

/// One part of a claim's predicate, evaluated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The requirement, with its tolerance.
    pub want: String,
    /// The measurement.
    pub measured: String,
    /// The grade; [`Grade::OutOfReach`] without the measurements.
    pub grade: Grade,
    /// Of an unresolved check, whether the mean agrees with the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction_agrees: Option<bool>,
    /// The effect; `None` without measurements, or without a spread between runs.
    pub effect: Option<Effect>,
    /// The test behind the grade; `None` without measurements.
    #[serde(skip)]
    test: Option<Test>,
}

impl Check {
    /// Creates a check of measurements without randomness, such as an invariant.
    pub fn new(want: impl Into<String>, measured: impl Into<String>, holds: bool) -> Self {
        Self::tested(want, measured, Test::exact(holds), None)
    }

    /// Creates a check of an effect.
    pub fn tested(
        want: impl Into<String>,
        measured: impl Into<String>,
        test: Test,
        effect: Option<Effect>,
    ) -> Self {
        let (want, measured) = (want.into(), measured.into());
        let missing = Self { want, measured, grade: test.grade, direction_agrees: None, effect, test: None };
        missing.with(test)
    }

    /// Attaches the test to the check.
    fn with(self, test: Test) -> Self {
        let direction_agrees = (test.grade == Grade::Unresolved).then_some(test.agrees);
        Self { grade: test.grade, direction_agrees, test: Some(test), ..self }
    }

    /// Creates a check that needs all of several parts. It counts as one among the checks of a claim.
    #[must_use]
    pub fn all(parts: &[Self]) -> Self {
        let joined = |text: fn(&Self) -> &String| {
            parts.iter().map(|part| text(part).as_str()).collect::<Vec<_>>().join("; ")
        };
        let (want, measured) = (joined(|part| &part.want), joined(|part| &part.measured));
        let tests: Option<Vec<Test>> = parts.iter().map(|part| part.test).collect();
        let Some(tests) = tests else { return Self::missing(want, measured) };
        let worst = tests.iter().map(Test::rank).max();
        let deciding = parts.iter().zip(&tests).find(|(_, test)| Some(test.rank()) == worst);
        let effect = deciding.and_then(|(part, _)| part.effect.clone());
        Self::tested(want, measured, Test::all(&tests), effect)
    }

    /// Creates a check without measurements, which names the missing ones.
    pub fn missing(want: impl Into<String>, what: impl Into<String>) -> Self {
        let (want, measured) = (want.into(), what.into());
        Self { want, measured, grade: Grade::OutOfReach, direction_agrees: None, effect: None, test: None }
    }

    /// Returns true if there were measurements.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.test.is_some()
    }
}

/// The checks of a claim under one set of conditions, and the grade that follows from them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The conditions, such as `rwnd 65,536 B`.
    pub conditions: String,
    /// The figures of all checks as one text.
    pub measured: String,
    /// The grade.
    pub grade: Grade,
    /// Of an unresolved judgement, whether the mean of every unresolved check agrees with the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction_agrees: Option<bool>,
    /// The effect of the deciding check: the first one with the claim's grade. Among unresolved checks, the
    /// first whose mean disagrees with the claim decides.
    pub effect: Option<Effect>,
    /// The checks.
    pub checks: Vec<Check>,
}

/// Returns the judgement of the checks: the greatest of their grades, adjusted for their number (Holm).
/// Without checks, the claim is out of reach.
#[must_use]
pub fn judge(conditions: &str, mut checks: Vec<Check>) -> Judgement {
    let measured: Vec<usize> = (0..checks.len()).filter(|&check| checks[check].is_measured()).collect();
    let mut tests: Vec<Test> = measured.iter().filter_map(|&check| checks[check].test).collect();
    let changed = grade::holm(&mut tests);
    for ((&check, test), _) in measured.iter().zip(&tests).zip(&changed).filter(|(_, changed)| **changed) {
        let check = &mut checks[check];
        *check = check.clone().with(*test);
        check.measured.push_str(&format!(" (not significant among {} checks)", tests.len()));
    }
    let grade = checks.iter().map(|check| check.grade).max().unwrap_or(Grade::OutOfReach);
    let with_effect = || checks.iter().filter(|check| check.grade == grade && check.effect.is_some());
    let against = with_effect().find(|check| check.direction_agrees == Some(false));
    let effect = against.or_else(|| with_effect().next()).and_then(|check| check.effect.clone());
    let measured = checks.iter().map(|check| check.measured.as_str()).collect::<Vec<_>>().join("; ");
    let agree = checks.iter().all(|check| check.direction_agrees != Some(false));
    let direction_agrees = (grade == Grade::Unresolved).then_some(agree);
    Judgement { conditions: conditions.to_owned(), measured, grade, direction_agrees, effect, checks }
}

/// Returns the name of a grade, with the direction of an unresolved one.
pub(crate) fn graded(grade: Grade, direction_agrees: Option<bool>, paper: &str) -> String {
    let direction = if direction_agrees == Some(true) { "direction agrees, " } else { "" };
    format!("{direction}{}", grade.words(paper))
}

/// A grade under other conditions: with other seeds, or with the stacks of the paper's time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeated {
    /// The grade.
    pub grade: Grade,
    /// Text of the deciding effect; empty without one.
    pub effect: String,
    /// First and last seed.
    pub seeds: [u64; 2],
}

/// A claim in the ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Identifier of the claim, such as `KK1`.
    pub id: Cow<'static, str>,
    /// Identifier of the paper, such as `kim-koh`; empty for a sweep's own claim.
    pub paper: Cow<'static, str>,
    /// The paper's figure for the claim, such as `Fig. 5`; empty without one.
    pub figure: Cow<'static, str>,
    /// Short statement of the claim.
    pub statement: Cow<'static, str>,
    /// The figures under the primary conditions.
    pub measured: String,
    /// The grade under the primary conditions.
    pub grade: Grade,
    /// The deciding effect.
    pub effect: Option<Effect>,
    /// Judgements under each set of conditions, the primary one first.
    pub judgements: Vec<Judgement>,
    /// The share of the box of open parameters where the claim is reproduced; `None` without an atlas.
    #[serde(rename = "box")]
    pub region: Option<Boxed>,
    /// Grade with as many other seeds; `None` if not judged with them. If it differs, `grade` is unresolved.
    pub again: Option<Repeated>,
    /// Grade with the stacks of the paper's time; `None` if not judged with them.
    pub period: Option<Repeated>,
    /// Findings about the claim: why it is not reproduced, or on what its grade depends.
    pub findings: Vec<String>,
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
        let first = judgements.first();
        let measured = first.map_or_else(String::new, |first| first.measured.clone());
        let grade = first.map_or(Grade::OutOfReach, |first| first.grade);
        let effect = first.and_then(|first| first.effect.clone());
        let (id, statement) = (id.into(), statement.into());
        let (paper, figure) = (paper.into(), figure.into());
        Self {
            id,
            paper,
            figure,
            statement,
            measured,
            grade,
            effect,
            judgements,
            region: None,
            again: None,
            period: None,
            findings: Vec::new(),
        }
    }

    /// Returns true if the claim was judged under the primary conditions, without a missing value.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        let complete = |first: &Judgement| first.checks.iter().all(Check::is_measured);
        self.grade != Grade::OutOfReach || self.judgements.first().is_some_and(complete)
    }
}

/// A comparison of two treatments with the same seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Mean and interval of `a − b` per seed.
    pub difference: Mean,
    /// Mean of `b`.
    pub base: f64,
}

impl Comparison {
    /// Compares `a` with `b`, value by value. Returns `None` like [`paired_difference`].
    #[must_use]
    pub fn of(a: &[f64], b: &[f64]) -> Option<Self> {
        Some(Self { difference: paired_difference(a, b)?, base: Mean::of(b)?.mean })
    }

    /// Returns the mean difference relative to `b`'s mean; zero if both are zero.
    #[must_use]
    pub fn relative(&self) -> f64 {
        if self.difference.mean == 0.0 { 0.0 } else { self.difference.mean / self.base }
    }
}

/// Formats the ledger for a terminal of `width` columns. Each claim is a block with a line per grade, the
/// effect that decides it, and the figures below.
#[must_use]
pub fn render(ledger: &[Claim], width: usize) -> String {
    let mut text = String::new();
    for claim in ledger {
        let head = [&claim.id, &claim.figure].into_iter().filter(|part| !part.is_empty());
        let head = head.map(|part| &**part).collect::<Vec<_>>().join("  ");
        text.push_str(&wrapped(&format!("{head} "), &claim.statement, width));
        for (number, judgement) in claim.judgements.iter().enumerate() {
            let decides = if number == 0 && claim.judgements.len() > 1 { ", decides" } else { "" };
            let grade = graded(judgement.grade, judgement.direction_agrees, &claim.paper).to_uppercase();
            let effect =
                judgement.effect.as_ref().map_or(String::new(), |effect| format!(": {}", said(effect)));
            let line = format!("{grade} ({}{decides}){effect}", judgement.conditions);
            text.push_str(&wrapped("     ", &line, width));
            for check in &judgement.checks {
                text.push_str(&wrapped(&format!("       {} ", check.grade.mark()), &check.measured, width));
            }
        }
        text.push('\n');
    }
    let paper = ledger.first().map_or("", |claim| &*claim.paper);
    let of = |grade| ledger.iter().filter(|claim| claim.grade == grade).count();
    let grades = Grade::ALL.map(|grade| format!("{} {}", of(grade), grade.words(paper)));
    let claims = counted(ledger.len() as u64, "claim");
    text.push_str(&format!("{claims}: {}\n", grades.join(" · ")));
    text
}

/// Formats an effect with its number of seeds.
pub(crate) fn said(effect: &Effect) -> String {
    format!("{}, {}", effect.text, counted(effect.seeds as u64, "seed"))
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
        holds.map_or_else(|| Check::missing("x", "y"), |holds| Check::new("x", "y", holds))
    }

    fn effect(mean: f64, half_width: f64) -> Check {
        let mean = Mean { n: 10, mean, half_width };
        Check::tested("x", "y", Test::above(&mean, 0.0, 0.0), Some(Effect::new(&mean, "bit/s", "e")))
    }

    #[test]
    fn a_claim_has_the_greatest_grade_of_its_checks() {
        let grade = |checks: Vec<Check>| judge("", checks).grade;
        assert_eq!(grade(vec![check(Some(true)), effect(5.0, 4.0)]), Grade::Reproduced);
        assert_eq!(grade(vec![check(Some(true)), effect(5.0, 6.0)]), Grade::Unresolved);
        assert_eq!(grade(vec![effect(5.0, 6.0), check(None)]), Grade::OutOfReach);
        let direction = |checks: Vec<Check>| judge("", checks).direction_agrees;
        assert_eq!(direction(vec![effect(5.0, 6.0), check(Some(true))]), Some(true));
        assert_eq!(direction(vec![effect(5.0, 6.0), effect(-5.0, 6.0)]), Some(false));
        assert_eq!(direction(vec![effect(5.0, 1.0)]), None);
        assert_eq!(grade(vec![effect(-5.0, 1.0), check(None)]), Grade::Contradicted);
        assert_eq!(grade(vec![check(Some(true)), check(Some(false)), check(None)]), Grade::Contradicted);
        assert_eq!(grade(vec![check(Some(true)), check(None)]), Grade::OutOfReach);
        assert_eq!(grade(vec![]), Grade::OutOfReach);
    }

    #[test]
    fn the_contrary_must_be_significant_among_the_checks() {
        // One-sided p of some 0.02.
        let chance = || effect(-5.0, 4.8);
        assert_eq!(judge("", vec![chance()]).grade, Grade::Contradicted);
        let many = judge("", vec![effect(5.0, 1.0), chance(), effect(5.0, 1.0)]);
        assert_eq!(many.grade, Grade::Unresolved);
        assert_eq!(many.checks[1].measured, "y (not significant among 3 checks)");
        assert_eq!(judge("", vec![effect(5.0, 1.0), effect(-5.0, 1.0)]).grade, Grade::Contradicted);
    }

    #[test]
    fn the_effect_is_that_of_the_check_that_decides() {
        let judged = judge("", vec![effect(5.0, 4.0), effect(6.0, 7.0), effect(7.0, 9.0)]);
        let shown = judged.effect.unwrap();
        assert_eq!((shown.effect, shown.interval, shown.seeds), (6.0, [-1.0, 13.0], 10));
        let judged = judge("", vec![effect(6.0, 7.0), effect(-2.0, 9.0)]);
        assert_eq!(judged.effect.unwrap().effect, -2.0, "the mean that is elsewhere");
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
        let text = render(std::slice::from_ref(&claim), 30);
        assert!(text.lines().take(5).all(|line| line.chars().count() <= 30), "{text}");
        let unwrapped = render(&[claim], 90);
        let part =
            "     CONTRADICTED (rwnd 64 KiB, decides)\n       ✓ y\n       ✗ y\n     OUT OF REACH (1 MiB)\n";
        assert!(unwrapped.contains(part), "{unwrapped}");
        let end = "1 claim: 0 reproduced · 0 unresolved · 0 no effect · 1 contradicted · 0 out of reach\n";
        assert!(text.ends_with(end), "{text}");
        assert_eq!(wrapped("a: ", "bb cc dd", 8), "a: bb cc\n   dd\n");
    }

    #[test]
    fn the_ledger_has_its_documented_keys() {
        let checks = vec![check(Some(true)), effect(5.0, 6.0)];
        let claim = Claim::new("KK0", "kim-koh", "Fig. 0", "s", vec![judge("c", checks)]);
        assert!(
            render(std::slice::from_ref(&claim), 90)
                .contains("DIRECTION AGREES, UNRESOLVED (c): e, 10 seeds\n")
        );
        let json = serde_json::to_value([claim]).unwrap();
        for (key, value) in [
            ("id", "KK0"),
            ("paper", "kim-koh"),
            ("statement", "s"),
            ("measured", "y; y"),
            ("grade", "unresolved"),
        ] {
            assert_eq!(json[0][key], value);
        }
        let effect = serde_json::json!({
            "effect": 5.0, "interval": [-1.0, 11.0], "seeds": 10, "unit": "bit/s", "text": "e",
            "relevant": null, "power": null
        });
        assert_eq!(json[0]["effect"], effect);
        assert_eq!(json[0]["judgements"][0]["checks"][1]["grade"], "unresolved");
        assert_eq!(json[0]["judgements"][0]["checks"][0]["effect"], serde_json::Value::Null);
    }
}
