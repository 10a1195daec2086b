//! What a handover's new path could have delivered, and the share of it that was delivered.

use std::net::IpAddr;

use msctp_sim::series::DeliverySeries;
use msctp_sim::summary::HandoverSummary;
use msctp_units::{Span, Time};

use super::handovers::{NONE, first};
use super::{Results, Wanted, associations, mean};

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
    let at = Time::ZERO + Span::from_nanos((handover.at * 1e9).round() as u64);
    let left = (Time::ZERO + results.scenario.duration).since(at);
    let window = Span::from_secs(seconds).min(left);
    let address = |text: &str| text.parse::<IpAddr>().ok();
    let ends = handover.to.split_once('→').and_then(|(from, to)| address(from).zip(address(to)));
    let (from, to) = ends.ok_or_else(|| format!("{} is not a path", handover.to))?;
    let optimum = msctp_sim::optimum(results.scenario, from, to, at, window)?;
    let receives =
        |series: &&DeliverySeries| series.association == association && series.side != handover.side;
    let series = results.series.delivery.iter().find(receives).ok_or("the deliveries were not recorded")?;
    let (from, window) = (at.as_secs_f64(), window.as_secs_f64());
    let delivered = delivered(series, from, from + window);
    Ok(Yardstick { optimum: optimum as f64 * 8.0 / window, delivered: delivered * 8.0 / window })
}

/// Returns the bytes delivered between two times. An interval that is only partly inside counts with its
/// share.
fn delivered(series: &DeliverySeries, from: f64, to: f64) -> f64 {
    let step = series.total.interval.as_secs_f64();
    let share = |number: usize| {
        let begins = number as f64 * step;
        ((begins + step).min(to) - begins.max(from)).max(0.0) / step
    };
    series.total.sums.iter().enumerate().map(|(number, &sum)| sum as f64 * share(number)).sum()
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
