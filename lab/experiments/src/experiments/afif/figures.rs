//! The paper's figures 5 to 10 redrawn from one run each, and two of ours over all seeds.

use super::claims::Measured;
use super::measure::{Run, STEP};
use super::plan::{Course, DURATION, RunKey, TO_CS1, Variant};
use crate::figure::{Axis, Chart, Mark, Marker, Point, Series, Style, round_up};
use crate::report::{Cell, Figure, Grid, Panel, Tone};
use crate::stats::{Mean, paired_difference};
use crate::words::spread;

/// The seed of the runs shown.
const SHOWN: u64 = 1;

/// Returns every figure that has runs, in the paper's order.
#[must_use]
pub fn all(measured: &Measured) -> Vec<Figure> {
    let figures = [
        windows(measured, Course::Deterministic, "Fig. 5", &[Variant::Standard, Variant::Extended]),
        sequence(measured, Course::Deterministic, "Fig. 6", (0.0, DURATION.as_secs_f64())),
        sequence(measured, Course::Deterministic, "Fig. 7", (TO_CS1 - 30.0, TO_CS1 + 60.0)),
        lead(measured),
        blocks(measured),
        windows(measured, Course::Random, "Fig. 9", &[Variant::Extended]),
        random_sequence(measured),
        random_grid(measured),
        ignorant(measured),
    ];
    figures.into_iter().flatten().collect()
}

fn shown(measured: &Measured, course: Course, variant: Variant) -> Option<&Run> {
    measured.runs.get(&RunKey { course, variant, seed: SHOWN })
}

fn style(variant: Variant) -> Style {
    match variant {
        Variant::Standard => Style::First,
        Variant::Extended => Style::Third,
        Variant::Ignorant => Style::Second,
    }
}

/// Returns a curve's samples between two times, scaled by `scale`, thinned to the resolution of the drawing.
fn points(curve: &[f64], (from, to): (f64, f64), scale: f64) -> Vec<Point> {
    let samples = curve.iter().enumerate().map(|(step, value)| (step as f64 * STEP, value));
    let inside: Vec<Point> = samples
        .filter(|(at, _)| (from..=to).contains(at))
        .map(|(at, value)| Point::new(at, value * scale))
        .collect();
    let every = inside.len().div_ceil(1000).max(1);
    inside.into_iter().step_by(every).collect()
}

fn line(name: impl Into<String>, style: Style, points: Vec<Point>, mark: Mark) -> Series {
    Series { name: name.into(), style, points, mark }
}

/// Returns vertical lines at the changes.
fn markers(run: &Run, (from, to): (f64, f64)) -> Vec<Marker> {
    let inside = run.changes.iter().filter(|(at, _)| *at > from && *at < to);
    inside.map(|(at, name)| Marker { x: *at, label: name.replace("handover, CS3", "handover") }).collect()
}

fn chart(title: String, x: (f64, f64), label: &str, series: Vec<Series>, markers: Vec<Marker>) -> Chart {
    let values = || series.iter().flat_map(|series| series.points.iter().map(|point| point.y));
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    // A magnified axis does not start at zero.
    let from = if x.0 > 0.0 && least > 0.5 * most { round_down(least) } else { 0.0 };
    let y = Axis::new(label, from, round_up(most * 1.04).max(from + 1.0));
    Chart { title, x: Axis::new("time (s)", x.0, x.1), y, series, markers }
}

fn round_down(value: f64) -> f64 {
    (value / 100.0).floor() * 100.0
}

/// Figs. 5 and 9: window and threshold of the primary path.
fn windows(measured: &Measured, course: Course, label: &str, variants: &[Variant]) -> Option<Figure> {
    let number = label.trim_start_matches("Fig. ");
    let panels: Vec<Panel> = variants
        .iter()
        .zip(["a", "b"])
        .filter_map(|(&variant, letter)| {
            let run = shown(measured, course, variant)?;
            let x = (0.0, run.duration);
            let mut series = vec![line("cwnd", style(variant), points(&run.cwnd, x, 1e-3), Mark::Steps)];
            // Do not draw an unlimited threshold.
            let threshold: Vec<Point> =
                points(&run.ssthresh, x, 1e-3).into_iter().filter(|point| point.y > 0.0).collect();
            if !threshold.is_empty() {
                series.push(line("ssthresh", Style::Reference, threshold, Mark::Steps));
            }
            let timeouts = run.timeouts.iter().map(|&at| Point::new(at, 0.5)).collect::<Vec<_>>();
            if !timeouts.is_empty() {
                series.push(line("timeout", Style::Fourth, timeouts, Mark::Dots));
            }
            let title = format!("{label} ({letter}): congestion window over time, {}", variant.words());
            Some(Panel {
                slug: format!("fig{number:0>2}{letter}-{}-window-{}", course.words(), variant.slug()),
                caption: format!("({letter}) {}, seed {SHOWN}; dots are timeouts", capital(variant.words())),
                chart: chart(title, x, "bytes (kB)", series, markers(run, x)),
            })
        })
        .collect();
    (!panels.is_empty()).then(|| Figure {
        label: label.to_owned(),
        title: format!("Congestion control, {} run", course.words()),
        caption: "Congestion window and slow-start threshold of the sender’s primary path, once a second."
            .to_owned(),
        groups: vec![(None, panels)],
        ..Figure::default()
    })
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// Figs. 6 and 7: TSN and cumulative TSN of both senders.
fn sequence(measured: &Measured, course: Course, label: &str, x: (f64, f64)) -> Option<Figure> {
    let number = label.trim_start_matches("Fig. ");
    let mut series = Vec::new();
    let mut lines = Vec::new();
    for variant in [Variant::Standard, Variant::Extended] {
        let run = shown(measured, course, variant)?;
        let (sent, acked) = match variant {
            Variant::Standard => (Style::Second, Style::First),
            _ => (Style::Fourth, Style::Third),
        };
        series.push(line(format!("TSN, {}", variant.words()), sent, points(&run.tsn, x, 1.0), Mark::Line));
        series.push(line(
            format!("cumulative TSN, {}", variant.words()),
            acked,
            points(&run.cum_tsn, x, 1.0),
            Mark::Line,
        ));
        lines = markers(run, x);
    }
    let title = format!("{label}: TSN and cumulative TSN over time, {} run", course.words());
    let panel = Panel {
        slug: format!("fig{number:0>2}-{}-tsn", course.words()),
        caption: format!("Both senders, seed {SHOWN}"),
        chart: chart(title, x, "TSN (from the first)", series, lines),
    };
    Some(Figure {
        label: label.to_owned(),
        title: if x.0 > 0.0 {
            "TSN and cumulative TSN around the change to CS1"
        } else {
            "TSN and cumulative TSN"
        }
        .to_owned(),
        caption:
            "Chunks sent for the first time and chunks acknowledged without a gap, counted from the first."
                .to_owned(),
        groups: vec![(None, vec![panel])],
        ..Figure::default()
    })
}

/// Ours: the lead of the extension, over all seeds.
fn lead(measured: &Measured) -> Option<Figure> {
    let variants = (Variant::Extended, Variant::Standard);
    let ahead = |at: f64| {
        let (a, b) = measured.paired(Course::Deterministic, variants, |run| Run::sample(&run.cum_tsn, at));
        paired_difference(&a, &b)
    };
    let means: Vec<(f64, Mean)> = (0..DURATION.as_secs_f64() as u32)
        .step_by(10)
        .filter_map(|at| Some((f64::from(at), ahead(f64::from(at))?)))
        .collect();
    let runs = means.first()?.1.n;
    let of = |value: fn(&Mean) -> f64| means.iter().map(|(at, mean)| Point::new(*at, value(mean))).collect();
    let mut series = vec![line("mean", Style::Third, of(|mean| mean.mean), Mark::Line)];
    if runs > 1 {
        series.push(line("95 % interval", Style::Reference, of(Mean::low), Mark::Line));
        series.push(line("95 % interval, upper", Style::Reference, of(Mean::high), Mark::Line));
    }
    let values = || series.iter().flat_map(|series| series.points.iter().map(|point| point.y));
    let (least, most) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
    let from = if least < 0.0 { -round_up(-least * 1.04) } else { 0.0 };
    let x = (0.0, DURATION.as_secs_f64());
    let run = shown(measured, Course::Deterministic, Variant::Extended)?;
    let chart = Chart {
        title: "Lead of the extension in cumulative TSN over time".to_owned(),
        x: Axis::new("time (s)", x.0, x.1),
        y: Axis::new("lead (TSNs)", from, round_up(most * 1.04)),
        series,
        markers: markers(run, x),
    };
    let panel = Panel {
        slug: "lead-deterministic".to_owned(),
        caption: format!("Cumulative TSN with the chunk less that without it, the same seed, {runs} seeds"),
        chart,
    };
    Some(Figure {
        label: "Lead".to_owned(),
        title: "How far the extension is ahead (ours)".to_owned(),
        caption:
            "Above zero the extension is ahead. The paper shows one run; this is the mean over the seeds."
                .to_owned(),
        groups: vec![(None, vec![panel])],
        ..Figure::default()
    })
}

/// Fig. 8: RLC block sequence numbers of the random run.
fn blocks(measured: &Measured) -> Option<Figure> {
    let run = shown(measured, Course::Random, Variant::Extended)?;
    let x = (0.0, run.duration);
    let series = [Variant::Standard, Variant::Extended]
        .into_iter()
        .filter_map(|variant| {
            let run = shown(measured, Course::Random, variant)?;
            Some(line(variant.words(), style(variant), points(&run.blocks, x, 1e-3), Mark::Line))
        })
        .collect();
    let chart = chart(
        "Fig. 8: RLC block sequence number over time, random run".to_owned(),
        x,
        "RLC block (thousands)",
        series,
        markers(run, x),
    );
    Some(Figure {
        label: "Fig. 8".to_owned(),
        title: "RLC block sequence number, random run".to_owned(),
        caption: "RLC data blocks sent to the mobile for the first time, counted through (on the air the number is modulo \
                  the sequence space). The paper has the extended sender only."
            .to_owned(),
        groups: vec![(
            None,
            vec![Panel { slug: "fig08-random-blocks".to_owned(), caption: format!("Seed {SHOWN}"), chart }],
        )],
        ..Figure::default()
    })
}

/// Fig. 10: TSN and cumulative TSN of the random run, extended sender.
fn random_sequence(measured: &Measured) -> Option<Figure> {
    let run = shown(measured, Course::Random, Variant::Extended)?;
    let x = (0.0, run.duration);
    let series = vec![
        line("TSN", Style::Fourth, points(&run.tsn, x, 1.0), Mark::Line),
        line("cumulative TSN", Style::Third, points(&run.cum_tsn, x, 1.0), Mark::Line),
    ];
    let title = "Fig. 10: TSN and cumulative TSN over time, random run".to_owned();
    let chart = chart(title, x, "TSN (from the first)", series, markers(run, x));
    Some(Figure {
        label: "Fig. 10".to_owned(),
        title: "TSN and cumulative TSN, random run".to_owned(),
        caption: "The sender with QoS_Measurement.".to_owned(),
        groups: vec![(
            None,
            vec![Panel { slug: "fig10-random-tsn".to_owned(), caption: format!("Seed {SHOWN}"), chart }],
        )],
        ..Figure::default()
    })
}

/// A measurement of a run: name, unit, value.
type Measure = (&'static str, &'static str, fn(&Run) -> f64);

/// Ours: numbers of all seeds of the random run.
fn random_grid(measured: &Measured) -> Option<Figure> {
    let pair = (Variant::Standard, Variant::Extended);
    let figures: [Measure; 6] =
        [
            ("share of runs with a timeout after the set-up", "%", |run| {
                if later(run) > 0.0 { 100.0 } else { 0.0 }
            }),
            ("timeouts in a run after the set-up", "", later),
            ("delivered", "kbps", |run| run.total_bytes as f64 * 8e-3 / run.duration),
            ("longest time without a new TSN", "s", |run| run.tsn_stall.length),
            ("longest time without a new RLC block", "s", |run| run.block_stall.length),
            ("window at the handover", "kB", |run| run.switch.cwnd as f64 * 1e-3),
        ];
    let rows = rows(measured, Course::Random, pair, &figures);
    let seeds = measured.each(Course::Random, Variant::Extended).len();
    (!rows.is_empty()).then(|| Figure {
        label: "Random runs".to_owned(),
        title: "All random runs in numbers (ours)".to_owned(),
        caption: format!(
            "{seeds} seeds, means; the difference is paired by seed, with its 95 % interval. The first timeout, 2.5 s after the start, \
             is left out: every run has it, because the first packets are a second on their way and RTO.Initial is one."
        ),
        grids: vec![Grid {
            caption: String::new(),
            head: ["", "standard SCTP", "with QoS_Measurement", "difference"].map(str::to_owned).to_vec(),
            rows,
        }],
        ..Figure::default()
    })
}

/// Returns a row per measurement: means under two variants and their paired difference.
fn rows(
    measured: &Measured,
    course: Course,
    (base, other): (Variant, Variant),
    figures: &[Measure],
) -> Vec<(String, Vec<Cell>)> {
    let row = |&(name, unit, figure): &Measure| {
        let (standard, other) = measured.paired(course, (base, other), |run| Some(figure(run)));
        let difference = paired_difference(&other, &standard)?;
        let mean = |values: &[f64]| Some(cell(format!("{:.2} {unit}", Mean::of(values)?.mean)));
        let spread =
            if difference.n > 1 { spread(&difference, |width| format!("{width:.2}")) } else { String::new() };
        let paired = cell(format!("{:+.2} {unit}{spread}", difference.mean));
        Some((name.to_owned(), vec![mean(&standard)?, mean(&other)?, paired]))
    };
    figures.iter().filter_map(row).collect()
}

/// AF5: the paper states it of the chunk in §IV, without a figure.
fn ignorant(measured: &Measured) -> Option<Figure> {
    let figures: [Measure; 4] = [
        ("reports the mobile sent", "", |run| run.reports_sent as f64),
        ("reports the sender took", "", |run| run.reports_taken as f64),
        ("delivered", "kB", |run| run.total_bytes as f64 * 1e-3),
        ("timeouts in a run", "", |run| run.timeouts.len() as f64),
    ];
    let rows = rows(measured, Course::Deterministic, (Variant::Standard, Variant::Ignorant), &figures);
    let seeds = measured.each(Course::Deterministic, Variant::Ignorant).len();
    (!rows.is_empty()).then(|| Figure {
        label: "§IV".to_owned(),
        title: "A peer that does not know the chunk (ours)".to_owned(),
        caption: format!("Deterministic run, {seeds} seeds, means; the difference is paired by seed."),
        grids: vec![Grid {
            caption: String::new(),
            head: ["", "standard SCTP", "the same, reported to", "difference"].map(str::to_owned).to_vec(),
            rows,
        }],
        ..Figure::default()
    })
}

/// Counts timeouts after the first ten seconds.
fn later(run: &Run) -> f64 {
    run.timeouts.iter().filter(|at| **at > 10.0).count() as f64
}

fn cell(text: String) -> Cell {
    Cell { text, note: String::new(), tone: Tone::Plain }
}
