//! The parameter that decides where a claim holds.

use msctp_sim::random::component_seed;

use super::{Dimension, Place, Range};
use crate::claims::{Deciding, Grade};

/// p-value below which a split counts as more than chance.
pub(super) const CHANCE: f64 = 0.05;

/// Number of permutations behind [`Deciding::chance`], including the points' own order.
const PERMUTATIONS: u64 = 1000;

/// Returns the best split of each axis, the best first. A split separates the points where the claim is
/// reproduced from the others; if these are not both present, those where it is contradicted. Returns nothing
/// if all points are alike.
pub(super) fn deciding(axes: &[Dimension], at: &[Place]) -> Vec<Deciding> {
    let Some(grade) = separable(at.iter().map(|place| place.grade)) else { return Vec::new() };
    let those: Vec<bool> = at.iter().map(|place| place.grade == grade).collect();
    let columns: Vec<Column> =
        axes.iter().enumerate().map(|(number, axis)| Column::new(axis, number, at)).collect();
    let decides = |(number, axis): (usize, &Dimension)| {
        let Split { value, below, above, explains } = columns[number].best(&those)?;
        let split = match &axis.range {
            Range::Numbers { .. } => format!("{value:.0}"),
            Range::Choice(names) => names[value as usize].clone(),
        };
        let (axis, label) = (axis.name.clone(), axis.label.clone());
        Some(Deciding { axis, label, grade, split, below, above, explains, chance: 1.0, number })
    };
    let mut all: Vec<Deciding> = axes.iter().enumerate().filter_map(decides).collect();
    all.sort_by(|a, b| b.explains.total_cmp(&a.explains));
    let Some(best) = all.first().map(|best| best.explains) else { return all };
    let as_good = |permutation: &u64| {
        let shuffled = shuffled(&those, *permutation);
        // Rounding must not make an equal split a worse one.
        columns.iter().filter_map(|column| column.best(&shuffled)).any(|split| split.explains >= best - 1e-9)
    };
    let chance = (1 + (1..PERMUTATIONS).filter(as_good).count()) as f64 / PERMUTATIONS as f64;
    all.iter_mut().for_each(|split| split.chance = chance);
    all
}

/// Returns the grade that only some points have: reproduced, or else contradicted.
pub(super) fn separable(grades: impl Iterator<Item = Grade>) -> Option<Grade> {
    let all: Vec<Grade> = grades.collect();
    let varies = |grade: &Grade| {
        let those = all.iter().filter(|other| *other == grade).count();
        (1..all.len()).contains(&those)
    };
    [Grade::Reproduced, Grade::Contradicted].into_iter().find(varies)
}

/// Permutes the points' marks. Every run gives the same permutations.
fn shuffled<T: Copy>(those: &[T], permutation: u64) -> Vec<T> {
    let key = |point: usize| component_seed(permutation, &format!("atlas/{point}"));
    let mut order: Vec<_> = those.iter().enumerate().map(|(point, &is)| (key(point), is)).collect();
    order.sort_by_key(|&(key, _)| key);
    order.into_iter().map(|(_, is)| is).collect()
}

/// The axis on which an effect depends most.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Driver {
    /// Name of the axis for readers.
    pub(super) label: String,
    /// Share of the effect's variance that the two sides of a split of the axis explain.
    pub(super) explains: f64,
}

/// Returns the axis that explains most of an effect's variance. Returns `None` if permuted effects are often
/// explained as well, or if a point has no effect.
pub(super) fn driver(axes: &[Dimension], at: &[Place], check: usize) -> Option<Driver> {
    let effects: Vec<f64> = at.iter().map(|place| place.checks.get(check)?.effect).collect::<Option<_>>()?;
    let best = explained(axes, at, &effects)?;
    let as_good = |permutation: &u64| {
        let other = explained(axes, at, &shuffled(&effects, *permutation));
        other.is_some_and(|other| other.explains >= best.explains - 1e-9)
    };
    let chance = (1 + (1..PERMUTATIONS).filter(as_good).count()) as f64 / PERMUTATIONS as f64;
    (chance <= CHANCE).then_some(best)
}

/// Returns the axis with the split that explains most of the variance; `None` if all effects are equal.
fn explained(axes: &[Dimension], at: &[Place], effects: &[f64]) -> Option<Driver> {
    let square = |of: &[f64]| {
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        of.iter().map(|effect| (effect - mean).powi(2)).sum::<f64>()
    };
    let whole = square(effects);
    if effects.is_empty() || whole <= 0.0 {
        return None;
    }
    let splits = axes.iter().enumerate().flat_map(|(number, axis)| {
        let value = move |place: &Place| axis.range.value(place.values[number]);
        let mut values: Vec<f64> = at.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.pop();
        values.into_iter().map(move |split| {
            let points = || at.iter().zip(effects).map(|(place, &effect)| (value(place) <= split, effect));
            let side = |lower| points().filter(|point| point.0 == lower).map(|point| point.1).collect();
            let sides: [Vec<f64>; 2] = [true, false].map(side);
            let explains = 1.0 - sides.iter().map(|side| square(side)).sum::<f64>() / whole;
            Driver { label: axis.label.clone(), explains }
        })
    });
    splits.max_by(|a, b| a.explains.total_cmp(&b.explains))
}

/// A split of an axis: the points with the grade and all points on its two sides.
#[derive(Clone, Copy)]
struct Split {
    value: f64,
    below: [usize; 2],
    above: [usize; 2],
    /// The share of the impurity that it removes.
    explains: f64,
}

/// An axis's values: each point's, and those at which a split has points on both sides.
struct Column {
    of: Vec<f64>,
    splits: Vec<f64>,
}

impl Column {
    fn new(axis: &Dimension, number: usize, at: &[Place]) -> Self {
        let of: Vec<f64> = at.iter().map(|place| axis.range.value(place.values[number])).collect();
        let mut splits = of.clone();
        splits.sort_by(f64::total_cmp);
        splits.dedup();
        splits.pop();
        Self { of, splits }
    }

    /// Returns the best split of the points with these marks.
    fn best(&self, those: &[bool]) -> Option<Split> {
        let impurity = |[those, of]: [usize; 2]| {
            let share = those as f64 / of as f64;
            share * (1.0 - share) * of as f64
        };
        let all = [those.iter().filter(|is| **is).count(), those.len()];
        let whole = impurity(all);
        let split = |&value: &f64| {
            let mut below = [0; 2];
            for (place, is) in self.of.iter().zip(those) {
                let low = *place <= value;
                below[0] += usize::from(low && *is);
                below[1] += usize::from(low);
            }
            let above = [all[0] - below[0], all[1] - below[1]];
            let explains = 1.0 - (impurity(below) + impurity(above)) / whole;
            Split { value, below, above, explains }
        };
        let splits = self.splits.iter().map(split);
        splits.reduce(|best, next| if next.explains > best.explains { next } else { best })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str) -> Dimension {
        Dimension {
            name: name.to_owned(),
            label: String::new(),
            set: Vec::new(),
            why: String::new(),
            range: Range::Numbers { from: 0.0, to: 10.0, log: false },
        }
    }

    fn places(grade: impl Fn(u32) -> Grade) -> Vec<Place> {
        let place = |n: u32| {
            let values = vec![f64::from(n * 7 % 10), f64::from(n)];
            Place { set: Vec::new(), grade: grade(n), checks: Vec::new(), values }
        };
        (0..10).map(place).collect()
    }

    #[test]
    fn the_axis_that_separates_the_points_decides() {
        let axes = [axis("noise"), axis("queue")];
        let at = places(|n| if n < 4 { Grade::Reproduced } else { Grade::Contradicted });
        let all = deciding(&axes, &at);
        assert_eq!((all[0].axis.as_str(), all[0].split.as_str()), ("queue", "3"));
        assert_eq!((all[0].below, all[0].above, all[0].grade), ([4, 4], [0, 6], Grade::Reproduced));
        assert!((all[0].explains - 1.0).abs() < 1e-12 && all[1].explains < 0.9);
        assert!(deciding(&axes, &at[..4]).is_empty(), "holds everywhere");
    }

    #[test]
    fn an_effect_that_one_axis_moves_is_told_from_one_that_none_does() {
        let axes = [axis("noise"), axis("queue")];
        let with = |effect: fn(u32) -> f64| {
            let mut at = places(|_| Grade::Contradicted);
            for (number, place) in at.iter_mut().enumerate() {
                let effect = Some(effect(number as u32));
                place.checks = vec![crate::atlas::Part { grade: Grade::Contradicted, effect }];
            }
            at
        };
        // Contradicted everywhere: the grades decide nothing, the effect does.
        let moved = with(|n| if n < 5 { -3.0 } else { -1.0 - f64::from(n) / 100.0 });
        assert!(deciding(&axes, &moved).is_empty());
        assert!(driver(&axes, &moved, 0).unwrap().explains > 0.95);
        assert_eq!(driver(&axes, &with(|n| f64::from(n * 3 % 7)), 0), None, "chance");
        assert_eq!(driver(&axes, &with(|_| 1.0), 0), None, "no variance");
        assert_eq!(driver(&axes, &moved, 1), None, "no such check");
    }

    #[test]
    fn where_a_claim_never_holds_the_contradictions_are_separated() {
        let at = places(|n| if n < 5 { Grade::Unresolved } else { Grade::Contradicted });
        let all = deciding(&[axis("noise"), axis("queue")], &at);
        assert_eq!((all[0].axis.as_str(), all[0].grade), ("queue", Grade::Contradicted));
        assert_eq!((all[0].below, all[0].above), ([0, 5], [5, 5]));
    }

    #[test]
    fn a_split_of_few_points_is_told_from_chance() {
        let axes = [axis("noise"), axis("queue")];
        let half = places(|n| if n < 5 { Grade::Reproduced } else { Grade::Contradicted });
        // Of 252 orders of five and five, two are sorted along an axis, and there are two axes.
        let clear = deciding(&axes, &half)[0].chance;
        assert!((0.005..0.04).contains(&clear), "{clear}");
        let few = deciding(&axes, &half[3..7])[0].chance;
        assert!(few > 0.3, "two and two: {few}");
    }
}
