//! Metrics of the path in use at an instant, from the trace of the end that sends.

use msctp_lab_schemes::policies::note;
use msctp_proto::{Direction, PathId, TraceKind};
use msctp_sim::nearest_rank;
use msctp_sim::series::TraceSeries;
use msctp_sim::summary::AssociationSummary;
use msctp_units::{Rate, Span, Time};

use super::{Results, Wanted, associations, handovers, mean};

/// Returns the traces of the sending ends of the associations that the metric covers.
pub(super) fn senders<'r>(results: &Results<'r>, wanted: &Wanted) -> Vec<&'r TraceSeries> {
    let sender = |association: &AssociationSummary| {
        let side =
            if association.to_client.bytes > association.to_server.bytes { "server" } else { "client" };
        results.series.traces.iter().find(|trace| trace.association == association.name && trace.side == side)
    };
    associations(results, wanted).filter_map(sender).collect()
}

/// Returns the primary path at an instant: that of the latest switch. Before any switch, returns the path
/// that the first switch left, else the first path used.
#[must_use]
pub(crate) fn primary(trace: &TraceSeries, now: Time) -> Option<PathId> {
    let mut first = trace.window.path.first().copied();
    let mut left = false;
    for mark in &trace.marks {
        if let TraceKind::Primary { from, to, .. } = mark.kind {
            if mark.at > now {
                return if left { first } else { Some(from) };
            }
            (first, left) = (Some(to), true);
        }
    }
    first
}

/// Returns the mean of a value of the primary path at the metric's instant, over the associations. `last`
/// finds the value of a path.
fn at_instant(
    results: &Results<'_>,
    wanted: &Wanted,
    last: impl Fn(&TraceSeries, PathId, Time) -> Option<f64>,
) -> Result<f64, String> {
    let at = wanted.from.unwrap_or_default();
    let value = |trace: &TraceSeries| primary(trace, at).and_then(|path| last(trace, path, at));
    let values: Vec<f64> = senders(results, wanted).into_iter().filter_map(value).collect();
    mean(&values, "no path was in use at this time")
}

/// Returns the latest window, threshold and bytes in flight of a path: that of the latest change, or of a
/// later starting state that the handover policy set.
fn window(trace: &TraceSeries, path: PathId, at: Time) -> Option<(u64, u64, u64)> {
    let columns = &trace.window;
    let change = (0..columns.at.len()).rev().find(|&i| columns.path[i] == path && columns.at[i] <= at);
    let start = trace.marks.iter().rev().find_map(|mark| match mark.kind {
        TraceKind::StartState { path: of, cwnd, ssthresh } if of == path && mark.at <= at => {
            Some((mark.at, cwnd, ssthresh))
        }
        _ => None,
    });
    let changed =
        change.map(|i| (columns.at[i], columns.cwnd[i], columns.ssthresh[i], columns.flight_size[i]));
    match (changed, start) {
        (Some((when, ..)), Some((started, cwnd, ssthresh))) if started > when => Some((cwnd, ssthresh, 0)),
        (Some((_, cwnd, ssthresh, flight)), _) => Some((cwnd, ssthresh, flight)),
        (None, Some((_, cwnd, ssthresh))) => Some((cwnd, ssthresh, 0)),
        (None, None) => None,
    }
}

pub(super) fn cwnd(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    at_instant(results, wanted, |trace, path, at| window(trace, path, at).map(|(cwnd, ..)| cwnd as f64))
}

pub(super) fn ssthresh(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let limited = |ssthresh: u64| (ssthresh != u64::MAX).then_some(ssthresh as f64);
    let value = |trace: &TraceSeries, path, at| window(trace, path, at).and_then(|w| limited(w.1));
    at_instant(results, wanted, value).map_err(|_| "no path had a threshold at this time".to_owned())
}

pub(super) fn flight(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    at_instant(results, wanted, |trace, path, at| window(trace, path, at).map(|w| w.2 as f64))
}

pub(super) fn srtt(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    at_instant(results, wanted, |trace, path, at| {
        let rtt = &trace.rtt;
        let last = (0..rtt.at.len()).rev().find(|&i| rtt.path[i] == path && rtt.at[i] <= at)?;
        Some(rtt.srtt[last].as_secs_f64())
    })
}

/// Returns the nearest-rank percentile of the round-trip samples of all paths in the metric's range.
pub(super) fn rtt_p95(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let (from, to) = (wanted.from.unwrap_or_default(), wanted.to.unwrap_or(Time::MAX));
    let mut samples: Vec<_> = Vec::new();
    for trace in senders(results, wanted) {
        let rtt = &trace.rtt;
        samples.extend((0..rtt.at.len()).filter(|&i| (from..to).contains(&rtt.at[i])).map(|i| rtt.sample[i]));
    }
    samples.sort_unstable();
    let p95 = nearest_rank(&samples, 95);
    p95.map(Span::as_secs_f64).ok_or_else(|| "no round trip was measured".to_owned())
}

/// Counts events of a kind on the sender's primary path in the metric's range.
pub(super) fn marks(results: &Results<'_>, wanted: &Wanted, is_one: fn(TraceKind) -> bool) -> f64 {
    let range = wanted.range();
    let of = |trace: &TraceSeries| {
        let chosen = trace.marks.iter().filter(|mark| range.contains(&mark.at) && is_one(mark.kind));
        chosen
            .filter(|mark| path_of(mark.kind).is_some_and(|path| primary(trace, mark.at) == Some(path)))
            .count()
    };
    senders(results, wanted).into_iter().map(of).sum::<usize>() as f64
}

/// Returns the path of a retransmission event.
fn path_of(kind: TraceKind) -> Option<PathId> {
    match kind {
        TraceKind::T3Timeout { path, .. } | TraceKind::FastRetransmit { path, .. } => Some(path),
        _ => None,
    }
}

/// Returns time, path, window and threshold of the new path at a handover. If the handover policy set no
/// values, they are the path's own at the switch; before a path has any, its first ones.
fn new_path(trace: &TraceSeries, handover: f64) -> Option<(Time, PathId, u64, u64)> {
    let after = || trace.marks.iter().filter(|mark| mark.at.as_secs_f64() >= handover - 1e-9);
    let given = after().find_map(|mark| match mark.kind {
        TraceKind::StartState { path, cwnd, ssthresh } => Some((mark.at, path, cwnd, ssthresh)),
        _ => None,
    });
    let left = || {
        let moved = after().find_map(|mark| match mark.kind {
            TraceKind::Primary { to, .. } => Some((mark.at, to)),
            _ => None,
        });
        let (at, path) = moved?;
        let first = || {
            let first = trace.window.path.iter().position(|of| *of == path)?;
            Some((trace.window.cwnd[first], trace.window.ssthresh[first]))
        };
        let known = window(trace, path, at).map(|(cwnd, ssthresh, _)| (cwnd, ssthresh));
        let (cwnd, ssthresh) = known.or_else(first)?;
        Some((at, path, cwnd, ssthresh))
    };
    given.or_else(left)
}

/// Returns the window with which the new path begins, as the mean over the associations.
pub(super) fn start_cwnd(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let first = handovers::at(results, wanted)?;
    let cwnd = |trace: &&TraceSeries| new_path(trace, first).map(|(_, _, cwnd, _)| cwnd as f64);
    let values: Vec<f64> = senders(results, wanted).iter().filter_map(cwnd).collect();
    mean(&values, "the new path had no window")
}

/// Returns 1 if the new path begins in slow start: cwnd ≤ ssthresh (RFC 9260 §7.2.1).
pub(super) fn slow_start(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let first = handovers::at(results, wanted)?;
    let slow = |trace: &&TraceSeries| {
        new_path(trace, first).map(|(_, _, cwnd, ssthresh)| f64::from(u8::from(cwnd <= ssthresh)))
    };
    let values: Vec<f64> = senders(results, wanted).iter().filter_map(slow).collect();
    mean(&values, "the new path had no window")
}

/// Returns a value of the old path's window and threshold just before the handover.
pub(super) fn left(results: &Results<'_>, wanted: &Wanted, of: fn(u64, u64) -> f64) -> Result<f64, String> {
    let first = handovers::at(results, wanted)?;
    let value = |trace: &&TraceSeries| {
        let mut switches = trace.marks.iter().filter(|mark| mark.at.as_secs_f64() >= first - 1e-9);
        let (at, old) = switches.find_map(|mark| match mark.kind {
            TraceKind::Primary { from, .. } => Some((mark.at, from)),
            _ => None,
        })?;
        let window = &trace.window;
        let last = (0..window.at.len()).rfind(|&i| window.path[i] == old && window.at[i] < at)?;
        Some(of(window.cwnd[last], window.ssthresh[last]))
    };
    let values: Vec<f64> = senders(results, wanted).iter().filter_map(value).collect();
    mean(&values, "the old path had no window")
}

/// Returns the product of the last reported rate of the radio link and the minimum round-trip time of the new
/// path. Before the new path has one, uses that of the old path.
pub(super) fn reported_bdp(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let first = handovers::at(results, wanted)?;
    let value = |trace: &&TraceSeries| {
        let mut switches = trace.marks.iter().filter(|mark| mark.at.as_secs_f64() >= first - 1e-9);
        let (at, from, to) = switches.find_map(|mark| match mark.kind {
            TraceKind::Primary { from, to, .. } => Some((mark.at, from, to)),
            _ => None,
        })?;
        let rate = trace.marks.iter().rev().find_map(|mark| match mark.kind {
            TraceKind::PolicyNote { name: note::RATE, value, .. } if mark.at <= at => {
                Some(Rate::from_bps(value))
            }
            _ => None,
        })?;
        let rtt = &trace.rtt;
        let least = |path: PathId| {
            (0..rtt.at.len()).filter(|&i| rtt.path[i] == path && rtt.at[i] <= at).map(|i| rtt.sample[i]).min()
        };
        Some(rate.bytes_in(least(to).or_else(|| least(from))?) as f64)
    };
    let values: Vec<f64> = senders(results, wanted).iter().filter_map(value).collect();
    mean(&values, "no report and round trip before the handover")
}

/// Counts the notes of this name that the policies of both ends made.
pub(super) fn notes(results: &Results<'_>, wanted: &Wanted, name: &str) -> f64 {
    let covered = results.series.traces.iter().filter(|trace| wanted.covers(&trace.association));
    let is_it = |kind| matches!(kind, TraceKind::PolicyNote { name: of, .. } if of == name);
    covered.flat_map(|trace| &trace.marks).filter(|mark| is_it(mark.kind)).count() as f64
}

/// Counts the ERROR chunks that both ends sent.
pub(super) fn errors(results: &Results<'_>, wanted: &Wanted) -> f64 {
    const ERROR: u8 = 9;
    let covered = results.series.traces.iter().filter(|trace| wanted.covers(&trace.association));
    let is_it =
        |kind| matches!(kind, TraceKind::Control { direction: Direction::Out, chunk_type: ERROR, .. });
    covered.flat_map(|trace| &trace.chunks).filter(|event| is_it(event.kind)).count() as f64
}

/// The first reduction of a new path's window.
pub(super) struct Fall {
    /// Time in seconds.
    pub(super) at: f64,
    /// True if T3-rtx expired at that time.
    pub(super) by_timeout: bool,
}

/// Returns the mean over the associations of a value of the new path's first window reduction.
pub(super) fn fall(results: &Results<'_>, wanted: &Wanted, of: fn(&Fall) -> f64) -> Result<f64, String> {
    let first = handovers::at(results, wanted)?;
    let end = Fall { at: results.summary.duration, by_timeout: false };
    let value = |trace: &TraceSeries| {
        let start = new_path(trace, first)?;
        let (at, path, cwnd, _) = start;
        Some(first_fall(trace, (at, path, cwnd)).map_or_else(|| of(&end), |fall| of(&fall)))
    };
    let values: Vec<f64> = senders(results, wanted).into_iter().filter_map(value).collect();
    mean(&values, "the new path had no window")
}

/// Returns the first reduction of a path's window to less than three quarters of its highest value.
fn first_fall(trace: &TraceSeries, (from, path, start): (Time, PathId, u64)) -> Option<Fall> {
    let window = &trace.window;
    let mut highest = start;
    for i in (0..window.at.len()).filter(|&i| window.at[i] >= from && window.path[i] == path) {
        if window.cwnd[i] * 4 < highest * 3 {
            let at = window.at[i];
            let is_it = |kind| matches!(kind, TraceKind::T3Timeout { path: of, .. } if of == path);
            let by_timeout = trace.marks.iter().any(|mark| mark.at == at && is_it(mark.kind));
            return Some(Fall { at: at.as_secs_f64(), by_timeout });
        }
        highest = highest.max(window.cwnd[i]);
    }
    None
}
