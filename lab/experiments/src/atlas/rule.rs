//! A rule of two parameters: a split of one axis, and on each side a split of another.

use super::{Dimension, Place, Range, decide};
use crate::claims::{Grade, Rule, RulePart};

/// Minimum share of the variation at held-out points for a rule to be mentioned.
const WORTH: f64 = 0.1;

/// The fewest points of a part.
const FEWEST: usize = 2;

impl Rule {
    /// Returns true if the rule explains variation at points from which it was not made.
    #[must_use]
    pub fn predicts(&self) -> bool {
        self.held_out >= WORTH
    }

    /// Returns the part with the largest share of points.
    #[must_use]
    pub fn best(&self) -> Option<&RulePart> {
        let share = |part: &RulePart| part.those as f64 / part.of as f64;
        self.parts.iter().max_by(|a, b| share(a).total_cmp(&share(b)))
    }

    /// Returns the rule in words.
    #[must_use]
    pub fn sentence(&self) -> String {
        let [a, b] = &self.axes;
        let held_out = self.held_out * 100.0;
        if !self.predicts() {
            return format!(
                "No two parameters predict it at points left out; the best are {a} and {b} ({held_out:.0} % of the variation there)."
            );
        }
        let of = self.grade.words("paper");
        let part = |part: &RulePart| format!("{} of {} where {}", part.those, part.of, part.place);
        let parts = self.parts.iter().map(part).collect::<Vec<_>>().join("; ");
        format!(
            "Two parameters together, {a} and {b}: {of} at {parts}. This explains {:.0} % of the variation, and {held_out:.0} % at \
             points left out.",
            self.explains * 100.0
        )
    }
}

/// A split of an axis: up to a value, and beyond. For a choice, one value and the others.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Split {
    axis: usize,
    value: f64,
}

/// A split, and on each of its sides a further split of the same other axis.
#[derive(Clone, Copy, Debug)]
struct Tree {
    first: Split,
    further: [Option<Split>; 2],
    /// The variation that remains.
    rest: f64,
}

/// A part of the points: its side of the first split, its side of the further split if there is one, and its
/// points.
type Leaf = ([Option<(Split, bool)>; 2], Vec<usize>);

/// The points, with their values on the axes and whether they have the grade.
struct Points<'p> {
    values: &'p [Vec<f64>],
    /// Axes whose values have no order.
    choices: &'p [bool],
    those: &'p [bool],
}

/// Returns the sum of the squared distances from the mean.
fn variation(those: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { those as f64 * (of - those) as f64 / of as f64 }
}

impl Points<'_> {
    fn count(&self, of: &[usize]) -> usize {
        of.iter().filter(|&&point| self.those[point]).count()
    }

    fn variation(&self, of: &[usize]) -> f64 {
        variation(self.count(of), of.len())
    }

    /// Returns true on the second side of a split.
    fn beyond(&self, point: usize, split: Split) -> bool {
        let value = self.values[point][split.axis];
        if self.choices[split.axis] { value == split.value } else { value > split.value }
    }

    /// Returns the two sides of a split.
    fn sides(&self, of: &[usize], split: Split) -> [Vec<usize>; 2] {
        let (second, first) = of.iter().partition(|&&point| self.beyond(point, split));
        [first, second]
    }

    /// Returns every split of an axis that leaves enough points on both sides, each with these points.
    fn splits<'s>(
        &'s self,
        of: &'s [usize],
        axis: usize,
    ) -> impl Iterator<Item = (Split, [Vec<usize>; 2])> + 's {
        let mut values: Vec<f64> = of.iter().map(|&point| self.values[point][axis]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let split = move |value: f64| {
            let split = Split { axis, value };
            let sides = self.sides(of, split);
            (sides.iter().all(|side| side.len() >= FEWEST)).then_some((split, sides))
        };
        values.into_iter().filter_map(split)
    }

    /// Returns the best split of an axis over some points, and the variation that remains. Returns `None` if
    /// no split reduces the variation.
    fn best(&self, of: &[usize], axis: usize) -> (Option<Split>, f64) {
        let mut best = (None, self.variation(of));
        // Points of one kind need no split.
        if best.1 == 0.0 {
            return best;
        }
        for (split, sides) in self.splits(of, axis) {
            let rest = sides.iter().map(|side| self.variation(side)).sum::<f64>();
            if rest < best.1 - 1e-9 {
                best = (Some(split), rest);
            }
        }
        best
    }

    /// Returns the best tree over some points; `None` if no two axes explain anything.
    fn tree(&self, of: &[usize]) -> Option<Tree> {
        let axes = self.choices.len();
        let mut best: Option<Tree> = None;
        for axis in 0..axes {
            for (first, sides) in self.splits(of, axis) {
                for second in (0..axes).filter(|second| *second != axis) {
                    let [(low, left), (high, right)] = sides.each_ref().map(|side| self.best(side, second));
                    let rest = left + right;
                    if low.or(high).is_some() && best.is_none_or(|best| rest < best.rest - 1e-9) {
                        best = Some(Tree { first, further: [low, high], rest });
                    }
                }
            }
        }
        best
    }

    /// Returns the parts of some points.
    fn leaves(&self, of: &[usize], tree: &Tree) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        for (number, side) in self.sides(of, tree.first).into_iter().enumerate() {
            let own = Some((tree.first, number == 1));
            match tree.further[number] {
                None => leaves.push(([own, None], side)),
                Some(split) => {
                    let [low, high] = self.sides(&side, split);
                    leaves.push(([own, Some((split, false))], low));
                    leaves.push(([own, Some((split, true))], high));
                }
            }
        }
        leaves
    }

    /// Returns the share of the variation that is explained at each point by the tree of all other points.
    fn held_out(&self) -> f64 {
        let (mut rest, mut whole) = (0.0, 0.0);
        for left_out in 0..self.values.len() {
            let others: Vec<usize> = (0..self.values.len()).filter(|point| *point != left_out).collect();
            let is = f64::from(u8::from(self.those[left_out]));
            let share = |of: &[usize]| self.count(of) as f64 / of.len() as f64;
            let found = self.tree(&others).and_then(|tree| {
                let place = self.leaves(&[left_out], &tree).iter().position(|(_, of)| !of.is_empty())?;
                let like = self.leaves(&others, &tree).swap_remove(place).1;
                (!like.is_empty()).then(|| share(&like))
            });
            rest += (is - found.unwrap_or_else(|| share(&others))).powi(2);
            whole += (is - share(&others)).powi(2);
        }
        1.0 - rest / whole
    }
}

/// Returns the best rule; `None` if all points have the same grade or no two axes explain anything.
pub(super) fn rule(axes: &[Dimension], at: &[Place]) -> Option<Rule> {
    rule_of(axes, at, &|place| Some(place.grade))
}

/// Same as [`rule`], for the greatest grade of some checks.
pub(super) fn rule_of_checks(axes: &[Dimension], at: &[Place], checks: &[usize]) -> Option<Rule> {
    rule_of(axes, at, &|place| place.grade_of(checks))
}

fn rule_of(axes: &[Dimension], at: &[Place], of: &dyn Fn(&Place) -> Option<Grade>) -> Option<Rule> {
    let grade = decide::separable(at.iter().filter_map(of))?;
    let those: Vec<bool> = at.iter().map(|place| of(place) == Some(grade)).collect();
    let value = |place: &Place| {
        axes.iter().zip(&place.values).map(|(axis, &value)| axis.range.value(value)).collect::<Vec<f64>>()
    };
    let values: Vec<Vec<f64>> = at.iter().map(value).collect();
    let choices: Vec<bool> = axes.iter().map(|axis| matches!(axis.range, Range::Choice(_))).collect();
    let points = Points { values: &values, choices: &choices, those: &those };
    let all: Vec<usize> = (0..at.len()).collect();
    let tree = points.tree(&all)?;
    let second = tree.further.iter().flatten().next()?;
    let numbers = [tree.first.axis, second.axis];
    let part = |(sides, of): Leaf| {
        let words = |(split, beyond): (Split, bool)| side(&axes[split.axis], split.value, beyond);
        let place = sides.into_iter().flatten().map(words).collect::<Vec<_>>().join(", ");
        RulePart { place, those: points.count(&of), of: of.len() }
    };
    Some(Rule {
        grade,
        axes: numbers.map(|number| axes[number].name.clone()),
        parts: points.leaves(&all, &tree).into_iter().map(part).collect(),
        explains: 1.0 - tree.rest / points.variation(&all),
        held_out: points.held_out(),
        numbers,
    })
}

/// Returns the text of one side of a split, such as `queue ≤ 22`.
fn side(axis: &Dimension, value: f64, beyond: bool) -> String {
    let name = &axis.name;
    match &axis.range {
        Range::Choice(names) => {
            let is = |index: &usize| (*index == value as usize) == beyond;
            let chosen = (0..names.len()).filter(is).map(|index| names[index].as_str());
            let quote = |name: &str| if name.contains(',') { format!("({name})") } else { name.to_owned() };
            format!("{name} = {}", chosen.map(quote).collect::<Vec<_>>().join(" or "))
        }
        Range::Numbers { .. } if beyond => format!("{name} > {value:.0}"),
        Range::Numbers { .. } => format!("{name} ≤ {value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atlas::halton;

    /// Returns points over three axes, of which the third is a choice.
    fn places(count: usize, grade: impl Fn(&[f64]) -> bool) -> (Vec<Dimension>, Vec<Place>) {
        let axis = |name: &str, range: Range| Dimension {
            name: name.to_owned(),
            label: String::new(),
            set: Vec::new(),
            why: String::new(),
            range,
        };
        let numbers = || Range::Numbers { from: 0.0, to: 100.0, log: false };
        let choice = Range::Choice(vec!["off".to_owned(), "on".to_owned()]);
        let axes = vec![axis("noise", numbers()), axis("queue", numbers()), axis("pipe", choice)];
        let place = |number: usize| {
            let values: Vec<f64> = axes
                .iter()
                .zip([2, 3, 5])
                .map(|(axis, base)| axis.range.at(halton(number, base)).0)
                .collect();
            let of: Vec<f64> =
                axes.iter().zip(&values).map(|(axis, &value)| axis.range.value(value)).collect();
            let grade = if grade(&of) { Grade::Reproduced } else { Grade::Contradicted };
            Place { set: Vec::new(), grade, checks: Vec::new(), values }
        };
        let at = (1..=count).map(place).collect();
        (axes, at)
    }

    #[test]
    fn what_two_parameters_decide_together_is_found_and_predicts() {
        let (axes, at) = places(40, |of| of[1] <= 40.0 && of[2] > 0.5);
        let rule = rule(&axes, &at).unwrap();
        let mut names = rule.axes.clone();
        names.sort();
        assert_eq!(names, ["pipe", "queue"]);
        assert!(rule.explains > 0.99 && rule.held_out > 0.6 && rule.predicts(), "{rule:?}");
        let pure = rule.parts.iter().find(|part| part.those == part.of).unwrap();
        assert!(pure.place.contains("pipe = on") && pure.place.contains("queue ≤ "), "{rule:?}");
        assert!(rule.sentence().contains(&pure.place), "{}", rule.sentence());
    }

    #[test]
    fn noise_is_fitted_but_does_not_predict() {
        // Marks without a pattern: a bit of the point's number, scrambled.
        let (axes, at) = places(40, |of| ((of[0] * 7919.0 + of[1] * 104_729.0) as u64 / 3).is_multiple_of(2));
        let rule = rule(&axes, &at).unwrap();
        assert!(rule.explains > 0.1, "{rule:?}");
        assert!(!rule.predicts(), "{rule:?}");
        assert!(rule.sentence().starts_with("No two parameters predict"), "{}", rule.sentence());
    }

    #[test]
    fn one_value_of_a_choice_is_told_from_the_others() {
        let (mut axes, mut at) = places(48, |_| true);
        axes[2].range = Range::Choice(["a", "b, c", "d"].map(str::to_owned).to_vec());
        for (number, place) in at.iter_mut().enumerate() {
            let index = (3.0 * halton(number + 1, 5)) as u32;
            place.values[2] = f64::from(index);
            let is = index == 1 && place.values[1] > 50.0;
            place.grade = if is { Grade::Reproduced } else { Grade::Contradicted };
        }
        let rule = rule(&axes, &at).unwrap();
        assert!(rule.explains > 0.99 && rule.held_out > 0.6, "{rule:?}");
        assert!(rule.parts.iter().any(|part| part.place.contains("pipe = (b, c)")), "{rule:?}");
        assert!(rule.parts.iter().any(|part| part.place.contains("pipe = a or d")), "{rule:?}");
    }

    #[test]
    fn equal_grades_have_no_rule() {
        let (axes, at) = places(12, |_| true);
        assert_eq!(rule(&axes, &at), None);
    }
}
