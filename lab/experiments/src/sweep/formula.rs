//! Metrics computed from other metrics of the same run: `is = "least / first"`, `is = "max(a, b)"`.
//!
//! A formula has numbers, rates and times with a unit, names of metrics, `+ - * / %` (remainder), brackets,
//! and the functions `sum`, `mean`, `min`, `max` and `positive` (the count of positive ones). The functions
//! skip operands without a value.

use msctp_schemes::catalogue::suggest;
use msctp_units::{Rate, Span};

/// A formula.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Formula {
    Number(f64),
    /// The index of a metric.
    Metric(usize),
    Binary(char, Box<Formula>, Box<Formula>),
    Call(Function, Vec<Formula>),
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Sum,
    Mean,
    Min,
    Max,
    /// The number of arguments above zero.
    Positive,
}

const FUNCTIONS: [(&str, Function); 5] = [
    ("sum", Function::Sum),
    ("mean", Function::Mean),
    ("min", Function::Min),
    ("max", Function::Max),
    ("positive", Function::Positive),
];

impl Formula {
    /// Parses a formula over the metrics `known`, by their indices.
    ///
    /// # Errors
    /// The text is invalid. The error names the fault and the allowed values.
    pub(super) fn parse(text: &str, known: &[&str]) -> Result<Self, String> {
        let mut parser = Parser { rest: text, known };
        let formula = parser.sum()?;
        match parser.rest.trim_start() {
            "" => Ok(formula),
            rest => Err(format!("\"{rest}\" is left over: want an operator, + - * / or %, before it")),
        }
    }

    /// Computes the value. `metric` returns the values of metrics, or the reason why there is none.
    pub(super) fn value(&self, metric: &dyn Fn(usize) -> Result<f64, String>) -> Result<f64, String> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Metric(index) => metric(*index),
            Self::Binary(operator, a, b) => {
                let (a, b) = (a.value(metric)?, b.value(metric)?);
                let value = match operator {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    '%' => a.rem_euclid(b),
                    _ => a / b,
                };
                if value.is_finite() { Ok(value) } else { Err("divides by zero".to_owned()) }
            }
            Self::Call(function, arguments) => {
                let values: Vec<f64> =
                    arguments.iter().filter_map(|argument| argument.value(metric).ok()).collect();
                let sum = values.iter().sum::<f64>();
                let value = match function {
                    Function::Sum => (!values.is_empty()).then_some(sum),
                    Function::Mean => (!values.is_empty()).then(|| sum / values.len() as f64),
                    Function::Positive => Some(values.iter().filter(|value| **value > 0.0).count() as f64),
                    Function::Min => values.into_iter().reduce(f64::min),
                    Function::Max => values.into_iter().reduce(f64::max),
                };
                value.ok_or_else(|| "no argument has a value".to_owned())
            }
        }
    }
}

impl Formula {
    /// Writes the formula with `metric` for its operands, in the form that [`parse`](Self::parse) reads.
    /// Returns `None` if an operand is missing; functions omit missing operands.
    pub(super) fn text(&self, metric: &dyn Fn(usize) -> Option<String>) -> Option<String> {
        match self {
            Self::Number(number) => Some(number.to_string()),
            Self::Metric(index) => metric(*index),
            Self::Binary(operator, a, b) => {
                let inner = |part: &Self| {
                    let text = part.text(metric)?;
                    Some(if matches!(part, Self::Binary(..)) { format!("({text})") } else { text })
                };
                Some(format!("{} {operator} {}", inner(a)?, inner(b)?))
            }
            Self::Call(function, arguments) => {
                let arguments: Vec<String> = arguments.iter().filter_map(|part| part.text(metric)).collect();
                let (name, _) = FUNCTIONS.iter().find(|(_, known)| known == function)?;
                (!arguments.is_empty()).then(|| format!("{name}({})", arguments.join(", ")))
            }
        }
    }
}

struct Parser<'p> {
    rest: &'p str,
    known: &'p [&'p str],
}

impl Parser<'_> {
    /// Takes the next character if it is one of these.
    fn take(&mut self, any: &[char]) -> Option<char> {
        let rest = self.rest.trim_start();
        let next = rest.chars().next().filter(|next| any.contains(next))?;
        self.rest = &rest[next.len_utf8()..];
        Some(next)
    }

    fn sum(&mut self) -> Result<Formula, String> {
        self.chain(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Formula, String> {
        self.chain(&['*', '/', '%'], Self::operand)
    }

    fn chain(
        &mut self,
        operators: &[char],
        part: fn(&mut Self) -> Result<Formula, String>,
    ) -> Result<Formula, String> {
        let mut left = part(self)?;
        while let Some(operator) = self.take(operators) {
            left = Formula::Binary(operator, Box::new(left), Box::new(part(self)?));
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Formula, String> {
        if self.take(&['(']).is_some() {
            let inner = self.sum()?;
            return self.take(&[')']).map(|_| inner).ok_or_else(|| "want ) at the end".to_owned());
        }
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        if word.is_empty() {
            return Err(format!("want a metric or a number before \"{rest}\""));
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return number(word).map(Formula::Number);
        }
        if self.take(&['(']).is_some() {
            return self.call(word);
        }
        match self.known.iter().position(|known| *known == word) {
            Some(index) => Ok(Formula::Metric(index)),
            None => {
                let remedy = suggest(word, self.known.iter().copied());
                Err(format!("there is no [metric.{word}] above this one{remedy}"))
            }
        }
    }

    fn call(&mut self, name: &str) -> Result<Formula, String> {
        let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
            let remedy = suggest(name, FUNCTIONS.iter().map(|(known, _)| *known));
            return Err(format!("there is no function \"{name}\"{remedy}"));
        };
        let mut arguments = vec![self.sum()?];
        while self.take(&[',']).is_some() {
            arguments.push(self.sum()?);
        }
        self.take(&[')']).ok_or_else(|| format!("want ) after the arguments of {name}"))?;
        Ok(Formula::Call(*function, arguments))
    }
}

/// Parses a number, a rate in bit/s or a time in s.
fn number(text: &str) -> Result<f64, String> {
    let rate = || text.parse::<Rate>().ok().map(|rate| rate.as_bps() as f64);
    let span = || text.parse::<Span>().ok().map(Span::as_secs_f64);
    let value = text.parse::<f64>().ok().or_else(rate).or_else(span);
    value.ok_or_else(|| format!("\"{text}\" is no number: want one, a rate as 2Mbps or a time as 30ms"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let values = [8.0, 2.0];
        let formula = Formula::parse(text, &["first", "least", "none"])?;
        formula.value(&|index| values.get(index).copied().ok_or_else(|| "has none".to_owned()))
    }

    #[test]
    fn operators_bind_as_usual_and_functions_leave_out_what_has_no_value() {
        assert_eq!(value("first - least * 3 - 1"), Ok(1.0));
        assert_eq!(value("(first - least) / 3"), Ok(2.0));
        assert_eq!(value("2Mbps * 33ms"), Ok(66_000.0));
        assert_eq!(value("(first - 9) % 3 + 1"), Ok(3.0));
        assert_eq!(value("max(first, least, none) + min(first, least)"), Ok(10.0));
        assert_eq!(value("mean(first, none, least)"), Ok(5.0));
        assert_eq!(value("sum(first, least)"), Ok(10.0));
        assert_eq!(value("positive(first, least, least - first)"), Ok(2.0));
    }

    #[test]
    fn a_formula_is_written_as_it_is_read() {
        let known = ["first", "least", "none"];
        let parse = |text: &str| Formula::parse(text, &known).unwrap();
        let name =
            |index: usize| known.get(index).filter(|name| **name != "none").map(|name| (*name).to_owned());
        for text in
            ["first - least * 3 - 1", "8 * first / 200s", "1 - mean(first, least - first) % 2", "2Mbps"]
        {
            let formula = parse(text);
            assert_eq!(parse(&formula.text(&name).unwrap()), formula, "{text}");
        }
        assert_eq!(parse("max(none, first)").text(&name).as_deref(), Some("max(first)"));
        assert_eq!(parse("none + first").text(&name), None);
    }

    #[test]
    fn faults_and_missing_values_are_named() {
        let faults = [
            ("first + none", "has none"),
            ("max(none)", "no argument has a value"),
            ("first / (least - 2)", "divides by zero"),
            ("frist / 2", "there is no [metric.frist] above this one; did you mean \"first\"?"),
            ("maximum(first)", "there is no function \"maximum\"; want one of sum, mean, min, max, positive"),
            ("first least", "\"least\" is left over: want an operator, + - * / or %, before it"),
            ("(first", "want ) at the end"),
            ("first * 3xyz", "\"3xyz\" is no number: want one, a rate as 2Mbps or a time as 30ms"),
            ("first *", "want a metric or a number before \"\""),
        ];
        for (text, fault) in faults {
            assert_eq!(value(text).unwrap_err(), fault, "{text}");
        }
    }
}
