//! The paper's claims as predicates over the measured runs. Written from the paper's text before the first
//! run; the margins state how its words were interpreted.

use std::collections::BTreeMap;

use super::grid::{Mix, Network, RunKey, Tcp, Window, video_rate};
use super::measure::{CURVE, Run, START_UP};
use crate::claims::{Check, Claim, Comparison, Order, judge};
use crate::stats::{Mean, paired_difference};
use crate::words::{spread, visible};

/// Resolution of a transfer time, in ms: a smaller difference is none.
const GRAIN: f64 = 1.0;

/// "major reduction" (EK1): at least this share.
const MAJOR: f64 = 0.20;

/// "no significant impact", "no effect" on the competing throughput (EK2, EK7): the means differ by at most
/// this share, about the width of the paper's intervals over 40 repetitions.
const NO_EFFECT: f64 = 0.05;

/// "appropriately" (EK2): this share of the video is delivered while it is on.
const SATISFIED: f64 = 0.95;

/// "roughly linearly" (EK3): the share of the mean curve's variance that a straight line explains.
const LINEAR: f64 = 0.80;

/// "the first messages" (EK3, EK4, EK5): one second.
const FIRST: usize = 30;

/// "a clear start-up delay", "a significant handover delay" (EK4, EK5): half a round trip of 40 ms, in ms.
const CLEAR: f64 = 20.0;

/// "decreased considerably", almost gone (EK4): the largest remaining share.
const ALMOST_GONE: f64 = 0.25;

/// "close to zero", "disappeared" (EK5): the largest remaining share.
const CLOSE_TO_ZERO: f64 = 0.15;

/// The windows compared with the default.
const LARGER: [Window; 3] = [Window::Ten, Window::Twenty, Window::Nr];

const LC_1_1: Mix = Mix::new(Network::Low, 1, 1);
const LC_2_1: Mix = Mix::new(Network::Low, 2, 1);
const HC_1_2: Mix = Mix::new(Network::High, 1, 2);
const HC_5_2: Mix = Mix::new(Network::High, 5, 2);

/// The measured runs of a reproduction.
pub type Measured = BTreeMap<RunKey, Run>;

/// The runs against one competitor, with the window sent at once.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    all: &'a Measured,
    tcp: Tcp,
    paced: bool,
}

impl<'a> Runs<'a> {
    /// Returns the runs against `tcp`.
    #[must_use]
    pub fn of(all: &'a Measured, tcp: Tcp) -> Self {
        Self { all, tcp, paced: false }
    }

    /// Returns the same runs with paced windows.
    #[must_use]
    pub fn paced(self) -> Self {
        Self { paced: true, ..self }
    }

    /// Iterates over the runs of one window, by seed.
    pub fn each(self, mix: Mix, window: Window) -> impl Iterator<Item = (u64, &'a Run)> {
        let key = move |seed| RunKey { tcp: self.tcp, mix, paced: self.paced, window, seed };
        self.all.range(key(0)..=key(u64::MAX)).map(|(key, run)| (key.seed, run))
    }

    /// Computes the mean of a figure over the runs of one window; `None` without runs or if a run lacks it.
    #[must_use]
    pub fn mean(self, mix: Mix, window: Window, figure: impl Fn(&Run) -> Option<f64>) -> Option<Mean> {
        let values: Option<Vec<f64>> = self.each(mix, window).map(|(_, run)| figure(run)).collect();
        Mean::of(&values?)
    }

    /// Returns a figure of two windows, seed by seed; `None` if a run lacks it.
    fn pairs(
        self,
        mix: Mix,
        (a, b): (Window, Window),
        figure: impl Fn(&Run) -> Option<f64>,
    ) -> Option<(Vec<f64>, Vec<f64>)> {
        let of_b: BTreeMap<u64, &Run> = self.each(mix, b).collect();
        let both = self.each(mix, a).filter_map(|(seed, run)| Some((run, *of_b.get(&seed)?)));
        both.map(|(a, b)| Some((figure(a)?, figure(b)?))).collect()
    }

    fn compare(
        self,
        mix: Mix,
        windows: (Window, Window),
        grain: f64,
        figure: impl Fn(&Run) -> Option<f64>,
    ) -> Option<Comparison> {
        let (a, b) = self.pairs(mix, windows, figure)?;
        Comparison::of(&a, &b, grain)
    }

    /// Returns the mean transfer time of each of the first video's messages, in ms; empty if a run lacks a
    /// message.
    #[must_use]
    pub fn curve(self, mix: Mix, window: Window) -> Vec<Mean> {
        let runs: Vec<&Run> = self.each(mix, window).map(|(_, run)| run).collect();
        let length = runs.iter().map(|run| run.transfer.len()).min().unwrap_or(0);
        let at = |n: usize| {
            // A message that some run did not deliver has no mean.
            let times: Vec<f64> = runs.iter().map(|run| f64::from(run.transfer[n])).collect();
            Mean::of(&times)
        };
        (0..length).map_while(at).collect()
    }
}

/// Returns the first video's longest transfer time of the start-up (MMTT), in ms.
#[must_use]
pub fn mmtt(run: &Run) -> Option<f64> {
    run.startup_max.first().map(|&time| f64::from(time)).filter(|time| time.is_finite())
}

/// Returns the first video's mean transfer time of the start-up, in ms.
#[must_use]
pub fn startup_mean(run: &Run) -> Option<f64> {
    run.mean_transfer(0, START_UP)
}

/// Returns the throughput of all competitors from the videos' arrival to their end, in bit/s.
fn competing(network: Network) -> impl Fn(&Run) -> Option<f64> {
    let (switch, end, _) = network.times();
    move |run| run.tcp_rate(switch, end)
}

/// Returns the throughput of all competitors in the first sample after the videos' arrival, in bit/s.
fn competing_at_once(network: Network) -> impl Fn(&Run) -> Option<f64> {
    let (switch, _, _) = network.times();
    move |run| run.tcp_rate(switch, switch + 5)
}

fn ms(value: f64) -> String {
    format!("{value:.1} ms").replace('-', "−")
}

fn interval(mean: &Mean, unit: &str) -> String {
    let value = format!("{:+.1}", mean.mean).replace('-', "−");
    match mean.half_width {
        width if width.is_finite() && width > 0.0 => {
            format!("{value} ± {} {unit}", visible(format!("{width:.1}")))
        }
        _ => format!("{value} {unit}{}", spread(mean, |_| String::new())),
    }
}

fn no_runs(mix: Mix) -> String {
    format!("no complete runs of {mix}")
}

/// Formats a comparison, as `10 MSS 512.1 vs 3 MSS 900.2 ms: −388.1 ± 20.3 ms (−43 %)`.
fn times_text((a, b): (Window, Window), found: &Comparison) -> String {
    format!(
        "{} {:.1} vs {} {}: {} ({:+.0} %)",
        a.words(),
        found.base + found.difference.mean,
        b.words(),
        ms(found.base),
        interval(&found.difference, "ms"),
        found.relative() * 100.0
    )
    .replace("(-", "(−")
}

/// Checks that a time is shorter under the first window, by at least `share` of the second's.
fn shorter(
    runs: Runs<'_>,
    mix: Mix,
    windows: (Window, Window),
    share: f64,
    (what, figure): (&str, impl Fn(&Run) -> Option<f64>),
) -> Check {
    let by = if share > 0.0 { format!(" by at least {:.0} %", share * 100.0) } else { String::new() };
    let want =
        format!("{mix}: {what} shorter with {} than with {}{by}", windows.0.words(), windows.1.words());
    match runs.compare(mix, windows, GRAIN, figure) {
        None => Check::missing(want, no_runs(mix)),
        Some(found) => {
            let holds = found.order == Order::Below && -found.relative() >= share;
            Check::new(want, format!("{what}: {}", times_text(windows, &found)), holds)
        }
    }
}

/// EK1 (Fig. 3): "a major reduction in MMTT when the init_cwnd was increased from 3 MSS up to 10 MSS, while
/// there was a smaller, but still significant, reduction up to 20 MSS"; "an increase of the init_cwnd
/// resulted in a reduction of the average MTT".
fn ek1(runs: Runs<'_>) -> Vec<Check> {
    let mix = LC_1_1;
    let mut checks = vec![
        shorter(runs, mix, (Window::Ten, Window::Three), MAJOR, ("MMTT", mmtt)),
        shorter(runs, mix, (Window::Twenty, Window::Ten), 0.0, ("MMTT", mmtt)),
    ];
    let want = "the reduction of MMTT from 3 to 10 MSS is larger than that from 10 to 20 MSS";
    let first = runs.pairs(mix, (Window::Three, Window::Ten), mmtt);
    let second = runs.pairs(mix, (Window::Ten, Window::Twenty), mmtt);
    let reductions = first.zip(second).and_then(|((three, ten), (again, twenty))| {
        let less = |a: Vec<f64>, b: Vec<f64>| a.into_iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>();
        paired_difference(&less(three, ten), &less(again, twenty))
    });
    checks.push(match reductions {
        None => Check::missing(want, no_runs(mix)),
        Some(found) => {
            let text = format!("first reduction less the second {}", interval(&found, "ms"));
            Check::new(want, text, found.low() > 0.0)
        }
    });
    for windows in [(Window::Ten, Window::Three), (Window::Twenty, Window::Ten)] {
        checks.push(shorter(runs, mix, windows, 0.0, ("mean MTT of the start-up", startup_mean)));
    }
    checks
}

/// Checks that the competing throughput is the same under every larger window as under the default, in the
/// first sample after the videos' arrival and while they are on.
fn no_effect(runs: Runs<'_>, mix: Mix) -> Check {
    let want = format!(
        "{mix}: TCP throughput with 10 MSS, 20 MSS and NR within {:.0} % of that with 3 MSS, in the first 5 s and while the \
         video is on",
        NO_EFFECT * 100.0
    );
    let at_once = competing_at_once(mix.network);
    let all = competing(mix.network);
    let found: Option<Vec<_>> = LARGER
        .into_iter()
        .flat_map(|window| {
            let of = |figure: &dyn Fn(&Run) -> Option<f64>| {
                runs.compare(mix, (window, Window::Three), 0.0, figure)
            };
            [(window, "in the first 5 s", of(&at_once)), (window, "while the video is on", of(&all))]
        })
        .map(|(window, when, found)| Some((window, when, found?)))
        .collect();
    let Some(found) = found else { return Check::missing(want, no_runs(mix)) };
    let share = |(_, _, found): &(Window, &str, Comparison)| found.relative().abs();
    let worst = found.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
    let text = worst.map_or(String::new(), |(window, when, found)| {
        format!(
            "{mix}: {:.2} Mbps with 3 MSS; at most {} from it, with {} {when} ({:+.1} %)",
            found.base * 1e-6,
            interval(&found.difference.scaled(1e-3), "kbps"),
            window.words(),
            found.relative() * 100.0
        )
    });
    Check::new(want, text.replace("(-", "(−"), found.iter().all(|(_, _, found)| found.within(NO_EFFECT)))
}

/// EK2 (Fig. 4): "the more aggressive startup had no significant impact on the performance of the competing
/// traffic"; "the TCP traffic backed off appropriately to let the arriving video flow have its fair share".
fn ek2(runs: Runs<'_>) -> Vec<Check> {
    let mix = LC_1_1;
    let mut checks = vec![no_effect(runs, mix)];
    let (switch, end, _) = mix.network.times();
    let sent = video_rate() * f64::from(end - switch) / 8.0;
    for window in Window::ALL {
        let want = format!(
            "with {} at least {:.0} % of the video is delivered while it is on",
            window.words(),
            SATISFIED * 100.0
        );
        let share = runs.mean(mix, window, |run| Some(*run.video_bytes.first()? as f64 / sent));
        checks.push(match share {
            None => Check::missing(want, no_runs(mix)),
            Some(share) => {
                let text = format!("{}: {:.1} % of the video delivered", window.words(), share.mean * 100.0);
                Check::new(want, text, share.mean >= SATISFIED)
            }
        });
    }
    checks
}

/// Returns the slope of the least-squares line through `(x, y)` and the share of the variance it explains.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| f(p.0 - x, p.1 - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    // A flat line has no variance to explain.
    let explained = if yy > 0.0 { xy * xy / (xx * yy) } else { 0.0 };
    (xx > 0.0).then(|| (xy / xx, explained))
}

/// EK3 (Figs. 5, 6): "the MTTs increased linearly", because TCP "did not back off to more than 3.5 Mbps"; "at
/// least initially, an increased init_cwnd resulted in a significant decrease of the experienced MTTs".
fn ek3(runs: Runs<'_>) -> Vec<Check> {
    let mix = LC_2_1;
    let mut checks = Vec::new();
    for window in Window::ALL {
        let want = format!(
            "{}: the mean MTT rises over the messages after the first second, a line explaining at least {:.0} % of it",
            window.words(),
            LINEAR * 100.0
        );
        let curve = runs.curve(mix, window);
        let points: Vec<(f64, f64)> =
            curve.iter().enumerate().skip(FIRST).map(|(n, mean)| (n as f64, mean.mean)).collect();
        let found = line(&points).filter(|_| curve.len() == CURVE);
        checks.push(match found {
            None => Check::missing(want, no_runs(mix)),
            Some((slope, explained)) => {
                let text = format!(
                    "{}: {} per message, a line explains {:.0} %",
                    window.words(),
                    ms(slope),
                    explained * 100.0
                );
                Check::new(want, text, slope > 0.0 && explained >= LINEAR)
            }
        });
    }
    let left = mix.network.rate() - 2.0 * video_rate();
    let want = format!("the TCP flow takes more than the {:.2} Mbps that the videos leave", left * 1e-6);
    checks.push(match runs.mean(mix, Window::Three, competing(mix.network)) {
        None => Check::missing(want, no_runs(mix)),
        Some(found) => {
            let text = format!(
                "TCP takes {:.2} Mbps{}",
                found.mean * 1e-6,
                spread(&found, |width| format!("{:.2}", width * 1e-6))
            );
            Check::new(want, text, found.low() > left)
        }
    });
    let first = |run: &Run| run.mean_transfer(0, FIRST);
    for window in [Window::Ten, Window::Twenty] {
        let what = ("mean MTT of the first second", first);
        checks.push(shorter(runs, mix, (window, Window::Three), 0.0, what));
    }
    checks
}

/// Returns the first video's longest transfer time of the first second, in ms.
fn first_max(run: &Run) -> Option<f64> {
    run.max_transfer(0, FIRST)
}

/// Checks the start-up delay: the longest transfer time of the first second, less that of the same run
/// without restriction (NR). It must be clear with 3 MSS, and with 10 at most `rest` of that.
fn delay_goes(runs: Runs<'_>, mix: Mix, rest: f64) -> Vec<Check> {
    let of = |window| runs.compare(mix, (window, Window::Nr), GRAIN, first_max);
    let want = format!("{mix}: with 3 MSS a start-up delay of at least {CLEAR} ms beyond NR's");
    let (three, ten) = (of(Window::Three), of(Window::Ten));
    let clear = match three {
        None => Check::missing(want, no_runs(mix)),
        Some(found) => {
            let text = format!(
                "longest MTT of the first second: {}",
                times_text((Window::Three, Window::Nr), &found)
            );
            Check::new(want, text, found.order == Order::Above && found.difference.mean >= CLEAR)
        }
    };
    let want = format!("{mix}: with 10 MSS at most {:.0} % of that delay", rest * 100.0);
    let gone = match three.zip(ten) {
        None => Check::missing(want, no_runs(mix)),
        Some((three, ten)) => {
            let text = times_text((Window::Ten, Window::Nr), &ten);
            Check::new(want, text, ten.difference.mean <= rest * three.difference.mean)
        }
    };
    vec![
        clear,
        gone,
        shorter(runs, mix, (Window::Ten, Window::Three), 0.0, ("longest MTT of the first second", first_max)),
    ]
}

/// EK4 (Fig. 7): "a significant handover delay appeared in those cases the init_cwnd was set to the default
/// value", "but this delay decreased considerably already as the init_cwnd was increased to 10 segments".
fn ek4(runs: Runs<'_>) -> Vec<Check> {
    delay_goes(runs, HC_1_2, ALMOST_GONE)
}

/// EK5 (Fig. 9): "by increasing the init_cwnd from the default size up to 10 segments, the startup delay
/// after handover was close to zero".
fn ek5(runs: Runs<'_>) -> Vec<Check> {
    delay_goes(runs, HC_5_2, CLOSE_TO_ZERO)
}

/// EK6: "When 10 competing flows were sent on the handover target path, the number of lost messages during
/// startup made the increased init_cwnd have no impact on the MTT."
fn ek6(runs: Runs<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for &videos in Network::High.videos() {
        let mix = Mix::new(Network::High, videos, 10);
        let want = format!("{mix}: messages are lost in the start-up");
        checks.push(match runs.mean(mix, Window::Three, |run| Some(f64::from(run.startup_losses))) {
            None => Check::missing(want, no_runs(mix)),
            Some(found) => {
                let text = format!(
                    "{mix}: {:.1} loss events{}",
                    found.mean,
                    spread(&found, |width| format!("{width:.1}"))
                );
                Check::new(want, text, found.low() > 0.0)
            }
        });
        let want = format!(
            "{mix}: MMTT with 10 MSS, 20 MSS and NR without a significant difference from that with 3 MSS"
        );
        let found: Option<Vec<_>> = LARGER
            .into_iter()
            .map(|window| Some((window, runs.compare(mix, (window, Window::Three), GRAIN, mmtt)?)))
            .collect();
        checks.push(match found {
            None => Check::missing(want, no_runs(mix)),
            Some(found) => {
                let each = found.iter().map(|(window, found)| {
                    format!("{} {}", window.words(), interval(&found.difference, "ms"))
                });
                let base = found.first().map_or(0.0, |(_, found)| found.base);
                let text =
                    format!("{mix}: MMTT {} with 3 MSS; {}", ms(base), each.collect::<Vec<_>>().join(", "));
                Check::new(want, text, found.iter().all(|(_, found)| found.order == Order::Level))
            }
        });
    }
    checks
}

/// EK7 (Figs. 8, 10): "the impact on competing traffic was not affected by an increased init_cwnd"; "no
/// negative impact from increasing the init_cwnd in any of the scenarios".
fn ek7(runs: Runs<'_>) -> Vec<Check> {
    let high = Mix::all().into_iter().filter(|mix| mix.network == Network::High);
    high.map(|mix| no_effect(runs, mix)).collect()
}

/// Returns the ledger of the paper's seven claims.
#[must_use]
pub fn ledger(measured: &Measured) -> Vec<Claim> {
    type Predicate = fn(Runs<'_>) -> Vec<Check>;
    let claims: [(&'static str, &'static str, &'static str, Predicate); 7] = [
        (
            "EK1",
            "Fig. 3",
            "6 Mbps, 300 ms, one video and one TCP flow: the longest transfer time falls markedly from 3 to 10 MSS, and further, less, from 10 to 20.",
            ek1,
        ),
        (
            "EK2",
            "Fig. 4",
            "There, the competing TCP flow's throughput does not depend on the initial window.",
            ek2,
        ),
        (
            "EK3",
            "Fig. 5",
            "Two videos and one TCP flow there: transfer times grow about linearly, since TCP does not back off to its fair share; a larger window still shortens those of the first messages.",
            ek3,
        ),
        (
            "EK4",
            "Fig. 7",
            "45 Mbps, 40 ms, one video and two TCP flows: a clear start-up delay at 3 MSS, almost gone at 10.",
            ek4,
        ),
        ("EK5", "Fig. 9", "Five videos there: a delay at 3 MSS, close to zero at 10.", ek5),
        ("EK6", "Fig. A", "Ten TCP flows there: losses at start-up hide any effect of the window.", ek6),
        ("EK7", "Fig. 8", "45 Mbps: no effect of the window on the competing traffic in any case.", ek7),
    ];
    let judged = claims.into_iter().map(|(id, figure, statement, predicate)| {
        // Judge the deciding competitor always, others only if they have runs.
        let run = |tcp: &Tcp| *tcp == Tcp::NewReno || measured.keys().any(|key| key.tcp == *tcp);
        let judged = |tcp: Tcp| judge(tcp.words(), predicate(Runs::of(measured, tcp)));
        let judgements = Tcp::ALL.into_iter().filter(run).map(judged).collect();
        Claim::new(id, "eklund", figure, statement, judgements)
    });
    judged.collect()
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
