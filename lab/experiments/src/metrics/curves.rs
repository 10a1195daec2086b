//! Curves of a run, and the fairness between its flows.

use msctp_sim::scenario::{AppKind, Scenario};
use msctp_units::{Span, Time};

use super::network::transfers;
use super::paths::{primary, senders, window};
use super::{Points, Results, Wanted};

/// Time between two points of a window.
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

/// Adds up the rates of the series that `is_one` chooses, a point in the middle of each interval.
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
    let trace = senders(results, wanted).into_iter().next().ok_or("no association has a trace")?;
    let range = wanted.range();
    let steps = (results.summary.duration / STEP.as_secs_f64()).round() as u64;
    let times = (0..steps).map(|step| Time::ZERO + STEP * step).filter(|at| range.contains(at));
    let point = |at: Time| {
        let cwnd = primary(trace, at).and_then(|path| window(trace, path, at)).map_or(0, |(cwnd, ..)| cwnd);
        (at.as_secs_f64(), cwnd as f64)
    };
    Ok(times.map(point).collect())
}

/// Returns Jain's index over the flows' rates, each as a share of its max–min fair one.
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

/// Returns the rate that a flow's videos send, in bit/s; without bound if it has another application.
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

/// Divides a capacity max–min fairly: nobody gets more than it wants, and what is left is shared equally.
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
