//! Metrics of links, of other traffic and of video applications.

use msctp_sim::summary::{LinkSummary, VideoSummary};

use super::{Results, Wanted, largest, mean};

fn directions<'r>(results: &Results<'r>, wanted: &Wanted) -> impl Iterator<Item = &'r LinkSummary> {
    results.summary.links.iter().filter(|link| wanted.covers_direction(&link.name))
}

/// Adds up a counter of the link directions.
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
