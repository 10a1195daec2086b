//! The claims AF1 to AF5 of Afif et al. as predicates over measured runs. Written from the paper's words
//! before any run was made; not to be tuned to results.
//!
//! The paper shows one run of each kind. Ours are repeated over seeds, which share radio conditions and
//! losses between the variants. Events that the paper reports must occur in the majority of the runs. Events
//! that it excludes may occur in at most `RARELY` of them: the 1 % of packets lost on the Gi interface can
//! cause a timeout at any time.

use std::collections::BTreeMap;

use super::measure::Run;
use super::plan::{CHANGES, Course, DURATION, RunKey, TO_CS1, Variant};
use crate::claims::{Check, Claim, Comparison, Order, judge};
use crate::paper::Texts;
use crate::words::{interval, signed};

/// AF1: time after the change in which a timeout is attributed to it, in seconds. The queue before the radio
/// link holds at most 50 packets, which take 25 s at CS1. By then, packets sent before the change have
/// arrived or are abandoned.
const AFTER_CHANGE: f64 = 30.0;

/// Share of the seeds that may contradict "there is no timeout production" (AF1) and "does not cause losses"
/// (AF4).
const RARELY: f64 = 0.10;

/// AF4: the longest stall that is "no cut of the transmission flow", in seconds. The paper's figures show
/// some 2000 s; 1 % of their width is the shortest visible cut.
const CUT: f64 = 20.0;

/// AF5: "works as standard SCTP": delivered bytes within this share. The packets of reports shift the times
/// of SACKs slightly, and with them the chunks in a lost packet.
const AS_STANDARD: f64 = 0.02;

/// AF2: time between two compared samples, in seconds.
const COMPARISON_INTERVAL: f64 = 10.0;

/// Least significant difference in TSNs.
const GRAIN: f64 = 1.0;

/// The measured runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Runs by key.
    pub runs: BTreeMap<RunKey, Run>,
}

impl Measured {
    /// Returns the runs of one course and variant, by seed.
    #[must_use]
    pub fn each(&self, course: Course, variant: Variant) -> Vec<&Run> {
        let key = |seed| RunKey { course, variant, seed };
        self.runs.range(key(0)..=key(u64::MAX)).map(|(_, run)| run).collect()
    }

    /// Returns a figure of two variants, seed by seed; seeds that lack it under one of them are omitted.
    pub(super) fn paired(
        &self,
        course: Course,
        variants: (Variant, Variant),
        figure: impl Fn(&Run) -> Option<f64>,
    ) -> (Vec<f64>, Vec<f64>) {
        let key = |variant, seed| RunKey { course, variant, seed };
        self.runs
            .range(key(variants.0, 0)..=key(variants.0, u64::MAX))
            .filter_map(|(this, run)| {
                let other = self.runs.get(&key(variants.1, this.seed))?;
                Some((figure(run)?, figure(other)?))
            })
            .unzip()
    }
}

/// Returns how many of `runs` satisfy a condition, and their share.
fn count(runs: &[&Run], is_so: impl Fn(&Run) -> bool) -> (usize, f64) {
    let number = runs.iter().filter(|run| is_so(run)).count();
    (number, number as f64 / runs.len() as f64)
}

/// Returns all claims, judged.
#[must_use]
pub fn ledger(texts: &Texts, measured: &Measured) -> Vec<Claim> {
    texts.ledger(|id| {
        let checks = match id {
            "AF1" => af1(measured),
            "AF2" => af2(measured),
            "AF3" => af3(measured),
            "AF4" => af4(measured),
            "AF5" => af5(measured),
            _ => Vec::new(),
        };
        vec![judge("the paper’s set-up", checks)]
    })
}

/// "when changing from CS2 to CS1 we have a little transmission cut which corresponds to a retransmission
/// timeout, whereas with the proposed extension there is no timeout production"
fn af1(measured: &Measured) -> Vec<Check> {
    let window = |run: &Run| run.timed_out(TO_CS1, TO_CS1 + AFTER_CHANGE);
    let check = |variant: Variant, want: &str, holds: fn(f64) -> bool| {
        let runs = measured.each(Course::Deterministic, variant);
        if runs.is_empty() {
            return Check::missing(want, "no runs");
        }
        let (number, share) = count(&runs, window);
        let text = format!(
            "{}: {number} of {} seeds have a timeout within {AFTER_CHANGE} s of the change",
            variant.words(),
            runs.len()
        );
        Check::new(want, text, holds(share))
    };
    vec![
        check(
            Variant::Standard,
            "standard: a timeout within 30 s of 600 s in the majority of the seeds",
            |share| share > 0.5,
        ),
        check(Variant::Extended, "extended: one in at most 10 % of the seeds", |share| share <= RARELY),
    ]
}

/// "since the first coding scheme change the proposed extension performs better than the standard SCTP",
/// "confirmed by the evolution of TSN"
fn af2(measured: &Measured) -> Vec<Check> {
    let compare = |at: f64| {
        let variants = (Variant::Extended, Variant::Standard);
        let (a, b) = measured.paired(Course::Deterministic, variants, |run| Run::sample(&run.cum_tsn, at));
        Comparison::of(&a, &b, GRAIN)
    };
    let end = DURATION.as_secs_f64();
    // End of each set of conditions: just before the next change.
    let ends = CHANGES[1..].iter().map(|at| at - 1.0).chain([end - 1.0]);
    let mut checks: Vec<Check> = ends
        .map(|at| {
            let want = format!("at {at} s the cumulative TSN is ahead");
            match compare(at) {
                None => Check::missing(want, "no runs"),
                Some(comparison) => {
                    let Comparison { difference, base, .. } = &comparison;
                    let text = format!("at {at} s: {} TSNs of {base:.0}", interval(difference));
                    Check::new(want, text, comparison.order == Order::Above)
                }
            }
        })
        .collect();
    let instants = (1..).map(|n| CHANGES[0] + COMPARISON_INTERVAL * f64::from(n)).take_while(|at| *at < end);
    let compared: Vec<(f64, Comparison)> = instants.filter_map(|at| Some((at, compare(at)?))).collect();
    let want = "from 200 s on it is never behind";
    checks.push(if compared.is_empty() {
        Check::missing(want, "no runs")
    } else {
        let behind: Vec<String> = compared
            .iter()
            .filter(|(_, comparison)| comparison.order == Order::Below)
            .map(|(at, _)| format!("{at}"))
            .collect();
        let text = match behind.len() {
            0 => format!("behind at none of {} instants", compared.len()),
            some => format!("behind at {some} of {} instants, first at {} s", compared.len(), behind[0]),
        };
        Check::new(want, text, behind.is_empty())
    });
    checks
}

/// "if the mobile is in slow start phase in the old cell, it will stay in the slow start phase in the new
/// cell but with a new value of cwnd instead of one or two MTUs"; "if the mobile is in congestion avoidance
/// phase before […] it will stay in this phase"; "cwnd after the change of radio link obeys to the formula";
/// "slow start isn't triggered on the new link"
fn af3(measured: &Measured) -> Vec<Check> {
    let standard = measured.each(Course::Deterministic, Variant::Standard);
    let extended = measured.each(Course::Deterministic, Variant::Extended);
    let slow = "standard: the new path begins in slow start with the initial window (RFC 9260: 4404 bytes at this MTU)";
    let obeys = "extended: the new path's window is the formula's, to the byte";
    let phase = "extended: a sender in congestion avoidance stays there, one in slow start stays there";
    if standard.is_empty() || extended.is_empty() {
        return [slow, obeys, phase].map(|want| Check::missing(want, "no runs")).to_vec();
    }
    let mean = |runs: &[&Run], value: fn(&Run) -> u64| {
        runs.iter().map(|run| value(run) as f64).sum::<f64>() / runs.len() as f64
    };
    let (starts, share) =
        count(&standard, |run| run.switch.in_slow_start() && run.switch.cwnd == INITIAL_WINDOW);
    let first = format!(
        "standard: {starts} of {} seeds; window {:.0} bytes in the mean",
        standard.len(),
        mean(&standard, |run| run.switch.cwnd)
    );
    let (obeying, obeying_share) =
        count(&extended, |run| run.switch.formula.is_some_and(|formula| formula == run.switch.cwnd));
    let second = format!(
        "extended: {obeying} of {} seeds; {:.0} bytes in the mean, from {:.0} before",
        extended.len(),
        mean(&extended, |run| run.switch.cwnd),
        mean(&extended, |run| run.switch.old_cwnd)
    );
    let (kept, kept_share) =
        count(&extended, |run| run.switch.in_slow_start() == run.switch.old_in_slow_start());
    let (avoiding, _) = count(&extended, |run| !run.switch.old_in_slow_start());
    let third = format!(
        "extended: {kept} of {} seeds keep their phase; {avoiding} were in congestion avoidance",
        extended.len()
    );
    vec![
        Check::new(slow, first, share == 1.0),
        Check::new(obeys, second, obeying_share == 1.0),
        Check::new(phase, third, kept_share == 1.0),
    ]
}

/// RFC 9260 §7.2.1 with a PMDCS of 1468 bytes to an IPv4 address.
const INITIAL_WINDOW: u64 = 4404;

/// "the sequence number varies continuously in time, i.e. we do not have a cut of the transmission flow
/// caused by losses problems due to random transmission quality variations" (RLC, Fig. 8; TSN, Fig. 10)
fn af4(measured: &Measured) -> Vec<Check> {
    let runs = measured.each(Course::Random, Variant::Extended);
    let check = |what: &str, stall: fn(&Run) -> f64| {
        let want =
            format!("in at least 90 % of the seeds the {what} never stands still for more than {CUT} s");
        if runs.is_empty() {
            return Check::missing(want, "no runs");
        }
        let (cut, share) = count(&runs, |run| stall(run) > CUT);
        let longest = runs.iter().map(|run| stall(run)).fold(0.0, f64::max);
        let mean = runs.iter().map(|run| stall(run)).sum::<f64>() / runs.len() as f64;
        let text = format!(
            "{what}: {cut} of {} seeds have a cut; the longest stall is {mean:.1} s in the mean, {longest:.1} s at most",
            runs.len()
        );
        Check::new(want, text, share <= RARELY)
    };
    vec![check("RLC block number", |run| run.block_stall.length), check("TSN", |run| run.tsn_stall.length)]
}

/// README: "a peer that does not know the chunk ignores it and the association works as standard SCTP"
fn af5(measured: &Measured) -> Vec<Check> {
    let ignorant = measured.each(Course::Deterministic, Variant::Ignorant);
    let ignores = "the mobile reports at the set-up, each change and the handover, the sender takes none, and the association goes on to \
                   the end without an ERROR";
    let bytes = "as many bytes are delivered as without reports, within 2 %";
    let times = "no more timeouts than without reports";
    if ignorant.is_empty() {
        return [ignores, bytes, times].map(|want| Check::missing(want, "no runs")).to_vec();
    }
    let (good, share) = count(&ignorant, |run| {
        run.in_order && run.reports_taken == 0 && run.reports_sent > CHANGES.len() as u64
    });
    let sent: u64 = ignorant.iter().map(|run| run.reports_sent).sum();
    let first = format!("{good} of {} seeds; {sent} reports sent", ignorant.len());
    let mut checks = vec![Check::new(ignores, first, share == 1.0)];
    let pair = (Variant::Ignorant, Variant::Standard);
    let compare = |grain, figure: fn(&Run) -> f64| {
        let (a, b) = measured.paired(Course::Deterministic, pair, |run| Some(figure(run)));
        Comparison::of(&a, &b, grain)
    };
    checks.push(match compare(0.0, |run| run.total_bytes as f64) {
        None => Check::missing(bytes, "no runs of standard SCTP"),
        Some(comparison) => {
            let text = format!("bytes {} % in the mean", signed(comparison.relative() * 100.0));
            Check::new(bytes, text, comparison.within(AS_STANDARD))
        }
    });
    checks.push(match compare(0.0, |run| run.timeouts.len() as f64) {
        None => Check::missing(times, "no runs of standard SCTP"),
        Some(comparison) => {
            let Comparison { difference, base, order } = comparison;
            let text = format!("timeouts {} of {base:.1}", interval(&difference));
            Check::new(times, text, order != Order::Above)
        }
    });
    checks
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
