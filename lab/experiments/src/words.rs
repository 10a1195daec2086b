//! Formats numbers for the ledger and the pages.
//!
//! Does not depend on units or claims.

pub use msctp_terminal::counted;

use crate::stats::Mean;

/// Formats the confidence interval after a mean, such as ` ± 3.2`. Equal runs have no interval (`, all 10
/// runs equal`), since a width of zero would claim that another seed gives the same. A single run has none
/// either (`, one run`).
#[must_use]
pub fn spread(mean: &Mean, width: impl FnOnce(f64) -> String) -> String {
    match mean.half_width {
        none if none.is_infinite() => ", one run".to_owned(),
        0.0 => format!(", all {} runs equal", mean.n),
        some => format!(" ± {}", visible(width(some))),
    }
}

/// Formats a half-width above zero as `<0.01` instead of `0.00`, which would claim that there is no spread.
#[must_use]
pub fn visible(rounded: String) -> String {
    match rounded.strip_suffix('0') {
        Some(rest) if !rounded.contains(|c: char| ('1'..='9').contains(&c)) => format!("<{rest}1"),
        _ => rounded,
    }
}

/// Formats a number with at least three digits, and commas between thousands.
#[must_use]
pub fn number(value: f64) -> String {
    if value.abs() < 99.95 {
        return format!("{value:.1}").replace('-', "−");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("−{text}") } else { text }
}

/// Formats a number with its sign; without one if it rounds to zero.
#[must_use]
pub fn signed(value: f64) -> String {
    let text = number(value);
    match text.as_str() {
        "0.0" | "−0.0" => "0.0".to_owned(),
        _ if value > 0.0 => format!("+{text}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_figures_and_intervals_a_sign() {
        let texts = [0.04, 12.34, 7085.4, -1234.0].map(number);
        assert_eq!(texts, ["0.0", "12.3", "7,085", "−1,234"]);
        assert_eq!([0.04, -0.04, 2.0, -2.0].map(signed), ["0.0", "0.0", "+2.0", "−2.0"]);
        let mean = |half_width| Mean { n: 2, mean: 94.12, half_width };
        let spread = |half_width| spread(&mean(half_width), number);
        assert_eq!([3.2, 0.0, f64::INFINITY].map(spread), [" ± 3.2", ", all 2 runs equal", ", one run"]);
        assert_eq!(spread(0.03), " ± <0.1", "rounded to zero is not zero");
        assert_eq!(["0.00", "0.10", "20"].map(|text| visible(text.to_owned())), ["<0.01", "0.10", "20"]);
    }
}
