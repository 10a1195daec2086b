//! The paper's figures 5 to 13 redrawn from the measured runs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::claims::{Measured, Runs};
use super::estimation::{DURATION as ESTIMATION_DURATION, Estimation, PHASES, truth};
use super::grid::{DURATION, Movement, SWITCH, Scheme, WindowSet};
use super::measure::{Handover, STEP, samples};
use crate::figure::{Axis, Chart, Mark, Marker, Point, Series, Style, round_up};
use crate::report::{Figure, Panel};
use crate::stats::{Mean, paired_difference};

/// The loads of the paper's curves over time, with the figures' numbers for either movement.
const OVER_TIME: [(u8, u8, u8); 3] = [(0, 6, 10), (40, 7, 11), (80, 8, 12)];

/// Start of the curves over time, in seconds: shortly before the switch.
const FROM: f64 = 25.0;

/// Returns every figure that has runs, in the paper's order.
#[must_use]
pub fn all(measured: &Measured) -> Vec<Figure> {
    let mut figures: Vec<Figure> = estimation(measured).into_iter().collect();
    for movement in Movement::ALL {
        for (load, to_wlan, to_3g) in OVER_TIME {
            let number = if movement == Movement::ToWlan { to_wlan } else { to_3g };
            figures.extend(over_time(measured, movement, load, number));
        }
        figures.extend(over_load(measured, movement));
    }
    figures
}

fn style(scheme: Scheme) -> Style {
    match scheme {
        Scheme::Conservative => Style::First,
        Scheme::Inherit => Style::Second,
        Scheme::Adaptive => Style::Third,
    }
}

fn seconds(from: f64, to: f64) -> Axis {
    Axis::new("time (s)", from, to)
}

/// Creates an axis from 0 to a round number above every value.
fn from_zero(label: &str, values: impl Iterator<Item = f64>) -> Axis {
    Axis::new(label, 0.0, round_up(values.fold(0.0, f64::max) * 1.04))
}

/// Creates an axis with room below zero if there are negative values.
fn around_zero(label: &str, values: impl Iterator<Item = f64> + Clone) -> Axis {
    let mut axis = from_zero(label, values.clone());
    let least = values.fold(0.0, f64::min);
    if least < 0.0 {
        axis.from = -round_up(-least * 1.04);
    }
    axis
}

fn seeds(count: usize) -> String {
    if count == 1 { "one run".to_owned() } else { format!("mean of {count} runs") }
}

/// Fig. 5: the estimate against the true available bandwidth.
fn estimation(measured: &Measured) -> Option<Figure> {
    let panels: Vec<Panel> =
        Movement::ALL.into_iter().filter_map(|movement| estimation_panel(measured, movement)).collect();
    (!panels.is_empty()).then(|| Figure {
        label: "Fig. 5".to_owned(),
        grids: Vec::new(),
        title: "Bandwidth estimation in WLAN and 3G".to_owned(),
        caption: "The bandwidth left free by up to three UDP sources, and what modified WBest finds, iterating over the \
                  new path all along. Sources start at 25, 50 and 75 s; two stop at 100 s, the third at 125 s."
            .to_owned(),
        groups: vec![(None, panels)],
    })
}

fn estimation_panel(measured: &Measured, movement: Movement) -> Option<Panel> {
    let (letter, link, unit, scale) = match movement {
        Movement::ToWlan => ("a", "WLAN", "Mbps", 1e-6),
        Movement::To3g => ("b", "3G", "kbps", 1e-3),
    };
    let runs: Vec<&Estimation> =
        measured.estimations.iter().filter(|(key, _)| key.movement == movement).map(|(_, run)| run).collect();
    let one = runs.first()?;
    let end = ESTIMATION_DURATION.as_secs_f64();
    let mean = (0..(end * 2.0) as u32).filter_map(|step| {
        let t = f64::from(step) * 0.5;
        let standing: Option<Vec<f64>> = runs.iter().map(|run| run.standing_at(t)).collect();
        Some(Point::new(t, Mean::of(&standing?)?.mean * scale))
    });
    let steps = PHASES.iter().flat_map(|phase| {
        let y = truth(movement, phase) * scale;
        [Point::new(phase.from, y), Point::new(phase.to, y)]
    });
    let series = |name: &str, style, points: Vec<Point>| Series {
        name: name.to_owned(),
        style,
        points,
        mark: Mark::Line,
    };
    let series = vec![
        series(
            "one run",
            Style::First,
            one.points.iter().map(|p| Point::new(p.at, p.available * scale)).collect(),
        ),
        series("estimate", Style::Third, mean.collect()),
        series("true", Style::Reference, steps.collect()),
    ];
    let y = from_zero(
        &format!("available ({unit})"),
        series.iter().flat_map(|series| series.points.iter().map(|point| point.y)),
    );
    Some(Panel {
        slug: format!("fig05{letter}-{}", link.to_lowercase()),
        caption: format!("({letter}) {link}: estimate ({}), one run, and the truth", seeds(runs.len())),
        chart: Chart {
            title: format!(
                "Fig. 5 ({letter}): estimated and true available bandwidth of the {link} link over time"
            ),
            x: seconds(0.0, end),
            y,
            series,
            markers: Vec::new(),
        },
    })
}

/// One of the figures 6 to 8 and 10 to 12: windows and throughput over time.
fn over_time(measured: &Measured, movement: Movement, load: u8, number: u8) -> Option<Figure> {
    let groups: Vec<(Option<Cow<'static, str>>, Vec<Panel>)> = WindowSet::ALL
        .into_iter()
        .filter_map(|windows| {
            let runs = Runs::of(measured, windows);
            let runs: Vec<(Scheme, Vec<&Handover>)> = Scheme::ALL
                .into_iter()
                .map(|scheme| (scheme, runs.each(movement, load, scheme)))
                .filter(|(_, runs)| !runs.is_empty())
                .collect();
            let figure = OverTime { movement, load, number, windows, runs };
            (figure.runs.len() == Scheme::ALL.len()).then(|| (Some(windows.words().into()), figure.panels()))
        })
        .collect();
    let background = if load == 0 { "no background".to_owned() } else { format!("{load} % background") };
    (!groups.is_empty()).then(|| Figure {
        label: format!("Fig. {number}"),
        grids: Vec::new(),
        title: format!("{}, {background}", movement.words()),
        caption: format!(
            "Window of the sender's primary path and data delivered to the mobile, which asks for the switch at {} s.",
            SWITCH.as_secs_f64()
        ),
        groups,
    })
}

struct OverTime<'a> {
    movement: Movement,
    load: u8,
    number: u8,
    windows: WindowSet,
    runs: Vec<(Scheme, Vec<&'a Handover>)>,
}

impl OverTime<'_> {
    fn panels(&self) -> Vec<Panel> {
        vec![self.window(), self.throughput(), self.lead()]
    }

    fn panel(&self, letter: &str, what: &str, caption: &str, chart: Chart) -> Panel {
        let slug = format!("fig{:02}{letter}-{what}-{}", self.number, self.windows.slug());
        Panel { slug, caption: format!("({letter}) {caption}"), chart }
    }

    fn title(&self, letter: &str, what: &str) -> String {
        format!(
            "Fig. {} ({letter}): {what} over time, {}, {} % background, {}",
            self.number,
            self.movement.words(),
            self.load,
            self.windows.words()
        )
    }

    fn count(&self) -> usize {
        self.runs.iter().map(|(_, runs)| runs.len()).min().unwrap_or(0)
    }

    fn window(&self) -> Panel {
        let series: Vec<Series> = self
            .runs
            .iter()
            .map(|(scheme, runs)| {
                let curve = mean_curve(runs, |run| &run.cwnd);
                let points = curve.into_iter().map(|(t, bytes)| Point::new(t, bytes / 1000.0));
                Series {
                    name: scheme.words().to_owned(),
                    style: style(*scheme),
                    points: points.filter(|point| point.x >= FROM).collect(),
                    mark: Mark::Line,
                }
            })
            .collect();
        let y = from_zero("window (kB)", series.iter().flat_map(|s| s.points.iter().map(|p| p.y)));
        let chart = Chart {
            title: self.title("a", "congestion window"),
            x: seconds(FROM, DURATION.as_secs_f64()),
            y,
            series,
            markers: vec![Marker { x: SWITCH.as_secs_f64(), label: "switch".to_owned() }],
        };
        self.panel("a", "window", &format!("Congestion window, {}", seeds(self.count())), chart)
    }

    /// Draws rates over whole seconds, from the switch on: earlier ones are the old network's, which towards
    /// 3G would flatten the new network's.
    fn throughput(&self) -> Panel {
        let (unit, scale) = unit(self.movement);
        let from = SWITCH.as_secs_f64();
        let series: Vec<Series> = self
            .runs
            .iter()
            .map(|(scheme, runs)| {
                let per_second =
                    per_second(runs).into_iter().map(|(t, bytes)| Point::new(t + 0.5, bytes * 8.0 * scale));
                Series {
                    name: scheme.words().to_owned(),
                    style: style(*scheme),
                    points: per_second.filter(|point| point.x >= from).collect(),
                    mark: Mark::Line,
                }
            })
            .collect();
        let y = from_zero(
            &format!("throughput ({unit})"),
            series.iter().flat_map(|series| series.points.iter().map(|point| point.y)),
        );
        let chart = Chart {
            title: self.title("b", "throughput"),
            x: seconds(from, DURATION.as_secs_f64()),
            y,
            series,
            markers: Vec::new(),
        };
        self.panel("b", "throughput", &format!("Delivered in each second, {}", seeds(self.count())), chart)
    }

    /// Draws the data delivered by each scheme since the switch less that of plain mSCTP, second by second.
    fn lead(&self) -> Panel {
        let from = SWITCH.as_secs_f64();
        let delivered: BTreeMap<Scheme, Vec<(f64, f64)>> =
            self.runs.iter().map(|(scheme, runs)| (*scheme, per_second(runs))).collect();
        let base = &delivered[&Scheme::Conservative];
        let series: Vec<Series> = [Scheme::Inherit, Scheme::Adaptive]
            .into_iter()
            .map(|scheme| {
                let mut lead = 0.0;
                let later = delivered[&scheme].iter().zip(base).filter(|((t, _), _)| *t >= from);
                let points = later.map(|(own, base)| {
                    lead += (own.1 - base.1) / 1000.0;
                    Point::new(own.0 + 1.0, lead)
                });
                Series {
                    name: format!("{} − mSCTP", scheme.words()),
                    style: style(scheme),
                    points: std::iter::once(Point::new(from, 0.0)).chain(points).collect(),
                    mark: Mark::Line,
                }
            })
            .collect();
        let values: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|point| point.y)).collect();
        let chart = Chart {
            title: self.title("c", "lead over mSCTP in delivered data"),
            x: seconds(from, DURATION.as_secs_f64()),
            y: around_zero("lead (kB)", values.into_iter()),
            series,
            markers: Vec::new(),
        };
        let caption = format!("Delivered since the switch beyond mSCTP’s, {}", seeds(self.count()));
        self.panel("c", "lead", &caption, chart)
    }
}

/// Returns the unit for a movement's throughput after the switch, and its size in bit/s.
fn unit(movement: Movement) -> (&'static str, f64) {
    match movement {
        Movement::ToWlan => ("Mbps", 1e-6),
        Movement::To3g => ("kbps", 1e-3),
    }
}

/// Computes the mean over runs of a curve, with the time of each sample.
fn mean_curve(runs: &[&Handover], curve: impl Fn(&Handover) -> &Vec<f64>) -> Vec<(f64, f64)> {
    let length = runs.iter().map(|run| curve(run).len()).min().unwrap_or(0);
    (0..length)
        .map(|i| {
            let sum: f64 = runs.iter().map(|run| curve(run)[i]).sum();
            (i as f64 * STEP, sum / runs.len() as f64)
        })
        .collect()
}

/// Computes the mean bytes delivered in each whole second.
fn per_second(runs: &[&Handover]) -> Vec<(f64, f64)> {
    let seconds = DURATION.as_secs_f64() as u32;
    (0..seconds)
        .map(|second| {
            let t = f64::from(second);
            let sum: f64 =
                runs.iter().map(|run| samples(&run.delivered, t, t + 1.0).iter().sum::<f64>()).sum();
            (t, sum / runs.len() as f64)
        })
        .collect()
}

/// Fig. 9 or 13: throughput over load.
fn over_load(measured: &Measured, movement: Movement) -> Option<Figure> {
    let number = match movement {
        Movement::ToWlan => 9,
        Movement::To3g => 13,
    };
    let groups: Vec<(Option<Cow<'static, str>>, Vec<Panel>)> = WindowSet::ALL
        .into_iter()
        .filter_map(|windows| {
            let runs = Runs::of(measured, windows);
            let loads = runs.loads(movement);
            let figure = OverLoad { movement, number, windows, runs, loads };
            (!figure.loads.is_empty()).then(|| (Some(windows.words().into()), figure.panels()))
        })
        .collect();
    (!groups.is_empty()).then(|| Figure {
        label: format!("Fig. {number}"),
        grids: Vec::new(),
        title: format!("{}: throughput over background load", movement.words()),
        caption: "Bars are 95 % confidence intervals. In (c) they are those of the paired differences, which pairing under \
                  the same background makes much narrower than (a) and (b) suggest."
            .to_owned(),
        groups,
    })
}

struct OverLoad<'a> {
    movement: Movement,
    number: u8,
    windows: WindowSet,
    runs: Runs<'a>,
    loads: Vec<u8>,
}

impl OverLoad<'_> {
    fn panels(&self) -> Vec<Panel> {
        let (unit, scale) = unit(self.movement);
        let whole = DURATION.as_secs_f64();
        let after = DURATION.saturating_sub(SWITCH).as_secs_f64();
        // Before the switch to 3G the mobile is in the WLAN: use Mbps.
        let total = |run: &Handover| run.total_bytes as f64 * 8e-6 / whole;
        let later = |run: &Handover| run.after_bytes as f64 * 8.0 * scale / after;
        vec![
            self.panel(
                "a",
                "total",
                "throughput (Mbps)",
                "The whole run, as in the paper",
                self.means(total),
            ),
            self.panel(
                "b",
                "after",
                &format!("throughput ({unit})"),
                "From the switch on",
                self.means(later),
            ),
            self.panel(
                "c",
                "lead",
                &format!("difference ({unit})"),
                "From the switch on, difference to mSCTP under the same background",
                self.differences(later),
            ),
        ]
    }

    fn panel(&self, letter: &str, what: &str, label: &str, caption: &str, series: Vec<Series>) -> Panel {
        let ends = series.iter().flat_map(|series| &series.points).flat_map(|point| {
            let half = point.half_width.filter(|half| half.is_finite()).unwrap_or(0.0);
            [point.y - half, point.y + half]
        });
        Panel {
            slug: format!("fig{:02}{letter}-{what}-{}", self.number, self.windows.slug()),
            caption: format!("({letter}) {caption}"),
            chart: Chart {
                title: format!(
                    "Fig. {} ({letter}): {label} over background load, {}, {}",
                    self.number,
                    self.movement.words(),
                    self.windows.words()
                ),
                x: Axis::new("background (% of the link)", -4.0, 94.0),
                y: around_zero(label, ends.collect::<Vec<_>>().into_iter()),
                series,
                markers: Vec::new(),
            },
        }
    }

    fn means(&self, figure: impl Fn(&Handover) -> f64) -> Vec<Series> {
        let series = Scheme::ALL.into_iter().map(|scheme| {
            self.series(scheme.words().to_owned(), scheme, |load| {
                let values: Vec<f64> =
                    self.runs.each(self.movement, load, scheme).iter().map(|run| figure(run)).collect();
                Mean::of(&values)
            })
        });
        series.collect()
    }

    fn differences(&self, figure: impl Fn(&Handover) -> f64) -> Vec<Series> {
        let series = [Scheme::Inherit, Scheme::Adaptive].into_iter().map(|scheme| {
            self.series(format!("{} − mSCTP", scheme.words()), scheme, |load| {
                let pair = (scheme, Scheme::Conservative);
                let (own, base) = self.runs.paired(self.movement, load, pair, |run| Some(figure(run)));
                paired_difference(&own, &base)
            })
        });
        series.collect()
    }

    fn series(&self, name: String, scheme: Scheme, mean: impl Fn(u8) -> Option<Mean>) -> Series {
        let points = self.loads.iter().filter_map(|&load| {
            let mean = mean(load)?;
            Some(Point { x: f64::from(load), y: mean.mean, half_width: Some(mean.half_width) })
        });
        Series { name, style: style(scheme), points: points.collect(), mark: Mark::LineAndDots }
    }
}
