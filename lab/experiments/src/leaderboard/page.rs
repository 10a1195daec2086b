//! The leaderboard as a page: the table, all drives in order, and a plot for each drive.

use msctp_lab_schemes::policies::policies;

use super::drive::{BIN, USER_SHARE};
use super::run::Sender;
use super::{Complete, Leaderboard, Row};
use crate::figure::{Axis, Chart, Mark, Point, Series, Style, round_up};
use crate::report::{Cell, Data, Figure, Grid, Panel, Tone};
use crate::table::Table;

/// Number of 0.5 s intervals in a step of a plot.
const STEP: usize = 4;
/// Maximum number of policies in a plot, since more curves cannot be distinguished.
const MOST_POLICIES: usize = 3;

/// One drive over time, in steps of two seconds. Rates in Mbps of user data.
#[derive(Clone, Debug)]
pub(super) struct Course {
    drive: String,
    /// Capacity of each network.
    capacities: [Vec<f64>; 2],
    /// Index of the network with the lower total capacity.
    worse: usize,
    /// Goodput of the policies that began on that network, by name.
    carried: Vec<(&'static str, Vec<f64>)>,
}

impl Course {
    pub(super) fn of(complete: &Complete<'_>) -> Self {
        let drive = complete.drive;
        let seconds = STEP as f64 * BIN;
        let steps = (drive.duration() / seconds) as usize;
        let capacities = [0, 1].map(|network| {
            let bits = |step: usize| {
                drive.capacity(network, step as f64 * seconds, (step + 1) as f64 * seconds) * USER_SHARE
            };
            (0..steps).map(|step| bits(step) / seconds / 1e6).collect::<Vec<f64>>()
        });
        let sum = |network: usize| capacities[network].iter().sum::<f64>();
        let worse = usize::from(sum(1) < sum(0));
        let carried = complete.runs.iter().filter_map(|(sender, run)| match *sender {
            Sender::Both { policy, first } if first == worse => {
                let rate = |bytes: &[u64]| bytes.iter().sum::<u64>() as f64 * 8.0 / seconds / 1e6;
                Some((policies()[policy].name, run.delivered.chunks_exact(STEP).map(rate).collect()))
            }
            _ => None,
        });
        let carried = carried.collect();
        Self { drive: drive.name.clone(), worse, carried, capacities }
    }

    fn panel(&self, networks: &[String; 2], shown: &[&str]) -> Panel {
        let curve = |name: &str, style, rates: &[f64]| {
            let point = |(step, &rate): (usize, &f64)| Point::new((step * STEP) as f64 * BIN, rate);
            let points = rates.iter().enumerate().map(point).collect();
            Series { name: name.to_owned(), style, points, mark: Mark::Steps, ..Series::default() }
        };
        let capacities = networks.iter().zip(&self.capacities);
        let mut series: Vec<Series> = [Style::First, Style::Second]
            .into_iter()
            .zip(capacities)
            .map(|(style, (name, rates))| curve(name, style, rates))
            .collect();
        for (name, style) in shown.iter().zip([Style::Reference, Style::Fourth, Style::Fifth]) {
            if let Some((_, rates)) = self.carried.iter().find(|(policy, _)| policy == name) {
                series.push(curve(name, style, rates));
            }
        }
        let most = |of: fn(&Point) -> f64| {
            series.iter().flat_map(|series| &series.points).map(of).fold(1.0, f64::max)
        };
        let end = most(|point| point.x) + STEP as f64 * BIN;
        Panel {
            slug: self.drive.clone(),
            caption: format!("{}, beginning on {}", self.drive, networks[self.worse]),
            chart: Chart {
                title: format!("Rates over {}", self.drive),
                x: Axis::new("time (s)", 0.0, end),
                y: Axis::new("rate (Mbps)", 0.0, round_up(most(|point| point.y))),
                series,
                markers: Vec::new(),
            },
        }
    }
}

impl Leaderboard {
    /// Returns the figures of the page: a plot with all drives in order, and a plot for each drive.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        let mut best: Vec<&Row> = self.rows.iter().filter(|row| row.is_policy()).collect();
        best.sort_by(|a, b| b.of_better.total_cmp(&a.of_better));
        let mut shown: Vec<&str> = Vec::new();
        for row in best {
            if !shown.contains(&row.sender.as_str()) {
                shown.push(&row.sender);
            }
        }
        shown.truncate(MOST_POLICIES);
        let mut figures = vec![Figure {
            label: "Leaderboard".to_owned(),
            title: "All senders".to_owned(),
            caption: self.legend(),
            grids: vec![self.grid()],
            groups: self.ordered(&shown).map(|panel| (None, vec![panel])).into_iter().collect(),
        }];
        if !self.courses.is_empty() {
            let panels = self.courses.iter().map(|course| course.panel(&self.networks, &shown));
            figures.push(Figure {
                label: "Drives".to_owned(),
                title: "Each drive".to_owned(),
                caption:
                    "Both networks' capacity and the rate delivered under the best policies, means of two \
                          seconds. Each run begins on the network that carries less in total."
                        .to_owned(),
                grids: Vec::new(),
                groups: vec![(None, panels.collect())],
            });
        }
        figures
    }

    fn grid(&self) -> Grid {
        let (head, rows) = self.cells();
        let rows = rows.into_iter().zip(&self.rows).map(|(cells, row)| {
            let mut cells = cells.into_iter();
            let name = cells.next().unwrap_or_default();
            let mut cells: Vec<Cell> = cells.map(|text| Cell { text, ..Cell::default() }).collect();
            if let Some(ratio) = cells.get_mut(1).filter(|_| row.is_policy()) {
                ratio.tone = if row.of_better >= 1.0 { Tone::Good } else { Tone::Bad };
            }
            (name, cells)
        });
        Grid { caption: format!("{} drives", self.drives), head, rows: rows.collect() }
    }

    /// Draws every drive's goodput as a ratio to the better single network, in ascending order for each
    /// policy.
    fn ordered(&self, shown: &[&str]) -> Option<Panel> {
        let rows = self.rows.iter().filter(|row| shown.contains(&row.sender.as_str()));
        let styles = Style::MEASURED.into_iter().cycle();
        let curve = |(row, style): (&Row, Style)| {
            let mut ratios = row.drives.clone();
            ratios.sort_by(f64::total_cmp);
            let points = ratios.iter().enumerate().map(|(at, &ratio)| Point::new(at as f64 + 1.0, ratio));
            Series {
                name: format!("{}, first {}", row.sender, row.first.as_deref().unwrap_or_default()),
                style,
                points: points.collect(),
                mark: Mark::Line,
                ..Series::default()
            }
        };
        let series: Vec<Series> = rows.zip(styles).map(curve).collect();
        let most = series.iter().flat_map(|series| &series.points).map(|point| point.y).fold(1.0, f64::max);
        (!series.is_empty()).then(|| Panel {
            slug: "ordered".to_owned(),
            caption: "Each drive's goodput against the better single network, in ascending order".to_owned(),
            chart: Chart {
                title: "Drives in ascending order of goodput".to_owned(),
                x: Axis::new("drives", 0.0, self.drives as f64 + 1.0),
                y: Axis::new("of the better network", 0.0, round_up(most)),
                series,
                markers: Vec::new(),
            },
        })
    }

    /// Returns the rows as a table, and each drive's ratio in a second one.
    #[must_use]
    pub fn data(&self) -> Vec<Data> {
        let rows = || self.rows.iter();
        let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let first = |row: &Row| row.first.clone().unwrap_or_default();
        let table = Table::new()
            .text("sender", rows().map(|row| row.sender.as_str()))
            .text("first", rows().map(first))
            .real("of_better", rows().map(|row| row.of_better))
            .real("of_optimum", rows().map(|row| row.of_optimum))
            .real("worse", rows().map(|row| row.worse))
            .real("gap_median_s", rows().map(|row| number(row.gap_median)))
            .real("gap_max_s", rows().map(|row| number(row.gap_max)))
            .real("below_1mbps", rows().map(|row| row.below_1mbps))
            .integer(&format!("{}_bytes", self.networks[0]), rows().map(|row| Some(row.bytes[0])))
            .integer(&format!("{}_bytes", self.networks[1]), rows().map(|row| Some(row.bytes[1])))
            .real("queueing_p95_s", rows().map(|row| number(row.queueing_p95)))
            .real("video_p95_s", rows().map(|row| number(row.video_p95)))
            .real("video_p95_of_nine_tenths_s", rows().map(|row| number(row.video_p95_of_nine_tenths)));
        let each = || rows().flat_map(|row| self.courses.iter().zip(&row.drives).map(move |one| (row, one)));
        let drives = Table::new()
            .text("sender", each().map(|(row, _)| row.sender.as_str()))
            .text("first", each().map(|(row, _)| first(row)))
            .text("drive", each().map(|(_, (course, _))| course.drive.as_str()))
            .real("of_better", each().map(|(_, (_, ratio))| *ratio));
        vec![
            Data { name: "leaderboard", about: "a row for each sender", table, csv: true },
            Data { name: "drives", about: "each sender's ratio on each drive", table: drives, csv: true },
        ]
    }
}

impl Row {
    /// Returns whether a row belongs to a handover policy, not to a single network or a rule.
    fn is_policy(&self) -> bool {
        self.first.is_some() && self.gap_median.is_some()
    }
}
