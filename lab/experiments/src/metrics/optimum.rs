//! Optimum of a handover's new path, and the share of it that was delivered.

use std::net::IpAddr;

use msctp_sim::summary::HandoverSummary;
use msctp_units::Span;

use super::handovers::{NONE, first};
use super::{Results, Wanted, associations, instant, mean, received};

/// The optimum after a handover and the delivered rate, both in bit/s.
struct Yardstick {
    optimum: f64,
    delivered: f64,
}

/// Returns the mean over the associations that handed over.
fn average(
    results: &Results<'_>,
    wanted: &Wanted,
    seconds: u64,
    of: fn(&Yardstick) -> Result<f64, String>,
) -> Result<f64, String> {
    let mut values = Vec::new();
    for association in associations(results, wanted) {
        if let Some(handover) = first(association, wanted)? {
            values.push(of(&yardstick(results, &association.name, handover, seconds)?)?);
        }
    }
    mean(&values, NONE)
}

fn yardstick(
    results: &Results<'_>,
    association: &str,
    handover: &HandoverSummary,
    seconds: u64,
) -> Result<Yardstick, String> {
    let (at, window) = (instant(handover.at), Span::from_secs(seconds));
    let delivered = received(results, association, |side| side != handover.side, at, window)?;
    let address = |text: &str| text.parse::<IpAddr>().ok();
    let ends = handover.to.split_once('→').and_then(|(from, to)| address(from).zip(address(to)));
    let (from, to) = ends.ok_or_else(|| format!("{} is not a path", handover.to))?;
    let optimum = msctp_sim::optimum(results.scenario, from, to, at, window)?;
    let rate = |bytes: u64| bytes as f64 * 8.0 / window.as_secs_f64();
    Ok(Yardstick { optimum: rate(optimum), delivered: rate(delivered) })
}

pub(super) fn rate(results: &Results<'_>, wanted: &Wanted, seconds: u64) -> Result<f64, String> {
    average(results, wanted, seconds, |yardstick| Ok(yardstick.optimum))
}

pub(super) fn used(results: &Results<'_>, wanted: &Wanted, seconds: u64) -> Result<f64, String> {
    average(results, wanted, seconds, |yardstick| match yardstick.optimum {
        0.0 => Err("the new path leaves nothing free".to_owned()),
        optimum => Ok(yardstick.delivered / optimum),
    })
}
