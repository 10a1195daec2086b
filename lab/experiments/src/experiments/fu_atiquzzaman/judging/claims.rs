//! The claims FA1 to FA6 of Fu & Atiquzzaman as predicates over measured runs. Written from the paper's words
//! before any run was made; not to be tuned to results.
//!
//! The words of the paper and what they mean here:
//!
//! - *above*, *higher*: the mean over the seeds of the paired differences is above zero and its 95 % interval
//!   does not contain zero; a difference of less than one segment (`GRAIN`) is none. Paired: the same seed is
//!   the same radio channel.
//! - *low-bandwidth region*: the cells that are slow on either side, w ≤ 54 or r ≤ 200 kbps: 18 of the 30.
//! - *usually increases*, *saturates*: see `USUALLY` and `SATURATED`.

use super::predicted::table;
use crate::claims::{Check, Claim, Comparison, Effect, Grade, Power, Share, Test, judge};
use crate::experiments::fu_atiquzzaman::grid::{GridKey, LossSet, MicroscopeKey, Protocol, Sender, kbps};
use crate::experiments::fu_atiquzzaman::measure::{GridRun, Handover, Measured, Microscope, Repair};
use crate::experiments::fu_atiquzzaman::paper::{WIRED, WIRELESS, cell};
use crate::paper::Texts;
use crate::stats::{Mean, Ratio, median};
use crate::words::{interval, number, signed, spread};
use Protocol::{Reno, Sack, Sctp};
use std::collections::BTreeSet;

/// Least significant difference in delivered segments.
const GRAIN: f64 = 1.0;

/// Minimum share of steps to a higher rate that increase throughput, for "usually increases" (FA2). The other
/// rate stays the same in a step.
const USUALLY: f64 = 0.75;

/// Maximum exponent e of throughput ~ bandwidth^e for "tends to saturate" (FA2). 1 is proportional, 0 is
/// flat. At a quarter, a doubling of the bandwidth adds less than 19 %.
const SATURATED: f64 = 0.25;

/// Rates in bit/s beyond which throughput must saturate (FA2).
const SATURATES_FROM: (u32, u32) = (500_000, 1_000_000);

/// Maximum share of the time for "well before" (FA4): half. The paper's own times are 3.5 and 11 s, a third.
pub(super) const WELL_BEFORE: f64 = 0.5;

/// Share in the paper, whose times are about 3.5 and 11 s. It is the smallest relevant effect of FA4.
const PAPERS_SHARE: f64 = 3.5 / 11.0;

/// Maximum ratio of the predicted tables' error to the fitted table's (FA6). A fit is biased towards its own
/// table. An error half as large again still describes the network. A larger one means that the fit describes
/// Table V rather than the network.
const CARRIES_OVER: f64 = 1.5;

/// The numbers of segments delivered in the runs of the grid.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    measured: &'a Measured,
    /// A seed that is left out.
    without: Option<u64>,
}

impl<'a> Runs<'a> {
    /// Creates the value with all runs.
    #[must_use]
    pub fn new(measured: &'a Measured) -> Self {
        Self { measured, without: None }
    }

    /// Computes a statistic of all runs, and its interval from its values with one seed left out each time.
    fn interval(&self, statistic: impl Fn(&Self) -> Option<f64>) -> Option<Mean> {
        let without = |seed| statistic(&Self { without: Some(seed), ..*self });
        let without: Option<Vec<f64>> = self.seeds().into_iter().map(without).collect();
        Mean::jackknife(statistic(self)?, &without?)
    }

    /// Returns the seeds that every cell has for every protocol.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        let all = self.measured.grid.keys();
        let first = all.clone().next().map(|key| (key.wired, key.wireless, key.protocol));
        let seeds =
            all.filter(|key| Some((key.wired, key.wireless, key.protocol)) == first).map(|key| key.seed);
        let everywhere = |seed: &u64| {
            cells().all(|(wired, wireless)| {
                Protocol::ALL.into_iter().all(|protocol| self.run(wired, wireless, protocol, *seed).is_some())
            })
        };
        seeds.filter(everywhere).filter(|seed| Some(*seed) != self.without).collect()
    }

    /// Returns a run.
    #[must_use]
    pub fn run(&self, wired: u32, wireless: u32, protocol: Protocol, seed: u64) -> Option<&'a GridRun> {
        self.measured.grid.get(&GridKey { wired, wireless, protocol, seed })
    }

    /// Returns the segments delivered in each run of a cell, by seed.
    #[must_use]
    pub fn delivered(&self, wired: u32, wireless: u32, protocol: Protocol) -> Vec<f64> {
        let key = |seed| GridKey { wired, wireless, protocol, seed };
        let runs = self.measured.grid.range(key(0)..=key(u64::MAX));
        runs.filter(|(key, _)| Some(key.seed) != self.without).map(|(_, run)| run.delivered as f64).collect()
    }

    /// Computes mean and interval of a cell; `None` without runs.
    #[must_use]
    pub fn mean(&self, wired: u32, wireless: u32, protocol: Protocol) -> Option<Mean> {
        Mean::of(&self.delivered(wired, wireless, protocol))
    }

    /// Computes the relative error of a cell's mean against the paper's table, as a fraction.
    #[must_use]
    pub fn error(&self, wired: u32, wireless: u32, protocol: Protocol) -> Option<f64> {
        let paper = f64::from(cell(table(protocol), wired, wireless)?);
        Some(self.mean(wired, wireless, protocol)?.mean / paper - 1.0)
    }

    /// Computes the median over a table's cells of the absolute relative error; `None` if a cell has no runs.
    #[must_use]
    pub fn median_error(&self, protocols: &[Protocol]) -> Option<f64> {
        let errors: Option<Vec<f64>> = protocols
            .iter()
            .flat_map(|&protocol| cells().map(move |(w, r)| self.error(w, r, protocol).map(f64::abs)))
            .collect();
        median(&errors?)
    }

    /// Computes the gain of SCTP over another protocol in a cell, from the means over the seeds (Figs 9 and
    /// 10).
    #[must_use]
    pub fn gain(&self, wired: u32, wireless: u32, over: Protocol) -> Option<f64> {
        let mean = |protocol| self.mean(wired, wireless, protocol).map(|mean| mean.mean);
        Some(mean(Sctp)? / mean(over)? - 1.0)
    }

    /// Computes for each seed the mean over some cells of a figure of that seed's runs.
    fn per_seed(&self, cells: &[(u32, u32)], figure: impl Fn(u32, u32, u64) -> Option<f64>) -> Vec<f64> {
        let mean = |seed| {
            let sum: Option<f64> = cells.iter().map(|&(w, r)| figure(w, r, seed)).sum();
            Some(sum? / cells.len() as f64)
        };
        self.seeds().into_iter().filter_map(mean).collect()
    }

    /// Computes for each seed the mean over some cells of the segments delivered.
    fn over(&self, cells: &[(u32, u32)], protocol: Protocol) -> Vec<f64> {
        self.per_seed(cells, |w, r, seed| Some(self.run(w, r, protocol, seed)?.delivered as f64))
    }

    /// Computes the mean over some cells and all seeds of the segments delivered.
    fn mean_over(&self, cells: &[(u32, u32)], protocol: Protocol) -> Option<f64> {
        Some(Mean::of(&self.over(cells, protocol))?.mean)
    }

    fn compare(&self, cells: &[(u32, u32)], a: Protocol, b: Protocol) -> Option<Comparison> {
        Comparison::of(&self.over(cells, a), &self.over(cells, b))
    }

    fn handovers(&self, protocol: Protocol) -> impl Iterator<Item = (&'a GridKey, &'a Handover)> {
        self.measured
            .grid
            .iter()
            .filter(move |(key, _)| key.protocol == protocol)
            .flat_map(|(key, run)| run.handovers.iter().map(move |handover| (key, handover)))
    }
}

/// Iterates over every cell, given by its wired and its wireless rate.
pub(super) fn cells() -> impl Iterator<Item = (u32, u32)> {
    WIRED.into_iter().flat_map(|wired| WIRELESS.map(|wireless| (wired, wireless)))
}

/// Returns true if a cell is in the low-bandwidth region.
#[must_use]
pub fn is_slow(wired: u32, wireless: u32) -> bool {
    wired <= 54_000 || wireless <= 200_000
}

fn region() -> Vec<(u32, u32)> {
    cells().filter(|&(wired, wireless)| is_slow(wired, wireless)).collect()
}

fn at(wired: u32, wireless: u32) -> String {
    format!("w {}, r {}", kbps(wired), kbps(wireless))
}

fn percent(fraction: f64) -> String {
    format!("{} %", signed(fraction * 100.0))
}

const NO_GRID: &str = "not every cell of the grid was run for all three protocols";

/// Judges FA1: in the low-bandwidth region SCTP is above TCP SACK and TCP SACK above TCP Reno in the mean,
/// and SCTP is nowhere below Reno.
fn fa1(runs: &Runs<'_>) -> Vec<Check> {
    let region = region();
    let mean = |a: Protocol, b: Protocol| {
        let want = format!("mean over the slow cells: {} above {}", a.words(), b.words());
        match runs.compare(&region, a, b) {
            None => Check::missing(want, NO_GRID),
            Some(found) => {
                let text = format!(
                    "slow cells: {} {} vs {} {} segments: {} ({})",
                    a.words(),
                    number(found.base + found.difference.mean),
                    b.words(),
                    number(found.base),
                    interval(&found.difference),
                    percent(found.relative())
                );
                let effect = segments(&found.difference, &format!("{} over {}", a.words(), b.words()));
                Check::tested(want, text, Test::above(&found.difference, 0.0, GRAIN), Some(effect))
            }
        }
    };
    let want = "SCTP below Reno in none of the slow cells";
    let each: Option<Vec<_>> =
        region.iter().map(|&(w, r)| Some(((w, r), runs.compare(&[(w, r)], Sctp, Reno)?))).collect();
    let not_below = |found: &Comparison| Test::not_below(&found.difference, 0.0, GRAIN);
    let nowhere = match each {
        None => Check::missing(want, NO_GRID),
        Some(each) => {
            let below: Vec<String> = each
                .iter()
                .filter(|(_, found)| not_below(found).grade == Grade::Contradicted)
                .map(|&((w, r), found)| format!("{} ({})", at(w, r), percent(found.relative())))
                .collect();
            let text = if below.is_empty() {
                format!("SCTP significantly below Reno in none of {} slow cells", each.len())
            } else {
                format!(
                    "SCTP significantly below Reno in {} of {} slow cells: {}",
                    below.len(),
                    each.len(),
                    below.join("; ")
                )
            };
            let tests: Vec<Test> = each.iter().map(|(_, found)| not_below(found)).collect();
            let least =
                each.iter().min_by(|(_, a), (_, b)| a.difference.low().total_cmp(&b.difference.low()));
            let effect = least.map(|&((w, r), found)| {
                segments(&found.difference, &format!("SCTP over TCP Reno at {}", at(w, r)))
            });
            Check::tested(want, text, Test::all(&tests), effect)
        }
    };
    vec![mean(Sctp, Sack), mean(Sack, Reno), nowhere]
}

/// Returns a difference in segments as an effect. `of` names the difference, since another check can decide
/// with other seeds.
fn segments(difference: &Mean, of: &str) -> Effect {
    let text = format!("{of}: {} segments", interval(difference));
    let effect = Effect::new(difference, "segments", text);
    effect.powered(Power::above(difference, GRAIN, 0.0))
}

/// The axis of one of the two rates.
#[derive(Clone, Copy)]
struct Axis {
    name: &'static str,
    rates: &'static [u32],
    /// Rate from which throughput saturates.
    from: u32,
    of: fn((u32, u32)) -> u32,
}

const AXES: [Axis; 2] = [
    Axis { name: "r", rates: &WIRELESS, from: SATURATES_FROM.1, of: |(_, wireless)| wireless },
    Axis { name: "w", rates: &WIRED, from: SATURATES_FROM.0, of: |(wired, _)| wired },
];

impl Axis {
    /// Returns the cells with this rate.
    fn cells(&self, rate: u32) -> Vec<(u32, u32)> {
        cells().filter(|&cell| (self.of)(cell) == rate).collect()
    }

    /// Computes the exponent e of throughput ~ rate^e between two rates.
    fn exponent(&self, runs: &Runs<'_>, protocol: Protocol, (low, high): (u32, u32)) -> Option<f64> {
        let throughput = |rate| runs.mean_over(&self.cells(rate), protocol);
        let growth = libm::log(throughput(high)? / throughput(low)?);
        Some(growth / libm::log(f64::from(high) / f64::from(low)))
    }

    /// Counts the steps from a rate to the next one, up to saturation, over all cells: all steps, and those
    /// that increase throughput.
    fn steps(&self, runs: &Runs<'_>, protocol: Protocol) -> Option<(usize, usize)> {
        let (mut all, mut up) = (0, 0);
        for pair in self.rates.windows(2).filter(|pair| pair[1] <= self.from) {
            for (low, high) in self.cells(pair[0]).into_iter().zip(self.cells(pair[1])) {
                let mean = |(w, r)| runs.mean(w, r, protocol).map(|mean| mean.mean);
                all += 1;
                up += usize::from(mean(high)? > mean(low)?);
            }
        }
        Some((all, up))
    }
}

/// Judges FA2: throughput usually rises with either rate, and saturates above about r = 1000 and w = 500
/// kbps.
fn fa2(runs: &Runs<'_>) -> Vec<Check> {
    Protocol::ALL
        .into_iter()
        .flat_map(|protocol| AXES.map(|axis| rises_and_saturates(runs, protocol, axis)))
        .collect()
}

fn rises_and_saturates(runs: &Runs<'_>, protocol: Protocol, axis: Axis) -> Check {
    let (first, last) = (axis.rates[0], axis.rates[axis.rates.len() - 1]);
    let want = format!(
        "{} over {}: up to {} kbps at least {:.0} % of the steps go up; beyond, throughput ~ {}^e with e at most {SATURATED} \
         and less than before",
        protocol.words(),
        axis.name,
        kbps(axis.from),
        USUALLY * 100.0,
        axis.name
    );
    let before = axis.exponent(runs, protocol, (first, axis.from));
    let beyond = axis.exponent(runs, protocol, (axis.from, last));
    let (Some((all, up)), Some(before), Some(beyond)) = (axis.steps(runs, protocol), before, beyond) else {
        return Check::missing(want, NO_GRID);
    };
    let text = format!(
        "{} over {}: {up} of {all} steps go up, e = {before:.2} to {} kbps, {} beyond",
        protocol.words(),
        axis.name,
        kbps(axis.from),
        format!("{beyond:.2}").replace("-0.00", "0.00").replace('-', "−")
    );
    let exponent = |runs: &Runs<'_>, rates| axis.exponent(runs, protocol, rates);
    let steps = runs.interval(|runs| {
        let (all, up) = axis.steps(runs, protocol)?;
        Some(up as f64 / all as f64 - USUALLY)
    });
    let flat = runs.interval(|runs| exponent(runs, (axis.from, last)));
    let less =
        runs.interval(|runs| Some(exponent(runs, (first, axis.from))? - exponent(runs, (axis.from, last))?));
    let (Some(steps), Some(flat), Some(less)) = (steps, flat, less) else {
        return Check::missing(want, NO_GRID);
    };
    let room = Mean { mean: SATURATED - flat.mean, ..flat };
    let tests =
        [Test::not_below(&steps, 0.0, 0.0), Test::not_below(&room, 0.0, 0.0), Test::above(&less, 0.0, 0.0)];
    let shown = format!("e = {:.2} ± {:.2} beyond", flat.mean, flat.half_width).replace('-', "−");
    Check::tested(want, text, Test::all(&tests), Some(Effect::new(&flat, "", shown)))
}

/// Judges FA3: SCTP's gain over either TCP falls as r grows, and depends more on r than on w.
fn fa3(runs: &Runs<'_>) -> Vec<Check> {
    [Reno, Sack].into_iter().flat_map(|over| [gain_falls(runs, over), gain_depends(runs, over)]).collect()
}

/// Checks the mean gain at r = 150 and 200, at 384, and at 1000 and 2000 kbps.
fn gain_falls(runs: &Runs<'_>, over: Protocol) -> Check {
    let want = format!(
        "mean gain over {} at r = 150 and 200 above that at 384, that at 384 above that at 1000 and 2000 kbps",
        over.words()
    );
    let zone = |runs: &Runs<'_>, from: u32, to: u32| {
        let cells: Vec<_> = cells().filter(|&(_, r)| r >= from && r <= to).collect();
        let gains: Option<Vec<f64>> = cells.iter().map(|&(w, r)| runs.gain(w, r, over)).collect();
        gains.and_then(|gains| Mean::of(&gains)).map(|mean| mean.mean)
    };
    let slow = |runs: &Runs<'_>| zone(runs, 150_000, 200_000);
    let middle = |runs: &Runs<'_>| zone(runs, 384_000, 384_000);
    let fast = |runs: &Runs<'_>| zone(runs, 1_000_000, 2_000_000);
    let falls = [
        runs.interval(|runs| Some(slow(runs)? - middle(runs)?)),
        runs.interval(|runs| Some(middle(runs)? - fast(runs)?)),
    ];
    let [Some(first), Some(second)] = falls else { return Check::missing(want, NO_GRID) };
    let (Some(slow), Some(middle), Some(fast)) = (slow(runs), middle(runs), fast(runs)) else {
        return Check::missing(want, NO_GRID);
    };
    let text = format!(
        "gain over {}: {} at r = 150 and 200, {} at 384, {} at 1000 and 2000 kbps",
        over.words(),
        percent(slow),
        percent(middle),
        percent(fast)
    );
    let least = if first.low() < second.low() { first } else { second };
    let tests = [first, second].map(|fall| Test::above(&fall, 0.0, 0.0));
    Check::tested(want, text, Test::all(&tests), Some(points(&least)))
}

/// Returns a difference of gains as an effect.
fn points(difference: &Mean) -> Effect {
    Effect::new(difference, "", format!("{} points", interval(&difference.scaled(100.0))))
}

/// Checks the spread (mean square) of the gain's means over the columns against that over the rows.
fn gain_depends(runs: &Runs<'_>, over: Protocol) -> Check {
    let want = format!("the gain over {} varies more with r than with w", over.words());
    let spread = |runs: &Runs<'_>, axis: &Axis| {
        let mean = |rate: &u32| {
            let gains: Option<Vec<f64>> =
                axis.cells(*rate).into_iter().map(|(w, r)| runs.gain(w, r, over)).collect();
            Mean::of(&gains?).map(|mean| mean.mean)
        };
        let means: Option<Vec<f64>> = axis.rates.iter().map(mean).collect();
        let means = means?;
        let centre = means.iter().sum::<f64>() / means.len() as f64;
        let square = means.iter().map(|mean| (mean - centre).powi(2)).sum::<f64>() / means.len() as f64;
        Some(square.sqrt())
    };
    let more = runs.interval(|runs| Some(spread(runs, &AXES[0])? - spread(runs, &AXES[1])?));
    let (Some(by_r), Some(by_w), Some(more)) = (spread(runs, &AXES[0]), spread(runs, &AXES[1]), more) else {
        return Check::missing(want, NO_GRID);
    };
    let text = format!(
        "gain over {}: spread {:.1} points with r, {:.1} with w",
        over.words(),
        by_r * 100.0,
        by_w * 100.0
    );
    Check::tested(want, text, Test::above(&more, 0.0, 0.0), Some(points(&more)))
}

/// Returns the runs of the microscope in which the seed draws the six segments, with their keys.
fn six(
    measured: &Measured,
    protocol: Protocol,
    sender: Sender,
) -> impl Iterator<Item = (&MicroscopeKey, &Microscope)> {
    let is_it = move |key: &MicroscopeKey| {
        (key.losses, key.protocol, key.sender) == (LossSet::Same, protocol, sender)
    };
    measured.microscope.iter().filter(move |(key, _)| is_it(key))
}

/// Returns the repairs by seed. Returns `None` without runs, or if a run did not repair the six segments.
fn repairs(measured: &Measured, protocol: Protocol, sender: Sender) -> Option<Vec<Repair>> {
    let all: Vec<Repair> =
        six(measured, protocol, sender).map(|(_, run)| run.repair()).collect::<Option<_>>()?;
    (!all.is_empty()).then_some(all)
}

/// Returns the time from the first retransmission of the six segments to the last, by seed.
pub(super) fn spans(measured: &Measured, protocol: Protocol, sender: Sender) -> Option<Vec<f64>> {
    Some(repairs(measured, protocol, sender)?.iter().map(Repair::span).collect())
}

/// Returns SCTP's time as a share of that of TCP SACK with this sender, as the mean over the seeds.
pub(super) fn share_of_time(measured: &Measured, sender: Sender) -> Option<Mean> {
    let (sctp, sack) = (spans(measured, Sctp, Sender::Rfc6675)?, spans(measured, Sack, sender)?);
    let shares: Vec<f64> = sctp.iter().zip(&sack).map(|(sctp, sack)| sctp / sack).collect();
    (sctp.len() == sack.len()).then(|| Mean::of(&shares)).flatten()
}

/// Formats a share with its interval in percent.
pub(super) fn percentage(share: &Mean) -> String {
    let scaled = share.scaled(100.0);
    let (mean, width) = (number(scaled.mean), spread(&scaled, number));
    if width.starts_with(',') { format!("{mean} %{width}") } else { format!("{mean}{width} %") }
}

/// Judges FA4: six non-consecutive losses in one window. The seeds draw the segments, which differ between
/// the paper's figures.
fn fa4(measured: &Measured) -> Vec<Check> {
    let mut checks: Vec<Check> =
        Protocol::ALL.into_iter().map(|protocol| same_six(measured, protocol)).collect();
    let want = format!(
        "SCTP retransmits all six in at most {:.0} % of the time that TCP SACK takes (paper: about 3.5 against 11 s)",
        WELL_BEFORE * 100.0
    );
    let times = [Sctp, Sack].map(|protocol| spans(measured, protocol, Sender::Rfc6675));
    let means = times.each_ref().map(|times| times.as_ref().and_then(|times| Mean::of(times)));
    checks.push(match (share_of_time(measured, Sender::Rfc6675), means) {
        (Some(share), [Some(sctp), Some(sack)]) => {
            let room = Mean { mean: WELL_BEFORE - share.mean, ..share };
            let shown = format!("SCTP takes {} of TCP SACK’s time", percentage(&share));
            let text = format!(
                "from the first to the last of the six: SCTP {:.2} s, TCP SACK {:.2} s; {shown}",
                sctp.mean, sack.mean
            );
            let effect = Effect::new(&share, "", shown);
            let effect = effect.powered(Power::above(&room, WELL_BEFORE - PAPERS_SHARE, 0.0));
            Check::tested(want, text, Test::not_below(&room, 0.0, 0.0), Some(effect))
        }
        _ => Check::missing(want, "SCTP or TCP SACK did not repair the six in every run"),
    });
    for (protocol, none) in [(Sctp, true), (Sack, true), (Reno, false)] {
        let want = format!(
            "{}: {} before the six are repaired, in most runs",
            protocol.words(),
            if none { "no timeout" } else { "a timeout" }
        );
        checks.push(match repairs(measured, protocol, Sender::Rfc6675) {
            None => Check::missing(want, format!("{} did not repair the six in every run", protocol.words())),
            Some(all) => {
                let those = all.iter().filter(|found| (found.timeouts == 0) == none).count();
                let share = Share { those, of: all.len() };
                let effect = share.effect();
                let text = format!("{}: so in {}", protocol.words(), effect.text);
                Check::tested(want, text, Test::mostly(share), Some(effect))
            }
        });
    }
    checks
}

/// Checks that the segments of the key are lost and repaired.
fn same_six(measured: &Measured, protocol: Protocol) -> Check {
    let want = format!(
        "{}: the same six segments of one window, not in a row, are lost, and repaired",
        protocol.words()
    );
    let runs: Vec<_> = six(measured, protocol, Sender::Rfc6675).collect();
    if runs.is_empty() {
        return Check::missing(want, format!("no run of {}", protocol.words()));
    }
    let so = runs.iter().filter(|(key, run)| lost_as_wanted(key, run) && run.repair().is_some()).count();
    Check::new(want, format!("{}: so in {so} of {} runs", protocol.words(), runs.len()), so == runs.len())
}

fn lost_as_wanted(key: &MicroscopeKey, run: &Microscope) -> bool {
    let first = run.lost.first().copied().unwrap_or_default();
    let offsets: Vec<u64> = run.lost.iter().map(|segment| segment - first).collect();
    offsets == key.offsets()
}

/// Judges FA5 (Figs 2 and 3, TCP without SACK): a handover longer than the RTO ends in a timeout and slow
/// start. Behind a slow bottleneck the RTO is large, and fast retransmit repairs the losses.
fn fa5(runs: &Runs<'_>) -> Vec<Check> {
    let all: Vec<(&GridKey, &Handover)> =
        runs.handovers(Reno).filter(|(_, handover)| handover.lost > 0).collect();
    let seeds = all.iter().map(|(key, _)| key.seed).collect::<BTreeSet<_>>().len();
    let share = |want: &str, what: &str, class: &[&Handover], is: &dyn Fn(&Handover) -> bool| {
        if class.is_empty() {
            return Check::missing(want, format!("no handovers {what}"));
        }
        let those = class.iter().filter(|handover| is(handover)).count();
        let text = format!("handovers {what}: {those} of {} so", class.len());
        let share = Share { those, of: class.len() };
        let effect = share.effect();
        let effect = Effect { text: format!("handovers: {}", effect.text), seeds, ..effect };
        Check::tested(want, text, Test::mostly(share), Some(effect))
    };
    let of = |is: &dyn Fn(&GridKey, &Handover) -> bool| -> Vec<&Handover> {
        all.iter().filter(|(key, handover)| is(key, handover)).map(|&(_, handover)| handover).collect()
    };
    let longer = of(&|_, handover| handover.outage > handover.rto);
    let slow = of(&|key, _| key.wired == WIRED[0]);
    let fast = of(&|key, _| key.wired >= SATURATES_FROM.0 && key.wireless >= SATURATES_FROM.1);
    let rto = |class: &[&Handover]| class.iter().map(|handover| handover.rto).collect::<Vec<_>>();
    let want =
        "the RTO at the handover is larger at w = 28.8 than at w ≥ 500 and r ≥ 1000 kbps, more than twice";
    let (of_slow, of_fast) = (rto(&slow), rto(&fast));
    let larger = match (Mean::of(&of_slow), Mean::of(&of_fast), Ratio::of(&of_slow, &of_fast)) {
        (Some(slow), Some(fast), Some(found)) => {
            let text = format!(
                "RTO at the handover: {:.1} s at w = 28.8, {:.1} s at w ≥ 500 and r ≥ 1000 kbps",
                slow.mean, fast.mean
            );
            // The interval of a ratio is symmetric on the logarithmic scale.
            let beyond = Mean {
                n: slow.n.min(fast.n),
                mean: libm::log(found.ratio / 2.0),
                half_width: libm::log(found.high / found.ratio),
            };
            let (low, high) = (found.low, found.high);
            let shown = format!("{:.1} times the RTO ({low:.1} to {high:.1})", found.ratio);
            let interval = [low, high];
            let effect = Effect {
                effect: found.ratio,
                interval,
                seeds,
                unit: "",
                text: shown,
                relevant: None,
                power: None,
            };
            Check::tested(want, text, Test::above(&beyond, 0.0, 0.0), Some(effect))
        }
        _ => Check::missing(want, "no handovers with losses at one of these rates"),
    };
    vec![
        share(
            "most of Reno's handovers longer than the RTO: a timeout, and slow start from one segment",
            "longer than the RTO, with a timeout and a window of 1",
            &longer,
            &|handover| {
                handover.timeouts > 0 && handover.window_after_timeout.is_some_and(|window| window < 1.5)
            },
        ),
        larger,
        share(
            "most of Reno's handovers at w = 28.8 kbps: a fast retransmit and no timeout",
            "at w = 28.8 kbps, with a fast retransmit and no timeout",
            &slow,
            &|handover| handover.timeouts == 0 && handover.fast_retransmits > 0,
        ),
    ]
}

/// Computes the error of the null model, which predicts Tables VI and VII by the paper's Table V and so
/// ignores the effect of SACK and SCTP.
pub(super) fn null_error() -> Option<f64> {
    let error = |protocol, (wired, wireless)| {
        let of = |protocol| cell(table(protocol), wired, wireless).map(f64::from);
        Some((of(Reno)? / of(protocol)? - 1.0).abs())
    };
    let errors = [Sack, Sctp].into_iter().flat_map(|protocol| cells().map(move |at| error(protocol, at)));
    median(&errors.collect::<Option<Vec<f64>>>()?)
}

/// Judges FA6: the error of the 60 predicted cells, compared with that of the 30 fitted ones and of the null
/// model.
fn fa6(runs: &Runs<'_>) -> Vec<Check> {
    let want = format!(
        "median relative error of the 60 predicted cells at most {CARRIES_OVER} times that of the 30 fitted ones"
    );
    let error = |protocols: &[Protocol]| runs.median_error(protocols);
    let room = runs.interval(|runs| {
        Some(CARRIES_OVER * runs.median_error(&[Reno])? - runs.median_error(&[Sack, Sctp])?)
    });
    let (Some(reno), Some(sack), Some(sctp), Some(both), Some(room)) =
        (error(&[Reno]), error(&[Sack]), error(&[Sctp]), error(&[Sack, Sctp]), room)
    else {
        return vec![Check::missing(want, NO_GRID)];
    };
    let text = format!(
        "median relative error: {:.1} % of 30 fitted cells (TCP Reno); {:.1} % of 60 predicted (TCP SACK {:.1} %, SCTP {:.1} %)",
        reno * 100.0,
        both * 100.0,
        sack * 100.0,
        sctp * 100.0
    );
    let effect = Effect { text: format!("{} below the bound", points(&room).text), ..points(&room) };
    let carries_over = Check::tested(want, text, Test::not_below(&room, 0.0, 0.0), Some(effect));
    let want = "skill: that error is below the one of the paper's Table V as the prediction of the other two";
    let skill = runs.interval(|runs| Some(null_error()? - runs.median_error(&[Sack, Sctp])?));
    let (Some(null), Some(skill)) = (null_error(), skill) else {
        return vec![carries_over, Check::missing(want, NO_GRID)];
    };
    let test = Test::above(&skill, 0.0, 0.0);
    let text = format!(
        "{}: median relative error {:.1} % of the 60 cells, {:.1} % with Table V as their prediction",
        if test.grade == Grade::Reproduced { "skill" } else { "no skill" },
        both * 100.0,
        null * 100.0
    );
    let effect = Effect { text: format!("{} better than Table V", points(&skill).text), ..points(&skill) };
    vec![carries_over, Check::tested(want, text, test, Some(effect))]
}

/// The conditions of the verdicts.
const CONDITIONS: &str = "free parameters fitted to Table V alone";

/// Returns all six claims, judged.
#[must_use]
pub fn ledger(texts: &Texts, measured: &Measured) -> Vec<Claim> {
    let runs = Runs::new(measured);
    texts.ledger(|id| {
        let checks = match id {
            "FA1" => fa1(&runs),
            "FA2" => fa2(&runs),
            "FA3" => fa3(&runs),
            "FA4" => fa4(measured),
            "FA5" => fa5(&runs),
            "FA6" => fa6(&runs),
            _ => Vec::new(),
        };
        vec![judge(CONDITIONS, checks)]
    })
}
