//! The findings of a sweep, with their numbers.

use msctp_sim::scenario::Problem;

use super::estimate::{braced, named};
use super::{Outcome, Quantity, Sweep, text};
use crate::claims::Claim;
use crate::paper::{doubted, refuted as failures};
use crate::report::Finding;

/// A part of a finding's text.
enum Part {
    Text(String),
    /// A quantity, and the cell of its value.
    Value(Quantity, Vec<usize>),
}

impl Sweep {
    /// Parses `axis = value`.
    fn value_of(&self, word: &str) -> Result<(usize, usize), String> {
        match self.axis_values(word)? {
            (axis, values) if values.len() == 1 => Ok((axis, values[0])),
            (axis, _) => Err(format!("\"{word}\": want one value of {}", self.axes[axis].name)),
        }
    }

    /// Splits a finding at its `{quantity, axis = value, …}` and `{axis = value}`. A cell has the first value
    /// of an axis that is not named.
    fn parts(&self, text: &str) -> Result<Vec<Part>, String> {
        let mut parts = Vec::new();
        let (inner, rest) = braced(text)?;
        for (before, inside) in inner {
            parts.push(Part::Text(before.to_owned()));
            let (name, words) = named(inside);
            if name.contains('=') {
                let (axis, value) = self.value_of(inside)?;
                parts.push(Part::Text(self.word(axis, value)));
                continue;
            }
            let quantity = self.quantity(name)?;
            let mut values = vec![0; self.axes.len()];
            for word in words {
                let (axis, value) = self.value_of(word).map_err(|why| format!("{{{inside}}}: {why}"))?;
                values[axis] = value;
            }
            parts.push(Part::Value(quantity, values));
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(parts)
    }

    /// Checks the claims and the numbers that the findings name.
    pub(super) fn check_findings(&self) -> Result<(), Problem> {
        let findings = self.paper.iter().flat_map(|paper| &paper.findings);
        for (number, finding) in findings.enumerate() {
            let problem = |key: &str, why: String| Problem::new(format!("finding.{number}.{key}"), why);
            if self.claims.iter().all(|claim| claim.id != finding.claim) {
                return Err(problem("claim", format!("there is no claim \"{}\"", finding.claim)));
            }
            self.parts(&finding.text).map_err(|why| problem("text", why))?;
        }
        Ok(())
    }
}

impl Outcome<'_> {
    /// Returns the findings about claims that do not hold under some set of conditions, with their numbers,
    /// and those that the whole experiment refutes, with their checks. In a part of the experiment, a finding
    /// whose checks fail counts as unresolved.
    pub(super) fn findings(&self, ledger: &[Claim]) -> (Vec<Finding>, Vec<(String, String)>) {
        let sweep = self.sweep;
        let about = sweep.paper.as_ref().map_or_else(Vec::new, |paper| paper.about(ledger));
        let (mut findings, mut refuted) = (Vec::new(), Vec::new());
        for (number, mut finding) in about {
            let judged = self.judged(&sweep.evidence[number]);
            finding.text = self.filled(&finding.text);
            if let Some(failed) = failures(&judged) {
                if !sweep.reduced && self.complete() {
                    refuted.push((format!("the finding about {}", finding.id), failed.clone()));
                }
                finding.text = doubted(&finding.text, &failed);
            }
            findings.push(finding);
        }
        (findings, refuted)
    }

    /// Replaces the `{…}` of a finding by their means. Without runs, replaces them by a dash.
    fn filled(&self, text: &str) -> String {
        let parts = self.sweep.parts(text).unwrap_or_default();
        let part = |part: Part| match part {
            Part::Text(text) => text,
            Part::Value(quantity, values) => {
                let mean = self.sweep.cell(&values).and_then(|cell| self.mean(quantity, cell));
                mean.map_or("–".to_owned(), |mean| text::value(self.sweep.unit(quantity), mean.mean))
            }
        };
        parts.into_iter().map(part).collect()
    }
}
