//! Reads tables and figures.

use msctp_sim::scenario::Problem;
use msctp_sim::scenario::document::Section;
use toml::de::{DeTable, DeValue};

use super::quantities::{axis, constant, find_axis, named_quantity, other_side, quantity, selector};
use super::{axes::plain_text, list};
use crate::sweep::{Drawn, FigureSpec, Intervals, MarkedAt, PanelSpec, Quantity, Sweep, TableSpec};

pub(super) fn table(table: &DeTable<'_>, path: String, sweep: &Sweep) -> Result<TableSpec, Problem> {
    let keys = ["title", "rows", "columns", "cells", "note", "good", "bad", "at", "seed"];
    let section = Section::open(table, path, &keys)?;
    let cells = quantities(&section, "cells", sweep)?;
    let cells =
        section.required("cells", Some(cells).filter(|all| !all.is_empty()), "\"a metric's name\"")?;
    if cells.len() > 1 && section.has("columns") {
        let message = "several cells already form the columns: remove this key";
        return Err(Problem::new(section.key("columns"), message));
    }
    let notes = quantities(&section, "note", sweep)?;
    let unit = sweep.unit(*notes.first().unwrap_or(&cells[0]));
    let tone = |key: &str| section.has(key).then(|| constant(&section, key, unit)).transpose();
    let tones = match (tone("good")?, tone("bad")?) {
        (Some(good), Some(bad)) if good != bad => Some((good, bad)),
        (None, None) => None,
        _ => {
            let message = "want good and bad together, and different, such as good = 0.02 and bad = 0.1";
            return Err(Problem::new(section.path(), message));
        }
    };
    Ok(TableSpec {
        title: section.text("title")?.unwrap_or(sweep.label(cells[0])).to_owned(),
        rows: axes(&section, "rows", sweep)?,
        columns: axis(&section, "columns", sweep)?,
        cells,
        notes,
        seed: section.integer("seed", 0, i128::from(u64::MAX))?,
        tones,
        at: selector(&section, "at", sweep)?.unwrap_or_default(),
    })
}

/// Reads the names of quantities, one or a list.
fn quantities(section: &Section<'_, '_>, key: &str, sweep: &Sweep) -> Result<Vec<Quantity>, Problem> {
    let names = section.value(key).map(list).unwrap_or_default();
    names.into_iter().map(|name| named_quantity(section.key(key), &plain_text(name), sweep)).collect()
}

/// Reads the names of axes, one or a list.
pub(in crate::sweep) fn axes(
    section: &Section<'_, '_>,
    key: &str,
    sweep: &Sweep,
) -> Result<Vec<usize>, Problem> {
    let names = section.value(key).map(list).unwrap_or_default();
    names.into_iter().map(|name| find_axis(section.key(key), &plain_text(name), &sweep.axes)).collect()
}

/// The keys of a chart.
const CHART: [&str; 14] = [
    "slug",
    "x",
    "y",
    "series",
    "at",
    "range",
    "marks",
    "dots",
    "intervals",
    "one_run",
    "seed",
    "against",
    "true",
    "even",
];

pub(super) fn figure(
    table: &DeTable<'_>,
    path: String,
    number: usize,
    sweep: &Sweep,
) -> Result<FigureSpec, Problem> {
    let own = ["label", "title", "caption", "panel", "table", "same_scale"];
    let section = Section::open(table, path, &[&own[..], &CHART].concat())?;
    let label = section.text("label")?.map_or_else(|| format!("Figure {number}"), str::to_owned);
    let slug = match section.has("label") {
        true => label.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect(),
        false => format!("figure-{number}"),
    };
    let mut tables = Vec::new();
    for (path, inner) in section.items("table")? {
        tables.push(self::table(inner, path, sweep)?);
    }
    let mut panels = Vec::new();
    if section.has("panel") {
        for (inside, (path, table)) in section.items("panel")?.into_iter().enumerate() {
            let panel = Section::open(table, path, &[&["caption"][..], &CHART].concat())?;
            panels.push(chart(&panel, panel.text("caption")?, format!("{slug}-{}", inside + 1), sweep)?);
        }
    } else if tables.is_empty() || section.has("y") {
        panels.push(chart(&section, None, slug, sweep)?);
    }
    let first = match (panels.first().map(|panel| &panel.draw), tables.first()) {
        (Some(Drawn::Over { y, .. }), _) => sweep.label(*y),
        (Some(Drawn::Curve { curves, .. }), _) => &sweep.curves[curves[0]].label,
        (None, Some(table)) => &table.title,
        (None, None) => {
            return Err(Problem::new(section.key("panel"), "is empty: want at least one panel"));
        }
    };
    Ok(FigureSpec {
        title: section.text("title")?.unwrap_or(first).to_owned(),
        caption: section.text("caption")?.unwrap_or("Means with their 95 % confidence intervals.").to_owned(),
        label,
        tables,
        panels,
        same_scale: section.flag("same_scale")?.unwrap_or(false),
    })
}

fn chart(
    section: &Section<'_, '_>,
    caption: Option<&str>,
    slug: String,
    sweep: &Sweep,
) -> Result<PanelSpec, Problem> {
    let curves = || sweep.curves.iter().map(|curve| curve.name.as_str());
    let names: Vec<String> =
        section.value("y").map(list).unwrap_or_default().into_iter().map(plain_text).collect();
    let all: Option<Vec<usize>> =
        names.iter().map(|y| curves().position(|name| name == y.as_str())).collect();
    let draw = match all.filter(|all| !all.is_empty()) {
        Some(curves) if !section.has("x") => {
            let dots = section.flag("dots")?.unwrap_or(false);
            let one_run = section.flag("one_run")?.unwrap_or(false);
            let seed = section.integer("seed", 0, i128::from(u64::MAX))?;
            Drawn::Curve { curves, dots, intervals: intervals(section)?, one_run, seed }
        }
        Some(_) => {
            let message = format!("{} is a curve, which has its own x: want none", names[0]);
            return Err(Problem::new(section.key("x"), message));
        }
        None => Drawn::Over {
            y: section.required("y", quantity(section, "y", sweep)?, "\"a metric's name\"")?,
            x: section.required("x", axis(section, "x", sweep)?, "\"an axis\"")?,
            even: section.flag("even")?.unwrap_or(false),
            intervals: intervals(section)? != Intervals::None,
        },
    };
    let mut truth = truth(section)?;
    if let Drawn::Curve { curves, .. } = &draw {
        truth.iter_mut().for_each(|[_, y]| *y = sweep.curves[curves[0]].unit.own(*y));
    }
    let range = match section.numbers("range")?.as_deref() {
        None => None,
        Some(&[from, to]) if from < to => Some([from, to]),
        Some(_) => {
            return Err(Problem::new(
                section.key("range"),
                "want two numbers, the smaller first, such as [0, 60]",
            ));
        }
    };
    Ok(PanelSpec {
        slug: section.text("slug")?.map_or(slug, str::to_owned),
        caption: caption.unwrap_or_default().to_owned(),
        draw,
        series: axes(section, "series", sweep)?,
        at: selector(section, "at", sweep)?.unwrap_or_default(),
        range,
        marks: marks(section, sweep)?,
        against: other_side(section, "against", sweep)?.unwrap_or_default(),
        truth,
    })
}

/// Reads `intervals = [30, 2]` or `intervals = false`.
fn intervals(section: &Section<'_, '_>) -> Result<Intervals, Problem> {
    if let Some(DeValue::Boolean(all)) = section.value("intervals") {
        return Ok(if *all { Intervals::All } else { Intervals::None });
    }
    match section.integers("intervals")?.as_deref() {
        None => Ok(Intervals::All),
        Some(&[every, apart]) if every > 0 && apart < every => {
            Ok(Intervals::Every(every as usize, apart as usize))
        }
        Some(_) => {
            let message = "want the points from one interval to the next, and fewer between those of two \
                           curves, such as [30, 2]";
            Err(Problem::new(section.key("intervals"), message))
        }
    }
}

/// Reads `true = [[0, 11e6], [25, 9e6]]`.
fn truth(section: &Section<'_, '_>) -> Result<Vec<[f64; 2]>, Problem> {
    let Some(value) = section.value("true") else { return Ok(Vec::new()) };
    let point = |point: &DeValue<'_>| {
        let numbers: Vec<f64> =
            list(point).into_iter().filter_map(|part| plain_text(part).parse().ok()).collect();
        <[f64; 2]>::try_from(numbers)
            .map_err(|_| section.wrong_type("true", value, "points, such as [[0, 11e6], [25, 9e6]]"))
    };
    list(value).into_iter().map(point).collect()
}

/// Reads `marks = { handover = 60, timeout = "timeouts" }`.
fn marks(section: &Section<'_, '_>, sweep: &Sweep) -> Result<Vec<(String, MarkedAt)>, Problem> {
    let table = match section.value("marks") {
        None => return Ok(Vec::new()),
        Some(DeValue::Table(table)) => table,
        Some(other) => {
            return Err(section.wrong_type("marks", other, "places on x, such as { handover = 60 }"));
        }
    };
    let mut marks = Vec::new();
    for (name, value) in table {
        let text = plain_text(value.get_ref());
        let curve = || sweep.curves.iter().position(|curve| curve.name == text).map(MarkedAt::Points);
        let place = text.parse::<f64>().ok().map(MarkedAt::X).or_else(curve).ok_or_else(|| {
            let key = format!("{}.{}", section.key("marks"), name.get_ref());
            Problem::new(key, format!("{text} is neither a number nor the name of a curve"))
        })?;
        marks.push((name.get_ref().to_string(), place));
    }
    Ok(marks)
}

impl Sweep {
    /// Returns the figure of a metric of a file that describes none.
    pub(super) fn default_figure(
        &self,
        number: usize,
        x: usize,
        y: Quantity,
        series: Option<usize>,
    ) -> FigureSpec {
        let panel = PanelSpec {
            slug: format!("figure-{number}"),
            caption: String::new(),
            draw: Drawn::Over { x, y, even: false, intervals: true },
            series: series.into_iter().collect(),
            at: Vec::new(),
            range: None,
            marks: Vec::new(),
            against: Vec::new(),
            truth: Vec::new(),
        };
        FigureSpec {
            label: format!("Figure {number}"),
            title: self.label(y).to_owned(),
            caption: "Means with their 95 % confidence intervals.".to_owned(),
            tables: Vec::new(),
            panels: vec![panel],
            same_scale: false,
        }
    }
}
