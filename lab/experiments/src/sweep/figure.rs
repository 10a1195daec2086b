//! Draws the tables and figures of a sweep.

use super::repeat::CurveRuns;
use super::text::{self, Shown};
use super::{
    Drawn, FigureSpec, Intervals, MarkedAt, Outcome, PanelSpec, Quantity, Selector, TableSpec, Value, moved,
};
use crate::figure::{self as chart, Chart, Mark, Marker, Point, Series, Style, round_up};
use crate::report::{Cell, Figure, Grid, Panel, Tone};
use crate::stats::Mean;
use crate::words::counted;

/// Total number of characters of an axis' labels above which the positions are numbered instead.
const MOST_NAMES: usize = 48;

/// A cell by index, if it is run, and the quantity that a table shows for it.
type Place = (Option<usize>, Quantity);

/// A table of cells.
pub(super) struct Cells {
    pub(super) caption: String,
    /// Head of the rows' names.
    pub(super) head: String,
    pub(super) columns: Vec<String>,
    /// Rows with their names, each with the cell and quantity in each column.
    pub(super) rows: Vec<(String, Vec<Place>)>,
}

impl Outcome<'_> {
    /// Returns the tables of a specification: one for each combination of the axes that are neither rows nor
    /// columns.
    pub(super) fn grids(&self, spec: &TableSpec) -> Vec<Cells> {
        let sweep = self.sweep;
        let axes: Vec<usize> = spec.rows.iter().copied().chain(spec.columns).collect();
        // The columns: the values of an axis, or the quantities.
        type Column = (String, Option<(usize, usize)>, Quantity);
        let columns: Vec<Column> = match spec.columns {
            Some(axis) => {
                let column = |value: usize| {
                    (sweep.axes[axis].values[value].name.clone(), Some((axis, value)), spec.cells[0])
                };
                let at = spec.at.iter().find(|(of, _)| *of == axis).map(|(_, values)| values.clone());
                let values = at.unwrap_or_else(|| (0..sweep.axes[axis].values.len()).collect());
                values.into_iter().map(column).collect()
            }
            None => spec.cells.iter().map(|&cells| (sweep.label(cells).to_owned(), None, cells)).collect(),
        };
        let free: Vec<usize> = (0..sweep.axes.len()).filter(|axis| !spec.rows.contains(axis)).collect();
        // The caption leaves out what the table itself fixes.
        let open = |others: &Selector| -> Selector {
            let fixed = |axis: usize| spec.at.iter().any(|(of, values)| *of == axis && values.len() == 1);
            others.iter().filter(|(axis, _)| !fixed(*axis)).cloned().collect()
        };
        let grid = |others: &Selector| {
            let at: Selector = spec.at.iter().filter(|(axis, _)| spec.rows.contains(axis)).cloned().collect();
            let mut rows = match spec.rows.len() {
                0 => vec![Selector::new()],
                _ => sweep.combinations(&at, &free),
            };
            // In the order of the axes of the table.
            let place = |row: &Selector| {
                let value = |axis| row.iter().find(|(of, _)| of == axis).map(|(_, values)| values[0]);
                spec.rows.iter().map(value).collect::<Vec<_>>()
            };
            rows.sort_by_key(place);
            let row = |row: &Selector| {
                let values = moved(&moved(&vec![0; sweep.axes.len()], others), row);
                let cell = |(_, column, of): &Column| {
                    let own: Selector = column.iter().map(|&(axis, value)| (axis, vec![value])).collect();
                    (sweep.cell(&moved(&values, &own)), *of)
                };
                let name = match &row[..] {
                    [] => "all".to_owned(),
                    [(axis, value)] => sweep.axes[*axis].values[value[0]].name.clone(),
                    _ => {
                        let ordered = spec.rows.iter().zip(place(row));
                        ordered
                            .map(|(&axis, value)| sweep.word(axis, value.unwrap_or(0)))
                            .collect::<Vec<_>>()
                            .join(", ")
                    }
                };
                (name, columns.iter().map(cell).collect::<Vec<_>>())
            };
            let several = spec.cells.len() > 1;
            let rows = rows.iter().map(row);
            Cells {
                caption: captioned(&spec.title, &sweep.selected(&open(others))),
                head: axes
                    .iter()
                    .map(|&axis| sweep.axes[axis].label.as_str())
                    .collect::<Vec<_>>()
                    .join(" \\ "),
                columns: columns.iter().map(|(name, ..)| name.clone()).collect(),
                // A row of a list that has no run is left out.
                rows: rows
                    .filter(|(_, cells)| !several || cells.iter().any(|(cell, _)| cell.is_some()))
                    .collect(),
            }
        };
        sweep.combinations(&spec.at, &axes).iter().map(grid).filter(|grid| !grid.rows.is_empty()).collect()
    }

    /// Returns the tables and figures for a page.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        let sweep = self.sweep;
        let tables = Figure {
            label: "Tables".to_owned(),
            title: sweep.title.clone(),
            caption: format!(
                "Means over {}, with the half-width of the 95 % confidence interval.",
                counted(sweep.seeds.len() as u64, "seed")
            ),
            grids: sweep.tables.iter().flat_map(|spec| self.page_grids(spec)).collect(),
            groups: Vec::new(),
        };
        let tables = Some(tables).filter(|tables| !tables.grids.is_empty());
        tables.into_iter().chain(sweep.figures.iter().filter_map(|spec| self.figure(spec))).collect()
    }

    fn page_grids(&self, spec: &TableSpec) -> Vec<Grid> {
        let grid = |cells: Cells| Grid {
            caption: cells.caption,
            head: std::iter::once(cells.head).chain(cells.columns).collect(),
            rows: cells
                .rows
                .into_iter()
                .map(|(name, row)| {
                    (name, row.into_iter().map(|(cell, of)| self.page_cell(spec, cell, of)).collect())
                })
                .collect(),
        };
        self.grids(spec).into_iter().map(grid).collect()
    }

    fn page_cell(&self, spec: &TableSpec, cell: Option<usize>, of: Quantity) -> Cell {
        let shown = |quantity: Quantity| {
            let mean = cell.and_then(|cell| self.shown(spec, quantity, cell));
            (mean, mean.map(|mean| text::mean(self.sweep.unit(quantity), &mean)))
        };
        let (mean, text) = shown(of);
        let notes: Vec<_> = spec.notes.iter().map(|&note| shown(note)).collect();
        let judged = notes.first().map_or(mean, |(mean, _)| *mean);
        let tone = match (spec.tones, judged) {
            (Some((good, bad)), Some(Mean { mean, .. })) => tone(mean, good, bad),
            _ => Tone::Plain,
        };
        let notes: Vec<String> = notes.into_iter().filter_map(|(_, text)| text).collect();
        Cell { text: text.unwrap_or_else(|| "–".to_owned()), note: notes.join("; "), tone }
    }

    /// Returns the value of a quantity that a table shows: its mean, or that of the table's seed.
    pub(super) fn shown(&self, spec: &TableSpec, quantity: Quantity, cell: usize) -> Option<Mean> {
        let Some(seed) = spec.seed else { return self.mean(quantity, cell) };
        let values = self.by_seed(quantity, cell);
        Mean::of(&[values.into_iter().find(|(of, _)| *of == seed)?.1])
    }

    /// Returns a figure with a row of panels for each value of the axis that is judged separately.
    fn figure(&self, spec: &FigureSpec) -> Option<Figure> {
        let sweep = self.sweep;
        let conditions: Vec<Option<usize>> = match sweep.judged {
            Some(axis) => (0..sweep.axes[axis].values.len()).map(Some).collect(),
            None => vec![None],
        };
        let group = |condition: Option<usize>| {
            let panels: Vec<Panel> =
                spec.panels.iter().flat_map(|panel| self.panels(spec, panel, condition)).collect();
            let named =
                sweep.judged.zip(condition).map(|(axis, value)| sweep.axes[axis].values[value].label());
            (!panels.is_empty()).then(|| (named.map(|name| name.to_owned().into()), panels))
        };
        let mut groups: Vec<_> = conditions.into_iter().filter_map(group).collect();
        if spec.same_scale {
            let charts = || groups.iter().flat_map(|(_, panels)| panels).map(|panel| &panel.chart.y);
            let (from, to) = charts().fold((0.0, 0.0), |(from, to), y| (y.from.min(from), y.to.max(to)));
            for panel in groups.iter_mut().flat_map(|(_, panels)| panels) {
                (panel.chart.y.from, panel.chart.y.to) = (from, to);
            }
        }
        let grids: Vec<Grid> = spec.tables.iter().flat_map(|table| self.page_grids(table)).collect();
        (!groups.is_empty() || !grids.is_empty()).then(|| Figure {
            label: spec.label.clone(),
            title: spec.title.clone(),
            caption: spec.caption.clone(),
            grids,
            groups,
        })
    }

    /// Returns a panel for each combination of the axes that it does not name, and for each group of its x
    /// axis.
    fn panels(&self, figure: &FigureSpec, spec: &PanelSpec, condition: Option<usize>) -> Vec<Panel> {
        let sweep = self.sweep;
        let mut at = spec.at.clone();
        at.extend(sweep.judged.zip(condition).map(|(axis, value)| (axis, vec![value])));
        let mut drawn = spec.series.clone();
        let mut groups = vec![None];
        if let Drawn::Over { x, .. } = spec.draw {
            drawn.push(x);
            if !sweep.axes[x].groups.is_empty() {
                groups = (0..sweep.axes[x].groups.len()).map(Some).collect();
            }
        }
        let combinations = sweep.combinations(&at, &drawn);
        let several = combinations.len() > 1;
        let mut panels = Vec::new();
        for (number, others) in combinations.iter().enumerate() {
            for &group in &groups {
                let chart = Drawing { outcome: self, spec, at: &at, others, group }.chart();
                let chart = chart.filter(|chart| chart.series.iter().any(|series| !series.points.is_empty()));
                let Some(mut chart) = chart else { continue };
                let open: Selector =
                    others.iter().filter(|(axis, _)| self.is_open(spec, *axis)).cloned().collect();
                let mut slug = spec.slug.clone();
                if let Some((axis, value)) = sweep.judged.zip(condition) {
                    slug.push_str(&format!("-{}", file_name(sweep.axes[axis].values[value].short())));
                }
                if several {
                    let named: Vec<String> = open
                        .iter()
                        .map(|(axis, values)| file_name(sweep.axes[*axis].values[values[0]].short()))
                        .collect();
                    let named =
                        if sweep.paper.is_some() { named.join("-") } else { (number + 1).to_string() };
                    slug.push_str(&format!("-{named}"));
                }
                let mut words = sweep.selected(&open);
                if let (&Drawn::Over { x, .. }, Some(group)) = (&spec.draw, group) {
                    let group = &sweep.axes[x].groups[group];
                    slug.push_str(&format!("-{}", file_name(&group.name)));
                    words = [words, group.label.clone()]
                        .into_iter()
                        .filter(|part| !part.is_empty())
                        .collect::<Vec<_>>()
                        .join(", ");
                }
                let what =
                    if spec.caption.is_empty() { self.what(spec, &chart) } else { spec.caption.clone() };
                chart.title =
                    captioned(&format!("{}: {}", figure.label, figure.title), &sweep.selected(others));
                panels.push(Panel { slug, caption: captioned(&what, &words), chart });
            }
        }
        panels
    }

    /// Returns true if the panel leaves an axis open that has several values and is not judged separately.
    fn is_open(&self, spec: &PanelSpec, axis: usize) -> bool {
        let single = spec.at.iter().any(|(of, values)| *of == axis && values.len() == 1);
        !single && self.sweep.judged != Some(axis) && self.sweep.axes[axis].values.len() > 1
    }

    /// Returns a text about the content of a chart.
    fn what(&self, spec: &PanelSpec, chart: &Chart) -> String {
        let sweep = self.sweep;
        match &spec.draw {
            &Drawn::Over { x, y, .. } => {
                format!("{} over {}{}", sweep.label(y), sweep.axes[x].label, self.numbered(x))
            }
            Drawn::Curve { curves, seed, .. } => {
                let labels: Vec<&str> = curves.iter().map(|&curve| &*sweep.curves[curve].label).collect();
                let runs = match seed {
                    Some(seed) => format!("seed {seed}"),
                    None => format!("mean of {}", counted(sweep.seeds.len() as u64, "run")),
                };
                format!("{} over {}, {runs}", labels.join(", "), chart.x.label)
            }
        }
    }

    /// Returns the list of an axis' values, if a figure numbers them.
    fn numbered(&self, axis: usize) -> String {
        let values = &self.sweep.axes[axis].values;
        if !is_long(values.iter().map(Value::short)) {
            return String::new();
        }
        let named = values.iter().zip(1..).map(|(value, number)| format!("{number} {}", value.name));
        format!(" ({})", named.collect::<Vec<_>>().join("; "))
    }
}

/// A curve of a chart.
struct Curve {
    name: String,
    points: Vec<(f64, Mean)>,
    /// Runs behind the line; `None` if it has no cell.
    runs: Option<CurveRuns>,
}

/// The parts of one chart.
struct Drawing<'d> {
    outcome: &'d Outcome<'d>,
    spec: &'d PanelSpec,
    at: &'d Selector,
    others: &'d Selector,
    /// The group of the x axis' values.
    group: Option<usize>,
}

impl Drawing<'_> {
    fn chart(&self) -> Option<Chart> {
        let mut chart = match &self.spec.draw {
            &Drawn::Over { x, y, even, intervals } => self.over(x, y, even, intervals)?,
            Drawn::Curve { curves, dots, intervals, one_run, seed } => {
                self.curves(curves, (*dots, *one_run, *seed), *intervals)?
            }
        };
        let marks = self.spec.marks.iter().flat_map(|(label, at)| {
            let places = self.marked(*at).into_iter().filter(|x| (chart.x.from..=chart.x.to).contains(x));
            places.map(|x| Marker { x, label: label.clone() }).collect::<Vec<_>>()
        });
        let mut markers: Vec<Marker> = marks.collect();
        markers.sort_by(|a, b| a.x.total_cmp(&b.x));
        chart.markers = markers;
        Some(chart)
    }

    /// Returns the places of a mark: of a curve, its points in the run that is drawn.
    fn marked(&self, at: MarkedAt) -> Vec<f64> {
        let curve = match at {
            MarkedAt::X(x) => return vec![x],
            MarkedAt::Points(curve) => curve,
        };
        let seed = if let Drawn::Curve { seed, .. } = self.spec.draw { seed } else { None };
        let cells = self.lines().into_iter().filter_map(|(line, _)| self.cell(&line, None));
        let mut runs = cells.flat_map(|cell| self.outcome.of_cell(cell));
        let run = runs.find(|(key, _)| seed.is_none_or(|seed| seed == key.seed));
        run.map_or_else(Vec::new, |(_, values)| values.curves[curve].iter().map(|(x, _)| *x).collect())
    }

    /// Returns the combinations of the series' values, each with its name.
    fn lines(&self) -> Vec<(Selector, String)> {
        let sweep = self.outcome.sweep;
        let mut lines: Vec<Selector> = vec![Selector::new()];
        for &axis in &self.spec.series {
            let chosen = self.at.iter().find(|(of, _)| *of == axis).map(|(_, values)| values.clone());
            let values = chosen.unwrap_or_else(|| (0..sweep.axes[axis].values.len()).collect());
            let longer = |line: &Selector| {
                values.iter().map(|&value| [&line[..], &[(axis, vec![value])]].concat()).collect::<Vec<_>>()
            };
            lines = lines.iter().flat_map(longer).collect();
        }
        let name = |line: &Selector| {
            let names: Vec<&str> =
                line.iter().map(|(axis, values)| sweep.axes[*axis].values[values[0]].label()).collect();
            names.join(" ")
        };
        lines.into_iter().map(|line| (line.clone(), name(&line))).collect()
    }

    /// Returns the cell of a line, with the value of another axis if there is one.
    fn cell(&self, line: &Selector, x: Option<(usize, usize)>) -> Option<usize> {
        let sweep = self.outcome.sweep;
        let mut values = moved(&moved(&vec![0; sweep.axes.len()], self.others), line);
        if let Some((axis, value)) = x {
            values[axis] = value;
        }
        sweep.cell(&values)
    }

    /// Draws a quantity over an axis' values.
    fn over(&self, x: usize, y: Quantity, even: bool, intervals: bool) -> Option<Chart> {
        let (outcome, sweep) = (self.outcome, self.outcome.sweep);
        let axis = &sweep.axes[x];
        let lines = self.lines();
        let mean = |line: &Selector, place: usize| {
            self.cell(line, Some((x, place))).and_then(|cell| outcome.mean(y, cell))
        };
        // A value without any run, or of another group, has no place.
        let chosen = self.at.iter().find(|(of, _)| *of == x).map(|(_, values)| values);
        let mut places: Vec<usize> = (0..axis.values.len())
            .filter(|place| chosen.is_none_or(|chosen| chosen.contains(place)))
            .filter(|&place| self.group.is_none() || axis.values[place].group == self.group)
            .filter(|&place| {
                sweep.paper.is_none() || lines.iter().any(|(line, _)| mean(line, place).is_some())
            })
            .collect();
        let number = |place: &usize| axis.values[*place].number;
        if places.iter().all(|place| number(place).is_some()) {
            places.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal));
        }
        let means: Vec<Vec<Option<Mean>>> =
            lines.iter().map(|(line, _)| places.iter().map(|&place| mean(line, place)).collect()).collect();
        let numbers: Option<Vec<f64>> = places.iter().map(number).collect();
        let numbers = numbers.filter(|numbers| numbers.len() > 1 && !even);
        let scale = sweep.unit(y).scale(most(means.iter().flatten().flatten()));
        let point = |(place, mean): (usize, &Option<Mean>)| {
            let x = numbers.as_ref().map_or(place as f64, |numbers| numbers[place]);
            let point = point(x, &(*mean)?.scaled(scale.factor));
            Some(Point { half_width: point.half_width.filter(|_| intervals), ..point })
        };
        let series = lines.iter().zip(&means).zip(Style::MEASURED.into_iter().cycle());
        // The command of each point that is drawn.
        let commands = |line: &Selector, means: &[Option<Mean>]| -> Vec<String> {
            let drawn = places.iter().zip(means).filter(|(_, mean)| mean.is_some());
            let cells = drawn.map(|(&place, _)| self.cell(line, Some((x, place))));
            let all: Option<Vec<_>> = cells.map(|cell| outcome.repeat(y, cell?, scale.factor)).collect();
            all.unwrap_or_default()
        };
        let series: Vec<Series> = series
            .map(|(((line, name), means), style)| Series {
                commands: commands(line, means),
                name: if name.is_empty() { sweep.label(y).to_owned() } else { name.clone() },
                style,
                points: means.iter().enumerate().filter_map(point).collect(),
                mark: if even || numbers.is_some() { Mark::LineAndDots } else { Mark::Bars },
            })
            .filter(|series| sweep.paper.is_none() || !series.points.is_empty())
            .collect();
        let label = Shown::named(sweep.label(y), scale);
        let values: Vec<&Value> = places.iter().map(|&place| &axis.values[place]).collect();
        let x = x_axis(&axis.label, &values, numbers.as_deref());
        (!places.is_empty()).then(|| Chart { x, y: y_axis(label, &series), series, ..Chart::default() })
    }

    /// Returns a curve of each line.
    fn points(&self, curve: usize, one_run: bool, seed: Option<u64>) -> Vec<Curve> {
        let outcome = self.outcome;
        let [from, to] = self.spec.range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        let shown = |points: Vec<(f64, Mean)>| -> Vec<(f64, Mean)> {
            points.into_iter().filter(|(x, _)| (from..to).contains(x)).collect()
        };
        let of_run = |cell: Option<usize>, seed: Option<u64>| {
            let mut runs = cell.into_iter().flat_map(|cell| outcome.of_cell(cell));
            let run = runs.find(|(key, _)| seed.is_none_or(|seed| seed == key.seed));
            let points = run.map_or(&[][..], |(_, values)| &values.curves[curve]);
            let mean = |&(x, y): &(f64, f64)| Some((x, Mean::of(&[y])?));
            shown(points.iter().filter_map(mean).collect())
        };
        let seeds = |cell: usize| outcome.of_cell(cell).map(|(key, _)| key.seed).collect::<Vec<_>>();
        let behind = |cell: Option<usize>, base: Option<usize>, of: &dyn Fn(u64) -> bool| {
            let seeds = cell.map(seeds)?.into_iter().filter(|&seed| of(seed));
            Some(CurveRuns { cell: cell?, base, seeds: seeds.collect() })
        };
        let mut lines: Vec<Curve> = Vec::new();
        for (line, name) in self.lines() {
            let cell = self.cell(&line, None);
            if seed.is_some() {
                let runs = behind(cell, None, &|of| Some(of) == seed);
                lines.push(Curve { name, points: of_run(cell, seed), runs });
                continue;
            }
            if one_run {
                let first = cell.and_then(|cell| seeds(cell).first().copied());
                let runs = behind(cell, None, &|of| Some(of) == first);
                lines.push(Curve { name: "one run".to_owned(), points: of_run(cell, None), runs });
            }
            let points = cell.map_or_else(Vec::new, |cell| outcome.curve(curve, cell));
            match self.base(cell) {
                None => {
                    let runs = behind(cell, None, &|_| true);
                    lines.push(Curve { name, points: shown(points), runs });
                }
                Some(base) if Some(base) == cell => {}
                Some(base) => {
                    let points = cell.map(|cell| outcome.curve_difference(curve, cell, base));
                    let others = seeds(base);
                    let runs = behind(cell, Some(base), &|seed| others.contains(&seed));
                    lines.push(Curve { name, points: shown(points.unwrap_or_default()), runs });
                }
            }
        }
        lines
    }

    /// Draws curves: their means, or those of one seed.
    fn curves(
        &self,
        curves: &[usize],
        (dots, one_run, seed): (bool, bool, Option<u64>),
        intervals: Intervals,
    ) -> Option<Chart> {
        let sweep = self.outcome.sweep;
        let mut lines = Vec::new();
        for &curve in curves {
            let column = &sweep.curves[curve];
            let named = |name: String| match (curves.len(), name.is_empty()) {
                (_, true) => column.label.clone(),
                (1, false) => name,
                (_, false) => format!("{}, {name}", column.label),
            };
            let of = self.points(curve, one_run, seed);
            lines.extend(of.into_iter().map(|of| (Curve { name: named(of.name), ..of }, curve)));
        }
        let column = &sweep.curves[*curves.first()?];
        let scale =
            column.unit.scale(most(lines.iter().flat_map(|(of, _)| &of.points).map(|(_, mean)| mean)));
        let count = lines.len();
        let series = lines.into_iter().enumerate().zip(Style::MEASURED.into_iter().cycle());
        let series: Vec<Series> = series
            .map(|((number, (Curve { name, points, runs }, curve)), style)| {
                let mark = sweep.curves[curve].mark;
                let command = |runs| self.outcome.repeat_curve(curve, &runs, scale.factor);
                let step =
                    points.first().zip(points.get(1)).map_or(0.0, |(first, second)| second.0 - first.0);
                // Dots and intervals stand side by side, not on top of each other.
                let aside =
                    if dots { (number as f64 - (count as f64 - 1.0) / 2.0) * 0.08 * step } else { 0.0 };
                let shows = |place: usize| match intervals {
                    Intervals::All => true,
                    Intervals::None => false,
                    Intervals::Every(every, apart) => place % every == number * apart % every,
                };
                let of = |(place, (x, mean)): (usize, &(f64, Mean))| {
                    let point = point(x + aside, &mean.scaled(scale.factor));
                    Point { half_width: point.half_width.filter(|_| shows(place)), ..point }
                };
                Series {
                    name,
                    style,
                    points: points.iter().enumerate().map(of).collect(),
                    mark: if dots { Mark::LineAndDots } else { mark },
                    commands: runs.and_then(command).into_iter().collect(),
                }
            })
            .filter(|series| !series.points.is_empty())
            .chain(self.truth(scale))
            .collect();
        let ends = |pick: fn(f64, f64) -> f64| {
            series.iter().flat_map(|series| &series.points).map(|point| point.x).reduce(pick)
        };
        let [from, to] = self.spec.range.unwrap_or([ends(f64::min)?, ends(f64::max)?]);
        let x = chart::Axis::new(column.x, from, to);
        let label = Shown::named(if curves.len() > 1 { "" } else { &column.label }, scale);
        let mut y = y_axis(label.trim().to_owned(), &series);
        // A part of curves far above zero does not begin at zero.
        let values = || series.iter().flat_map(|series| &series.points).map(|point| point.y);
        let least = values().fold(f64::INFINITY, f64::min);
        if self.spec.range.is_some_and(|[from, _]| from > 0.0) && seed.is_some() && least > 0.3 * y.to {
            y.from = least - 0.05 * (y.to - least);
        }
        Some(Chart { x, y, series, ..Chart::default() })
    }
}

impl Drawing<'_> {
    /// Returns the cell whose curve is subtracted from that of a cell.
    fn base(&self, cell: Option<usize>) -> Option<usize> {
        let sweep = self.outcome.sweep;
        let cell = cell.filter(|_| !self.spec.against.is_empty())?;
        sweep.cell(&moved(&sweep.cells[cell].values, &self.spec.against))
    }

    /// Returns the points of known true values, as a series.
    fn truth(&self, scale: text::Scale) -> Option<Series> {
        let points = self.spec.truth.iter().map(|&[x, y]| Point::new(x, y * scale.factor));
        (!self.spec.truth.is_empty()).then(|| Series {
            name: "true".to_owned(),
            style: Style::Reference,
            points: points.collect(),
            mark: Mark::Line,
            ..Series::default()
        })
    }
}

/// Returns the largest magnitude of a value including its interval.
fn most<'m>(means: impl Iterator<Item = &'m Mean>) -> f64 {
    means.fold(0.0, |most: f64, mean| {
        let half = if mean.half_width.is_finite() { mean.half_width } else { 0.0 };
        most.max(mean.mean + half).max(half - mean.mean)
    })
}

fn point(x: f64, mean: &Mean) -> Point {
    Point { x, y: mean.mean, half_width: mean.half_width.is_finite().then_some(mean.half_width) }
}

/// Returns an axis from zero, or from below the smallest value, to a round number above every value.
fn y_axis(label: String, series: &[Series]) -> chart::Axis {
    let ends = series.iter().flat_map(|series| &series.points).map(|point| {
        let half = point.half_width.unwrap_or(0.0);
        (point.y - half, point.y + half)
    });
    let (least, most) =
        ends.fold((0.0_f64, 0.0_f64), |(least, most), (low, high)| (least.min(low), most.max(high)));
    let mut y = chart::Axis::new(label, 0.0, round_up(most * 1.04));
    if least < 0.0 {
        y.from = -round_up(-least * 1.04);
    }
    y
}

fn x_axis(label: &str, values: &[&Value], numbers: Option<&[f64]>) -> chart::Axis {
    if let Some([first, .., last]) = numbers {
        let room = (last - first) * 0.04;
        return chart::Axis::new(label, first - room, last + room);
    }
    let names = || values.iter().map(|value| value.short());
    let places = match is_long(names()) {
        true => (1..=values.len()).map(|number| number.to_string()).collect(),
        false => names().map(str::to_owned).collect(),
    };
    chart::Axis::named(label, places)
}

/// Returns a name without characters that are unsuitable for file names.
fn file_name(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect::<String>().to_lowercase()
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
