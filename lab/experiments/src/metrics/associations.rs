//! Metrics of SCTP associations and TCP connections as a whole.

use msctp_sim::summary::{FlowSummary, TcpFlowSummary};

use super::{Results, Wanted, associations, instant, largest, received};

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
/// metric's range.
fn rate<'n>(
    results: &Results<'_>,
    wanted: &Wanted,
    whole: u64,
    names: impl Iterator<Item = &'n str>,
) -> Result<f64, String> {
    let Some(from) = wanted.from else { return Ok(whole as f64) };
    let end = instant(results.summary.duration);
    let to = wanted.to.unwrap_or(end);
    if to <= from {
        return Err(format!("the run ends at {:.3} s, before the range begins", end.as_secs_f64()));
    }
    let window = to.since(from);
    let mut bytes = 0;
    for name in names.filter(|name| wanted.covers(name)) {
        for side in ["client", "server"] {
            bytes += received(results, name, |its| its == side, from, window)?;
        }
    }
    Ok(bytes as f64 * 8.0 / window.as_secs_f64())
}

pub(super) fn goodput(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let whole = flows(results, wanted).iter().map(|flow| flow.goodput).sum();
    rate(results, wanted, whole, results.summary.associations.iter().map(|a| a.name.as_str()))
}

pub(super) fn tcp_goodput(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let whole = tcp_flows(results, wanted).iter().map(|flow| flow.goodput).sum();
    rate(results, wanted, whole, results.summary.tcp.iter().map(|tcp| tcp.name.as_str()))
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
