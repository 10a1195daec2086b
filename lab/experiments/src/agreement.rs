//! Compares the simulator with real stacks: ratios of their results with intervals, and the claims judged in
//! both.

use std::fmt::Write;

use serde::Serialize;

use crate::claims::{Claim, Grade};
use crate::report::{Cell, Data, Figure, Grid, Tone};
use crate::stats::{Mean, Ratio};
use crate::table::Table;
use crate::words::spread;

/// Maximum accepted distance of the ratio from one.
pub const AIM: f64 = 0.10;

/// One metric under one condition, measured on real stacks and in the simulator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The condition, such as `3G → WLAN, 40 %, adaptive`.
    pub case: String,
    /// The metric with its unit.
    pub measure: String,
    /// The simulator's values, one per run.
    pub simulated: Vec<f64>,
    /// The real stacks' values, one per run.
    pub real: Vec<f64>,
}

/// The assessment of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The whole interval is within [`AIM`].
    Agrees,
    /// The interval reaches beyond [`AIM`] and overlaps it: there are too few runs to decide.
    Open,
    /// The whole interval is outside [`AIM`].
    Differs,
    /// Not measured in both worlds.
    Missing,
}

impl Standing {
    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Open => "undecided",
            Self::Differs => "differs",
            Self::Missing => "not measured",
        }
    }
}

impl Row {
    /// Returns the ratio of real stacks to the simulator; `None` with fewer than two runs of either.
    #[must_use]
    pub fn ratio(&self) -> Option<Ratio> {
        Ratio::of(&self.real, &self.simulated)
    }

    /// Returns the assessment of the ratio.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match self.ratio() {
            None => Standing::Missing,
            Some(Ratio { low, high, .. }) if low >= 1.0 - AIM && high <= 1.0 + AIM => Standing::Agrees,
            Some(Ratio { low, high, .. }) if low <= 1.0 + AIM && high >= 1.0 - AIM => Standing::Open,
            Some(_) => Standing::Differs,
        }
    }

    /// Formats the ratio as `1.02 (0.97 to 1.08)`.
    fn ratio_text(&self) -> String {
        match self.ratio() {
            None => "–".to_owned(),
            Some(Ratio { ratio, low, high }) => format!("{ratio:.3} ({low:.3} to {high:.3})"),
        }
    }
}

/// Formats mean and half-width with three digits or more.
fn mean_text(values: &[f64]) -> String {
    Mean::of(values).map_or("–".to_owned(), |mean| {
        let digits = if mean.mean < 1.0 { 3 } else { 2 - usize::from(mean.mean >= 100.0) };
        let value = format!("{:.digits$}", mean.mean);
        if mean.half_width.is_infinite() {
            return value;
        }
        format!("{value}{}", spread(&mean, |width| format!("{width:.digits$}")))
    })
}

/// An experiment on real stacks, compared with the simulator's.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// The short name of the paper.
    pub paper: String,
    /// A sentence about the number and duration of the runs.
    pub extent: String,
    /// The command that repeats one of the runs.
    pub example: String,
    /// A sentence about the machine's accuracy, the lateness of packets.
    pub machine: String,
    /// The figures.
    pub rows: Vec<Row>,
    /// The claims judged from the simulator's runs and from the real stacks' runs, under the same conditions.
    pub claims: Vec<(Claim, Claim)>,
    /// Known differences, each with its cause as observed in packets.
    pub reasons: Vec<(String, String)>,
    /// Runs that failed, with the reason.
    pub failed: Vec<(String, String)>,
    /// Number of runs that were not started.
    pub skipped: usize,
}

impl Agreement {
    /// Returns the section of the report.
    #[must_use]
    pub fn figure(&self) -> Figure {
        let head = ["case", "measure", "simulator", "real stacks", "ratio (95 % interval)", ""];
        let cell = |text: String| Cell { text, ..Cell::default() };
        let rows = self.rows.iter().map(|row| {
            let tone = match row.standing() {
                Standing::Agrees => Tone::Good,
                Standing::Differs => Tone::Bad,
                Standing::Open | Standing::Missing => Tone::Plain,
            };
            let ratio = Cell { tone, ..cell(row.ratio_text()) };
            let runs =
                |values: &[f64]| Cell { note: format!("{} runs", values.len()), ..cell(mean_text(values)) };
            let standing = cell(row.standing().words().to_owned());
            (
                row.case.clone(),
                vec![cell(row.measure.clone()), runs(&row.simulated), runs(&row.real), ratio, standing],
            )
        });
        let mut grids = vec![Grid {
            caption: "The same scenario in virtual time and on real stacks".to_owned(),
            head: head.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        }];
        let judged: Vec<_> = self.judged().collect();
        if !judged.is_empty() {
            let rows = judged.into_iter().map(|(simulated, real)| {
                let grade = |claim: &Claim| Cell {
                    tone: match claim.grade {
                        Grade::Reproduced => Tone::Good,
                        Grade::Contradicted | Grade::NoEffect => Tone::Bad,
                        Grade::Unresolved | Grade::OutOfReach => Tone::Plain,
                    },
                    ..cell(claim.grade.words(&claim.paper).to_owned())
                };
                (real.id.to_string(), vec![grade(simulated), grade(real)])
            });
            grids.push(Grid {
                caption: "The claims, by the same predicates, over these conditions".to_owned(),
                head: ["claim", "simulator", "real stacks"].map(str::to_owned).to_vec(),
                rows: rows.collect(),
            });
        }
        if !self.reasons.is_empty() {
            let rows = self.reasons.iter().map(|(what, why)| (what.clone(), vec![cell(why.clone())]));
            grids.push(Grid {
                caption: "What differs, and why".to_owned(),
                head: ["what", "why"].map(str::to_owned).to_vec(),
                rows: rows.collect(),
            });
        }
        Figure {
            label: "Real stacks".to_owned(),
            title: "the same runs with real stacks over emulated links".to_owned(),
            caption: format!(
                "{} Real: endpoints of the msctp crate over UDP sockets in network namespaces, the kernel’s TCP where there is TCP, \
                 the scenario’s links, queues and background by the emulator in real time. {} The aim is a ratio within {:.0} % of \
                 one; where the interval alone reaches there, the runs are too few to tell. One run by itself: {}",
                self.extent,
                self.machine,
                AIM * 100.0,
                self.example
            ),
            grids,
            groups: Vec::new(),
        }
    }

    /// Returns the claims for which the runs on real stacks suffice.
    fn judged(&self) -> impl Iterator<Item = &(Claim, Claim)> {
        self.claims.iter().filter(|(_, real)| real.is_judged())
    }

    /// Returns all values as a table for `data/`.
    #[must_use]
    pub fn data(&self) -> Data {
        let values = || {
            self.rows.iter().flat_map(|row| {
                let of = |world: &'static str, values: &'_ [f64]| {
                    values.iter().map(|&value| (row, world, value)).collect::<Vec<_>>()
                };
                [of("simulator", &row.simulated), of("real stacks", &row.real)].concat()
            })
        };
        Data {
            name: "real-stacks",
            about: "every figure of every run in the simulator and on real stacks",
            table: Table::new()
                .text("case", values().map(|(row, _, _)| row.case.clone()))
                .text("measure", values().map(|(row, _, _)| row.measure.clone()))
                .text("world", values().map(|(_, world, _)| world))
                .real("value", values().map(|(_, _, value)| value)),
            csv: true,
        }
    }

    /// Formats the tables as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = format!("{} {} One run by itself: `{}`\n\n", self.extent, self.machine, self.example);
        let _ = writeln!(out, "| case | measure | simulator | real stacks | ratio (95 % interval) | |");
        let _ = writeln!(out, "|---|---|---:|---:|---:|---|");
        for row in &self.rows {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                row.case,
                row.measure,
                mean_text(&row.simulated),
                mean_text(&row.real),
                row.ratio_text(),
                row.standing().words()
            );
        }
        let judged: Vec<_> = self.judged().collect();
        if !judged.is_empty() {
            let _ = writeln!(out, "\n| claim | simulator | real stacks |\n|---|---|---|");
        }
        for (simulated, real) in judged {
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                real.id,
                simulated.grade.words(&simulated.paper),
                real.grade.words(&real.paper)
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(real: &[f64]) -> Row {
        let simulated = vec![99.0, 100.0, 101.0, 100.0];
        Row { case: "a case".into(), measure: "ms".into(), simulated, real: real.to_vec() }
    }

    #[test]
    fn a_ratio_agrees_differs_or_is_undecided() {
        assert_eq!(row(&[104.0, 105.0, 106.0]).standing(), Standing::Agrees);
        assert_eq!(row(&[129.0, 130.0, 131.0]).standing(), Standing::Differs);
        assert_eq!(row(&[80.0, 130.0, 160.0]).standing(), Standing::Open);
        // A ratio of one proves nothing if the interval is wide.
        assert_eq!(row(&[70.0, 100.0, 130.0]).standing(), Standing::Open);
        assert_eq!(row(&[100.0]).standing(), Standing::Missing);
    }

    #[test]
    fn the_tables_name_differences_and_causes() {
        let agreement = |real: &[f64]| Agreement {
            paper: "kim-koh".into(),
            extent: "Two runs.".into(),
            example: "msctp-lab emulate".into(),
            machine: "On time.".into(),
            rows: vec![row(real)],
            claims: Vec::new(),
            reasons: vec![("a case".into(), "because".into())],
            failed: Vec::new(),
            skipped: 0,
        };
        let differs = agreement(&[129.0, 130.0, 131.0]);
        assert!(differs.markdown().contains("| differs |"), "{}", differs.markdown());
        assert!(agreement(&[100.0, 101.0]).markdown().contains("| agrees |"));
        let figure = differs.figure();
        assert_eq!(figure.grids[0].rows[0].1[3].tone, Tone::Bad);
        assert_eq!(figure.grids[1].rows[0].1[0].text, "because");
        assert_eq!(differs.data().table.rows(), 4 + 3);
    }
}
