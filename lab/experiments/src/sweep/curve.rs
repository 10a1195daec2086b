//! Mean curves over the runs of a cell, and the checks on them.

use super::{CheckSpec, Key, Outcome, Selector, moved, text};
use crate::claims::{Check, Comparison, Effect, Grade, Test};
use crate::stats::Mean;

/// The points of a run's curve.
type Points = [(f64, f64)];

impl Outcome<'_> {
    /// Returns the mean curve of a cell: the points that every run has.
    pub(super) fn curve(&self, curve: usize, cell: usize) -> Vec<(f64, Mean)> {
        let runs: Vec<&Vec<(f64, f64)>> =
            self.of_cell(cell).map(|(_, values)| &values.curves[curve]).collect();
        let length = runs.iter().map(|run| run.len()).min().unwrap_or(0);
        let at = |place: usize| {
            let values: Vec<f64> = runs.iter().map(|run| run[place].1).collect();
            Some((runs.first()?[place].0, Mean::of(&values)?))
        };
        (0..length).filter_map(at).collect()
    }

    /// Returns the difference of two cells' curves, seed by seed, at the points that every run has.
    pub(super) fn curve_difference(&self, curve: usize, cell: usize, base: usize) -> Vec<(f64, Mean)> {
        let pairs = self.curve_pairs(curve, cell, base);
        let length = pairs.iter().map(|(a, b)| a.len().min(b.len())).min().unwrap_or(0);
        let at = |place: usize| {
            let differences: Vec<f64> = pairs.iter().map(|(a, b)| a[place].1 - b[place].1).collect();
            Some((pairs.first()?.0[place].0, Mean::of(&differences)?))
        };
        (0..length).filter_map(at).collect()
    }

    /// Returns the curves of the seeds that two cells have.
    fn curve_pairs(&self, curve: usize, cell: usize, base: usize) -> Vec<(&Points, &Points)> {
        let other = |key: &Key| {
            let mut others = self.of_cell(base);
            others.find(|(other, _)| other.seed == key.seed).map(|(_, values)| &*values.curves[curve])
        };
        self.of_cell(cell).filter_map(|(key, own)| Some((&*own.curves[curve], other(key)?))).collect()
    }

    /// Checks that a curve is nowhere below that of another cell, at points `every` apart starting at `from`.
    pub(super) fn not_behind(
        &self,
        check: &CheckSpec,
        at: &Selector,
        (curve, from, every): (usize, f64, f64),
        [a, behind]: [&Selector; 2],
    ) -> Check {
        let sweep = self.sweep;
        let column = &sweep.curves[curve];
        let place = self.place(check, at);
        let (own, other) = (sweep.selected(a), sweep.selected(behind));
        let want = format!(
            "from {from} on {} of {own} nowhere below that of {other}, with the whole interval",
            column.label
        );
        let values = self.chosen(at, a, &Selector::new());
        let cell = |values: &Vec<usize>| {
            let wanted = sweep.cell(values)?;
            let pairs = self.curve_pairs(curve, wanted, sweep.cell(&moved(values, behind))?);
            (pairs.len() == sweep.seeds_of(wanted).len()).then_some(pairs)
        };
        let Some(pairs) = values.first().and_then(cell) else {
            return Check::missing(want, format!("{place}not every run completed"));
        };
        let length = pairs.iter().map(|(a, b)| a.len().min(b.len())).min().unwrap_or(0);
        let (mut tests, mut below, mut least) = (Vec::new(), Vec::new(), None::<Mean>);
        let mut next = from;
        for point in 0..length {
            let x = pairs[0].0[point].0;
            if x < next {
                continue;
            }
            next = x + every;
            let (own, other): (Vec<f64>, Vec<f64>) =
                pairs.iter().map(|(a, b)| (a[point].1, b[point].1)).unzip();
            let Some(found) = Comparison::of(&own, &other) else {
                return Check::missing(want, format!("{place}{} is not finite at {x}", column.label));
            };
            let test = Test::not_below(&found.difference, 0.0, column.grain);
            tests.push(test);
            if test.grade == Grade::Contradicted {
                below.push(x);
            }
            let is_less = least.is_none_or(|least| found.difference.low() < least.low());
            least = if is_less { Some(found.difference) } else { least };
        }
        let all = tests.len();
        let measured = match below.first() {
            _ if all == 0 => return Check::missing(want, format!("{place}no complete {}", column.label)),
            None => format!("{place}significantly below at none of {all} points"),
            Some(first) => {
                format!("{place}significantly below at {} of {all} points, first at {first}", below.len())
            }
        };
        let effect = least.map(|least| {
            let text = format!("{} at the least", text::difference(column.unit, &least));
            Effect::new(&least, column.unit.unit.symbol(), text)
        });
        Check::tested(want, measured, Test::all(&tests), effect)
    }

    /// Checks that a mean curve rises from `from` on, and that a straight line explains a share of its
    /// variance. A curve is complete if every run has all of its points.
    pub(super) fn linear(
        &self,
        check: &CheckSpec,
        at: &Selector,
        (curve, from, share): (usize, f64, f64),
    ) -> Check {
        let sweep = self.sweep;
        let column = &sweep.curves[curve];
        let place = self.place(check, at);
        let want = format!(
            "{place}the mean {} rises from {from} on, a line explaining at least {:.0} % of it",
            column.label,
            share * 100.0
        );
        let values: Vec<usize> = at.iter().map(|(_, values)| values[0]).collect();
        let found = sweep.cell(&values).and_then(|cell| {
            let points = self.curve(curve, cell);
            let longest = self.of_cell(cell).map(|(_, values)| values.curves[curve].len()).max();
            let whole = longest == Some(points.len());
            let later = points.into_iter().filter(|(x, _)| *x >= from);
            line(&later.map(|(x, mean)| (x, mean.mean)).collect::<Vec<_>>()).filter(|_| whole)
        });
        match found {
            None => Check::missing(want, format!("{place}no complete {}", column.label)),
            Some((slope, explained)) => {
                let scale = column.unit.scale(slope.abs());
                let measured = format!(
                    "{place}{} {:.1} {} per step, a line explains {:.0} %",
                    column.label,
                    slope * scale.factor,
                    scale.symbol,
                    explained * 100.0
                );
                Check::new(want, measured.replace('-', "−"), slope > 0.0 && explained >= share)
            }
        }
    }

    /// Checks that a mean curve has its minimum between two x, below its first value.
    pub(super) fn lowest(
        &self,
        check: &CheckSpec,
        at: &Selector,
        (curve, from, to): (usize, f64, f64),
    ) -> Check {
        let sweep = self.sweep;
        let column = &sweep.curves[curve];
        let place = self.place(check, at);
        let want = format!(
            "{place}the mean {} is least between {from} and {to}, and falls until there",
            column.label
        );
        let values: Vec<usize> = at.iter().map(|(_, values)| values[0]).collect();
        let points = sweep.cell(&values).map_or_else(Vec::new, |cell| self.curve(curve, cell));
        let low =
            points.iter().copied().reduce(|low, point| if point.1.mean < low.1.mean { point } else { low });
        let (Some(first), Some(low)) = (points.first(), low) else {
            return Check::missing(want, format!("{place}no complete {}", column.label));
        };
        let show = |mean: f64| text::value(column.unit, mean);
        let measured = format!(
            "{place}{} {} at {:.1}, least {} at {:.1}",
            column.label,
            show(first.1.mean),
            first.0,
            show(low.1.mean),
            low.0
        );
        Check::new(want, measured, (from..=to).contains(&low.0) && low.1.mean < first.1.mean)
    }
}

/// Averages the points of each interval of this many seconds. The x of an interval is the mean of its
/// points'.
pub(super) fn averaged(points: Vec<(f64, f64)>, every: f64) -> Vec<(f64, f64)> {
    let Some(&(first, _)) = points.first().filter(|_| every > 0.0) else { return points };
    let part = |point: &(f64, f64)| ((point.0 - first) / every + 1e-6).floor();
    let mean = |part: &[(f64, f64)]| {
        let n = part.len() as f64;
        (part.iter().map(|(x, _)| x).sum::<f64>() / n, part.iter().map(|(_, y)| y).sum::<f64>() / n)
    };
    points.chunk_by(|a, b| part(a) == part(b)).map(mean).collect()
}

/// Returns the slope of the least-squares line through `(x, y)`, and the share of the variance that it
/// explains.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| f(p.0 - x, p.1 - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    // A flat line has no variance to explain.
    let explained = if yy > 0.0 { xy * xy / (xx * yy) } else { 0.0 };
    (xx > 0.0).then(|| (xy / xx, explained))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_curve_are_averaged() {
        let points: Vec<(f64, f64)> = (0..10).map(|n| (30.0 + 0.1 * f64::from(n), f64::from(n))).collect();
        let halves = averaged(points.clone(), 0.5);
        assert_eq!(halves.iter().map(|(_, y)| *y).collect::<Vec<_>>(), [2.0, 7.0]);
        assert!((halves[0].0 - 30.2).abs() < 1e-9 && (halves[1].0 - 30.7).abs() < 1e-9);
        assert_eq!(averaged(points.clone(), 0.0), points);
    }

    #[test]
    fn the_line_is_fitted_with_its_explained_variance() {
        let straight: Vec<(f64, f64)> = (0..10).map(|n| (f64::from(n), 3.0 + 2.0 * f64::from(n))).collect();
        let (slope, explained) = line(&straight).unwrap();
        assert!((slope - 2.0).abs() < 1e-9 && (explained - 1.0).abs() < 1e-9);
        assert_eq!(line(&[(0.0, 1.0), (1.0, 1.0)]), Some((0.0, 0.0)));
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(line(&[]), None);
    }
}
