//! The claims PJ1 to PJ5 of Park & Jang as predicates over measured runs. Written from the paper's words
//! before any run was made; not to be tuned to results.
//!
//! The words of the paper and what they mean here:
//!
//! - *average throughput … is better*: over the six cells of Fig. 3 together the mean of the paired
//!   differences is above zero and its 95 % interval does not contain zero; and in no cell is it below. A
//!   difference of less than one segment (`GRAIN`) is none.
//! - *T30*, *T48* (Fig. 2): in units of the time between two packets, twenty to a round trip.
//! - *hidden to the TCP layer*: no duplicate ACK and no loss detected by duplicate ACKs.
//! - *retaining the current congestion window*: not smaller after than before.

use std::collections::{BTreeMap, BTreeSet};

use super::grid::{
    Air, Cell, DURATION, HandoverKey, Losses, MicroscopeKey, RecoveryKey, SEGMENT_BYTES, Scheme, SweepKey,
    TransferKey, Transport,
};
use super::measure::{Handover, Microscope, Recovery, Transfer};
use crate::claims::{Check, Claim, Comparison, Order, judge};
use crate::paper::Texts;
use crate::words::{interval, number, signed};
use Scheme::{Previous, Proposed, Standard};

/// Least significant difference in delivered bytes: a segment.
const GRAIN: f64 = SEGMENT_BYTES as f64;

/// Units of time per round trip in Fig. 2: “the round trip time is T20”.
const UNITS: f64 = 20.0;

/// Resolution of Fig. 2: one unit of its time.
const UNIT_GRAIN: f64 = 1.0;

/// Largest relative deviation of the parameters after a reset from their formulas: rounding to a clock's
/// tick.
const EXACTLY: f64 = 0.01;

/// The measurements of a reproduction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Transfers of Fig. 3.
    pub transfers: BTreeMap<TransferKey, Transfer>,
    /// Runs of the microscope.
    pub microscope: BTreeMap<MicroscopeKey, Microscope>,
    /// Transfers over a link layer that retransmits.
    pub recoveries: BTreeMap<RecoveryKey, Recovery>,
    /// Transfers with a handover.
    pub handovers: BTreeMap<HandoverKey, Handover>,
    /// Runs of the sweeps, which no claim uses.
    pub sweeps: BTreeMap<SweepKey, Transfer>,
}

/// The transfers under one model of wireless losses.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    all: &'a BTreeMap<TransferKey, Transfer>,
    air: Air,
}

impl<'a> Runs<'a> {
    /// Returns the transfers under `air`.
    #[must_use]
    pub fn of(measured: &'a Measured, air: Air) -> Self {
        Self { all: &measured.transfers, air }
    }

    /// Returns the transfers of one sender in a cell, by seed.
    pub fn each(
        &self,
        cell: Cell,
        transport: Transport,
        scheme: Scheme,
    ) -> impl Iterator<Item = (u64, &'a Transfer)> {
        let key = |seed| TransferKey { air: self.air, cell, transport, scheme, seed };
        self.all.range(key(0)..=key(u64::MAX)).map(|(key, run)| (key.seed, run))
    }

    /// Compares the delivered bytes of two schemes in a cell, seed by seed; seeds that one of them lacks are
    /// omitted.
    fn cell(&self, cell: Cell, transport: Transport, schemes: (Scheme, Scheme)) -> Option<Comparison> {
        let other: BTreeMap<u64, &Transfer> = self.each(cell, transport, schemes.1).collect();
        let (a, b): (Vec<f64>, Vec<f64>) = self
            .each(cell, transport, schemes.0)
            .filter_map(|(seed, run)| Some((run.delivered as f64, other.get(&seed)?.delivered as f64)))
            .unzip();
        Comparison::of(&a, &b, GRAIN)
    }

    /// Compares each seed's mean over all six cells; seeds that a cell lacks are omitted.
    fn over_cells(&self, transport: Transport, schemes: (Scheme, Scheme)) -> Option<Comparison> {
        let cells = Cell::all();
        let mean = |scheme, seed| {
            let each = cells.iter().map(|&cell| {
                let run = self.all.get(&TransferKey { air: self.air, cell, transport, scheme, seed })?;
                Some(run.delivered as f64)
            });
            Some(each.sum::<Option<f64>>()? / cells.len() as f64)
        };
        let seeds: BTreeSet<u64> = self.all.keys().map(|key| key.seed).collect();
        let (a, b): (Vec<f64>, Vec<f64>) = seeds
            .into_iter()
            .filter_map(|seed| Some((mean(schemes.0, seed)?, mean(schemes.1, seed)?)))
            .unzip();
        Comparison::of(&a, &b, GRAIN)
    }
}

/// Converts bytes delivered in a transfer to a rate in kbps.
#[must_use]
pub fn kbps(bytes: f64) -> f64 {
    bytes * 8.0 / (DURATION.as_secs_f64() * 1000.0)
}

/// Formats a comparison, as `1,085 vs 991 kbps: +94.1 ± 3.2 (+9.5 %)`.
fn rates(found: &Comparison) -> String {
    let difference = found.difference.scaled(kbps(1.0));
    let base = kbps(found.base);
    format!(
        "{} vs {} kbps: {} ({} %)",
        number(base + difference.mean),
        number(base),
        interval(&difference),
        signed(found.relative() * 100.0)
    )
}

/// PJ1 (Fig. 3).
fn pj1(runs: &Runs<'_>) -> Vec<Check> {
    Transport::TCP.into_iter().flat_map(|transport| better(runs, transport)).collect()
}

fn better(runs: &Runs<'_>, transport: Transport) -> Vec<Check> {
    let who = transport.words();
    let mut checks: Vec<Check> = Cell::all()
        .into_iter()
        .map(|cell| {
            let want = format!("{who}, {}: throughput of proposed LD not below previous LD’s", cell.words());
            match runs.cell(cell, transport, (Proposed, Previous)) {
                None => Check::missing(want, format!("no runs of {who}, {}", cell.words())),
                Some(found) => {
                    let text = format!("{who}, {}: {}", cell.words(), rates(&found));
                    Check::new(want, text, found.order != Order::Below)
                }
            }
        })
        .collect();
    let want = format!("{who}: throughput of proposed LD above previous LD’s in the mean over the cells");
    checks.push(match runs.over_cells(transport, (Proposed, Previous)) {
        None => Check::missing(want, format!("not all cells of {who}")),
        Some(found) => {
            Check::new(want, format!("{who}, all cells: {}", rates(&found)), found.order == Order::Above)
        }
    });
    checks
}

/// PJ2 (Fig. 2): T30 against T48, if the third packet of the figure, which causes the first duplicate ACK at
/// T28, was sent at T8.
fn pj2(measured: &Measured) -> Vec<Check> {
    Transport::TCP.into_iter().flat_map(|transport| under_the_microscope(measured, transport)).collect()
}

fn under_the_microscope(measured: &Measured, transport: Transport) -> Vec<Check> {
    let who = transport.words();
    let wants = [
        format!("{who}: proposed LD retransmits at the third duplicate ACK"),
        format!("{who}: previous LD retransmits a round trip (± 1/20) after the first duplicate ACK"),
        format!("{who}: previous LD 18 ± 1 twentieths of a round trip after proposed LD"),
    ];
    let run = |scheme| measured.microscope.get(&MicroscopeKey { transport, scheme });
    let (Some(proposed), Some(previous)) = (run(Proposed), run(Previous)) else {
        return wants.map(|want| Check::missing(want, format!("no run of {who}"))).into();
    };
    let units = |run: &Microscope, since: f64| (run.retransmission - since) * UNITS / run.rtt;
    let prompt = units(proposed, proposed.third_duplicate);
    let late = units(previous, previous.first_duplicate);
    let apart = late - units(proposed, proposed.first_duplicate);
    let [first, second, third] = wants;
    vec![
        Check::new(
            first,
            format!("{who}: proposed LD {prompt:.1} units of time after the third duplicate ACK"),
            (0.0..UNIT_GRAIN).contains(&prompt),
        ),
        Check::new(
            second,
            format!("previous LD {late:.1} after the first (round trip: 20)"),
            (late - UNITS).abs() <= UNIT_GRAIN,
        ),
        Check::new(
            third,
            format!("previous LD {apart:.1} after proposed LD (paper: T48 and T30)"),
            (apart - 18.0).abs() <= UNIT_GRAIN,
        ),
    ]
}

/// PJ3 (Fig. 2, top).
fn pj3(measured: &Measured) -> Vec<Check> {
    Transport::TCP.into_iter().flat_map(|transport| hidden(measured, transport)).collect()
}

fn hidden(measured: &Measured, transport: Transport) -> Vec<Check> {
    let who = transport.words();
    let wants = [
        format!("{who}: no duplicate ACK and no loss found while the link layer recovers everything"),
        format!("{who}: the longest round trip is longer than without errors"),
    ];
    let runs = |errors| {
        let of =
            move |(key, _): &(&RecoveryKey, &Recovery)| key.transport == transport && key.errors == errors;
        measured.recoveries.iter().filter(of).map(|(key, run)| (key.seed, run))
    };
    // A run without link-layer retransmissions, or with a final loss, does not test this claim.
    let tested: Vec<(u64, &Recovery)> =
        runs(true).filter(|(_, run)| run.retransmitted_blocks > 0 && run.lost == 0).collect();
    let quiet: BTreeMap<u64, &Recovery> = runs(false).collect();
    if tested.is_empty() {
        return wants.map(|want| Check::missing(want, format!("no run of {who} without a loss"))).into();
    }
    let [first, second] = wants;
    let resent: u64 = tested.iter().map(|(_, run)| run.retransmitted_blocks).sum();
    let duplicates: u64 = tested.iter().map(|(_, run)| run.duplicate_acks).sum();
    let found: u64 = tested.iter().map(|(_, run)| run.gap_losses).sum();
    let (with, without): (Vec<f64>, Vec<f64>) = tested
        .iter()
        .filter_map(|(seed, run)| Some((run.longest_rtt * 1000.0, quiet.get(seed)?.longest_rtt * 1000.0)))
        .unzip();
    let text = format!(
        "{who}: {} blocks retransmitted on the air in {} runs, {duplicates} duplicate ACKs, {found} losses found",
        number(resent as f64),
        tested.len()
    );
    vec![
        Check::new(first, text, duplicates == 0 && found == 0),
        match Comparison::of(&with, &without, 1.0) {
            None => Check::missing(second, format!("no run of {who} without errors")),
            Some(found) => Check::new(
                second,
                format!(
                    "longest round trip {} vs {} ms: {}",
                    number(found.base + found.difference.mean),
                    number(found.base),
                    interval(&found.difference)
                ),
                found.order == Order::Above,
            ),
        },
    ]
}

/// PJ4 (§2.2), for one sender. A handover counts if it has a timeout but no loss.
fn recognised(measured: &Measured, transport: Transport) -> Vec<Check> {
    let who = transport.words();
    let wants = [
        format!("{who}: every spurious timeout at a handover recognised"),
        format!("{who}: window after it not smaller than before"),
        format!("{who}: fewer handovers with a needless slow start than without F-RTO"),
    ];
    let runs = |frto| {
        let of = move |(key, _): &(&HandoverKey, &Handover)| key.transport == transport && key.frto == frto;
        measured.handovers.iter().filter(of).map(|(_, run)| run)
    };
    let needless = |run: &&Handover| run.timeouts > 0 && run.lost == 0;
    let with: Vec<&Handover> = runs(true).filter(needless).collect();
    if with.is_empty() {
        return wants.map(|want| Check::missing(want, format!("{who}: no spurious timeout"))).into();
    }
    let [first, second, third] = wants;
    let all = with.iter().filter(|run| run.recognised == run.timeouts).count();
    let kept = with.iter().filter(|run| run.window_after >= run.window_before).count();
    let slow = |frto| {
        let count = runs(frto).filter(|run| needless(run) && run.slow_start).count();
        (count, runs(frto).count())
    };
    let (slow_with, slow_without) = (slow(true), slow(false));
    let rate = |(part, whole): (usize, usize)| part as f64 / whole.max(1) as f64;
    let third = if slow_without.1 == 0 {
        Check::missing(third, format!("{who}: no handover without F-RTO"))
    } else {
        let text = format!(
            "{who}: needless slow start in {} of {} handovers, {} of {} without F-RTO",
            slow_with.0, slow_with.1, slow_without.0, slow_without.1
        );
        Check::new(third, text, rate(slow_with) < rate(slow_without))
    };
    vec![
        Check::new(
            first,
            format!("{who}: all timeouts recognised in {all} of {} handovers with spurious ones", with.len()),
            all == with.len(),
        ),
        Check::new(second, format!("{who}: window kept in {kept} of {}", with.len()), kept == with.len()),
        third,
    ]
}

/// PJ4 (§2.2): “T_min and T_avg is set to new measured RTT and T_dev is set to a half of the new measured
/// RTT.”
fn reset(measured: &Measured, transport: Transport) -> Check {
    let who = transport.words();
    let want = format!("{who}: parameters set to the new network’s round trip after every one recognised");
    let of =
        |(key, run): &(&HandoverKey, &Handover)| key.transport == transport && key.frto && run.recognised > 0;
    let runs: Vec<_> = measured.handovers.iter().filter(of).collect();
    if runs.is_empty() {
        return Check::missing(want, format!("{who}: no spurious timeout recognised"));
    }
    let near = |a: f64, b: f64| (a - b).abs() <= EXACTLY * b;
    let right = runs.iter().filter(|(key, run)| {
        run.reset.is_some_and(|to| {
            let formula = near(to.min, to.rtt) && near(to.avg, to.rtt) && near(to.dev, to.rtt / 2.0);
            // The round trip is the new network's: at least its propagation delay both ways.
            formula && to.rtt >= 2.0 * key.to().delay().as_secs_f64()
        })
    });
    let count = right.count();
    Check::new(want, format!("{who}: parameters reset in {count} of {}", runs.len()), count == runs.len())
}

fn pj4(measured: &Measured) -> Vec<Check> {
    let both = Transport::TCP.into_iter();
    both.flat_map(|transport| {
        let mut checks = recognised(measured, transport);
        checks.push(reset(measured, transport));
        checks
    })
    .collect()
}

/// PJ5 (ours): “the same differentiation on an SCTP path”. In cells with wireless losses only, it gains
/// throughput. In no cell is its effect opposite to that on TCP SACK, SCTP's nearest relative.
fn pj5(runs: &Runs<'_>) -> Vec<Check> {
    let both = Cell::all().into_iter().map(|cell| {
        let find = |transport| runs.cell(cell, transport, (Proposed, Standard));
        (cell, find(Transport::Sctp), find(Transport::Sack))
    });
    let mut checks = Vec::new();
    for (cell, sctp, tcp) in both {
        let place = cell.words();
        if cell.losses == Losses::Wireless {
            let want = format!("{place}: throughput of SCTP with LD above RFC 9260’s");
            checks.push(match &sctp {
                None => Check::missing(want, format!("no runs of SCTP, {place}")),
                Some(found) => {
                    Check::new(want, format!("SCTP, {place}: {}", rates(found)), found.order == Order::Above)
                }
            });
        }
        let want = format!("{place}: LD does not gain for one of SCTP and TCP SACK and lose for the other");
        checks.push(match (&sctp, &tcp) {
            (Some(sctp), Some(tcp)) => {
                let opposite = matches!(
                    (sctp.order, tcp.order),
                    (Order::Above, Order::Below) | (Order::Below, Order::Above)
                );
                let (a, b) = (signed(sctp.relative() * 100.0), signed(tcp.relative() * 100.0));
                Check::new(want, format!("{place}: LD {a} % for SCTP, {b} % for TCP SACK"), !opposite)
            }
            _ => Check::missing(want, format!("no runs of SCTP and TCP SACK, {place}")),
        });
    }
    checks
}

/// Returns the ledger: PJ1 to PJ5; PJ1 and PJ5 judged under both models of wireless losses.
#[must_use]
pub fn ledger(texts: &Texts, measured: &Measured) -> Vec<Claim> {
    let under = |predicate: fn(&Runs<'_>) -> Vec<Check>, rest: fn(&Measured) -> Vec<Check>| {
        let judged = |air: Air| {
            let mut checks = predicate(&Runs::of(measured, air));
            checks.extend(rest(measured));
            judge(air.words(), checks)
        };
        Air::ALL.map(judged).to_vec()
    };
    texts.ledger(|id| match id {
        "PJ1" => under(pj1, |_| Vec::new()),
        "PJ2" => vec![judge("one loss", pj2(measured))],
        "PJ3" => vec![judge("LTE link layer", pj3(measured))],
        "PJ4" => vec![judge("handovers", pj4(measured))],
        "PJ5" => under(pj5, |measured| recognised(measured, Transport::Sctp)),
        _ => Vec::new(),
    })
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
