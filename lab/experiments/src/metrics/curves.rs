//! Curves of a run, and the fairness between its flows.

use std::collections::BTreeMap;

use msctp_proto::{PathId, TraceKind};
use msctp_sim::scenario::{AppKind, Scenario};
use msctp_sim::series::EstimateColumns;
use msctp_units::{Span, Time};

use super::network::transfers;
use super::paths::{primary, senders};
use super::{Points, Results, Wanted, mean};

/// Interval between two points of a window curve.
const STEP: Span = Span::from_millis(100);

pub(super) fn transfer(results: &Results<'_>, wanted: &Wanted) -> Points {
    let first = results.series.messages.iter().find(|messages| wanted.covers(&messages.app));
    let messages = first.ok_or("the messages were not recorded")?;
    Ok(transfers(messages, wanted)
        .map_while(|time| time)
        .enumerate()
        .map(|(n, time)| (n as f64, time))
        .collect())
}

/// Sums the rates of the series that `is_one` selects, with a point in the middle of each interval.
fn rates(results: &Results<'_>, wanted: &Wanted, is_one: impl Fn(&str) -> bool) -> Points {
    let range = wanted.range();
    let mut sums: Vec<u64> = Vec::new();
    let mut interval = Span::ZERO;
    for series in results.series.delivery.iter().filter(|series| is_one(&series.association)) {
        interval = series.total.interval;
        sums.resize(sums.len().max(series.total.sums.len()), 0);
        for (sum, own) in sums.iter_mut().zip(&series.total.sums) {
            *sum += own;
        }
    }
    let seconds = interval.as_secs_f64();
    let at = |number: usize| Time::ZERO + interval * number as u64;
    let chosen = sums.iter().enumerate().filter(|&(number, _)| range.contains(&at(number)));
    Ok(chosen.map(|(number, &sum)| ((number as f64 + 0.5) * seconds, sum as f64 * 8.0 / seconds)).collect())
}

pub(super) fn goodput(results: &Results<'_>, wanted: &Wanted) -> Points {
    let named = |name: &str| results.summary.associations.iter().any(|a| a.name == name);
    rates(results, wanted, |name| wanted.covers(name) && named(name))
}

pub(super) fn tcp_goodput(results: &Results<'_>, wanted: &Wanted) -> Points {
    let named = |name: &str| results.summary.tcp.iter().any(|tcp| tcp.name == name);
    rates(results, wanted, |name| wanted.covers(name) && named(name))
}

pub(super) fn cwnd(results: &Results<'_>, wanted: &Wanted) -> Points {
    windows(results, wanted, |cwnd, _| cwnd as f64)
}

pub(super) fn ssthresh(results: &Results<'_>, wanted: &Wanted) -> Points {
    windows(results, wanted, |_, ssthresh| if ssthresh == u64::MAX { f64::NAN } else { ssthresh as f64 })
}

/// Returns a value computed from the primary path's window and threshold, ten times a second.
fn windows(results: &Results<'_>, wanted: &Wanted, of: fn(u64, u64) -> f64) -> Points {
    let trace = senders(results, wanted).into_iter().next().ok_or("no association has a trace")?;
    let columns = &trace.window;
    let entry = |i: usize| (columns.at[i], columns.path[i], of(columns.cwnd[i], columns.ssthresh[i]));
    let mut changes: Vec<(Time, PathId, f64)> = (0..columns.at.len()).map(entry).collect();
    changes.extend(trace.marks.iter().filter_map(|mark| match mark.kind {
        TraceKind::StartState { path, cwnd, ssthresh } => Some((mark.at, path, of(cwnd, ssthresh))),
        _ => None,
    }));
    changes.sort_by_key(|&(at, path, _)| (at, path));
    let mut next = changes.into_iter().peekable();
    let mut windows: BTreeMap<PathId, f64> = BTreeMap::new();
    let range = wanted.range();
    let steps = (results.summary.duration / STEP.as_secs_f64()).round() as u64;
    let mut points = Vec::new();
    for at in (0..steps).map(|step| Time::ZERO + STEP * step).take_while(|at| *at < range.end) {
        while let Some((_, path, value)) = next.next_if(|change| change.0 <= at) {
            windows.insert(path, value);
        }
        if range.contains(&at) {
            let value = primary(trace, at).and_then(|path| windows.get(&path)).copied().unwrap_or(0.0);
            points.push((at.as_secs_f64(), value));
        }
    }
    Ok(points)
}

/// Returns the points of the curve without those before the path has a window, which are 0.
fn known_cwnd(results: &Results<'_>, wanted: &Wanted) -> Result<Vec<f64>, String> {
    Ok(cwnd(results, wanted)?.into_iter().map(|(_, cwnd)| cwnd).filter(|cwnd| *cwnd > 0.0).collect())
}

pub(super) fn mean_cwnd(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    mean(&known_cwnd(results, wanted)?, "the primary path had no window in the range")
}

pub(super) fn least_cwnd(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let values = known_cwnd(results, wanted)?.into_iter().reduce(f64::min);
    values.ok_or_else(|| "the primary path had no window in the range".to_owned())
}

pub(super) fn delivered(results: &Results<'_>, wanted: &Wanted) -> Points {
    let rates = goodput(results, wanted)?;
    let step = rates.first().zip(rates.get(1)).map(|(first, second)| second.0 - first.0);
    let step = step.ok_or("the range has fewer than two intervals of the throughput series")?;
    let from = wanted.range().start.as_secs_f64();
    let mut points = vec![(from, 0.0)];
    let mut bytes = 0.0;
    for (middle, rate) in rates {
        bytes += rate * step / 8.0;
        // The end of an interval at a whole second.
        let end = middle + step / 2.0 - from;
        if (end - end.round()).abs() < step / 4.0 {
            points.push((from + end.round(), bytes));
        }
    }
    Ok(points)
}

/// Returns the estimates of the first association's sender.
fn estimates<'r>(results: &Results<'r>, wanted: &Wanted) -> Result<&'r EstimateColumns, String> {
    let trace = senders(results, wanted).into_iter().next().ok_or("no association has a trace")?;
    Ok(&trace.estimate)
}

pub(super) fn mean_estimate(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let (estimates, range) = (estimates(results, wanted)?, wanted.range());
    let made = estimates.at.iter().zip(&estimates.available).filter(|(at, _)| range.contains(at));
    let values: Vec<f64> = made.map(|(_, available)| available.as_bps() as f64).collect();
    mean(&values, "no estimate was made in the range")
}

pub(super) fn estimate(results: &Results<'_>, wanted: &Wanted) -> Points {
    let (estimates, range) = (estimates(results, wanted)?, wanted.range());
    let steps = (results.summary.duration * 2.0) as u64;
    let times = (0..steps).map(|step| Time::ZERO + STEP * (5 * step)).filter(|at| range.contains(at));
    // Before the first estimate there is none: not a number, so that the points of all runs have the same x.
    let point = |now: Time| {
        let count = estimates.at.iter().take_while(|at| **at <= now).count();
        let latest = count.checked_sub(1).map(|last| estimates.available[last].as_bps() as f64);
        (now.as_secs_f64(), latest.unwrap_or(f64::NAN))
    };
    Ok(times.map(point).collect())
}

/// Returns Jain's index over the flows' rates, each as a share of its max–min fair rate.
pub(super) fn fairness(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let scenario = results.scenario;
    let capacity = capacity(scenario, wanted.subject.as_deref())?;
    let range = wanted.range();
    let mut flows: Vec<(f64, f64)> = Vec::new();
    for series in &results.series.delivery {
        let (mut bytes, mut seconds) = (0, 0.0);
        for (number, sum) in series.total.sums.iter().enumerate() {
            if range.contains(&(Time::ZERO + series.total.interval * number as u64)) {
                bytes += sum;
                seconds += series.total.interval.as_secs_f64();
            }
        }
        if bytes > 0 {
            flows.push((bytes as f64 * 8.0 / seconds, demand(scenario, &series.association)));
        }
    }
    let fair = fair_shares(capacity, &flows.iter().map(|&(_, demand)| demand).collect::<Vec<_>>());
    jain(flows.iter().zip(fair).map(|(&(rate, _), fair)| rate / fair))
        .ok_or_else(|| "nothing was delivered in the range".to_owned())
}

/// Returns Jain's index; `None` without a value above zero.
fn jain(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum, squares) =
        shares.fold((0.0, 0.0, 0.0), |(count, sum, squares), x| (count + 1.0, sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (count * squares))
}

/// Returns the rate of a link in bit/s.
fn capacity(scenario: &Scenario, subject: Option<&str>) -> Result<f64, String> {
    let name = subject.ok_or("want the link that the flows share after \":\"")?;
    let name = name.split('/').next().unwrap_or(name);
    let link = scenario.links.iter().find(|link| link.name == name);
    let plain = link.and_then(|link| link.forward.plain());
    plain.map(|plain| plain.rate.as_bps() as f64).ok_or_else(|| format!("link {name} has no constant rate"))
}

/// Returns the rate at which a flow's videos send, in bit/s; unlimited if it has another application.
fn demand(scenario: &Scenario, association: &str) -> f64 {
    let of = |kind: &AppKind| match kind {
        AppKind::Video { association: own, frames, .. } if own == association => {
            let bytes: f64 = frames.iter().map(|frame| f64::from(frame.bytes)).sum();
            let seconds: f64 = frames.iter().map(|frame| frame.interval.as_secs_f64()).sum();
            Some(bytes * 8.0 / seconds)
        }
        _ => None,
    };
    let rates: Vec<f64> = scenario.apps.iter().filter_map(|app| of(&app.kind)).collect();
    if rates.is_empty() { f64::INFINITY } else { rates.iter().sum() }
}

/// Divides a capacity max–min fairly: no flow gets more than its demand, and the remainder is shared equally.
fn fair_shares(capacity: f64, demands: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by(|&a, &b| demands[a].total_cmp(&demands[b]));
    let mut shares = vec![0.0; demands.len()];
    let mut left = capacity;
    for (done, &flow) in order.iter().enumerate() {
        shares[flow] = demands[flow].min(left / (demands.len() - done) as f64);
        left -= shares[flow];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capacity_is_shared_equally_except_by_those_who_want_less() {
        assert_eq!(fair_shares(9.0, &[f64::INFINITY, 1.0, f64::INFINITY]), [4.0, 1.0, 4.0]);
        assert_eq!(fair_shares(9.0, &[5.0, 4.0, f64::INFINITY]), [3.0, 3.0, 3.0]);
        assert_eq!(fair_shares(9.0, &[1.0, 2.0]), [1.0, 2.0]);
    }

    #[test]
    fn jains_index_is_one_for_equal_shares_and_one_nth_for_a_single_winner() {
        assert_eq!(jain([0.5, 0.5, 0.5].into_iter()), Some(1.0));
        assert_eq!(jain([1.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([0.0].into_iter()), None);
    }
}
