//! Metrics of the changes of the primary path.

use msctp_sim::summary::{AssociationSummary, HandoverSummary};
use msctp_units::{Span, Time};

use super::{Results, Wanted, associations, instant, largest, mean, received};

/// The time before and after a change over which rates are computed.
const WATCH: Span = HandoverSummary::WATCH;

/// Time in seconds before which a change of the primary path is part of the set-up.
const SETTLED: f64 = 2.0;

pub(super) const NONE: &str = "no association handed over in this time";

/// Returns the sender's handovers of an association in the metric's range.
fn handovers<'r>(
    association: &'r AssociationSummary,
    wanted: &Wanted,
) -> impl Iterator<Item = &'r HandoverSummary> {
    let from = wanted.from.map_or(SETTLED, Time::as_secs_f64);
    let to = wanted.to.map_or(f64::INFINITY, Time::as_secs_f64);
    let in_range = move |at: f64| at > from && at < to;
    association.handovers.iter().filter(move |handover| in_range(handover.at) && handover.gap.is_some())
}

/// Returns the first handover of each association that the metric covers and that handed over.
fn firsts<'r>(results: &Results<'r>, wanted: &Wanted) -> Result<Vec<&'r HandoverSummary>, String> {
    let mut firsts = Vec::new();
    for association in associations(results, wanted) {
        firsts.extend(first(association, wanted)?);
    }
    Ok(firsts)
}

/// Returns the first handover of an association; an error if the association ended.
pub(super) fn first<'r>(
    association: &'r AssociationSummary,
    wanted: &Wanted,
) -> Result<Option<&'r HandoverSummary>, String> {
    match &association.ended {
        Some(why) => Err(format!("{}: the association ended: {why}", association.name)),
        None => Ok(handovers(association, wanted).next()),
    }
}

/// Returns the mean over the associations that handed over of the rate in the `WATCH` from a time on.
fn rates(
    results: &Results<'_>,
    wanted: &Wanted,
    begins: fn(Time) -> Result<Time, String>,
) -> Result<f64, String> {
    let mut rates = Vec::new();
    for association in associations(results, wanted) {
        if let Some(handover) = first(association, wanted)? {
            let from = begins(instant(handover.at))?;
            let bytes = received(results, &association.name, |side| side != handover.side, from, WATCH)?;
            rates.push(bytes as f64 * 8.0 / WATCH.as_secs_f64());
        }
    }
    mean(&rates, NONE)
}

pub(super) fn after(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    rates(results, wanted, Ok)
}

pub(super) fn before(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    rates(results, wanted, |at| match at.since(Time::ZERO) >= WATCH {
        true => Ok(at - WATCH),
        false => {
            Err(format!("the primary path changed at {:.3} s, before {WATCH} had passed", at.as_secs_f64()))
        }
    })
}

pub(super) fn share(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    match before(results, wanted)? {
        0.0 => Err("nothing was delivered before the handover".to_owned()),
        before => Ok(after(results, wanted)? / before),
    }
}

pub(super) fn gap(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    largest(firsts(results, wanted)?.into_iter().filter_map(|handover| handover.gap), NONE)
}

pub(super) fn at(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let times = firsts(results, wanted)?.into_iter().map(|handover| handover.at);
    times.reduce(f64::min).ok_or_else(|| NONE.to_owned())
}

pub(super) fn count(results: &Results<'_>, wanted: &Wanted) -> Result<f64, String> {
    let covered = associations(results, wanted);
    Ok(covered.map(|association| handovers(association, wanted).count()).sum::<usize>() as f64)
}
