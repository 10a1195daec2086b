//! The paper's tables and figures redrawn from the measured runs.

use super::claims::{Runs, cells};
use super::predicted::table;
use crate::experiments::fu_atiquzzaman::grid::{GridKey, Protocol, kbps};
use crate::experiments::fu_atiquzzaman::measure::{Handover, Measured};
use crate::experiments::fu_atiquzzaman::paper::{WIRED, WIRELESS, cell};
use crate::figure::{Axis, Chart, Mark, Marker, Point, Series, Style, round_up};
use crate::report::{Cell, Figure, Grid, Panel};
use crate::stats::Mean;
use crate::words::{number, signed, spread};
use Protocol::{Reno, Sack, Sctp};

/// Returns every figure that has runs.
#[must_use]
pub fn all(measured: &Measured) -> Vec<Figure> {
    let runs = Runs::new(measured);
    let figures = [
        tables(&runs),
        gains(&runs),
        super::segments::microscope(measured),
        handovers(measured),
        losses(measured),
        blocks(measured),
    ];
    figures.into_iter().flatten().collect()
}

pub(super) fn style(protocol: Protocol) -> Style {
    match protocol {
        Reno => Style::First,
        Sack => Style::Second,
        Sctp => Style::Third,
    }
}

pub(super) fn percent(fraction: f64) -> String {
    format!("{} %", signed(fraction * 100.0))
}

fn table_number(protocol: Protocol) -> &'static str {
    match protocol {
        Reno => "V",
        Sack => "VI",
        Sctp => "VII",
    }
}

/// Returns a table over all cells, with a row for each wired rate.
fn over_cells(caption: String, cell: impl Fn(u32, u32) -> Cell) -> Grid {
    let head = std::iter::once("w \\ r (kbps)".to_owned()).chain(WIRELESS.map(kbps));
    let row = |wired: u32| (kbps(wired), WIRELESS.map(|wireless| cell(wired, wireless)).to_vec());
    Grid { caption, head: head.collect(), rows: WIRED.map(row).to_vec() }
}

/// Returns Tables V to VII: msctp's, with the paper's below.
fn tables(runs: &Runs<'_>) -> Option<Figure> {
    let grid = |protocol: Protocol| {
        let fitted = if protocol == Reno { "fitted to" } else { "predicted" };
        let error = runs.median_error(&[protocol]);
        let error =
            error.map_or(String::new(), |error| format!(", median relative error {:.1} %", error * 100.0));
        let caption = format!("Table {}: {} ({fitted}){error}", table_number(protocol), protocol.words());
        over_cells(caption, |wired, wireless| {
            let paper =
                cell(table(protocol), wired, wireless).map_or(String::new(), |value| value.to_string());
            let (mean, error) = (runs.mean(wired, wireless, protocol), runs.error(wired, wireless, protocol));
            let (Some(mean), Some(error)) = (mean, error) else {
                return Cell { note: paper, ..Cell::default() };
            };
            Cell { text: whole(mean.mean), note: format!("{paper}, {}", points(error)), ..Cell::default() }
        })
    };
    (!runs.seeds().is_empty()).then(|| Figure {
        label: "Tables V–VII".to_owned(),
        title: "Segments delivered in 200 s".to_owned(),
        caption: "Mean over the seeds; under it the paper’s number and our difference from it. Only Table V was looked at when the \
                  free parameters were fitted. w: between correspondent and router; r: between mobile and agent."
            .to_owned(),
        grids: Protocol::ALL.map(grid).to_vec(),
        groups: Vec::new(),
    })
}

/// Formats a fraction in whole percent, with its sign.
fn points(fraction: f64) -> String {
    format!("{:+.0} %", fraction * 100.0).replace('-', "−")
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

/// Returns the gain of SCTP in the paper's tables.
fn paper_gain(wired: u32, wireless: u32, over: Protocol) -> Option<f64> {
    let value = |protocol| cell(table(protocol), wired, wireless).map(f64::from);
    Some(value(Sctp)? / value(over)? - 1.0)
}

/// Figs 9 and 10.
fn gains(runs: &Runs<'_>) -> Option<Figure> {
    if runs.seeds().is_empty() {
        return None;
    }
    let overs = [(9, Reno), (10, Sack)];
    let ours = |over| move |wired, wireless| runs.gain(wired, wireless, over);
    let papers = |over| move |wired, wireless| paper_gain(wired, wireless, over);
    let grid = |(number, over): (u8, Protocol)| {
        let caption = format!("Fig. {number}: gain of SCTP over {}, the paper’s under it", over.words());
        over_cells(caption, |wired, wireless| Cell {
            text: runs.gain(wired, wireless, over).map_or(String::new(), points),
            note: paper_gain(wired, wireless, over).map_or(String::new(), points),
            ..Cell::default()
        })
    };
    let group = |(number, over): (u8, Protocol)| {
        // Use one scale for both, so that they can be compared.
        let all: Vec<f64> = cells()
            .flat_map(|(w, r)| [runs.gain(w, r, over), paper_gain(w, r, over)])
            .flatten()
            .map(|gain| gain * 100.0)
            .collect();
        let heading = if over == Reno { "Fig. 9: over TCP Reno" } else { "Fig. 10: over TCP SACK" };
        let panels = vec![
            gain_panel(number, "a", "measured", &all, ours(over)),
            gain_panel(number, "b", "paper", &all, papers(over)),
        ];
        (Some(heading.into()), panels)
    };
    Some(Figure {
        label: "Figs 9, 10".to_owned(),
        title: "Throughput gain of SCTP".to_owned(),
        caption: "(T(SCTP) − T(TCP)) / T(TCP), of the means over the seeds. The paper draws surfaces; here each wireless rate is a \
                  line over the wired rates."
            .to_owned(),
        grids: overs.map(grid).to_vec(),
        groups: overs.map(group).to_vec(),
    })
}

fn gain_panel(
    number: u8,
    letter: &str,
    what: &str,
    all: &[f64],
    gain: impl Fn(u32, u32) -> Option<f64>,
) -> Panel {
    let least = all.iter().copied().fold(0.0, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    let series = WIRELESS.into_iter().zip(Style::MEASURED).map(|(wireless, style)| {
        let points = WIRED
            .into_iter()
            .enumerate()
            .filter_map(|(place, wired)| Some(Point::new(place as f64, gain(wired, wireless)? * 100.0)));
        let name = format!("r = {}", kbps(wireless));
        Series { name, style, points: points.collect(), mark: Mark::LineAndDots, ..Series::default() }
    });
    let from = if least < 0.0 { -round_up(-least * 1.04) } else { 0.0 };
    Panel {
        slug: format!("fig{number:02}{letter}-gain-{what}"),
        caption: format!("({letter}) {}", if what == "paper" { "The paper’s tables" } else { "Measured" }),
        chart: Chart {
            title: format!("Fig. {number} ({letter}): gain of SCTP over the wired rate, {what}"),
            x: Axis::named("w (kbps)", WIRED.map(kbps).to_vec()),
            y: Axis::new("gain (%)", from, round_up(most * 1.04)),
            series: series.collect(),
            markers: Vec::new(),
        },
    }
}

/// Returns Figs 2 and 3: the effect of handovers on TCP Reno.
fn handovers(measured: &Measured) -> Option<Figure> {
    let all: Vec<(&GridKey, &Handover)> = measured
        .grid
        .iter()
        .filter(|(key, _)| key.protocol == Reno)
        .flat_map(|(key, run)| run.handovers.iter().map(move |handover| (key, handover)))
        .filter(|(_, handover)| handover.lost > 0)
        .collect();
    if all.is_empty() {
        return None;
    }
    let row = |wired: u32| {
        let those: Vec<&Handover> =
            all.iter().filter(|(key, _)| key.wired == wired).map(|&(_, handover)| handover).collect();
        let mean = |value: fn(&Handover) -> f64| {
            Mean::of(&those.iter().map(|handover| value(handover)).collect::<Vec<_>>())
                .map_or(String::new(), |mean| format!("{:.1}", mean.mean))
        };
        let count = |is: fn(&Handover) -> bool| {
            let count = those.iter().filter(|handover| is(handover)).count();
            format!("{:.0} %", 100.0 * count as f64 / those.len().max(1) as f64)
        };
        let cells = [
            those.len().to_string(),
            mean(|handover| handover.outage),
            mean(|handover| handover.rto),
            mean(|handover| handover.lost as f64),
            count(|handover| handover.timeouts > 0),
            count(|handover| handover.timeouts == 0 && handover.fast_retransmits > 0),
        ];
        (kbps(wired), cells.map(|text| Cell { text, ..Cell::default() }).to_vec())
    };
    let head = [
        "w (kbps)",
        "handovers with losses",
        "handover (s)",
        "RTO (s)",
        "segments lost",
        "timed out",
        "fast retransmit alone",
    ];
    Some(Figure {
        label: "Figs 2, 3".to_owned(),
        title: "TCP Reno through a handover".to_owned(),
        caption: "The handover is from the last advertisement of the old agent to the registration with the new one; the RTO is the \
                  sender’s when it began. Below, one handover each behind a fast and a slow bottleneck."
            .to_owned(),
        grids: vec![Grid {
            caption: "TCP Reno, all wireless rates and seeds, by the wired rate".to_owned(),
            head: head.map(str::to_owned).to_vec(),
            rows: WIRED.map(row).to_vec(),
        }],
        groups: super::segments::handovers(measured),
    })
}

/// Returns Fig. 4: times of losses.
fn losses(measured: &Measured) -> Option<Figure> {
    let (key, run) = measured
        .grid
        .iter()
        .find(|(key, _)| (key.wired, key.wireless) == LOSS_CELL && key.protocol == Reno)?;
    let mut seconds = vec![0.0; 201];
    for &at in &run.losses {
        if let Some(count) = seconds.get_mut(at as usize) {
            *count += 1.0;
        }
    }
    let most = seconds.iter().copied().fold(1.0, f64::max);
    let points = seconds.iter().enumerate().filter(|&(_, &count)| count > 0.0);
    let series = Series {
        name: "segments lost".to_owned(),
        style: Style::First,
        points: points.map(|(second, &count)| Point::new(second as f64 + 0.5, count)).collect(),
        mark: Mark::Dots,
        ..Series::default()
    };
    let markers = [(50.0, "leaves"), (150.0, "comes back")];
    Some(Figure {
        label: "Fig. 4".to_owned(),
        title: "Losses over time".to_owned(),
        caption: format!(
            "Segments lost in each second, about a round trip and so a window: {key}. The mobile sets out at 50 and 150 s and is at \
             the end of the cell some 19 s later."
        ),
        grids: Vec::new(),
        groups: vec![(
            None,
            vec![Panel {
                slug: "fig04-losses".to_owned(),
                caption: "Losses in each second".to_owned(),
                chart: Chart {
                    title: "Fig. 4: segments lost in each second".to_owned(),
                    x: Axis::new("time (s)", 0.0, 200.0),
                    y: Axis::new("segments lost in 1 s", 0.0, most + 1.0),
                    series: vec![series],
                    markers: markers.map(|(x, label)| Marker { x, label: label.to_owned() }).to_vec(),
                },
            }],
        )],
    })
}

/// The cell whose losses are plotted.
const LOSS_CELL: (u32, u32) = (500_000, 1_000_000);

/// Draws throughput over the number of blocks.
fn blocks(measured: &Measured) -> Option<Figure> {
    if measured.blocks.is_empty() {
        return None;
    }
    let mut limits: Vec<_> = measured.blocks.keys().map(|key| key.blocks).collect();
    limits.sort_unstable();
    limits.dedup();
    let mean = |protocol, limit| {
        let runs = measured.blocks.iter().filter(|(key, _)| key.protocol == protocol && key.blocks == limit);
        Mean::of(&runs.map(|(_, &delivered)| delivered as f64).collect::<Vec<_>>())
    };
    let series: Vec<Series> = [Sack, Sctp]
        .into_iter()
        .map(|protocol| Series {
            name: if protocol == Sack { "TCP" } else { "SCTP" }.to_owned(),
            style: style(protocol),
            points: limits
                .iter()
                .enumerate()
                .filter_map(|(place, &limit)| {
                    let mean = mean(protocol, limit)?;
                    Some(Point { x: place as f64, y: mean.mean, half_width: Some(mean.half_width) })
                })
                .collect(),
            mark: Mark::LineAndDots,
            ..Series::default()
        })
        .collect();
    let highest = series
        .iter()
        .flat_map(|s| &s.points)
        .map(|point| point.y + point.half_width.filter(|half| half.is_finite()).unwrap_or_default());
    let y = Axis::new("segments in 200 s", 0.0, round_up(highest.fold(0.0, f64::max) * 1.04));
    let row = |protocol: Protocol| {
        let cells = limits.iter().map(|&limit| Cell {
            text: mean(protocol, limit).map_or(String::new(), |mean| whole(mean.mean)),
            note: mean(protocol, limit)
                .filter(|mean| mean.half_width.is_finite())
                .map_or(String::new(), |mean| {
                    spread(&mean, number).trim_start_matches([',', ' ']).to_owned()
                }),
            ..Cell::default()
        });
        (if protocol == Sack { "TCP" } else { "SCTP" }.to_owned(), cells.collect())
    };
    let head = std::iter::once("blocks".to_owned()).chain(limits.iter().map(|limit| limit.words()));
    Some(Figure {
        label: "SACK blocks".to_owned(),
        title: "Throughput over the number of SACK blocks, under the same losses".to_owned(),
        caption: "The paper’s point by itself: one network (w = r = 200 kbps, the cell in which the paper’s SCTP gains most over TCP \
                  SACK), no handover, the same packets lost whatever the number of blocks: clusters of about a window in which two \
                  packets in five are lost. Bars are 95 % confidence intervals over loss patterns, which all numbers of blocks share. 0: no \
                  selective acknowledgment; TCP is NewReno then."
            .to_owned(),
        grids: vec![Grid {
            caption: "Segments delivered in 200 s, by the blocks an acknowledgment may carry".to_owned(),
            head: head.collect(),
            rows: [Sack, Sctp].map(row).to_vec(),
        }],
        groups: vec![(
            None,
            vec![Panel {
                slug: "blocks".to_owned(),
                caption: "Segments delivered over the number of blocks".to_owned(),
                chart: Chart {
                    title: "Segments delivered over the number of SACK blocks".to_owned(),
                    x: Axis::named("SACK blocks", limits.iter().map(|limit| limit.words()).collect()),
                    y,
                    series,
                    markers: Vec::new(),
                },
            }],
        )],
    })
}
