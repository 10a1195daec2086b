//! Metrics of links, of other traffic and of video applications.

use msctp_sim::series::MessageSeries;
use msctp_sim::summary::{LinkSummary, VideoSummary};
use msctp_units::Time;

use super::flow::longest_pause;
use super::{Points, Results, Wanted, largest, mean};

fn directions<'r>(results: &Results<'r>, wanted: &Wanted) -> impl Iterator<Item = &'r LinkSummary> {
    results.summary.links.iter().filter(|link| wanted.covers_direction(&link.name))
}

/// Sums a counter over the link directions.
pub(super) fn sum(results: &Results<'_>, wanted: &Wanted, of: fn(&LinkSummary) -> u64) -> f64 {
    directions(results, wanted).map(of).sum::<u64>() as f64
}

pub(super) fn longest_queue(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    largest(directions(results, wanted).map(|link| link.longest_queue as f64), "there is no link")
}

pub(super) fn mean_queue(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let covered = results.series.queues.iter().filter(|queue| wanted.covers_direction(&queue.direction));
    let means = covered.filter_map(|queue| {
        let packets: Vec<f64> = queue.packets.iter().map(|&packets| packets as f64).collect();
        mean(&packets, "").ok()
    });
    largest(means, "the queues were not sampled")
}

/// Returns the radio blocks of a direction by time.
pub(super) fn blocks(results: &Results<'_>, wanted: &Wanted) -> Points {
    let found = results.series.queues.iter().find(|queue| wanted.covers_direction(&queue.direction));
    let queue = found.ok_or("the queues were not sampled")?;
    let points = queue.at.iter().zip(&queue.blocks).map(|(at, &blocks)| (at.as_secs_f64(), blocks as f64));
    let points: Vec<(f64, f64)> = points.collect();
    if points.is_empty() { Err("the link has no blocks".to_owned()) } else { Ok(points) }
}

/// Returns the longest time without a new radio block, starting at the first block after the set-up.
pub(super) fn block_stall(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let blocks = blocks(results, wanted)?;
    let up = results.summary.associations.iter().filter_map(|association| association.established);
    let up = up.fold(0.0, f64::max);
    let new = blocks.windows(2).filter(|pair| pair[1].0 >= up && pair[1].1 > pair[0].1).map(|pair| pair[1].0);
    Ok(longest_pause(new, results.summary.duration))
}

pub(super) fn others_goodput(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let summary = results.summary;
    let udp = summary.cbr.iter().filter(|cbr| wanted.covers(&cbr.name)).map(|cbr| cbr.received_bytes);
    let udp = udp.sum::<u64>() as f64 * 8.0 / summary.duration;
    let tcp = summary.tcp.iter().filter(|tcp| wanted.covers(&tcp.name));
    let tcp = tcp.map(|tcp| tcp.to_server.goodput + tcp.to_client.goodput).sum::<u64>() as f64;
    Ok(udp + tcp)
}

pub(super) fn others_loss(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let summary = results.summary;
    let udp = summary.cbr.iter().filter(|cbr| wanted.covers(&cbr.name));
    let udp = udp.map(|cbr| (cbr.sent, cbr.sent - cbr.received));
    // Each retransmitted segment was lost, except for the few after timeouts that had arrived.
    let tcp = summary.tcp.iter().filter(|tcp| wanted.covers(&tcp.name));
    let tcp = tcp.map(|tcp| (tcp.to_server.segments, tcp.to_server.retransmitted));
    let (sent, lost) = udp.chain(tcp).fold((0, 0), |(sent, lost), one| (sent + one.0, lost + one.1));
    if sent == 0 { Err("there is no other traffic".to_owned()) } else { Ok(lost as f64 / sent as f64) }
}

fn videos<'r>(results: &Results<'r>, wanted: &Wanted) -> impl Iterator<Item = &'r VideoSummary> {
    results.summary.video.iter().filter(|video| wanted.covers(&video.name))
}

/// Returns the largest value of the video applications.
pub(super) fn transfer(
    results: &Results<'_>,
    wanted: &Wanted,
    of: fn(&VideoSummary) -> Option<f64>,
) -> Result<f64, String> {
    largest(videos(results, wanted).filter_map(of), "no message was delivered")
}

pub(super) fn undelivered(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    Ok(videos(results, wanted).map(|video| video.undelivered).sum::<u64>() as f64)
}

/// Returns the transfer times in seconds of a video's messages that were generated in the metric's range. A
/// message that was not delivered has `None`.
pub(super) fn transfers(messages: &MessageSeries, wanted: &Wanted) -> impl Iterator<Item = Option<f64>> {
    let range = wanted.range();
    let all = messages.generated.iter().zip(&messages.delivered);
    let chosen = all.filter(move |(generated, _)| range.contains(*generated));
    chosen.map(|(generated, delivered)| delivered.map(|at: Time| at.since(*generated).as_secs_f64()))
}

/// Returns the largest value of `of` over a video's messages in the metric's range. Returns an error if a
/// message of the range was not delivered.
fn messages(
    results: &Results<'_>,
    wanted: &Wanted,
    of: fn(&[f64]) -> Result<f64, String>,
) -> Result<f64, String> {
    let covered = results.series.messages.iter().filter(|messages| wanted.covers(&messages.app));
    let mut values = Vec::new();
    for messages in covered {
        let times = transfers(messages, wanted);
        let times: Vec<f64> = match wanted.from {
            None => times.flatten().collect(),
            Some(_) => times.collect::<Option<_>>().ok_or("a message was not delivered")?,
        };
        if !times.is_empty() {
            values.push(of(&times)?);
        }
    }
    largest(values, "no message was delivered")
}

pub(super) fn mean_transfer(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    messages(results, wanted, |times| mean(times, ""))
}

pub(super) fn longest_transfer(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    messages(results, wanted, |times| largest(times.iter().copied(), ""))
}
