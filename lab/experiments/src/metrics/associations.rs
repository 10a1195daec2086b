//! Metrics of SCTP associations and TCP connections as a whole.

use msctp_sim::summary::{FlowSummary, TcpFlowSummary};
use msctp_units::Time;

use super::{Results, Wanted, associations, largest};

/// Returns both directions of every association that the metric covers.
fn flows<'r>(results: &Results<'r>, wanted: &Wanted) -> Vec<&'r FlowSummary> {
    associations(results, wanted).flat_map(|a| [&a.to_server, &a.to_client]).collect()
}

/// Returns both directions of every TCP connection that the metric covers.
fn tcp_flows<'r>(results: &Results<'r>, wanted: &Wanted) -> Vec<&'r TcpFlowSummary> {
    let covered = results.summary.tcp.iter().filter(|tcp| wanted.covers(&tcp.name));
    covered.flat_map(|tcp| [&tcp.to_server, &tcp.to_client]).collect()
}

/// Sums a counter over all directions.
pub(super) fn sum(results: &Results<'_>, wanted: &Wanted, of: fn(&FlowSummary) -> u64) -> f64 {
    flows(results, wanted).into_iter().map(of).sum::<u64>() as f64
}

/// Sums a counter over all directions of TCP connections.
pub(super) fn tcp_sum(results: &Results<'_>, wanted: &Wanted, of: fn(&TcpFlowSummary) -> u64) -> f64 {
    tcp_flows(results, wanted).into_iter().map(of).sum::<u64>() as f64
}

/// Returns the rate of user bytes of associations or connections in bit/s. It covers the whole run, or the
/// intervals of the throughput series that begin in the metric's range.
fn rate(
    results: &Results<'_>,
    wanted: &Wanted,
    whole: u64,
    is_one: impl Fn(&str) -> bool,
) -> Result<f64, String> {
    let Some(from) = wanted.from else { return Ok(whole as f64) };
    let end = Time::from_nanos((results.summary.duration * 1e9).round() as u64);
    let to = wanted.to.map_or(end, |to| to.min(end));
    let (mut bytes, mut seconds) = (0_u64, 0.0);
    for series in results.series.delivery.iter().filter(|series| is_one(&series.association)) {
        let interval = series.total.interval;
        let index = |at: Time| at.as_nanos().div_ceil(interval.as_nanos()) as usize;
        let (first, last) = (index(from), index(to));
        seconds = interval.as_secs_f64() * last.saturating_sub(first) as f64;
        bytes += series.total.sums.iter().take(last).skip(first).sum::<u64>();
    }
    if seconds > 0.0 { Ok(bytes as f64 * 8.0 / seconds) } else { Err("the range has no interval".to_owned()) }
}

pub(super) fn goodput(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let whole = flows(results, wanted).iter().map(|flow| flow.goodput).sum();
    let named = |name: &str| results.summary.associations.iter().any(|a| a.name == name);
    rate(results, wanted, whole, |name| wanted.covers(name) && named(name))
}

pub(super) fn tcp_goodput(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let whole = tcp_flows(results, wanted).iter().map(|flow| flow.goodput).sum();
    let named = |name: &str| results.summary.tcp.iter().any(|tcp| tcp.name == name);
    rate(results, wanted, whole, |name| wanted.covers(name) && named(name))
}

pub(super) fn gap(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let used = flows(results, wanted).into_iter().filter(|flow| flow.messages > 0);
    largest(used.map(|flow| flow.longest_gap), "nothing was delivered")
}

pub(super) fn tcp_gap(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let used = tcp_flows(results, wanted).into_iter().filter(|flow| flow.bytes > 0);
    largest(used.map(|flow| flow.longest_gap), "nothing was delivered")
}

/// Returns the latest completion of the directions that carried data. Returns an error if one did not
/// complete.
fn last(times: impl IntoIterator<Item = (u64, Option<f64>)>) -> Result<f64, String> {
    let used = times.into_iter().filter(|&(bytes, _)| bytes > 0);
    let done = used.map(|(_, at)| at.ok_or_else(|| "a transfer is not complete".to_owned()));
    let done: Vec<f64> = done.collect::<Result<_, _>>()?;
    largest(done, "nothing was delivered")
}

pub(super) fn completed(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    last(flows(results, wanted).into_iter().map(|flow| (flow.bytes, flow.completed)))
}

pub(super) fn tcp_completed(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    last(tcp_flows(results, wanted).into_iter().map(|flow| (flow.bytes, flow.completed)))
}

pub(super) fn established(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let covered = associations(results, wanted);
    let up = covered.map(|a| a.established.ok_or_else(|| format!("{} was never established", a.name)));
    largest(up.collect::<Result<Vec<_>, _>>()?, "there is no association")
}

pub(super) fn ended(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    Ok(associations(results, wanted).filter(|association| association.ended.is_some()).count() as f64)
}
