//! Charts as SVG whose colours are CSS variables, so that one drawing serves light and dark pages.
//!
//! A [`Chart`] is data with units and names. Drawing needs no window, no font file and no network, and gives
//! the same bytes on every machine.

mod draw;
mod palette;

pub use palette::{STYLESHEET, Style};

use crate::table::Table;

/// A chart could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw \"{title}\": {reason}")]
pub struct FigureError {
    /// Title of the chart.
    pub title: String,
    /// The cause.
    pub reason: String,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// The quantity with its unit, such as `time (s)`.
    pub label: String,
    /// First value shown.
    pub from: f64,
    /// Last value shown, above `from`.
    pub to: f64,
    /// Names of the positions 0, 1, 2, … if the axis is not numeric. Bars need such an axis.
    pub places: Vec<String>,
}

impl Axis {
    /// Creates a numeric axis.
    #[must_use]
    pub fn new(label: impl Into<String>, from: f64, to: f64) -> Self {
        Self { label: label.into(), from, to, places: Vec::new() }
    }

    /// Creates an axis of named places.
    #[must_use]
    pub fn named(label: impl Into<String>, places: Vec<String>) -> Self {
        Self { label: label.into(), from: -0.5, to: places.len() as f64 - 0.5, places }
    }
}

impl Axis {
    /// Returns the name of the position at `x`; empty if there is none.
    fn place(&self, x: f64) -> &str {
        let at = libm::round(x);
        let near = (x - at).abs() < 0.01 && at >= 0.0;
        self.places.get(at as usize).filter(|_| near).map_or("", String::as_str)
    }
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position on the x axis.
    pub x: f64,
    /// Position on the y axis.
    pub y: f64,
    /// Half-width of the 95 % interval, drawn as an error bar; `None` draws none.
    pub half_width: Option<f64>,
}

impl Point {
    /// Creates a value without interval.
    #[must_use]
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, half_width: None }
    }
}

/// A curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Colour and dashes.
    pub style: Style,
    /// Points by ascending x.
    pub points: Vec<Point>,
    /// Mark that draws the points.
    pub mark: Mark,
    /// The shell commands that repeat the series: none, one that prints every point as `x,y`, or one for each
    /// point that prints its y.
    pub commands: Vec<String>,
}

/// Mark that draws the points of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// A line from point to point.
    #[default]
    Line,
    /// A line with a dot at each point.
    LineAndDots,
    /// A dot at each point.
    Dots,
    /// A value that holds until the next point.
    Steps,
    /// A bar from zero to each point, beside those of other series at the same position.
    Bars,
}

/// A vertical line that marks an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Position on the x axis.
    pub x: f64,
    /// Name of the event.
    pub label: String,
}

/// A chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Title of the chart, which is also the text for screen readers.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Curves, in the order of the legend.
    pub series: Vec<Series>,
    /// Marked events, by ascending x.
    pub markers: Vec<Marker>,
}

impl Chart {
    /// Draws the chart as an `<svg>` element whose colours are the CSS variables of [`STYLESHEET`].
    ///
    /// # Errors
    /// An axis has no extent, or there is no series.
    pub fn to_svg(&self) -> Result<String, FigureError> {
        draw::svg(self)
    }

    /// Draws the chart as an SVG file with its own stylesheet.
    ///
    /// # Errors
    /// Same as [`to_svg`](Self::to_svg).
    pub fn to_svg_file(&self) -> Result<String, FigureError> {
        let svg = self.to_svg()?;
        let style = format!("<style>{STYLESHEET} svg{{background:var(--paper)}}</style>");
        Ok(match svg.split_once('>') {
            Some((open, rest)) => format!("{open}>{style}{rest}"),
            None => svg,
        })
    }

    /// Returns the values of the curves: one row per point.
    #[must_use]
    pub fn table(&self) -> Table {
        let points = || self.series.iter().flat_map(|series| series.points.iter().map(move |p| (series, p)));
        let table = Table::new().text("series", points().map(|(series, _)| series.name.as_str()));
        let table = if self.x.places.is_empty() {
            table.real(&self.x.label, points().map(|(_, point)| point.x))
        } else {
            table.text(&self.x.label, points().map(|(_, point)| self.x.place(point.x)))
        };
        let table = table.real(&self.y.label, points().map(|(_, point)| point.y));
        let table = if points().any(|(_, point)| point.half_width.is_some()) {
            table.real(
                "half-width of the 95 % interval",
                points().map(|(_, point)| point.half_width.unwrap_or(f64::NAN)),
            )
        } else {
            table
        };
        if self.series.iter().all(|series| series.commands.is_empty()) {
            return table;
        }
        // The command of a whole series is in its first row.
        let command = |series: &Series, point: usize| series.commands.get(point).cloned().unwrap_or_default();
        let commands = self
            .series
            .iter()
            .flat_map(|series| (0..series.points.len()).map(move |point| command(series, point)));
        table.text("command", commands)
    }

    /// Returns the positions of a series' points, in coordinates of the drawing.
    pub(crate) fn places(&self, series: &Series) -> Vec<(i32, i32)> {
        draw::places(self, series)
    }

    /// Returns the label of a position on the horizontal axis.
    pub(crate) fn x_text(&self, x: f64) -> String {
        if self.x.places.is_empty() { shortest(x) } else { self.x.place(x).to_owned() }
    }
}

/// Formats a number with six digits.
pub(crate) fn shortest(value: f64) -> String {
    format!("{value:.5e}").parse::<f64>().unwrap_or(value).to_string()
}

/// Returns the smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is at least `value`, as a round end
/// of an axis.
#[must_use]
pub fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = libm::pow(10.0, libm::floor(libm::log10(value)));
    [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0]
        .map(|step| step * power)
        .into_iter()
        .find(|&step| step >= value * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let axis = |label: &str, to| Axis::new(label, 0.0, to);
        let series = |name: &str, style, half_width| Series {
            name: name.into(),
            style,
            points: vec![Point { x: 0.0, y: 1.0, half_width }, Point { x: 10.0, y: 2.0, half_width }],
            mark: Mark::LineAndDots,
            commands: Vec::new(),
        };
        Chart {
            title: "Window <over> time".into(),
            x: axis("time (s)", 10.0),
            y: axis("window (kB)", 2.5),
            series: vec![series("a & b", Style::First, Some(0.25)), series("c", Style::Third, None)],
            markers: vec![Marker { x: 5.0, label: "switch".into() }],
        }
    }

    #[test]
    fn the_drawing_has_all_names_and_no_fixed_colour() {
        let svg = chart().to_svg().unwrap();
        for text in ["time (s)", "window (kB)", "a &amp; b", "switch", "Window &lt;over&gt; time"] {
            assert!(svg.contains(text), "{text} is missing in {svg}");
        }
        assert!(svg.contains("var(--series-1)") && svg.contains("var(--series-3)"));
        assert!(!svg.contains("=\"#"), "a fixed colour would be lost on a dark page: {svg}");
        assert!(!svg.contains("http://") || svg.matches("http").count() == svg.matches("www.w3.org").count());
    }

    #[test]
    fn a_standalone_file_contains_its_colours() {
        let svg = chart().to_svg_file().unwrap();
        assert!(svg.contains("--series-1:") && svg.contains("prefers-color-scheme"));
    }

    #[test]
    fn the_table_has_a_row_per_point_and_its_interval() {
        let csv = chart().table().to_csv();
        assert_eq!(
            csv.lines().take(2).collect::<Vec<_>>(),
            ["series,time (s),window (kB),half-width of the 95 % interval", "a & b,0,1,0.25"]
        );
        assert_eq!(csv.lines().count(), 5);
        assert!(csv.ends_with("c,10,2,\n"));
    }

    #[test]
    fn the_table_has_the_commands_of_points_or_of_a_series() {
        let mut chart = chart();
        chart.series[0].commands = vec!["one".to_owned(), "two".to_owned()];
        chart.series[1].commands = vec!["both".to_owned()];
        let csv = chart.table().to_csv();
        let commands: Vec<_> = csv.lines().map(|line| line.rsplit(',').next().unwrap()).collect();
        assert_eq!(commands, ["command", "one", "two", "both", ""]);
    }

    #[test]
    fn places_are_those_of_the_drawing() {
        let chart = chart();
        let svg = chart.to_svg().unwrap();
        for series in &chart.series {
            for (x, y) in chart.places(series) {
                let near = (-2..=2).flat_map(|dx| (-2..=2).map(move |dy| (x + dx, y + dy)));
                let drawn = |(x, y)| svg.contains(&format!("<circle cx=\"{x}\" cy=\"{y}\""));
                assert!(near.into_iter().any(drawn), "{}: {x}, {y} in {svg}", series.name);
            }
        }
    }

    #[test]
    fn bars_are_drawn_at_named_places() {
        let mut bars = chart();
        bars.x = Axis::named("cell", vec!["WLAN".into(), "LTE".into()]);
        for series in &mut bars.series {
            series.mark = Mark::Bars;
            series.points[1].x = 1.0;
        }
        let svg = bars.to_svg().unwrap();
        assert!(svg.contains("WLAN") && svg.contains("LTE"), "{svg}");
        assert!(svg.contains("<rect"), "{svg}");
        assert_eq!(bars.table().to_csv().lines().nth(1), Some("a & b,WLAN,1,0.25"));
    }

    #[test]
    fn a_long_legend_wraps_to_the_next_row() {
        let mut many = chart();
        let height =
            |svg: &str| svg.split("viewBox=\"0 0 480 ").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let short = height(&many.to_svg().unwrap());
        let long = Series { name: "a name that takes some room".into(), ..many.series[0].clone() };
        many.series = vec![long; 5];
        let tall = height(&many.to_svg().unwrap());
        assert!(tall.parse::<u32>().unwrap() > short.parse::<u32>().unwrap());
    }

    #[test]
    fn an_axis_without_extent_is_rejected_by_name() {
        let mut flat = chart();
        flat.y.to = 0.0;
        let error = flat.to_svg().unwrap_err().to_string();
        assert!(error.contains("window (kB)"), "{error}");
    }

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, end) in [(7.4, 8.0), (1.0, 1.0), (65.5, 80.0), (0.21, 0.25), (0.0, 1.0), (90.0, 100.0)] {
            assert!((round_up(value) - end).abs() < 1e-9, "{value}: {}", round_up(value));
        }
    }
}
