//! Judges the claims of a sweep.

use super::{
    Against, CheckSpec, ClaimSpec, Outcome, Quantity, Relation, Relevant, Selector, Sweep, Wants, contains,
    moved, text,
};
use crate::claims::{Check, Claim, Comparison, Effect, Grade, Judgement, Power, Share, Test, judge};
use crate::metrics::Unit;
use crate::stats::Mean;
use crate::words::{counted, signed};

/// Maximum number of cells that the text of a check lists.
const MOST_TEXTS: usize = 6;

impl Relation {
    /// Returns the text of the relation with the other side.
    fn words(self, other: &str, margin: f64) -> String {
        let percent = margin * 100.0;
        let by = if margin > 0.0 { format!(", the mean by {percent} % or more") } else { String::new() };
        let share = if margin == 1.0 { String::new() } else { format!("{percent} % of ") };
        match self {
            Self::Below => format!("below {other}, with the whole interval{by}"),
            Self::Above => format!("above {other}, with the whole interval{by}"),
            Self::Within => format!("within {percent} % of {other}, with the whole interval"),
            Self::Level => format!("no difference from {other} that counts, with the whole interval"),
            Self::AtLeast => format!("at least {share}{other}, with the whole interval"),
            Self::AtMost => format!("at most {share}{other}, with the whole interval"),
            Self::NotBelow => format!("not below {other}, with the whole interval"),
            Self::NotAbove => format!("not above {other}, with the whole interval"),
            Self::MostlyAbove => format!("above {other} in most runs"),
            Self::RarelyAbove if margin == 0.0 => format!("above {other} in no run"),
            Self::RarelyAbove => format!("above {other} in at most {percent} % of the runs"),
            Self::Agrees => format!("not above zero where that of {other} is below, nor the other way round"),
        }
    }

    /// Tests a comparison of `a` with the other side, of which [`of`](Self::of) gives the share.
    fn test(self, found: &Comparison, margin: f64, grain: f64) -> Test {
        let (up, down) = (found.difference, found.difference.scaled(-1.0));
        let by = margin * found.base.abs();
        match self {
            Self::Below => Test::above(&down, by, grain),
            Self::Above => Test::above(&up, by, grain),
            Self::Within => Test::equivalent(&up, by, 0.0),
            Self::Level => Test::equivalent(&up, by, grain),
            Self::AtLeast => Test::not_below(&up, 0.0, 0.0),
            Self::AtMost => Test::not_below(&down, 0.0, 0.0),
            Self::NotBelow => Test::not_below(&up, by, grain),
            Self::NotAbove => Test::not_below(&down, by, grain),
            // Decided by the number of runs, see `Outcome::counted`, and by two orders, see
            // `Outcome::agrees`.
            Self::MostlyAbove | Self::RarelyAbove | Self::Agrees => Test::exact(false),
        }
    }

    /// Returns the power of the test for the smallest relevant effect.
    fn power(self, found: &Comparison, margin: f64, grain: f64, relevant: Option<Relevant>) -> Option<Power> {
        let base = found.base.abs();
        let by = margin * base;
        let stated = relevant.map(|relevant| match relevant {
            Relevant::Share(share) => share * base,
            Relevant::Value(value) => value,
        });
        let or = |other: f64| stated.unwrap_or(other);
        match self {
            Self::Below | Self::Above => {
                let least = if by > 0.0 { by } else { grain };
                Power::at_least(&found.difference, or(least), by.max(grain))
            }
            Self::Within => Power::inside(&found.difference, by),
            Self::Level => Power::inside(&found.difference, by.max(grain)),
            Self::AtLeast | Self::AtMost => Power::above(&found.difference, or(0.0), 0.0),
            Self::NotBelow | Self::NotAbove => Power::above(&found.difference, 0.0, by.max(grain)),
            Self::MostlyAbove | Self::RarelyAbove | Self::Agrees => None,
        }
    }

    /// Returns the share of the other side in the relation.
    fn of(self, margin: f64) -> f64 {
        if matches!(self, Self::AtLeast | Self::AtMost) { margin } else { 1.0 }
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
    /// Share of the other side that is compared.
    share: f64,
    /// True if runs without a value do not count.
    skip: bool,
}

/// A relation in one of the combinations that a check selects.
struct Found {
    values: Vec<usize>,
    /// The comparison with the whole other side.
    whole: Comparison,
    test: Test,
    power: Option<Power>,
    /// True if the whole numbers of all seeds are equal although their runs differ.
    by_chance: bool,
}

impl<'s> Sides<'s> {
    fn new(of: Quantity, against: &'s Against, over: &'s Selector) -> Self {
        Self { of, than: of, against, over, share: 1.0, skip: false }
    }
}

impl Sweep {
    /// Returns the combinations with each of the values of `over`.
    pub(super) fn spread(&self, values: &[usize], over: &Selector) -> Vec<Vec<usize>> {
        let same = |other: &Vec<usize>| {
            let is_over = |axis: usize| over.iter().any(|(of, _)| *of == axis);
            (0..values.len()).all(|axis| is_over(axis) || other[axis] == values[axis])
        };
        self.grid.iter().filter(|other| contains(over, other) && same(other)).cloned().collect()
    }

    /// Returns the text of the first and the last value of each axis of a choice.
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

    /// Judges a claim under each value of the axis that is judged separately. The first value always counts,
    /// the others if they have runs.
    fn judgements(&self, claim: &ClaimSpec) -> Vec<Judgement> {
        let Some(axis) = self.sweep.judged.filter(|_| claim.conditions.is_empty()) else {
            let conditions = if claim.conditions.is_empty() { "every condition" } else { &claim.conditions };
            return vec![judge(conditions, self.checks(&claim.checks, &Selector::new()))];
        };
        let has_runs = |value: usize| {
            let is_it = |cell: usize| self.sweep.cells[cell].values[axis] == value;
            value == 0 || self.runs.done.iter().any(|(key, _)| is_it(key.cell))
        };
        let values = (0..self.sweep.axes[axis].values.len()).filter(|&value| has_runs(value));
        let judged = |value: usize| {
            let conditions = self.sweep.axes[axis].values[value].label();
            let checks = self.checks(&claim.checks, &vec![(axis, vec![value])]);
            // A claim about cells that another value excludes is judged without it.
            (value == 0 || !checks.is_empty()).then(|| judge(conditions, checks))
        };
        values.filter_map(judged).collect()
    }

    /// Judges the checks of a finding.
    pub(super) fn judged(&self, checks: &[CheckSpec]) -> Judgement {
        judge("", self.checks(checks, &Selector::new()))
    }

    fn checks(&self, checks: &[CheckSpec], conditions: &Selector) -> Vec<Check> {
        let several = checks.len() > 1;
        let all = checks.iter().flat_map(|check| {
            let free = check.named_axes();
            let at = Sweep::at(check, conditions);
            if check.is_pooled() {
                return vec![self.check(check, &at, several)];
            }
            let combinations = self.sweep.combinations(&at, &free);
            combinations.into_iter().map(move |at| self.check(check, &at, several)).collect::<Vec<_>>()
        });
        all.collect()
    }

    /// Returns the conditions of a check that its claim does not fix, as a prefix of its text.
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
            Wants::MostPoints { curve, above } => self.most_points(at, (*curve, *above)),
            Wants::Times { curve, a, to, times } => self.times(at, (*curve, *times), [a, to]),
            Wants::All(parts) => {
                let parts: Vec<Check> = parts.iter().map(|part| self.check(part, at, true)).collect();
                Check::all(&parts)
            }
            Wants::Linear { curve, from, share } => self.linear(check, at, (*curve, *from, *share)),
            Wants::NotBehind { curve, a, behind, from, every } => {
                self.not_behind(check, at, (*curve, *from, *every), [a, behind])
            }
            Wants::Lowest { curve, from, to } => self.lowest(check, at, (*curve, *from, *to)),
            Wants::Best { of, a, axis } => self.best(check, at, (*of, a, *axis)),
            Wants::Nearer { of, a, to, than_to } => self.nearer(check, at, (*of, a, [to, than_to])),
            Wants::Relation { of, a, relation, than, against, margin, over, skip } => {
                let share = relation.of(*margin);
                let sides = Sides { than: *than, share, skip: *skip, ..Sides::new(*of, against, over) };
                self.relation(check, at, (a, *relation, *margin, &sides), several)
            }
        }
    }

    /// Checks a relation of each cell that `a` selects with the other side.
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
                return self.counted(want, &format!("{place}{label}"), &chosen, (sides, *limit, share));
            }
            (Relation::Agrees, Against::Cells(other)) => {
                return self.agrees(want, &place, &chosen, (sides.of, other));
            }
            _ => {}
        }
        let mut found = Vec::new();
        for values in chosen {
            match self.tested(values, sides, (relation, margin), check.relevant) {
                Ok(one) => found.push(one),
                Err(why) => return Check::missing(want, format!("{place}{why}")),
            }
        }
        let contrary: Vec<_> =
            found.iter().flat_map(|one| self.contrary(&one.values, relation, sides)).collect();
        let tests: Vec<Test> = found.iter().map(|one| one.test).collect();
        let against: Vec<Test> = contrary.iter().map(|(_, test)| *test).collect();
        let test = Test::all(&[tests.clone(), against].concat());
        let text = self.found_of_all(&found, (a, relation, sides), several);
        let reversed = contrary.iter().filter_map(|(text, _)| text.as_ref());
        let reversed = reversed.map(|text| format!(", contrary at {text}")).collect::<String>();
        let worst = tests.iter().map(Test::rank).max();
        let deciding = found.iter().find(|one| Some(one.test.rank()) == worst);
        let effect = deciding.map(|one| self.effect(sides.of, sides.against, &one.whole).powered(one.power));
        Check::tested(want, format!("{place}{label}{text}{reversed}"), test, effect)
    }

    /// Returns the text of what was found in the cells that `a` selects.
    fn found_of_all(
        &self,
        found: &[Found],
        (a, relation, sides): (&Selector, Relation, &Sides<'_>),
        several: bool,
    ) -> String {
        let one = |Found { values, whole, by_chance, .. }: &Found| {
            let named: Selector = a.iter().map(|(axis, _)| (*axis, vec![values[*axis]])).collect();
            let named = if several || a.iter().any(|(_, values)| values.len() > 1) {
                self.sweep.selected(&named)
            } else {
                String::new()
            };
            let text = self.found(&named, sides.of, sides.against, whole);
            if *by_chance { format!("{text}, although the runs differ") } else { text }
        };
        let size = |one: &&Found| one.whole.relative().abs();
        let largest = found.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
        match largest {
            // Of several that are near, the farthest says enough.
            Some(largest) if relation == Relation::Within && found.len() > 1 => {
                format!("farthest {}", one(largest))
            }
            // Of many cells that are not behind, the one that decides says enough.
            _ if found.len() > MOST_TEXTS && matches!(relation, Relation::NotBelow | Relation::NotAbove) => {
                let worst = found.iter().rev().max_by_key(|one| one.test.rank());
                format!("of {} cells, {}", found.len(), worst.map_or_else(String::new, one))
            }
            _ => found.iter().map(one).collect::<Vec<_>>().join("; "),
        }
    }

    /// Tests a relation in a combination.
    fn tested(
        &self,
        values: Vec<usize>,
        sides: &Sides<'_>,
        (relation, margin): (Relation, f64),
        relevant: Option<Relevant>,
    ) -> Result<Found, String> {
        let part = self.compared(&values, sides)?;
        let whole = self.compared(&values, &Sides { share: 1.0, ..*sides })?;
        let grain = self.sweep.grain(sides.of);
        // A measured time or rate that no seed changes is no chance, but a count may be, as that of no event.
        let equal = match sides.against {
            Against::Cells(_) => whole.difference.mean,
            Against::Constant(_) => whole.base + whole.difference.mean,
        };
        let by_chance = part.difference.half_width == 0.0
            && equal.fract() == 0.0
            && matches!(self.sweep.unit(sides.of).unit, Unit::Count(_) | Unit::Ratio)
            && !matches!(relation, Relation::Below | Relation::Above)
            && self.vary(&values, sides);
        let test = relation.test(&part, margin, grain);
        let test = match test.grade {
            Grade::Reproduced if by_chance => Test::unresolved(true),
            _ => test,
        };
        let power = relation.power(&part, margin, grain, relevant);
        Ok(Found { values, whole, test, power, by_chance })
    }

    /// Returns true if the runs of one of the two sides differ from seed to seed.
    fn vary(&self, values: &[usize], sides: &Sides<'_>) -> bool {
        let own = self.sweep.spread(values, sides.over);
        let other = match sides.against {
            Against::Cells(other) => self.sweep.spread(&moved(values, other), sides.over),
            Against::Constant(_) => Vec::new(),
        };
        own.iter().any(|values| self.differ(sides.of, values))
            || other.iter().any(|values| self.differ(sides.than, values))
    }

    /// Returns the effect of a comparison: the difference, or the value compared with a number.
    fn effect(&self, of: Quantity, against: &Against, found: &Comparison) -> Effect {
        let unit = self.sweep.unit(of);
        let symbol = unit.unit.symbol();
        match against {
            Against::Cells(_) => {
                let text = text::difference(unit, &found.difference);
                Effect::new(&found.difference, symbol, text)
            }
            Against::Constant(_) => {
                let value = Mean { mean: found.base + found.difference.mean, ..found.difference };
                Effect::new(&value, symbol, text::mean(unit, &value))
            }
        }
    }

    /// Returns the combinations that a check selects with `a`, each with the first value of `over`.
    pub(super) fn chosen(&self, at: &Selector, a: &Selector, over: &Selector) -> Vec<Vec<usize>> {
        let mut all: Selector = at.iter().chain(a).chain(over).cloned().collect();
        all.sort_unstable();
        let chosen = self.sweep.grid.iter().filter(|values| contains(&all, values));
        chosen.filter(|values| moved(values, over) == **values).cloned().collect()
    }

    /// Tests whether a relation is significantly reversed at a value of `over`. Returns a test for each
    /// value, with a text if it is reversed.
    fn contrary(
        &self,
        values: &[usize],
        relation: Relation,
        sides: &Sides<'_>,
    ) -> Vec<(Option<String>, Test)> {
        if !matches!(relation, Relation::Above | Relation::Below) || sides.over.is_empty() {
            return Vec::new();
        }
        let none = Selector::new();
        let alone = Sides { over: &none, ..*sides };
        let each = self.sweep.spread(values, sides.over).into_iter();
        each.filter_map(|values| {
            let found = self.compared(&values, &alone).ok()?;
            let test = relation.test(&found, 0.0, self.sweep.grain(sides.of)).unless_contradicted();
            let named: Selector = sides.over.iter().map(|(axis, _)| (*axis, vec![values[*axis]])).collect();
            let text = || format!("{} ({} %)", self.sweep.selected(&named), signed(found.relative() * 100.0));
            Some(((test.grade == Grade::Contradicted).then(text), test))
        })
        .collect()
    }

    /// Checks the number of runs above a constant: more than half, or at most a share, in each cell. That no
    /// run is above is one check of all cells.
    fn counted(
        &self,
        want: String,
        place: &str,
        chosen: &[Vec<usize>],
        (sides, constant, at_most): (&Sides<'_>, f64, Option<f64>),
    ) -> Check {
        let of = sides.of;
        let cells = chosen.iter().map(|values| self.complete_cell(values)).collect::<Result<Vec<_>, _>>();
        let cells = match cells {
            Ok(cells) => cells,
            Err(why) => return Check::missing(want, format!("{place}{why}")),
        };
        let unit = self.sweep.unit(of);
        let together = if at_most == Some(0.0) { cells.len().max(1) } else { 1 };
        let mut found = Vec::new();
        for part in cells.chunks(together) {
            let values: Vec<f64> = part.iter().flat_map(|&cell| self.values(of, cell)).collect();
            let seeds = part.iter().map(|&cell| self.sweep.seeds_behind(of, &self.sweep.cells[cell].values));
            let wanted: usize = seeds.map(<[u64]>::len).sum();
            let Some(mean) = Mean::of(&values).filter(|_| sides.skip || values.len() == wanted) else {
                let why = format!("{place}{} of {wanted} runs have a value: want all", values.len());
                return Check::missing(want, why);
            };
            let share =
                Share { those: values.iter().filter(|value| **value > constant).count(), of: values.len() };
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let measured = format!(
                "above {} in {} of {}; {} in the mean, {} at most",
                text::value(unit, constant),
                share.those,
                counted(values.len() as u64, "run"),
                text::value(unit, mean.mean),
                text::value(unit, most)
            );
            let test = at_most.map_or_else(|| Test::mostly(share), |most| Test::rarely(share, most));
            found.push((test, share, measured));
        }
        let tests: Vec<Test> = found.iter().map(|(test, ..)| *test).collect();
        // Of several cells the one that decides says enough.
        let Some((_, share, measured)) = found.iter().rev().max_by_key(|(test, ..)| test.rank()) else {
            return Check::missing(want, format!("{place}no cell"));
        };
        let of_cells = if found.len() > 1 { format!("of {} cells, ", found.len()) } else { String::new() };
        Check::tested(want, format!("{place}{of_cells}{measured}"), Test::all(&tests), Some(share.effect()))
    }

    /// Checks that a quantity is not above zero in a cell and below in another, nor the other way round: that
    /// both are on the same side, or one of them is zero. Unresolved while an interval leaves its side open.
    fn agrees(
        &self,
        want: String,
        place: &str,
        chosen: &[Vec<usize>],
        (of, other): (Quantity, &Selector),
    ) -> Check {
        let (zero, none) = (Against::Constant(0.0), Selector::new());
        let sides = Sides::new(of, &zero, &none);
        let grain = self.sweep.grain(of);
        let (mut tests, mut texts, mut effect) = (Vec::new(), Vec::new(), None);
        for values in chosen {
            let both = [values.clone(), moved(values, other)].map(|values| self.compared(&values, &sides));
            let [Ok(own), Ok(other)] = both else {
                return Check::missing(want, format!("{place}not all seeds have both values"));
            };
            let side = if other.difference.mean < 0.0 { -1.0 } else { 1.0 };
            let [a, b] = [&own, &other].map(|found| found.difference.scaled(side));
            tests.push(match (Test::above(&a, 0.0, grain).grade, Test::above(&b, 0.0, grain).grade) {
                (_, Grade::NoEffect) | (Grade::NoEffect, _) => Test::exact(true),
                (_, Grade::Reproduced) => Test::not_below(&a, 0.0, grain),
                (Grade::Reproduced, _) => Test::not_below(&b, 0.0, grain),
                _ => Test::unresolved(a.mean >= 0.0),
            });
            effect.get_or_insert_with(|| self.effect(of, &zero, &own));
            let text = |found: &Comparison| text::difference(self.sweep.unit(of), &found.difference);
            texts.push(format!("{} and {}", text(&own), text(&other)));
        }
        let measured = format!("{place}{}: {}", self.sweep.label(of), texts.join("; "));
        Check::tested(want, measured, Test::all(&tests), effect)
    }

    /// Checks that the mean of a cell is above that of each cell with another value of an axis.
    fn best(&self, check: &CheckSpec, at: &Selector, (of, a, axis): (Quantity, &Selector, usize)) -> Check {
        let sweep = self.sweep;
        let place = self.place(check, at);
        let want = format!("{} of {} above each other", sweep.label(of), sweep.selected(a));
        let none = Selector::new();
        let mut found = Vec::new();
        for values in self.chosen(at, a, &none) {
            for other in (0..sweep.axes[axis].values.len()).filter(|&other| other != values[axis]) {
                let other = Selector::from([(axis, vec![other])]);
                let against = Against::Cells(other.clone());
                match self.compared(&values, &Sides::new(of, &against, &none)) {
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
        let test = |(_, found): &(String, Comparison)| Relation::Above.test(found, 0.0, sweep.grain(of));
        let tests: Vec<Test> = found.iter().map(test).collect();
        let worst = tests.iter().map(Test::rank).max();
        let deciding = found.iter().zip(&tests).find(|(_, test)| Some(test.rank()) == worst);
        let effect = deciding.map(|((_, found), _)| {
            let power = Relation::Above.power(found, 0.0, sweep.grain(of), check.relevant);
            self.effect(of, &against, found).powered(power)
        });
        let measured = format!("{place}{}: {}", sweep.label(of), texts.join("; "));
        Check::tested(want, measured, Test::all(&tests), effect)
    }

    /// Checks that the mean of a cell is nearer to that of one cell than to that of another.
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
        let (mut tests, mut texts, mut effect) = (Vec::new(), Vec::new(), None);
        for values in self.chosen(at, a, &none) {
            let against = others.map(|other| Against::Cells(other.clone()));
            let found = [0, 1].map(|other| self.compared(&values, &Sides::new(of, &against[other], &none)));
            let [Ok(to), Ok(from)] = found else {
                let why = found.into_iter().find_map(Result::err).unwrap_or_default();
                return Check::missing(want, format!("{place}{why}"));
            };
            // The distance beyond the middle of the two, towards the near one: linear in each seed's values.
            let side = if to.base < from.base { -1.0 } else { 1.0 };
            let cells = [values.clone(), moved(&values, others[0]), moved(&values, others[1])];
            let [own, near_to, far_from] = cells.map(|values| self.averaged(of, &values, &none));
            let all = own.iter().zip(&near_to).zip(&far_from);
            let beyond: Vec<f64> = all
                .map(|(((_, own), (_, to)), (_, from))| side * (own - f64::midpoint(*to, *from)))
                .collect();
            let Some(beyond) = Mean::of(&beyond) else {
                return Check::missing(want, format!("{place}a value is not finite"));
            };
            tests.push(Test::above(&beyond, 0.0, 0.0));
            let unit = sweep.unit(of);
            effect.get_or_insert_with(|| {
                let text = format!("{} beyond the middle", text::difference(unit, &beyond));
                Effect::new(&beyond, unit.unit.symbol(), text)
            });
            let show = |found: &Comparison| text::value(unit, found.difference.mean.abs());
            texts.push(format!("{} from {near}, {} from {far}", show(&to), show(&from)));
        }
        Check::tested(want, format!("{place}{}", texts.join("; ")), Test::all(&tests), effect)
    }

    /// Compares a quantity in a cell with the other side, seed by seed.
    fn compared(&self, values: &[usize], sides: &Sides<'_>) -> Result<Comparison, String> {
        let sweep = self.sweep;
        if let Quantity::Estimate(estimate) = sides.of {
            self.estimated(estimate, values, None)?;
        }
        // A comparison has the seeds of the side with fewer.
        let seeds = |of, values: &[usize]| sweep.seeds_behind(of, values).len();
        let other = match sides.against {
            Against::Constant(_) => usize::MAX,
            Against::Cells(other) => seeds(sides.than, &moved(values, other)),
        };
        let wanted = seeds(sides.of, values).min(other);
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
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().map(|(a, b)| (a, sides.share * b)).unzip();
        Comparison::of(&a, &b).ok_or_else(|| "a value is not finite".to_owned())
    }

    /// Returns a quantity by seed, as the mean over the values of `over` that were run.
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

    /// Formats a comparison, such as `512.1 ms for 900.2 ms, difference −388.1 ± 20.3 ms (−43 %)`.
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
