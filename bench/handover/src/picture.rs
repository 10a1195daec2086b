//! The picture: the stacks' arrivals around a switch.

use clap::ValueEnum;
use msctp_experiments::figure::{Axis, Chart, Mark, Marker, Point, Series, Style, round_up};

use crate::Failure;
use crate::arrivals::{BINS_FROM, INTERVAL};
use crate::case::{Case, Kind, Move, Stack};
use crate::one::Run;
use crate::report::of;

/// The case that is drawn.
pub const DRAWN: Case = Case { route: Move::FastUp, kind: Kind::BreakBeforeMake };

/// The time drawn, in seconds from the switch.
const FROM: f64 = -0.2;
const TO: f64 = 1.0;

/// Returns an SVG file with its own colours: for each stack the run with the median gap.
pub fn draw(runs: &[Run]) -> Result<String, Failure> {
    let (_, new) = DRAWN.route.radios();
    let styles = [Style::Third, Style::First, Style::Second];
    let mut series = Vec::new();
    for (&stack, style) in Stack::value_variants().iter().zip(styles) {
        let mut of = of(runs, DRAWN, stack);
        of.sort_by(|a, b| a.measured.gap_ms.total_cmp(&b.measured.gap_ms));
        let Some(run) = of.get(of.len() / 2) else { continue };
        let rate = |(n, &bytes): (usize, &u32)| {
            Point::new(BINS_FROM + n as f64 * INTERVAL, f64::from(bytes) * 8.0 / INTERVAL / 1e6)
        };
        let points = run.measured.bins.iter().enumerate().map(rate);
        let points = points.filter(|point| (FROM..TO).contains(&point.x)).collect();
        series.push(Series {
            name: stack.to_string(),
            style,
            points,
            mark: Mark::Steps,
            commands: Vec::new(),
        });
    }
    if series.is_empty() {
        return Err(format!("there are no runs of {}, {}, to draw", DRAWN.route, DRAWN.kind).into());
    }
    let chart = Chart {
        title: format!("Arrivals around a switch {}, {}", DRAWN.route, DRAWN.kind),
        x: Axis::new("time since the switch (s)", FROM, TO),
        y: Axis::new("arriving data (Mbps)", 0.0, round_up(new.rate / 1e6 * 1.2)),
        series,
        markers: vec![Marker { x: 0.0, label: "switch".into() }],
    };
    Ok(chart.to_svg_file()?)
}
