//! Where in the box of what a paper leaves open a claim holds, and the parameter that decides.

use serde::{Deserialize, Serialize};

use super::Grade;

/// An axis, and the value that best separates the points with a grade from the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deciding {
    /// The axis.
    pub axis: String,
    /// Name of the axis for readers.
    pub label: String,
    /// The grade: reproduced. If the claim is reproduced at all points or at none, contradicted.
    pub grade: Grade,
    /// The largest value of the lower side.
    pub split: String,
    /// Number of points of the lower side with the grade, and of all its points.
    pub below: [usize; 2],
    /// Number of points of the upper side with the grade, and of all its points.
    pub above: [usize; 2],
    /// Share of the impurity (Gini) that the split removes, from 0 to 1.
    pub explains: f64,
    /// Share of 1000 permutations of the grades in which some axis separates as well, a p-value.
    pub chance: f64,
    #[serde(skip)]
    pub(crate) number: usize,
}

/// The region where a claim has a grade, described by two parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The grade, as in [`Deciding`].
    pub grade: Grade,
    /// The two axes.
    pub axes: [String; 2],
    /// Parts of the box, two to four.
    pub parts: Vec<RulePart>,
    /// Share of the variation of the grades (Gini) that the parts explain.
    pub explains: f64,
    /// Share explained at points from which the rule was not made, each left out once. It can be negative.
    pub held_out: f64,
    #[serde(skip)]
    pub(crate) numbers: [usize; 2],
}

/// A part of a box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulePart {
    /// Description of the part, such as `queue ≤ 22, path = same`.
    pub place: String,
    /// Points with the grade.
    pub those: usize,
    /// Number of points in the part.
    pub of: usize,
}

/// Result of a claim over its box, as in `claims.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boxed {
    /// Number of judged points.
    pub points: usize,
    /// Number of seeds at each point.
    pub seeds: u64,
    /// True if only some of the points and seeds were run.
    pub quick: bool,
    /// Number of points where the claim is reproduced.
    pub reproduced: usize,
    /// Number of points where the claim is contradicted.
    pub contradicted: usize,
    /// Share of the box where the claim is reproduced.
    pub share: f64,
    /// The 95 % interval of the share (Wilson).
    pub interval: [f64; 2],
    /// The deciding parameter.
    pub deciding: Option<Deciding>,
    /// The two parameters that decide together.
    #[serde(default)]
    pub rule: Option<Rule>,
}
