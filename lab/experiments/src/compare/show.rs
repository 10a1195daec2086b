//! Formats the matrix as text, as figures of a report, and as a table of runs.

use std::fmt::Write;

use msctp_schemes::policies::policies;

use super::{Comparison, Row};
use crate::figure::{Axis, Chart, Mark, Point, Series, Style, round_up};
use crate::report::{self, Data, Figure, Grid, Panel, Tone};
use crate::stats::Mean;
use crate::table::Table;
use crate::words::spread;

/// Regret from which a cell is bad, and up to which a cell is good.
const BAD: f64 = 0.10;
const GOOD: f64 = 0.02;

fn rate(bps: f64) -> String {
    if bps >= 1e6 { format!("{:.2} Mbps", bps / 1e6) } else { format!("{:.0} kbps", bps / 1e3) }
}

fn percent(share: &Mean) -> String {
    let value = format!("{:+.1} %", share.mean * 100.0).replace('-', "−");
    if share.half_width.is_infinite() {
        return value;
    }
    format!("{value}{}", spread(share, |width| format!("{:.1}", width * 100.0)))
}

impl Comparison {
    /// Formats the matrix for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} ({}: {})", row.case, row.paper, row.words);
            for cell in &row.cells {
                let _ = writeln!(
                    text,
                    "  {:<22} {:>11} in the 5 s after   gap {:>6.3} s   regret {:>26}   {}",
                    cell.policy,
                    rate(cell.after.mean),
                    cell.gap.mean,
                    cell.regret.as_ref().map_or_else(|| "–".to_owned(), percent),
                    cell.cross_loss
                        .map_or_else(String::new, |lost| format!("others lose {:.2} %", lost.mean * 100.0)),
                );
            }
        }
        text
    }

    /// Formats the matrix as a figure of the report.
    #[must_use]
    pub fn figure(&self) -> Figure {
        let names: Vec<&str> = policies().iter().map(|policy| policy.name).collect();
        let head = |first: &str| {
            std::iter::once(first).chain(names.iter().copied()).map(str::to_owned).collect::<Vec<_>>()
        };
        let grid = |caption: &str, cells: fn(&super::Cell) -> report::Cell| Grid {
            caption: caption.to_owned(),
            head: head("handover"),
            rows: (1..)
                .zip(&self.rows)
                .map(|(number, row)| (format!("{number}. {}", row.case), row_of(row, &names, cells)))
                .collect(),
        };
        Figure {
            label: "Comparison".to_owned(),
            title: "Every policy on every handover".to_owned(),
            caption: "The papers' handovers, each policy under the same seeds. Regret: how far the throughput of the 5 s \
                      after the switch stays below that of the oracle, which is told what is free on the new path."
                .to_owned(),
            grids: vec![
                grid("Throughput in the 5 s after the switch, and regret", throughput),
                grid("Longest gap between deliveries around the switch (s), and what other traffic loses", gap),
            ],
            groups: vec![(
                None,
                vec![Panel {
                    slug: "comparison".to_owned(),
                    caption: "Regret against the oracle, mean and 95 % interval; above zero is worse".to_owned(),
                    chart: self.chart(),
                }],
            )],
        }
    }

    /// Draws the regret over the cases, with dots for each policy but the oracle.
    #[must_use]
    pub fn chart(&self) -> Chart {
        let mut styles = Style::MEASURED.into_iter().cycle();
        let places: Vec<String> = (1..=self.rows.len()).map(|number| number.to_string()).collect();
        let series: Vec<Series> = policies()
            .iter()
            .filter(|policy| policy.name != super::Oracle::NAME)
            .map(|policy| {
                let regret = |row: &Row| row.cells.iter().find(|cell| cell.policy == policy.name)?.regret;
                let points = self.rows.iter().enumerate().filter_map(|(number, row)| {
                    let regret = regret(row)?;
                    let half_width = regret.half_width.is_finite().then_some(regret.half_width * 100.0);
                    Some(Point { x: number as f64, y: regret.mean * 100.0, half_width })
                });
                Series {
                    name: policy.name.to_owned(),
                    style: styles.next().unwrap_or(Style::First),
                    points: points.collect(),
                    mark: Mark::Bars,
                }
            })
            .collect();
        let values = || series.iter().flat_map(|series| &series.points).map(|point| point.y);
        let mut y = Axis::new("regret (%)", 0.0, round_up(values().fold(1.0, f64::max) * 1.1));
        let least = values().fold(0.0, f64::min);
        if least < 0.0 {
            y.from = -round_up(-least * 1.1);
        }
        Chart {
            title: "Regret of each policy against the oracle, handover by handover".to_owned(),
            x: Axis::named("handover, as numbered in the table", places),
            y,
            series,
            markers: Vec::new(),
        }
    }

    /// Returns a table with a row per run.
    #[must_use]
    pub fn data(&self) -> Data {
        let runs = || self.outcomes.done.iter();
        let table = Table::new()
            .text("paper", runs().map(|(key, _)| key.case().paper))
            .text("handover", runs().map(|(key, _)| key.case().name))
            .text("policy", runs().map(|(key, _)| key.policy()))
            .integer("seed", runs().map(|(key, _)| Some(key.seed)))
            .real("after_bps", runs().map(|(_, run)| run.after))
            .real("whole_bps", runs().map(|(_, run)| run.whole))
            .real("gap_s", runs().map(|(_, run)| run.gap))
            .real("cross_loss", runs().map(|(_, run)| run.cross_loss.unwrap_or(f64::NAN)))
            .text("command", runs().map(|(key, _)| key.command()));
        Data { name: "comparison", about: "every run of the comparison", table, csv: true }
    }
}

fn row_of(row: &Row, names: &[&str], cells: fn(&super::Cell) -> report::Cell) -> Vec<report::Cell> {
    let of = |name: &&str| row.cells.iter().find(|cell| cell.policy == *name);
    names.iter().map(|name| of(name).map(cells).unwrap_or_default()).collect()
}

fn throughput(cell: &super::Cell) -> report::Cell {
    let tone = match cell.regret {
        Some(regret) if regret.mean >= BAD => Tone::Bad,
        Some(regret) if regret.mean <= GOOD => Tone::Good,
        _ => Tone::Plain,
    };
    let note = cell.regret.as_ref().map(percent).unwrap_or_default();
    report::Cell { text: rate(cell.after.mean), note, tone }
}

fn gap(cell: &super::Cell) -> report::Cell {
    let lost = cell.cross_loss.map(|lost| format!("others lose {:.2} %", lost.mean * 100.0));
    report::Cell { text: format!("{:.3}", cell.gap.mean), note: lost.unwrap_or_default(), tone: Tone::Plain }
}
