//! Tables in a file between lines that mark their place, and what stands in them.

/// Puts the text into the file, between the marks of this name; without a file it is printed.
pub fn put(file: Option<&str>, name: &str, text: &str) -> Result<(), String> {
    let Some(file) = file else {
        print!("{text}");
        return Ok(());
    };
    let begin = format!("<!-- bench/loopback/run: {name} -->");
    let end = format!("<!-- bench/loopback/run: end of {name} -->");
    let whole = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let parts = whole.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("{file}: want the lines {begin} and {end}"))?;
    std::fs::write(file, format!("{before}{begin}\n\n{text}\n{end}{after}"))
        .map_err(|e| format!("{file}: {e}"))
}

/// Median, least and most of what was measured.
pub fn spread<T>(results: &[T], value: impl Fn(&T) -> f64) -> Option<(f64, f64, f64)> {
    let mut values: Vec<f64> = results.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    Some((*values.get(values.len() / 2)?, *values.first()?, *values.last()?))
}
