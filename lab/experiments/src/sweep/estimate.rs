//! Estimates: numbers computed from the means of several cells, such as the gain of one over another, or the
//! exponent of a growth. Also values that a publication states, to compare with.
//!
//! An estimate is a formula over `{metric, axis = value, axis = 1|2|*}`: the means over the seeds in the
//! cells with these values, and with its own on the other axes. Several values give a list. A curve stands
//! for every point of every run. The interval comes from the values with one seed left out each
//! (jackknife).

use std::collections::{BTreeMap, BTreeSet};

use msctp_lab_schemes::catalogue::suggest;
use msctp_sim::scenario::Problem;
use msctp_sim::scenario::document::Section;
use toml::de::DeValue;

use super::formula::{Formula, NOT_FINITE};
use super::read::{axes_of, constant, plain_text, reject_unused};
use super::text::Shown;
use super::{Column, Outcome, Quantity, Selector, Sweep, contains, moved};
use crate::metrics::Unit;
use crate::stats::Mean;

/// An estimate.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    pub(super) name: String,
    pub(super) label: String,
    pub(super) unit: Shown,
    pub(super) grain: f64,
    pub(super) source: Source,
    /// For each axis, true if the value depends on it.
    depends: Vec<bool>,
}

/// Source of an estimate.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Formula(Formula, Vec<Operand>),
    /// Published values, by the values of the axes on which they depend.
    Published(BTreeMap<Vec<usize>, f64>),
}

/// An operand of an estimate.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) of: OperandOf,
    pub(super) at: Selector,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum OperandOf {
    Metric(usize),
    Curve(usize),
    Estimate(usize),
}

/// The parts of a text with `{…}`: the text before each, and what it contains; and the rest.
pub(super) type Braced<'t> = (Vec<(&'t str, &'t str)>, &'t str);

/// Splits a text at its `{…}`.
pub(super) fn braced(text: &str) -> Result<Braced<'_>, String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, next) = after.split_once('}').ok_or_else(|| format!("want }} after \"{{{after}\""))?;
        parts.push((before, inside));
        rest = next;
    }
    Ok((parts, rest))
}

/// Splits the inside of `{name, axis = value, …}` at its commas: the name, and the rest.
pub(super) fn named(inside: &str) -> (&str, impl Iterator<Item = &str>) {
    let mut words = inside.split(',').map(str::trim);
    (words.next().unwrap_or_default(), words)
}

/// Reads `[estimate.NAME]`.
pub(super) fn estimates(top: &Section<'_, '_>, sweep: &mut Sweep) -> Result<(), Problem> {
    for (name, table) in top.named("estimate")? {
        let keys = ["is", "values", "axes", "label", "unit", "grain"];
        let section = Section::open(table, format!("estimate.{name}"), &keys)?;
        if let Some(kind) = sweep.kind_of(&name) {
            let message = format!("{kind} has this name: want names that differ");
            return Err(Problem::new(section.path(), message));
        }
        let (mut source, depends) = match section.text("is")? {
            Some(text) => {
                reject_unused(&section, "is", &["values", "axes"])?;
                let problem = |why| Problem::new(section.key("is"), why);
                let (formula, operands) = parsed(text, sweep).map_err(problem)?;
                let depends = depends(&operands, sweep);
                (Source::Formula(formula, operands), depends)
            }
            None => published(&section, sweep)?,
        };
        let unit = match section.text("unit")? {
            None => Shown::of(Unit::Count("")),
            Some(symbol) => {
                Shown::parse(symbol, None).map_err(|why| Problem::new(section.key("unit"), why))?
            }
        };
        if let Source::Published(known) = &mut source {
            known.values_mut().for_each(|value| *value = unit.own(*value));
        }
        let grain = if section.has("grain") { constant(&section, "grain", unit)? } else { 0.0 };
        let label = section.text("label")?.unwrap_or(&name).to_owned();
        sweep.estimates.push(Estimate { name, label, unit, grain, source, depends });
        let last = sweep.estimates.len() - 1;
        sweep.check_seeds(last).map_err(|why| Problem::new(section.key("is"), why))?;
    }
    Ok(())
}

/// Parses a formula over operands in braces.
fn parsed(text: &str, sweep: &Sweep) -> Result<(Formula, Vec<Operand>), String> {
    let (parts, rest) = braced(text)?;
    let operands: Vec<Operand> =
        parts.iter().map(|(_, inside)| operand(inside, sweep)).collect::<Result<_, _>>()?;
    let names: Vec<String> = (0..operands.len()).map(|number| format!("operand{number}")).collect();
    let parts = parts.iter().zip(&names).map(|((before, _), name)| format!("{before}{name}"));
    let text = parts.collect::<String>() + rest;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Ok((Formula::parse(&text, &names)?, operands))
}

/// Parses `delivered, protocol = sctp, r = 150|200, w = *`.
fn operand(text: &str, sweep: &Sweep) -> Result<Operand, String> {
    let (name, words) = named(text);
    let of = sweep.operands().find(|(known, _)| *known == name).map(|(_, of)| of).ok_or_else(|| {
        let remedy = suggest(name, sweep.operands().map(|(known, _)| known));
        format!("there is no metric, curve or estimate \"{name}\" above{remedy}")
    })?;
    let mut at = words.map(|word| sweep.axis_values(word)).collect::<Result<Selector, _>>()?;
    at.sort_unstable();
    Ok(Operand { of, at })
}

/// Returns for each axis whether an estimate with these operands depends on it.
fn depends(operands: &[Operand], sweep: &Sweep) -> Vec<bool> {
    let of = |operand: &Operand, axis: usize| {
        let inner = match operand.of {
            OperandOf::Metric(_) | OperandOf::Curve(_) => true,
            OperandOf::Estimate(inner) => sweep.estimates[inner].depends[axis],
        };
        inner && operand.at.iter().all(|(fixed, _)| *fixed != axis)
    };
    (0..sweep.axes.len()).map(|axis| operands.iter().any(|operand| of(operand, axis))).collect()
}

/// Reads `axes = ["w", "r"]` and `values = [[1, 2], [3, 4]]`: a number for each combination, the last axis
/// varying fastest.
fn published(section: &Section<'_, '_>, sweep: &Sweep) -> Result<(Source, Vec<bool>), Problem> {
    let axes = axes_of(section, "axes", sweep)?;
    let mut numbers = Vec::new();
    let mut open: Vec<&DeValue<'_>> = section.value("values").into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            DeValue::Array(items) => open.extend(items.iter().rev().map(toml::Spanned::get_ref)),
            one => numbers.push(
                plain_text(one)
                    .parse::<f64>()
                    .map_err(|_| section.wrong_type("values", one, "numbers, such as [[1, 2], [3, 4]]"))?,
            ),
        }
    }
    let sizes: Vec<usize> = axes.iter().map(|&axis| sweep.axes[axis].values.len()).collect();
    let all = sizes.iter().product::<usize>();
    if numbers.len() != all || axes.is_empty() {
        let message = format!(
            "want is = \"…\", or axes with a number for each of the {all} combinations of their values: there are {}",
            numbers.len()
        );
        return Err(Problem::new(section.key("values"), message));
    }
    let place = |mut number: usize| {
        let mut values = vec![0; sweep.axes.len()];
        for (&axis, size) in axes.iter().zip(&sizes).rev() {
            values[axis] = number % size;
            number /= size;
        }
        values
    };
    let values = numbers.into_iter().enumerate().map(|(number, value)| (place(number), value)).collect();
    let depends = (0..sweep.axes.len()).map(|axis| axes.contains(&axis)).collect();
    Ok((Source::Published(values), depends))
}

impl Estimate {
    /// Returns the values of a combination on the axes on which the estimate depends, and the first ones on
    /// the others.
    fn key(&self, values: &[usize]) -> Vec<usize> {
        let value = |(&value, depends): (&usize, &bool)| if *depends { value } else { 0 };
        values.iter().zip(&self.depends).map(value).collect()
    }
}

impl Sweep {
    /// Parses `axis = value`, `axis = value|value` or `axis = *`.
    pub(super) fn axis_values(&self, word: &str) -> Result<(usize, Vec<usize>), String> {
        let (axis, values) =
            word.split_once('=').ok_or_else(|| format!("\"{word}\": expected axis = value"))?;
        let (axis, values) = (axis.trim(), values.trim());
        let place = self.axes.iter().position(|known| known.name == axis);
        let place = place.ok_or_else(|| {
            let remedy = suggest(axis, self.axes.iter().map(|known| known.name.as_str()));
            format!("there is no axis \"{axis}\"{remedy}")
        })?;
        let known = &self.axes[place].values;
        let value = |name: &str| {
            let found = known.iter().position(|known| known.name == name.trim());
            found.ok_or_else(|| {
                let remedy = suggest(name.trim(), known.iter().map(|known| known.name.as_str()));
                format!("the axis {axis} has no value \"{}\"{remedy}", name.trim())
            })
        };
        let mut values = match values {
            "*" => (0..known.len()).collect(),
            some => some.split('|').map(value).collect::<Result<Vec<_>, _>>()?,
        };
        values.sort_unstable();
        Ok((place, values))
    }

    /// Returns the kind of the metric, curve, comparison or axis that has a name.
    fn kind_of(&self, name: &str) -> Option<&'static str> {
        let column = |columns: &[Column]| columns.iter().any(|column| column.name == name);
        let kinds = [
            ("a metric", column(&self.metrics)),
            ("a curve", column(&self.curves)),
            ("a comparison", self.contrasts.iter().any(|contrast| contrast.name == name)),
            ("an axis", self.axes.iter().any(|axis| axis.name == name)),
        ];
        kinds.into_iter().find_map(|(kind, has)| has.then_some(kind))
    }

    /// Checks that the cells of an estimate's operands have the same seeds in every combination of values:
    /// each value of the jackknife leaves out one seed of all cells.
    fn check_seeds(&self, estimate: usize) -> Result<(), String> {
        if self.axes.iter().flat_map(|axis| &axis.values).all(|value| value.seeds.is_none()) {
            return Ok(());
        }
        let seeds = |most: usize| if most == usize::MAX { "all".to_owned() } else { most.to_string() };
        let mut checked = BTreeSet::new();
        for values in self.grid.iter().filter(|values| checked.insert(self.estimates[estimate].key(values))) {
            let operands = self.operands_of(estimate, values);
            let cells = operands.iter().flat_map(|(_, cells)| cells);
            let most: BTreeSet<usize> = cells.map(|values| self.most_seeds(values)).collect();
            if let (Some(&least), Some(&most)) = (most.first(), most.last())
                && least < most
            {
                return Err(format!(
                    "with {}: its operands have cells with {} seeds and cells with {}: want the same number",
                    self.named(values),
                    seeds(least),
                    seeds(most)
                ));
            }
        }
        Ok(())
    }

    /// Returns the seeds behind the value of a quantity in a combination: those of its cell, those that both
    /// cells of a comparison have, or those of the cells of an estimate's operands.
    pub(super) fn seeds_behind(&self, quantity: Quantity, values: &[usize]) -> &[u64] {
        let own = self.cell(values);
        let other = match quantity {
            Quantity::Estimate(estimate) => {
                let operands = self.operands_of(estimate, values);
                let mut cells = operands.iter().flat_map(|(_, cells)| cells);
                let operand = cells.find_map(|values| self.cell(values)).or(own);
                return operand.map_or(&self.seeds[..], |cell| self.seeds_of(cell));
            }
            Quantity::Contrast(contrast) => self.cell(&moved(values, &self.contrasts[contrast].against)),
            Quantity::Metric(_) => None,
        };
        let seeds = own.into_iter().chain(other).map(|cell| self.seeds_of(cell));
        seeds.min_by_key(|seeds| seeds.len()).unwrap_or(&self.seeds)
    }

    /// Returns the quantities that an estimate can have as operands.
    fn operands(&self) -> impl Iterator<Item = (&str, OperandOf)> {
        let metrics = self.metrics.iter().enumerate();
        let metrics = metrics.map(|(number, column)| (column.name.as_str(), OperandOf::Metric(number)));
        let curves = self.curves.iter().enumerate();
        let curves = curves.map(|(number, column)| (column.name.as_str(), OperandOf::Curve(number)));
        let estimates = self.estimates.iter().enumerate();
        let estimates = estimates.map(|(number, own)| (own.name.as_str(), OperandOf::Estimate(number)));
        metrics.chain(curves).chain(estimates)
    }

    /// Fixes the axes on which none of the quantities depends, and which `named` does not have: a table or
    /// check would repeat itself for each of their values.
    pub(super) fn fix_unused(&self, at: &mut Selector, of: &[Quantity], named: &[usize]) {
        let depends = |axis: usize| {
            of.iter().any(|quantity| match quantity {
                Quantity::Estimate(estimate) => self.estimates[*estimate].depends[axis],
                Quantity::Metric(_) | Quantity::Contrast(_) => true,
            })
        };
        let unused = |axis: &usize| {
            !of.is_empty()
                && !depends(*axis)
                && !named.contains(axis)
                && at.iter().all(|(known, _)| known != axis)
        };
        let unused: Vec<usize> = (0..self.axes.len()).filter(unused).collect();
        if let Some(first) = self.grid.iter().find(|values| contains(at, values)) {
            at.extend(unused.into_iter().map(|axis| (axis, vec![first[axis]])));
            at.sort_unstable();
        }
    }

    /// Returns true if an estimate depends on published values alone, and on no run.
    fn is_published(&self, estimate: usize) -> bool {
        let fixed = |operand: &Operand| match operand.of {
            OperandOf::Estimate(inner) => self.is_published(inner),
            OperandOf::Metric(_) | OperandOf::Curve(_) => false,
        };
        match &self.estimates[estimate].source {
            Source::Published(_) => true,
            Source::Formula(_, operands) => operands.iter().all(fixed),
        }
    }

    /// Returns the metrics and curves that an estimate uses in a combination, each with its cells.
    pub(super) fn operands_of(&self, estimate: usize, values: &[usize]) -> Vec<(OperandOf, Vec<Vec<usize>>)> {
        let Source::Formula(_, operands) = &self.estimates[estimate].source else { return Vec::new() };
        let each = |operand: &Operand| {
            let cells = self.spread(values, &operand.at);
            match operand.of {
                OperandOf::Estimate(inner) => {
                    cells.iter().flat_map(|values| self.operands_of(inner, values)).collect()
                }
                of => vec![(of, cells)],
            }
        };
        operands.iter().flat_map(each).collect()
    }
}

impl Outcome<'_> {
    /// Computes an estimate in a combination of values, from the runs of all seeds or of all but one.
    pub(super) fn estimated(
        &self,
        estimate: usize,
        values: &[usize],
        without: Option<u64>,
    ) -> Result<Vec<f64>, String> {
        let estimate = &self.sweep.estimates[estimate];
        match &estimate.source {
            Source::Published(known) => {
                let value = known.get(&estimate.key(values));
                Ok(vec![*value.ok_or("is not published here")?])
            }
            Source::Formula(formula, operands) => {
                formula.list(&|number| self.operand_values(&operands[number], values, without))
            }
        }
    }

    fn operand_values(
        &self,
        operand: &Operand,
        values: &[usize],
        without: Option<u64>,
    ) -> Result<Vec<f64>, String> {
        let cells = self.sweep.spread(values, &operand.at);
        let wanted: usize = operand.at.iter().map(|(_, values)| values.len()).product();
        if cells.len() < wanted {
            return Err(format!("{} of {wanted} cells exist", cells.len()));
        }
        let one = |values: &Vec<usize>| match operand.of {
            OperandOf::Estimate(inner) => self.estimated(inner, values, without),
            OperandOf::Metric(metric) => {
                let all = self.complete_cell(values)?;
                let (found, runs) = (self.by_seed(Quantity::Metric(metric), all), self.of_cell(all).count());
                if found.len() < runs {
                    return Err(format!("{} of {runs} runs have a value", found.len()));
                }
                let kept = found.into_iter().filter(|(seed, _)| Some(*seed) != without);
                let kept: Vec<f64> = kept.map(|(_, value)| value).collect();
                let mean = Mean::of(&kept).ok_or("no run has a value")?;
                Ok(vec![mean.mean])
            }
            OperandOf::Curve(curve) => {
                let all = self.complete_cell(values)?;
                let kept = self.of_cell(all).filter(|(key, _)| Some(key.seed) != without);
                Ok(kept.flat_map(|(_, run)| &run.curves[curve]).map(|(_, y)| *y).collect())
            }
        };
        Ok(cells.iter().map(one).collect::<Result<Vec<_>, String>>()?.concat())
    }

    /// Returns the cell with these values, of which every run completed.
    pub(super) fn complete_cell(&self, values: &[usize]) -> Result<usize, String> {
        let cell = self.sweep.cell(values).ok_or("not every cell was run")?;
        let all = self.of_cell(cell).count() == self.sweep.seeds_of(cell).len();
        if all { Ok(cell) } else { Err("not every run completed".to_owned()) }
    }

    /// Returns an estimate by seed: values with its mean, and with the spread of the jackknife. Those of a
    /// mean are the values of the runs. A published value is that of one seed.
    pub(super) fn estimate_by_seed(&self, estimate: usize, cell: usize) -> Vec<(u64, f64)> {
        let values = &self.sweep.cells[cell].values;
        let one = |without| match self.estimated(estimate, values, without).ok()?[..] {
            [one] => Some(one),
            _ => None,
        };
        let Some(whole) = one(None) else { return Vec::new() };
        let seeds = self.sweep.seeds_behind(Quantity::Estimate(estimate), values);
        if self.sweep.is_published(estimate) || seeds.len() < 2 {
            return vec![(seeds.first().copied().unwrap_or_default(), whole)];
        }
        let without: Option<Vec<f64>> = seeds.iter().map(|&seed| one(Some(seed))).collect();
        let Some(without) = without else { return Vec::new() };
        let Some(centre) = Mean::of(&without) else { return Vec::new() };
        let factor = seeds.len() as f64 - 1.0;
        let value = |without: f64| whole + factor * (centre.mean - without);
        seeds.iter().zip(without).map(|(&seed, without)| (seed, value(without))).collect()
    }

    /// Computes an estimate that depends on no axis. Returns `None` if it is not finite, such as the
    /// logarithm of zero.
    ///
    /// # Errors
    /// There is no such estimate, a run is missing, or the estimate is several values.
    pub(crate) fn estimate(&self, name: &str) -> Result<Option<f64>, String> {
        let known = self.sweep.estimates.iter().position(|estimate| estimate.name == name);
        let estimate = known.ok_or_else(|| format!("there is no [estimate.{name}]"))?;
        let values = vec![0; self.sweep.axes.len()];
        match self.estimated(estimate, &values, None) {
            Ok(all) if all.len() == 1 => Ok(Some(all[0])),
            Ok(all) => Err(format!("{name} is {} values: want one", all.len())),
            Err(why) if why == NOT_FINITE => Ok(None),
            Err(why) => Err(format!("{name}: {why}")),
        }
    }
}
