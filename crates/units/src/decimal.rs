//! Exact decimal numbers with a unit, read without floating point.

/// Errors of a decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecimalError {
    /// The text is not a number, or the number is too large.
    Malformed,
    /// The number has decimals beyond the scale.
    TooPrecise,
}

/// Returns `digits[.digits]` times `scale` (a power of ten), exactly.
pub(crate) fn parse_decimal(text: &str, scale: u64) -> Result<u64, DecimalError> {
    const MALFORMED: DecimalError = DecimalError::Malformed;
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return Err(MALFORMED),
        None => (text, ""),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(MALFORMED);
    }
    let whole = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(scale));
    let mut value = whole.ok_or(MALFORMED)?;
    let mut unit = scale;
    for digit in fraction.bytes().map(|b| u64::from(b - b'0')) {
        if digit != 0 && !unit.is_multiple_of(10) {
            return Err(DecimalError::TooPrecise);
        }
        unit /= 10;
        value = value.checked_add(digit * unit).ok_or(MALFORMED)?;
    }
    Ok(value)
}
