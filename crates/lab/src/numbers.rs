//! Numbers as read by people, in ledgers and tables. Knows nothing of what they count.

use crate::stats::Mean;

/// As `+94.1 ± 3.2`.
#[must_use]
pub fn interval(difference: &Mean) -> String {
    let mean = signed(difference.mean);
    if difference.half_width.is_infinite() {
        format!("{mean}, one run")
    } else {
        format!("{mean} ± {}", number(difference.half_width))
    }
}

/// A number with at least three figures, and commas between thousands.
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

/// A number with its sign; none for what rounds to zero.
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
    fn numbers_read_well() {
        assert_eq!(number(1_234_567.8), "1,234,568");
        assert_eq!(number(12.34), "12.3");
        assert_eq!(["0.0", "+5.2", "−18,813"], [-0.01, 5.2, -18_813.4].map(signed));
        let interval = |half_width| super::interval(&Mean { n: 3, mean: 94.1, half_width });
        assert_eq!((interval(3.2), interval(f64::INFINITY)), ("+94.1 ± 3.2".into(), "+94.1, one run".into()));
    }
}
