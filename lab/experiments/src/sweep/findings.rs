//! The findings of a sweep, with their numbers.

use msctp_sim::scenario::Problem;

use super::{Outcome, Quantity, Sweep, text};
use crate::claims::Claim;
use crate::report::Finding;

/// A part of a finding's text.
enum Part<'t> {
    Text(&'t str),
    /// A quantity, and the cell of its value.
    Value(Quantity, Vec<usize>),
}

impl Sweep {
    /// Splits a finding at its `{quantity, axis = value, …}`. A cell has the first value of an axis that is
    /// not named.
    fn parts<'t>(&self, text: &'t str) -> Result<Vec<Part<'t>>, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (inside, next) = after.split_once('}').ok_or("a { has no }")?;
            let mut words = inside.split(',').map(str::trim);
            let name = words.next().unwrap_or_default();
            let quantity = self.quantities().find(|(known, _)| *known == name).map(|(_, quantity)| quantity);
            let quantity = quantity.ok_or_else(|| format!("there is no metric or comparison \"{name}\""))?;
            let mut values = vec![0; self.axes.len()];
            for word in words {
                let found = word.split_once('=').and_then(|(axis, value)| {
                    let axis = self.axes.iter().position(|known| known.name == axis.trim())?;
                    let known = &self.axes[axis].values;
                    Some((axis, known.iter().position(|known| known.name == value.trim())?))
                });
                let (axis, value) =
                    found.ok_or_else(|| format!("{{{inside}}}: \"{word}\" is no axis = value"))?;
                values[axis] = value;
            }
            parts.extend([Part::Text(before), Part::Value(quantity, values)]);
            rest = next;
        }
        parts.push(Part::Text(rest));
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
    /// Returns the findings about claims that do not hold under some set of conditions, with their numbers.
    pub(super) fn findings(&self, ledger: &[Claim]) -> Vec<Finding> {
        let mut findings = self.sweep.paper.as_ref().map_or_else(Vec::new, |paper| paper.about(ledger));
        findings.iter_mut().for_each(|finding| finding.text = self.filled(&finding.text));
        findings
    }

    /// Replaces the `{…}` of a finding by their means, and by a dash without runs.
    fn filled(&self, text: &str) -> String {
        let parts = self.sweep.parts(text).unwrap_or_default();
        let part = |part: Part<'_>| match part {
            Part::Text(text) => text.to_owned(),
            Part::Value(quantity, values) => {
                let mean = self.sweep.cell(&values).and_then(|cell| self.mean(quantity, cell));
                mean.map_or("–".to_owned(), |mean| text::value(self.sweep.unit(quantity), mean.mean))
            }
        };
        parts.into_iter().map(part).collect()
    }
}
