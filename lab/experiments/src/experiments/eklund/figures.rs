//! The paper's figures redrawn from the measured runs, and ours: MMTT of all combinations, fairness, pacing.

use super::claims::{Measured, Runs, mmtt};
use super::grid::{Mix, Network, PACED, Tcp, Window};
use super::measure::{CURVE, Run, SAMPLE};
use crate::figure::{Axis, Chart, Mark, Marker, Point, Series, Style, round_up};
use crate::report::{Figure, Panel};
use crate::stats::Mean;

/// Axis label of Jain's index, which is at most 1.
const JAIN: &str = "Jain’s index";

/// Messages between two intervals on a curve.
const EVERY: usize = 30;

/// Returns every figure that has runs: the paper's in their order, then ours.
#[must_use]
pub fn all(measured: &Measured) -> Vec<Figure> {
    let low = |videos, tcps| Mix::new(Network::Low, videos, tcps);
    let high = |videos, tcps| Mix::new(Network::High, videos, tcps);
    let figures = [
        transfers(measured, "Fig. 3", low(1, 1), CURVE / 2),
        throughputs(measured, "Fig. 4", &[low(1, 1)]),
        transfers(measured, "Fig. 5", low(2, 1), CURVE),
        throughputs(measured, "Fig. 6", &[low(2, 1)]),
        transfers(measured, "Fig. 7", high(1, 2), CURVE / 5),
        throughputs(measured, "Fig. 8", &[high(2, 2)]),
        transfers(measured, "Fig. 9", high(5, 2), CURVE / 5),
        throughputs(measured, "Fig. 10", &[high(5, 2), high(5, 10)]),
        longest(measured),
        fairness(measured),
        pacing(measured),
    ];
    figures.into_iter().flatten().collect()
}

fn style(window: Window) -> Style {
    match window {
        Window::Three => Style::First,
        Window::Ten => Style::Second,
        Window::Twenty => Style::Third,
        Window::Nr => Style::Fourth,
    }
}

fn flows(mix: Mix) -> String {
    let plural = |count: u8| if count == 1 { "" } else { "s" };
    let (videos, tcps) = (mix.videos, mix.tcps);
    format!("{videos} video{}, {tcps} TCP flow{}", plural(videos), plural(tcps))
}

fn place(mix: Mix) -> String {
    format!("{}v {}t", mix.videos, mix.tcps)
}

fn from_zero(label: &str, series: &[Series]) -> Axis {
    let ends = series.iter().flat_map(|s| &s.points).map(|p| p.y + p.half_width.unwrap_or(0.0));
    Axis::new(label, 0.0, round_up(ends.fold(0.0, f64::max) * 1.04))
}

fn point(x: f64, mean: Mean) -> Point {
    Point { x, y: mean.mean, half_width: Some(mean.half_width).filter(|half| half.is_finite()) }
}

/// Returns panels for each competitor that has runs.
fn grouped(
    measured: &Measured,
    panels: impl Fn(Runs<'_>, Tcp) -> Vec<Panel>,
) -> Vec<(Option<&'static str>, Vec<Panel>)> {
    Tcp::ALL
        .into_iter()
        .map(|tcp| (Some(tcp.words()), panels(Runs::of(measured, tcp), tcp)))
        .filter(|(_, panels)| !panels.is_empty())
        .collect()
}

fn figure(
    label: &str,
    title: String,
    caption: String,
    groups: Vec<(Option<&'static str>, Vec<Panel>)>,
) -> Option<Figure> {
    (!groups.is_empty()).then(|| Figure {
        label: label.to_owned(),
        title,
        caption,
        grids: Vec::new(),
        groups,
    })
}

fn slug(label: &str, tcp: Tcp) -> String {
    let label: String = label.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{}-{}", label.to_lowercase(), tcp.slug())
}

/// Figs. 3, 5, 7, 9: the mean transfer time of each message.
fn transfers(measured: &Measured, label: &str, mix: Mix, messages: usize) -> Option<Figure> {
    let groups = grouped(measured, |runs, tcp| {
        let series: Vec<Series> = Window::ALL
            .into_iter()
            .enumerate()
            .map(|(number, window)| {
                let curve = runs.curve(mix, window).into_iter().take(messages).enumerate();
                // Draw the curves' intervals side by side, not on top of each other.
                let shows = |n: usize| n % EVERY.min(messages / 4) == number * messages / 60;
                let points = curve.map(|(n, mean)| {
                    let point = point(n as f64, mean);
                    Point { half_width: point.half_width.filter(|_| shows(n)), ..point }
                });
                Series {
                    name: window.words().to_owned(),
                    style: style(window),
                    points: points.collect(),
                    mark: Mark::Line,
                }
            })
            .filter(|series| !series.points.is_empty())
            .collect();
        let chart = Chart {
            title: format!("{label}: transfer time over message number, {}, {}", flows(mix), tcp.words()),
            x: Axis::new("message", 0.0, messages as f64),
            y: from_zero("transfer time (ms)", &series),
            series,
            markers: Vec::new(),
        };
        let caption = "Mean transfer time of the first video’s messages from the handover on".to_owned();
        if chart.series.is_empty() {
            Vec::new()
        } else {
            vec![Panel { slug: slug(label, tcp), caption, chart }]
        }
    });
    let caption = format!(
        "{}, {}. Message 0 is the first to come into being after the handover; 30 messages are a second. Some points show \
         their 95 % intervals.",
        network_words(mix.network),
        flows(mix)
    );
    figure(label, format!("Transfer times, {}", flows(mix)), caption, groups)
}

fn network_words(network: Network) -> &'static str {
    match network {
        Network::Low => "Low capacity (lc: 6 Mbps, RTT 300 ms)",
        Network::High => "High capacity (hc: 45 Mbps, RTT 40 ms)",
    }
}

/// Figs. 4, 6, 8, 10: the throughput of all TCP flows, sampled every five seconds.
fn throughputs(measured: &Measured, label: &str, mixes: &[Mix]) -> Option<Figure> {
    let groups = grouped(measured, |runs, tcp| {
        mixes.iter().filter_map(|&mix| throughput_panel(runs, tcp, label, mix)).collect()
    });
    let title = mixes.iter().map(|&mix| flows(mix)).collect::<Vec<_>>().join(" and ");
    let network = mixes.first()?.network;
    let caption = format!(
        "{}. User data that all TCP flows together deliver, in samples of five seconds.",
        network_words(network)
    );
    figure(label, format!("Competing throughput, {title}"), caption, groups)
}

fn throughput_panel(runs: Runs<'_>, tcp: Tcp, label: &str, mix: Mix) -> Option<Panel> {
    let (switch, end, last) = mix.network.times();
    // TCP has started by then.
    let first = switch.saturating_sub(if mix.network == Network::Low { 20 } else { 10 });
    let series: Vec<Series> = Window::ALL
        .into_iter()
        .map(|window| {
            let samples = (first / 5)..(last / 5);
            let points = samples.filter_map(|sample| {
                let at = |run: &Run| Some(*run.tcp_samples.get(sample as usize)? as f64 * 8e-6 / SAMPLE);
                let mean = runs.mean(mix, window, at)?;
                // Place the windows side by side around the middle of the sample.
                let aside = (f64::from(window as u8) - 1.5) * 0.4;
                Some(point(f64::from(sample * 5) + 2.5 + aside, mean))
            });
            Series {
                name: window.words().to_owned(),
                style: style(window),
                points: points.collect(),
                mark: Mark::LineAndDots,
            }
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let marker = |x: u32, label: &str| Marker { x: f64::from(x), label: label.to_owned() };
    let chart = Chart {
        title: format!("{label}: competing throughput over time, {}, {}", flows(mix), tcp.words()),
        x: Axis::new("time (s)", f64::from(first), f64::from(last)),
        y: from_zero("throughput (Mbps)", &series),
        series,
        markers: vec![marker(switch, "handover"), marker(end, "end")],
    };
    let slug = format!("{}-{}", slug(label, tcp), place(mix).replace(' ', ""));
    (!chart.series.is_empty()).then(|| Panel {
        slug,
        caption: format!("{}: all TCP flows together", flows(mix)),
        chart,
    })
}

/// Draws bars over the combinations of a network, with a series for each of `windows`.
fn bars(
    mixes: &[Mix],
    (title, label): (String, &str),
    series: impl Iterator<Item = (String, Style, Vec<Option<Mean>>)>,
) -> Option<Chart> {
    let series: Vec<Series> = series
        .map(|(name, style, means)| {
            let points = means.into_iter().enumerate().filter_map(|(x, mean)| Some(point(x as f64, mean?)));
            Series { name, style, points: points.collect(), mark: Mark::Bars }
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let mut y = from_zero(label, &series);
    if label == JAIN {
        y.to = 1.0;
    }
    let x = Axis::named("videos and TCP flows", mixes.iter().map(|&mix| place(mix)).collect());
    (!series.is_empty()).then(|| Chart { title, x, y, series, markers: Vec::new() })
}

/// Returns the combinations of a network that have runs.
fn run_mixes(runs: Runs<'_>, network: Network) -> Vec<Mix> {
    let has_runs = |mix: &Mix| runs.each(*mix, Window::Three).next().is_some();
    Mix::all().into_iter().filter(|mix| mix.network == network).filter(has_runs).collect()
}

/// Returns a panel of bars for each network.
fn bar_panels(
    (runs, tcp): (Runs<'_>, Tcp),
    label: &str,
    (what, axis): (&str, &str),
    value: impl Fn(Mix, &Run) -> Option<f64>,
) -> Vec<Panel> {
    let panel = |network: Network| {
        let mixes = run_mixes(runs, network);
        let title = format!("{label}: {what}, {}, {}", network_words(network), tcp.words());
        let windows = Window::ALL.into_iter().map(|window| {
            let of = |&mix: &Mix| runs.mean(mix, window, |run| value(mix, run));
            (window.words().to_owned(), style(window), mixes.iter().map(of).collect())
        });
        let chart = bars(&mixes, (title, axis), windows)?;
        let slug = format!("{}-{}", slug(label, tcp), network.slug());
        Some(Panel { slug, caption: network_words(network).to_owned(), chart })
    };
    Network::ALL.into_iter().filter_map(panel).collect()
}

/// Fig. A, ours: the longest transfer time of every combination.
fn longest(measured: &Measured) -> Option<Figure> {
    let label = "Fig. A";
    let groups = grouped(measured, |runs, tcp| {
        bar_panels((runs, tcp), label, ("longest transfer time of the start-up", "MMTT (ms)"), |_, run| {
            mmtt(run)
        })
    });
    let caption = "Ours. The longest transfer time among the first video’s 150 messages from the handover on; 2v 5t are 2 \
                   videos and 5 TCP flows."
        .to_owned();
    figure(label, "Longest transfer times of all combinations".to_owned(), caption, groups)
}

/// Computes Jain's index over the flows' throughputs, each as a share of its max–min fair one.
fn jain(mix: Mix, run: &Run) -> Option<f64> {
    let (switch, end, _) = mix.network.times();
    let (video, tcp) = mix.fair_shares();
    let rate = |bytes: u64| bytes as f64 * 8.0 / f64::from(end - switch);
    let shares: Vec<f64> = run
        .video_bytes
        .iter()
        .map(|&bytes| rate(bytes) / video)
        .chain(run.tcp_bytes.iter().map(|&bytes| rate(bytes) / tcp))
        .collect();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let sum: f64 = shares.iter().sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Fig. B, ours: fairness.
fn fairness(measured: &Measured) -> Option<Figure> {
    let label = "Fig. B";
    let groups = grouped(measured, |runs, tcp| bar_panels((runs, tcp), label, ("fairness", JAIN), jain));
    let caption = "Ours. Jain’s index over all flows, videos and TCP, each flow’s throughput while the videos are on taken as \
                   a share of its max–min fair one; 1 is fair."
        .to_owned();
    figure(label, "Fairness of all combinations".to_owned(), caption, groups)
}

/// Fig. C, ours: the initial window at once or spread over a round trip.
fn pacing(measured: &Measured) -> Option<Figure> {
    let label = "Fig. C";
    let runs = Runs::of(measured, Tcp::NewReno);
    let panel = |network: Network| {
        let mixes: Vec<Mix> = PACED
            .into_iter()
            .filter(|mix| mix.network == network && runs.paced().each(*mix, Window::Ten).next().is_some())
            .collect();
        let kinds = [(Window::Ten, Style::First, Style::Second), (Window::Nr, Style::Third, Style::Fourth)];
        let series = kinds.into_iter().flat_map(|(window, at_once, paced)| {
            let means = |runs: Runs<'_>| mixes.iter().map(|&mix| runs.mean(mix, window, mmtt)).collect();
            [
                (format!("{} at once", window.words()), at_once, means(runs)),
                (format!("{} paced", window.words()), paced, means(runs.paced())),
            ]
        });
        let title = format!(
            "{label}: longest transfer time, window sent at once or paced, {}",
            network_words(network)
        );
        let chart = bars(&mixes, (title, "MMTT (ms)"), series)?;
        let slug = format!("{}-{}", slug(label, Tcp::NewReno), network.slug());
        Some(Panel { slug, caption: network_words(network).to_owned(), chart })
    };
    let panels: Vec<Panel> = Network::ALL.into_iter().filter_map(panel).collect();
    let groups = if panels.is_empty() { Vec::new() } else { vec![(Some(Tcp::NewReno.words()), panels)] };
    let caption = "Ours. The same windows, sent as messages come or spread over one measured round trip of the new path. \
                   All four windows, paced, are in the table of runs."
        .to_owned();
    figure(label, "The initial window at once or paced".to_owned(), caption, groups)
}
