//! Formats values with their unit, and the tables of a sweep for a terminal.

use std::fmt::Write;

use super::{Outcome, Quantity, TableSpec};
use crate::claims::render;
use crate::metrics::Unit;
use crate::stats::Mean;
use crate::words::{number, spread};

/// A unit of a suitable size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Factor from the metric's unit to this one.
    pub(super) factor: f64,
    /// Number of digits after the point; `None` for the format of [`number`].
    digits: Option<usize>,
    pub(super) symbol: &'static str,
}

/// A unit and its scale for display: the unit that the file names, else one of a suitable size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) unit: Unit,
    scale: Option<Scale>,
}

/// The units that a file may name.
const UNITS: [(&str, Unit, Scale); 10] = [
    ("ms", Unit::Seconds, Scale { factor: 1e3, digits: Some(1), symbol: "ms" }),
    ("s", Unit::Seconds, Scale { factor: 1.0, digits: Some(3), symbol: "s" }),
    ("Mbps", Unit::Rate, Scale { factor: 1e-6, digits: Some(2), symbol: "Mbps" }),
    ("kbps", Unit::Rate, Scale { factor: 1e-3, digits: None, symbol: "kbps" }),
    ("bps", Unit::Rate, Scale { factor: 1.0, digits: None, symbol: "bps" }),
    ("MB", Unit::Bytes, Scale { factor: 1e-6, digits: Some(2), symbol: "MB" }),
    ("kB", Unit::Bytes, Scale { factor: 1e-3, digits: Some(1), symbol: "kB" }),
    ("B", Unit::Bytes, Scale { factor: 1.0, digits: None, symbol: "B" }),
    ("%", Unit::Ratio, Scale { factor: 100.0, digits: Some(1), symbol: "%" }),
    ("1", Unit::Ratio, Scale { factor: 1.0, digits: Some(2), symbol: "" }),
];

impl Shown {
    pub(super) fn of(unit: Unit) -> Self {
        Self { unit, scale: None }
    }

    /// Parses a symbol, of the unit `of` if there is one.
    ///
    /// # Errors
    /// The symbol is unknown. The error names the allowed ones.
    pub(super) fn parse(symbol: &str, of: Option<Unit>) -> Result<Self, String> {
        let fits = |unit: &Unit| of.is_none_or(|of| of == *unit);
        let known = || UNITS.iter().filter(|(_, unit, _)| fits(unit));
        match known().find(|(known, ..)| *known == symbol) {
            Some(&(_, unit, scale)) => Ok(Self { unit, scale: Some(scale) }),
            None => {
                let symbols: Vec<&str> = known().map(|(symbol, ..)| *symbol).collect();
                Err(format!("\"{symbol}\" is not a unit of this metric: want {}", symbols.join(", ")))
            }
        }
    }

    /// Converts a bare number of the file, which is in the unit that the file names, to the metric's unit.
    pub(super) fn own(self, number: f64) -> f64 {
        match self.scale.map_or(1.0, |scale| scale.factor) {
            // Exact for powers of ten.
            factor if factor < 1.0 => number * factor.recip(),
            factor => number / factor,
        }
    }

    /// Returns the scale for values up to `size`.
    pub(super) fn scale(self, size: f64) -> Scale {
        self.scale.unwrap_or_else(|| Scale::of(self.unit, size))
    }

    /// Returns a name with the scale's unit, as `window (kB)`.
    pub(super) fn named(name: &str, scale: Scale) -> String {
        if scale.symbol.is_empty() { name.to_owned() } else { format!("{name} ({})", scale.symbol) }
    }
}

impl Scale {
    /// Returns the scale for values up to `size`.
    fn of(unit: Unit, size: f64) -> Self {
        let (factor, digits, symbol) = match unit {
            Unit::Rate if size >= 1e6 => (1e-6, Some(2), "Mbps"),
            Unit::Rate => (1e-3, Some(0), "kbps"),
            Unit::Bytes if size >= 1e7 => (1e-6, Some(2), "MB"),
            Unit::Bytes if size >= 1e4 => (1e-3, Some(1), "kB"),
            Unit::Bytes => (1.0, Some(0), "B"),
            Unit::Seconds => (1.0, Some(3), "s"),
            Unit::Ratio => (100.0, Some(1), "%"),
            Unit::Count(what) => (1.0, None, what),
        };
        Self { factor, digits, symbol }
    }

    fn number(self, value: f64) -> String {
        let value = value * self.factor;
        let text = self.digits.map_or_else(|| number(value), |digits| format!("{value:.digits$}"));
        text.replace('-', "−")
    }
}

/// Formats a value with its unit.
pub(super) fn value(unit: Shown, value: f64) -> String {
    let scale = unit.scale(value.abs());
    format!("{} {}", scale.number(value), scale.symbol).trim_end().to_owned()
}

/// Formats a mean with its interval and unit, as `1.20 ± 0.05 Mbps`.
pub(super) fn mean(unit: Shown, mean: &Mean) -> String {
    let scale = unit.scale(mean.mean.abs());
    let interval =
        if mean.half_width.is_infinite() { String::new() } else { spread(mean, |width| scale.number(width)) };
    let symbol = if scale.symbol.is_empty() { String::new() } else { format!(" {}", scale.symbol) };
    match interval.starts_with(',') {
        true => format!("{}{symbol}{interval}", scale.number(mean.mean)),
        false => format!("{}{interval}{symbol}", scale.number(mean.mean)),
    }
}

/// Formats a mean difference with its sign.
pub(super) fn difference(unit: Shown, of: &Mean) -> String {
    let text = mean(unit, of);
    if of.mean > 0.0 { format!("+{text}") } else { text }
}

impl Outcome<'_> {
    /// Formats the tables and the claims for a terminal of `width` columns.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        let mut text = String::new();
        for spec in &self.sweep.tables {
            for (caption, rows) in self.rows(spec) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{caption}");
                let columns = rows.first().map_or(0, |row| row.len());
                let wide =
                    |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
                let widths: Vec<usize> = (0..columns).map(wide).collect();
                for row in &rows {
                    let mut line = format!("  {:<1$}", row[0], widths[0]);
                    for (cell, width) in row.iter().zip(&widths).skip(1) {
                        let _ = write!(line, "  {cell:>width$}");
                    }
                    let _ = writeln!(text, "{}", line.trim_end());
                }
                text.push('\n');
            }
        }
        for note in self.missing() {
            let _ = writeln!(text, "{note}\n");
        }
        let ledger = self.ledger();
        if !ledger.is_empty() {
            text.push_str(&render(&ledger, width));
        }
        text
    }

    /// Returns the grids of a table as text: caption, and rows of cells with the headings first. A few
    /// columns are placed side by side, and many one below the other.
    fn rows(&self, spec: &TableSpec) -> Vec<(String, Vec<Vec<String>>)> {
        let mut grids = Vec::new();
        for grid in self.grids(spec) {
            let beside = grid.columns.len() <= 4;
            let cell = |(cell, of): (Option<usize>, Quantity)| {
                let text = |quantity: Quantity| {
                    let unit = self.sweep.unit(quantity);
                    let found = cell.and_then(|cell| self.shown(spec, quantity, cell));
                    found.map_or_else(|| "–".to_owned(), |of| mean(unit, &of))
                };
                std::iter::once(of).chain(spec.notes.iter().copied()).map(text).collect::<Vec<_>>()
            };
            let mut rows = Vec::new();
            if beside {
                rows.push([std::slice::from_ref(&grid.head), &grid.columns[..]].concat());
                for (name, cells) in &grid.rows {
                    let cells = cells.iter().map(|&number| cell(number).join("  "));
                    rows.push(std::iter::once(name.clone()).chain(cells).collect());
                }
            } else {
                for (name, cells) in &grid.rows {
                    for (column, &number) in grid.columns.iter().zip(cells) {
                        rows.push([vec![name.clone(), column.clone()], cell(number)].concat());
                    }
                }
            }
            grids.push((grid.caption, rows));
        }
        grids
    }
}
