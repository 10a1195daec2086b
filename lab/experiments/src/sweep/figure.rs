//! Draws the tables and figures of a sweep.

use super::{FigureSpec, Outcome, Quantity, Selector, TableSpec, text};
use crate::figure::{self as chart, Chart, Mark, Point, Series, Style, round_up};
use crate::report::{Cell, Figure, Grid, Panel, Tone};
use crate::stats::Mean;

/// Characters of all places of an axis together, from which they are numbered instead.
const MOST_NAMES: usize = 48;

/// A table of cells, by index.
pub(super) struct Cells {
    pub(super) caption: String,
    /// Head of the rows' names.
    pub(super) head: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<(String, Vec<usize>)>,
}

impl Outcome<'_> {
    /// Returns the tables of a specification: one for each combination of the axes that are neither its rows
    /// nor its columns.
    pub(super) fn grids(&self, spec: &TableSpec) -> Vec<Cells> {
        let sweep = self.sweep;
        let axes: Vec<usize> = spec.rows.into_iter().chain(spec.columns).collect();
        let names = |axis: Option<usize>, alone: &str| match axis {
            Some(axis) => sweep.axes[axis].values.iter().map(|value| value.name.clone()).collect(),
            None => vec![alone.to_owned()],
        };
        let (rows, columns) = (names(spec.rows, "all"), names(spec.columns, sweep.label(spec.cells)));
        let grid = |others: &Selector| {
            let at = |row: usize, column: usize| {
                let mut values = vec![0; sweep.axes.len()];
                let own = [spec.rows.map(|axis| (axis, row)), spec.columns.map(|axis| (axis, column))];
                for &(axis, value) in others.iter().chain(own.iter().flatten()) {
                    values[axis] = value;
                }
                sweep.cell(&values)
            };
            let row = |(number, name): (usize, &String)| {
                (name.clone(), (0..columns.len()).map(|column| at(number, column)).collect())
            };
            Cells {
                caption: captioned(&spec.title, &sweep.selected(others)),
                head: axes
                    .iter()
                    .map(|&axis| sweep.axes[axis].label.as_str())
                    .collect::<Vec<_>>()
                    .join(" \\ "),
                columns: columns.clone(),
                rows: rows.iter().enumerate().map(row).collect(),
            }
        };
        sweep.combinations(&spec.at, &axes).iter().map(grid).collect()
    }

    /// Returns the tables and figures for a page.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        let tables = Figure {
            label: "Tables".to_owned(),
            title: self.sweep.title.clone(),
            caption: format!(
                "Means over {}, with the half-width of the 95 % confidence interval.",
                crate::words::counted(self.seeds.len() as u64, "seed")
            ),
            grids: self.sweep.tables.iter().flat_map(|spec| self.page_grids(spec)).collect(),
            groups: Vec::new(),
        };
        let figures = self.sweep.figures.iter().enumerate();
        std::iter::once(tables).chain(figures.map(|(number, spec)| self.figure(number + 1, spec))).collect()
    }

    fn page_grids(&self, spec: &TableSpec) -> Vec<Grid> {
        let grid = |cells: Cells| Grid {
            caption: cells.caption,
            head: std::iter::once(cells.head).chain(cells.columns).collect(),
            rows: cells
                .rows
                .into_iter()
                .map(|(name, row)| (name, row.into_iter().map(|cell| self.page_cell(spec, cell)).collect()))
                .collect(),
        };
        self.grids(spec).into_iter().map(grid).collect()
    }

    fn page_cell(&self, spec: &TableSpec, cell: usize) -> Cell {
        let shown = |quantity: Quantity| {
            let mean = self.mean(quantity, cell);
            (mean, mean.map(|mean| text::mean(self.sweep.unit(quantity), &mean)))
        };
        let (mean, text) = shown(spec.cells);
        let (judged, note) = spec.note.map_or((mean, None), shown);
        let tone = match (spec.tones, judged) {
            (Some((good, bad)), Some(Mean { mean, .. })) => tone(mean, good, bad),
            _ => Tone::Plain,
        };
        Cell { text: text.unwrap_or_else(|| "–".to_owned()), note: note.unwrap_or_default(), tone }
    }

    fn figure(&self, number: usize, spec: &FigureSpec) -> Figure {
        let sweep = self.sweep;
        let axes: Vec<usize> = std::iter::once(spec.x).chain(spec.series).collect();
        let combinations = sweep.combinations(&spec.at, &axes);
        let several = combinations.len() > 1;
        let panel = |(panel, others): (usize, &Selector)| Panel {
            slug: if several { format!("figure-{number}-{}", panel + 1) } else { format!("figure-{number}") },
            caption: captioned(
                &format!(
                    "{} over {}{}",
                    sweep.label(spec.y),
                    sweep.axes[spec.x].label,
                    self.numbered(spec.x)
                ),
                &sweep.selected(others),
            ),
            chart: self.chart(spec, others),
        };
        Figure {
            label: format!("Figure {number}"),
            title: spec.title.clone(),
            caption: "Means with their 95 % confidence intervals.".to_owned(),
            grids: Vec::new(),
            groups: vec![(None, combinations.iter().enumerate().map(panel).collect())],
        }
    }

    /// Returns the list of an axis' values if a figure numbers them.
    fn numbered(&self, axis: usize) -> String {
        let values = &self.sweep.axes[axis].values;
        if !is_long(values.iter().map(|value| value.name.as_str())) {
            return String::new();
        }
        let named = values.iter().zip(1..).map(|(value, number)| format!("{number} {}", value.name));
        format!(" ({})", named.collect::<Vec<_>>().join("; "))
    }

    fn chart(&self, spec: &FigureSpec, others: &Selector) -> Chart {
        let sweep = self.sweep;
        let x = &sweep.axes[spec.x];
        let numbers: Option<Vec<f64>> = x.values.iter().map(|value| value.number).collect();
        let numbers = numbers.filter(|numbers| numbers.len() > 1 && numbers.is_sorted());
        let lines = spec.series.map_or(1, |axis| sweep.axes[axis].values.len());
        let mean = |line: usize, place: usize| {
            let mut values = vec![0; sweep.axes.len()];
            let own = [Some((spec.x, place)), spec.series.map(|axis| (axis, line))];
            for &(axis, value) in others.iter().chain(own.iter().flatten()) {
                values[axis] = value;
            }
            self.mean(spec.y, sweep.cell(&values))
        };
        let means: Vec<Vec<Option<Mean>>> =
            (0..lines).map(|line| (0..x.values.len()).map(|place| mean(line, place)).collect()).collect();
        let (least, most) =
            means.iter().flatten().flatten().fold((0.0_f64, 0.0_f64), |(least, most), mean| {
                let half = if mean.half_width.is_finite() { mean.half_width } else { 0.0 };
                (least.min(mean.mean - half), most.max(mean.mean + half))
            });
        let scale = text::Scale::of(sweep.unit(spec.y), most.max(-least));
        let point = |(place, mean): (usize, &Option<Mean>)| {
            let mean = (*mean)?.scaled(scale.factor);
            let half_width = mean.half_width.is_finite().then_some(mean.half_width);
            let x = numbers.as_ref().map_or(place as f64, |numbers| numbers[place]);
            Some(Point { x, y: mean.mean, half_width })
        };
        let styles = Style::MEASURED.into_iter().cycle();
        let series = means.iter().enumerate().zip(styles).map(|((line, means), style)| Series {
            name: spec.series.map_or_else(
                || sweep.label(spec.y).to_owned(),
                |axis| sweep.axes[axis].values[line].name.clone(),
            ),
            style,
            points: means.iter().enumerate().filter_map(point).collect(),
            mark: if numbers.is_some() { Mark::LineAndDots } else { Mark::Bars },
        });
        let mut y = chart::Axis::new(
            format!("{} ({})", sweep.label(spec.y), scale.symbol),
            0.0,
            round_up(most * scale.factor * 1.02),
        );
        if least < 0.0 {
            y.from = -round_up(-least * scale.factor * 1.02);
        }
        Chart {
            title: captioned(&spec.title, &sweep.selected(others)),
            x: x_axis(x, numbers.as_deref()),
            y,
            series: series.collect(),
            markers: Vec::new(),
        }
    }
}

fn x_axis(axis: &super::Axis, numbers: Option<&[f64]>) -> chart::Axis {
    if let Some([first, .., last]) = numbers {
        let room = (last - first) * 0.04;
        return chart::Axis::new(axis.label.clone(), first - room, last + room);
    }
    let names = || axis.values.iter().map(|value| value.name.as_str());
    let places = match is_long(names()) {
        true => (1..=axis.values.len()).map(|number| number.to_string()).collect(),
        false => names().map(str::to_owned).collect(),
    };
    chart::Axis::named(axis.label.clone(), places)
}

fn is_long<'n>(names: impl Iterator<Item = &'n str>) -> bool {
    names.map(|name| name.chars().count() + 2).sum::<usize>() > MOST_NAMES
}

fn captioned(title: &str, conditions: &str) -> String {
    if conditions.is_empty() { title.to_owned() } else { format!("{title}, {conditions}") }
}

fn tone(value: f64, good: f64, bad: f64) -> Tone {
    let value = if good < bad { (value <= good, value >= bad) } else { (value >= good, value <= bad) };
    match value {
        (true, _) => Tone::Good,
        (_, true) => Tone::Bad,
        _ => Tone::Plain,
    }
}
