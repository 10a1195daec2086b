//! Segment plots: transmissions, losses and acknowledgments of segments over time.

use std::borrow::Cow;

use super::figures::percent;
use crate::experiments::fu_atiquzzaman::grid::{LossSet, MicroscopeKey, PLOTTED, Protocol, Sender};
use crate::experiments::fu_atiquzzaman::measure::{Measured, Microscope, Repair, Sent};
use crate::figure::{Axis, Chart, Mark, Marker, Point, Series, Style};
use crate::report::{Cell, Figure, Grid, Panel};

/// Returns Figs 6 to 8: six losses under the microscope.
pub(super) fn microscope(measured: &Measured) -> Option<Figure> {
    if measured.microscope.is_empty() {
        return None;
    }
    let groups = LossSet::ALL.map(|losses| {
        let heading = match losses {
            LossSet::Same => "The same six losses for all three (those of Fig. 7)",
            LossSet::Own => "Each protocol with the losses of its own figure",
        };
        let panel = |protocol: Protocol| {
            let run = measured.microscope.get(&MicroscopeKey::drawn(losses, protocol))?;
            microscope_panel(run, losses, protocol)
        };
        (Some(heading.into()), Protocol::ALL.into_iter().filter_map(panel).collect())
    });
    Some(Figure {
        label: "Figs 6–8".to_owned(),
        title: "Six losses in one window".to_owned(),
        caption: "w = 28.8, r = 384 kbps, the paper’s delays, no handover, nothing lost but the six. Segments are counted from the \
                  first lost one, seconds from when it was sent. The time that counts is from the first retransmission of the six to the \
                  last (paper: SCTP about 3.5 s, TCP SACK about 11 s; Reno waits for a timeout)."
            .to_owned(),
        grids: LossSet::ALL.into_iter().map(|losses| repairs(measured, losses)).collect(),
        groups: groups.to_vec(),
    })
}

fn repairs(measured: &Measured, losses: LossSet) -> Grid {
    let row = |(protocol, sender): (Protocol, Sender)| {
        let run =
            measured.microscope.get(&MicroscopeKey { sender, ..MicroscopeKey::drawn(losses, protocol) });
        let repair = run.and_then(|run| Some((run, run.begins()?, run.repair()?)));
        let cells = repair.map_or(Vec::new(), |(run, begins, repair): (&Microscope, f64, Repair)| {
            let saved = repair.done - begins;
            [
                format!("{:.1} s", repair.first - begins),
                format!("{:.2} s", repair.span()),
                format!("{saved:.1} s"),
                repair.timeouts.to_string(),
                run.most_blocks.to_string(),
            ]
            .map(|text| Cell { text, ..Cell::default() })
            .to_vec()
        });
        (format!("{}{}", protocol.words(), sender.suffix()), cells)
    };
    let senders = Protocol::ALL.into_iter().flat_map(|protocol| Sender::ALL.map(|sender| (protocol, sender)));
    let has_run = |&(protocol, sender): &(Protocol, Sender)| {
        let key = MicroscopeKey { sender, ..MicroscopeKey::drawn(losses, protocol) };
        sender == Sender::Rfc6675 || measured.microscope.contains_key(&key)
    };
    let head = [
        "",
        "first retransmitted after",
        "first to last of the six",
        "all acknowledged after",
        "timeouts",
        "most blocks",
    ];
    Grid {
        caption: format!("Repair of the six, {}", losses.words()),
        head: head.map(str::to_owned).to_vec(),
        rows: senders.filter(has_run).map(row).collect(),
    }
}

fn microscope_panel(run: &Microscope, losses: LossSet, protocol: Protocol) -> Option<Panel> {
    let (begins, repair) = (run.begins()?, run.repair()?);
    let first = *run.lost.first()?;
    let number = match protocol {
        Protocol::Reno => 6,
        Protocol::Sack => 7,
        Protocol::Sctp => 8,
    };
    let set = if losses == LossSet::Same { "same" } else { "own" };
    let share = repair.span() / (repair.done - begins);
    Some(Panel {
        slug: format!("fig{number:02}-segments-{set}"),
        caption: format!(
            "Fig. {number}, {}: the six are retransmitted within {:.2} s ({} of the time to the last acknowledgment)",
            protocol.words(),
            repair.span(),
            percent(share).trim_start_matches('+')
        ),
        chart: Chart {
            title: format!(
                "Fig. {number}: segments of {} round six losses, {}",
                protocol.words(),
                losses.words()
            ),
            ..segment_chart(run, (begins, first), (begins - 2.0, repair.done + 3.0))
        },
    })
}

/// Returns Figs 2 and 3: a handover behind a fast and behind a slow bottleneck.
pub(super) fn handovers(measured: &Measured) -> Vec<(Option<Cow<'static, str>>, Vec<Panel>)> {
    let panel = |(number, (wired, wireless)): (u8, (u32, u32))| {
        let (key, run) = measured.grid.iter().find(|(key, run)| {
            (key.wired, key.wireless, key.protocol) == (wired, wireless, Protocol::Reno) && run.plot.is_some()
        })?;
        let plot = run.plot.as_ref()?;
        let handover = run.handovers.iter().find(|handover| handover.lost > 0)?;
        let (from, to) = (handover.from - 2.0, (handover.to + 10.0).min(handover.from + 30.0));
        let first = plot.sent.iter().find(|sent| sent.at >= from)?.segment;
        let mut chart = segment_chart(plot, (0.0, first), (from, to));
        chart.title = format!("Fig. {number}: segments of TCP Reno in a handover, {key}");
        chart.markers.push(Marker { x: handover.from + handover.outage, label: "registered".to_owned() });
        chart.markers.sort_by(|a, b| a.x.total_cmp(&b.x));
        Some(Panel {
            slug: format!("fig{number:02}-handover"),
            caption: format!("Fig. {number}: {key}. Segments are counted from the first shown"),
            chart,
        })
    };
    let panels: Vec<Panel> = [2, 3].into_iter().zip(PLOTTED).filter_map(panel).collect();
    if panels.is_empty() { Vec::new() } else { vec![(None, panels)] }
}

/// Draws segments from `first` on, over time since `zero`, for the events in `window` (seconds of the run).
fn segment_chart(run: &Microscope, (zero, first): (f64, u64), window: (f64, f64)) -> Chart {
    let (from, to) = window;
    let inside = |at: f64| at >= from && at <= to;
    let point = |at: f64, segment: u64| Point::new(at - zero, segment as f64 - first as f64);
    let dots = |name: &str, style, of: &dyn Fn(&Sent) -> bool| Series {
        name: name.to_owned(),
        style,
        points: run
            .sent
            .iter()
            .filter(|sent| inside(sent.at) && of(sent))
            .map(|sent| point(sent.at, sent.segment))
            .collect(),
        mark: Mark::Dots,
        ..Series::default()
    };
    let lost = |sent: &Sent| !sent.retransmission && run.lost.contains(&sent.segment);
    let acknowledged = Series {
        name: "acknowledged".to_owned(),
        style: Style::Reference,
        points: run
            .acknowledged
            .iter()
            .filter(|&&(at, _)| inside(at))
            .map(|&(at, next)| point(at, next))
            .collect(),
        mark: Mark::Steps,
        ..Series::default()
    };
    let series = vec![
        dots("sent", Style::Second, &|sent| !sent.retransmission && !lost(sent)),
        dots("lost", Style::First, &lost),
        dots("retransmitted", Style::Fourth, &|sent| sent.retransmission),
        acknowledged,
    ];
    let ys = || series.iter().flat_map(|series| &series.points).map(|point| point.y);
    let (low, high) = (ys().fold(0.0, f64::min), ys().fold(1.0, f64::max));
    let markers = run.timeouts.iter().filter(|&&at| inside(at));
    Chart {
        title: String::new(),
        x: Axis::new("time (s)", (from - zero).floor(), (to - zero).ceil()),
        y: Axis::new("segment", low - 2.0, high + 2.0),
        markers: markers.map(|&at| Marker { x: at - zero, label: "timeout".to_owned() }).collect(),
        series,
    }
}
