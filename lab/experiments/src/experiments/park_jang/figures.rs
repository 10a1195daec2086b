//! The paper's Figs 2 and 3 redrawn from the measured runs, Fig. 3 for SCTP, and the handovers.

use super::claims::{Measured, Runs, kbps};
use super::grid::{Air, Cell, MicroscopeKey, Network, Scheme, Transport};
use super::measure::{EventKind, Handover, Microscope};
use super::sweeps;
use crate::figure::{Axis, Chart, Mark, Marker, Point, Series, Style, round_up};
use crate::report::{Cell as GridCell, Figure, Grid, Panel, Tone};
use crate::stats::Mean;
use crate::words::{number, signed};

/// Returns every figure that has runs: the paper's, then ours.
#[must_use]
pub fn all(measured: &Measured) -> Vec<Figure> {
    let mut figures: Vec<Figure> = microscope(measured).into_iter().collect();
    figures.extend(throughputs(measured, &Transport::TCP, "Fig. 3", "Average throughput of TCP"));
    figures.extend(throughputs(measured, &[Transport::Sctp], "Fig. 3 for SCTP", "The same on an SCTP path"));
    figures.extend(sweeps::verdicts(measured));
    figures.extend(sweeps::exponent(measured));
    figures.extend(sweeps::buffers_and_losses(measured));
    figures.extend(recoveries(measured));
    figures.extend(handovers(measured));
    figures
}

pub(super) fn style(scheme: Scheme) -> Style {
    match scheme {
        Scheme::Standard => Style::First,
        Scheme::Previous => Style::Second,
        Scheme::Proposed => Style::Third,
    }
}

/// Creates an axis from 0 to a round number above every value.
pub(super) fn from_zero(label: &str, values: impl Iterator<Item = f64>) -> Axis {
    Axis::new(label, 0.0, round_up(values.fold(0.0, f64::max) * 1.04))
}

/// Returns the upper ends of all points' intervals.
pub(super) fn tops(series: &[Series]) -> impl Iterator<Item = f64> {
    series.iter().flat_map(|series| &series.points).map(|point| point.y + point.half_width.unwrap_or(0.0))
}

pub(super) fn finite(mean: &Mean) -> Option<f64> {
    Some(mean.half_width).filter(|width| width.is_finite())
}

/// Creates a cell of a grid without a tone.
pub(super) fn plain(text: impl Into<String>) -> GridCell {
    GridCell { text: text.into(), ..GridCell::default() }
}

/// Returns short names of the cells, for the places of an axis.
fn places() -> Vec<String> {
    let short = |cell: Cell| format!("{} {}", cell.network.words(), &cell.losses.words()[..3]);
    Cell::all().into_iter().map(short).collect()
}

/// Returns the throughput of a scheme in a cell, in kbps.
fn throughput(runs: &Runs<'_>, cell: Cell, transport: Transport, scheme: Scheme) -> Option<Mean> {
    let each: Vec<f64> =
        runs.each(cell, transport, scheme).map(|(_, run)| kbps(run.delivered as f64)).collect();
    Mean::of(&each)
}

/// Fig. 3: bars of the schemes in the six cells.
fn throughputs(measured: &Measured, transports: &[Transport], label: &str, title: &str) -> Option<Figure> {
    let groups: Vec<_> = Air::ALL
        .into_iter()
        .map(|air| {
            let panels = transports.iter().filter_map(|&transport| bars(measured, air, transport)).collect();
            (Some(heading(air).into()), panels)
        })
        .filter(|(_, panels): &(_, Vec<Panel>)| !panels.is_empty())
        .collect();
    let each = |air| transports.iter().filter_map(move |&transport| gains(measured, air, transport));
    let grids = Air::ALL.into_iter().flat_map(each).collect();
    (!groups.is_empty()).then(|| Figure {
        label: label.to_owned(),
        title: title.to_owned(),
        caption: "Six cells: WLAN and LTE, each with congestion (con), wireless (wir) and mixed (mix) losses. Means over the \
                  seeds with their 95 % intervals; the tables have the schemes’ means and what they gain over the standard."
            .to_owned(),
        grids,
        groups,
    })
}

fn bars(measured: &Measured, air: Air, transport: Transport) -> Option<Panel> {
    let runs = Runs::of(measured, air);
    let series: Vec<Series> = transport
        .schemes()
        .iter()
        .map(|&scheme| Series {
            name: scheme.words().to_owned(),
            style: style(scheme),
            points: Cell::all()
                .into_iter()
                .enumerate()
                .filter_map(|(place, cell)| {
                    let mean = throughput(&runs, cell, transport, scheme)?.scaled(1e-3);
                    Some(Point { x: place as f64, y: mean.mean, half_width: finite(&mean) })
                })
                .collect(),
            mark: Mark::Bars,
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let y = from_zero("throughput (Mbps)", tops(&series));
    (!series.is_empty()).then(|| Panel {
        slug: format!("fig03-{}-{}", air.slug(), transport.slug()),
        caption: transport.words().to_owned(),
        chart: Chart {
            title: format!("Average throughput of {} in six cells; {}", transport.words(), air.words()),
            x: Axis::named("cell", places()),
            y,
            series,
            markers: Vec::new(),
        },
    })
}

/// Returns the numbers of the bars, and the gain over the standard.
fn gains(measured: &Measured, air: Air, transport: Transport) -> Option<Grid> {
    let runs = Runs::of(measured, air);
    let mut head = vec!["kbps".to_owned()];
    let schemes = transport.schemes();
    head.extend(schemes.iter().map(|scheme| scheme.words().to_owned()));
    let rows: Vec<(String, Vec<GridCell>)> = Cell::all()
        .into_iter()
        .filter_map(|cell| {
            let cells: Option<Vec<GridCell>> = schemes
                .iter()
                .map(|&scheme| {
                    let mean = throughput(&runs, cell, transport, scheme)?.mean;
                    let standard = throughput(&runs, cell, transport, Scheme::Standard)?.mean;
                    let gain = signed((mean / standard - 1.0) * 100.0);
                    let note = if scheme == Scheme::Standard { String::new() } else { format!("{gain} %") };
                    Some(GridCell { text: number(mean), note, tone: Tone::Plain })
                })
                .collect();
            Some((cell.words(), cells?))
        })
        .collect();
    (!rows.is_empty()).then(|| Grid {
        caption: format!("{}; {}", transport.words(), air.words()),
        head,
        rows,
    })
}

/// Returns the loss model as a heading.
fn heading(air: Air) -> &'static str {
    match air {
        Air::Plain => "Losses on the air reach the transport",
        Air::Recovering => "The link layer recovers",
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Fig. 2: packets and ACKs at the sender around one loss.
fn microscope(measured: &Measured) -> Option<Figure> {
    let groups: Vec<_> = Transport::TCP
        .into_iter()
        .map(|transport| {
            let panels = Scheme::ALL
                .into_iter()
                .filter(|&scheme| scheme != Scheme::Standard)
                .filter_map(|scheme| {
                    let run = measured.microscope.get(&MicroscopeKey { transport, scheme })?;
                    Some(microscope_panel(transport, scheme, run))
                })
                .collect();
            (Some(transport.words().into()), panels)
        })
        .filter(|(_, panels): &(_, Vec<Panel>)| !panels.is_empty())
        .collect();
    (!groups.is_empty()).then(|| Figure {
        label: "Fig. 2".to_owned(),
        title: "One packet lost on the air for good".to_owned(),
        caption: "At the sender, in the paper’s units of time: a round trip has twenty, and the first duplicate ACK comes at \
                  T28. A number counts packets from the lost one; an ACK has the number of the packet it asks for. The proposed \
                  scheme sends again at the third duplicate, the previous one a round trip after the first; both let out one \
                  new packet for each of the three duplicates, and then wait."
            .to_owned(),
        grids: Vec::new(),
        groups,
    })
}

fn microscope_panel(transport: Transport, scheme: Scheme, run: &Microscope) -> Panel {
    let unit = run.rtt / 20.0;
    let time = |at: f64| 28.0 + (at - run.first_duplicate) / unit;
    let lost = run.events.iter().find(|event| event.kind == EventKind::Retransmitted).map_or(0, |e| e.number);
    let dots = |kind, name: &str, style| Series {
        name: name.to_owned(),
        style,
        points: run
            .events
            .iter()
            .filter(|event| event.kind == kind && (-2.0..85.0).contains(&time(event.at)))
            .map(|event| Point::new(time(event.at), event.number as f64 - lost as f64))
            .collect(),
        mark: Mark::Dots,
    };
    let series: Vec<Series> = [
        dots(EventKind::Sent, "sent", Style::First),
        dots(EventKind::Acked, "ACK", Style::Second),
        dots(EventKind::Retransmitted, "retransmitted", Style::Third),
    ]
    .into_iter()
    .filter(|series| !series.points.is_empty())
    .collect();
    let values = || series.iter().flat_map(|series| &series.points).map(|point| point.y);
    let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    let again = time(run.retransmission);
    Panel {
        slug: format!("fig02-{}-{}", transport.slug(), scheme.slug()),
        caption: format!("{}: retransmitted at T{again:.0}", capital(scheme.words())),
        chart: Chart {
            title: format!("{} with {}: packets around a loss", transport.words(), scheme.words()),
            x: Axis::new("time (1/20 of a round trip)", 0.0, 80.0),
            y: Axis::new("packets from the lost one", low.min(0.0) - 2.0, high + 2.0),
            series,
            markers: vec![
                Marker { x: 28.0, label: "T28".to_owned() },
                Marker { x: again, label: format!("T{again:.0}") },
            ],
        },
    }
}

/// Returns the figures of PJ3.
fn recoveries(measured: &Measured) -> Option<Figure> {
    let mut rows = Vec::new();
    for transport in Transport::TCP {
        for errors in [false, true] {
            let runs: Vec<_> = measured
                .recoveries
                .iter()
                .filter(|(key, _)| key.transport == transport && key.errors == errors)
                .map(|(_, run)| run)
                .collect();
            let Some(longest) =
                Mean::of(&runs.iter().map(|run| run.longest_rtt * 1000.0).collect::<Vec<_>>())
            else {
                continue;
            };
            let sum = |value: fn(&super::measure::Recovery) -> u64| {
                plain(number(runs.iter().map(|run| value(run)).sum::<u64>() as f64).replace(".0", ""))
            };
            let air = if errors { "5 % of transmissions lost" } else { "nothing lost on the air" };
            rows.push((
                format!("{}, {air}", transport.words()),
                vec![
                    sum(|run| run.retransmitted_blocks),
                    sum(|run| run.lost),
                    sum(|run| run.duplicate_acks),
                    sum(|run| run.gap_losses),
                    plain(format!("{} ms", number(longest.mean))),
                ],
            ));
        }
    }
    (!rows.is_empty()).then(|| Figure {
        label: "LTE recovers".to_owned(),
        title: "What is left of losses on the air behind HARQ and RLC AM".to_owned(),
        caption: "Sums over the runs, but for the longest round trip, which is the mean of each run’s longest. The receive \
                  window of 65,536 bytes fits the queue."
            .to_owned(),
        grids: vec![Grid {
            caption: String::new(),
            head: [
                "",
                "blocks retransmitted",
                "packets lost",
                "duplicate ACKs",
                "losses found by TCP",
                "longest round trip",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows,
        }],
        groups: Vec::new(),
    })
}

/// Handovers with and without F-RTO.
fn handovers(measured: &Measured) -> Option<Figure> {
    let mut rows = Vec::new();
    for from in Network::ALL {
        for transport in Transport::ALL {
            for frto in [false, true] {
                let runs: Vec<(Network, &Handover)> = measured
                    .handovers
                    .iter()
                    .filter(|(key, _)| (key.from, key.transport, key.frto) == (from, transport, frto))
                    .map(|(key, run)| (key.to(), run))
                    .collect();
                let Some((to, _)) = runs.first() else { continue };
                let name = format!(
                    "{} → {}, {}, {}",
                    from.words(),
                    to.words(),
                    transport.words(),
                    if frto { "F-RTO" } else { "without" }
                );
                rows.push((name, handover_row(&runs, frto)));
            }
        }
    }
    (!rows.is_empty()).then(|| Figure {
        label: "Handover".to_owned(),
        title: "Spurious timeouts at a change of network".to_owned(),
        caption: "The radio link is silent for half a second to three seconds, loses nothing, and is another network then. \
                  Every timeout is spurious, and slow start after it needless."
            .to_owned(),
        grids: vec![Grid {
            caption: String::new(),
            head: [
                "",
                "handovers",
                "with a timeout",
                "all recognised",
                "needless slow start",
                "window after / before",
                "kbps",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows,
        }],
        groups: Vec::new(),
    })
}

fn handover_row(runs: &[(Network, &Handover)], frto: bool) -> Vec<GridCell> {
    let count = |is: fn(&Handover) -> bool| runs.iter().filter(|(_, run)| is(run)).count();
    let timeouts = count(|run| run.timeouts > 0);
    let slow = count(|run| run.slow_start);
    let kept: Vec<f64> = runs
        .iter()
        .filter(|(_, run)| run.timeouts > 0 && run.window_before > 0)
        .map(|(_, run)| run.window_after as f64 / run.window_before as f64)
        .collect();
    let share = |part: usize| format!("{:.0} %", 100.0 * part as f64 / runs.len() as f64);
    let delivered = runs.iter().map(|(_, run)| run.delivered as f64).sum::<f64>() / runs.len() as f64;
    let tone = if !frto || timeouts == 0 {
        Tone::Plain
    } else if slow == 0 {
        Tone::Good
    } else {
        Tone::Bad
    };
    vec![
        plain(runs.len().to_string()),
        plain(timeouts.to_string()),
        plain(count(|run| run.timeouts > 0 && run.recognised == run.timeouts).to_string()),
        GridCell { text: share(slow), note: String::new(), tone },
        plain(Mean::of(&kept).map_or("–".to_owned(), |mean| format!("{:.2}", mean.mean))),
        plain(number(delivered * 8.0 / 60_000.0)),
    ]
}
