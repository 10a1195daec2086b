//! Draws a [`Chart`] with the plotters crate.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::palette::{Role, with_variables};
use super::{Axis, Chart, FigureError, Series};

/// Size in CSS pixels. Small, so that the text stays readable where the drawing is 360 pixels wide.
const WIDTH: u32 = 480;
const HEIGHT: u32 = 320;
const TEXT: u32 = 15;
/// Room for the legend.
const LEGEND: u32 = 28;
/// Mean width of a character of the legend, by which its entries are set. Sans-serif faces have about half their size.
const CHARACTER: f64 = 7.6;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

pub(super) fn svg(chart: &Chart) -> Result<String, FigureError> {
    let fail = |reason: String| FigureError { title: chart.title.clone(), reason };
    for Axis { label, from, to } in [&chart.x, &chart.y] {
        // Also false for values that are not numbers.
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

fn drawing(chart: &Chart, svg: &mut String) -> Drawn {
    let root = SVGBackend::with_string(svg, (WIDTH, HEIGHT)).into_drawing_area();
    let mut plot = ChartBuilder::on(&root)
        .margin_top(LEGEND + 6)
        .margin_right(14)
        .margin_left(4)
        .margin_bottom(2)
        .x_label_area_size(46)
        .y_label_area_size(62)
        .build_cartesian_2d(chart.x.from..chart.x.to, chart.y.from..chart.y.to)?;
    mesh(chart, &mut plot)?;
    marker(chart, &mut plot)?;
    // The thickest first, so that a curve under another of the same values shows beside or through it.
    let mut order: Vec<&Series> = chart.series.iter().collect();
    order.sort_by_key(|series| std::cmp::Reverse(series.style.width()));
    for series in order {
        curve(series, chart, &mut plot)?;
    }
    legend(chart, &root)?;
    drop(plot);
    root.present()
}

fn text(role: Role) -> TextStyle<'static> {
    ("sans-serif", TEXT).into_font().color(&role.colour())
}

fn mesh(chart: &Chart, plot: &mut Plot<'_, '_>) -> Drawn {
    plot.configure_mesh()
        .x_labels(7)
        .y_labels(6)
        .x_label_formatter(&|value| tick(*value))
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

/// A number on an axis, without needless digits.
fn tick(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn marker(chart: &Chart, plot: &mut Plot<'_, '_>) -> Drawn {
    let Some(marker) = &chart.marker else { return Ok(()) };
    let line = [(marker.x, chart.y.from), (marker.x, chart.y.to)];
    plot.draw_series(LineSeries::new(line, Role::Axis.colour().stroke_width(1)))?;
    let style = text(Role::Ink).pos(Pos::new(HPos::Right, VPos::Top));
    let label = EmptyElement::at((marker.x, chart.y.to)) + Text::new(marker.label.clone(), (-5, 4), style);
    plot.draw_series([label])?;
    Ok(())
}

fn curve(series: &Series, chart: &Chart, plot: &mut Plot<'_, '_>) -> Drawn {
    let shown = |x: f64| x >= chart.x.from && x <= chart.x.to;
    let points: Vec<_> = series.points.iter().filter(|point| shown(point.x)).collect();
    let line = Role::Line(series.style).colour().stroke_width(series.style.width());
    plot.draw_series(LineSeries::new(points.iter().map(|point| (point.x, point.y)), line))?;
    let solid = Role::Solid(series.style).colour();
    let cap = (chart.x.to - chart.x.from) / 160.0;
    for point in &points {
        if let Some(half) = point.half_width.filter(|half| half.is_finite() && *half > 0.0) {
            let (low, high) = ((point.y - half).max(chart.y.from), (point.y + half).min(chart.y.to));
            for bar in [
                [(point.x, low), (point.x, high)],
                [(point.x - cap, low), (point.x + cap, low)],
                [(point.x - cap, high), (point.x + cap, high)],
            ] {
                plot.draw_series(LineSeries::new(bar, solid.stroke_width(1)))?;
            }
        }
    }
    if series.dots {
        plot.draw_series(points.iter().map(|point| Circle::new((point.x, point.y), 3, solid.filled())))?;
    }
    Ok(())
}

fn legend(chart: &Chart, root: &Area<'_>) -> Drawn {
    let mut x = 10;
    for series in &chart.series {
        let line = Role::Line(series.style).colour().stroke_width(series.style.width());
        root.draw(&PathElement::new(vec![(x, 16), (x + 28, 16)], line))?;
        let style = text(Role::Ink).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(series.name.clone(), (x + 34, 16), style))?;
        x += 34 + (series.name.chars().count() as f64 * CHARACTER) as i32 + 18;
    }
    Ok(())
}

/// Makes the drawing scale with the page and gives it a name for those who cannot see it.
fn accessible(svg: &str, title: &str) -> String {
    let sized = format!("width=\"{WIDTH}\" height=\"{HEIGHT}\" ");
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let svg = svg.replacen(&sized, &format!("role=\"img\" aria-label=\"{title}\" "), 1);
    // The library pads its lines; the drawing is the same without.
    svg.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}
