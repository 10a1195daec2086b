//! Judges the claims of a sweep.

use super::{
    Against, CheckSpec, ClaimSpec, Outcome, Quantity, Relation, Selector, Sweep, Wants, contains, moved, text,
};
use crate::claims::{Check, Claim, Comparison, Judgement, Order, judge};
use crate::stats::Mean;
use crate::words::signed;

impl Relation {
    /// Returns the relation in words, with the other side.
    fn words(self, other: &str, margin: f64) -> String {
        let percent = margin * 100.0;
        let by = if margin > 0.0 { format!(" by {percent} % or more") } else { String::new() };
        let share = if margin == 1.0 { String::new() } else { format!("{percent} % of ") };
        match self {
            Self::Below => format!("below {other}{by}, with the whole interval"),
            Self::Above => format!("above {other}{by}, with the whole interval"),
            Self::Within => format!("within {percent} % of {other}, with the whole interval"),
            Self::Near => format!("within {percent} % of {other} in the mean"),
            Self::Level => format!("no significant difference from {other}"),
            Self::AtLeast => format!("at least {share}{other} in the mean"),
            Self::AtMost => format!("at most {share}{other} in the mean"),
        }
    }

    /// Returns true if a comparison of `a` with the other side has the relation.
    fn holds(self, found: &Comparison, margin: f64) -> bool {
        let relative = found.relative();
        let mean = found.base + found.difference.mean;
        match self {
            Self::Below => found.order == Order::Below && -relative >= margin,
            Self::Above => found.order == Order::Above && relative >= margin,
            Self::Within => {
                let margin = margin * found.base.abs();
                found.difference.low() >= -margin && found.difference.high() <= margin
            }
            Self::Near => found.within(margin),
            Self::Level => found.order == Order::Level,
            Self::AtLeast => mean >= margin * found.base,
            Self::AtMost => mean <= margin * found.base,
        }
    }
}

impl Sweep {
    /// Returns the claim of a single check as a sentence.
    pub(super) fn statement(&self, checks: &[CheckSpec]) -> String {
        let Some(CheckSpec { what: Wants::Relation { of, a, relation, against, margin, .. }, .. }) =
            checks.first()
        else {
            return String::new();
        };
        let with = if a.is_empty() { String::new() } else { format!(" with {}", self.selected(a)) };
        let b = match against {
            Against::Cells(cells) => format!("with {}", self.selected(cells)),
            Against::Constant(value) => text::value(self.unit(*of), *value),
        };
        let label = self.label(*of);
        let percent = margin * 100.0;
        let by = if *margin > 0.0 { format!(" by {percent} % or more") } else { String::new() };
        match relation {
            Relation::Below => format!("{label}{with} is below that {b}{by}"),
            Relation::Above => format!("{label}{with} is above that {b}{by}"),
            Relation::Within => format!("{label}{with} differs from that {b} by at most {percent} %"),
            _ => format!("{label}{with} is {}", relation.words(&format!("that {b}"), *margin)),
        }
    }
}

impl Outcome<'_> {
    /// Judges every claim. A claim holds if it holds in every combination of the axes that it does not name.
    #[must_use]
    pub fn ledger(&self) -> Vec<Claim> {
        let paper = self.sweep.paper.as_ref().map_or(String::new(), |paper| paper.name.clone());
        let judged = |claim: &ClaimSpec| {
            let judgements = self.judgements(claim);
            Claim::new(claim.id.clone(), paper.clone(), claim.figure.clone(), claim.says.clone(), judgements)
        };
        self.sweep.claims.iter().map(judged).collect()
    }

    /// Judges a claim under each value of the axis that is judged separately: under the first always, under
    /// the others if they have runs.
    fn judgements(&self, claim: &ClaimSpec) -> Vec<Judgement> {
        let Some(axis) = self.sweep.judged else {
            return vec![judge("every condition", self.checks(claim, &Selector::new()))];
        };
        let has_runs = |value: usize| {
            let is_it = |cell: usize| self.sweep.cells[cell].values[axis] == value;
            value == 0 || self.runs.done.iter().any(|(key, _)| is_it(key.cell))
        };
        let values = (0..self.sweep.axes[axis].values.len()).filter(|&value| has_runs(value));
        let judged = |value: usize| {
            let conditions = self.sweep.axes[axis].values[value].label();
            judge(conditions, self.checks(claim, &vec![(axis, vec![value])]))
        };
        values.map(judged).collect()
    }

    fn checks(&self, claim: &ClaimSpec, conditions: &Selector) -> Vec<Check> {
        let several = claim.checks.len() > 1;
        let all = claim.checks.iter().flat_map(|check| {
            let free: Vec<usize> = match &check.what {
                Wants::Relation { a, .. } => a.iter().map(|(axis, _)| *axis).collect(),
                Wants::Linear { .. } => Vec::new(),
            };
            let at: Selector = check.at.iter().chain(conditions).cloned().collect();
            let combinations = self.sweep.combinations(&at, &free);
            combinations.into_iter().map(move |at| self.check(check, &at, several)).collect::<Vec<_>>()
        });
        all.collect()
    }

    /// Returns the conditions of a check that its claim does not fix, to precede its text.
    pub(super) fn place(&self, check: &CheckSpec, at: &Selector) -> String {
        let fixed = |axis: usize| {
            let single = check.at.iter().any(|(of, values)| *of == axis && values.len() == 1);
            single || self.sweep.judged == Some(axis) || self.sweep.axes[axis].values.len() == 1
        };
        let others: Selector = at.iter().filter(|(axis, _)| !fixed(*axis)).cloned().collect();
        if others.is_empty() { String::new() } else { format!("{}: ", self.sweep.selected(&others)) }
    }

    fn check(&self, check: &CheckSpec, at: &Selector, several: bool) -> Check {
        let (of, a, relation, than, against, margin) = match &check.what {
            Wants::Relation { of, a, relation, than, against, margin } => {
                (*of, a, *relation, *than, against, *margin)
            }
            Wants::Linear { curve, from, share } => return self.linear(check, at, (*curve, *from, *share)),
        };
        let sweep = self.sweep;
        let place = self.place(check, at);
        let (own, other) = match against {
            Against::Cells(other) => (sweep.selected(a), sweep.selected(other)),
            Against::Constant(value) => (sweep.selected(a), text::value(sweep.unit(of), *value)),
        };
        let label = if several { format!("{}: ", sweep.label(of)) } else { String::new() };
        let whose = if several && !own.is_empty() { format!("{own} ") } else { String::new() };
        let want = format!("{label}{whose}{}", relation.words(&other, margin));
        // Every combination of the axes that `a` names.
        let mut all: Selector = at.iter().chain(a).cloned().collect();
        all.sort_unstable();
        let chosen = sweep.grid.iter().filter(|values| contains(&all, values));
        let mut found = Vec::new();
        for values in chosen {
            match self.compared(values, (of, than), against) {
                Ok(comparison) => found.push((values, comparison)),
                Err(why) => return Check::missing(want, format!("{place}{why}")),
            }
        }
        let holds = !found.is_empty() && found.iter().all(|(_, found)| relation.holds(found, margin));
        let one = |(values, found): &(&Vec<usize>, Comparison)| {
            let named: Selector = a.iter().map(|(axis, _)| (*axis, vec![values[*axis]])).collect();
            let named = if several || a.iter().any(|(_, values)| values.len() > 1) {
                sweep.selected(&named)
            } else {
                String::new()
            };
            self.found(&named, (of, against), found)
        };
        let size = |(_, found): &&(&Vec<usize>, Comparison)| found.relative().abs();
        let largest = found.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
        let text = match largest {
            // Of several that are near, the farthest says enough.
            Some(largest) if relation == Relation::Near && found.len() > 1 => {
                format!("farthest {}", one(largest))
            }
            _ => found.iter().map(one).collect::<Vec<_>>().join("; "),
        };
        Check::new(want, format!("{place}{label}{text}"), holds)
    }

    /// Compares a quantity in a cell with the other side, seed by seed.
    fn compared(
        &self,
        values: &[usize],
        (of, than): (Quantity, Quantity),
        against: &Against,
    ) -> Result<Comparison, String> {
        let sweep = self.sweep;
        let wanted = sweep.seeds.len();
        let by_seed = |quantity: Quantity, values: &[usize]| {
            sweep.cell(values).map_or_else(Vec::new, |cell| self.by_seed(quantity, cell))
        };
        let a = by_seed(of, values);
        let pairs: Vec<(f64, f64)> = match against {
            Against::Constant(constant) => a.into_iter().map(|(_, a)| (a, *constant)).collect(),
            Against::Cells(other) => {
                let b = by_seed(than, &moved(values, other));
                let other = |seed: u64| b.iter().find(|(of, _)| *of == seed).map(|&(_, value)| value);
                a.into_iter().filter_map(|(seed, a)| Some((a, other(seed)?))).collect()
            }
        };
        let all = pairs.len();
        if all < wanted || all < 2 {
            let both = if matches!(against, Against::Cells(_)) { "both values" } else { "a value" };
            return Err(format!("{all} of {wanted} seeds have {both}: want all, and at least 2"));
        }
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let grain = sweep.grain(of);
        Comparison::of(&a, &b, grain).ok_or_else(|| "a value is not finite".to_owned())
    }

    /// Formats a comparison, as `512.1 ms for 900.2 ms, difference −388.1 ± 20.3 ms (−43 %)`.
    fn found(&self, named: &str, (of, against): (Quantity, &Against), found: &Comparison) -> String {
        let unit = self.sweep.unit(of);
        let named = if named.is_empty() { String::new() } else { format!("{named} ") };
        let mean = found.base + found.difference.mean;
        if matches!(against, Against::Constant(_)) {
            return format!("{named}{}", text::mean(unit, &Mean { mean, ..found.difference }));
        }
        let relative = match found.base {
            0.0 => String::new(),
            _ => format!(" ({} %)", signed(found.relative() * 100.0)),
        };
        format!(
            "{named}{} for {}, difference {}{relative}",
            text::value(unit, mean),
            text::value(unit, found.base),
            text::difference(unit, &found.difference)
        )
    }
}
