//! Draws a [`Chart`] with the plotters crate.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::palette::{Role, with_variables};
use super::{Axis, Chart, FigureError, Mark, Series};
use crate::xml::escape;

/// Width of a drawing in CSS pixels. It is small, so that the text stays readable when the drawing is scaled
/// to 360 pixels.
const WIDTH: u32 = 480;
const HEIGHT: u32 = 320;
const TEXT: u32 = 15;
/// Height of the legend's first row. The next constant is that of each further row.
const LEGEND: u32 = 28;
const LEGEND_ROW: u32 = 20;
/// Margins of the plot, with room for its labels.
const RIGHT: u32 = 14;
const LEFT: u32 = 4;
const BOTTOM: u32 = 2;
const X_LABELS: u32 = 46;
const Y_LABELS: u32 = 62;
/// Mean width of a legend character, for the layout of entries. Sans-serif glyphs are about half as wide as
/// high.
const CHARACTER: f64 = 7.6;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

pub(super) fn svg(chart: &Chart) -> Result<String, FigureError> {
    let fail = |reason: String| FigureError { title: chart.title.clone(), reason };
    for Axis { label, from, to, .. } in [&chart.x, &chart.y] {
        // Also reject values that are not numbers.
        if !(to > from && from.is_finite() && to.is_finite()) {
            return Err(fail(format!("the axis \"{label}\" runs from {from} to {to}: want an extent")));
        }
    }
    if chart.series.is_empty() {
        return Err(fail("there is no series".to_owned()));
    }
    let mut svg = String::new();
    drawing(chart, &mut svg).map_err(|error| fail(error.to_string()))?;
    Ok(accessible(&with_variables(&svg), &chart.title))
}

/// Returns the margin above the plot.
fn top(legend_rows: u32) -> u32 {
    LEGEND + LEGEND_ROW * (legend_rows - 1) + 6
}

fn legend_rows(entries: &[Entry]) -> u32 {
    1 + entries.last().map_or(0, |entry| entry.row)
}

/// Returns the positions of a series' points in the drawing.
pub(super) fn places(chart: &Chart, series: &Series) -> Vec<(i32, i32)> {
    let rows = legend_rows(&entries(chart));
    let offset = if series.mark == Mark::Bars { bar_offset(series, chart) } else { 0.0 };
    let (left, top) = (f64::from(LEFT + Y_LABELS), f64::from(top(rows)));
    let (width, height) =
        (f64::from(WIDTH - RIGHT) - left, f64::from(HEIGHT - LEGEND - 6 - X_LABELS - BOTTOM));
    let share = |axis: &Axis, value: f64| ((value - axis.from) / (axis.to - axis.from)).clamp(0.0, 1.0);
    let place = |point: &super::Point| {
        let (x, y) = (share(&chart.x, point.x + offset), share(&chart.y, point.y));
        (libm::round(left + x * width) as i32, libm::round(top + (1.0 - y) * height) as i32)
    };
    series.points.iter().map(place).collect()
}

fn drawing(chart: &Chart, svg: &mut String) -> Drawn {
    let entries = entries(chart);
    let rows = legend_rows(&entries);
    let size = (WIDTH, HEIGHT + LEGEND_ROW * (rows - 1));
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    let mut plot = ChartBuilder::on(&root)
        .margin_top(top(rows))
        .margin_right(RIGHT)
        .margin_left(LEFT)
        .margin_bottom(BOTTOM)
        .x_label_area_size(X_LABELS)
        .y_label_area_size(Y_LABELS)
        .build_cartesian_2d(chart.x.from..chart.x.to, chart.y.from..chart.y.to)?;
    mesh(chart, &mut plot)?;
    markers(chart, &mut plot)?;
    // Draw the thickest curve first: a curve under another with the same values stays visible.
    let mut order: Vec<&Series> = chart.series.iter().collect();
    order.sort_by_key(|series| std::cmp::Reverse(series.style.width()));
    for series in order {
        curve(series, chart, &mut plot)?;
    }
    legend(chart, &entries, &root)?;
    drop(plot);
    root.present()
}

fn text(role: Role) -> TextStyle<'static> {
    ("sans-serif", TEXT).into_font().color(&role.colour())
}

fn mesh(chart: &Chart, plot: &mut Plot<'_, '_>) -> Drawn {
    plot.configure_mesh()
        .x_labels(if chart.x.places.is_empty() { 7 } else { 2 * chart.x.places.len() + 1 })
        .y_labels(6)
        .x_label_formatter(&|value| {
            if chart.x.places.is_empty() { tick(*value) } else { chart.x.place(*value).to_owned() }
        })
        .y_label_formatter(&|value| tick(*value))
        .x_desc(chart.x.label.as_str())
        .y_desc(chart.y.label.as_str())
        .label_style(text(Role::Ink))
        .axis_desc_style(text(Role::Ink))
        .axis_style(Role::Axis.colour())
        .bold_line_style(Role::Grid.colour())
        .light_line_style(TRANSPARENT)
        .draw()
}

/// Formats a number on an axis without needless digits.
fn tick(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn markers(chart: &Chart, plot: &mut Plot<'_, '_>) -> Drawn {
    let middle = f64::midpoint(chart.x.from, chart.x.to);
    for (number, marker) in chart.markers.iter().enumerate() {
        let line = [(marker.x, chart.y.from), (marker.x, chart.y.to)];
        plot.draw_series(LineSeries::new(line, Role::Axis.colour().stroke_width(1)))?;
        // Put the label on the side with more room; stack the labels of several markers.
        let (side, gap) = if marker.x > middle { (HPos::Right, -5) } else { (HPos::Left, 5) };
        let down = 4 + if chart.markers.len() > 1 { 16 * (number as i32 % 3) } else { 0 };
        let side = if chart.markers.len() == 1 { (HPos::Right, -5) } else { (side, gap) };
        let style = text(Role::Ink).pos(Pos::new(side.0, VPos::Top));
        let label =
            EmptyElement::at((marker.x, chart.y.to)) + Text::new(marker.label.clone(), (side.1, down), style);
        plot.draw_series([label])?;
    }
    Ok(())
}

fn curve(series: &Series, chart: &Chart, plot: &mut Plot<'_, '_>) -> Drawn {
    let shown = |x: f64| x >= chart.x.from && x <= chart.x.to;
    let offset = if series.mark == Mark::Bars { bar_offset(series, chart) } else { 0.0 };
    let points: Vec<(f64, f64, Option<f64>)> = series
        .points
        .iter()
        .filter(|point| shown(point.x))
        .map(|point| (point.x + offset, point.y, point.half_width))
        .collect();
    let line = Role::Line(series.style).colour().stroke_width(series.style.width());
    let solid = Role::Solid(series.style).colour();
    match series.mark {
        Mark::Line | Mark::LineAndDots => {
            plot.draw_series(LineSeries::new(points.iter().map(|&(x, y, _)| (x, y)), line))?;
        }
        Mark::Steps => {
            let mut steps = Vec::with_capacity(2 * points.len());
            for &(x, y, _) in &points {
                steps.extend(steps.last().map(|&(_, before)| (x, before)));
                steps.push((x, y));
            }
            plot.draw_series(LineSeries::new(steps, line))?;
        }
        Mark::Bars => {
            let half = bar_width(chart) / 2.0;
            let zero = chart.y.from.max(0.0);
            let bars = points
                .iter()
                .map(|&(x, y, _)| Rectangle::new([(x - half, zero), (x + half, y)], solid.filled()));
            plot.draw_series(bars)?;
        }
        Mark::Dots => {}
    }
    intervals(&points, series, chart, plot)?;
    if matches!(series.mark, Mark::LineAndDots | Mark::Dots) {
        let size = if series.mark == Mark::Dots { 2 } else { 3 };
        plot.draw_series(points.iter().map(|&(x, y, _)| Circle::new((x, y), size, solid.filled())))?;
    }
    Ok(())
}

fn intervals(
    points: &[(f64, f64, Option<f64>)],
    series: &Series,
    chart: &Chart,
    plot: &mut Plot<'_, '_>,
) -> Drawn {
    // Draw intervals on bars in ink: the bar's own colour would hide them.
    let colour = if series.mark == Mark::Bars { Role::Ink } else { Role::Solid(series.style) }.colour();
    let cap = (chart.x.to - chart.x.from) / 160.0;
    for &(x, y, half) in points {
        let Some(half) = half.filter(|half| half.is_finite() && *half > 0.0) else { continue };
        let (low, high) = ((y - half).max(chart.y.from), (y + half).min(chart.y.to));
        for bar in
            [[(x, low), (x, high)], [(x - cap, low), (x + cap, low)], [(x - cap, high), (x + cap, high)]]
        {
            plot.draw_series(LineSeries::new(bar, colour.stroke_width(1)))?;
        }
    }
    Ok(())
}

/// Returns the series drawn as bars, which share the width of a position.
fn bars(chart: &Chart) -> impl Iterator<Item = &Series> {
    chart.series.iter().filter(|series| series.mark == Mark::Bars)
}

fn bar_width(chart: &Chart) -> f64 {
    0.8 / bars(chart).count().max(1) as f64
}

/// Returns the offset of a series' bars from the centre of the position.
fn bar_offset(series: &Series, chart: &Chart) -> f64 {
    let number = bars(chart).position(|other| std::ptr::eq(other, series)).unwrap_or(0);
    (number as f64 + 0.5) * bar_width(chart) - 0.4
}

/// The position of a series in the legend.
struct Entry {
    x: i32,
    row: u32,
}

fn entries(chart: &Chart) -> Vec<Entry> {
    let (mut x, mut row) = (10, 0);
    chart
        .series
        .iter()
        .map(|series| {
            let width = 34 + (series.name.chars().count() as f64 * CHARACTER) as i32 + 18;
            if x > 10 && x + width > WIDTH as i32 + 18 {
                (x, row) = (10, row + 1);
            }
            let entry = Entry { x, row };
            x += width;
            entry
        })
        .collect()
}

fn legend(chart: &Chart, entries: &[Entry], root: &Area<'_>) -> Drawn {
    for (series, entry) in chart.series.iter().zip(entries) {
        let (x, y) = (entry.x, 16 + (entry.row * LEGEND_ROW) as i32);
        let solid = Role::Solid(series.style).colour();
        match series.mark {
            Mark::Bars => root.draw(&Rectangle::new([(x + 8, y - 6), (x + 28, y + 6)], solid.filled()))?,
            Mark::Dots => root.draw(&Circle::new((x + 18, y), 3, solid.filled()))?,
            Mark::Line | Mark::LineAndDots | Mark::Steps => {
                let line = Role::Line(series.style).colour().stroke_width(series.style.width());
                root.draw(&PathElement::new(vec![(x, y), (x + 28, y)], line))?;
            }
        }
        let style = text(Role::Ink).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(series.name.clone(), (x + 34, y), style))?;
    }
    Ok(())
}

/// Makes the drawing scale with the page, and adds a title for screen readers.
fn accessible(svg: &str, title: &str) -> String {
    let from = svg.find("width=\"").unwrap_or(0);
    let to = svg.find("viewBox").unwrap_or(from);
    let title = escape(title);
    let svg = svg.replacen(&svg[from..to], &format!("role=\"img\" aria-label=\"{title}\" "), 1);
    // Remove the padding that the library adds to its lines; the drawing does not change.
    svg.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}
