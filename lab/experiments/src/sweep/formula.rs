//! Metrics computed from other metrics of the same run: `is = "least / first"`, `is = "max(a, b)"`.
//!
//! A formula has numbers, rates and times with a unit, names of metrics, `+ - * / %` (remainder), brackets,
//! and the functions `sum`, `mean`, `median`, `min`, `max`, `spread` (root mean square deviation from the
//! mean), `count` and `positive` (the count of positive ones), `log` and `abs`. Without the value of an
//! operand, a formula has none.
//!
//! An estimate's operand can be a list. Operators and `log` and `abs` then work value by value, the other
//! functions over all values.

use msctp_lab_schemes::catalogue::suggest;
use msctp_units::{Rate, Span};

use crate::stats::median;

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
    Median,
    /// The number of arguments.
    Count,
    /// Root mean square deviation from the mean.
    Spread,
    /// Natural logarithm of each argument.
    Log,
    /// Magnitude of each argument.
    Abs,
}

/// The reason why a value that is not finite counts as missing.
pub(super) const NOT_FINITE: &str = "division by zero, or logarithm of a number that is not positive";

const FUNCTIONS: [(&str, Function); 10] = [
    ("sum", Function::Sum),
    ("mean", Function::Mean),
    ("min", Function::Min),
    ("max", Function::Max),
    ("positive", Function::Positive),
    ("median", Function::Median),
    ("count", Function::Count),
    ("spread", Function::Spread),
    ("log", Function::Log),
    ("abs", Function::Abs),
];

impl Function {
    /// Applies the function to all values.
    fn apply(self, values: &[f64]) -> Result<Vec<f64>, String> {
        let n = values.len() as f64;
        let mean = || values.iter().sum::<f64>() / n;
        let one = match self {
            Self::Log => return values.iter().map(|value| finite(libm::log(*value))).collect(),
            Self::Abs => return Ok(values.iter().map(|value| value.abs()).collect()),
            Self::Positive => Some(values.iter().filter(|value| **value > 0.0).count() as f64),
            Self::Count => Some(n),
            _ if values.is_empty() => None,
            Self::Sum => Some(values.iter().sum()),
            Self::Mean => Some(mean()),
            Self::Min => values.iter().copied().reduce(f64::min),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Median => median(values),
            Self::Spread => {
                let centre = mean();
                Some((values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / n).sqrt())
            }
        };
        one.map(|one| vec![one]).ok_or_else(|| "no argument has a value".to_owned())
    }
}

fn finite(value: f64) -> Result<f64, String> {
    if value.is_finite() { Ok(value) } else { Err(NOT_FINITE.to_owned()) }
}

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
            rest => Err(format!("unexpected \"{rest}\": want an operator, + - * / or %, before it")),
        }
    }

    /// Computes the value. `metric` returns the values of metrics, or the reason why there is none.
    pub(super) fn value(&self, metric: &dyn Fn(usize) -> Result<f64, String>) -> Result<f64, String> {
        match self.list(&|index| Ok(vec![metric(index)?]))?[..] {
            [one] => Ok(one),
            ref several => Err(format!("is {} values: want one", several.len())),
        }
    }

    /// Computes the values for operands that are lists.
    pub(super) fn list(
        &self,
        operand: &dyn Fn(usize) -> Result<Vec<f64>, String>,
    ) -> Result<Vec<f64>, String> {
        match self {
            Self::Number(number) => Ok(vec![*number]),
            Self::Metric(index) => operand(*index),
            Self::Binary(operator, a, b) => {
                let (a, b) = (a.list(operand)?, b.list(operand)?);
                if a.len() != b.len() && a.len() != 1 && b.len() != 1 {
                    return Err(format!(
                        "cannot compute {} values {operator} {} values: want the same number",
                        a.len(),
                        b.len()
                    ));
                }
                let at = |list: &[f64], place: usize| if list.len() == 1 { list[0] } else { list[place] };
                let value = |place: usize| {
                    let (a, b) = (at(&a, place), at(&b, place));
                    finite(match operator {
                        '+' => a + b,
                        '-' => a - b,
                        '*' => a * b,
                        '%' => a.rem_euclid(b),
                        _ => a / b,
                    })
                };
                let length = if a.len() == 1 { b.len() } else { a.len() };
                (0..length).map(value).collect()
            }
            Self::Call(function, arguments) => {
                let values = arguments.iter().map(|argument| argument.list(operand));
                function.apply(&values.collect::<Result<Vec<_>, _>>()?.concat())
            }
        }
    }

    /// Returns true if awk computes the same from the formula's text: it calls no function and takes no
    /// remainder, which in awk has the sign of the dividend.
    pub(super) fn is_arithmetic(&self) -> bool {
        match self {
            Self::Number(_) | Self::Metric(_) => true,
            Self::Binary('%', ..) => false,
            Self::Binary(_, a, b) => a.is_arithmetic() && b.is_arithmetic(),
            Self::Call(..) => false,
        }
    }
}

impl Formula {
    /// Writes the formula with `metric` for its operands, in the form that [`parse`](Self::parse) reads.
    /// Returns `None` if an operand is missing.
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
                let arguments: Option<Vec<String>> = arguments.iter().map(|part| part.text(metric)).collect();
                let (name, _) = FUNCTIONS.iter().find(|(_, known)| known == function)?;
                Some(format!("{name}({})", arguments?.join(", ")))
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
    value.ok_or_else(|| {
        format!("\"{text}\" is not a number: want a number, a rate such as 2Mbps or a time such as 30ms")
    })
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
    fn operators_bind_as_usual_and_a_missing_operand_leaves_no_value() {
        assert_eq!(value("first - least * 3 - 1"), Ok(1.0));
        assert_eq!(value("(first - least) / 3"), Ok(2.0));
        assert_eq!(value("2Mbps * 33ms"), Ok(66_000.0));
        assert_eq!(value("(first - 9) % 3 + 1"), Ok(3.0));
        assert_eq!(value("max(first, least, 9) + min(first, least)"), Ok(11.0));
        assert_eq!(value("mean(first, least)"), Ok(5.0));
        for function in ["max", "mean", "sum", "count", "positive"] {
            assert_eq!(value(&format!("{function}(first, none)")), Err("has none".to_owned()));
        }
        assert_eq!(value("sum(first, least)"), Ok(10.0));
        assert_eq!(value("positive(first, least, least - first)"), Ok(2.0));
        assert_eq!(value("median(1, first, least) + count(first)"), Ok(3.0));
        assert_eq!(value("spread(first, least) + abs(least - first) + log(1)"), Ok(9.0));
    }

    #[test]
    fn lists_are_computed_value_by_value_and_functions_take_all_values() {
        let list = |text: &str| {
            let lists = [vec![1.0, 4.0, 9.0], vec![1.0, 2.0]];
            Formula::parse(text, &["three", "two"]).unwrap().list(&|index| Ok(lists[index].clone()))
        };
        assert_eq!(list("three / three - 2 * three"), Ok(vec![-1.0, -7.0, -17.0]));
        assert_eq!(list("median(abs(0 - three), two)"), Ok(vec![2.0]));
        assert_eq!(list("positive(three - 4, two)"), Ok(vec![3.0]));
        assert_eq!(
            list("three + two").unwrap_err(),
            "cannot compute 3 values + 2 values: want the same number"
        );
        assert!(list("mean(two, log(0 * two))").unwrap_err().contains("logarithm"));
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
        assert_eq!(parse("max(none, first)").text(&name), None);
        assert_eq!(parse("none + first").text(&name), None);
    }

    #[test]
    fn awk_computes_neither_functions_nor_remainders() {
        let is_arithmetic = |text: &str| Formula::parse(text, &["first", "least"]).unwrap().is_arithmetic();
        assert!(is_arithmetic("(first - least) / 3"));
        assert!(!is_arithmetic("1 + max(first, least)"));
        // `rem_euclid` gives 2, awk's `fmod` −1.
        assert_eq!(value("(first - 9) % 3"), Ok(2.0));
        assert!(!is_arithmetic("1 + (first - 9) % 3"));
    }

    #[test]
    fn faults_and_missing_values_are_named() {
        let faults = [
            ("first + none", "has none"),
            ("first / (least - 2)", NOT_FINITE),
            ("log(first - 8)", NOT_FINITE),
            ("frist / 2", "there is no [metric.frist] above this one; did you mean \"first\"?"),
            (
                "maximum(first)",
                "there is no function \"maximum\"; want one of sum, mean, min, max, positive, median, count, spread, log, abs",
            ),
            ("first least", "unexpected \"least\": want an operator, + - * / or %, before it"),
            ("(first", "want ) at the end"),
            (
                "first * 3xyz",
                "\"3xyz\" is not a number: want a number, a rate such as 2Mbps or a time such as 30ms",
            ),
            ("first *", "want a metric or a number before \"\""),
        ];
        for (text, fault) in faults {
            assert_eq!(value(text).unwrap_err(), fault, "{text}");
        }
    }
}
