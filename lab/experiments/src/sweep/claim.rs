//! Judges the claims of a sweep: every pair of cells that a claim names is compared seed by seed.

use super::{Against, ClaimSpec, Outcome, Relation, Selector, Sweep, text};
use crate::claims::{Check, Claim, Comparison, Order, judge};

impl Sweep {
    /// Returns the claim as a sentence.
    pub(super) fn statement(&self, claim: &ClaimSpec) -> String {
        let column = &self.metrics[claim.metric];
        let a = if claim.a.is_empty() { String::new() } else { format!(" with {}", self.selected(&claim.a)) };
        let b = match &claim.against {
            Against::Cells(cells) => format!("with {}", self.selected(cells)),
            Against::Constant(value) => text::value(column.of.metric.unit, *value),
        };
        let margin = claim.margin * 100.0;
        match (claim.relation, claim.margin > 0.0) {
            (Relation::Below, false) => format!("{}{a} is below that {b}", column.label),
            (Relation::Above, false) => format!("{}{a} is above that {b}", column.label),
            (Relation::Below, true) => format!("{}{a} is below that {b} by {margin} % or more", column.label),
            (Relation::Above, true) => format!("{}{a} is above that {b} by {margin} % or more", column.label),
            (Relation::Within, _) => {
                format!("{}{a} differs from that {b} by at most {margin} %", column.label)
            }
        }
    }
}

impl Outcome<'_> {
    /// Judges every claim. A claim holds if it holds in every combination of the axes that it does not name.
    #[must_use]
    pub fn ledger(&self) -> Vec<Claim> {
        self.sweep.claims.iter().map(|claim| self.judged(claim)).collect()
    }

    fn judged(&self, claim: &ClaimSpec) -> Claim {
        let combinations = self.sweep.combinations(&claim.a, &[]);
        let checks = combinations.iter().map(|cell| self.check(claim, cell)).collect();
        let judgement = judge("every condition", checks);
        Claim::new(claim.id.clone(), "", "", claim.says.clone(), vec![judgement])
    }

    fn check(&self, claim: &ClaimSpec, cell: &Selector) -> Check {
        let sweep = self.sweep;
        let unit = sweep.metrics[claim.metric].of.metric.unit;
        let index = |cell: &Selector| sweep.cell(&cell.iter().map(|&(_, value)| value).collect::<Vec<_>>());
        let others: Selector =
            cell.iter().filter(|(axis, _)| claim.a.iter().all(|(own, _)| own != axis)).copied().collect();
        let place = if others.is_empty() { String::new() } else { format!("{}: ", sweep.selected(&others)) };
        let (pairs, against) = match &claim.against {
            Against::Cells(against) => {
                let mut other = cell.clone();
                for (axis, value) in &mut other {
                    let named = against.iter().find(|(of, _)| of == axis);
                    *value = named.map_or(*value, |&(_, value)| value);
                }
                (self.pairs(claim.metric, index(cell), index(&other)), sweep.selected(against))
            }
            Against::Constant(constant) => {
                let values = self.pairs(claim.metric, index(cell), index(cell));
                let pairs = values.into_iter().map(|(a, _)| (a, *constant)).collect();
                (pairs, text::value(unit, *constant))
            }
        };
        let want = want(claim, &against);
        let (all, wanted) = (pairs.len(), self.seeds.len());
        if all < wanted || all < 2 {
            let what = format!("{place}{all} of {wanted} seeds have both values: want all, and at least 2");
            return Check::missing(want, what);
        }
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let Some(comparison) = Comparison::of(&a, &b, 0.0) else {
            return Check::missing(want, format!("{place}a value is not finite"));
        };
        let measured = format!(
            "{place}{} for {}, difference {}",
            text::value(unit, comparison.base + comparison.difference.mean),
            text::value(unit, comparison.base),
            text::difference(unit, &comparison.difference)
        );
        Check::new(want, measured, holds(claim, &comparison))
    }
}

fn want(claim: &ClaimSpec, against: &str) -> String {
    let margin = claim.margin * 100.0;
    let by = if claim.margin > 0.0 { format!(" by {margin} % or more") } else { String::new() };
    match claim.relation {
        Relation::Below => format!("below {against}{by}, with the whole interval"),
        Relation::Above => format!("above {against}{by}, with the whole interval"),
        Relation::Within => format!("within {margin} % of {against}, with the whole interval"),
    }
}

/// Below and above need an interval of the difference without zero, and a mean difference of the margin;
/// within needs the whole interval inside the margin.
fn holds(claim: &ClaimSpec, comparison: &Comparison) -> bool {
    let relative = comparison.relative();
    match claim.relation {
        Relation::Below => comparison.order == Order::Below && -relative >= claim.margin,
        Relation::Above => comparison.order == Order::Above && relative >= claim.margin,
        Relation::Within => {
            let margin = claim.margin * comparison.base.abs();
            comparison.difference.low() >= -margin && comparison.difference.high() <= margin
        }
    }
}
