//! Grades of claims, and the tests of effects that lead to them.
//!
//! Every test reads the two-sided 95 % interval, so that a significant effect is one whose interval excludes
//! zero: each side at [`LEVEL`]. Equivalence is two one-sided tests at that level (TOST): the interval lies
//! inside the margin. An interval that contains zero is never taken for the absence of an effect.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::Power;
use crate::stats::Mean;

/// Level of a one-sided test. The two-sided interval has 95 %.
pub const LEVEL: f64 = 0.025;

/// The 97.5 % point of the standard normal distribution.
const Z: f64 = 1.959_964;

/// The conclusion from the runs about a claim. Variants are in order of precedence: a claim has the greatest
/// grade of its checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// The effect agrees with the claim, and its interval excludes the contrary.
    Reproduced,
    /// The interval contains values that agree with the claim and others that do not, because there are too
    /// few runs. The direction of the mean is not part of the grade, since other seeds would change it.
    Unresolved,
    /// The claim cannot be judged: values are missing, or the paper gives too little information.
    OutOfReach,
    /// The claim states an effect, and the interval lies inside the margin of equivalence around zero.
    NoEffect,
    /// The interval excludes the claim.
    Contradicted,
}

impl Grade {
    /// All grades, best first.
    pub const ALL: [Self; 5] =
        [Self::Reproduced, Self::Unresolved, Self::NoEffect, Self::Contradicted, Self::OutOfReach];

    /// Returns the text for readers, for a claim of a paper or for a sweep's own.
    #[must_use]
    pub fn words(self, paper: &str) -> &'static str {
        match (self, paper.is_empty()) {
            (Self::Reproduced, false) => "reproduced",
            (Self::Reproduced, true) => "holds",
            (Self::Unresolved, _) => "unresolved",
            (Self::NoEffect, _) => "no effect",
            (Self::Contradicted, _) => "contradicted",
            (Self::OutOfReach, false) => "out of reach",
            (Self::OutOfReach, true) => "not judged",
        }
    }

    /// Returns the symbol of a check with this grade.
    #[must_use]
    pub fn mark(self) -> char {
        match self {
            Self::Reproduced => '✓',
            Self::Unresolved => '~',
            Self::NoEffect => '=',
            Self::Contradicted => '✗',
            Self::OutOfReach => '–',
        }
    }

    /// Returns the class of an element of a page.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Unresolved => "unresolved",
            Self::NoEffect => "no-effect",
            Self::Contradicted => "contradicted",
            Self::OutOfReach => "out-of-reach",
        }
    }
}

/// A measured effect: the difference of two treatments, or a value compared with a number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The effect, in `unit`.
    pub effect: f64,
    /// Ends of the 95 % interval.
    pub interval: [f64; 2],
    /// Number of runs, or of pairs of runs, each with its own seed.
    pub seeds: usize,
    /// Unit of the effect, such as `bit/s`; empty for shares and ratios.
    pub unit: &'static str,
    /// Effect and interval for readers, such as `+77 ± 39 kbps`.
    pub text: String,
    /// The smallest relevant effect, in `unit`; `None` if the claim states none, and for shares of runs.
    pub relevant: Option<f64>,
    /// Power of the test for the smallest relevant effect; see [`Power`].
    pub power: Option<f64>,
}

impl Effect {
    /// Creates an effect from a mean with its interval.
    pub fn new(mean: &Mean, unit: &'static str, text: impl Into<String>) -> Self {
        let interval = [mean.low(), mean.high()];
        Self {
            effect: mean.mean,
            interval,
            seeds: mean.n,
            unit,
            text: text.into(),
            relevant: None,
            power: None,
        }
    }

    /// Returns the effect with the power of its test.
    #[must_use]
    pub fn powered(self, power: Option<Power>) -> Self {
        Self { relevant: power.map(|found| found.relevant), power: power.map(|found| found.power), ..self }
    }
}

/// A share of runs with its 95 % interval (Wilson), which is valid for few runs and for shares near zero and
/// one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Number of runs with the property.
    pub those: usize,
    /// Number of all runs, at least one.
    pub of: usize,
}

impl Share {
    fn share(self) -> f64 {
        self.those as f64 / self.of as f64
    }

    /// Returns the ends of the interval.
    #[must_use]
    pub fn interval(self) -> [f64; 2] {
        let (share, n) = (self.share(), self.of as f64);
        let scale = 1.0 + Z * Z / n;
        let centre = (share + Z * Z / (2.0 * n)) / scale;
        let width = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt() / scale;
        // At the ends the formula is exact, its rounding is not.
        let low = if self.those == 0 { 0.0 } else { centre - width };
        let high = if self.those == self.of { 1.0 } else { centre + width };
        [low, high]
    }

    /// Returns the share as an effect.
    #[must_use]
    pub fn effect(self) -> Effect {
        let interval = self.interval();
        let [low, high] = interval.map(|end| end * 100.0);
        let text = format!("{} of {} ({low:.0} to {high:.0} %)", self.those, self.of);
        Effect { effect: self.share(), interval, seeds: self.of, unit: "", text, relevant: None, power: None }
    }

    /// Returns the one-sided p-value of a share this far from `value`, on the share's side of it.
    fn p(self, value: f64) -> f64 {
        let error = (value * (1.0 - value) / self.of as f64).sqrt();
        let z = (self.share() - value).abs() / error;
        Normal::standard().sf(z)
    }
}

/// The result of testing an effect against a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The grade of the test alone.
    pub grade: Grade,
    /// True if the mean agrees with the claim.
    pub agrees: bool,
    /// For a significant effect against the claim, its p-value. The grade applies if that is not small enough
    /// among several tests.
    against: Option<(f64, Grade)>,
}

impl Test {
    /// Returns the result of a check without randomness, such as an invariant.
    #[must_use]
    pub fn exact(holds: bool) -> Self {
        let grade = if holds { Grade::Reproduced } else { Grade::Contradicted };
        Self { grade, agrees: holds, against: (!holds).then_some((0.0, grade)) }
    }

    /// Returns the result without a significant effect. `agrees` is true if the mean agrees with the claim.
    #[must_use]
    pub fn unresolved(agrees: bool) -> Self {
        Self { grade: Grade::Unresolved, agrees, against: None }
    }

    /// Returns the order in which tests decide: by their grade. Among unresolved tests, those whose mean
    /// disagrees with the claim come first.
    pub(crate) fn rank(&self) -> (Grade, bool) {
        (self.grade, self.grade == Grade::Unresolved && !self.agrees)
    }

    fn refuted(grade: Grade, p: f64, agrees: bool) -> Self {
        Self { grade, agrees, against: Some((p, Grade::Unresolved)) }
    }

    const REPRODUCED: Self = Self { grade: Grade::Reproduced, agrees: true, against: None };

    /// Tests the claim that an effect is above zero, with a mean of at least `least`. `grain` is the smallest
    /// effect that counts: one within ±`grain` is none.
    #[must_use]
    pub fn above(effect: &Mean, least: f64, grain: f64) -> Self {
        let (low, high, mean) = (effect.low(), effect.high(), effect.mean);
        let agrees = mean > 0.0;
        if low > 0.0 && mean >= grain && mean >= least {
            Self::REPRODUCED
        } else if -grain <= low && high <= grain {
            let p = effect.p_above(-grain).max(effect.p_below(grain));
            Self::refuted(Grade::NoEffect, p, agrees)
        } else if least > 0.0 && high < least {
            Self::refuted(Grade::Contradicted, effect.p_below(least), agrees)
        } else if high < 0.0 && mean <= -grain {
            Self::refuted(Grade::Contradicted, effect.p_below(0.0), agrees)
        } else {
            Self::unresolved(agrees)
        }
    }

    /// Tests the claim that an effect is not below −`margin`, nor below −`grain`, the smallest effect that
    /// counts.
    #[must_use]
    pub fn not_below(effect: &Mean, margin: f64, grain: f64) -> Self {
        if effect.low() >= -margin.max(grain) {
            Self::REPRODUCED
        } else if effect.high() < -margin && effect.mean <= -grain {
            Self::refuted(Grade::Contradicted, effect.p_below(-margin), false)
        } else {
            Self::unresolved(effect.mean >= -margin)
        }
    }

    /// Tests the claim that there is no effect beyond ±`margin` or ±`grain`, the smallest effect that counts
    /// (TOST).
    #[must_use]
    pub fn equivalent(effect: &Mean, margin: f64, grain: f64) -> Self {
        let most = margin.max(grain);
        if -most <= effect.low() && effect.high() <= most {
            Self::REPRODUCED
        } else if (effect.low() > margin || effect.high() < -margin) && effect.mean.abs() >= grain {
            let p = effect.p_above(margin).min(effect.p_below(-margin));
            Self::refuted(Grade::Contradicted, p, false)
        } else {
            Self::unresolved(effect.mean.abs() <= most)
        }
    }

    /// Tests the claim that most runs have a property.
    #[must_use]
    pub fn mostly(share: Share) -> Self {
        let [low, high] = share.interval();
        match 2 * share.those > share.of {
            true if low > 0.5 => Self::REPRODUCED,
            false if high < 0.5 => Self::refuted(Grade::Contradicted, share.p(0.5), false),
            agrees => Self::unresolved(agrees),
        }
    }

    /// Tests the claim that runs have a property at a rate of at most `most`. With `most` of zero, one run
    /// refutes it.
    #[must_use]
    pub fn rarely(share: Share, most: f64) -> Self {
        if most <= 0.0 {
            return Self::exact(share.those == 0);
        }
        let [low, high] = share.interval();
        match share.those as f64 <= most * share.of as f64 {
            true if high <= most => Self::REPRODUCED,
            false if low > most => Self::refuted(Grade::Contradicted, share.p(most), false),
            agrees => Self::unresolved(agrees),
        }
    }

    /// Returns the result of a claim that needs all of several tests: the greatest grade, and a p-value for
    /// the number of tests (Bonferroni). Without tests, the claim is out of reach.
    #[must_use]
    pub fn all(tests: &[Self]) -> Self {
        let Some(grade) = tests.iter().map(|test| test.grade).max() else {
            return Self { grade: Grade::OutOfReach, agrees: false, against: None };
        };
        let worst = tests.iter().filter(|test| test.grade == grade).filter_map(|test| test.against);
        let p = worst.map(|(p, _)| p).reduce(f64::min).map(|p| (p * tests.len() as f64).min(1.0));
        let without = |test: &Self| test.against.map_or(test.grade, |(_, otherwise)| otherwise);
        let otherwise = tests.iter().map(without).max().unwrap_or(grade);
        let agrees = tests.iter().all(|test| test.agrees);
        Self { grade, agrees, against: p.map(|p| (p, otherwise)) }
    }

    /// Keeps only a significant contradiction of a claim, and drops any other objection.
    #[must_use]
    pub(crate) fn unless_contradicted(self) -> Self {
        match self {
            Self { grade: Grade::Contradicted, against, .. } => Self {
                grade: Grade::Contradicted,
                agrees: true,
                against: against.map(|(p, _)| (p, Grade::Reproduced)),
            },
            _ => Self::REPRODUCED,
        }
    }
}

/// Adjusts tests of one claim for their number (Holm). Returns the tests that changed.
///
/// A claim fails if one of its checks does, so that each further check is a further chance to fail. Of `all`
/// tests, an effect against the claim must therefore be significant among them. Otherwise its test gets its
/// other grade. No adjustment is due to a claim that holds, for which every check must hold.
pub(super) fn holm(tests: &mut [Test]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..tests.len()).filter(|&test| tests[test].against.is_some()).collect();
    let p = |test: &Test| test.against.map_or(1.0, |(p, _)| p);
    order.sort_by(|&a, &b| p(&tests[a]).total_cmp(&p(&tests[b])));
    let mut changed = vec![false; tests.len()];
    let all = tests.len();
    let mut stands = true;
    for (rank, test) in order.into_iter().enumerate() {
        if let Some((p, otherwise)) = tests[test].against {
            stands &= p <= LEVEL / (all - rank) as f64;
            if !stands {
                tests[test] = Test { grade: otherwise, against: None, ..tests[test] };
                changed[test] = true;
            }
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(mean: f64, half_width: f64) -> Mean {
        Mean { n: 10, mean, half_width }
    }

    #[test]
    fn an_effect_in_the_papers_direction_is_never_contradicted() {
        let grade = |at: f64, width: f64| Test::above(&mean(at, width), 0.0, 1.0).grade;
        assert_eq!(grade(5.0, 4.0), Grade::Reproduced);
        assert_eq!(grade(5.0, 6.0), Grade::Unresolved);
        assert_eq!(grade(-5.0, 6.0), Grade::Unresolved, "the paper's direction is not excluded");
        assert_eq!(grade(-5.0, 4.0), Grade::Contradicted);
        assert_eq!(grade(0.2, 0.5), Grade::NoEffect, "inside the margin");
        assert_eq!(grade(-0.5, 0.2), Grade::NoEffect, "significant, but less than counts");
        assert_eq!(grade(0.2, 50.0), Grade::Unresolved, "no evidence is no evidence of no effect");
        assert_eq!(Test::above(&mean(0.0, 0.0), 0.0, 0.0).grade, Grade::NoEffect, "all runs equal");
    }

    /// Two sets of seeds of KK4 gave 17 and 15 of 30 runs: the grades differed, but the evidence did not.
    #[test]
    fn a_sign_inside_the_interval_is_no_grade() {
        let tests = [17, 15].map(|those| Test::mostly(Share { those, of: 30 }));
        assert_eq!(tests.map(|test| test.grade), [Grade::Unresolved; 2]);
        assert_eq!(tests.map(|test| test.agrees), [true, false]);
        let both = Test::all(&tests);
        assert_eq!((both.grade, both.agrees), (Grade::Unresolved, false));
    }

    #[test]
    fn an_effect_smaller_than_claimed_is_contradicted_only_if_the_interval_says_so() {
        let grade = |at: f64, width: f64| Test::above(&mean(at, width), 10.0, 0.0).grade;
        assert_eq!(grade(12.0, 4.0), Grade::Reproduced);
        assert_eq!(grade(8.0, 4.0), Grade::Unresolved);
        assert_eq!(grade(5.0, 4.0), Grade::Contradicted);
    }

    #[test]
    fn equivalence_needs_an_interval_inside_the_margin() {
        let grade = |at: f64, width: f64| Test::equivalent(&mean(at, width), 5.0, 0.0).grade;
        assert_eq!(grade(1.0, 3.0), Grade::Reproduced);
        assert_eq!(grade(1.0, 50.0), Grade::Unresolved, "absence of evidence");
        assert_eq!(grade(6.0, 3.0), Grade::Unresolved);
        assert_eq!(grade(-9.0, 3.0), Grade::Contradicted);
        let level = |at: f64, width: f64| Test::equivalent(&mean(at, width), 0.0, 1.0).grade;
        assert_eq!(level(0.1, 0.5), Grade::Reproduced);
        assert_eq!(level(0.1, 3.0), Grade::Unresolved);
        assert_eq!(level(4.0, 3.0), Grade::Contradicted);
        let behind = |at: f64, width: f64| Test::not_below(&mean(at, width), 0.0, 1.0).grade;
        assert_eq!(behind(3.0, 1.0), Grade::Reproduced);
        assert_eq!(behind(3.0, 9.0), Grade::Unresolved);
        assert_eq!(behind(-3.0, 9.0), Grade::Unresolved);
        assert_eq!(behind(-3.0, 1.0), Grade::Contradicted);
    }

    #[test]
    fn shares_of_few_runs_are_unresolved() {
        let mostly = |those, of| Test::mostly(Share { those, of }).grade;
        assert_eq!(mostly(10, 10), Grade::Reproduced);
        assert_eq!(mostly(6, 10), Grade::Unresolved);
        assert_eq!(mostly(4, 10), Grade::Unresolved);
        assert_eq!(mostly(2, 20), Grade::Contradicted);
        let rarely = |those, of, most| Test::rarely(Share { those, of }, most).grade;
        assert_eq!(rarely(0, 20, 0.1), Grade::Unresolved, "a rate of 16 % is not excluded");
        assert_eq!(rarely(0, 35, 0.1), Grade::Reproduced);
        assert_eq!(rarely(3, 20, 0.1), Grade::Unresolved);
        assert_eq!(rarely(12, 20, 0.1), Grade::Contradicted);
        assert_eq!(rarely(0, 3, 0.0), Grade::Reproduced);
        assert_eq!(rarely(1, 100, 0.0), Grade::Contradicted, "one run refutes never");
        // Newcombe 1998, table I: 0 of 20 and 1 of 29.
        let ends = |those, of| Share { those, of }.interval().map(|end| (end * 1e4).round() / 1e4);
        assert_eq!(ends(0, 20), [0.0, 0.1611]);
        assert_eq!(ends(1, 29), [0.0061, 0.1718]);
    }

    #[test]
    fn holm_spares_a_claim_of_many_checks_from_one_chance_effect() {
        let chance = Test::refuted(Grade::Contradicted, 0.02, false);
        let mut alone = [chance];
        assert_eq!(holm(&mut alone), [false]);
        let mut many = [chance, Test::REPRODUCED, Test::REPRODUCED];
        assert_eq!(holm(&mut many), [true, false, false]);
        assert_eq!(many[0].grade, Grade::Unresolved);
        // Step down: 0.001 stands at 0.025 / 3, then 0.012 at 0.025 / 2, then 0.02 at 0.025.
        let p = |p| Test::refuted(Grade::Contradicted, p, false);
        assert_eq!(holm(&mut [p(0.02), p(0.001), p(0.012)]), [false; 3]);
        assert_eq!(holm(&mut [p(0.02), p(0.001), p(0.013)]), [true, false, true]);
        assert_eq!(holm(&mut [Test::exact(false), Test::REPRODUCED]), [false; 2]);
    }

    #[test]
    fn all_of_several_tests_take_the_greatest_grade_and_count_them() {
        let against = Test::refuted(Grade::Contradicted, 0.01, false);
        let both = Test::all(&[against, Test::REPRODUCED]);
        assert_eq!((both.grade, both.against), (Grade::Contradicted, Some((0.02, Grade::Unresolved))));
        assert_eq!(Test::all(&[Test::unresolved(true), Test::REPRODUCED]).grade, Grade::Unresolved);
        assert_eq!(Test::all(&[]).grade, Grade::OutOfReach);
        assert_eq!(Test::all(&[against.unless_contradicted()]).against, Some((0.01, Grade::Reproduced)));
        assert_eq!(Test::all(&[Test::unresolved(false).unless_contradicted()]).grade, Grade::Reproduced);
    }
}
