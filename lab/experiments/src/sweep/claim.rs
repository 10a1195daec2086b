//! Judges the claims of a sweep.

use super::{
    Against, CheckSpec, ClaimSpec, Outcome, Quantity, Relation, Selector, Sweep, Wants, contains, moved, text,
};
use crate::claims::{Check, Claim, Comparison, Judgement, Order, judge};
use crate::stats::Mean;
use crate::words::{counted, signed};

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
            Self::NotBelow => format!("not significantly below {other}"),
            Self::NotAbove => format!("not significantly above {other}"),
            Self::MostlyAbove => format!("above {other} in most runs"),
            Self::RarelyAbove if margin == 0.0 => format!("above {other} in no run"),
            Self::RarelyAbove => format!("above {other} in at most {percent} % of the runs"),
            Self::Agrees => format!("not above zero where that of {other} is below, nor the other way round"),
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
            Self::NotBelow => found.order != Order::Below,
            Self::NotAbove => found.order != Order::Above,
            // Decided by the number of runs, see `Outcome::counted`, and by two orders, see
            // `Outcome::agrees`.
            Self::MostlyAbove | Self::RarelyAbove | Self::Agrees => false,
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

/// The two sides of a relation.
#[derive(Clone, Copy)]
struct Sides<'s> {
    of: Quantity,
    than: Quantity,
    against: &'s Against,
    over: &'s Selector,
}

impl Sweep {
    /// Returns the combinations with each of the values of `over`.
    fn spread(&self, values: &[usize], over: &Selector) -> Vec<Vec<usize>> {
        let same = |other: &Vec<usize>| {
            let is_over = |axis: usize| over.iter().any(|(of, _)| *of == axis);
            (0..values.len()).all(|axis| is_over(axis) || other[axis] == values[axis])
        };
        self.grid.iter().filter(|other| contains(over, other) && same(other)).cloned().collect()
    }

    /// Returns the first and the last value of each axis of a choice, in words.
    fn range(&self, over: &Selector) -> String {
        let word = |(axis, values): &(usize, Vec<usize>)| match values[..] {
            [first, .., last] => format!("{} to {}", self.word(*axis, first), self.word(*axis, last)),
            _ => self.selected(&Selector::from([(*axis, values.clone())])),
        };
        over.iter().map(word).collect::<Vec<_>>().join(", ")
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
        let Some(axis) = self.sweep.judged.filter(|_| claim.conditions.is_empty()) else {
            let conditions = if claim.conditions.is_empty() { "every condition" } else { &claim.conditions };
            return vec![judge(conditions, self.checks(claim, &Selector::new()))];
        };
        let has_runs = |value: usize| {
            let is_it = |cell: usize| self.sweep.cells[cell].values[axis] == value;
            value == 0 || self.runs.done.iter().any(|(key, _)| is_it(key.cell))
        };
        let values = (0..self.sweep.axes[axis].values.len()).filter(|&value| has_runs(value));
        let judged = |value: usize| {
            let conditions = self.sweep.axes[axis].values[value].label();
            let checks = self.checks(claim, &vec![(axis, vec![value])]);
            // A claim about cells that another value excludes is judged without it.
            (value == 0 || !checks.is_empty()).then(|| judge(conditions, checks))
        };
        values.filter_map(judged).collect()
    }

    fn checks(&self, claim: &ClaimSpec, conditions: &Selector) -> Vec<Check> {
        let several = claim.checks.len() > 1;
        let all = claim.checks.iter().flat_map(|check| {
            let own: Selector = match &check.what {
                Wants::Relation { a, over, .. } => a.iter().chain(over).cloned().collect(),
                Wants::Best { a, .. } | Wants::Nearer { a, .. } | Wants::NotBehind { a, .. } => a.clone(),
                Wants::Linear { .. } | Wants::Lowest { .. } => Selector::new(),
            };
            let free: Vec<usize> = own.iter().map(|(axis, _)| *axis).collect();
            let at = check.at.iter().chain(conditions).filter(|(axis, _)| !free.contains(axis)).cloned();
            let at: Selector = at.chain(own).collect();
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
        match &check.what {
            Wants::Linear { curve, from, share } => self.linear(check, at, (*curve, *from, *share)),
            Wants::NotBehind { curve, a, behind, from, every } => {
                self.not_behind(check, at, (*curve, *from, *every), [a, behind])
            }
            Wants::Lowest { curve, from, to } => self.lowest(check, at, (*curve, *from, *to)),
            Wants::Best { of, a, axis } => self.best(check, at, (*of, a, *axis)),
            Wants::Nearer { of, a, to, than_to } => self.nearer(check, at, (*of, a, [to, than_to])),
            Wants::Relation { of, a, relation, than, against, margin, over } => {
                let sides = Sides { of: *of, than: *than, against, over };
                self.relation(check, at, (a, *relation, *margin, &sides), several)
            }
        }
    }

    /// Checks a relation of each cell that `a` chooses with the other side.
    fn relation(
        &self,
        check: &CheckSpec,
        at: &Selector,
        (a, relation, margin, sides): (&Selector, Relation, f64, &Sides<'_>),
        several: bool,
    ) -> Check {
        let sweep = self.sweep;
        let mut place = self.place(check, at);
        if !sides.over.is_empty() {
            place.push_str(&format!("mean over {}: ", self.sweep.range(sides.over)));
        }
        let (own, other) = match sides.against {
            Against::Cells(other) => (sweep.selected(a), sweep.selected(other)),
            Against::Constant(value) => (sweep.selected(a), text::value(sweep.unit(sides.of), *value)),
        };
        let label = if several { format!("{}: ", sweep.label(sides.of)) } else { String::new() };
        let whose = if several && !own.is_empty() { format!("{own} ") } else { String::new() };
        let none = if sides.over.is_empty() { "" } else { ", and nowhere the contrary" };
        let want = format!("{label}{whose}{}{none}", relation.words(&other, margin));
        let chosen = self.chosen(at, a, sides.over);
        match (relation, sides.against) {
            (Relation::MostlyAbove | Relation::RarelyAbove, Against::Constant(limit)) => {
                let share = (relation == Relation::RarelyAbove).then_some(margin);
                return self.counted(want, &format!("{place}{label}"), &chosen, (sides.of, *limit), share);
            }
            (Relation::MostlyAbove | Relation::RarelyAbove, Against::Cells(_)) => {
                return Check::missing(want, "want a number");
            }
            (Relation::Agrees, Against::Cells(other)) => {
                return self.agrees(want, &place, &chosen, (sides.of, other));
            }
            _ => {}
        }
        let mut found = Vec::new();
        for values in chosen {
            match self.compared(&values, sides) {
                Ok(comparison) => found.push((values, comparison)),
                Err(why) => return Check::missing(want, format!("{place}{why}")),
            }
        }
        let contrary: Vec<String> =
            found.iter().flat_map(|(values, _)| self.contrary(values, relation, sides)).collect();
        let all = found.iter().all(|(_, found)| relation.holds(found, margin));
        let holds = !found.is_empty() && all && contrary.is_empty();
        let one = |(values, found): &(Vec<usize>, Comparison)| {
            let named: Selector = a.iter().map(|(axis, _)| (*axis, vec![values[*axis]])).collect();
            let named = if several || a.iter().any(|(_, values)| values.len() > 1) {
                sweep.selected(&named)
            } else {
                String::new()
            };
            self.found(&named, sides.of, sides.against, found)
        };
        let size = |(_, found): &&(Vec<usize>, Comparison)| found.relative().abs();
        let largest = found.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
        let text = match largest {
            // Of several that are near, the farthest says enough.
            Some(largest) if relation == Relation::Near && found.len() > 1 => {
                format!("farthest {}", one(largest))
            }
            _ => found.iter().map(one).collect::<Vec<_>>().join("; "),
        };
        let contrary = contrary.iter().map(|text| format!(", contrary at {text}")).collect::<String>();
        Check::new(want, format!("{place}{label}{text}{contrary}"), holds)
    }

    /// Returns the combinations that a check chooses with `a`, each with the first value of `over`.
    pub(super) fn chosen(&self, at: &Selector, a: &Selector, over: &Selector) -> Vec<Vec<usize>> {
        let mut all: Selector = at.iter().chain(a).chain(over).cloned().collect();
        all.sort_unstable();
        let chosen = self.sweep.grid.iter().filter(|values| contains(&all, values));
        chosen.filter(|values| moved(values, over) == **values).cloned().collect()
    }

    /// Returns the values of `over` at which a relation is significantly reversed.
    fn contrary(&self, values: &[usize], relation: Relation, sides: &Sides<'_>) -> Vec<String> {
        let reversed = match relation {
            Relation::Above => Order::Below,
            Relation::Below => Order::Above,
            _ => return Vec::new(),
        };
        let none = Selector::new();
        let alone = Sides { over: &none, ..*sides };
        let each = self.sweep.spread(values, sides.over).into_iter().filter(|_| !sides.over.is_empty());
        each.filter_map(|values| {
            let found = self.compared(&values, &alone).ok().filter(|found| found.order == reversed)?;
            let named: Selector = sides.over.iter().map(|(axis, _)| (*axis, vec![values[*axis]])).collect();
            Some(format!("{} ({} %)", self.sweep.selected(&named), signed(found.relative() * 100.0)))
        })
        .collect()
    }

    /// Checks the number of runs above a constant: more than half of those with a value, or at most a share.
    fn counted(
        &self,
        want: String,
        place: &str,
        chosen: &[Vec<usize>],
        (of, constant): (Quantity, f64),
        at_most: Option<f64>,
    ) -> Check {
        let cells: Vec<usize> = chosen.iter().filter_map(|values| self.sweep.cell(values)).collect();
        if cells.len() < chosen.len()
            || cells.iter().any(|&cell| self.of_cell(cell).count() < self.sweep.seeds_of(cell).len())
        {
            return Check::missing(want, format!("{place}not every run completed"));
        }
        let values: Vec<f64> = cells.into_iter().flat_map(|cell| self.values(of, cell)).collect();
        let Some(mean) = Mean::of(&values) else {
            return Check::missing(want, format!("{place}no run has a value"));
        };
        let above = values.iter().filter(|value| **value > constant).count();
        let unit = self.sweep.unit(of);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let measured = format!(
            "{place}above {} in {above} of {}; {} in the mean, {} at most",
            text::value(unit, constant),
            counted(values.len() as u64, "run"),
            text::value(unit, mean.mean),
            text::value(unit, most)
        );
        let holds = match at_most {
            None => 2 * above > values.len(),
            Some(share) => above as f64 <= share * values.len() as f64,
        };
        Check::new(want, measured, holds)
    }

    /// Checks that a quantity is not above zero in a cell and below in another, nor the other way round.
    fn agrees(
        &self,
        want: String,
        place: &str,
        chosen: &[Vec<usize>],
        (of, other): (Quantity, &Selector),
    ) -> Check {
        let (zero, none) = (Against::Constant(0.0), Selector::new());
        let sides = Sides { of, than: of, against: &zero, over: &none };
        let mut holds = !chosen.is_empty();
        let mut texts = Vec::new();
        for values in chosen {
            let both = [values.clone(), moved(values, other)].map(|values| self.compared(&values, &sides));
            let [Ok(own), Ok(other)] = both else {
                return Check::missing(want, format!("{place}not all seeds have both values"));
            };
            holds &= !matches!(
                (own.order, other.order),
                (Order::Above, Order::Below) | (Order::Below, Order::Above)
            );
            let text = |found: &Comparison| text::difference(self.sweep.unit(of), &found.difference);
            texts.push(format!("{} and {}", text(&own), text(&other)));
        }
        Check::new(want, format!("{place}{}: {}", self.sweep.label(of), texts.join("; ")), holds)
    }

    /// Checks that a cell is above at least one of those with another value of an axis, and below none.
    fn best(&self, check: &CheckSpec, at: &Selector, (of, a, axis): (Quantity, &Selector, usize)) -> Check {
        let sweep = self.sweep;
        let place = self.place(check, at);
        let want = format!("{} of {} above one other and below none", sweep.label(of), sweep.selected(a));
        let none = Selector::new();
        let mut found = Vec::new();
        for values in self.chosen(at, a, &none) {
            for other in (0..sweep.axes[axis].values.len()).filter(|&other| other != values[axis]) {
                let other = Selector::from([(axis, vec![other])]);
                let against = Against::Cells(other.clone());
                match self.compared(&values, &Sides { of, than: of, against: &against, over: &none }) {
                    Ok(comparison) => found.push((sweep.selected(&other), comparison)),
                    Err(why) => return Check::missing(want, format!("{place}{why}")),
                }
            }
        }
        let against = Against::Cells(none);
        let text = |(other, found): &(String, Comparison)| {
            format!("against {other} {}", self.found("", of, &against, found))
        };
        let texts: Vec<String> = found.iter().map(text).collect();
        let holds = found.iter().any(|(_, found)| found.order == Order::Above)
            && found.iter().all(|(_, found)| found.order != Order::Below);
        Check::new(want, format!("{place}{}: {}", sweep.label(of), texts.join("; ")), holds)
    }

    /// Checks that the mean of a cell is nearer to that of one than to that of another.
    fn nearer(
        &self,
        check: &CheckSpec,
        at: &Selector,
        (of, a, others): (Quantity, &Selector, [&Selector; 2]),
    ) -> Check {
        let sweep = self.sweep;
        let place = self.place(check, at);
        let [near, far] = others.map(|other| sweep.selected(other));
        let want =
            format!("{} of {} nearer to that of {near} than of {far}", sweep.label(of), sweep.selected(a));
        let none = Selector::new();
        let distance = |values: &[usize], other: &Selector| {
            let against = Against::Cells(other.clone());
            let found = self.compared(values, &Sides { of, than: of, against: &against, over: &none });
            found.map(|found| found.difference.mean.abs())
        };
        let mut holds = true;
        let mut texts = Vec::new();
        for values in self.chosen(at, a, &none) {
            match (distance(&values, others[0]), distance(&values, others[1])) {
                (Ok(own), Ok(other)) => {
                    holds &= own < other;
                    let show = |value: f64| text::value(sweep.unit(of), value);
                    texts.push(format!("{} from {near}, {} from {far}", show(own), show(other)));
                }
                (Err(why), _) | (_, Err(why)) => return Check::missing(want, format!("{place}{why}")),
            }
        }
        Check::new(want, format!("{place}{}", texts.join("; ")), holds && !texts.is_empty())
    }

    /// Compares a quantity in a cell with the other side, seed by seed.
    fn compared(&self, values: &[usize], sides: &Sides<'_>) -> Result<Comparison, String> {
        let sweep = self.sweep;
        let wanted = sweep.cell(values).map_or(sweep.seeds.len(), |cell| sweep.seeds_of(cell).len());
        let a = self.averaged(sides.of, values, sides.over);
        let pairs: Vec<(f64, f64)> = match sides.against {
            Against::Constant(constant) => a.into_iter().map(|(_, a)| (a, *constant)).collect(),
            Against::Cells(other) => {
                let b = self.averaged(sides.than, &moved(values, other), sides.over);
                let other = |seed: u64| b.iter().find(|(of, _)| *of == seed).map(|&(_, value)| value);
                a.into_iter().filter_map(|(seed, a)| Some((a, other(seed)?))).collect()
            }
        };
        let all = pairs.len();
        if all < wanted || all < 2 {
            let both = if matches!(sides.against, Against::Cells(_)) { "both values" } else { "a value" };
            return Err(format!("{all} of {wanted} seeds have {both}: want all, and at least 2"));
        }
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let grain = sweep.grain(sides.of);
        Comparison::of(&a, &b, grain).ok_or_else(|| "a value is not finite".to_owned())
    }

    /// Returns a quantity by seed, as the mean over the values of `over` that are run.
    fn averaged(&self, quantity: Quantity, values: &[usize], over: &Selector) -> Vec<(u64, f64)> {
        let spread = self.sweep.spread(values, over);
        let cells = spread.iter().filter_map(|values| self.sweep.cell(values));
        let all: Vec<Vec<(u64, f64)>> = cells.map(|cell| self.by_seed(quantity, cell)).collect();
        let mean = |&(seed, _): &(u64, f64)| {
            let of =
                |values: &Vec<(u64, f64)>| values.iter().find(|(of, _)| *of == seed).map(|&(_, value)| value);
            let sum = all.iter().map(of).sum::<Option<f64>>()?;
            Some((seed, sum / all.len() as f64))
        };
        all.first().map_or_else(Vec::new, |first| first.iter().filter_map(mean).collect())
    }

    /// Formats a comparison, as `512.1 ms for 900.2 ms, difference −388.1 ± 20.3 ms (−43 %)`.
    fn found(&self, named: &str, of: Quantity, against: &Against, found: &Comparison) -> String {
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
