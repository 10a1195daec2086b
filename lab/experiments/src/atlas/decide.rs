//! The parameter that decides where a claim holds.

use serde::Serialize;

use super::{Dimension, Place, Range};
use crate::claims::Grade;

/// An axis and the value that best separates the points where a claim holds from the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deciding {
    /// The axis.
    pub axis: String,
    /// The largest value of the lower side.
    pub split: String,
    /// Points of the lower side where the claim holds, and all of them.
    pub below: [usize; 2],
    /// The same of the upper side.
    pub above: [usize; 2],
    /// The impurity (Gini) that the split removes, from 0 to 1 of what there is.
    pub explains: f64,
    #[serde(skip)]
    pub(super) number: usize,
}

/// Returns the best split of each axis, the best first; empty if the claim holds everywhere or nowhere.
pub(super) fn deciding(axes: &[Dimension], at: &[Place]) -> Vec<Deciding> {
    let holds = |place: &&Place| place.grade == Grade::Reproduced;
    let count = |places: &[&Place]| [places.iter().copied().filter(holds).count(), places.len()];
    let impurity = |[those, of]: [usize; 2]| {
        let share = those as f64 / of as f64;
        share * (1.0 - share) * of as f64
    };
    let whole = impurity(count(&at.iter().collect::<Vec<_>>()));
    if at.is_empty() || whole <= 0.0 {
        return Vec::new();
    }
    let best = |(number, axis): (usize, &Dimension)| {
        let mut values: Vec<f64> = at.iter().map(|place| place.values[number]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let split = |value: &f64| {
            let (low, high): (Vec<&Place>, Vec<&Place>) =
                at.iter().partition(|place| place.values[number] <= *value);
            let (below, above) = (count(&low), count(&high));
            let explains = 1.0 - (impurity(below) + impurity(above)) / whole;
            let split = match &axis.range {
                Range::Numbers { .. } => format!("{value:.0}"),
                Range::Choice(names) => names[*value as usize].clone(),
            };
            Deciding { axis: axis.name.clone(), split, below, above, explains, number }
        };
        let splits = values.iter().take(values.len().saturating_sub(1)).map(split);
        splits.reduce(|best, next| if next.explains > best.explains { next } else { best })
    };
    let mut all: Vec<Deciding> = axes.iter().enumerate().filter_map(best).collect();
    all.sort_by(|a, b| b.explains.total_cmp(&a.explains));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_that_separates_the_points_decides() {
        let axis = |name: &str| Dimension {
            name: name.to_owned(),
            label: String::new(),
            set: Vec::new(),
            why: String::new(),
            range: Range::Numbers { from: 0.0, to: 10.0, log: false },
        };
        let axes = [axis("noise"), axis("queue")];
        let place = |n: u32| {
            let grade = if n < 4 { Grade::Reproduced } else { Grade::Contradicted };
            Place { set: Vec::new(), grade, values: vec![f64::from(n * 7 % 10), f64::from(n)] }
        };
        let at: Vec<Place> = (0..10).map(place).collect();
        let all = deciding(&axes, &at);
        assert_eq!((all[0].axis.as_str(), all[0].split.as_str()), ("queue", "3"));
        assert_eq!((all[0].below, all[0].above), ([4, 4], [0, 6]));
        assert!((all[0].explains - 1.0).abs() < 1e-12 && all[1].explains < 0.9);
        assert!(deciding(&axes, &at[..4]).is_empty(), "holds everywhere");
    }
}
