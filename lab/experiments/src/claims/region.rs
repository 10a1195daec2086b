//! Where in the box of what a paper leaves open a claim holds, and the parameter that decides.

use serde::{Deserialize, Serialize};

use super::Grade;

/// An axis and the value that best separates the points that have a grade from the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deciding {
    /// The axis.
    pub axis: String,
    /// Its name for readers.
    pub label: String,
    /// The grade: reproduced, or contradicted where the claim is reproduced at all points or at none.
    pub grade: Grade,
    /// The largest value of the lower side.
    pub split: String,
    /// Points of the lower side with the grade, and all of them.
    pub below: [usize; 2],
    /// The same of the upper side.
    pub above: [usize; 2],
    /// The impurity (Gini) that the split removes, from 0 to 1 of what there is.
    pub explains: f64,
    /// The share of 1000 permutations of the grades in which some axis separates as well: a p-value.
    pub chance: f64,
    #[serde(skip)]
    pub(crate) number: usize,
}

/// Where a claim has a grade, by two parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The grade: as that of [`Deciding`].
    pub grade: Grade,
    /// The two axes.
    pub axes: [String; 2],
    /// The parts of the box: two to four.
    pub parts: Vec<RulePart>,
    /// The share of the variation of the grades (Gini) that the parts explain.
    pub explains: f64,
    /// The same at points that the rule was not made from, each left out once. It can be negative.
    pub held_out: f64,
    #[serde(skip)]
    pub(crate) numbers: [usize; 2],
}

/// A part of a box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulePart {
    /// As `queue ≤ 22, path = same`.
    pub place: String,
    /// Points with the grade.
    pub those: usize,
    /// Points.
    pub of: usize,
}

/// A claim over its box, as `claims.json` has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boxed {
    /// Points that were judged.
    pub points: usize,
    /// Seeds at each.
    pub seeds: u64,
    /// Whether these are only some of the points and seeds.
    pub quick: bool,
    /// Points where the claim is reproduced.
    pub reproduced: usize,
    /// Points where it is contradicted.
    pub contradicted: usize,
    /// Share of the box where it is reproduced.
    pub share: f64,
    /// The 95 % interval of the share (Wilson).
    pub interval: [f64; 2],
    /// The parameter that decides.
    pub deciding: Option<Deciding>,
    /// The two parameters that decide together.
    #[serde(default)]
    pub rule: Option<Rule>,
}
