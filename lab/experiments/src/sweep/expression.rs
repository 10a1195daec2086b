//! A metric on the command line: one of the registry, or a formula over several in braces.

use std::fmt;

use msctp_sim::scenario::Scenario;

use super::estimate::braced;
use super::formula::Formula;
use crate::metrics::{Results, Wanted};

/// A metric of the registry, or a formula over metrics in braces: `8 * {flow.bytes:transfer} / 200s`.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    /// The metrics in the order of the text.
    wanted: Vec<Wanted>,
    /// Formula over the metrics; `None` for a single metric.
    formula: Option<Formula>,
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expression {
    /// Parses a metric or a formula.
    ///
    /// # Errors
    /// The fault, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.contains('{') {
            let wanted = Wanted::parse(text)?;
            return Ok(Self { text: wanted.to_string(), wanted: vec![wanted], formula: None });
        }
        let (parts, rest) = braced(text).map_err(|why| format!("{text}: {why}"))?;
        let (mut wanted, mut named) = (Vec::new(), String::new());
        for (before, metric) in parts {
            let metric = Wanted::parse(metric)?;
            if metric.metric.is_curve() {
                return Err(format!("{text}: {metric} is a curve: want a number in a formula"));
            }
            named.push_str(&format!("{before}m{}", wanted.len()));
            wanted.push(metric);
        }
        named.push_str(rest);
        let names: Vec<String> = (0..wanted.len()).map(|number| format!("m{number}")).collect();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let formula = Formula::parse(&named, &known).map_err(|fault| format!("{text}: {fault}"))?;
        Ok(Self { text: text.to_owned(), wanted, formula: Some(formula) })
    }

    /// Returns its metrics.
    pub fn metrics(&self) -> impl Iterator<Item = &Wanted> {
        self.wanted.iter()
    }

    /// Returns the metric if it is a curve.
    #[must_use]
    pub fn curve(&self) -> Option<&Wanted> {
        self.wanted.first().filter(|wanted| self.formula.is_none() && wanted.metric.is_curve())
    }

    /// Returns the symbol of the expression's unit. Empty for a formula, which has none.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match (&self.formula, &self.wanted[..]) {
            (None, [wanted]) => wanted.metric.unit.symbol(),
            _ => "",
        }
    }

    /// Checks its metrics' subjects and times, and enables the probes that they need.
    ///
    /// # Errors
    /// Same as [`Wanted::check`].
    pub fn prepare(&self, scenario: &mut Scenario) -> Result<(), String> {
        self.wanted.iter().try_for_each(|wanted| wanted.check(scenario))?;
        self.wanted.iter().for_each(|wanted| wanted.enable(scenario));
        Ok(())
    }

    /// Computes the value from a run's results.
    ///
    /// # Errors
    /// The run has no value. The error is the reason.
    pub fn value(&self, results: &Results<'_>) -> Result<f64, String> {
        match &self.formula {
            Some(formula) => {
                let value = formula.value(&|index| self.wanted[index].value(results));
                value.map_err(|why| format!("{self}: {why}"))
            }
            None => self.wanted[0].value(results),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_in_braces_are_operands() {
        let text = "1 - ({path.estimate@5s..25s} + {link.drops:wlan/forward}) / 2Mbps";
        let parsed = Expression::parse(text).unwrap();
        let metrics: Vec<_> = parsed.metrics().map(ToString::to_string).collect();
        assert_eq!(metrics, ["path.estimate@5s..25s", "link.drops:wlan/forward"]);
        assert_eq!((parsed.to_string().as_str(), parsed.unit()), (text, ""));
        let one = Expression::parse("handover.gap").unwrap();
        assert_eq!((one.unit(), one.curve().is_none()), ("s", true));
        assert!(Expression::parse("path.cwnd.curve").unwrap().curve().is_some());
    }

    #[test]
    fn faults_are_named() {
        for (text, fault) in [
            ("{handover.gap", "{handover.gap: want } after \"{handover.gap\""),
            ("{handover.gap} *", "{handover.gap} *: want a metric or a number before \"\""),
            (
                "{path.cwnd.curve}",
                "{path.cwnd.curve}: path.cwnd.curve is a curve: want a number in a formula",
            ),
        ] {
            assert_eq!(Expression::parse(text).unwrap_err(), fault);
        }
        assert!(Expression::parse("{handover.gip}").unwrap_err().contains("did you mean \"handover.gap\"?"));
    }
}
