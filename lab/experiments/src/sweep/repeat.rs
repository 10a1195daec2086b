//! The shell commands that repeat the points of a figure.
//!
//! A point is a mean over seeds, in the figure's unit: a loop over the seeds runs `msctp-lab sim` with the
//! metric, and awk computes the mean. The page, the CSV of the figure and the tests have the same text.

use super::estimate::{OperandOf, Source};
use super::{Contrast, How, Outcome, Quantity, moved};
use crate::scenario_file::{with, without_seed};

/// The runs behind a curve of a figure.
#[derive(Clone, Debug)]
pub(super) struct CurveRuns {
    pub(super) cell: usize,
    /// The cell whose curve is subtracted, seed by seed.
    pub(super) base: Option<usize>,
    pub(super) seeds: Vec<u64>,
}

impl Outcome<'_> {
    /// Returns the command that prints the mean of a quantity in a cell, times `factor`; `None` if no command
    /// can.
    pub(super) fn repeat(&self, quantity: Quantity, cell: usize, factor: f64) -> Option<String> {
        if let Quantity::Estimate(estimate) = quantity {
            let formula = self.repeat_estimate(estimate, &self.sweep.cells[cell].values)?;
            let value = times(factor, &formula);
            return Some(format!("awk \"BEGIN {{ printf \\\"%.12g\\\\n\\\", {value} }}\""));
        }
        let seeds: Vec<u64> = self.by_seed(quantity, cell).into_iter().map(|(seed, _)| seed).collect();
        let (metric, cells, value) = match quantity {
            Quantity::Metric(metric) => (metric, vec![cell], "$1"),
            Quantity::Contrast(contrast) => {
                let Contrast { metric, against, how, .. } = &self.sweep.contrasts[contrast];
                let base = self.sweep.cell(&moved(&self.sweep.cells[cell].values, against))?;
                let value = match how {
                    How::Difference => "$1 - $2",
                    How::Relative => "$1 / $2 - 1",
                    How::Ratio => "$1 / $2",
                    How::Shortfall => "1 - $1 / $2",
                };
                (*metric, vec![cell, base], value)
            }
            Quantity::Estimate(_) => return None,
        };
        let runs = self.looped(&cells, &seeds, &|cell| self.metric_text(metric, cell))?;
        Some(match (&seeds[..], &cells[..]) {
            ([_], [_]) if factor == 1.0 => runs,
            ([_], _) => format!("{runs} | awk '{{ printf \"%.12g\\n\", {} }}'", times(factor, value)),
            _ => format!(
                "{runs} | awk '{{ s += {value} }} END {{ printf \"%.12g\\n\", {} }}'",
                times(factor, "s / NR")
            ),
        })
    }

    /// Returns an estimate as a formula of the shell, whose operands are the commands of the means. Returns
    /// `None` if it uses several cells at once, a function or a remainder.
    fn repeat_estimate(&self, estimate: usize, values: &[usize]) -> Option<String> {
        let (formula, operands) = match &self.sweep.estimates[estimate].source {
            Source::Published(_) => {
                return self.estimated(estimate, values, None).ok().map(|one| one[0].to_string());
            }
            Source::Formula(formula, operands) => (formula, operands),
        };
        let operand = |number: usize| {
            let [cell] = &self.sweep.spread(values, &operands[number].at)[..] else { return None };
            match operands[number].of {
                OperandOf::Estimate(inner) => Some(format!("({})", self.repeat_estimate(inner, cell)?)),
                OperandOf::Metric(metric) => {
                    let command = self.repeat(Quantity::Metric(metric), self.sweep.cell(cell)?, 1.0)?;
                    Some(format!("$({command})"))
                }
                OperandOf::Curve(_) => None,
            }
        };
        formula.is_arithmetic().then(|| formula.text(&operand)).flatten()
    }

    /// Returns the command that prints the points of a curve, its values times `factor`, as lines `x,value`.
    pub(super) fn repeat_curve(&self, curve: usize, runs: &CurveRuns, factor: f64) -> Option<String> {
        let CurveRuns { cell, base, seeds } = runs;
        let text = |cell: usize| {
            self.sweep.cells[cell].curves[curve].as_ref().map(|wanted| quoted(&wanted.to_string()))
        };
        let own = self.looped(&[*cell], seeds, &text)?;
        let every = self.sweep.curves[curve].every;
        let Some(base) = base else {
            return Some(match (&seeds[..], every > 0.0) {
                ([_], false) if factor == 1.0 => own,
                ([_], false) => {
                    format!("{own} | awk -F, '{{ printf \"%s,%.12g\\n\", $1, {} }}'", times(factor, "$2"))
                }
                (seeds, _) => {
                    format!("{own} | {}", mean_curve(every, ("$1", "$2"), (seeds.len(), 1), factor))
                }
            });
        };
        let other = self.looped(&[*base], seeds, &text)?;
        let value = "($1 == \"-\" ? -$3 : $3)";
        Some(format!(
            "{{ {own} | sed 's/^/+,/'; {other} | sed 's/^/-,/'; }} | {}",
            mean_curve(every, ("$2", value), (seeds.len(), 2), factor)
        ))
    }

    /// Returns the argument of `--metric` for a metric in a cell.
    fn metric_text(&self, metric: usize, cell: usize) -> Option<String> {
        let cell = &self.sweep.cells[cell];
        match (&cell.formulas[metric], &cell.metrics[metric]) {
            (None, Some(wanted)) => Some(quoted(&wanted.to_string())),
            (Some(_), _) => self.operand(metric, cell).map(|text| quoted(&text)),
            (None, None) => None,
        }
    }

    /// Returns a metric as the operand of a formula.
    fn operand(&self, metric: usize, cell: &super::Cell) -> Option<String> {
        match (&cell.formulas[metric], &cell.metrics[metric]) {
            (Some(formula), _) => formula.text(&|index| {
                let text = self.operand(index, cell)?;
                Some(if cell.formulas[index].is_some() { format!("({text})") } else { text })
            }),
            (None, Some(wanted)) => Some(format!("{{{wanted}}}")),
            (None, None) => None,
        }
    }

    /// Returns the shell commands that run cells under seeds and print a line with the values of each seed.
    /// Returns `None` if a cell lacks the value, or has other draws than the first cell.
    fn looped(
        &self,
        cells: &[usize],
        seeds: &[u64],
        metric: &dyn Fn(usize) -> Option<String>,
    ) -> Option<String> {
        let (first, last) = (seeds.first()?, seeds.last()?);
        let drawn = |cell: usize, seed: u64| {
            let cell = &self.sweep.cells[cell];
            cell.overrides(seed).split_off(cell.overrides.len())
        };
        let has_draws = !drawn(cells[0], *first).is_empty();
        if seeds.iter().any(|&seed| cells[1..].iter().any(|&cell| drawn(cell, seed) != drawn(cells[0], seed)))
        {
            return None;
        }
        let seed = match seeds {
            [seed] => with(seed.to_string(), &drawn(cells[0], *seed)),
            _ if has_draws => "$run".to_owned(),
            _ => "$seed".to_owned(),
        };
        let command = |cell: usize| {
            let run = without_seed(&self.sweep.cells[cell].path, &self.sweep.cells[cell].overrides);
            Some(format!("{run} --seed {seed} --metric {}", metric(cell)?))
        };
        let line = match cells {
            [cell] => command(*cell)?,
            _ => {
                let parts: Option<Vec<String>> =
                    cells.iter().map(|&cell| Some(format!("$({})", command(cell)?))).collect();
                format!("echo {}", parts?.join(" "))
            }
        };
        let list =
            |text: &dyn Fn(u64) -> String| seeds.iter().map(|&seed| text(seed)).collect::<Vec<_>>().join(" ");
        let in_turn = seeds.windows(2).all(|pair| pair[1] == pair[0] + 1);
        Some(match seeds {
            [_] => line,
            _ if has_draws => {
                // The shell splits the text, and removes no quotes in it.
                let sets = |seed| {
                    drawn(cells[0], seed).iter().map(|set| format!(" --set {set}")).collect::<String>()
                };
                let runs = list(&|seed| format!("'{seed}{}'", sets(seed)));
                format!("for run in {runs}; do {line}; done")
            }
            _ if in_turn && seeds.len() > 5 => format!("for seed in $(seq {first} {last}); do {line}; done"),
            _ => format!("for seed in {}; do {line}; done", list(&|seed| seed.to_string())),
        })
    }
}

/// Returns the awk command that reads the points of `runs` × `sides` curves and prints their mean, or the
/// mean difference of two sides. It averages intervals of `every` seconds. Without them, a point needs every
/// run.
fn mean_curve(every: f64, (x, value): (&str, &str), (runs, sides): (usize, usize), factor: f64) -> String {
    let (key, all) = match every > 0.0 {
        true => (format!("NR == 1 {{ f = {x} }} {{ k = int(({x} - f) / {every} + 1e-6)"), String::new()),
        false => (format!("{{ k = {x}"), format!("if (c[k] == {}) ", runs * sides)),
    };
    let mean = times(factor * sides as f64, "s[k] / c[k]");
    format!(
        "awk -F, '{key}; v = {value}; if (!(k in c)) o[m++] = k; c[k]++; x[k] += {x}; s[k] += v }} \
         END {{ for (i = 0; i < m; i++) {{ k = o[i]; {all}printf \"%.12g,%.12g\\n\", x[k] / c[k], {mean} }} }}'"
    )
}

/// Returns an expression of awk times a factor.
fn times(factor: f64, expression: &str) -> String {
    if factor == 1.0 { expression.to_owned() } else { format!("{factor} * ({expression})") }
}

fn quoted(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "._-/:@+%".contains(c));
    if plain { text.to_owned() } else { format!("'{text}'") }
}
