//! Figures of the sweeps: errors of the classifier, the gain of its own flow, the cost for another.

use std::borrow::Cow;

use super::claims::{Measured, Runs, kbps};
use super::figures::{finite, from_zero, plain, tops};
use super::grid::{
    Air, BUFFERS, Cell, HALVES, LOSSES, LossTest, Losses, Network, Scheme, Subject, SweepKey, Transport,
};
use super::measure::{Confusion, Transfer};
use crate::figure::{Axis, Chart, Mark, Point, Series, Style, round_up};
use crate::report::{Cell as GridCell, Figure, Grid, Panel, Tone};
use crate::stats::{Mean, paired_difference};
use crate::words::{signed, spread};

/// Returns the runs of one point of a sweep.
fn runs(measured: &Measured, subject: Subject, transport: Transport, loss_test: LossTest) -> Vec<&Transfer> {
    let key = |seed| SweepKey { subject, transport, loss_test, seed };
    measured.sweeps.range(key(0)..=key(u64::MAX)).map(|(_, run)| run).collect()
}

fn together(runs: &[&Transfer]) -> Confusion {
    runs.iter().fold(Confusion::default(), |sum, run| sum.and(run.confusion))
}

fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

/// Computes the mean difference of `a` from `b`, in percent of `b`'s mean, with the interval of the paired
/// difference.
fn change(a: &[f64], b: &[f64]) -> Option<Mean> {
    let base = Mean::of(b)?.mean;
    (base > 0.0).then(|| paired_difference(a, b).map(|difference| difference.scaled(100.0 / base)))?
}

fn change_text(change: &Mean) -> (String, String) {
    let note = spread(change, |width| format!("{width:.0}")).trim_start_matches([',', ' ']).to_owned();
    (format!("{} %", signed(change.mean)), note)
}

/// Draws the classifier's decisions in each cell, its gain and its cost: a guide to when to enable it.
pub(super) fn verdicts(measured: &Measured) -> Option<Figure> {
    let grids: Vec<Grid> = Transport::ALL
        .into_iter()
        .flat_map(|transport| Air::ALL.map(|air| verdict_grid(measured, air, transport)))
        .flatten()
        .chain(beside_in_a_queue(measured))
        .collect();
    (!grids.is_empty()).then(|| Figure {
        label: "Right or wrong".to_owned(),
        title: "Whether to switch it on".to_owned(),
        caption: "The proposed scheme with k = 1 in each cell: what it gains over the standard, how often its verdicts are \
                  right, and what a TCP SACK that tells nothing apart gets beside it, compared with what it gets beside a \
                  standard sender. Losses counted over all runs. What the tables say: the test knows queues, nothing else. It \
                  recognises most of the radio’s losses; but random losses on the wire, which fill no queue, it takes for the \
                  radio’s just as often, and the gain in those cells is a window kept without right. Switch it on where the \
                  radio does lose packets to the transport and where a queue is what congestion is; leave it off where the \
                  link layer recovers: there is nothing to gain. On TCP switch timestamps on with it (sweep of queues and \
                  losses): without them the round trip it judges by is often older than the queue."
            .to_owned(),
        grids,
        groups: Vec::new(),
    })
}

fn verdict_grid(measured: &Measured, air: Air, transport: Transport) -> Option<Grid> {
    let all = Runs::of(measured, air);
    let rows: Vec<(String, Vec<GridCell>)> = Cell::all()
        .into_iter()
        .filter_map(|cell| {
            let delivered = |scheme| -> Vec<f64> {
                all.each(cell, transport, scheme).map(|(_, run)| run.delivered as f64).collect()
            };
            let gain = change(&delivered(Scheme::Proposed), &delivered(Scheme::Standard))?;
            let confusion = all
                .each(cell, transport, Scheme::Proposed)
                .fold(Confusion::default(), |sum, (_, run)| sum.and(run.confusion));
            let judged = confusion.wireless_as_wireless
                + confusion.wireless_as_congestion
                + confusion.congestion_as_wireless
                + confusion.congestion_as_congestion;
            let (text, note) = change_text(&gain);
            let mut cells = vec![
                GridCell { text, note, tone: Tone::Plain },
                plain(judged.to_string()),
                plain(percent(confusion.recall())),
                plain(percent(confusion.precision())),
                plain(percent(confusion.missed_congestion())),
            ];
            if air == Air::Plain {
                cells.extend(cost(measured, Subject::Beside { cell }, transport));
            }
            Some((cell.words(), cells))
        })
        .collect();
    let mut head = vec![
        "",
        "gain over standard",
        "losses judged",
        "recall",
        "precision",
        "congestion taken for wireless",
    ];
    if rows.iter().any(|(_, cells)| cells.len() > 5) {
        head.push("flow beside it");
    }
    (!rows.is_empty()).then(|| Grid {
        caption: format!("{}; {}", transport.words(), air.words()),
        head: head.into_iter().map(str::to_owned).collect(),
        rows,
    })
}

/// Returns the results of two flows in one queue, where every loss is congestion.
fn beside_in_a_queue(measured: &Measured) -> Option<Grid> {
    let mut rows = Vec::new();
    for network in Network::ALL {
        for transport in [Transport::Sack, Transport::Sctp] {
            let subject = Subject::Queue { network };
            let own = |loss_test| -> Vec<f64> {
                runs(measured, subject, transport, loss_test).iter().map(|run| run.delivered as f64).collect()
            };
            let Some(gain) = change(&own(LossTest::ParkJang), &own(LossTest::Standard)) else { continue };
            let confusion = together(&runs(measured, subject, transport, LossTest::ParkJang));
            let (text, note) = change_text(&gain);
            let mut cells = vec![
                GridCell { text, note, tone: Tone::Plain },
                plain(percent(confusion.missed_congestion())),
            ];
            cells.extend(cost(measured, subject, transport));
            rows.push((format!("{} on {}", transport.words(), network.words()), cells));
        }
    }
    (!rows.is_empty()).then(|| Grid {
        caption: "Two flows, one queue, nothing lost at random: every loss is congestion".to_owned(),
        head: ["", "gain over standard", "congestion taken for wireless", "flow beside it"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    })
}

/// Returns the change of the competing flow's throughput when its neighbour distinguishes losses.
fn cost(measured: &Measured, subject: Subject, transport: Transport) -> Option<GridCell> {
    let competitor = |loss_test| -> Vec<f64> {
        let runs = runs(measured, subject, transport, loss_test);
        runs.iter().filter_map(|run| run.competitor).map(|bytes| bytes as f64).collect()
    };
    let change = change(&competitor(LossTest::ParkJang), &competitor(LossTest::Standard))?;
    let tone = if change.high() < 0.0 { Tone::Bad } else { Tone::Plain };
    let (text, note) = change_text(&change);
    Some(GridCell { text, note, tone })
}

fn line(name: &str, style: Style, points: Vec<Point>) -> Series {
    Series { name: name.to_owned(), style, points, mark: Mark::LineAndDots }
}

/// Draws the sweep of the exponent k.
pub(super) fn exponent(measured: &Measured) -> Option<Figure> {
    let places = [
        ("TCP SACK on WLAN", Transport::Sack, Network::Wlan),
        ("TCP SACK on LTE", Transport::Sack, Network::Lte),
        ("SCTP on WLAN", Transport::Sctp, Network::Wlan),
        ("SCTP on LTE", Transport::Sctp, Network::Lte),
    ];
    let groups: Vec<_> = places
        .into_iter()
        .map(|(name, transport, network)| {
            let panels =
                [gain_over_k(measured, network, transport), shares_over_k(measured, network, transport)];
            (Some(name.into()), panels.into_iter().flatten().collect())
        })
        .filter(|(_, panels): &(_, Vec<Panel>)| !panels.is_empty())
        .collect();
    (!groups.is_empty()).then(|| Figure {
        label: "Sweep of k".to_owned(),
        title: "The exponent in the test of a loss".to_owned(),
        caption: "The greater k, the sooner a round trip above the least counts as a queue. Throughput in percent of the \
                  standard’s under the same losses; and the share of each kind of loss that is taken for wireless: recall \
                  for the radio’s, mistakes for congestion."
            .to_owned(),
        grids: vec![],
        groups,
    })
}

fn k_axis() -> Axis {
    Axis::new("k", 0.0, 3.25)
}

fn gain_over_k(measured: &Measured, network: Network, transport: Transport) -> Option<Panel> {
    let rate = |subject, loss_test| -> Vec<f64> {
        runs(measured, subject, transport, loss_test).iter().map(|run| run.delivered as f64).collect()
    };
    let styles = [Style::First, Style::Second, Style::Third];
    let series: Vec<Series> = Losses::ALL
        .into_iter()
        .zip(styles)
        .map(|(losses, style)| {
            let cell = Cell { network, losses };
            let standard = rate(Subject::K { cell, halves: 2 }, LossTest::Standard);
            let points = HALVES.into_iter().filter_map(|halves| {
                let classified = rate(Subject::K { cell, halves }, LossTest::ParkJang);
                let change = change(&classified, &standard)?;
                Some(Point {
                    x: f64::from(halves) / 2.0,
                    y: 100.0 + change.mean,
                    half_width: finite(&change),
                })
            });
            line(losses.words(), style, points.collect())
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let y = from_zero("throughput (% of standard)", tops(&series));
    (!series.is_empty()).then(|| Panel {
        slug: format!("k-gain-{}-{}", network.slug(), transport.slug()),
        caption: "Throughput".to_owned(),
        chart: Chart {
            title: format!("Throughput of {} over k on {}", transport.words(), network.words()),
            x: k_axis(),
            y,
            series,
            markers: Vec::new(),
        },
    })
}

fn shares_over_k(measured: &Measured, network: Network, transport: Transport) -> Option<Panel> {
    let curve = |losses, name: &str, style, share: fn(&Confusion) -> Option<f64>| {
        let cell = Cell { network, losses };
        let points = HALVES.into_iter().filter_map(|halves| {
            let all = together(&runs(measured, Subject::K { cell, halves }, transport, LossTest::ParkJang));
            Some(Point::new(f64::from(halves) / 2.0, share(&all)? * 100.0))
        });
        line(name, style, points.collect())
    };
    let series: Vec<Series> = [
        curve(Losses::Wireless, "the radio’s, wireless", Style::Third, Confusion::recall),
        curve(Losses::Congestion, "congestion, congestion", Style::First, Confusion::missed_congestion),
        curve(Losses::Mixed, "congestion, mixed", Style::Second, Confusion::missed_congestion),
    ]
    .into_iter()
    .filter(|series| !series.points.is_empty())
    .collect();
    (!series.is_empty()).then(|| Panel {
        slug: format!("k-shares-{}-{}", network.slug(), transport.slug()),
        caption: "Losses taken for wireless, by kind and cell".to_owned(),
        chart: Chart {
            title: format!("Share of losses that {} takes for wireless over k", transport.words()),
            x: k_axis(),
            y: Axis::new("taken for wireless (%)", 0.0, 100.0),
            series,
            markers: Vec::new(),
        },
    })
}

/// Draws the sweeps of queue lengths and loss rates on WLAN.
pub(super) fn buffers_and_losses(measured: &Measured) -> Option<Figure> {
    let buffers: Vec<(String, Subject)> =
        BUFFERS.map(|packets| (packets.to_string(), Subject::Buffer { packets })).to_vec();
    let losses: Vec<(String, Subject)> =
        LOSSES.map(|ppm| (format!("{} %", f64::from(ppm) / 1e4), Subject::Loss { ppm })).to_vec();
    let groups: Vec<(Option<Cow<'static, str>>, Vec<Panel>)> = [
        ("Queues before both links, 1 % lost on the WLAN’s air", "buffer", "packets", buffers),
        ("Losses on the WLAN’s air, queues of 50 packets", "loss", "lost on the air", losses),
    ]
    .into_iter()
    .map(|(what, slug, axis, points)| {
        let panels = [
            rates(measured, slug, axis, &points),
            shares(measured, slug, axis, &points, LossTest::ParkJang),
            shares(measured, slug, axis, &points, LossTest::Stamped),
        ];
        (Some(what.into()), panels.into_iter().flatten().collect())
    })
    .filter(|(_, panels): &(_, Vec<Panel>)| !panels.is_empty())
    .collect();
    (!groups.is_empty()).then(|| Figure {
        label: "Sweep of queues and losses".to_owned(),
        title: "Where the only congestion is that of the queue".to_owned(),
        caption: "TCP SACK alone on WLAN, nothing lost on the wire: a congestion loss is a packet that found the queue full. \
                  The oracle knows and shows what a classifier could gain at best. Without timestamps one round trip is \
                  timed at a time, as ns-2 does, so that Tcur may be old when a loss is judged; with them each ACK brings one."
            .to_owned(),
        grids: Vec::new(),
        groups,
    })
}

fn rates(measured: &Measured, slug: &str, axis: &str, points: &[(String, Subject)]) -> Option<Panel> {
    let style = |loss_test| match loss_test {
        LossTest::Standard => Style::First,
        LossTest::ParkJang => Style::Third,
        LossTest::Stamped => Style::Fourth,
        LossTest::Oracle => Style::Second,
    };
    let series: Vec<Series> = LossTest::ALL
        .into_iter()
        .map(|loss_test| {
            let means = points.iter().enumerate().filter_map(|(place, &(_, subject))| {
                let each: Vec<f64> = runs(measured, subject, Transport::Sack, loss_test)
                    .iter()
                    .map(|run| kbps(run.delivered as f64) / 1000.0)
                    .collect();
                let mean = Mean::of(&each)?;
                Some(Point { x: place as f64, y: mean.mean, half_width: finite(&mean) })
            });
            line(loss_test.words(), style(loss_test), means.collect())
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let top = round_up(tops(&series).fold(0.0, f64::max));
    (!series.is_empty()).then(|| Panel {
        slug: format!("{slug}-throughput"),
        caption: "Throughput".to_owned(),
        chart: Chart {
            title: format!("Throughput of TCP SACK on WLAN over the {axis}"),
            x: Axis::named(axis, points.iter().map(|(name, _)| name.clone()).collect()),
            y: Axis::new("throughput (Mbps)", 0.0, top),
            series,
            markers: Vec::new(),
        },
    })
}

fn shares(
    measured: &Measured,
    slug: &str,
    axis: &str,
    points: &[(String, Subject)],
    loss_test: LossTest,
) -> Option<Panel> {
    let curve = |name: &str, style, share: fn(&Confusion) -> Option<f64>| {
        let values = points.iter().enumerate().filter_map(|(place, &(_, subject))| {
            let all = together(&runs(measured, subject, Transport::Sack, loss_test));
            Some(Point::new(place as f64, share(&all)? * 100.0))
        });
        line(name, style, values.collect())
    };
    let series: Vec<Series> = [
        curve("recall", Style::Third, Confusion::recall),
        curve("precision", Style::First, Confusion::precision),
        curve("congestion missed", Style::Second, Confusion::missed_congestion),
    ]
    .into_iter()
    .filter(|series| !series.points.is_empty())
    .collect();
    (!series.is_empty()).then(|| Panel {
        slug: format!("{slug}-verdicts{}", if loss_test == LossTest::Stamped { "-stamped" } else { "" }),
        caption: format!("Verdicts, k = 1, {}", loss_test.words()),
        chart: Chart {
            title: format!("Precision and recall over the {axis}"),
            x: Axis::named(axis, points.iter().map(|(name, _)| name.clone()).collect()),
            y: Axis::new("%", 0.0, 100.0),
            series,
            markers: Vec::new(),
        },
    })
}
