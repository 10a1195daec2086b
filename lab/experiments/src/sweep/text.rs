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
    /// What a value is multiplied with.
    pub(super) factor: f64,
    /// Digits after the point; `None`: as [`number`] formats it.
    digits: Option<usize>,
    pub(super) symbol: &'static str,
}

impl Scale {
    /// Returns the scale for values up to `size`.
    pub(super) fn of(unit: Unit, size: f64) -> Self {
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
pub(super) fn value(unit: Unit, value: f64) -> String {
    let scale = Scale::of(unit, value.abs());
    format!("{} {}", scale.number(value), scale.symbol)
}

/// Formats a mean with its interval and unit, as `1.20 ± 0.05 Mbps`.
pub(super) fn mean(unit: Unit, mean: &Mean) -> String {
    let scale = Scale::of(unit, mean.mean.abs());
    let interval =
        if mean.half_width.is_infinite() { String::new() } else { spread(mean, |width| scale.number(width)) };
    match interval.starts_with(',') {
        true => format!("{} {}{interval}", scale.number(mean.mean), scale.symbol),
        false => format!("{}{interval} {}", scale.number(mean.mean), scale.symbol),
    }
}

/// Formats a mean difference with its sign.
pub(super) fn difference(unit: Unit, of: &Mean) -> String {
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

    /// Returns the grids of a table as text: caption, and rows of cells with the heads first. Few columns
    /// stand side by side; many stand below each other.
    fn rows(&self, spec: &TableSpec) -> Vec<(String, Vec<Vec<String>>)> {
        let mut grids = Vec::new();
        for grid in self.grids(spec) {
            let beside = grid.columns.len() <= 4;
            let cell = |cell: usize| {
                let text = |quantity: Quantity| {
                    let unit = self.sweep.unit(quantity);
                    self.mean(quantity, cell).map_or_else(|| "–".to_owned(), |of| mean(unit, &of))
                };
                [Some(spec.cells), spec.note].into_iter().flatten().map(text).collect::<Vec<_>>()
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
