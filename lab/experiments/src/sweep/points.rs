//! Checks on the points of a curve, over all runs of the cells: events such as handovers, of which a run has
//! any number. The tests take the points for independent, also those of the same run.

use std::collections::BTreeSet;

use super::{Outcome, Selector, contains, text};
use crate::claims::{Check, Effect, Share, Test};
use crate::stats::{Mean, Ratio};

/// Returns the mean of points whose ratio to others has an interval, or the reason why it has none.
fn positive_mean(points: &[f64]) -> Result<Mean, &'static str> {
    match Mean::of(points) {
        None if points.is_empty() => Err("no point"),
        None => Err("a point is not finite"),
        Some(mean) if mean.n < 2 => Err("one point: want at least 2"),
        Some(mean) if mean.mean <= 0.0 => Err("the mean is not above zero"),
        Some(mean) => Ok(mean),
    }
}

impl Outcome<'_> {
    /// Returns the points of a curve in all runs of some cells, and the number of seeds that have any.
    /// `None` if a run is missing.
    fn pooled(&self, curve: usize, at: &Selector) -> Option<(Vec<f64>, BTreeSet<u64>)> {
        let (mut points, mut seeds) = (Vec::new(), BTreeSet::new());
        for values in self.sweep.grid.iter().filter(|values| contains(at, values)) {
            for (key, run) in self.of_cell(self.complete_cell(values).ok()?) {
                points.extend(run.curves[curve].iter().map(|(_, y)| *y));
                seeds.extend((!run.curves[curve].is_empty()).then_some(key.seed));
            }
        }
        Some((points, seeds))
    }

    /// Checks that most of the points are above a number. Wilson's interval takes each point for an
    /// independent trial: it is too narrow if the points of a run resemble each other.
    pub(super) fn most_points(&self, at: &Selector, (curve, above): (usize, f64)) -> Check {
        let column = &self.sweep.curves[curve];
        let limit = text::value(column.unit, above);
        let want = format!("most of {}: above {limit}", column.label);
        let Some((points, seeds)) = self.pooled(curve, at) else {
            return Check::missing(want, "not every run completed");
        };
        if points.is_empty() {
            return Check::missing(want, format!("no {}", column.label));
        }
        let those = points.iter().filter(|point| **point > above).count();
        let share = Share { those, of: points.len() };
        let effect = share.effect();
        let effect =
            Effect { text: format!("{}: {}", column.label, effect.text), seeds: seeds.len(), ..effect };
        let measured = format!("{}: above {limit} in {those} of {}", column.label, points.len());
        Check::tested(want, measured, Test::mostly(share), Some(effect))
    }

    /// Checks that the mean of the points in some cells is more than so many times that in others. Welch's
    /// interval takes the points for independent: it is too narrow if the points of a run resemble each
    /// other.
    pub(super) fn times(
        &self,
        at: &Selector,
        (curve, times): (usize, f64),
        [a, to]: [&Selector; 2],
    ) -> Check {
        let column = &self.sweep.curves[curve];
        let [own, other] = [a, to].map(|cells| self.sweep.selected(cells));
        let want = format!("{}: with {own} more than {times} times that with {other}", column.label);
        let of = |cells: &Selector| self.pooled(curve, &[&at[..], &cells[..]].concat());
        let (Some((own_points, mut seeds)), Some((points, more))) = (of(a), of(to)) else {
            return Check::missing(want, "not every run completed");
        };
        seeds.extend(more);
        let means = (positive_mean(&own_points), positive_mean(&points));
        let (mean, base) = match means {
            (Ok(mean), Ok(base)) => (mean, base),
            (Err(why), _) => return Check::missing(want, format!("{} with {own}: {why}", column.label)),
            (_, Err(why)) => return Check::missing(want, format!("{} with {other}: {why}", column.label)),
        };
        let Some(ratio) = Ratio::of(&own_points, &points) else {
            return Check::missing(want, format!("the means of {} have no ratio", column.label));
        };
        // The interval of a ratio is symmetric on the logarithmic scale.
        let beyond = Mean {
            n: mean.n.min(base.n),
            mean: libm::log(ratio.ratio / times),
            half_width: libm::log(ratio.high / ratio.ratio),
        };
        let show = |mean: &Mean| text::value(column.unit, mean.mean);
        let measured = format!("{}: {} with {own}, {} with {other}", column.label, show(&mean), show(&base));
        let effect = Effect {
            effect: ratio.ratio,
            interval: [ratio.low, ratio.high],
            seeds: seeds.len(),
            unit: "",
            text: format!("{:.1} times as much ({:.1} to {:.1})", ratio.ratio, ratio.low, ratio.high),
            relevant: None,
            power: None,
        };
        Check::tested(want, measured, Test::above(&beyond, 0.0, 0.0), Some(effect))
    }
}
